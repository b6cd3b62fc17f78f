#include "balancing/placement/placement_search.h"

#include <gtest/gtest.h>

#include <set>

#include "balancing/model/cluster_testing.h"
#include "balancing/rules/placement_needs.h"
#include "balancing/search/search_testing.h"

namespace evenkeel::balancing::placement_search_test {
namespace {

using testing::Nodes;
using testing::Partitions;
using testing::Scene;
using Texts = std::vector<std::string>;

PlacementResult Place(Scene& scene, const PlacementOptions& options = {}) {
  PlacementResult all;
  for (const ServiceGroup& group : scene.groups()) {
    PlacementResult result = PlaceReplicas(scene.arrangement(), group, options);
    all.unplaced.insert(all.unplaced.end(), result.unplaced.begin(), result.unplaced.end());
    std::ranges::move(result.why, std::back_inserter(all.why));
  }
  return all;
}

constexpr std::string_view kMemory = "metrics: [{name: Memory, weight: 1, primaryLoad: 10, secondaryLoad: 10}]";

std::string Service(const std::string& name, const std::string& kind, const std::string& rest = "") {
  return fmt::format("- {{name: {}, kind: {}{}{}}}\n", name, kind, rest.empty() ? "" : ", ", rest);
}

TEST(PlacementSearchTest, P1MissingReplicasAreAddedInTheirRoles) {
  Scene scene(Scene::Read(Nodes(3) + "services:\n" + Service("a", "stateful") + Service("b", "stateless") + "partitions:\n" +
                          "- {name: a/0, service: a, replicas: [], missing: 1}\n"
                          "- {name: a/1, service: a, replicas: [{node: n0, role: primary}], missing: 2}\n"
                          "- {name: b/2, service: b, replicas: [{node: n1}], missing: 1}\n"
                          "- {name: a/3, service: a, replicas: [{node: n0, role: primary}, {node: n1, role: secondary}]}\n"
                          "- {name: a/4, service: a, replicas: [], missing: 3}\n"
                          "- {name: a/5, service: a, replicas: [{node: n1, role: none}], missing: 1}\n"));
  EXPECT_TRUE(PlacementNeeded(scene.arrangement(), scene.groups()[0]));
  EXPECT_EQ(Place(scene).unplaced.size(), 0u);
  EXPECT_FALSE(PlacementNeeded(scene.arrangement(), scene.groups()[0]));
  EXPECT_EQ(scene.Changes().size(), 8u);
  EXPECT_EQ(scene.Count("0 add primary"), 1);
  EXPECT_EQ(scene.Count("1 add secondary"), 2);
  EXPECT_EQ(scene.Count("2 add instance"), 1);
  EXPECT_EQ(scene.Count("4 add primary"), 1);
  EXPECT_EQ(scene.Count("4 add secondary"), 2);
  EXPECT_EQ(scene.Count("5 add primary"), 1);
}

TEST(PlacementSearchTest, P3CapacityLimitsHowMuchANodeGets) {
  Scene scene(Scene::Read(Nodes({"capacities: {Count: 25}", ""}) + "services:\n" + Service("s", "stateless") + "partitions:\n" +
                          Partitions("s", 100, "", "missing: 1")));
  EXPECT_EQ(Place(scene).unplaced.size(), 0u);
  EXPECT_EQ(scene.ReplicasOn(0), 25);
  EXPECT_EQ(scene.ReplicasOn(1), 75);
}

TEST(PlacementSearchTest, P4WhatCannotBePlacedLeavesEverythingAsItIs) {
  Scene scene(Scene::Read(Nodes({"capacities: {M: 4000}", "capacities: {M: 6000}", "capacities: {M: 6000}",
                                 "capacities: {M: 4000}", "capacities: {M: 4000}"}) +
                          "services:\n" +
                          Service("s", "stateful", "metrics: [{name: M, primaryLoad: 5000, secondaryLoad: 5000}]") +
                          "partitions:\n" + Partitions("s", Texts{"P/3,S/2", "P/1"}) +
                          "- {name: s/2, service: s, replicas: [{node: n2, role: primary}], missing: 1}\n"
                          "- {name: s/3, service: s, replicas: [], missing: 1}\n"));
  const PlacementResult result = Place(scene, {.with_move = true, .movement_slots = 10});
  EXPECT_EQ(scene.Changes(), Texts{});
  EXPECT_EQ(result.unplaced.size(), 2u);
  ASSERT_EQ(result.why.size(), 2u);
  for (const auto& [replica, elimination] : result.why) EXPECT_EQ(elimination.remaining, 0);
}

TEST(PlacementSearchTest, P5BlockedNodesGetNothing) {
  const std::string services = "services:\n" + Service("a", "stateless", "type: t, targetReplicas: 3") +
                               Service("b", "stateless", "type: t, targetReplicas: 2") + "partitions:\n";
  Scene blocked(Scene::Read(Nodes(5) + "serviceTypes: [{name: t, blockedNodes: [n1]}]\n" + services + Partitions("a", 1, "") +
                            Partitions("b", 1, "")));
  Place(blocked);
  EXPECT_EQ(blocked.Count("add instance"), 5);
  EXPECT_EQ(blocked.ReplicasOn(1), 0);
  Scene cleared(Scene::Read(Nodes(5) + services + Partitions("a", 2, "") + Partitions("b", 2, "")));
  Place(cleared);
  EXPECT_EQ(cleared.Count("add instance"), 10);
  EXPECT_EQ(cleared.ReplicasOn(1), 2);
}

TEST(PlacementSearchTest, P6ReplicasAreSpreadOverNestedFaultDomains) {
  Scene scene(Scene::Read(
      Nodes({"faultDomain: 'fd:/dc0/r0'", "faultDomain: 'fd:/dc0/r1'", "faultDomain: 'fd:/dc1'", "faultDomain: 'fd:/dc2'"}) +
      "services:\n" + Service("s", "stateful", "targetReplicas: 3") + "partitions:\n" + Partitions("s", 10, "")));
  Place(scene);
  EXPECT_EQ(scene.ReplicasOn(0), 5);
  EXPECT_EQ(scene.ReplicasOn(1), 5);
  EXPECT_EQ(scene.ReplicasOn(2), 10);
  EXPECT_EQ(scene.ReplicasOn(3), 10);
}

TEST(PlacementSearchTest, P7ServicesOnEveryNodeLeaveBlockedNodes) {
  Scene scene(Scene::Read(Nodes(5) + "serviceTypes: [{name: t, blockedNodes: [n1, n2]}]\nservices:\n" +
                          Service("s", "stateless", "type: t, targetReplicas: -1") + "partitions:\n" +
                          Partitions("s", 1, "I/0,I/1,I/3,I/4")));
  EXPECT_TRUE(PlacementNeeded(scene.arrangement(), scene.groups()[0]));
  Place(scene);
  EXPECT_EQ(scene.Changes(), Texts{"0 drop instance 1"});
}

TEST(PlacementSearchTest, P8ServicesOnEveryNodeFollowTheirConstraint) {
  Scene scene(Scene::Read(Nodes({"faultDomain: 'fd:/dc0'", "faultDomain: 'fd:/dc1'", "faultDomain: 'fd:/dc2'",
                                 "faultDomain: 'fd:/dc3'", "faultDomain: 'fd:/dc0'"}) +
                          "services:\n" +
                          Service("s", "stateless", "placementConstraints: 'FaultDomain ^ fd:/dc0', targetReplicas: -1") +
                          "partitions:\n" + Partitions("s", 1, "I/0,I/1,I/2,I/3")));
  Place(scene);
  EXPECT_EQ(scene.Changes(), (Texts{"0 add instance 4", "0 drop instance 1", "0 drop instance 2", "0 drop instance 3"}));
}

TEST(PlacementSearchTest, P11NewReplicasMayUseTheBuffer) {
  Settings settings;
  settings.node_buffer_percentage["M"] = 0.2;
  Scene scene(
      Scene::Read(Nodes({"capacities: {M: 100}", "capacities: {M: 100}"}) + "services:\n" +
                  Service("a", "stateful", "metrics: [{name: M, primaryLoad: 50, secondaryLoad: 20}]") +
                  Service("b", "stateful", "metrics: [{name: M, primaryLoad: 80, secondaryLoad: 80}]") + "partitions:\n" +
                  Partitions("a", 1, "P/0", "missing: 1, flags: [InUpgrade]") + Partitions("b", 1, "P/1")),
      settings);
  Place(scene);
  EXPECT_EQ(scene.Changes(), Texts{"0 add secondary 1"});
}

TEST(PlacementSearchTest, P12OneOfTwoOnTheSameNodeIsDropped) {
  testing::ClusterBuilder builder;
  builder.Node();
  builder.Node();
  const ServiceId service = builder.Service("s", {{"M", 1}});
  const PartitionId partition = builder.Partition(service, {{0, Role::kInstance, {1}}, {0, Role::kInstance, {1}}});
  builder.cluster().partitions[partition].missing = -1;
  Scene scene(builder.cluster());
  Place(scene);
  EXPECT_EQ(scene.Changes(), Texts{"0 drop instance 0"});
}

TEST(PlacementSearchTest, PromotesTheSecondaryThatMayBecomePrimary) {
  Scene scene(Scene::Read(Nodes({"capacities: {M: 10}", "capacities: {M: 100}", ""}) + "services:\n" +
                          Service("s", "stateful", "metrics: [{name: M, primaryLoad: 50, secondaryLoad: 5}]") +
                          "partitions:\n- {name: s/0, service: s, missing: 1, replicas: [{node: n0, role: secondary}, {node: "
                          "n1, role: secondary}]}\n"));
  Place(scene);
  EXPECT_EQ(scene.Count("0 promote secondary 1"), 1);
}

TEST(PlacementSearchTest, MovesTheFewestWhenThatMakesRoom) {
  const std::string text = Nodes({"capacities: {M: 100}", "capacities: {M: 100}"}) + "services:\n" +
                           Service("s", "stateful", "metrics: [{name: M, primaryLoad: 60, secondaryLoad: 60}]") +
                           Service("t", "stateful", "metrics: [{name: M, primaryLoad: 30, secondaryLoad: 30}]") +
                           "partitions:\n" + Partitions("t", Texts{"P/0", "P/0", "P/1", "P/1"}) +
                           Partitions("s", 1, "", "missing: 1");
  Scene fixed(Scene::Read(text));
  EXPECT_EQ(Place(fixed).unplaced.size(), 1u);
  EXPECT_EQ(fixed.Changes(), Texts{});
  Scene moved(Scene::Read(text));
  EXPECT_EQ(Place(moved, {.with_move = true, .movement_slots = 2}).unplaced.size(), 0u);
  EXPECT_EQ(moved.Count("move primary"), 1);
  EXPECT_EQ(moved.Count("4 add primary"), 1);
}

TEST(PlacementSearchTest, PacksWhatFitsOnlyInOneWay) {
  // 60 + 40 and 50 + 50: the two largest must not share, and an even spread on the way would leave no room for the last.
  Scene scene(Scene::Read(Nodes({"capacities: {M: 100}", "capacities: {M: 100}"}) + "services:\n" +
                          Service("a", "stateless", "metrics: [{name: M, load: 60}]") +
                          Service("b", "stateless", "metrics: [{name: M, load: 50}]") +
                          Service("c", "stateless", "metrics: [{name: M, load: 40}]") + "partitions:\n" +
                          Partitions("c", 1, "", "missing: 1") + Partitions("b", 2, "", "missing: 1") +
                          Partitions("a", 1, "", "missing: 1")));
  EXPECT_EQ(Place(scene).unplaced.size(), 0u);
}

TEST(PlacementSearchTest, AllOrNothing) {
  const auto state = [](const std::string& constraint) {
    return Nodes({"capacities: {M: 10}", "capacities: {M: 10}", "capacities: {M: 5}"}) + "services:\n" +
           Service("s", "stateless", "metrics: [{name: M, load: 8}]" + constraint) + "partitions:\n" +
           Partitions("s", 1, "", "missing: 3");
  };
  Scene partial(Scene::Read(state("")));
  EXPECT_EQ(Place(partial).unplaced.size(), 1u);
  EXPECT_EQ(partial.Count("add"), 2);
  Scene nothing(Scene::Read(state(", placementConstraints: 'PlacePolicy ~ NonPartially'")));
  const PlacementResult result = Place(nothing);
  EXPECT_EQ(result.unplaced.size(), 3u);
  ASSERT_EQ(result.why.size(), 1u);
  EXPECT_EQ(result.why[0].second.remaining, 0);
  EXPECT_EQ(nothing.Changes(), Texts{});
}

TEST(PlacementSearchTest, ParentsGoWhereTheirChildrenFit) {
  Scene scene(Scene::Read(Nodes({"capacities: {M: 15}", "capacities: {M: 100}", "capacities: {M: 15}"}) + "services:\n" +
                          Service("p", "stateful", std::string(kMemory)) +
                          Service("c", "stateful", "affinityTo: p, metrics: [{name: M, primaryLoad: 20, secondaryLoad: 20}]") +
                          "partitions:\n" + Partitions("p", 1, "", "missing: 1") + Partitions("c", 1, "", "missing: 1")));
  EXPECT_EQ(Place(scene).unplaced.size(), 0u);
  EXPECT_EQ(scene.Changes(), (Texts{"0 add primary 1", "1 add primary 1"}));
}

TEST(PlacementSearchTest, UpgradesMovePrimaries) {
  Scene out(
      Scene::Read(Nodes(2) + "services:\n" + Service("s", "stateful") +
                  "partitions:\n- {name: s/0, service: s, flags: [InUpgrade], replicas: [{node: n0, role: primary, flags: "
                  "[PrimaryToBeSwappedOut]}, {node: n1, role: secondary}]}\n"));
  EXPECT_TRUE(PlacementNeeded(out.arrangement(), out.groups()[0]));
  Place(out);
  EXPECT_EQ(out.Changes(), Texts{"0 swap primary 0<=>1"});
  Scene back(Scene::Read(Nodes(3) + "services:\n" + Service("s", "stateful") +
                         "partitions:\n- {name: s/0, service: s, missing: 1, replicas: [{node: n0, role: primary}, {node: n2, "
                         "role: dropped, flags: [ReplicaToBePlaced]}]}\n"));
  Place(back);
  EXPECT_EQ(back.Changes(), Texts{"0 add secondary 2"});
}

Cluster RandomDemands(base::Random& random) {
  Cluster cluster = testing::RandomCluster(random);
  for (Partition& partition : cluster.partitions) {
    if (random.Chance(0.5)) partition.missing = static_cast<int32_t>(random.Below(4));
  }
  return cluster;
}

ViolationSummary HardViolations(Scene& scene) {
  const Constraints constraints(scene.arrangement(), {.purpose = Purpose::kConstraintCheck, .max_priority = 0});
  return Summarize(constraints.Violations());
}

// Partitions that have what their service wants wait for those that do not, whatever they are called.
TEST(PlacementSearchTest, ThrottledBuildsServePartitionsBelowTheirTargetFirst) {
  Settings settings;
  settings.maximum_in_build_replicas_per_node["T"] = 1;
  settings.throttle_placement_phase = true;
  const std::string one = "P/0", two = "P/0,S/1", other_two = "P/0,S/2";
  for (const Texts& partitions : {Texts{two, other_two, one, one}, Texts{one, one, two, other_two}}) {
    Scene scene(Scene::Read(Nodes(Texts(3, "nodeType: T")) + "services:\n" + Service("s", "stateful", "targetReplicas: 2") +
                                "partitions:\n" + Partitions("s", partitions, "missing: 1"),
                            settings),
                settings);
    Place(scene);
    EXPECT_EQ(scene.Changes().size(), 2u);
    for (PartitionId partition = 0; partition < 4; ++partition) {
      EXPECT_EQ(scene.Count(fmt::format("{} add secondary", partition)), partitions[partition] == one ? 1 : 0);
    }
  }
}

TEST(PlacementSearchTest, InAnUpgradeReplicasGoToDomainsThatAreDone) {
  const auto changes = [](const std::string& done, uint64_t seed, bool prefer = true) {
    Texts nodes;
    for (int i = 0; i < 8; ++i) nodes.push_back(fmt::format("upgradeDomain: u{}", i / 2));
    Settings settings;
    settings.prefer_upgraded_uds = prefer;
    Scene scene(Scene::Read(Nodes(nodes) + "applications: [{name: a, inUpgrade: true, upgradedDomains: [" + done + "]}]\n" +
                            "services:\n" + Service("s", "stateful", "application: a") + "partitions:\n" +
                            Partitions("s", 1, "P/0", "missing: 1")),
                settings);
    Place(scene, {.seed = seed});
    return scene.Changes();
  };
  std::set<Texts> without;
  for (uint64_t seed = 1; seed < 9; ++seed) {
    const Texts two = changes("u2", seed), where_one_is = changes("u0", seed);
    ASSERT_EQ(two.size(), 1u);
    EXPECT_TRUE(two[0] == "0 add secondary 4" || two[0] == "0 add secondary 5") << two[0];
    ASSERT_EQ(where_one_is.size(), 1u) << "the domain that is done has one already";
    EXPECT_NE(where_one_is[0], "0 add secondary 1");
    without.insert(changes("u2", seed, false));
  }
  EXPECT_GT(without.size(), 2u);
}

TEST(PlacementSearchTest, NothingGetsWorseAndEverythingIsExplained) {
  base::Random random(11);
  for (int run = 0; run < 300; ++run) {
    const Cluster cluster = RandomDemands(random);
    Scene scene(cluster), again(cluster);
    const ViolationSummary before = HardViolations(scene);
    std::vector<std::vector<int64_t>> used(cluster.metrics.size());
    for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
      for (NodeId node = 0; node < cluster.nodes.size(); ++node)
        used[metric].push_back(scene.arrangement().UsedOf(metric, node));
    }
    const PlacementOptions options{.with_move = run % 2 == 0, .movement_slots = 3, .seed = static_cast<uint64_t>(run)};
    const PlacementResult result = Place(scene, options);
    Place(again, options);
    ASSERT_EQ(scene.Changes(), again.Changes()) << run;
    for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
      for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
        const int64_t* capacity = cluster.CapacityOf(node, metric);
        const int64_t now = scene.arrangement().UsedOf(metric, node);
        ASSERT_TRUE(capacity == nullptr || now <= std::max(*capacity, used[metric][node])) << run << " node " << node;
      }
    }
    ASSERT_FALSE(Better(before, HardViolations(scene))) << run;
    ASSERT_LE(scene.Count(" move "), options.with_move ? 3 * static_cast<int64_t>(scene.groups().size()) : 0) << run;
    ASSERT_EQ(result.why.empty(), result.unplaced.empty()) << run;
    for (const auto& [replica, elimination] : result.why) {
      ASSERT_EQ(elimination.remaining, 0) << run << " partition " << scene.arrangement().PartitionOf(replica);
    }
  }
}

}  // namespace
}  // namespace evenkeel::balancing::placement_search_test
