#include "balancing/plan/phase_machine.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

#include "balancing/model/amount_text.h"

namespace evenkeel::balancing {
namespace {

struct DueStage {
  Stage stage;
  double at;
};

// In the order in which stages that are equally overdue are asked.
std::vector<DueStage> StagesOf(const Settings& settings, const PhaseState& state) {
  const PhaseIntervals intervals = IntervalsOf(settings);
  return {{Stage::kPlacement, state.last_placement + intervals.placement},
          {Stage::kConstraintCheck, state.last_constraint_check + intervals.constraint_check},
          {Stage::kBalancing, state.last_balancing + intervals.balancing}};
}

// When the state may be looked at again.
double NextRefresh(const Settings& settings, const PhaseState& state) {
  return settings.plb_refresh_gap ? state.last_refresh + *settings.plb_refresh_gap : kLongAgo;
}

// "1.5s", and what rounds to nothing as less than a tenth.
std::string InText(double seconds) {
  const std::string in = SecondsText(seconds);
  return in == "0s" ? "less than 0.1s" : in;
}

struct NodeDelays {
  double after_down, after_up;
};

/// One decision. A stage that does not run leaves its PhaseSkip.
class PhaseChoice {
 public:
  PhaseChoice(const Settings& settings, const PhaseInput& input, PhaseState& state)
      : settings_(settings), input_(input), state_(state), now_(input.now) {}

  PhaseDecision Choose();

 private:
  bool LookedAtJustNow();
  bool IsEnabled(Stage stage);
  void Run(Stage stage);
  void RunPlacement();
  void RunConstraintCheck();
  void RunBalancing();
  bool BalancingThrottled();
  bool MostPartitionsThrottled(const ImbalanceAnswer& imbalance);
  bool ChooseNodeTypes(const ImbalanceAnswer& imbalance);
  bool ChangedTooLittle();
  void StartBalancing();

  void Skip(Stage stage, SkipReason reason, std::string text) { decision_.skipped.push_back({stage, reason, std::move(text)}); }
  bool HasMovableReplica();
  std::string NodeChangeWithin(const NodeDelays& delays) const;
  const MovementThrottles& throttles() const { return input_.throttles != nullptr ? *input_.throttles : no_movements_; }
  double LastBalancingOfChosen() const;
  // From now on the balancing of the whole group does not stand for a node type any more.
  void RememberNodeTypes();

  const Settings& settings_;
  const PhaseInput& input_;
  PhaseState& state_;
  const double now_;
  const MovementThrottles no_movements_;
  std::optional<bool> movable_;
  PhaseDecision decision_;
};

// A look from the future says nothing: a clock was set.
bool PhaseChoice::LookedAtJustNow() {
  if (!settings_.plb_refresh_gap) return false;
  const double next = NextRefresh(settings_, state_);
  if (now_ < state_.last_refresh || now_ >= next) {
    state_.last_refresh = now_;
    return false;
  }
  for (const DueStage& stage : StagesOf(settings_, state_)) {
    Skip(stage.stage, SkipReason::kNotRefreshed,
         fmt::format("the state is looked at again in {} (PLBRefreshGap)", InText(next - now_)));
  }
  return true;
}

PhaseDecision PhaseChoice::Choose() {
  if (LookedAtJustNow()) return std::move(decision_);
  std::vector<DueStage> due;
  for (const DueStage& stage : StagesOf(settings_, state_)) {
    if (now_ < stage.at) {
      Skip(stage.stage, SkipReason::kNotDue, "is due in " + InText(stage.at - now_));
    } else if (IsEnabled(stage.stage)) {
      due.push_back(stage);
    }
  }
  std::ranges::stable_sort(due, {}, &DueStage::at);
  for (const DueStage& stage : due) {
    if (decision_.phase != Phase::kNoActionNeeded) {
      Skip(stage.stage, SkipReason::kAnotherRan, fmt::format("{} runs first", Name(decision_.phase)));
    } else if (stage.stage != Stage::kPlacement && !HasMovableReplica()) {
      Skip(stage.stage, SkipReason::kNothingMovable, "no replica can move");
    } else {
      Run(stage.stage);
    }
  }
  return std::move(decision_);
}

bool PhaseChoice::IsEnabled(Stage stage) {
  if (stage == Stage::kPlacement) return true;
  const bool balancing = stage == Stage::kBalancing;
  const bool set = balancing ? settings_.load_balancing_enabled : settings_.constraint_check_enabled;
  const bool runtime = balancing ? input_.runtime.balancing_enabled : input_.runtime.constraint_check_enabled;
  const bool in_upgrades = balancing ? settings_.allow_balancing_during_application_upgrade
                                     : settings_.allow_constraint_check_fixes_during_application_upgrade;
  if (!set) {
    Skip(stage, SkipReason::kDisabled, balancing ? "LoadBalancingEnabled is false" : "ConstraintCheckEnabled is false");
  } else if (!runtime) {
    Skip(stage, SkipReason::kDisabled, "the cluster has switched it off");
  } else if (input_.in_application_upgrade && !in_upgrades) {
    Skip(stage, SkipReason::kDisabled, "an application is being upgraded");
  } else {
    return true;
  }
  return false;
}

bool PhaseChoice::HasMovableReplica() {
  if (!movable_) movable_ = !input_.questions.has_movable_replica || input_.questions.has_movable_replica();
  return *movable_;
}

void PhaseChoice::Run(Stage stage) {
  switch (stage) {
    case Stage::kPlacement:
      return RunPlacement();
    case Stage::kConstraintCheck:
      return RunConstraintCheck();
    case Stage::kBalancing:
      return RunBalancing();
  }
}

void PhaseChoice::RunPlacement() {
  const bool changed = state_.last_state_change > state_.last_placement;
  state_.last_placement = now_;
  const bool needed = input_.questions.placement_needed && input_.questions.placement_needed();
  if (changed || !needed) {
    state_.placement_runs = 0;
    state_.placement_with_move = false;
  }
  if (!needed) {
    Skip(Stage::kPlacement, SkipReason::kNotNeeded, "nothing is to be placed or dropped");
    return;
  }
  decision_.phase = Phase::kPlacement;
  decision_.why = "replicas are to be placed or dropped";
  if (!state_.placement_with_move) {
    if (++state_.placement_runs < settings_.plb_action_retry_times || !settings_.move_existing_replica_for_placement) return;
    state_.placement_with_move = true;
    state_.placement_runs = 0;
    return;
  }
  decision_.movement_slots = MovementSlots(settings_, throttles(), Movement::Phase::kPlacement, input_.replicas, now_);
  if (decision_.movement_slots == 0) {
    // With moves stays the next one, for when there are movements left.
    decision_.why += "; others may not be moved for them at the moment";
    return;
  }
  decision_.phase = Phase::kPlacementWithMove;
  decision_.why += ", and without moving others it did not succeed";
  state_.placement_with_move = false;
}

// Empty when no node came or went within these delays.
std::string PhaseChoice::NodeChangeWithin(const NodeDelays& delays) const {
  const double down = now_ - state_.last_node_down, up = now_ - state_.last_node_up;
  if (down < delays.after_down)
    return fmt::format("a node went down {} ago; it waits {}", SecondsText(down), SecondsText(delays.after_down));
  if (up < delays.after_up)
    return fmt::format("a node came up {} ago; it waits {}", SecondsText(up), SecondsText(delays.after_up));
  return "";
}

void PhaseChoice::RunConstraintCheck() {
  state_.last_constraint_check = now_;
  const Violations violations = input_.questions.violations ? input_.questions.violations() : Violations::kNone;
  if (violations == Violations::kNone) {
    Skip(Stage::kConstraintCheck, SkipReason::kNotNeeded, "no constraint is violated");
    return;
  }
  const std::string node_change = NodeChangeWithin(
      {settings_.constraint_fix_partial_delay_after_node_down, settings_.constraint_fix_partial_delay_after_new_node});
  decision_.light = !node_change.empty();
  if (decision_.light && violations == Violations::kLightOnly) {
    decision_.light = false;
    Skip(Stage::kConstraintCheck, SkipReason::kOnlyLight, "only fault or upgrade domains are violated, and " + node_change);
    return;
  }
  decision_.phase = Phase::kConstraintCheck;
  decision_.movement_slots = kUnlimited;
  decision_.why = decision_.light ? "constraints are violated; fault and upgrade domains are left alone, since " + node_change
                                  : "constraints are violated";
}

bool PhaseChoice::BalancingThrottled() {
  const std::string node_change =
      NodeChangeWithin({settings_.balancing_delay_after_node_down, settings_.balancing_delay_after_new_node});
  if (!node_change.empty()) {
    Skip(Stage::kBalancing, SkipReason::kNodeChange, node_change);
    return true;
  }
  const Allowance allowance = throttles().Allowed(settings_, Movement::Phase::kBalancing, input_.replicas.cluster, now_);
  if (allowance.remaining <= 0) {
    Skip(Stage::kBalancing, SkipReason::kMovementThrottle, allowance.why);
    return true;
  }
  decision_.movement_slots = MovementSlots(settings_, throttles(), Movement::Phase::kBalancing, input_.replicas, now_);
  if (decision_.movement_slots > 0) return false;
  Skip(Stage::kBalancing, SkipReason::kNothingMayMove,
       input_.replicas.group > 0 ? "MaxPercentageToMove is 0" : "there is no replica");
  return true;
}

bool PhaseChoice::MostPartitionsThrottled(const ImbalanceAnswer& imbalance) {
  const double most = settings_.movement_throttled_partitions_percentage_threshold * static_cast<double>(imbalance.partitions);
  if (imbalance.throttled_partitions == 0 || static_cast<double>(imbalance.throttled_partitions) <= most) return false;
  Skip(Stage::kBalancing, SkipReason::kPartitionsThrottled,
       fmt::format("{} of {} imbalanced partitions have moved {} times in the last {}", imbalance.throttled_partitions,
                   imbalance.partitions, settings_.movement_per_partition_throttle_threshold,
                   SecondsText(settings_.movement_per_partition_throttle_counting_interval)));
  return true;
}

// Sorts the imbalanced node types into those that may be balanced and those that were a short time ago.
bool PhaseChoice::ChooseNodeTypes(const ImbalanceAnswer& imbalance) {
  for (const std::string& type : imbalance.node_types) {
    const bool paused = now_ < LastBalancing(state_, type) + MinLoadBalancingInterval(settings_, type);
    (paused ? decision_.paused_node_types : decision_.node_types).push_back(type);
  }
  if (!decision_.node_types.empty()) return true;
  std::string text = "balanced a short time ago:";
  for (const std::string& type : decision_.paused_node_types) text += " " + type;
  Skip(Stage::kBalancing, SkipReason::kNodeTypesPaused, text);
  return false;
}

double PhaseChoice::LastBalancingOfChosen() const {
  if (decision_.node_types.empty()) return state_.last_balancing;
  double last = now_;
  for (const std::string& type : decision_.node_types) last = std::min(last, LastBalancing(state_, type));
  return last;
}

bool PhaseChoice::ChangedTooLittle() {
  const double last = LastBalancingOfChosen();
  if (last <= kLongAgo || state_.last_state_change > last) return false;
  if (state_.last_load_change <= last) {
    Skip(Stage::kBalancing, SkipReason::kNoChange,
         "nothing has changed since it was last balanced " + SecondsText(now_ - last) + " ago");
    return true;
  }
  const double rise = settings_.avg_std_dev_delta_throttle_threshold;
  if (rise < 0 || state_.last_score < 0 || !input_.questions.score) return false;
  const double score = input_.questions.score(), limit = state_.last_score * (1 + rise);
  if (score > limit) return false;
  Skip(Stage::kBalancing, SkipReason::kSmallChange,
       fmt::format("only loads have changed, and the deviation {:.6g} is not above {:.6g}", score, limit));
  return true;
}

void PhaseChoice::RememberNodeTypes() {
  if (!PerNodeType(settings_)) return;
  for (const std::string& type : input_.node_types) {
    state_.last_balancing_of_node_type.try_emplace(type, state_.last_balancing);
  }
  for (const std::string& type : decision_.paused_node_types) {
    state_.last_balancing_of_node_type.try_emplace(type, state_.last_balancing);
  }
}

void PhaseChoice::StartBalancing() {
  RememberNodeTypes();
  state_.last_balancing = now_;
  for (const std::string& type : decision_.node_types) state_.last_balancing_of_node_type[type] = now_;
  decision_.phase = state_.slow_balancing ? Phase::kBalancing : Phase::kQuickBalancing;
  decision_.why = "loads are imbalanced";
  for (size_t i = 0; i < decision_.node_types.size(); ++i) {
    decision_.why += (i == 0 ? " on nodes of type " : ", ") + decision_.node_types[i];
  }
  if (++state_.balancing_runs < settings_.plb_action_retry_times) return;
  state_.balancing_runs = 0;
  state_.slow_balancing = !state_.slow_balancing;
}

void PhaseChoice::RunBalancing() {
  // What throttles leaves the stage overdue, so that it runs as soon as the throttle is over.
  bool runs = !BalancingThrottled();
  if (runs) {
    const ImbalanceAnswer imbalance = input_.questions.imbalance ? input_.questions.imbalance() : ImbalanceAnswer();
    if (imbalance.balanced) {
      RememberNodeTypes();
      state_.last_balancing = now_;
      state_.balancing_runs = 0;
      state_.slow_balancing = false;
      Skip(Stage::kBalancing, SkipReason::kBalanced, "loads are balanced");
      runs = false;
    } else if (MostPartitionsThrottled(imbalance) || (PerNodeType(settings_) && !ChooseNodeTypes(imbalance))) {
      runs = false;
    } else if (ChangedTooLittle()) {
      RememberNodeTypes();
      state_.last_balancing = now_;
      runs = false;
    }
  }
  if (runs) {
    StartBalancing();
  } else {
    decision_.movement_slots = 0;
    decision_.node_types.clear();
  }
}

}  // namespace

std::string_view Name(Phase phase) {
  switch (phase) {
    case Phase::kNoActionNeeded:
      return "NoActionNeeded";
    case Phase::kPlacement:
      return "Placement";
    case Phase::kPlacementWithMove:
      return "PlacementWithMove";
    case Phase::kConstraintCheck:
      return "ConstraintCheck";
    case Phase::kQuickBalancing:
      return "QuickBalancing";
    case Phase::kBalancing:
      return "Balancing";
  }
  return "NoActionNeeded";
}

std::string_view Name(Stage stage) {
  switch (stage) {
    case Stage::kPlacement:
      return "Placement";
    case Stage::kConstraintCheck:
      return "ConstraintCheck";
    case Stage::kBalancing:
      return "Balancing";
  }
  return "Placement";
}

PhaseDecision ChoosePhase(const Settings& settings, const PhaseInput& input, PhaseState& state) {
  return PhaseChoice(settings, input, state).Choose();
}

double NextStage(const Settings& settings, const PhaseState& state) {
  return std::max(std::ranges::min(StagesOf(settings, state), {}, &DueStage::at).at, NextRefresh(settings, state));
}

}  // namespace evenkeel::balancing
