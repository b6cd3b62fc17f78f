#include "balancing/search/swaps_for_moves.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "balancing/measures/deviation.h"
#include "balancing/search/mover.h"

namespace evenkeel::balancing {
namespace {

constexpr size_t kMovesLookedAt = 1000;    // more than that are no plan that anybody reads
constexpr double kNoHigher = 1 + 1e-12;    // as far as rounding tells
constexpr int64_t kSlots = INT64_MAX / 2;  // no exchange adds a movement

class SwapFinder {
 public:
  SwapFinder(Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance, const BalancingOptions& options)
      : arrangement_(arrangement),
        balance_(balance),
        options_(options),
        constraints_(arrangement, {.purpose = Purpose::kBalancing, .max_priority = kBalancingMaxPriority}),
        journal_(arrangement, group),
        finder_(journal_, options.seed),
        mover_(journal_, finder_, kSlots) {}

  int64_t Run(std::span<const ReplicaId> moved) {
    int64_t exchanged = 0;
    for (const ReplicaId replica : moved) exchanged += Exchange(replica) ? 1 : 0;
    return exchanged;
  }

 private:
  const Service& ServiceOf(ReplicaId replica) const { return arrangement_.cluster().services[arrangement_.ServiceOf(replica)]; }
  bool HasFamily(ReplicaId replica) const {
    return ServiceOf(replica).affinity_to != kNoId || constraints_.affinity().IsParent(arrangement_.ServiceOf(replica));
  }
  bool TypeAllows(NodeId node) const {
    const NodeTypeId type = arrangement_.cluster().nodes[node].type;
    return options_.node_types.empty() || std::ranges::find(options_.node_types, type) != options_.node_types.end();
  }
  bool MayChange(ReplicaId replica) const {
    const NodeId node = arrangement_.NodeOf(replica);
    if (arrangement_.IsNew(replica) || arrangement_.Moved(replica) || HasFamily(replica) || !TypeAllows(node)) return false;
    return mover_.Movable(constraints_, replica) &&
           balance_.MayMove(arrangement_.cluster(), arrangement_.ServiceOf(replica), arrangement_.cluster().nodes[node].type);
  }
  std::pair<ReplicaId, ReplicaId> PairOf(ReplicaId here, NodeId there) const;
  bool Exchange(ReplicaId replica);

  Arrangement& arrangement_;
  const GroupBalance& balance_;
  const BalancingOptions& options_;
  const Constraints constraints_;
  StepJournal journal_;
  TargetFinder finder_;
  Mover mover_;
};

// The primary and the secondary of one partition on the two nodes; else kNoId.
std::pair<ReplicaId, ReplicaId> SwapFinder::PairOf(ReplicaId here, NodeId there) const {
  constexpr std::pair kNone(kNoId, kNoId);
  const PartitionId partition = arrangement_.PartitionOf(here);
  if (std::ranges::find(options_.throttled_partitions, partition) != options_.throttled_partitions.end()) return kNone;
  const ReplicaId other = arrangement_.Find(partition, there);
  if (other == kNoId || !MayChange(here) || !MayChange(other)) return kNone;
  const Role one = arrangement_.RoleOf(here), two = arrangement_.RoleOf(other);
  if (one == Role::kPrimary && two == Role::kSecondary) return {here, other};
  if (one == Role::kSecondary && two == Role::kPrimary) return {other, here};
  return kNone;
}

bool SwapFinder::Exchange(ReplicaId replica) {
  const NodeId home = arrangement_.cluster().replicas[replica].node, there = arrangement_.NodeOf(replica);
  const Settings& settings = arrangement_.settings();
  const bool dearer = CostOfSwap(settings) > CostOfMove(settings, arrangement_.cluster().replicas[replica].move_cost);
  // Limits of changed primaries must not cut what none of them concerned.
  const bool limited = settings.swap_primary_throttling_enabled && arrangement_.RoleOf(replica) != Role::kPrimary;
  if (dearer || limited || HasFamily(replica) || arrangement_.StandByAt(replica, there) != kNoId) return false;
  struct Choice {
    double deviation;
    ReplicaId primary, secondary;
    auto operator<=>(const Choice&) const = default;
  };
  std::vector<Choice> choices;
  for (const ReplicaId here : arrangement_.On(home)) {
    if (!ServiceOf(here).stateful || arrangement_.PartitionOf(here) == arrangement_.PartitionOf(replica)) continue;
    if (const auto [primary, secondary] = PairOf(here, there); primary != kNoId) choices.push_back({0, primary, secondary});
  }
  if (choices.empty()) return false;
  const size_t mark = journal_.Mark();
  const double with_move = journal_.score().average_deviation() * kNoHigher;
  if (!mover_.TryMove(constraints_, replica, home)) return false;
  for (Choice& choice : choices) {
    choice.deviation = journal_.score().AverageDeviationAfter(arrangement_.ServiceOf(choice.primary),
                                                              arrangement_.ChangesOfSwap(choice.primary, choice.secondary));
  }
  std::ranges::sort(choices);
  for (const Choice& choice : choices) {
    if (choice.deviation > with_move) break;
    if (mover_.TrySwap(constraints_, choice.primary, choice.secondary)) return true;
  }
  journal_.UndoTo(mark);
  return false;
}

}  // namespace

int64_t ExchangeMovesForSwaps(Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance,
                              const BalancingOptions& options) {
  const Cluster& cluster = arrangement.cluster();
  if (arrangement.settings().swap_primary_probability <= 0) return 0;
  std::vector<ReplicaId> moved;
  for (const ServiceId service : group.services) {
    for (const PartitionId partition : cluster.services[service].partitions) {
      const auto [first, last] = arrangement.ExistingOf(partition);
      for (ReplicaId replica = first; replica < last; ++replica) {
        const NodeId node = arrangement.NodeOf(replica);
        if (node == kNoId || node == cluster.replicas[replica].node) continue;
        if (arrangement.RoleOf(replica) == cluster.replicas[replica].role) moved.push_back(replica);
      }
    }
  }
  if (moved.empty() || moved.size() > kMovesLookedAt) return 0;
  std::ranges::sort(moved);
  return SwapFinder(arrangement, group, balance, options).Run(moved);
}

}  // namespace evenkeel::balancing
