#include "balancing/measures/node_ties.h"

#include <gtest/gtest.h>

#include "balancing/plan/plan_testing.h"

namespace evenkeel::balancing::node_ties_test {
namespace {

class NodeTiesTest : public testing::PlanFixture {
 protected:
  // Partitions of one service whose only metric loads nothing.
  static std::string Unloaded(int nodes, int partitions, const std::string& service, const std::string& partition) {
    std::string text =
        testing::NodesText(nodes) + "services: [{name: s, metrics: [{name: M, load: 0}], " + service + "}]\npartitions:\n";
    for (int i = 0; i < partitions; ++i) text += "- {name: p" + std::to_string(100 + i) + ", service: s, " + partition + "}\n";
    return text;
  }
  // By node: how many actions of the kind go there, or leave it.
  std::vector<int> CountsOf(ActionKind kind) const {
    std::vector<int> counts(cluster.nodes.size());
    for (const Action& action : plan.Actions()) {
      if (action.kind == kind) ++counts[action.to == kNoId ? action.from : action.to];
    }
    return counts;
  }
};

TEST_F(NodeTiesTest, ReplicasWithoutLoadSpread) {
  Make(Unloaded(5, 50, "targetReplicas: 1", "missing: 1"));
  EXPECT_EQ(CountsOf(ActionKind::kAddInstance), std::vector<int>(5, 10));
}

TEST_F(NodeTiesTest, ReplicasWithoutLoadSpreadOverMoreNodesThanAreComparedExactly) {
  Make(Unloaded(100, 200, "targetReplicas: 1", "missing: 1"));
  EXPECT_EQ(CountsOf(ActionKind::kAddInstance), std::vector<int>(100, 2));
}

TEST_F(NodeTiesTest, MetricsWithoutWeightSpread) {
  Make(testing::NodesText(4) +
       "services: [{name: s, targetReplicas: 1, metrics: [{name: M, load: 5, weight: 0}]}]\npartitions:\n" +
       "- {name: a, service: s}\n- {name: b, service: s}\n- {name: c, service: s}\n- {name: d, service: s}\n");
  EXPECT_EQ(CountsOf(ActionKind::kAddInstance), std::vector<int>(4, 1));
}

TEST_F(NodeTiesTest, PrimariesSpreadWhereEveryNodeHasEveryPartition) {
  Make(Unloaded(3, 30, "kind: stateful, targetReplicas: 3", "missing: 3"));
  EXPECT_EQ(CountsOf(ActionKind::kAddPrimary), std::vector<int>(3, 10));
}

TEST_F(NodeTiesTest, PromotionsSpread) {
  Make(Unloaded(
      3, 12, "kind: stateful",
      "missing: 1, replicas: [{node: n0, role: secondary}, {node: n1, role: secondary}, {node: n2, role: secondary}]"));
  EXPECT_EQ(CountsOf(ActionKind::kPromoteSecondary), std::vector<int>(3, 4));
}

TEST_F(NodeTiesTest, DropsLeaveTheFullestNode) {
  Make(Unloaded(3, 3, "targetReplicas: 2", "replicas: [{node: n0}, {node: n1}, {node: n2}]") +
       "- {name: q0, service: s, missing: 0, replicas: [{node: n2}]}\n" +
       "- {name: q1, service: s, missing: 0, replicas: [{node: n2}]}\n" +
       "- {name: q2, service: s, missing: 0, replicas: [{node: n2}]}\n");
  EXPECT_EQ(CountsOf(ActionKind::kDropInstance), (std::vector<int>{0, 0, 3}));
}

TEST_F(NodeTiesTest, TheSeedDrawsAndTheSameSeedDrawsTheSame) {
  LoadAfresh(Unloaded(5, 5, "targetReplicas: 1", "missing: 1"));
  const auto targets = [&](uint64_t seed) {
    PlannerMemory fresh = memory;
    std::vector<NodeId> nodes;
    for (const Action& action : MakePlan(cluster, settings, {.seed = seed}, fresh).Actions()) nodes.push_back(action.to);
    return nodes;
  };
  EXPECT_EQ(targets(1), targets(1));
  std::set<std::vector<NodeId>> drawn;
  for (uint64_t seed = 1; seed <= 40; ++seed) drawn.insert(targets(seed));
  EXPECT_EQ(drawn.size(), 5u) << "as many as there are nodes to begin with";
}

}  // namespace
}  // namespace evenkeel::balancing::node_ties_test
