// Problems for tests: small ones at random, with every rule there is.
#pragma once

#include <algorithm>

#include "base/random.h"
#include "solver/problem.h"
#include "solver/verify.h"

namespace evenkeel::solver::testing {

struct Sizes {
  int32_t objects = 12, nodes = 5, metrics = 3;
};

/// The initial assignment breaks no rule: capacities and spreads are set so that it does not.
inline Problem RandomProblem(base::Random& random, const Sizes& sizes = {}) {
  Problem problem;
  problem.locations = problem.neighbourhoods = 3;
  problem.load = Matrix(sizes.objects, sizes.metrics);
  problem.capacity = Matrix(sizes.nodes, sizes.metrics);
  for (MetricId metric = 0; metric < sizes.metrics; ++metric) problem.transient.push_back(random.Chance(0.3));
  for (NodeId node = 0; node < sizes.nodes; ++node) {
    problem.location.push_back(static_cast<int32_t>(random.Below(3)));
    problem.neighbourhood.push_back(static_cast<int32_t>(random.Below(3)));
    problem.node_class.push_back(static_cast<int32_t>(random.Below(2)));
  }
  problem.node_move_cost = Matrix(2, 2);
  for (int from = 0; from < 2; ++from) {
    for (int to = 0; to < 2; ++to) problem.node_move_cost(from, to) = random.Between(int64_t{0}, int64_t{3});
  }
  problem.node_move_weight = 5;
  problem.object_move_weight = 2;
  problem.group_move_weight = random.Chance(0.8) ? 11 : 0;
  while (static_cast<int32_t>(problem.group_of.size()) < sizes.objects) {
    Group group;
    group.first = static_cast<ObjectId>(problem.group_of.size());
    group.last = std::min<ObjectId>(sizes.objects, group.first + 1 + static_cast<ObjectId>(random.Below(4)));
    group.exclusive = random.Chance(0.5) && group.size() <= sizes.nodes;
    std::vector<NodeId> taken;
    for (ObjectId object = group.first; object < group.last; ++object) {
      NodeId node = 0;
      do {
        node = static_cast<NodeId>(random.Below(sizes.nodes));
      } while (group.exclusive && std::ranges::count(taken, node) > 0);
      taken.push_back(node);
      problem.initial.push_back(node);
      problem.group_of.push_back(static_cast<GroupId>(problem.groups.size()));
      problem.object_move_cost.push_back(random.Between(int64_t{0}, int64_t{4}));
      for (MetricId metric = 0; metric < sizes.metrics; ++metric) {
        problem.load(object, metric) = random.Between(int64_t{0}, int64_t{9});
        problem.capacity(node, metric) += problem.load(object, metric);
      }
    }
    problem.groups.push_back(group);
  }
  for (NodeId node = 0; node < sizes.nodes; ++node) {
    for (MetricId metric = 0; metric < sizes.metrics; ++metric) {
      problem.capacity(node, metric) += random.Between(int64_t{0}, int64_t{12});
    }
  }
  for (MetricId metric = 0; metric < sizes.metrics; ++metric) {
    Hinge load{"load " + std::to_string(metric), {{metric, 1}}, {}, random.Between(int64_t{1}, int64_t{10})};
    Hinge balance{"balance", {{metric, -2}, {(metric + 1) % sizes.metrics, 1}}, {}, 3};
    for (NodeId node = 0; node < sizes.nodes; ++node) {
      load.bound.push_back(random.Between(int64_t{0}, problem.capacity(node, metric)));
      balance.bound.push_back(random.Between(int64_t{-20}, int64_t{20}));
    }
    problem.hinges.push_back(std::move(load));
    problem.hinges.push_back(std::move(balance));
  }
  // The rules that the assignment happens to keep.
  for (size_t id = 0; id < problem.groups.size(); ++id) {
    Group& group = problem.groups[id];
    std::vector<int32_t> places;
    for (ObjectId object = group.first; object < group.last; ++object)
      places.push_back(problem.location[problem.initial[object]]);
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    if (random.Chance(0.5)) group.min_spread = static_cast<int32_t>(random.Below(places.size() + 1));
    if (!random.Chance(0.4)) continue;
    const auto needed = static_cast<GroupId>(random.Below(problem.groups.size()));
    group.depends_on.push_back(needed);
    if (!Verify(problem, problem.initial).valid()) group.depends_on.clear();
  }
  return problem;
}

}  // namespace evenkeel::solver::testing
