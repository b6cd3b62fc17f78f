#include "balancing/plan/cluster_load.h"

#include <gtest/gtest.h>

#include "balancing/plan/plan_testing.h"

namespace evenkeel::balancing::cluster_load_test {
namespace {

using testing::InstancesText;
using testing::NodesText;
using testing::Ones;

class ClusterLoadTest : public testing::PlanFixture {
 protected:
  base::Json Loads(std::string_view text) {
    LoadAfresh(text);
    const PlannerMemory before = memory;
    MakeAt(0);
    return ToJson(cluster, MakeClusterLoads(cluster, settings, plan, before));
  }
  static base::Json Metric(const base::Json& loads, std::string_view name) {
    for (const base::Json& item : base::FindArray(loads, {"LoadMetricInformation"})) {
      if (base::FindString(item, {"LoadMetricName"}) == name) return item;
    }
    ADD_FAILURE() << name << " is not there";
    return {};
  }
};

// The output that Service Fabric's documentation prints: load 45 on four nodes of 189 together, a buffer of 10 %, of three
// services one gives the metric a weight.
TEST_F(ClusterLoadTest, PrintsWhatTheDocumentationPrints) {
  settings.node_buffer_percentage["Metric1"] = 0.1;
  settings.load_balancing_enabled = false;
  const base::Json loads = Loads(R"(nodes:
- {name: n0, capacities: {Metric1: 47}}
- {name: n1, capacities: {Metric1: 47}}
- {name: n2, capacities: {Metric1: 47}}
- {name: n3, capacities: {Metric1: 48}}
services:
- {name: s1, metrics: [{name: Metric1, weight: High}]}
- {name: s2, metrics: [{name: Metric1, weight: Zero}]}
- {name: s3, metrics: [{name: Metric1, weight: Zero}]}
partitions:
- {name: s1/0, service: s1, replicas: [{node: n0, loads: {Metric1: 15}}, {node: n1, loads: {Metric1: 15}}]}
- {name: s2/0, service: s2, replicas: [{node: n2, loads: {Metric1: 15}}]}
)");
  const base::Json metric = Metric(loads, "Metric1");
  EXPECT_FALSE(base::FindBool(metric, {"IsBalancedBefore"}, true));
  EXPECT_FALSE(base::FindBool(metric, {"IsBalancedAfter"}, true));
  EXPECT_NEAR(metric.at("DeviationBefore").as_double(), 0.192450089729875, 1e-15);
  EXPECT_NEAR(metric.at("DeviationAfter").as_double(), 0.192450089729875, 1e-15);
  EXPECT_EQ(metric.at("BalancingThreshold").as_double(), 1);
  EXPECT_EQ(base::FindString(metric, {"Action"}), "NoActionNeeded");
  EXPECT_EQ(base::FindInt(metric, {"ActivityThreshold"}), 0);
  EXPECT_EQ(base::FindInt(metric, {"ClusterCapacity"}), 189);
  EXPECT_EQ(base::FindInt(metric, {"ClusterLoad"}), 45);
  EXPECT_EQ(base::FindInt(metric, {"ClusterRemainingCapacity"}), 144);
  EXPECT_EQ(metric.at("NodeBufferPercentage").as_double(), 10);
  EXPECT_EQ(base::FindInt(metric, {"ClusterBufferedCapacity"}), 170);
  EXPECT_EQ(base::FindInt(metric, {"ClusterRemainingBufferedCapacity"}), 125);
  EXPECT_FALSE(base::FindBool(metric, {"ClusterCapacityViolation"}, true));
  EXPECT_EQ(base::FindInt(metric, {"MinNodeLoadValue"}), 0);
  EXPECT_EQ(base::FindString(metric, {"MinNodeLoadNodeId"}), "n3");
  EXPECT_EQ(base::FindInt(metric, {"MaxNodeLoadValue"}), 15);
  EXPECT_EQ(base::FindString(metric, {"MaxNodeLoadNodeId"}), "n0");
  EXPECT_TRUE(loads.at("LastBalancingStartTimeUtc").is_null());
}

// A cluster that a user has printed: 41 replicas on ten nodes, counted with the default weight of 0.1.
TEST_F(ClusterLoadTest, PrintsWhatAUserHasSeen) {
  std::vector<std::vector<int>> counts(10, std::vector<int>(4, 0));
  counts[9].push_back(0);
  std::string partitions = InstancesText("s", "x", counts);
  for (size_t at; (at = partitions.find(", loads: {x: 0}")) != std::string::npos;) partitions.erase(at, 15);
  const base::Json loads = Loads(NodesText(10) + "services: [{name: s, metrics: [{name: Count, weight: Low}]}]\npartitions:\n" +
                                 partitions + "history: {lastBalancing: 1537241320, lastPlacement: -5}\n");
  const base::Json metric = Metric(loads, "Count");
  EXPECT_TRUE(base::FindBool(metric, {"IsBalancedBefore"}));
  EXPECT_NEAR(metric.at("DeviationBefore").as_double(), 0.00731707317073175, 1e-15);
  EXPECT_EQ(base::FindInt(metric, {"ClusterLoad"}), 41);
  EXPECT_EQ(base::FindInt(metric, {"ClusterCapacity"}), 0) << "unlimited";
  EXPECT_EQ(base::FindInt(metric, {"ClusterRemainingCapacity"}), 0);
  EXPECT_EQ(metric.at("NodeBufferPercentage").as_double(), 0);
  EXPECT_EQ(base::FindInt(metric, {"MinNodeLoadValue"}), 4);
  EXPECT_EQ(base::FindInt(metric, {"MaxNodeLoadValue"}), 5);
  EXPECT_EQ(base::FindString(loads, {"LastBalancingEndTimeUtc"}), "2018-09-18T03:28:40Z");
}

TEST_F(ClusterLoadTest, AfterIsWhenThePlanHasBeenCarriedOut) {
  const std::string text = NodesText(2) + "services: [{name: s, metrics: [{name: Memory}]}]\npartitions:\n" +
                           InstancesText("s", "Memory", {Ones(6), Ones(2)});
  const base::Json metric = Metric(Loads(text), "Memory");
  EXPECT_FALSE(base::FindBool(metric, {"IsBalancedBefore"}, true));
  EXPECT_TRUE(base::FindBool(metric, {"IsBalancedAfter"}));
  EXPECT_DOUBLE_EQ(metric.at("DeviationBefore").as_double(), 0.5);
  EXPECT_EQ(metric.at("DeviationAfter").as_double(), 0);
  EXPECT_EQ(base::FindString(metric, {"Action"}), "LoadBalancing");
  EXPECT_EQ(base::FindInt(metric, {"MaxNodeLoadValue"}), 6) << "as it is now";
}

TEST_F(ClusterLoadTest, SaysWhenThrottlesHoldBalancingBack) {
  settings.max_percentage_to_move = 0;
  const std::string text = NodesText(2) + "services: [{name: s, metrics: [{name: Memory}]}]\npartitions:\n" +
                           InstancesText("s", "Memory", {Ones(6), Ones(2)});
  EXPECT_EQ(base::FindString(Metric(Loads(text), "Memory"), {"Action"}), "ActionSkipped");
}

TEST_F(ClusterLoadTest, ALoadAboveTheCapacityIsAViolation) {
  const base::Json metric = Metric(Loads(R"(nodes: [{name: n0, capacities: {M: 3}}, {name: n1, capacities: {M: 3}, state: down}]
services: [{name: s, metrics: [{name: M}]}]
partitions: [{name: s/0, service: s, replicas: [{node: n0, loads: {M: 5}}]}]
)"),
                                   "M");
  EXPECT_EQ(base::FindInt(metric, {"ClusterCapacity"}), 3) << "of nodes that are up";
  EXPECT_TRUE(base::FindBool(metric, {"ClusterCapacityViolation"}));
  EXPECT_EQ(base::FindInt(metric, {"ClusterRemainingCapacity"}), 0);
}

TEST_F(ClusterLoadTest, PerNodeTypeEachTypeIsPrinted) {
  settings.separate_balancing_strategy_per_node_type = settings.subclustering_enabled = true;
  settings.node_types["A"].balancing_thresholds["M"] = 2.5;
  const base::Json metric = Metric(Loads(R"(nodes:
- {name: n0, nodeType: A}
- {name: n1, nodeType: A}
- {name: n2, nodeType: B}
services: [{name: s, metrics: [{name: M}]}]
partitions:
- {name: s/0, service: s, replicas: [{node: n0, loads: {M: 5}}, {node: n1, loads: {M: 3}}, {node: n2, loads: {M: 9}}]}
)"),
                                   "M");
  EXPECT_TRUE(base::FindBool(metric, {"IsBalancedBefore"}));
  const base::JsonArray& types = base::FindArray(metric, {"NodeTypes"});
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(base::FindString(types[0], {"NodeType"}), "A");
  EXPECT_EQ(types[0].at("BalancingThreshold").as_double(), 2.5);
  EXPECT_EQ(base::FindInt(types[0], {"MaxNodeLoadValue"}), 5);
  EXPECT_EQ(base::FindInt(types[0], {"MinNodeLoadValue"}), 3);
}

}  // namespace
}  // namespace evenkeel::balancing::cluster_load_test
