#include "balancing/plan/plan_limits.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

#include "balancing/plan/plan_apply.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {
namespace {

bool Reports(const Cluster& cluster, const Service& service, std::string_view metric) {
  return metric.empty() || std::ranges::any_of(service.metrics, [&](const ServiceMetric& own) {
           return cluster.metrics[own.metric].name == metric;
         });
}

// Replicas that follow a parent are built with it.
bool IsBuilt(const Service& service) { return service.stateful && service.affinity_to == kNoId; }

int64_t BuildsUnderWay(const Cluster& cluster, const Partition& partition) {
  if (!IsBuilt(cluster.ServiceOf(partition))) return 0;
  return std::ranges::count_if(cluster.ReplicasOf(partition), [](const Replica& replica) { return replica.Has(kInBuild); });
}

int64_t PrimariesUnderWay(const Cluster& cluster, const Partition& partition) {
  const bool moves = std::ranges::any_of(cluster.ReplicasOf(partition), [](const Replica& replica) {
    return replica.Has(kToBePromoted) || (replica.role == Role::kPrimary && replica.Has(kMoveInProgress));
  });
  return moves || partition.Has(kPartitionSwappingPrimary) ? 1 : 0;
}

bool Builds(const Cluster& cluster, const Action& action) {
  const Partition& partition = cluster.partitions[action.partition];
  if (!IsBuilt(cluster.ServiceOf(partition))) return false;
  switch (action.kind) {
    case ActionKind::kMovePrimary:
    case ActionKind::kMoveSecondary:
    case ActionKind::kAddSecondary:
      return true;
    case ActionKind::kAddPrimary:
      // The first replica of a partition has nothing to copy.
      return std::ranges::any_of(cluster.ReplicasOf(partition), &Replica::Exists);
    default:
      return false;
  }
}

bool IsAllowed(const Arrangement& arrangement, const Constraints& constraints, const Action& action) {
  switch (action.kind) {
    case ActionKind::kMovePrimary:
    case ActionKind::kMoveSecondary:
    case ActionKind::kMoveInstance: {
      const ReplicaId replica = arrangement.Find(action.partition, action.from);
      return replica != kNoId && constraints.Allows(replica, action.to);
    }
    case ActionKind::kSwapPrimarySecondary: {
      const ReplicaId primary = arrangement.Find(action.partition, action.from);
      const ReplicaId secondary = arrangement.Find(action.partition, action.to);
      return primary != kNoId && secondary != kNoId && !constraints.SwapObstacle(primary, secondary);
    }
    default:
      return true;
  }
}

}  // namespace

PlanLimits::PlanLimits(const Cluster& cluster, const Settings& settings) : cluster_(cluster) {
  if (settings.in_build_throttling_enabled) {
    AddLimit({.name = "InBuildThrottlingGlobalMaxValue",
              .counts_builds = true,
              .metric = settings.in_build_throttling_associated_metric,
              .max = settings.in_build_throttling_global_max_value,
              .what = "replicas may be built"});
  }
  if (settings.swap_primary_throttling_enabled) {
    AddLimit({.name = "SwapPrimaryThrottlingGlobalMaxValue",
              .metric = settings.swap_primary_throttling_associated_metric,
              .max = settings.swap_primary_throttling_global_max_value,
              .what = "primaries may move"});
  }
}

void PlanLimits::AddLimit(Limit limit) {
  if (limit.max <= 0) return;
  for (const Partition& partition : cluster_.partitions) {
    if (!Reports(cluster_, cluster_.ServiceOf(partition), limit.metric)) continue;
    limit.under_way += limit.counts_builds ? BuildsUnderWay(cluster_, partition) : PrimariesUnderWay(cluster_, partition);
  }
  limits_.push_back(std::move(limit));
}

bool PlanLimits::Counts(const Cluster& cluster, const Limit& limit, const Action& action) {
  if (!Reports(cluster, cluster.ServiceOf(cluster.partitions[action.partition]), limit.metric)) return false;
  if (limit.counts_builds) return Builds(cluster, action);
  return action.kind == ActionKind::kMovePrimary || action.kind == ActionKind::kSwapPrimarySecondary;
}

bool PlanLimits::Fits(const std::vector<Action>& actions) const {
  return std::ranges::all_of(limits_, [&](const Limit& limit) {
    const int64_t more = std::ranges::count_if(actions, [&](const Action& a) { return Counts(cluster_, limit, a); });
    return more == 0 || limit.under_way + more <= limit.max;
  });
}

void PlanLimits::Count(const std::vector<Action>& actions, int64_t sign) {
  for (Limit& limit : limits_) {
    limit.under_way += sign * std::ranges::count_if(actions, [&](const Action& a) { return Counts(cluster_, limit, a); });
  }
}

void PlanLimits::Cut(Arrangement& planned, const ActionContext& context, std::vector<Action>& actions,
                     std::vector<SkippedItem>& skipped) {
  if (Fits(actions)) return Count(actions);
  UndoAll(actions, planned);
  const Constraints constraints(planned, {.purpose = context.purpose, .max_priority = context.max_priority});
  std::vector<int64_t> counts, left_out(limits_.size());
  for (const Limit& limit : limits_) counts.push_back(limit.under_way);
  std::set<PartitionId> waiting;
  for (const Action& action : actions) {
    if (waiting.contains(action.partition)) continue;
    bool fits = IsAllowed(planned, constraints, action);
    for (size_t i = 0; i < limits_.size() && fits; ++i) {
      if (!Counts(cluster_, limits_[i], action) || counts[i] < limits_[i].max) continue;
      ++left_out[i];
      fits = false;
    }
    if (!fits) {
      waiting.insert(action.partition);
      continue;
    }
    for (size_t i = 0; i < limits_.size(); ++i) counts[i] += Counts(cluster_, limits_[i], action) ? 1 : 0;
    Apply(action, planned);
  }
  for (size_t i = 0; i < limits_.size(); ++i) {
    if (left_out[i] == 0) continue;
    skipped.push_back({fmt::format("{} {} at a time ({}), {} of them are under way or planned", limits_[i].max, limits_[i].what,
                                   limits_[i].name, counts[i]),
                       fmt::format("{} actions that wait for a later plan", left_out[i])});
  }
  actions = ActionsOf(planned, context, skipped);
  std::erase_if(actions, [&](const Action& action) {
    return action.kind == ActionKind::kRequestedPlacementNotPossible && waiting.contains(action.partition);
  });
  Count(actions);
}

}  // namespace evenkeel::balancing
