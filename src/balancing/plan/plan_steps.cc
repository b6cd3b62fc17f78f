#include "balancing/plan/plan_steps.h"

#include <algorithm>
#include <limits>
#include <map>

namespace evenkeel::balancing {
namespace {

ActionKind MoveOf(Role role) {
  if (role == Role::kPrimary) return ActionKind::kMovePrimary;
  return role == Role::kInstance ? ActionKind::kMoveInstance : ActionKind::kMoveSecondary;
}

ActionKind AddOf(Role role) {
  if (role == Role::kPrimary) return ActionKind::kAddPrimary;
  return role == Role::kInstance ? ActionKind::kAddInstance : ActionKind::kAddSecondary;
}

ActionKind DropOf(Role role) {
  if (role == Role::kPrimary) return ActionKind::kDropPrimary;
  return role == Role::kInstance ? ActionKind::kDropInstance : ActionKind::kDropSecondary;
}

// What leaves comes before what comes; roles before nodes.
void AppendSteps(const Arrangement& planned, PartitionId partition, std::vector<PlanStep>& steps) {
  const Cluster& cluster = planned.cluster();
  const auto [first, last] = planned.ExistingOf(partition);
  ReplicaId old_primary = kNoId;
  for (ReplicaId replica = first; replica < last; ++replica) {
    const Replica& before = cluster.replicas[replica];
    if (before.role == Role::kPrimary) old_primary = replica;
    if (!before.Exists() || planned.NodeOf(replica) != kNoId || planned.Replaced(replica)) continue;
    steps.push_back({DropOf(before.role), replica, kNoId, before.node, kNoId, before.role});
  }
  const ReplicaId primary = planned.PrimaryOf(partition);
  const bool swapped = primary != kNoId && !planned.IsNew(primary) && primary != old_primary && old_primary != kNoId &&
                       planned.NodeOf(old_primary) != kNoId;
  if (swapped && cluster.replicas[old_primary].Leaves()) {
    // That one goes anyway.
    steps.push_back(
        {ActionKind::kPromoteSecondary, primary, old_primary, kNoId, cluster.replicas[primary].node, Role::kSecondary});
  } else if (swapped) {
    steps.push_back({ActionKind::kSwapPrimarySecondary, old_primary, primary, cluster.replicas[old_primary].node,
                     cluster.replicas[primary].node, Role::kPrimary});
  } else if (primary != kNoId && !planned.IsNew(primary) && primary != old_primary) {
    const NodeId node = cluster.replicas[primary].node;
    steps.push_back({ActionKind::kPromoteSecondary, primary, kNoId, kNoId, node, cluster.replicas[primary].role});
  }
  for (ReplicaId replica = first; replica < last; ++replica) {
    const Replica& before = cluster.replicas[replica];
    const NodeId to = planned.NodeOf(replica);
    if (!before.Exists() || to == kNoId || to == before.node) continue;
    steps.push_back({MoveOf(planned.RoleOf(replica)), replica, kNoId, before.node, to, planned.RoleOf(replica)});
  }
  const auto [first_new, last_new] = planned.NewOf(partition);
  for (const bool primaries : {true, false}) {
    for (ReplicaId replica = first_new; replica < last_new; ++replica) {
      const Role role = planned.RoleOf(replica);
      if (planned.NodeOf(replica) == kNoId || (role == Role::kPrimary) != primaries) continue;
      const bool replaces = role == Role::kPrimary && old_primary != kNoId && planned.NodeOf(old_primary) != kNoId;
      steps.push_back({AddOf(role), replica, replaces ? old_primary : kNoId, kNoId, planned.NodeOf(replica), role});
    }
  }
}

// Of so many a bundle that gains such a share of what the next one promises does not wait for it.
constexpr size_t kManyBundles = 1000;
constexpr double kAsGoodAsTheNextBundle = 0.9;

constexpr ConstraintOptions kConstraintsOnTheWay{.purpose = Purpose::kPlacement, .max_priority = 0};

}  // namespace

bool IsMove(ActionKind kind) { return kind <= ActionKind::kMoveInstance; }
bool IsAdd(ActionKind kind) { return kind >= ActionKind::kAddPrimary && kind <= ActionKind::kAddInstance; }
bool IsDrop(ActionKind kind) { return kind >= ActionKind::kDropPrimary && kind <= ActionKind::kDropInstance; }

std::vector<StepBundle> StepsBetween(const Arrangement& planned, const ServiceGroup& group) {
  const Cluster& cluster = planned.cluster();
  std::map<PartitionId, StepBundle> bundles;  // by the partition that the others follow
  std::vector<PlanStep> steps;
  // Parents first, so that in a bundle their steps come before those of what follows.
  for (const bool children : {false, true}) {
    for (const ServiceId id : group.services) {
      const ServiceId parent = cluster.services[id].affinity_to;
      if ((parent != kNoId) != children) continue;
      for (const PartitionId partition : cluster.services[id].partitions) {
        steps.clear();
        AppendSteps(planned, partition, steps);
        if (steps.empty()) continue;
        const bool follows = parent != kNoId && !cluster.services[parent].partitions.empty();
        StepBundle& bundle = bundles[follows ? cluster.services[parent].partitions.front() : partition];
        bundle.has_followers = bundle.has_followers || !bundle.steps.empty();
        bundle.steps.insert(bundle.steps.end(), steps.begin(), steps.end());
      }
    }
  }
  std::vector<StepBundle> all;
  all.reserve(bundles.size());
  for (auto& [partition, bundle] : bundles) all.push_back(std::move(bundle));
  return all;
}

void DoStep(Arrangement& arrangement, const PlanStep& step) {
  if (IsMove(step.kind)) {
    arrangement.Move(step.replica, step.to);
  } else if (IsAdd(step.kind)) {
    arrangement.Place(step.replica, step.to, step.other == kNoId ? step.role : Role::kSecondary);
    if (step.other != kNoId) arrangement.Swap(step.other, step.replica);
  } else if (IsDrop(step.kind)) {
    arrangement.Remove(step.replica);
  } else if (step.kind == ActionKind::kPromoteSecondary) {
    if (step.other == kNoId) {
      arrangement.ChangeRole(step.replica, Role::kPrimary);
    } else {
      arrangement.Swap(step.other, step.replica);
    }
  } else {
    arrangement.Swap(step.replica, step.other);
  }
}

void UndoStep(Arrangement& arrangement, const PlanStep& step) {
  if (IsMove(step.kind)) {
    arrangement.Move(step.replica, step.from);
  } else if (IsAdd(step.kind)) {
    if (step.other != kNoId) arrangement.Swap(step.replica, step.other);
    arrangement.Remove(step.replica);
  } else if (IsDrop(step.kind)) {
    arrangement.Restore(step.replica);
  } else if (step.kind == ActionKind::kPromoteSecondary) {
    if (step.other == kNoId) {
      arrangement.ChangeRole(step.replica, step.role);
    } else {
      arrangement.Swap(step.replica, step.other);
    }
  } else {
    arrangement.Swap(step.other, step.replica);
  }
}

StepOrder::StepOrder(Arrangement& arrangement, const ServiceGroup& group, Purpose purpose)
    : arrangement_(arrangement),
      score_(arrangement.cluster(), arrangement.settings(), arrangement.sets(), arrangement.loads(), group),
      constraints_(arrangement, kConstraintsOnTheWay),
      purpose_(purpose),
      waiting_(arrangement.cluster().nodes.size() + 1) {}

void StepOrder::Do(const PlanStep& step) {
  DoStep(arrangement_, step);
  score_.Update(arrangement_.ServiceOf(step.replica));
}

// Where and in which role its replicas are by now: other steps of the partition may have come before.
void StepOrder::MakeOne(PlanStep step) {
  if (step.kind == ActionKind::kSwapPrimarySecondary) {
    step.from = arrangement_.NodeOf(step.replica);
    step.to = arrangement_.NodeOf(step.other);
  } else if (IsMove(step.kind)) {
    step.kind = MoveOf(arrangement_.RoleOf(step.replica));
  } else if (step.kind == ActionKind::kPromoteSecondary) {
    step.to = arrangement_.NodeOf(step.replica);
  }
  Do(step);
  made_.push_back(step);
}

void StepOrder::Undo(const PlanStep& step) {
  UndoStep(arrangement_, step);
  score_.Update(arrangement_.ServiceOf(step.replica));
}

std::optional<Constraint> StepOrder::Obstacle(const PlanStep& step) const {
  if (IsMove(step.kind)) return constraints_.Obstacle(step.replica, step.to);
  if (IsAdd(step.kind)) return constraints_.Obstacle(step.replica, step.to, step.role);
  // What an upgrade asks for was judged when it was chosen.
  const SwapFor purpose = purpose_ == Purpose::kPlacement ? SwapFor::kReturn : SwapFor::kLoad;
  if (step.kind == ActionKind::kSwapPrimarySecondary) return constraints_.SwapObstacle(step.replica, step.other, purpose);
  if (step.other != kNoId) return constraints_.SwapObstacle(step.other, step.replica, purpose);
  return std::nullopt;
}

bool StepOrder::IsPossible(const PlanStep& step, bool has_followers, bool forced) const {
  const ReplicaId primary = arrangement_.PrimaryOf(arrangement_.PartitionOf(step.replica));
  const bool makes_primary = step.kind == ActionKind::kPromoteSecondary || step.kind == ActionKind::kAddPrimary;
  if (makes_primary && primary != step.other) return false;
  if (step.kind == ActionKind::kSwapPrimarySecondary && primary != step.replica) return false;
  const std::optional<Constraint> obstacle = Obstacle(step);
  if (!obstacle) return true;
  if (has_followers && *obstacle == Constraint::kAffinity) return true;
  // What a placement or a repair needs may cross domains on its way, but never overload a node.
  return forced && purpose_ != Purpose::kBalancing && *obstacle != Constraint::kCapacity &&
         *obstacle != Constraint::kReplicaExclusion && *obstacle != Constraint::kNodeAvailable;
}

std::optional<PlanStep> StepOrder::Try(const StepBundle& bundle, bool forced) {
  const size_t first_made = made_.size();
  std::vector<PlanStep> left = bundle.steps;
  while (!left.empty()) {
    const auto next =
        std::ranges::find_if(left, [&](const PlanStep& step) { return IsPossible(step, bundle.has_followers, forced); });
    if (next == left.end()) {
      const PlanStep impossible = left.front();
      while (made_.size() > first_made) {
        Undo(made_.back());
        made_.pop_back();
      }
      return impossible;
    }
    MakeOne(*next);
    left.erase(next);
  }
  return std::nullopt;
}

// What Try would gain, where that is known without making anything: a single move or swap.
std::optional<double> StepOrder::Foresee(const StepBundle& bundle) const {
  if (bundle.steps.size() != 1) return std::nullopt;
  const PlanStep& step = bundle.steps.front();
  const bool is_swap = step.kind == ActionKind::kSwapPrimarySecondary;
  if ((!is_swap && !IsMove(step.kind)) || !IsPossible(step, bundle.has_followers, false)) return std::nullopt;
  const ServiceId service = arrangement_.ServiceOf(step.replica);
  if (is_swap) {
    return score_.average_deviation() -
           score_.AverageDeviationAfter(service, arrangement_.ChangesOfSwap(step.replica, step.other));
  }
  const auto changes = arrangement_.ChangesOfMove(step.replica, step.to);
  return score_.average_deviation() - score_.AverageDeviationAfter(service, changes);
}

// What waits for room on a node that something has left is tried again.
void StepOrder::Wake(size_t first_made) {
  for (size_t i = first_made; i < made_.size(); ++i) {
    const bool is_swap = made_[i].kind == ActionKind::kSwapPrimarySecondary;
    for (const NodeId node : {made_[i].from, is_swap ? made_[i].to : kNoId}) {
      if (node == kNoId) continue;
      for (const Entry& entry : waiting_[node]) {
        queue_.push_back(entry);
        std::push_heap(queue_.begin(), queue_.end());
      }
      waiting_[node].clear();
    }
  }
}

void StepOrder::MakeAll(std::span<const StepBundle> bundles, const Rank& rank) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const double tolerance = bundles.size() > kManyBundles ? kAsGoodAsTheNextBundle : 1;
  for (uint32_t i = 0; i < bundles.size(); ++i) queue_.push_back({rank(bundles[i]), kUnknown, i});
  std::make_heap(queue_.begin(), queue_.end());
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end());
    Entry entry = queue_.back();
    queue_.pop_back();
    const size_t first_made = made_.size();
    const double before = score_.average_deviation();
    const auto another_is_better = [&](double gain) {
      const bool is_next = !queue_.empty() && queue_.front().rank == entry.rank;
      return is_next && gain < queue_.front().gain * tolerance && gain < entry.gain;
    };
    const auto wait_for_better = [&](double gain) {
      queue_.push_back({entry.rank, gain, entry.bundle});
      std::push_heap(queue_.begin(), queue_.end());
    };
    if (const std::optional<double> gain = Foresee(bundles[entry.bundle]); gain && another_is_better(*gain)) {
      wait_for_better(*gain);
      continue;
    }
    if (const std::optional<PlanStep> impossible = Try(bundles[entry.bundle], false)) {
      const NodeId node = impossible->to == kNoId ? static_cast<NodeId>(waiting_.size() - 1) : impossible->to;
      if (entry.gain == kUnknown) entry.gain = 0;
      waiting_[node].push_back(entry);
      continue;
    }
    const double gain = before - score_.average_deviation();
    if (another_is_better(gain)) {
      while (made_.size() > first_made) {
        Undo(made_.back());
        made_.pop_back();
      }
      wait_for_better(gain);
      continue;
    }
    done_[entry.bundle] = 1;
    Wake(first_made);
  }
}

bool StepOrder::MakeWaiting(std::span<const StepBundle> bundles) {
  bool any = false;
  for (uint32_t i = 0; i < bundles.size(); ++i) {
    const bool begun = std::ranges::count(made_of_[i], 1) > 0;
    if (done_[i] != 0 || begun || Try(bundles[i], false)) continue;
    done_[i] = 1;
    any = true;
  }
  return any;
}

bool StepOrder::MakeSingles(std::span<const StepBundle> bundles, bool forced) {
  bool any = false;
  for (uint32_t i = 0; i < bundles.size(); ++i) {
    if (done_[i] != 0) continue;
    const StepBundle& bundle = bundles[i];
    // A parent and what follows it are not torn apart.
    if (bundle.has_followers) {
      if (!forced || Try(bundle, true)) continue;
      done_[i] = 1;
      any = true;
      continue;
    }
    for (size_t j = 0; j < bundle.steps.size(); ++j) {
      if (made_of_[i][j] != 0 || !IsPossible(bundle.steps[j], false, forced)) continue;
      MakeOne(bundle.steps[j]);
      made_of_[i][j] = 1;
      any = true;
    }
    if (std::ranges::count(made_of_[i], 0) == 0) done_[i] = 1;
  }
  return any;
}

std::vector<PlanStep> StepOrder::Make(std::span<const StepBundle> bundles, const Rank& rank, std::vector<PlanStep>& stuck) {
  made_.clear();
  done_.assign(bundles.size(), 0);
  made_of_.clear();
  for (const StepBundle& bundle : bundles) made_of_.emplace_back(bundle.steps.size());
  MakeAll(bundles, rank);
  while (MakeWaiting(bundles) || MakeSingles(bundles, false) || MakeSingles(bundles, true)) continue;
  for (uint32_t i = 0; i < bundles.size(); ++i) {
    if (done_[i] != 0) continue;
    for (size_t j = 0; j < bundles[i].steps.size(); ++j) {
      if (made_of_[i][j] == 0) stuck.push_back(bundles[i].steps[j]);
    }
  }
  return std::move(made_);
}

}  // namespace evenkeel::balancing
