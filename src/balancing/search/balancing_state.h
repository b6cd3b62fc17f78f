// What the balancing search changes and looks at: an arrangement with its deviation and energy, the movements so far, and the
// rules of what may move where. A step is checked, made with all that has to follow it, and can be taken back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/deviation.h"
#include "balancing/rules/constraints.h"
#include "balancing/search/balancing_search.h"

namespace evenkeel::balancing {

/// A shift of `replica` to `to`; or, with `to` kNoId, an exchange of the roles of the primary `replica` and the secondary
/// `other`.
struct BalancingStep {
  ReplicaId replica = kNoId;
  NodeId to = kNoId;
  ReplicaId other = kNoId;
};

class BalancingState {
 public:
  /// All outlive this. No replica of the group has moved yet.
  BalancingState(Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance,
                 const BalancingOptions& options);

  const Arrangement& arrangement() const { return arrangement_; }
  const Cluster& cluster() const { return arrangement_.cluster(); }
  const Settings& settings() const { return arrangement_.settings(); }
  const ServiceGroup& group() const { return group_; }
  double deviation() const { return score_.average_deviation(); }
  double energy() const { return EnergyOf(deviation(), cost_); }
  int64_t movements() const { return movements_; }
  int64_t slots() const { return slots_; }
  /// How much the deviation has to fall for one more movement of cost 1 to pay.
  double PriceOfMovement() const;
  /// By how much the energy rises with each unit of deviation.
  double EnergyOfDeviation() const { return EnergyOf(deviation() + 1, cost_) - energy(); }

  /// Those that may start a step: their service is imbalanced where they are, and nothing keeps them in place.
  const std::vector<ReplicaId>& eligible() const { return eligible_; }
  bool Eligible(ReplicaId replica) const { return eligible_flags_[replica] != 0; }
  /// Node types of source and target allow it (the rest is the constraints' matter).
  bool TypesAllow(NodeId from, NodeId to) const;
  bool per_node_type() const { return per_node_type_; }
  /// With SwapPrimaryProbability 1 nothing but exchanges of roles is tried.
  bool swaps_only() const { return swaps_only_; }

  /// Whether the step could be made, as far as it is known without making it: not what follows it.
  bool Allows(const BalancingStep& step) const;
  /// The energy if the step were made; with what follows it, where anything does: infinite when that is impossible. (What
  /// Allows says is not asked otherwise.) Nothing is changed.
  double EnergyAfter(const BalancingStep& step);
  /// Makes it with what follows it; false, and nothing is changed, when that is impossible. O(metrics + Constraints::Obstacle).
  bool Make(const BalancingStep& step);
  /// Makes both, in the order that is possible: the one that goes may need the room that the other leaves, or the other way
  /// round. False, and nothing is changed, when neither is.
  bool MakeBoth(const BalancingStep& one, const BalancingStep& other);
  /// Takes back everything after `mark`.
  size_t Mark() const { return journal_.size(); }
  void RollBack(size_t mark);
  /// The steps from the first state to this one, without detours; and these made instead of what was made since the first
  /// state, whatever is allowed on the way. O(replicas of the group).
  std::vector<BalancingStep> Steps() const;
  void Remake(std::span<const BalancingStep> steps);

  /// What the step, which goes nowhere else, adds to the cost of all movements; below 0 when it takes one back.
  double CostOf(const BalancingStep& step) const {
    int64_t movements = 0;
    return CostDelta(step, movements);
  }

  /// Existing replicas of the group that are on another node than at first, and partitions with another primary.
  std::vector<ReplicaId> MovedReplicas() const;
  std::vector<PartitionId> SwappedPartitions() const;
  NodeId HomeOf(ReplicaId replica) const { return cluster().replicas[replica].node; }
  /// Back to its node; back to its primary. kNoId in `replica` when it is there.
  BalancingStep WayHome(ReplicaId replica) const { return {replica, HomeOf(replica), kNoId}; }
  BalancingStep WayBack(PartitionId partition) const;

 private:
  struct Done {
    BalancingStep step;
    NodeId from;
  };

  double EnergyOf(double deviation, double cost) const;
  bool SlotsSuffice(const BalancingStep& step) const;
  double CostDelta(const BalancingStep& step, int64_t& movements) const;
  void FindEligible(const GroupBalance& balance, const BalancingOptions& options);
  void FindPrimaries();
  bool MakeShift(const BalancingStep& step);
  bool MakeSwap(const BalancingStep& step);
  /// Whether other replicas follow those of its service by affinity.
  bool IsFollowed(ReplicaId replica) const { return constraints_.affinity().IsParent(arrangement_.ServiceOf(replica)); }
  /// Replicas of its children that are not where theirs are.
  int64_t MisplacedFollowers(ServiceId parent) const;
  void Do(const BalancingStep& step);

  Arrangement& arrangement_;
  const ServiceGroup& group_;
  GroupScore score_;
  Constraints constraints_;
  const int64_t slots_;
  const bool per_node_type_, swaps_only_, affinity_counts_;
  int64_t replicas_ = 0;
  double cost_ = 0;
  int64_t movements_ = 0;
  std::vector<uint8_t> eligible_flags_, movable_flags_;
  std::vector<ReplicaId> eligible_;
  std::vector<ReplicaId> first_primary_;          // by partition
  std::vector<std::vector<ServiceId>> children_;  // by service; empty without affinity
  std::vector<Done> journal_;
};

}  // namespace evenkeel::balancing
