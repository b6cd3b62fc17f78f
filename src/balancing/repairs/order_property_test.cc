// What can be mended or placed does not depend on names: the same state with its nodes and services called differently, and
// with another seed, has as much mended, with as many movements.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "balancing/model/cluster_testing.h"
#include "balancing/placement/placement_search.h"
#include "balancing/repairs/constraint_fixes.h"
#include "balancing/search/search_testing.h"
#include "base/random.h"

namespace evenkeel::balancing::order_property_test {
namespace {

using testing::Scene;

constexpr int kNames = 12;
constexpr int kOrders = 6;

struct Outcome {
  size_t left = 0;       // unplaced, or violated
  size_t movements = 0;  // and placements; an exchange of roles is one
  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << outcome.left << " left, " << outcome.movements << " movements";
}

// @3 is a node, $3 a service, $3/1 one of its partitions. Ids follow names, so other names are another order.
std::string WithNames(const std::string& state, base::Random& random) {
  std::string text;
  std::vector<int> nodes(kNames), services(kNames);
  for (std::vector<int>* names : {&nodes, &services}) {
    std::iota(names->begin(), names->end(), 0);
    for (size_t i = kNames; i > 1; --i) std::swap((*names)[i - 1], (*names)[random.Below(i)]);
  }
  for (size_t i = 0; i < state.size(); ++i) {
    if (state[i] != '@' && state[i] != '$') {
      text += state[i];
      continue;
    }
    const bool node = state[i] == '@';
    ++i;
    text += fmt::format("{}{:02}", node ? "n" : "s", (node ? nodes : services)[static_cast<size_t>(state[i] - '0')]);
  }
  return text;
}

Outcome Fix(const Cluster& cluster, const Settings& settings, uint64_t seed) {
  Scene scene(cluster, settings);
  Outcome outcome;
  for (const ServiceGroup& group : scene.groups()) {
    const FixResult result = FixViolations(scene.arrangement(), group, {.seed = seed});
    outcome.left += result.left.size();
    outcome.movements += static_cast<size_t>(result.moves);
  }
  return outcome;
}

Outcome Place(const Cluster& cluster, const Settings& settings, uint64_t seed) {
  Scene scene(cluster, settings);
  Outcome outcome;
  for (const ServiceGroup& group : scene.groups()) {
    const PlacementOptions options{.with_move = true, .movement_slots = 100, .seed = seed};
    outcome.left += PlaceReplicas(scene.arrangement(), group, options).unplaced.size();
  }
  outcome.movements = scene.Changes().size();
  return outcome;
}

template <typename F>
void ExpectInAnyOrder(F plan, const std::string& state, const Outcome& expected) {
  base::Random random(11);
  for (int order = 0; order < kOrders; ++order) {
    const std::string text = WithNames(state, random);
    EXPECT_EQ(plan(Scene::Read(text), Settings(), static_cast<uint64_t>(order)), expected) << text;
  }
}

TEST(OrderPropertyTest, ChildrenFindTheirParents) {
  const std::string idle = "kind: stateful, metrics: [{name: M, weight: 0, primaryLoad: 0, secondaryLoad: 0}]";
  ExpectInAnyOrder(Fix,
                   "nodes: [{name: @0}, {name: @1}, {name: @2}, {name: @3}, {name: @4}]\n"
                   "services:\n- {name: $0, " +
                       idle + "}\n- {name: $1, affinityTo: $0, " + idle + "}\n- {name: $2, affinityTo: $0, " + idle +
                       "}\n"
                       "partitions:\n"
                       "- {name: $0/0, service: $0, replicas: [{node: @0, role: primary}, {node: @2, role: secondary}]}\n"
                       "- {name: $1/0, service: $1, replicas: [{node: @2, role: primary}, {node: @3, role: secondary}]}\n"
                       "- {name: $2/0, service: $2, replicas: [{node: @1, role: primary}, {node: @4, role: secondary}]}\n",
                   {.left = 0, .movements = 4});
}

// The large one needs the node that two others share, each of which fits one other node.
TEST(OrderPropertyTest, TwoServicesExchangeNodes) {
  ExpectInAnyOrder(
      Fix,
      "nodes: [{name: @0, capacities: {M: 100}}, {name: @1, capacities: {M: 60}}, {name: @2, capacities: {M: 40}}]\n"
      "services:\n"
      "- {name: $0, kind: stateless, metrics: [{name: M, weight: 1, load: 100}], "
      "placementConstraints: 'NodeName != @2'}\n"
      "- {name: $1, kind: stateless, metrics: [{name: M, weight: 1, load: 60}]}\n"
      "- {name: $2, kind: stateless, metrics: [{name: M, weight: 1, load: 40}]}\n"
      "partitions:\n"
      "- {name: $0/0, service: $0, replicas: [{node: @1}]}\n"
      "- {name: $1/0, service: $1, replicas: [{node: @0}]}\n"
      "- {name: $2/0, service: $2, replicas: [{node: @0}]}\n",
      {.left = 0, .movements = 3});
}

// Twice, in one group: a missing replica fits the three nodes of its application only when another one of it moves away.
TEST(OrderPropertyTest, OthersMakeWayWithinTheirApplications) {
  std::string nodes = "nodes: [{name: @0, capacities: {M: 1, L: 1}}, {name: @1, capacities: {M: 1, L: 1}}";
  for (int i = 2; i < 8; ++i) nodes += fmt::format(", {{name: @{}, capacities: {{M: 10, L: 10}}}}", i);
  std::string services = "services:\n- {name: $8, kind: stateless, metrics: [{name: M, load: 0}, {name: L, load: 0}]}\n";
  std::string partitions = "partitions:\n";
  for (int i = 0; i < 2; ++i) {
    const std::string rest = fmt::format(
        "kind: stateful, application: a{}, metrics: [{{name: {}, primaryLoad: 1, secondaryLoad: 1}}]", i, i == 0 ? "M" : "L");
    const int first = 2 * i, second = first + 1, near = 2 + i, far = 4 + i;
    services += fmt::format("- {{name: ${}, {}}}\n- {{name: ${}, {}}}\n", first, rest, second, rest);
    partitions += fmt::format(
        "- {{name: ${0}/0, service: ${0}, replicas: [{{node: @{2}, role: primary}}, {{node: @{3}, role: secondary}}, "
        "{{node: @{4}, role: secondary}}]}}\n"
        "- {{name: ${1}/0, service: ${1}, replicas: [{{node: @{3}, role: primary}}, {{node: @{4}, role: secondary}}], missing: "
        "1}}\n",
        first, second, i, near, far);
  }
  ExpectInAnyOrder(Place,
                   nodes + "]\napplications: [{name: a0, maxNodes: 3}, {name: a1, maxNodes: 3}]\n" + services + partitions,
                   {.left = 0, .movements = 4});
}

// Of partitions that are placed entirely or not at all those are placed that fit, beside what fits of another one.
TEST(OrderPropertyTest, WhatFitsOnlyInFewWaysIsPlaced) {
  const std::string loads = "metrics: [{name: M, primaryLoad: 10, secondaryLoad: 5}]";
  const std::string whole = ", placementConstraints: 'PlacePolicy ~ NonPartially'}\n";
  ExpectInAnyOrder(Place,
                   "nodes: [{name: @0, capacities: {M: 25}}, {name: @1, capacities: {M: 12}}, {name: @2, capacities: {M: 0}}, "
                   "{name: @3, capacities: {M: 12}}, {name: @4, capacities: {M: 12}}]\n"
                   "services:\n- {name: $0, kind: stateful, " +
                       loads + "}\n- {name: $1, kind: stateful, " + loads + whole + "- {name: $2, kind: stateful, " + loads +
                       whole +
                       "partitions:\n"
                       "- {name: $0/0, service: $0, replicas: [], missing: 5}\n"
                       "- {name: $1/0, service: $1, replicas: [], missing: 3}\n"
                       "- {name: $2/0, service: $2, replicas: [], missing: 5}\n",
                   {.left = 6, .movements = 7});
}

}  // namespace
}  // namespace evenkeel::balancing::order_property_test
