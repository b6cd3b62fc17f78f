// Steps of a search over the placement of one group, which can be taken back in the reverse order, with the group's deviation
// kept up to date, and the movements counted with what they cost.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/deviation.h"
#include "balancing/model/service_groups.h"

namespace evenkeel::balancing {

class StepJournal {
 public:
  /// Both outlive this. Of `arrangement` nobody else changes anything meanwhile. Costs are those that are reported, with
  /// UseMoveCostReports and `costs_count`; else every movement costs 1.
  StepJournal(Arrangement& arrangement, const ServiceGroup& group, bool costs_count = true);

  const Arrangement& arrangement() const { return arrangement_; }
  const ServiceGroup& group() const { return group_; }
  const GroupScore& score() const { return score_; }
  bool InGroup(ReplicaId replica) const { return in_group_[arrangement_.ServiceOf(replica)]; }

  /// Of the group's replicas only, as Arrangement has them.
  void Move(ReplicaId replica, NodeId to);
  void Swap(ReplicaId primary, ReplicaId secondary);
  void Place(ReplicaId replica, NodeId node, Role role);
  void Remove(ReplicaId replica);
  void Restore(ReplicaId replica);
  void ChangeRole(ReplicaId replica, Role role);

  /// What UndoTo goes back to.
  size_t Mark() const { return steps_.size(); }
  void UndoTo(size_t mark);

  /// Existing replicas that are elsewhere than the cluster has them, and exchanges of roles.
  int64_t movements() const;
  /// Whether reported costs are what movements cost.
  bool costs_count() const { return costs_count_; }
  /// What all movements cost; one more of the replica (a new one: nothing); an exchange of roles.
  double cost() const;
  double CostOfMoving(ReplicaId replica) const;
  double CostOfSwapping() const;
  /// Whether the replica moves only to mend what nothing else mends; movements of such.
  bool IsLastResort(ReplicaId replica) const;
  int64_t last_resorts() const { return costs_count_ ? elsewhere_[static_cast<size_t>(MoveCost::kVeryHigh)] : 0; }
  /// The group's energy with this deviation and this cost of all movements; and as it is.
  double EnergyOf(double deviation, double cost) const;
  double energy() const { return EnergyOf(score_.average_deviation(), cost()); }
  /// A movement of `replica` to `to`, or an exchange of roles with the secondary `other`.
  struct Made {
    ReplicaId replica = kNoId, other = kNoId;
    NodeId to = kNoId;
  };
  /// All of these, in order. Other steps are not told.
  std::vector<Made> AllMade() const;
  /// Each once, in the order in which they first moved; some may be back.
  std::vector<ReplicaId> MovedSince(size_t mark) const;

 private:
  enum class Kind : uint8_t { kMove, kSwap, kPlace, kRemove, kRestore, kChangeRole };
  struct Step {
    Kind kind;
    Role role = Role::kNone;  // before
    ReplicaId replica = kNoId, other = kNoId;
    NodeId node = kNoId;  // before
    NodeId to = kNoId;    // of a movement
  };
  void Undo(const Step& step);
  void MoveCounted(ReplicaId replica, NodeId to);
  void CountElsewhere(ReplicaId replica, int64_t change);
  void Changed(ReplicaId replica) { score_.Update(arrangement_.ServiceOf(replica)); }

  Arrangement& arrangement_;
  const ServiceGroup& group_;
  GroupScore score_;
  const bool costs_count_;
  std::vector<bool> in_group_;  // by service
  std::vector<Step> steps_;
  std::array<int64_t, kMoveCostLevels> elsewhere_{};  // replicas by their move cost: sums of counts, so that nothing is rounded
  int64_t swaps_ = 0;
  int64_t replicas_ = 0;  // that exist
};

}  // namespace evenkeel::balancing
