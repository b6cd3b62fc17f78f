// Steps of a search over the placement of one group, which can be taken back in the reverse order, with the group's deviation
// kept up to date and the movements counted.
#pragma once

#include <cstdint>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/deviation.h"
#include "balancing/model/service_groups.h"

namespace evenkeel::balancing {

class StepJournal {
 public:
  /// Both outlive this. Of `arrangement` nobody else changes anything meanwhile.
  StepJournal(Arrangement& arrangement, const ServiceGroup& group);

  const Arrangement& arrangement() const { return arrangement_; }
  const ServiceGroup& group() const { return group_; }
  const GroupScore& score() const { return score_; }
  bool InGroup(ReplicaId replica) const { return in_group_[arrangement_.ServiceOf(replica)]; }

  /// Of the group's replicas only, as Arrangement has them.
  void Move(ReplicaId replica, NodeId to);
  void Swap(ReplicaId primary, ReplicaId secondary);
  void Place(ReplicaId replica, NodeId node, Role role);
  void Remove(ReplicaId replica);
  void ChangeRole(ReplicaId replica, Role role);

  /// What UndoTo goes back to.
  size_t Mark() const { return steps_.size(); }
  void UndoTo(size_t mark);

  /// Existing replicas that are elsewhere than the cluster has them, and exchanges of roles.
  int64_t movements() const { return elsewhere_ + swaps_; }
  /// What the movements since then cost, of replicas that are not back.
  double CostSince(size_t mark) const;
  /// Each once, in the order in which they first moved; some may be back.
  std::vector<ReplicaId> MovedSince(size_t mark) const;

 private:
  enum class Kind : uint8_t { kMove, kSwap, kPlace, kRemove, kChangeRole };
  struct Step {
    Kind kind;
    Role role = Role::kNone;  // before
    ReplicaId replica = kNoId, other = kNoId;
    NodeId node = kNoId;  // before
  };
  void Undo(const Step& step);
  void MoveCounted(ReplicaId replica, NodeId to);
  bool Elsewhere(ReplicaId replica) const;
  void Changed(ReplicaId replica) { score_.Update(arrangement_.ServiceOf(replica)); }

  Arrangement& arrangement_;
  const ServiceGroup& group_;
  GroupScore score_;
  std::vector<bool> in_group_;  // by service
  std::vector<Step> steps_;
  int64_t elsewhere_ = 0, swaps_ = 0;
};

}  // namespace evenkeel::balancing
