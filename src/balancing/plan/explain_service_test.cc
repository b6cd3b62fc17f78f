#include "balancing/plan/explain_service.h"

#include <gtest/gtest.h>

#include "balancing/plan/plan_testing.h"

namespace evenkeel::balancing::explain_service_test {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using testing::InstancesText;
using testing::NodesText;
using testing::Ones;

class ExplainServiceTest : public testing::PlanFixture {
 protected:
  Json Explain(std::string_view text, std::string_view service = "s") {
    LoadAfresh(text);
    const PlannerMemory before = memory;
    MakeAt(0);
    auto explained = ExplainService(cluster, settings, plan, before, 0, service);
    EXPECT_TRUE(explained.has_value()) << (explained ? "" : explained.error().message());
    return explained ? *std::move(explained) : Json();
  }
  static std::string WhyOf(const Json& explained, std::string_view partition) {
    for (const Json& replica : FindArray(explained, {"replicas"})) {
      if (FindString(replica, {"partition"}) == partition) return std::string(FindString(replica, {"why"}));
    }
    return "not there";
  }
  static bool HasHint(const Json& explained, std::string_view part) {
    for (const Json& hint : FindArray(explained, {"hints"})) {
      if (std::string_view(hint.as_string()).contains(part)) return true;
    }
    return false;
  }
  static std::string State(const std::vector<std::vector<int>>& loads, const std::string& service_fields = "",
                           const std::string& more = "") {
    return NodesText(static_cast<int>(loads.size())) + "services: [{name: s, metrics: [{name: Memory, load: 1}]" +
           service_fields + "}]\npartitions:\n" + InstancesText("s", "Memory", loads) + more;
  }
};

TEST_F(ExplainServiceTest, SaysWhyAMetricIsBalanced) {
  settings.metric_balancing_thresholds["Memory"] = 3;
  const Json explained = Explain(State({Ones(5), Ones(3), Ones(2)}));
  EXPECT_EQ(FindString(explained, {"phase"}), "NoActionNeeded");
  const Json& metric = explained.at("metrics").at(0);
  EXPECT_TRUE(base::FindBool(metric, {"balanced"}));
  EXPECT_EQ(FindString(metric, {"why"}), "ratio 2.5 (5 on n0, 2 on n2) is not above the threshold 3");
  EXPECT_EQ(WhyOf(explained, "s/0"), "balancing does not run: loads are balanced");
}

TEST_F(ExplainServiceTest, SaysWhichReplicasMoveAndWhyTheOthersStay) {
  const Json explained = Explain(State({{4, 4, 4, 1}, {4}}));
  EXPECT_EQ(FindString(explained, {"phase"}), "QuickBalancing");
  int moves = 0;
  for (const Json& replica : FindArray(explained, {"replicas"})) {
    if (!base::FindBool(replica, {"moves"})) continue;
    ++moves;
    EXPECT_EQ(FindString(replica, {"to"}), "n1");
    EXPECT_NE(FindString(replica, {"why"}), "");
  }
  EXPECT_EQ(moves, 1);
  EXPECT_TRUE(WhyOf(explained, "s/3").starts_with("moving it to n1, the best node that may take it, would raise the energy"))
      << WhyOf(explained, "s/3");
}

TEST_F(ExplainServiceTest, CountsWhatRulesOutNodes) {
  const Json explained = Explain(R"(nodes:
- {name: n0, properties: {ssd: "1"}}
- {name: n1, properties: {ssd: "0"}}
- {name: n2, properties: {ssd: "1"}, capacities: {Memory: 3}}
- {name: n3, properties: {ssd: "1"}, state: down}
services: [{name: s, metrics: [{name: Memory, load: 5}], placementConstraints: ssd == 1}]
partitions: [{name: s/0, service: s, replicas: [{node: n0}]}, {name: s/1, service: s, replicas: [{node: n0}]}]
)");
  EXPECT_EQ(WhyOf(explained, "s/0"), "no other node may take it");
  const Json& replica = explained.at("replicas").at(0);
  EXPECT_EQ(base::FindInt(replica, {"remaining"}, -1), 0);
  std::map<std::string, std::string> nodes;
  for (const Json& step : FindArray(replica, {"eliminated"})) {
    nodes[std::string(FindString(step, {"constraint"}))] = base::ToText(step.at("nodes"));
  }
  EXPECT_EQ(nodes["PlacementConstraint"], R"(["n1"])");
  EXPECT_EQ(nodes["Capacity"], R"(["n2"])");
  EXPECT_EQ(nodes["NodeAvailable"], R"(["n3"])");
  int64_t capacity = 0;
  for (const Json& item : FindArray(explained, {"eliminated"})) {
    if (FindString(item, {"constraint"}) == "Capacity") capacity = base::FindInt(item, {"count"});
  }
  EXPECT_EQ(capacity, 2) << "of two replicas one node each";
}

TEST_F(ExplainServiceTest, NamesReplicasThatCannotMoveAndPartitionsThatMovedTooOften) {
  settings.movement_per_partition_throttle_threshold = 1;
  settings.movement_throttled_partitions_percentage_threshold = 1;
  const Json explained =
      Explain(State({Ones(4), {}}, "", "- {name: s/built, service: s, replicas: [{node: n0, flags: [InBuild]}]}\n") +
              "history: {movements: [{at: -1, partition: s/0}]}\n");
  EXPECT_EQ(WhyOf(explained, "s/0"), "its partition has moved 1 times in the last 10m");
  EXPECT_NE(WhyOf(explained, "s/built"), "not there");
  EXPECT_TRUE(WhyOf(explained, "s/built").contains("built")) << WhyOf(explained, "s/built");
}

TEST_F(ExplainServiceTest, SaysWhatAnUnplacedReplicaLacks) {
  const Json explained = Explain(NodesText(2, "capacities: {Memory: 4}") +
                                 "services: [{name: s, metrics: [{name: Memory, load: 5}]}]\n"
                                 "partitions: [{name: s/0, service: s, replicas: [], missing: 1}]\n");
  const Json& replica = explained.at("replicas").at(0);
  EXPECT_TRUE(replica.at("node").is_null());
  EXPECT_FALSE(base::FindBool(replica, {"moves"}, true));
  EXPECT_EQ(FindString(replica.at("eliminated").at(0), {"constraint"}), "Capacity");
  EXPECT_EQ(base::FindInt(replica, {"remaining"}, -1), 0);
}

TEST_F(ExplainServiceTest, HintsAtWhatPeopleStumbleOver) {
  settings.validate_placement_constraint = false;
  const Json constant = Explain(State({Ones(1), Ones(1)}, ", placementConstraints: has-ssd == 1"));
  EXPECT_TRUE(HasHint(constant, "every replica has the declared default load"));
  EXPECT_TRUE(HasHint(constant, "no balancing threshold is set"));
  EXPECT_TRUE(HasHint(constant, "has-ssd"));
  const Json counted =
      Explain(NodesText(2) + "services: [{name: s}]\npartitions: [{name: s/0, service: s, replicas: [{node: n0}]}]\n");
  EXPECT_TRUE(HasHint(counted, "no metric of its own"));
}

// The commonest question: all primaries of a service are on one node, and nothing happens.
TEST_F(ExplainServiceTest, SaysThatAServicesOwnUnevennessTriggersNothing) {
  std::string text = NodesText(2) + "services: [{name: s, kind: stateful, metrics: [{name: PrimaryCount}]}, " +
                     "{name: other, kind: stateful, metrics: [{name: PrimaryCount}]}]\npartitions:\n";
  for (int i = 0; i < 4; ++i) {
    text += "- {name: s/" + std::to_string(i) + ", service: s, replicas: [{node: n0, role: primary}]}\n";
    text += "- {name: o/" + std::to_string(i) + ", service: other, replicas: [{node: n1, role: primary}]}\n";
  }
  const Json explained = Explain(text);
  EXPECT_EQ(FindString(explained, {"phase"}), "NoActionNeeded");
  EXPECT_TRUE(HasHint(explained, "uneven (4 on n0, 0 on n1)"));
  EXPECT_TRUE(HasHint(explained, "LocalBalancingThreshold is 0"));
}

TEST_F(ExplainServiceTest, NamesTheNearestServiceWhenThereIsNone) {
  LoadAfresh(State({Ones(1)}));
  MakeAt(0);
  const auto explained = ExplainService(cluster, settings, plan, memory, 0, "S");
  ASSERT_FALSE(explained.has_value());
  EXPECT_EQ(explained.error().code(), base::Code::kNotFound);
  EXPECT_EQ(explained.error().message(), "there is no service \"S\"; did you mean s?");
}

TEST_F(ExplainServiceTest, LargeServicesAreCutShort) {
  const Json explained = Explain(State({Ones(120), Ones(120)}));
  EXPECT_EQ(FindArray(explained, {"replicas"}).size(), kExplainedReplicas);
  EXPECT_EQ(base::FindInt(explained, {"replicasLeftOut"}), 140);
}

TEST_F(ExplainServiceTest, OfAnExchangeEachReplicaGoesToTheOthersNode) {
  std::string text = NodesText(2) + "services: [{name: s, kind: stateful, metrics: [{name: Memory}]}]\npartitions:\n";
  for (const std::string i : {"0", "1"}) {
    text += "- {name: s/" + i + ", service: s, replicas: [{node: n0, role: primary, loads: {Memory: 10}}, " +
            "{node: n1, role: secondary, loads: {Memory: 1}}]}\n";
  }
  const Json explained = Explain(text);
  ASSERT_EQ(Count(ActionKind::kSwapPrimarySecondary), 1);
  int exchanged = 0;
  for (const Json& replica : FindArray(explained, {"replicas"})) {
    if (FindString(replica, {"to"}).empty()) continue;
    ++exchanged;
    EXPECT_EQ(FindString(replica, {"to"}), FindString(replica, {"node"}) == "n0" ? "n1" : "n0");
  }
  EXPECT_EQ(exchanged, 2);
}

}  // namespace
}  // namespace evenkeel::balancing::explain_service_test
