// Movements that take along what follows a replica by affinity, and that make room for one another: of a node that is too full
// for a replica others go first. Whatever is not possible is taken back entirely.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "balancing/search/target_finder.h"

namespace evenkeel::balancing {

class Mover {
 public:
  /// Both outlive this. At most `slots` movements of existing replicas altogether.
  Mover(StepJournal& journal, TargetFinder& finder, int64_t slots);

  StepJournal& journal() { return journal_; }
  TargetFinder& finder() { return finder_; }
  const std::vector<ServiceId>& FollowersOf(ServiceId service) const { return followers_[service]; }
  /// What has been made so far does not count.
  void GrantMade() { slots_ += journal_.movements(); }
  int64_t slots_left() const { return slots_ - journal_.movements(); }

  /// Whether a search may move it: placed, of the group, and existing ones as Constraints::Movable says.
  bool Movable(const Constraints& constraints, ReplicaId replica) const;

  /// Replicas of the children of its service that are not where their parent's are.
  int64_t MisplacedFollowers(const Constraints& constraints, ReplicaId replica) const;

  /// The replica, and what follows it, to another node, if nothing becomes worse and enough slots are left.
  bool TryMove(const Constraints& constraints, ReplicaId replica, NodeId to);
  /// A primary and a secondary exchange their roles, and so do those that follow both.
  bool TrySwap(const Constraints& constraints, ReplicaId primary, ReplicaId secondary);
  /// Places a new replica.
  bool TryPlace(const Constraints& constraints, ReplicaId replica, NodeId node, Role role);

  /// Moves others, so that the replica could be on `to`: of its obstacles it removes too little capacity and full domains. With
  /// at most `slots` movements of existing replicas, and chains of at most `depth`.
  bool MakeRoom(const Constraints& constraints, ReplicaId replica, NodeId to, Role role, int64_t slots, int depth);
  /// The nodes where MakeRoom may help, those first that lack least. O(nodes * Obstacle).
  std::vector<NodeId> Crowded(const Constraints& constraints, ReplicaId replica, Role role, size_t most,
                              const TargetFinder::Accept& accept = {}) const;

 private:
  bool MoveFollowers(const Constraints& constraints, std::span<const ReplicaId> followers, NodeId to);
  bool SwapFollowers(const Constraints& constraints, std::span<const std::pair<ReplicaId, ReplicaId>> swaps);
  double Lack(ReplicaId replica, NodeId to, Role role) const;
  double ReportedCostOf(ReplicaId replica) const;
  std::vector<ReplicaId> Blockers(const Constraints& constraints, ReplicaId replica, NodeId to, Role role,
                                  Constraint obstacle) const;
  std::vector<ReplicaId> CapacityBlockers(const Constraints& constraints, ReplicaId replica, NodeId to, Role role) const;
  bool MoveAway(const Constraints& constraints, ReplicaId blocker, int64_t limit, int depth);

  StepJournal& journal_;
  TargetFinder& finder_;
  const Arrangement& arrangement_;
  int64_t slots_;
  std::vector<std::vector<ServiceId>> followers_;  // by service: those that follow it by affinity
};

}  // namespace evenkeel::balancing
