#include "balancing/repairs/constraint_fixes.h"

#include <gtest/gtest.h>

#include <array>

#include "balancing/model/cluster_testing.h"
#include "balancing/search/search_testing.h"

namespace evenkeel::balancing::constraint_fixes_test {
namespace {

using testing::Nodes;
using testing::Partitions;
using testing::Scene;
using Texts = std::vector<std::string>;

FixResult Fix(Scene& scene, const FixOptions& options = {}) {
  FixResult all;
  for (const ServiceGroup& group : scene.groups()) {
    FixResult result = FixViolations(scene.arrangement(), group, options);
    std::ranges::copy(result.before, std::back_inserter(all.before));
    std::ranges::copy(result.mended, std::back_inserter(all.mended));
    std::ranges::copy(result.left, std::back_inserter(all.left));
    all.moves += result.moves;
  }
  return all;
}

std::string Service(const std::string& name, const std::string& kind, const std::string& rest = "") {
  return fmt::format("- {{name: {}, kind: {}{}{}}}\n", name, kind, rest.empty() ? "" : ", ", rest);
}

std::string Stateful(const std::string& name, int primary, int secondary, const std::string& rest = "") {
  return Service(
      name, "stateful",
      fmt::format("metrics: [{{name: M, weight: 1, primaryLoad: {}, secondaryLoad: {}}}]{}", primary, secondary, rest));
}

std::string Capacity(int amount) { return fmt::format("capacities: {{M: {}}}", amount); }

TEST(ConstraintFixesTest, C1ExactlyTheExcessLeaves) {
  Texts all(100, "I/0");
  std::fill(all.begin() + 50, all.end(), "I/1");
  Scene scene(Scene::Read(Nodes({"capacities: {Count: 25}", ""}) + "services:\n" + Service("s", "stateless") + "partitions:\n" +
                          Partitions("s", all)));
  const FixResult result = Fix(scene);
  EXPECT_EQ(scene.Changes().size(), 25u);
  EXPECT_EQ(scene.Count("move instance 0=>1"), 25);
  EXPECT_EQ(result.mended.size(), 1u);
  EXPECT_TRUE(result.left.empty());
}

TEST(ConstraintFixesTest, C3WhatIsTooLargeMoves) {
  Scene scene(Scene::Read(Nodes({Capacity(50), "", ""}) + "services:\n" + Stateful("s", 100, 100) + "partitions:\n" +
                          Partitions("s", 1, "P/0,S/1")));
  Fix(scene);
  EXPECT_EQ(scene.Changes(), Texts{"0 move primary 0=>2"});
}

TEST(ConstraintFixesTest, WhatMovesLastMovesWhenNothingElseMends) {
  const auto state = [](int of_second) {
    return Nodes({Capacity(50), Capacity(of_second), ""}) + "services:\n" +
           Service("pinned", "stateless", "metrics: [{name: M, weight: 1, load: 40}], moveCost: VeryHigh") +
           Service("s", "stateless",
                   "placementConstraints: 'NodeName == n0 || NodeName == n1', metrics: [{name: M, weight: 1, load: 10}]") +
           "partitions:\n" + Partitions("pinned", 1, "I/0") + Partitions("s", 2, "I/0");
  };
  Settings settings;
  settings.use_move_cost_reports = true;
  Scene others(Scene::Read(state(100)), settings);
  Fix(others);
  ASSERT_EQ(others.Changes().size(), 1u);
  EXPECT_TRUE(others.Changes()[0].ends_with("move instance 0=>1")) << others.Changes()[0];
  EXPECT_FALSE(others.Changes()[0].starts_with("0 ")) << "the pinned one";
  Scene alone(Scene::Read(state(5)), settings);
  EXPECT_TRUE(Fix(alone).left.empty());
  EXPECT_EQ(alone.Changes(), Texts{"0 move instance 0=>2"});
}

TEST(ConstraintFixesTest, C4ChildrenMoveWithTheirParents) {
  const std::string child = ", affinityTo: ";
  Scene scene(Scene::Read(Nodes({Capacity(100), Capacity(140), Capacity(100), Capacity(100)}) + "services:\n" +
                          Stateful("p1", 70, 70) + Stateful("p2", 70, 70) + Stateful("c1", 0, 0, child + "p1") +
                          Stateful("c2", 0, 0, child + "p2") + "partitions:\n" + Partitions("p1", 1, "P/0,S/1") +
                          Partitions("p2", 1, "P/0,S/1") + Partitions("c1", 1, "P/0,S/1") + Partitions("c2", 1, "P/0,S/1")));
  const FixResult result = Fix(scene);
  EXPECT_EQ(result.moves, 2);
  EXPECT_TRUE(result.left.empty());
  const Texts changes = scene.Changes();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].substr(2), changes[1].substr(2)) << "to the same node";
  EXPECT_EQ(scene.Count("move primary 0=>"), 2);
}

TEST(ConstraintFixesTest, C5ASwapIsEnough) {
  Scene scene(Scene::Read(Nodes({Capacity(100), Capacity(100), Capacity(150)}) + "services:\n" + Stateful("s", 100, 50) +
                          "partitions:\n" + Partitions("s", Texts{"P/0,S/2", "P/1,S/0,S/2"})));
  Fix(scene);
  EXPECT_EQ(scene.Changes(), Texts{"0 swap primary 0<=>2"});
}

std::string TwoDomainsOfEach() {
  Texts nodes;
  for (int i = 0; i < 8; ++i) nodes.push_back(fmt::format("faultDomain: 'fd:/{}', upgradeDomain: u{}", i / 4, i % 4 / 2));
  return Nodes(nodes);
}

TEST(ConstraintFixesTest, C7UpgradeDomainsAreSpreadUnlessLight) {
  const std::string text =
      TwoDomainsOfEach() + "services:\n" + Service("s", "stateful") + "partitions:\n" + Partitions("s", 1, "P/0,S/4");
  Scene scene(Scene::Read(text)), light(Scene::Read(text));
  Fix(scene);
  EXPECT_EQ(scene.Changes().size(), 1u);
  EXPECT_TRUE(Fix(light, {.light = true}).before.empty());
  EXPECT_EQ(light.Changes(), Texts{});
}

TEST(ConstraintFixesTest, C8NonpackingKeepsDomainsApart) {
  Texts nodes;
  for (int i = 0; i < 6; ++i) nodes.push_back(fmt::format("faultDomain: 'fd:/dc{}'", i / 2));
  Scene scene(Scene::Read(Nodes(nodes) + "services:\n" +
                          Service("s", "stateful", "placementConstraints: 'FDPolicy ~ Nonpacking'") + "partitions:\n" +
                          Partitions("s", 1, "P/4,S/0,S/1")));
  Fix(scene);
  const Texts changes = scene.Changes();
  ASSERT_EQ(changes.size(), 1u);
  const Texts expected = {"0 move secondary 0=>2", "0 move secondary 0=>3", "0 move secondary 1=>2", "0 move secondary 1=>3"};
  EXPECT_NE(std::ranges::find(expected, changes[0]), expected.end()) << changes[0];
}

TEST(ConstraintFixesTest, C13BlockedNodesAreNoTargetsAndBuffersCount) {
  const auto state = [](const std::string& second) {
    return Nodes({Capacity(50), Capacity(550), Capacity(200), Capacity(600)}) +
           "serviceTypes: [{name: t, blockedNodes: [n1]}]\nservices:\n" + Stateful("s", 150, 150, ", type: t") +
           "partitions:\n" + Partitions("s", Texts{"P/2", second});
  };
  Scene first(Scene::Read(state("P/0")));
  Fix(first);
  EXPECT_EQ(first.Changes(), Texts{"1 move primary 0=>3"});
  Settings settings;
  settings.node_buffer_percentage["M"] = 0.5;
  Scene buffered(Scene::Read(state("P/3")), settings);
  Fix(buffered);
  EXPECT_EQ(buffered.Changes(), Texts{"0 move primary 2=>3"});
}

TEST(ConstraintFixesTest, C14SwapsArePreferred) {
  const std::string text = Nodes({Capacity(100), "", ""}) + "services:\n" + Stateful("s", 101, 0) + "partitions:\n" +
                           Partitions("s", 300, "P/0,S/1");
  Scene preferred(Scene::Read(text));
  EXPECT_TRUE(Fix(preferred).left.empty());
  EXPECT_EQ(preferred.Count("swap primary 0<=>1"), 300);
  Settings settings;
  settings.enable_preferred_swap_solution_in_constraint_check = false;
  Scene mixed(Scene::Read(text), settings);
  EXPECT_TRUE(Fix(mixed).left.empty());
  EXPECT_LT(mixed.Count("swap primary 0<=>1"), 300);
}

TEST(ConstraintFixesTest, C16ExcludingANodeChangesTheRule) {
  const std::vector<std::pair<int, int>> domains = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {1, 0}, {2, 1}, {3, 2}, {4, 3}};
  Texts nodes;
  for (size_t i = 0; i < domains.size(); ++i) {
    nodes.push_back(fmt::format("nodeType: {}, faultDomain: 'fd:/{}', upgradeDomain: u{}", i == 0 ? "red" : "blue",
                                domains[i].first, domains[i].second));
  }
  const auto state = [&](const std::string& constraint) {
    return Nodes(nodes) + "services:\n" + Service("s", "stateless", "targetReplicas: 5" + constraint) + "partitions:\n" +
           Partitions("s", 1, "I/1,I/2,I/3,I/4,I/8");
  };
  Scene free(Scene::Read(state("")));
  EXPECT_TRUE(Fix(free).before.empty());
  Scene blue(Scene::Read(state(", placementConstraints: 'NodeType == blue'")));
  EXPECT_FALSE(Fix(blue).before.empty());
  EXPECT_EQ(blue.Changes(), Texts{"0 move instance 8=>5"});
}

TEST(ConstraintFixesTest, C17NowhereToGoIsExplained) {
  Scene scene(Scene::Read(Nodes(5) + "services:\n" +
                          Service("s", "stateless", "placementConstraints: 'NodeName != n0 && NodeName != n1'") +
                          Service("all", "stateless", "targetReplicas: -1") + "partitions:\n" +
                          Partitions("s", 1, "I/0,I/1,I/2,I/3,I/4") + Partitions("all", 1, "I/0,I/1,I/2,I/3,I/4")));
  const FixResult result = Fix(scene);
  EXPECT_EQ(scene.Changes(), Texts{});
  ASSERT_EQ(result.left.size(), 2u);
  for (const UnmendedViolation& left : result.left) {
    ASSERT_TRUE(left.nodes.has_value());
    EXPECT_EQ(left.nodes->remaining, 0);
    EXPECT_EQ(left.nodes->own, left.violation.node);
  }
}

TEST(ConstraintFixesTest, H2StatelessReplicasAreNeverThrottled) {
  Settings settings;
  settings.maximum_in_build_replicas_per_node[""] = 2;
  settings.throttle_constraint_check_phase = true;
  Scene scene(Scene::Read(Nodes(2) + "services:\n" + Service("a", "stateful") +
                          Service("b", "stateless", "placementConstraints: 'NodeName == n1'") + "partitions:\n" +
                          Partitions("a", 4, "S/1/B") + Partitions("b", 4, "I/0")),
              settings);
  Fix(scene);
  EXPECT_EQ(scene.Changes().size(), 4u);
  EXPECT_EQ(scene.Count("move instance 0=>1"), 4);
}

TEST(ConstraintFixesTest, H3ThrottlingHoldsWhereItIsAskedForAndHard) {
  const std::string text = Nodes(2) + "services:\n" + Service("a", "stateful", "placementConstraints: 'NodeName == n1'") +
                           "partitions:\n" + Partitions("a", 10, "P/0");
  Settings settings;
  settings.maximum_in_build_replicas_per_node[""] = 2;
  Scene off(Scene::Read(text), settings);
  Fix(off);
  EXPECT_EQ(off.Count("move primary 0=>1"), 10);
  settings.throttle_constraint_check_phase = true;
  Scene hard(Scene::Read(text), settings);
  Fix(hard);
  EXPECT_EQ(hard.Count("move primary 0=>1"), 2);
  settings.priorities.throttling = 1;
  Scene soft(Scene::Read(text), settings);
  Fix(soft);
  EXPECT_EQ(soft.Count("move primary 0=>1"), 10);
}

TEST(ConstraintFixesTest, NodesThatLeaveAreNotDrainedButRelievedWhileTheirChecksRun) {
  for (const bool checked : {false, true}) {
    const std::string status = checked ? "SafetyCheckComplete" : "SafetyCheckInProgress";
    Scene scene(Scene::Read(Nodes({"deactivation: {intent: RemoveNode, status: " + status + "}, capacities: {M: 50}", "", ""}) +
                            "services:\n" + Stateful("s", 30, 30) + "partitions:\n" + Partitions("s", 2, "P/0,S/1")));
    Fix(scene);
    EXPECT_EQ(scene.Count("move primary 0=>2"), checked ? 0 : 1) << status;
  }
}

TEST(ConstraintFixesTest, OthersMakeRoomForWhatHasToGo) {
  Scene scene(Scene::Read(Nodes({Capacity(50), Capacity(100), Capacity(40)}) + "services:\n" + Stateful("a", 80, 80) +
                          Stateful("b", 30, 30) + "partitions:\n" + Partitions("a", 1, "P/0") + Partitions("b", 1, "P/1")));
  const FixResult result = Fix(scene);
  EXPECT_TRUE(result.left.empty());
  EXPECT_EQ(result.moves, 2);
  EXPECT_EQ(scene.Count("0 move primary 0=>1"), 1);
}

TEST(ConstraintFixesTest, FewestReplicasAndThenTheLeastDeviation) {
  // 10 too much: one replica is enough; the larger one leaves the nodes more alike.
  Scene scene(Scene::Read(Nodes({Capacity(100), Capacity(100)}) + "services:\n" + Stateful("a", 5, 5) + Stateful("b", 20, 20) +
                          Stateful("c", 45, 45) + "partitions:\n" + Partitions("a", 1, "P/0") + Partitions("b", 3, "P/0") +
                          Partitions("c", 1, "P/0")));
  const FixResult result = Fix(scene);
  EXPECT_EQ(result.moves, 1);
  EXPECT_EQ(scene.Changes(), Texts{"4 move primary 0=>1"});
}

TEST(ConstraintFixesTest, SwapsWeighWhatTheOtherReallyHas) {
  // The secondary's own load, not that of secondaries by default, would come to n0 and be too much there in N.
  Scene scene(Scene::Read(
      Nodes({"capacities: {M: 50, N: 10}", "", ""}) + "services:\n" +
      Service("s", "stateful", "metrics: [{name: M, primaryLoad: 60}, {name: N}]") +
      "partitions:\n- {name: s/0, service: s, replicas: [{node: n0, role: primary, loads: {M: 60, N: 5}}, {node: n1, role: "
      "secondary, loads: {M: 5, N: 20}}, {node: n2, role: secondary, loads: {M: 10, N: 10}}]}\n"));
  EXPECT_TRUE(Fix(scene).left.empty());
  EXPECT_EQ(scene.Changes(), Texts{"0 swap primary 0<=>2"});
}

TEST(ConstraintFixesTest, MisplacedChildrenGoToTheirParents) {
  Scene scene(Scene::Read(Nodes(3) + "services:\n" + Stateful("p", 10, 10) + Stateful("c", 10, 10, ", affinityTo: p") +
                          "partitions:\n" + Partitions("p", 1, "P/0,S/1") + Partitions("c", 1, "P/1,S/0")));
  Fix(scene);
  EXPECT_EQ(scene.Changes(), Texts{"1 swap primary 1<=>0"});
}

// Two children, one of which needs an exchange of roles and then a movement; whichever of its replicas is looked at first.
TEST(ConstraintFixesTest, OneRepairMayBeWhatAnotherWaitsFor) {
  const std::string rest = "metrics: [{name: M, weight: 0, primaryLoad: 0, secondaryLoad: 0}]";
  for (const auto& [parent, exchanges, moves] :
       {std::array{"P/0,S/2", "P/2,S/3", "P/1,S/4"}, std::array{"P/4,S/2", "P/2,S/1", "P/3,S/0"},
        std::array{"P/2,S/4", "P/4,S/0", "P/3,S/1"}}) {
    Scene scene(Scene::Read(Nodes(5) + "services:\n" + Service("p", "stateful", rest) +
                            Service("c1", "stateful", rest + ", affinityTo: p") +
                            Service("c2", "stateful", rest + ", affinityTo: p") + "partitions:\n" + Partitions("p", 1, parent) +
                            Partitions("c1", 1, exchanges) + Partitions("c2", 1, moves)));
    const FixResult result = Fix(scene);
    EXPECT_TRUE(result.left.empty()) << parent;
    EXPECT_EQ(result.moves, 4) << parent;
  }
}

TEST(ConstraintFixesTest, ViolationsNeverGetWorse) {
  base::Random random(12);
  int mended = 0;
  for (int run = 0; run < 300; ++run) {
    const Cluster cluster = testing::RandomCluster(random);
    Scene scene(cluster), again(cluster);
    const auto violations = [](Scene& of) {
      return Constraints(of.arrangement(), {.purpose = Purpose::kConstraintCheck}).Violations();
    };
    std::vector<std::vector<int64_t>> used(cluster.metrics.size());
    for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
      for (NodeId node = 0; node < cluster.nodes.size(); ++node)
        used[metric].push_back(scene.arrangement().UsedOf(metric, node));
    }
    const ViolationSummary before = Summarize(violations(scene));
    const FixResult result = Fix(scene);
    Fix(again);
    ASSERT_EQ(scene.Changes(), again.Changes()) << run;
    const std::vector<Violation> after = violations(scene);
    ASSERT_EQ(result.left.size(), after.size()) << run;
    ASSERT_TRUE(Summarize(after) == before || Better(Summarize(after), before)) << run;
    ASSERT_EQ(result.moves == 0, scene.Changes().empty()) << run;
    mended += static_cast<int>(result.mended.size());
    for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
      for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
        const int64_t* capacity = cluster.CapacityOf(node, metric);
        const int64_t now = scene.arrangement().UsedOf(metric, node);
        ASSERT_TRUE(capacity == nullptr || now <= std::max(*capacity, used[metric][node])) << run << " node " << node;
      }
    }
  }
  EXPECT_GT(mended, 100);
}

}  // namespace
}  // namespace evenkeel::balancing::constraint_fixes_test
