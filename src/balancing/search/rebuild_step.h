// The large-neighbourhood step of placement and of the constraint check: takes some replicas of a group off and puts all of
// them back, each where the constraints allow it beside what is back already. So several change places together of which none
// could move alone: replicas that are in one another's way, families, all of an application. Which ones go off, and where they
// come back, is drawn; whether the result is better is for the caller to say, who undoes it otherwise.
//
// Beside a few that are concerned there go others that stand in their way or belong to them: on the node of one or on a node
// that it could be on, of its partition, of its application, and always what is beside it of its family. A parent comes back
// before its children. Source: Shaw 1998.
//
// Deterministic: the same seed and the same questions give the same steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "balancing/rules/constraints.h"
#include "balancing/search/mover.h"
#include "base/random.h"

namespace evenkeel::balancing {

/// In clusters of so many replicas at most there is time to ask for all violations after each step.
inline constexpr size_t kRebuildableReplicas = 1000;

/// False when no node could take the replica, whatever others did: none suits it, none is large enough, or there is not enough
/// room on all of them together. O(nodes * Obstacle).
bool MightFit(const Constraints& constraints, const Arrangement& arrangement, ReplicaId replica, Role role);

class RebuildStep {
 public:
  /// Which placed replicas may be taken off, and which new ones that are nowhere may be placed.
  using MayTake = std::function<bool(ReplicaId)>;

  /// `mover` and `constraints` outlive this.
  RebuildStep(Mover& mover, const Constraints& constraints, MayTake may_take, uint64_t seed);

  /// One step around some of `concerned`, which is not empty. False, and nothing has changed, when an existing replica has no
  /// place left or the movements are more than the mover's slots; a new one may be nowhere afterwards. Affinity of
  /// what stays, and what is asked of new replicas only, may be violated then. O(replicas taken * nodes * Obstacle).
  bool Take(std::span<const ReplicaId> concerned);

 private:
  struct Off {
    ReplicaId replica = kNoId;
    NodeId from = kNoId;
    Role role = Role::kNone;  // it comes back in
    bool drawn_role = false;  // a new partition's: that of its next new one
  };
  void Choose(std::span<const ReplicaId> concerned);
  void Add(ReplicaId replica);
  void AddFamily(ReplicaId replica);
  ReplicaId Related(ReplicaId replica);
  ReplicaId DrawFrom(std::span<const ReplicaId> replicas);
  ReplicaId DrawOfPartitions(std::span<const PartitionId> partitions);
  void ExchangeRoles();
  void TakeOff();
  void Order();
  bool PutBack(const Off& off);

  Mover& mover_;
  StepJournal& journal_;
  TargetFinder& finder_;
  const Arrangement& arrangement_;
  const Constraints& constraints_;
  const MayTake may_take_;
  base::Random random_;
  std::vector<std::vector<ServiceId>> of_application_;
  std::vector<ReplicaId> chosen_;
  std::vector<Off> off_;
};

}  // namespace evenkeel::balancing
