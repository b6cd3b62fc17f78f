// What an assignment costs and which rules it breaks, computed from nothing but the Problem: the second opinion on State, and
// the checker of written solutions. Slow and plain on purpose.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "solver/problem.h"

namespace evenkeel::solver {

struct Verdict {
  int64_t cost = 0;
  std::vector<std::pair<std::string, int64_t>> terms;  ///< by name, in the order of the Problem; they add up to the cost
  std::vector<std::string> violations;                 ///< for people
  bool valid() const { return violations.empty(); }
};

/// O(objects * metrics + nodes * hinges + rules). `assignment` has a node for each object.
Verdict Verify(const Problem& problem, std::span<const NodeId> assignment);

/// What no assignment can cost less than: each hinge as if all nodes were one. Source: the bound that the ROADEF challenge's
/// teams published with its instances.
int64_t LowerBound(const Problem& problem);

}  // namespace evenkeel::solver
