#include "controllers/balancer/planning.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "balancing/measures/deviation.h"
#include "base/hash.h"
#include "controllers/balancer/execution.h"

namespace evenkeel::controllers::balancer {
namespace {

using balancing::Action;
using balancing::ActionKind;
using balancing::Cluster;
using balancing::GroupBalance;
using balancing::GroupPhase;
using balancing::GroupPlan;
using balancing::GroupScore;
using balancing::GroupServices;
using balancing::History;
using balancing::kNoId;
using balancing::MetricBalance;
using balancing::Node;
using balancing::NodeLoads;
using balancing::NodeSets;
using balancing::Partition;
using balancing::Phase;
using balancing::Plan;
using balancing::PlanOptions;
using balancing::Replica;
using balancing::ServiceGroup;
using balancing::Settings;

/// The same answer for the same input is worth more than another seed's luck.
constexpr uint64_t kSeed = 1;

bool IsMove(ActionKind kind) {
  return kind == ActionKind::kMovePrimary || kind == ActionKind::kMoveSecondary || kind == ActionKind::kMoveInstance;
}

PlannedMove MoveOf(const Action& action, const MemberInput& input, const MemberCluster& member) {
  const Cluster& cluster = member.cluster;
  const Partition& partition = cluster.partitions[action.partition];
  PlannedMove move;
  move.partition = partition.name;
  move.service = cluster.services[partition.service].name;
  move.action = Name(action.kind);
  move.from = cluster.nodes[action.from].name;
  move.to = cluster.nodes[action.to].name;
  move.pod = partition.name;
  move.reason = action.reason;
  move.energy_gain = action.energy_gain;
  if (const SeenPod* pod = input.objects.FindPod(move.pod); pod != nullptr) {
    move.pod_uid = pod->uid;
    move.owner_uid = pod->owner_uid;
    move.loads = LoadsOf(*pod, input.policy, input.usage);
  }
  return move;
}

/// Groups whose phase is the most urgent one; the others come when this plan is done.
std::vector<const GroupPlan*> UrgentGroups(const Plan& plan) {
  std::vector<const GroupPlan*> balancing, mending;
  for (const GroupPlan& group : plan.of_groups) {
    if (std::ranges::none_of(group.actions, [](const Action& action) { return IsMove(action.kind); })) continue;
    (group.decision.phase == Phase::kConstraintCheck ? mending : balancing).push_back(&group);
  }
  return mending.empty() ? balancing : mending;
}

std::optional<PlanObject> MakeObject(const Plan& plan, const MemberInput& input, const MemberCluster& member,
                                     std::vector<DroppedMove>& dropped) {
  PlanObject object;
  object.policy = input.policy.name;
  object.approved = !input.policy.dry_run;
  for (const GroupPlan* group : UrgentGroups(plan)) {
    object.phase = Name(group->decision.phase);
    object.deviation_before = std::max(object.deviation_before, group->deviation_before);
    object.deviation_after = std::max(object.deviation_after, group->deviation_after);
    object.energy_before += group->energy_before;
    object.energy_after += group->energy_after;
    for (const Action& action : group->actions) {
      if (IsMove(action.kind)) object.moves.push_back(MoveOf(action, input, member));
    }
  }
  dropped = DropWaysBack(input.past, object.moves, input.now);
  std::ranges::move(DropImpossible(input.objects, object.moves), std::back_inserter(dropped));
  const int64_t left = MovementsLeft(input.policy, input.past, input.now);
  while (static_cast<int64_t>(object.moves.size()) > left) {
    dropped.push_back({std::move(object.moves.back()), "as many pods were moved lately as the policy allows"});
    object.moves.pop_back();
  }
  if (object.moves.empty()) return std::nullopt;
  object.input_version = InputVersion(object.moves, input.objects);
  object.status.resize(object.moves.size());
  return object;
}

/// Why pods stay for a while after a move of theirs has failed: a budget that is not given must not hold up everything else.
std::map<std::string, std::string> FailedLately(std::span<const PlanObject> plans, base::Time now) {
  std::map<std::string, std::string> failed;
  for (const PlanObject& plan : plans) {
    if (!plan.finished_at || now - *plan.finished_at >= kNoWayBack) continue;
    for (size_t i = 0; i < plan.moves.size(); ++i) {
      if (plan.status[i].state == MoveState::kFailed) failed[plan.moves[i].pod_uid] = plan.status[i].message;
    }
  }
  return failed;
}

/// A group whose rules are mended does that instead of what the planner would do with the same pods.
void AddMending(const Cluster& cluster, GroupMending&& mended, GroupPlan& group) {
  for (const BrokenPod& left : mended.left) group.skipped.push_back({left.why, "pod " + left.pod});
  if (mended.actions.empty()) return;
  if (group.decision.phase != Phase::kConstraintCheck) group.actions.clear();
  std::erase_if(group.actions, [&](const Action& action) {
    return std::ranges::find(mended.actions, action.partition, &Action::partition) != mended.actions.end();
  });
  group.decision.phase = Phase::kConstraintCheck;
  group.decision.why = fmt::format("{} pods break rules of Kubernetes where they run", mended.actions.size());
  for (const Action& action : mended.actions) {
    group.violations.push_back({.constraint = balancing::Constraint::kPlacementConstraint,
                                .node = action.from,
                                .replica = action.replica,
                                .partition = action.partition});
    group.violation_texts.push_back(cluster.partitions[action.partition].name + ": " + action.reason);
  }
  group.deviation_before = mended.deviation_before;
  group.deviation_after = mended.deviation_after;
  group.energy_before = mended.energy_before;
  group.energy_after = mended.energy_after;
  group.actions.insert(group.actions.begin(), std::make_move_iterator(mended.actions.begin()),
                       std::make_move_iterator(mended.actions.end()));
}

/// Of the groups that were not balanced because rules come first.
void SayWhyNotBalanced(GroupPlan& group) {
  constexpr const char* kWhy = "pods that break rules of Kubernetes are moved first";
  for (balancing::PhaseSkip& skip : group.decision.skipped) {
    if (skip.stage != balancing::Stage::kBalancing || skip.reason != balancing::SkipReason::kDisabled) continue;
    for (balancing::SkippedItem& item : group.skipped) {
      if (item.why == skip.text && item.what == Name(skip.stage)) item.why = kWhy;
    }
    skip.text = kWhy;
  }
}

/// What the planner says of the balance, also when it did not have to ask.
void Judge(const MemberCluster& member, Outlook& outlook) {
  const Cluster& cluster = member.cluster;
  const NodeSets sets(cluster);
  const NodeLoads loads(cluster, sets);
  for (const ServiceGroup& group : GroupServices(cluster).groups) {
    const GroupBalance balance = CheckBalance(cluster, member.settings, sets, loads, group);
    outlook.balanced &= balance.balanced();
    for (const MetricBalance& metric : balance.metrics) {
      if (metric.balanced()) continue;
      outlook.balance_text += (outlook.balance_text.empty() ? "" : "; ") + cluster.metrics[metric.metric].name;
      if (!cluster.node_types[metric.node_type == kNoId ? 0 : metric.node_type].empty() && metric.node_type != kNoId) {
        outlook.balance_text += " on " + cluster.node_types[metric.node_type];
      }
      outlook.balance_text += ": " + Text(cluster, metric);
    }
    const GroupScore score(cluster, member.settings, sets, loads, group);
    outlook.deviation = std::max(outlook.deviation, score.average_deviation());
  }
  if (outlook.balanced) outlook.balance_text = "every metric is within its thresholds";
}

}  // namespace

std::vector<DroppedMove> DropWaysBack(const PastMoves& past, std::vector<PlannedMove>& moves, base::Time now) {
  std::vector<DroppedMove> dropped;
  std::vector<PlannedMove> kept;
  for (PlannedMove& move : moves) {
    std::string why = past.WhyNot(move.pod_uid, move.service, move.to, move.loads, now);
    for (const PlannedMove& before : kept) {
      if (before.service == move.service && before.from == move.to && SameLoads(before.loads, move.loads)) {
        why = "pod " + before.pod + ", which is like it, leaves " + move.to + " in the same plan";
      }
    }
    if (why.empty()) {
      kept.push_back(std::move(move));
    } else {
      dropped.push_back({std::move(move), std::move(why)});
    }
  }
  moves = std::move(kept);
  return dropped;
}

bool Planning::Due(const Policy& policy, base::Time now) const {
  if (!memory_ || memory_->groups.empty() || policy_version_ != policy.version) return true;
  if (!rules_seen_ || now - *rules_seen_ >= policy.constraint_check_interval) return true;
  const Settings settings = SettingsOf(policy, std::vector<int64_t>(policy.metrics.size(), 1));
  return std::ranges::any_of(memory_->groups,
                             [&](const GroupPhase& group) { return NextStage(settings, group.phase) <= PlannerTime(now); });
}

/// State: what runs where, what of it may move, and how many moves have failed.
Planning::Fingerprint Planning::FingerprintOf(const MemberCluster& member, std::span<const PlanObject> plans) {
  scheduling::TextKey state, loads;
  for (const Node& node : member.cluster.nodes) state.Add(node.name);
  for (const Replica& replica : member.cluster.replicas) {
    const Partition& partition = member.cluster.partitions[replica.partition];
    state.Add(partition.name).Add(member.cluster.nodes[replica.node].name).Add(partition.flags);
  }
  const auto failed = [](const PlanObject& plan) {
    return std::ranges::count(plan.status, MoveState::kFailed, &MoveStatus::state);
  };
  // The last such plan says it all: older ones are deleted in time, which is no change.
  const auto last = std::ranges::find_if(plans | std::views::reverse, [&](const PlanObject& plan) { return failed(plan) > 0; });
  if (last != plans.rend()) state.Add(last->name).Add(failed(*last));
  for (const int64_t load : member.cluster.loads) loads.Add(load);
  return {base::Blake2b64(state.text()), base::Blake2b64(loads.text())};
}

void Planning::Remember(const MemberInput& input, std::span<const PlanObject> plans, MemberCluster& member) {
  const double now = PlannerTime(input.now);
  History& history = member.cluster.history;
  history.last_state_change = history.last_load_change = now;
  for (const PlanObject& plan : plans) {
    double& last = plan.phase == "ConstraintCheck" ? history.last_constraint_check : history.last_balancing;
    last = std::max(last, PlannerTime(plan.created));
  }
  memory_ = MemoryOf(member.settings, member.cluster, now);
  rules_seen_.reset();
  broken_.clear();
}

Mending Planning::LookAtRules(const MemberInput& input, const MemberCluster& member, std::span<const PlanObject> plans) {
  const bool due = !rules_seen_ || input.now - *rules_seen_ >= input.policy.constraint_check_interval;
  if (!due && !mending_) return {};
  rules_seen_ = input.now;
  const double since_node_up = PlannerTime(input.now) - member.cluster.history.last_node_up;
  MendOptions options;
  options.nodes_change = since_node_up < std::chrono::duration<double>(input.policy.delay_after_new_node).count() ||
                         (node_went_ && input.now - *node_went_ < input.policy.delay_after_node_down);
  options.failed = FailedLately(plans, input.now);
  Mending mending = MendRules(input, member, options);
  broken_.clear();
  for (const auto& [group, mended] : mending) broken_.insert(broken_.end(), mended.left.begin(), mended.left.end());
  return mending;
}

void Planning::NoteChanges(const MemberCluster& member, const Fingerprint& present, base::Time now) {
  const double at = PlannerTime(now);
  std::vector<std::string> nodes;
  for (const Node& node : member.cluster.nodes) nodes.push_back(node.name);
  const bool came = !std::ranges::includes(nodes_, nodes), went = !std::ranges::includes(nodes, nodes_);
  for (GroupPhase& group : memory_->groups) {
    if (came) NoteNodeUp(group.phase, at);
    if (went) NoteNodeDown(group.phase, at);
    if (present.state != seen_.state || try_again_) NoteStateChange(group.phase, at);
    if (present.loads != seen_.loads) NoteLoadChange(group.phase, at);
  }
  if (went) node_went_ = now;
  nodes_ = std::move(nodes);
}

Outlook Planning::Look(const MemberInput& input, std::span<const PlanObject> plans) {
  Outlook outlook;
  outlook.member = BuildCluster(input);
  MemberCluster& member = outlook.member;
  const double now = PlannerTime(input.now);
  const Fingerprint present = FingerprintOf(member, plans);
  if (!memory_ || policy_version_ != input.policy.version) {
    Remember(input, plans, member);
    nodes_.clear();
    for (const Node& node : member.cluster.nodes) nodes_.push_back(node.name);
  } else {
    NoteChanges(member, present, input.now);
  }
  seen_ = present;
  policy_version_ = input.policy.version;
  Mending mending = LookAtRules(input, member, plans);
  outlook.broken = broken_;
  mending_ = std::ranges::any_of(mending, [](const auto& group) { return !group.second.actions.empty(); });
  member.cluster.runtime.balancing_enabled = !mending_;
  // What has been moved is written in the plans; what was only handed out, and then not done, does not count.
  memory_->throttles = ThrottlesOf(member.settings, member.cluster);
  PlanOptions options;
  options.now = now;
  options.seed = kSeed;
  outlook.plan = MakePlan(member.cluster, member.settings, options, *memory_);
  for (auto& [group, mended] : mending) AddMending(member.cluster, std::move(mended), outlook.plan.of_groups[group]);
  if (mending_) std::ranges::for_each(outlook.plan.of_groups, SayWhyNotBalanced);
  if (mending_) outlook.plan.phase = Phase::kConstraintCheck;
  Judge(member, outlook);
  outlook.made = MakeObject(outlook.plan, input, member, outlook.dropped);
  try_again_ = !outlook.dropped.empty();
  return outlook;
}

}  // namespace evenkeel::controllers::balancer
