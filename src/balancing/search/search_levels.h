// The constraints of a search, from all of them down to the hard ones alone: what a search cannot do without making something
// optional worse it tries again with less in its way.
#pragma once

#include <memory>
#include <vector>

#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

class SearchLevels {
 public:
  /// One level for each priority that a constraint has, the least severe first; only the first without `relax`. Each is made
  /// when it is first asked for.
  SearchLevels(const Arrangement& arrangement, Purpose purpose, bool light, bool relax);
  /// One more level at the end, that does without this constraint.
  void AddWithout(Constraint constraint);

  size_t size() const { return priorities_.size(); }
  int64_t PriorityOf(size_t level) const { return priorities_[level]; }
  const Constraints& operator[](size_t level);
  const Constraints& last() { return (*this)[size() - 1]; }

 private:
  const Arrangement& arrangement_;
  const Purpose purpose_;
  const bool light_;
  std::vector<int64_t> priorities_;
  std::vector<uint16_t> ignored_;  // by level, as in ConstraintOptions
  std::vector<std::unique_ptr<Constraints>> made_;
};

}  // namespace evenkeel::balancing
