#include "solver/problem.h"

#include <algorithm>

namespace evenkeel::solver {
namespace {

base::Status Wrong(const std::string& what) { return base::Fail(base::Code::kBadRequest, what); }

bool Below(const std::vector<int32_t>& values, size_t count, int32_t bound) {
  return values.size() == count && std::ranges::all_of(values, [&](int32_t value) { return value >= 0 && value < bound; });
}

}  // namespace

base::Status Problem::Check() const {
  const auto object_count = static_cast<size_t>(objects()), node_count = static_cast<size_t>(nodes());
  if (load.rows() != objects() || load.columns() != metrics()) return Wrong("the loads are not object by metric");
  if (capacity.rows() != nodes() || capacity.columns() != metrics()) return Wrong("the capacities are not node by metric");
  if (!Below(initial, object_count, nodes())) return Wrong("an object is on a node that is not there");
  if (!Below(location, node_count, locations)) return Wrong("a node is in a location that is not there");
  if (!Below(neighbourhood, node_count, neighbourhoods)) return Wrong("a node is in a neighbourhood that is not there");
  if (!Below(node_class, node_count, static_cast<int32_t>(node_move_cost.rows())))
    return Wrong("a node has a class that is not there");
  if (object_move_cost.size() != object_count || group_of.size() != object_count)
    return Wrong("an object has no move cost or group");
  ObjectId next = 0;
  for (size_t id = 0; id < groups.size(); ++id) {
    const Group& group = groups[id];
    if (group.first != next || group.last < group.first || group.last > objects())
      return Wrong("groups are not in the order of their objects");
    for (next = group.first; next < group.last; ++next) {
      if (group_of[next] != static_cast<GroupId>(id)) return Wrong("object " + std::to_string(next) + " is in two groups");
    }
    if (!std::ranges::all_of(group.depends_on,
                             [&](GroupId needed) { return needed >= 0 && static_cast<size_t>(needed) < groups.size(); })) {
      return Wrong("group " + std::to_string(id) + " depends on one that is not there");
    }
  }
  if (next != objects()) return Wrong("an object has no group");
  // What every sum of the search is bounded by; as doubles, since this is where integers might overflow.
  std::vector<double> total(static_cast<size_t>(metrics()));
  double largest = 0;
  for (ObjectId object = 0; object < objects(); ++object) {
    for (MetricId metric = 0; metric < metrics(); ++metric) {
      if (load(object, metric) < 0) return Wrong("object " + std::to_string(object) + " has a negative load");
      total[metric] += static_cast<double>(load(object, metric));
    }
  }
  for (const double sum : total) largest = std::max(largest, 2 * sum);
  double cost = 0;
  for (const Hinge& hinge : hinges) {
    if (hinge.bound.size() != node_count) return Wrong("cost " + hinge.term + " has not a bound for every node");
    double sum = 0;
    for (const int64_t bound : hinge.bound) sum += std::abs(static_cast<double>(bound));
    for (const Hinge::Part& part : hinge.parts) {
      if (part.metric < 0 || part.metric >= metrics()) return Wrong("cost " + hinge.term + " has a metric that is not there");
      sum += std::abs(static_cast<double>(part.coefficient)) * total[part.metric];
    }
    cost += static_cast<double>(hinge.weight) * sum;
  }
  int64_t farthest = 0;
  for (int64_t from = 0; from < node_move_cost.rows(); ++from) {
    for (int64_t to = 0; to < node_move_cost.columns(); ++to) farthest = std::max(farthest, node_move_cost(from, to));
  }
  for (ObjectId object = 0; object < objects(); ++object) {
    cost += static_cast<double>(object_move_weight) * static_cast<double>(object_move_cost[object]) +
            static_cast<double>(node_move_weight) * static_cast<double>(farthest);
  }
  cost += static_cast<double>(group_move_weight) * objects();
  if (std::max(largest, cost) >= static_cast<double>(kExactLimit)) return Wrong("amounts are too large to be added up exactly");
  return {};
}

}  // namespace evenkeel::solver
