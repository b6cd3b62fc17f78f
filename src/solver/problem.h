// What is to be placed where: objects (processes, replicas, pods) on nodes that have capacities, under rules, at a cost. Knows
// nothing of what the objects are. A Problem does not change while it is being solved, so threads may share one.
//
// All amounts are integers and stay below 2^53 in every sum that can occur (Check says so), which is what lets the search
// compute with vectors of doubles and still be exact.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"

namespace evenkeel::solver {

using ObjectId = int32_t;
using NodeId = int32_t;
using GroupId = int32_t;
using MetricId = int32_t;

/// A capacity that is never reached.
inline constexpr int64_t kUnlimited = int64_t{1} << 52;
/// No sum may reach it.
inline constexpr int64_t kExactLimit = int64_t{1} << 53;

/// Rows of equal length.
class Matrix {
 public:
  Matrix() = default;
  Matrix(int64_t rows, int64_t columns, int64_t value = 0)
      : columns_(columns), values_(static_cast<size_t>(rows * columns), value) {}
  int64_t& operator()(int64_t row, int64_t column) { return values_[static_cast<size_t>(row * columns_ + column)]; }
  int64_t operator()(int64_t row, int64_t column) const { return values_[static_cast<size_t>(row * columns_ + column)]; }
  int64_t columns() const { return columns_; }
  int64_t rows() const { return columns_ == 0 ? 0 : static_cast<int64_t>(values_.size()) / columns_; }

 private:
  int64_t columns_ = 0;
  std::vector<int64_t> values_;
};

/// Objects [first, last) that belong together: the processes of a service, the replicas of a partition.
struct Group {
  ObjectId first = 0, last = 0;
  bool exclusive = false;  ///< no two of them on one node
  int32_t min_spread = 0;  ///< they are in at least this many locations
  /// In every neighbourhood with an object of this group there is one of each of these.
  std::vector<GroupId> depends_on{};
  int32_t size() const { return last - first; }
};

/// A cost of every node: weight * max(0, sum of coefficient * usage - bound of the node). A usage above a safety capacity is
/// one, an unbalanced ratio of what is free of two metrics another.
struct Hinge {
  struct Part {
    MetricId metric = 0;
    int64_t coefficient = 1;
  };
  std::string term;  ///< the name under which it is reported; several may share one
  std::vector<Part> parts;
  std::vector<int64_t> bound;  ///< by node
  int64_t weight = 1;
};

struct Problem {
  // Objects of one group have neighbouring ids, groups are in that order and cover all objects.
  Matrix load;                  ///< object x metric, not negative
  Matrix capacity;              ///< node x metric
  std::vector<bool> transient;  ///< by metric: a moved object uses it on its first node as well
  std::vector<NodeId> initial;  ///< by object: where it is
  std::vector<Group> groups;
  std::vector<GroupId> group_of;       ///< by object
  std::vector<int32_t> location;       ///< by node, from 0
  std::vector<int32_t> neighbourhood;  ///< by node, from 0
  int32_t locations = 1, neighbourhoods = 1;

  std::vector<Hinge> hinges;
  std::vector<int64_t> object_move_cost;  ///< by object, for leaving its first node
  int64_t object_move_weight = 0;
  int64_t group_move_weight = 0;  ///< times the most objects that have moved of one group
  /// Of moving from a node of one class to a node of another.
  Matrix node_move_cost;
  std::vector<int32_t> node_class;
  int64_t node_move_weight = 0;

  int32_t objects() const { return static_cast<int32_t>(initial.size()); }
  int32_t nodes() const { return static_cast<int32_t>(location.size()); }
  int32_t metrics() const { return static_cast<int32_t>(transient.size()); }

  /// kBadRequest: something refers to what is not there, or amounts are too large. O(size).
  base::Status Check() const;
};

}  // namespace evenkeel::solver
