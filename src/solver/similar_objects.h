// For each object, the others that need about the same. Where capacities are tight in many metrics, two random objects hardly
// ever fit into each other's places; two that are alike mostly do, and what their exchange changes is small, so that it can
// still be taken when the search is cool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/problem.h"

namespace evenkeel::solver {

class SimilarObjects {
 public:
  /// Of each object so many are kept.
  static constexpr uint32_t kKept = 16;

  /// Distances are Euclidean, each metric in units of what a node offers of it in the mean. Objects of one group are not alike
  /// in this sense: exchanging them changes nothing. An object is compared with the 600 whose sums of needs are nearest to its
  /// own. O(objects * (log(objects) + 600 * metrics)).
  explicit SimilarObjects(const Problem& problem);

  /// `which` is below kKept; the nearest first. The object itself where no other group has any.
  ObjectId Of(ObjectId object, uint32_t which) const { return similar_[static_cast<size_t>(object) * kKept + which]; }

 private:
  std::vector<ObjectId> similar_;
};

}  // namespace evenkeel::solver
