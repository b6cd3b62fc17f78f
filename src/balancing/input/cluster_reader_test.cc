#include "balancing/input/cluster_reader.h"

#include <gtest/gtest.h>

namespace evenkeel::balancing::cluster_reader_test {
namespace {

using Loads = std::vector<int64_t>;
using Texts = std::vector<std::string>;

ClusterFile Read(std::string_view text, const ReadClusterOptions& options = {}) {
  auto file = ReadCluster(text, "s", options);
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message());
  return file ? *std::move(file) : ClusterFile();
}

std::string ErrorOf(std::string_view text, const ReadClusterOptions& options = {}) {
  const auto file = ReadCluster(text, "s", options);
  if (file) return "";
  EXPECT_EQ(file.error().code(), base::Code::kBadRequest);
  return file.error().message();
}

// Nodes n0 to n3 and one service; lines 1 to 4.
std::string With(const std::string& service, const std::string& rest) {
  return "nodes: [{name: n0, properties: {ssd: '1'}}, {name: n1}, {name: n2}, {name: n3, state: down}]\n"
         "services:\n- {name: s, " +
         service + "}\n" + rest;
}

Loads LoadsOf(const Cluster& cluster, size_t replica) {
  const auto loads = cluster.LoadsOf(cluster.replicas[replica]);
  return {loads.begin(), loads.end()};
}

Loads NewLoads(const Cluster& cluster, Role role) {
  const auto loads = cluster.NewReplicaLoads(cluster.partitions[0], role);
  return {loads.begin(), loads.end()};
}

constexpr std::string_view kExample = R"(nodes:
- {name: n0, nodeType: A, faultDomain: "fd:/dc0/r0", upgradeDomain: ud0, capacities: {Memory: 100}, properties: {ssd: "1"}, state: up}
- {name: n1, nodeType: A}
services:
- {name: s1, kind: stateful, metrics: [{name: Memory, weight: High, primaryLoad: 10, secondaryLoad: 5}], placementConstraints: "ssd == 1",
   moveCost: Low, affinityTo: null, application: null, targetReplicas: 3}
- {name: web, kind: stateless, metrics: [{name: Memory, weight: Low, load: 3}], targetReplicas: -1}     # -1: on every node
partitions:
- {name: s1/0, service: s1, replicas: [{node: n0, role: primary, loads: {Memory: 12}}, {node: n1, role: secondary}], missing: 1}
history: {lastPlacement: 0, lastConstraintCheck: 0, lastBalancing: 0, lastStateChange: 0, lastLoadChange: 0, lastNodeUp: -1e9, lastNodeDown: -1e9}
)";

TEST(ClusterReaderTest, ExampleOfTheDesignLoads) {
  const ClusterFile file = Read(kExample);
  const Cluster& cluster = file.cluster;
  EXPECT_EQ(file.warnings, Texts{});
  ASSERT_EQ(cluster.nodes.size(), 2u);
  EXPECT_EQ(cluster.nodes[0].fault_domain, (Texts{"dc0", "r0"}));
  EXPECT_EQ(*cluster.CapacityOf(0, cluster.FindMetric("Memory")), 100);
  EXPECT_EQ(cluster.CapacityOf(1, cluster.FindMetric("Memory")), nullptr);
  EXPECT_TRUE(cluster.services[1].on_every_node);
  EXPECT_TRUE(cluster.ConstraintOf(cluster.services[1]).IsTrue());
  EXPECT_TRUE(cluster.ConstraintOf(cluster.services[0]).Suits(NodeProperties(cluster, 0), ConstraintPart::kEveryReplica));
  EXPECT_FALSE(cluster.ConstraintOf(cluster.services[0]).Suits(NodeProperties(cluster, 1), ConstraintPart::kEveryReplica));
  EXPECT_EQ(LoadsOf(cluster, 0), Loads{12});
  EXPECT_EQ(LoadsOf(cluster, 1), Loads{5});
  EXPECT_EQ(NewLoads(cluster, Role::kPrimary), Loads{12}) << "what the primary reported last";
  EXPECT_EQ(cluster.partitions[0].missing, 1);
  EXPECT_EQ(cluster.history.last_node_down, -1e9);
  EXPECT_EQ(cluster.history.last_balancing, 0);
  EXPECT_DOUBLE_EQ(GlobalWeight({}, cluster.metrics[cluster.FindMetric("Memory")]), 0.55) << "the average of 1 and 0.1";
}

TEST(ClusterReaderTest, ServiceWithoutMetricsHasTheThreeDefaultsWithFixedLoads) {
  const Cluster stateful = Read(With("kind: stateful",
                                     "partitions: [{name: p, service: s, replicas: [{node: n0, role: primary}, "
                                     "{node: n1, role: secondary}, {node: n2, role: dropped}]}]"))
                               .cluster;
  ASSERT_EQ(stateful.services[0].metrics.size(), 3u);
  EXPECT_EQ(stateful.metrics[0].name, "PrimaryCount");
  EXPECT_EQ(stateful.services[0].metrics[1].weight, 0.3);
  EXPECT_EQ(LoadsOf(stateful, 0), (Loads{1, 1, 1}));
  EXPECT_EQ(LoadsOf(stateful, 1), (Loads{0, 1, 1}));
  EXPECT_EQ(LoadsOf(stateful, 2), (Loads{0, 0, 0}));
  const Cluster stateless =
      Read(With("kind: stateless", "partitions: [{name: p, service: s, replicas: [{node: n0}]}]")).cluster;
  EXPECT_EQ(stateless.replicas[0].role, Role::kInstance);
  EXPECT_EQ(LoadsOf(stateless, 0), (Loads{0, 0, 1}));
}

TEST(ClusterReaderTest, BuiltInMetricsIgnoreDeclaredLoads) {
  const Cluster cluster =
      Read(With("kind: stateful, metrics: [{name: Count, primaryLoad: 50}, {name: SecondaryCount}]",
                "partitions: [{name: p, service: s, replicas: [{node: n0, role: primary, loads: {Count: 9}}]}]"))
          .cluster;
  EXPECT_EQ(LoadsOf(cluster, 0), (Loads{1, 0}));
  EXPECT_EQ(NewLoads(cluster, Role::kSecondary), (Loads{1, 1}));
}

TEST(ClusterReaderTest, SilentSecondariesHaveTheRoundedAverageOfThoseThatReport) {
  const std::string text = With("kind: stateful, metrics: [{name: M, primaryLoad: 10, secondaryLoad: 5}]",
                                "partitions: [{name: p, service: s, replicas: [{node: n0, role: secondary, loads: {M: 4}}, "
                                "{node: n1, role: secondary, loads: {M: 7}}, {node: n2, role: secondary}]}]");
  const Cluster separate = Read(text).cluster;
  EXPECT_EQ(LoadsOf(separate, 0), Loads{4});
  EXPECT_EQ(LoadsOf(separate, 2), Loads{6});
  EXPECT_EQ(NewLoads(separate, Role::kSecondary), Loads{6});
  EXPECT_EQ(NewLoads(separate, Role::kPrimary), Loads{10});
  ReadClusterOptions together;
  together.settings.use_separate_secondary_load = false;
  const Cluster same = Read(text, together).cluster;
  for (size_t replica = 0; replica < 3; ++replica) EXPECT_EQ(LoadsOf(same, replica), Loads{7});
}

TEST(ClusterReaderTest, SecondariesHaveTheirOwnMoveCostsOrTheLastThatOneReports) {
  const std::string text = With("kind: stateful, moveCost: Zero",
                                "partitions: [{name: p, service: s, replicas: [{node: n0, role: primary, moveCost: Medium}, "
                                "{node: n1, role: secondary, moveCost: High}, {node: n2, role: secondary}]}, "
                                "{name: q, service: s, replicas: [{node: n0, role: secondary}]}]");
  const auto costs = [&](const ReadClusterOptions& options) {
    std::vector<MoveCost> all;
    for (const Replica& replica : Read(text, options).cluster.replicas) all.push_back(replica.move_cost);
    return all;
  };
  using enum MoveCost;
  EXPECT_EQ(costs({}), (std::vector{kMedium, kHigh, kZero, kZero}));
  ReadClusterOptions together;
  together.settings.use_separate_secondary_move_cost = false;
  EXPECT_EQ(costs(together), (std::vector{kMedium, kHigh, kHigh, kZero})) << "of each partition by itself";
}

TEST(ClusterReaderTest, ReportsOfAnAbsentRoleHoldForNewReplicas) {
  const Cluster cluster =
      Read(With("kind: stateful, targetReplicas: 2, metrics: [{name: M, primaryLoad: 10, secondaryLoad: 5}]",
                "partitions: [{name: p, service: s, primaryLoads: {M: 20}, secondaryLoads: {M: 8}}]"))
          .cluster;
  EXPECT_EQ(NewLoads(cluster, Role::kPrimary), Loads{20});
  EXPECT_EQ(NewLoads(cluster, Role::kSecondary), Loads{8});
  EXPECT_EQ(cluster.partitions[0].missing, 2);
}

TEST(ClusterReaderTest, WithATargetOfOneReplicaSecondariesWeighWhatThePrimaryDoes) {
  const Cluster cluster =
      Read(With("kind: stateful, targetReplicas: 1, metrics: [{name: M, primaryLoad: 10, secondaryLoad: 5}]",
                "partitions: [{name: p, service: s, replicas: [{node: n0, role: primary, loads: {M: 12}}, "
                "{node: n1, role: secondary, flags: [ToBePromoted]}]}]"))
          .cluster;
  EXPECT_EQ(LoadsOf(cluster, 1), Loads{12});
  EXPECT_EQ(NewLoads(cluster, Role::kSecondary), Loads{12});
  EXPECT_TRUE(cluster.replicas[1].Has(kToBePromoted));
  EXPECT_EQ(cluster.partitions[0].missing, -1);
}

TEST(ClusterReaderTest, MissingIsWhatLacksToTheTargetUnlessSaid) {
  const auto missing = [](const std::string& service, const std::string& partition) {
    return Read(With(service, "partitions: [{name: p, service: s, " + partition + "}]")).cluster.partitions[0].missing;
  };
  EXPECT_EQ(missing("targetReplicas: 3", "replicas: [{node: n0}]"), 2);
  EXPECT_EQ(missing("targetReplicas: 3", "replicas: [{node: n0}], missing: 0"), 0);
  EXPECT_EQ(missing("targetReplicas: 1", "replicas: [{node: n0, flags: [ToBeDropped]}]"), 1);
  EXPECT_EQ(missing("kind: stateless", "replicas: [{node: n0}]"), 0);
  EXPECT_EQ(missing("targetReplicas: -1", "replicas: [{node: n0}]"), 0);
}

TEST(ClusterReaderTest, NodesSayWhetherTheyCount) {
  const Cluster cluster =
      Read(R"({"nodes": [{"name": "a"}, {"name": "b", "state": "Down"}, {"name": "c", "deactivation": "pause"},
    {"name": "d", "deactivation": {"intent": "RemoveNode", "status": "SafetyCheckInProgress"}},
    {"name": 7, "deactivation": "RemoveData"}]})")
          .cluster;
  const auto& nodes = cluster.nodes;
  EXPECT_TRUE(nodes[0].Available() && nodes[0].CountsForClusterCapacity());
  EXPECT_FALSE(nodes[1].Available() || nodes[1].CountsForClusterCapacity());
  EXPECT_FALSE(nodes[2].Available());
  EXPECT_TRUE(nodes[2].CountsForClusterCapacity());
  EXPECT_TRUE(nodes[3].CountsForClusterCapacity()) << "has not left yet";
  EXPECT_FALSE(nodes[4].CountsForClusterCapacity());
  EXPECT_EQ(nodes[4].name, "7");
}

TEST(ClusterReaderTest, TheManifestsNodesCountWhereTheStateNamesNone) {
  NodeTypeDescription type{.name = "A", .capacities = {{"Memory", 16}}, .properties = {{"gpu", "1"}, {"NodeName", "x"}}};
  const std::vector<NodeTypeDescription> types = {type};
  const std::vector<NodeDescription> nodes = {{"n0", "A", "fd:/r0", "ud0"}, {"n1", "B", "fd:/r1", "ud1"}};
  const ReadClusterOptions options{.settings = {}, .node_types = types, .nodes = nodes};
  const Cluster none =
      Read("services: [{name: s}]\npartitions: [{name: p, service: s, replicas: [{node: n1}]}]", options).cluster;
  ASSERT_EQ(none.nodes.size(), 2u);
  EXPECT_EQ(none.node_types, (Texts{"A", "B"}));
  EXPECT_EQ(none.nodes[0].name, "n0");
  EXPECT_EQ(none.nodes[0].fault_domain, Texts{"r0"});
  EXPECT_EQ(none.nodes[0].upgrade_domain, "ud0");
  EXPECT_EQ(*none.CapacityOf(0, none.FindMetric("Memory")), 16);
  EXPECT_EQ(none.nodes[0].properties, (Group<std::string>{{"gpu", "1"}})) << "implicit properties have their own values";
  EXPECT_EQ(none.CapacityOf(1, none.FindMetric("Memory")), nullptr);
  EXPECT_EQ(none.replicas[0].node, 1u);

  const Cluster some = Read("nodes: [{name: n1, faultDomain: 'fd:/r9'}, {name: other}]", options).cluster;
  ASSERT_EQ(some.nodes.size(), 2u) << "a state that names nodes names all of them";
  EXPECT_EQ(some.node_types[some.nodes[0].type], "B") << "what the state does not say of a node the manifest does";
  EXPECT_EQ(some.nodes[0].fault_domain, Texts{"r9"});
  EXPECT_EQ(some.nodes[0].upgrade_domain, "ud1");
  EXPECT_EQ(some.node_types[some.nodes[1].type], "");
}

TEST(ClusterReaderTest, GovernedResourcesHaveTheWeightsThatAreSetForThem) {
  ReadClusterOptions options;
  options.settings.cpu_cores_metric_weight = 0.5;
  options.settings.memory_in_mb_metric_weight = 0.25;
  const Cluster cluster = Read(
                              "services: [{name: s, metrics: [{name: 'servicefabric:/_CpuCores', load: 1}, "
                              "{name: 'servicefabric:/_MemoryInMB', load: 1}, {name: M, load: 1}]}, "
                              "{name: t, metrics: [{name: 'servicefabric:/_CpuCores', weight: High}]}]",
                              options)
                              .cluster;
  EXPECT_EQ(cluster.services[0].metrics[0].weight, 0.5);
  EXPECT_EQ(cluster.services[0].metrics[1].weight, 0.25);
  EXPECT_EQ(cluster.services[0].metrics[2].weight, 1);
  EXPECT_EQ(cluster.services[1].metrics[0].weight, 1) << "what the service says wins";
}

TEST(ClusterReaderTest, NodesHaveWhatTheirTypeHasUnlessTheySayOtherwise) {
  const std::vector<NodeTypeDescription> types = {
      {.name = "A", .capacities = {{"Memory", 64}, {"Disk", 9}}, .properties = {{"ssd", "1"}, {"NodeType", "never"}}}};
  const Cluster cluster = Read("nodes: [{name: n, nodeType: A, capacities: {Memory: 32}, properties: {gpu: 2}}]",
                               {.settings = {}, .node_types = types})
                              .cluster;
  EXPECT_EQ(*cluster.CapacityOf(0, cluster.FindMetric("Memory")), 32);
  EXPECT_EQ(*cluster.CapacityOf(0, cluster.FindMetric("Disk")), 9);
  const NodeProperties properties(cluster, 0);
  EXPECT_EQ(*properties.Find("ssd"), "1");
  EXPECT_EQ(*properties.Find("gpu"), "2");
  EXPECT_EQ(*properties.Find("NodeType"), "A");
  EXPECT_EQ(*properties.Find("NodeName"), "n");
  EXPECT_EQ(properties.Find("Disk"), nullptr);
}

TEST(ClusterReaderTest, ApplicationsTypesPoliciesAndCostsAreRead) {
  const Cluster cluster = Read(R"(nodes: [{name: n0, faultDomain: "fd:/a"}, {name: n1, faultDomain: "fd:/b"}]
serviceTypes: [{name: t, blockedNodes: [n1, n0, n1]}]
applications: [{name: app, maxNodes: 2, metrics: [{name: M, totalCapacity: 20, maxNodeCapacity: 10, nodeReservation: 10}]}]
services:
- {name: parent, kind: stateful, application: app, type: t}
- {name: child, kind: stateful, application: other, affinityTo: {service: parent, aligned: false},
   moveCost: {primary: High, secondary: zero}, placementConstraints: "NodeName == n0 || NodeName == n1",
   placementPolicies: [{type: InvalidDomain, domain: "fd:/b"}, {type: RequiredDomainDistribution}]}
)")
                              .cluster;
  EXPECT_EQ(cluster.service_types[0].blocked_nodes, (std::vector<NodeId>{0, 1}));
  EXPECT_EQ(cluster.applications.size(), 2u);
  EXPECT_EQ(cluster.applications[0].metrics[0].node_reservation, 10);
  const Service& child = cluster.services[1];
  EXPECT_EQ(child.affinity_to, 0u);
  EXPECT_FALSE(child.aligned_affinity);
  EXPECT_EQ(child.primary_move_cost, MoveCost::kHigh);
  EXPECT_EQ(child.secondary_move_cost, MoveCost::kZero);
  const Expression& constraint = cluster.ConstraintOf(child);
  EXPECT_EQ(constraint.fault_domain_policy(), FaultDomainPolicy::kNonpacking);
  EXPECT_TRUE(constraint.Suits(NodeProperties(cluster, 0), ConstraintPart::kEveryReplica));
  EXPECT_FALSE(constraint.Suits(NodeProperties(cluster, 1), ConstraintPart::kEveryReplica));
}

TEST(ClusterReaderTest, HistoryAndRuntimeAreRead) {
  const Cluster cluster =
      Read(With("kind: stateless", R"(partitions: [{name: p, service: s, flags: [quorumLoss], inUpgrade: true}]
runtime: {balancingEnabled: false}
history: {lastBalancingOfNodeType: {"": 50}, balancingRuns: 2, slowBalancing: true, movements: [{at: 1.5, partition: p}, {at: 2, partition: gone, phase: placement}]}
)"))
          .cluster;
  EXPECT_FALSE(cluster.runtime.balancing_enabled);
  EXPECT_TRUE(cluster.partitions[0].Has(kPartitionInQuorumLoss));
  EXPECT_TRUE(cluster.partitions[0].Has(kPartitionInUpgrade));
  EXPECT_EQ(cluster.history.last_balancing_of_node_type.at(""), 50);
  EXPECT_EQ(cluster.history.last_balancing, kLongAgo);
  EXPECT_TRUE(cluster.history.slow_balancing);
  ASSERT_EQ(cluster.history.movements.size(), 2u);
  EXPECT_EQ(cluster.history.movements[0].partition, 0u);
  EXPECT_EQ(cluster.history.movements[1].partition, kNoId);
  EXPECT_EQ(cluster.history.movements[1].phase, Movement::Phase::kPlacement);
}

TEST(ClusterReaderTest, ErrorsNameFileLineObjectAndField) {
  const std::string stateful = "kind: stateful, metrics: [{name: M}]";
  const auto partition = [](const std::string& text) { return "partitions:\n- name: p\n  service: s\n  replicas:\n" + text; };
  EXPECT_EQ(ErrorOf(With(stateful, partition("  - {node: n0, role: primary}\n  - {node: n1, role: primary}\n"))),
            "s:9: partition \"p\": replicas[1].role: the partition has a second primary");
  EXPECT_EQ(ErrorOf(With(stateful, partition("  - {node: n0, role: primary}\n  - {node: n0, role: secondary}\n"))),
            "s:9: partition \"p\": replicas[1].node: the partition has a second replica on this node");
  EXPECT_EQ(ErrorOf(With(stateful, partition("  - {node: n9, role: primary}\n"))),
            "s:8: partition \"p\": replicas[0].node: there is no node \"n9\"");
  EXPECT_EQ(ErrorOf(With(stateful, partition("  - {node: n0, role: primary, loads: {M: -1}}\n"))),
            "s:8: partition \"p\": replicas[0].loads.M: -1 is negative");
  EXPECT_EQ(ErrorOf(With(stateful, partition("  - {node: n0, role: primary, loads: {M: 1.5}}\n"))),
            "s:8: partition \"p\": replicas[0].loads.M: 1.5 is not a whole number");
  EXPECT_EQ(ErrorOf(With(stateful, partition("  - {node: n0}\n"))),
            "s:8: partition \"p\": replicas[0].role: is missing; expected primary or secondary, the service is stateful");
  EXPECT_EQ(ErrorOf(With("kind: stateless", partition("  - {node: n0, role: primary}\n"))),
            "s:8: partition \"p\": replicas[0].role: primary, but the service is stateless");
  EXPECT_EQ(ErrorOf(With(stateful, "partitions: [{name: p, service: x}]")),
            "s:4: partition \"p\": service: there is no service \"x\"");
  EXPECT_EQ(ErrorOf(With(stateful, "partitions: [{service: s}]")), "s:4: partitions[0].name: is missing");
  EXPECT_EQ(ErrorOf("nodes: [{name: a}, {name: a}]"), "s:1: node \"a\": name: another node has this name");
  EXPECT_EQ(ErrorOf("nodes: 5"), "s:1: nodes: expected a list");
  EXPECT_EQ(ErrorOf("{\"nodes\": [\n{\"name\": \"a\"},\n{\"name\": \"b\",\n \"state\": \"off\"}]}"),
            "s:4: node \"b\": state: \"off\" is none of up or down");
}

TEST(ClusterReaderTest, ErrorBehindAnAliasStandsWhereTheAliasDoes) {
  EXPECT_EQ(
      ErrorOf("nodes:\n- {name: a, capacities: &c {M: 1}}\nservices:\n- name: s\n  metrics: [&m {name: M, load: 1}, *m]\n"),
      "s:5: service \"s\": metrics[1].name: the service names this metric twice");
}

TEST(ClusterReaderTest, UnknownWordsAndContradictionsOfServicesAreErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"kind: statefull", "kind: \"statefull\" is none of stateful or stateless"},
      {"metrics: [{name: M, weight: Highest}]", "metrics[0].weight: \"Highest\" is none of High, Medium, Low or Zero"},
      {"metrics: [{name: M, weight: -0.5}]", "metrics[0].weight: -0.5 is negative"},
      {"metrics: [{name: M, load: -5}]", "metrics[0].load: -5 is negative"},
      {"metrics: [{name: M}, {name: M}]", "metrics[1].name: the service names this metric twice"},
      {"metrics: [{name: M, primaryLoad: 5}]", "metrics[0].primaryLoad: a stateless service has one \"load\""},
      {"moveCost: Huge", "moveCost: \"Huge\" is none of Zero, Low, Medium, High or VeryHigh"},
      {"kind: stateful, targetReplicas: -1", "targetReplicas: -1, one on every node, is for stateless services only"},
      {"targetReplicas: 0", "targetReplicas: must be at least 1, or -1: one on every node"},
      {"affinityTo: nobody", "affinityTo: there is no service \"nobody\""},
      {"placementConstraints: \"(ssd == 1\"",
       "placementConstraints: column 10: expected ) for the ( in column 1, found the end"},
      {"placementConstraints: \"sdd == 1\"", "placementConstraints: no node has a property \"sdd\"; did you mean ssd?"},
      {"placementPolicies: [{type: RequiredDomain, domain: \"a && b\"}]",
       "placementPolicies[0].domain: not the URI of a fault domain"},
  };
  for (const auto& [service, error] : cases) {
    EXPECT_EQ(ErrorOf(With(service, "")), std::string("s:3: service \"s\": ") + error) << service;
  }
}

TEST(ClusterReaderTest, UndefinedPropertyIsAWarningWhenConstraintsAreNotValidated) {
  ReadClusterOptions options;
  options.settings.validate_placement_constraint = false;
  EXPECT_EQ(
      Read(With("placementConstraints: 'a-b == 1'", ""), options).warnings,
      (Texts{"s:3: service \"s\": placementConstraints: Service Fabric never matches properties whose names contain '-': a-b",
             "s:3: service \"s\": placementConstraints: no node has a property \"a-b\""}));
}

TEST(ClusterReaderTest, AffinityHasNoChainsAndNoSelf) {
  EXPECT_EQ(ErrorOf("services:\n- {name: a, kind: stateful, affinityTo: b}\n- {name: b, kind: stateful, affinityTo: c}\n"
                    "- {name: c, kind: stateful}\n"),
            "s:2: service \"a\": affinityTo: \"b\" follows \"c\" itself; chains are not possible");
  const ClusterFile file = Read("services: [{name: a, kind: stateful, affinityTo: a}]");
  EXPECT_EQ(file.cluster.services[0].affinity_to, kNoId);
  EXPECT_EQ(file.warnings, Texts{"s:1: service \"a\": affinityTo: a service cannot follow itself; this is left out"});
}

TEST(ClusterReaderTest, ContradictoryApplicationGroupsAreErrors) {
  const auto error = [](const std::string& fields) { return ErrorOf("applications:\n- {name: app, " + fields + "}\n"); };
  EXPECT_EQ(error("minNodes: 3, maxNodes: 2"), "s:2: application \"app\": minNodes: 3 is more than maxNodes, which is 2");
  EXPECT_EQ(error("metrics: [{name: M, maxNodeCapacity: 5, nodeReservation: 6}]"),
            "s:2: application \"app\": metrics[0].nodeReservation: 6 is more than maxNodeCapacity, which is 5");
  EXPECT_EQ(error("maxNodes: 3, metrics: [{name: M, maxNodeCapacity: 5, totalCapacity: 14}]"),
            "s:2: application \"app\": metrics[0].totalCapacity: 14 is less than maxNodes (3) times maxNodeCapacity (5)");
  EXPECT_EQ(error("minNodes: 3, metrics: [{name: M, maxNodeCapacity: 5, nodeReservation: 5, totalCapacity: 15}]"), "");
}

TEST(ClusterReaderTest, LoadsThatDoNotFitTogetherAreAnError) {
  const auto error = [](const std::string& service, const std::string& partition) {
    return ErrorOf(With("metrics: [{name: M, load: 1000000000000000000}]" + service,
                        "partitions: [{name: p, service: s, " + partition + "}]"));
  };
  const std::string wrong = "s:4: partition \"p\": loads and reservations of metric \"M\" may come to more than 2^61 together";
  EXPECT_EQ(error("", "replicas: [{node: n0}, {node: n1}]"), "");
  EXPECT_EQ(error("", "replicas: [{node: n0}, {node: n1}], missing: 1"), wrong);
  EXPECT_EQ(error("", "replicas: [{node: n0, loads: {M: 2000000000000000000}}, {node: n1}]"), wrong);
  EXPECT_EQ(error(", targetReplicas: -1", "replicas: [{node: n0}, {node: n1}]"), wrong) << "one on every node besides";
  EXPECT_EQ(ErrorOf("applications: [{name: a, metrics: [{name: M, nodeReservation: 9000000000000000000}]}]"),
            "s:1: application \"a\": metrics[0]: loads and reservations of metric \"M\" may come to more than 2^61 together");
  EXPECT_EQ(ErrorOf(With("metrics: [{name: M, load: 18446744073709551615}]", "")),
            "s:3: service \"s\": metrics[0].load: 18446744073709551615 is more than 2^63-1");
}

TEST(ClusterReaderTest, MoreMissingReplicasThanCouldBePlacedAreAnError) {
  EXPECT_EQ(ErrorOf(With("", "partitions: [{name: p, service: s, missing: 1000}]")), "");
  EXPECT_EQ(ErrorOf(With("", "partitions: [{name: p, service: s, missing: 1000000}]")),
            "s:4: partition \"p\": missing: 1000000 replicas are missing; at most 1000 may be");
  EXPECT_EQ(ErrorOf(With("targetReplicas: 1000000", "partitions: [{name: p, service: s}]")),
            "s:4: partition \"p\": missing: 1000000 replicas are missing; at most 1000 may be");
  std::string many = "partitions:\n";
  for (int i = 0; i < 301; ++i) many += "- {name: p" + std::to_string(i) + ", service: s, missing: 1000}\n";
  EXPECT_TRUE(
      ErrorOf(With("", many)).ends_with("partition \"p300\": missing: more than 300000 replicas are missing altogether"))
      << ErrorOf(With("", many));
}

TEST(ClusterReaderTest, WhatIsNotUtf8IsAnErrorWithItsLine) {
  EXPECT_EQ(ErrorOf("nodes:\n- {name: a\xff}\n"), "s:2: not UTF-8");
  EXPECT_EQ(ErrorOf("{\"nodes\": [{\"name\": \"a\xc3\"}]}"), "s:1: not UTF-8");
}

TEST(ClusterReaderTest, UnknownFieldsAndUndeclaredLoadsAreWarnedOfOnce) {
  const ClusterFile file =
      Read(With("metrics: [{name: M}]",
                "partitions:\n- {name: p, service: s, replica: [], replicas: [{node: n0, loads: {X: 1}}]}\n"
                "- {name: q, service: s, replica: [], replicas: [{node: n0, loads: {X: 1}}]}\n"));
  EXPECT_EQ(file.warnings,
            (Texts{"s:5: partition \"p\": replica: there is no such field; it is left out; did you mean replicas?",
                   "s:5: partition \"p\": replicas[0].loads.X: the service does not have this metric; the load is left out"}));
}

TEST(ClusterReaderTest, TextThatDoesNotParseIsAnErrorWithItsPlace) {
  EXPECT_TRUE(ErrorOf("{\"nodes\": [}").starts_with("s:1:12: invalid JSON")) << ErrorOf("{\"nodes\": [}");
  EXPECT_TRUE(ErrorOf("nodes: [").starts_with("s:"));
  EXPECT_FALSE(ErrorOf("").empty());
  EXPECT_EQ(Read("{nodes: [{name: a}]}").cluster.nodes.size(), 1u) << "YAML in braces";
}

TEST(ClusterReaderTest, AStateMayStandInSeveralFiles) {
  const StateText texts[] = {
      {"partitions: [{name: p/0, service: p, replicas: [{node: n1}]}]\nhistory: {lastPlacement: 3}", "a"},
      {"nodes: [{name: n1}]", "b"},
      {R"({"services": [{"name": "p"}], "nodes": [{"name": "n2"}], "history": {"lastBalancing": 4}})", "c"}};
  const auto file = ReadCluster(texts, {});
  ASSERT_TRUE(file.has_value()) << file.error().message();
  EXPECT_EQ(file->cluster.nodes.size(), 2u);
  EXPECT_EQ(file->cluster.replicas.size(), 1u);
  EXPECT_EQ(file->cluster.history.last_placement, 3);
  EXPECT_EQ(file->cluster.history.last_balancing, 4);
}

TEST(ClusterReaderTest, ErrorsAndWarningsNameTheFileOfSeveral) {
  const StateText twice[] = {{"nodes:\n- {name: n1}", "a"}, {"nodes:\n- {name: n2}\n- {name: n1}", "b"}};
  const auto refused = ReadCluster(twice, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().message().starts_with("b:3: ")) << refused.error().message();
  const StateText slips[] = {{"nodes: [{name: n1, colour: red}]", "a"}, {"runtime: {colour: red}", "b"}};
  const auto warned = ReadCluster(slips, {});
  ASSERT_TRUE(warned.has_value());
  ASSERT_EQ(warned->warnings.size(), 2u);
  EXPECT_TRUE(warned->warnings[0].starts_with("a:1: ")) << warned->warnings[0];
  EXPECT_TRUE(warned->warnings[1].starts_with("b:1: ")) << warned->warnings[1];
}

}  // namespace
}  // namespace evenkeel::balancing::cluster_reader_test
