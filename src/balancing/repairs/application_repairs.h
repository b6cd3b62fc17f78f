// Repairs of what applications are limited to: the number of their nodes, and what they have altogether.
#pragma once

#include <cstdint>

#include "balancing/repairs/repair_context.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

class ApplicationRepairs {
 public:
  explicit ApplicationRepairs(const RepairContext& context)
      : arrangement_(context.arrangement),
        group_(context.group),
        levels_(context.levels),
        journal_(context.journal),
        finder_(context.finder),
        mover_(context.mover),
        budget_(context.budget) {}

  /// Nodes of the application beyond those that it may have.
  int64_t TooMany(ApplicationId application) const;
  /// Whether it is on fewer nodes now.
  bool MendScaleout(const Violation& violation, const Constraints& constraints);
  void MendTotal(const Violation& violation);
  /// All that the application has on the node goes to nodes that are accepted, or nothing.
  bool Vacate(ApplicationId application, NodeId node, const Constraints& constraints, const TargetFinder::Accept& accept);
  /// What that costs, without what follows by affinity.
  double CostToVacate(ApplicationId application, NodeId node) const;

 private:
  void LeaveNodes(ApplicationId application, const Constraints& constraints);
  bool GatherOnNewNode(ApplicationId application, const Constraints& constraints);

  const Arrangement& arrangement_;
  const ServiceGroup& group_;
  SearchLevels& levels_;
  StepJournal& journal_;
  TargetFinder& finder_;
  Mover& mover_;
  const int64_t budget_;
};

}  // namespace evenkeel::balancing
