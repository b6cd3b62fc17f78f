// The worked examples of Service Fabric's page "Balancing your Service Fabric cluster", from its own configuration samples.
#include <gtest/gtest.h>

#include "balancing/plan/plan_testing.h"

namespace evenkeel::balancing::plan_document_test {
namespace {

using testing::InstancesText;
using testing::NodesText;
using testing::Ones;

class DocumentTest : public testing::PlanFixture {
 protected:
  static std::string OneService(const std::string& metric, const std::vector<std::vector<int>>& loads) {
    return NodesText(static_cast<int>(loads.size())) + "services:\n- {name: s, metrics: [{name: " + metric +
           "}]}\npartitions:\n" + InstancesText("s", metric, loads);
  }
  std::vector<std::string> GroupNames() const {
    std::vector<std::string> names;
    for (const ServiceGroup& group : plan.groups.groups) {
      std::string& joined = names.emplace_back();
      for (const ServiceId service : group.services) joined += cluster.services[service].name + " ";
    }
    return names;
  }
};

constexpr std::string_view kThreshold3 = R"(<Section Name="MetricBalancingThresholds">
  <Parameter Name="MetricName1" Value="3"/>
</Section>)";

TEST_F(DocumentTest, ARatioOf2Point5AtThreshold3IsBalanced) {
  Configure(kThreshold3);
  Make(OneService("MetricName1", {Ones(5), Ones(3), Ones(2)}));
  EXPECT_EQ(plan.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(Actions(), 0u);
  EXPECT_EQ(WhySkipped("Balancing"), "loads are balanced");
}

TEST_F(DocumentTest, ARatioOf5AtThreshold3IsBalancedAway) {
  Configure(kThreshold3);
  Make(OneService("MetricName1", {Ones(10), Ones(5), Ones(2)}));
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
  // 17 units: 30 % of the replicas may move.
  EXPECT_EQ(LoadsAfter("MetricName1"), (std::vector<int64_t>{6, 6, 5}));
  EXPECT_EQ(Actions(), 4u);
  for (const Action& action : plan.Actions()) EXPECT_EQ(NodeName(action.from), "n0");
}

constexpr std::string_view kActivityJson = R"("fabricSettings": [
  {
    "name": "MetricActivityThresholds",
    "parameters": [
      {
          "name": "Memory",
          "value": "1536"
      }
    ]
  },
  {"name": "MetricBalancingThresholds", "parameters": [{"name": "Memory", "value": "3"}]}
])";

TEST_F(DocumentTest, NoLoadAboveTheActivityThreshold1536MeansNoBalancing) {
  Configure(kActivityJson);
  Make(OneService("Memory", {{512, 512, 512}, {300}, {400}}));
  EXPECT_EQ(plan.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(Text(cluster, plan.of_groups[0].balance.metrics[0]), "no load is above the activity threshold 1536");
}

TEST_F(DocumentTest, OneLoadAboveTheActivityThresholdAndTheRatioAreEnough) {
  Configure(kActivityJson);
  Make(OneService("Memory", {{512, 512, 513}, {300}, {400}}));
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
  EXPECT_GT(Actions(), 0u);
}

TEST_F(DocumentTest, BothThresholdsHaveToBeExceededByTheSameMetric) {
  Configure(R"(<FabricSettings>
    <Section Name="MetricBalancingThresholds"><Parameter Name="M1" Value="3"/><Parameter Name="M2" Value="3"/></Section>
    <Section Name="MetricActivityThresholds"><Parameter Name="M1" Value="100"/><Parameter Name="M2" Value="100"/></Section>
  </FabricSettings>)");
  // M1: 90 to 10, not active; M2: 300 to 150, active and within the ratio.
  const std::string text = NodesText(2) + R"(services:
- {name: s1, metrics: [{name: M1}]}
- {name: s2, metrics: [{name: M2}]}
- {name: both, metrics: [{name: M1}, {name: M2}]}
partitions:
)" + InstancesText("s1", "M1", {{45, 45}, {10}}) +
                           InstancesText("s2", "M2", {{150, 150}, {150}});
  Make(text);
  EXPECT_EQ(plan.groups.groups.size(), 1u);
  EXPECT_EQ(plan.phase, Phase::kNoActionNeeded);
}

TEST_F(DocumentTest, WithoutSettingsThresholdIs1AndActivity0) {
  Make(OneService("Memory", {Ones(3), Ones(1)}));
  EXPECT_EQ(plan.of_groups[0].balance.metrics[0].threshold, 1);
  EXPECT_EQ(plan.of_groups[0].balance.metrics[0].activity_threshold, 0);
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
  EXPECT_EQ(Actions(), 1u) << "perfectly even: 2 and 2";
}

std::string FourServices(const std::string& metrics_of_service_2) {
  return NodesText(3) + R"(services:
- {name: service1, metrics: [{name: metric1}, {name: metric2}]}
- {name: service2, metrics: )" +
         metrics_of_service_2 + R"(}
- {name: service3, metrics: [{name: metric3}, {name: metric4}]}
- {name: service4, metrics: [{name: metric99}]}
partitions:
)" + InstancesText("service1", "metric1", {Ones(6), {}, {}}) +
         InstancesText("service2", "metric3", {Ones(1), Ones(1), Ones(1)}) +
         InstancesText("service3", "metric4", {Ones(1), Ones(1), Ones(1)}) +
         InstancesText("service4", "metric99", {Ones(2), Ones(1), Ones(1)});
}

TEST_F(DocumentTest, FourServicesAreTwoGroupsAndThreeAfterMetric2Goes) {
  LoadAfresh(FourServices("[{name: metric2}, {name: metric3}]"));
  MakeAt(0);
  EXPECT_EQ(GroupNames(), (std::vector<std::string>{"service1 service2 service3 ", "service4 "}));
  EXPECT_GT(Actions(), 0u);
  for (const Action& action : plan.Actions()) EXPECT_NE(ServiceOf(action), "service4") << "metric 99 is balanced";
  EXPECT_EQ(plan.of_groups[1].decision.phase, Phase::kNoActionNeeded);

  // What the planner remembers of service 1, 2 and 3 goes with each of them.
  Load(FourServices("[{name: metric3}]"));
  MakeAt(1);
  EXPECT_EQ(GroupNames(), (std::vector<std::string>{"service1 ", "service2 service3 ", "service4 "}));
  EXPECT_EQ(memory.groups[0].phase.last_balancing, memory.groups[1].phase.last_balancing);
  EXPECT_EQ(memory.groups.size(), 3u);
}

// The page's sample, where the elements are never closed, with the thresholds of its example.
constexpr std::string_view kPerNodeType = R"(<Section Name="PlacementAndLoadBalancing">
    <Parameter Name="SeparateBalancingStrategyPerNodeType" Value="true" />
    <Parameter Name="SubclusteringEnabled" Value="true" />
    <Parameter Name="SubclusteringReportingPolicy" Value="1" />
</Section>
)";

std::string OverridesXml(const std::vector<std::array<std::string, 3>>& types) {
  std::string text = "<NodeTypes>\n";
  for (const auto& [type, threshold, activity] : types) {
    text += "    <NodeType Name=\"" + type + R"(">
        <PlacementAndLoadBalancingOverrides>
            <MetricBalancingThresholdsPerNodeType>
                <BalancingThreshold Name="Metric1" Value=")" +
            threshold + R"(">
            </MetricBalancingThresholdsPerNodeType>
            <MetricActivityThresholdsPerNodeType>
                <ActivityThreshold Name="Metric1" Value=")" +
            activity + R"(">
            </MetricActivityThresholdsPerNodeType>
        </PlacementAndLoadBalancingOverrides>
    </NodeType>
)";
  }
  return text + "</NodeTypes>";
}

std::string OverridesJson(const std::vector<std::array<std::string, 3>>& types) {
  std::string text = R"({"fabricSettings": [{"name": "PlacementAndLoadBalancing", "parameters": [
      {"name": "SeparateBalancingStrategyPerNodeType", "value": "true"},
      {"name": "SubclusteringEnabled", "value": "true"},
  ]}], "nodeTypes": [)";
  for (size_t i = 0; i < types.size(); ++i) {
    const auto& [type, threshold, activity] = types[i];
    text += std::string(i == 0 ? "" : ", ") + R"({"name": ")" + type + R"(", "placementAndLoadBalancingOverrides": {
      "metricBalancingThresholdsPerNodeType": [{"name": "Metric1", "value": ")" +
            threshold + R"("}], "metricActivityThresholdsPerNodeType": [{"name": "Metric1", "value": ")" + activity +
            R"("}]}})";
  }
  return text + "]}";
}

// Two nodes of each type with these loads, in instances of 100, and 25 more instances of the same service without load.
std::string TypesText(const std::vector<std::tuple<std::string, int, int>>& types, const std::string& history = "") {
  std::string nodes = "nodes:\n", partitions = "partitions:\n";
  int node = 0, partition = 0;
  for (const auto& [type, max, min] : types) {
    for (const int load : {max, min}) {
      nodes += "- {name: n" + std::to_string(node) + ", nodeType: " + type + "}\n";
      for (int i = 0; i < load / 100; ++i) {
        partitions += "- {name: s/" + std::to_string(partition++) + ", service: s, replicas: [{node: n" + std::to_string(node) +
                      ", loads: {Metric1: 100}}]}\n";
      }
      ++node;
    }
  }
  return nodes + "services: [{name: s, metrics: [{name: Metric1}]}]\n" + partitions + history;
}

class NodeTypeExampleTest : public DocumentTest {
 protected:
  std::vector<std::string> TypesThatMove() const {
    std::set<std::string> types;
    for (const Action& action : plan.Actions()) {
      types.insert(cluster.node_types[cluster.nodes[action.from].type]);
      types.insert(cluster.node_types[cluster.nodes[action.to].type]);
    }
    return {types.begin(), types.end()};
  }
  using Names = std::vector<std::string>;
};

// The page sets 1.2 for B, and then evaluates a ratio of 1.2 at threshold 1.4. Its loads have the ratio 1.4, in whole
// numbers 1.
TEST_F(NodeTypeExampleTest, Example1MovesOnlyOnNodeTypeA) {
  for (const std::string threshold : {"1.2", "1.4"}) {
    const std::vector<std::array<std::string, 3>> types = {{"A", "2.5", "50"}, {"B", threshold, "400"}};
    for (const std::string& manifest : {std::string(kPerNodeType) + OverridesXml(types), OverridesJson(types)}) {
      Configure(manifest);
      Make(TypesText({{"A", 300, 100}, {"B", 700, 500}}));
      EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
      EXPECT_EQ(plan.of_groups[0].decision.node_types, Names{"A"});
      EXPECT_EQ(TypesThatMove(), Names{"A"});
      EXPECT_EQ(LoadsAfter("Metric1"), (std::vector<int64_t>{200, 200, 700, 500}));
    }
  }
}

TEST_F(NodeTypeExampleTest, WithExactRatiosExample1BalancesBothTypes) {
  for (const std::string comparison : {"PerMode", "Inclusive", "Strict"}) {
    Configure(std::string(kPerNodeType) + "<Section Name=\"Evenkeel\"><Parameter Name=\"Comparison\" Value=\"" + comparison +
              "\"/></Section>" + OverridesXml({{"A", "2.5", "50"}, {"B", "1.2", "400"}}));
    Make(TypesText({{"A", 300, 100}, {"B", 700, 500}}));
    EXPECT_EQ(TypesThatMove(), (Names{"A", "B"})) << "700 / 500 is 1.4, above 1.2";
  }
}

TEST_F(NodeTypeExampleTest, Example2MovesOnlyOnNodeTypeC) {
  const std::vector<std::array<std::string, 3>> types = {{"A", "5", "700"}, {"B", "10", "200"}, {"C", "2", "300"}};
  for (const std::string& manifest : {std::string(kPerNodeType) + OverridesXml(types), OverridesJson(types)}) {
    Configure(manifest);
    Make(TypesText({{"A", 600, 100}, {"B", 900, 100}, {"C", 600, 300}}));
    EXPECT_EQ(plan.of_groups[0].decision.node_types, Names{"C"}) << "a ratio of 2 at threshold 2 counts per node type";
    EXPECT_EQ(TypesThatMove(), Names{"C"});
  }
}

TEST_F(NodeTypeExampleTest, ATypeWithinItsIntervalIsPausedWhileAnotherIsBalanced) {
  Configure(std::string(kPerNodeType) + R"(<NodeTypes>
    <NodeType Name="A">
        <PlacementAndLoadBalancingOverrides>
            <MinLoadBalancingIntervalPerNodeType>100</MinLoadBalancingIntervalPerNodeType>
        </PlacementAndLoadBalancingOverrides>
    </NodeType>
</NodeTypes>)");
  const std::string history = "history: {lastBalancing: -50, lastBalancingOfNodeType: {A: -50}, lastLoadChange: -1}\n";
  Make(TypesText({{"A", 600, 100}, {"B", 900, 100}}, history));
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
  EXPECT_EQ(plan.of_groups[0].decision.paused_node_types, Names{"A"});
  EXPECT_EQ(TypesThatMove(), Names{"B"});
  EXPECT_EQ(WhySkipped("node type A"), "imbalanced, but balanced less than 100s ago (MinLoadBalancingIntervalPerNodeType)");
  MakeAt(44);
  EXPECT_EQ(plan.phase, Phase::kNoActionNeeded) << "of B nothing has changed";
  NoteLoadChange(memory.groups[0].phase, 45);
  MakeAt(50);
  EXPECT_EQ(plan.of_groups[0].decision.node_types, (Names{"A", "B"})) << "B has no pause";
}

TEST_F(NodeTypeExampleTest, ATypeWithoutOverridesInheritsWhatIsSetForAll) {
  Configure(std::string(kPerNodeType) +
            R"(<Section Name="MetricBalancingThresholds"><Parameter Name="Metric1" Value="4"/></Section>
<Section Name="MetricActivityThresholds"><Parameter Name="Metric1" Value="450"/></Section>
<NodeTypes><NodeType Name="A"><PlacementAndLoadBalancingOverrides><MetricBalancingThresholdsPerNodeType>
<BalancingThreshold Name="Metric1" Value="2"/></MetricBalancingThresholdsPerNodeType></PlacementAndLoadBalancingOverrides></NodeType>
</NodeTypes>)");
  Make(TypesText({{"A", 400, 100}, {"B", 500, 100}, {"C", 600, 200}}));
  EXPECT_EQ(plan.of_groups[0].decision.node_types, Names{"B"}) << "A is not active, C is within the ratio";
}

TEST_F(DocumentTest, AWholeFaultDomainThatFailsIsOneUpdate) {
  Make(R"(nodes:
- {name: n0, faultDomain: "fd:/r0", state: down}
- {name: n1, faultDomain: "fd:/r0", state: down}
- {name: n2, faultDomain: "fd:/r1"}
- {name: n3, faultDomain: "fd:/r2"}
services: [{name: s, kind: stateful, metrics: [{name: Memory, primaryLoad: 2, secondaryLoad: 1}], targetReplicas: 2}]
partitions:
- {name: s/0, service: s, replicas: [{node: n2, role: secondary}]}
- {name: s/1, service: s, replicas: [{node: n3, role: secondary}]}
history: {lastNodeDown: -0.5, lastStateChange: -0.5}
)");
  EXPECT_EQ(plan.phase, Phase::kPlacement);
  EXPECT_EQ(Count(ActionKind::kPromoteSecondary), 2) << "both partitions have a primary again";
  EXPECT_EQ(Count(ActionKind::kAddSecondary), 2);
}

TEST_F(DocumentTest, WhatHappensWithinARefreshGapIsFoundTogetherAfterIt) {
  Configure(R"(<Section Name="PlacementAndLoadBalancing"><Parameter Name="PLBRefreshGap" Value="0.5"/>
    <Parameter Name="MinPlacementInterval" Value="0"/></Section>)");
  const std::string nodes = NodesText(3) + "services: [{name: s, metrics: [{name: Memory, load: 1}]}]\npartitions:\n";
  const std::string missing = "- {name: s/PART, service: s, replicas: [], missing: 1}\n";
  const auto with = [&](int count) {
    std::string text = nodes;
    for (int i = 0; i < count; ++i) text += std::string(missing).replace(missing.find("PART"), 4, std::to_string(i));
    return text;
  };
  LoadAfresh(with(0) + InstancesText("s", "Memory", {Ones(1), Ones(1), Ones(1)}));
  MakeAt(10);
  Load(with(1));
  MakeAt(10.2);
  EXPECT_EQ(plan.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhySkipped("Placement"), "the state is looked at again in 0.3s (PLBRefreshGap)");
  Load(with(2));
  MakeAt(10.5);
  EXPECT_EQ(plan.phase, Phase::kPlacement);
  EXPECT_EQ(Count(ActionKind::kAddInstance), 2) << "both at once";
}

TEST_F(DocumentTest, ACreationGoesBeforeBalancing) {
  const std::string text = NodesText(2) + "services: [{name: s, metrics: [{name: Memory, load: 1}]}]\npartitions:\n" +
                           InstancesText("s", "Memory", {Ones(6), {}}) +
                           "- {name: s/new, service: s, replicas: [], missing: 1}\nhistory: {lastLoadChange: -1}\n";
  Make(text);
  EXPECT_EQ(plan.phase, Phase::kPlacement);
  EXPECT_EQ(Count(ActionKind::kAddInstance), 1);
  EXPECT_EQ(WhySkipped("Balancing"), "Placement runs first");
}

TEST_F(DocumentTest, ADefragmentationMetricIsPackedWhenTheRatioIsLow) {
  Configure(R"(<FabricSettings>
    <Section Name="DefragmentationMetrics"><Parameter Name="Memory" Value="true"/></Section>
    <Section Name="MetricBalancingThresholds"><Parameter Name="Memory" Value="2"/></Section>
  </FabricSettings>)");
  const std::string nodes = R"(nodes:
- {name: n0, faultDomain: "fd:/r0", upgradeDomain: u0}
- {name: n1, faultDomain: "fd:/r0", upgradeDomain: u0}
- {name: n2, faultDomain: "fd:/r1", upgradeDomain: u1}
- {name: n3, faultDomain: "fd:/r1", upgradeDomain: u1}
)";
  Make(nodes + "services: [{name: s, metrics: [{name: Memory}]}]\npartitions:\n" +
       InstancesText("s", "Memory", {{10}, {10, 2}, {10}, {11}}));
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
  EXPECT_EQ(plan.of_groups[0].balance.metrics[0].reason, BalanceReason::kNotPacked);
}

TEST_F(DocumentTest, AnImbalancedButOverConstrainedClusterRunsThePhaseAndMovesNothing) {
  const std::string text = R"(nodes:
- {name: n0, properties: {ssd: "1"}}
- {name: n1, properties: {ssd: "1"}, capacities: {Memory: 1}}
- {name: n2, properties: {ssd: "1"}, capacities: {Memory: 1}}
services: [{name: s, metrics: [{name: Memory}], placementConstraints: ssd == 1}]
partitions:
)" + InstancesText("s", "Memory", {{5, 5}, {}, {}});
  Make(text);
  EXPECT_EQ(plan.phase, Phase::kQuickBalancing);
  EXPECT_EQ(Actions(), 0u);
  EXPECT_EQ(WhySkipped("QuickBalancing"),
            "loads are imbalanced, but no movement that is allowed pays for itself: 2 replicas report what is imbalanced: of 2 "
            "that could move 2 have no node to go to; of 4 targets Capacity rules out 4");
  EXPECT_EQ(plan.of_groups[0].energy_after, plan.of_groups[0].energy_before);
}

}  // namespace
}  // namespace evenkeel::balancing::plan_document_test
