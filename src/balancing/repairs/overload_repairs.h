// Repairs of nodes that are too full, by their capacity or by what an application may have on one node: overload_fixes.h
// chooses what goes, this is how far it may go and what is tried besides.
#pragma once

#include <span>
#include <vector>

#include "balancing/repairs/application_repairs.h"
#include "balancing/repairs/overload_fixes.h"
#include "balancing/repairs/repair_context.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

class OverloadRepairs {
 public:
  /// `applications` outlives this.
  OverloadRepairs(const RepairContext& context, ApplicationRepairs& applications)
      : arrangement_(context.arrangement),
        levels_(context.levels),
        journal_(context.journal),
        finder_(context.finder),
        mover_(context.mover),
        budget_(context.budget),
        applications_(applications) {}

  /// One for each node and application that is too full, in the order of `violations`.
  void Find(std::span<const Violation> violations);
  /// The index-th one: entirely; or, where that cannot be, as far as it goes with `partly`, for which others' repairs come
  /// first.
  bool Mend(size_t index, bool partly);

 private:
  bool MendCheaply(const Overload& overload, const Constraints& constraints);
  bool FreeReservation(const Overload& overload, const Constraints& constraints, const OverloadFixer& fixer);

  const Arrangement& arrangement_;
  SearchLevels& levels_;
  StepJournal& journal_;
  TargetFinder& finder_;
  Mover& mover_;
  const int64_t budget_;
  ApplicationRepairs& applications_;
  std::vector<Overload> overloads_;
};

}  // namespace evenkeel::balancing
