// Repairs of violations that one replica or one partition has: placement constraints, domains, affinity, nodes that leave. In
// this order a primary and a secondary exchange their roles, a replica moves, a parent gathers its children, and others make
// room. Where reported costs of movements count, what exchanges, movements and making room cost decides instead of the order.
#pragma once

#include <cstdint>
#include <vector>

#include "balancing/repairs/repair_context.h"
#include "balancing/repairs/repair_price.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

class ReplicaRepairs {
 public:
  explicit ReplicaRepairs(const RepairContext& context)
      : arrangement_(context.arrangement),
        journal_(context.journal),
        finder_(context.finder),
        mover_(context.mover),
        budget_(context.budget) {}

  /// How much is wrong with what the violation is about; 0: nothing any more.
  int64_t Measure(const Violation& violation, const Constraints& constraints) const;
  /// Whether less is wrong now, without anything that `constraints` looks at being worse; else nothing has changed.
  bool Mend(const Violation& violation, const Constraints& constraints);

 private:
  // A way to mend: `replica` moves to `node`, or exchanges its role with the secondary `other`.
  struct Choice {
    int64_t left = 0;  // of the violation
    RepairPrice price;
    ReplicaId replica = kNoId;
    NodeId node = kNoId;
    ReplicaId other = kNoId;
    auto operator<=>(const Choice&) const = default;
  };
  int64_t Unsuitable(PartitionId partition) const;
  std::vector<ReplicaId> Candidates(const Violation& violation, const Constraints& constraints) const;
  std::vector<NodeId> ParentNodes(ReplicaId replica) const;
  TargetFinder::Accept Mends(const Violation& violation, const Constraints& constraints, ReplicaId replica);
  void AddSwaps(const Violation& violation, const Constraints& constraints, std::vector<Choice>& choices);
  void AddMoves(const Violation& violation, const Constraints& constraints, std::vector<Choice>& choices);
  bool TakeBest(const Constraints& constraints, const std::vector<Choice>& choices);
  bool MoveParent(const Violation& violation, const Constraints& constraints);
  bool MoveWithRoom(const Violation& violation, const Constraints& constraints);
  bool MakeRoomAndMove(const Constraints& constraints, ReplicaId replica, NodeId node, int64_t moves);
  int64_t WrongInFamily(ServiceId parent, const Constraints& constraints) const;
  void CallChildren(ReplicaId replica, const Constraints& apart);
  bool GatherFamily(ServiceId parent, const Constraints& constraints);

  const Arrangement& arrangement_;
  StepJournal& journal_;
  TargetFinder& finder_;
  Mover& mover_;
  const int64_t budget_;
};

}  // namespace evenkeel::balancing
