// Why a violation stays: what keeps those that would have to go, or which constraints rule out the nodes for them.
#pragma once

#include <vector>

#include "balancing/repairs/constraint_fixes.h"
#include "balancing/repairs/repair_context.h"

namespace evenkeel::balancing {

class UnmendedReasons {
 public:
  explicit UnmendedReasons(const RepairContext& context)
      : arrangement_(context.arrangement), levels_(context.levels), journal_(context.journal) {}

  /// With `with_nodes` it looks at nodes: O(nodes * Obstacle) for some of the replicas.
  UnmendedViolation Explain(const Violation& violation, bool with_nodes);
  /// Replicas of which any may be the one to go; ascending. O(replicas of the node or partition * log).
  std::vector<ReplicaId> Concerned(const Violation& violation) const;

 private:
  const Constraints& LastFor(const Violation& violation);

  const Arrangement& arrangement_;
  SearchLevels& levels_;
  StepJournal& journal_;
};

}  // namespace evenkeel::balancing
