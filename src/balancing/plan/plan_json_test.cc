#include "balancing/plan/plan_json.h"

#include <gtest/gtest.h>

#include "balancing/plan/plan_testing.h"

namespace evenkeel::balancing::plan_json_test {
namespace {

using testing::InstancesText;
using testing::NodesText;

class PlanJsonTest : public testing::PlanFixture {
 protected:
  base::Json Json(std::string_view text) {
    Make(text);
    return PlanToJson(cluster, settings, plan, 1.5);
  }
  static std::vector<std::string> Keys(const base::Json& object) {
    std::vector<std::string> keys;
    for (const auto& item : object.as_object()) keys.emplace_back(item.key());
    return keys;
  }
  static std::string OneService(const std::vector<std::vector<int>>& loads) {
    return NodesText(static_cast<int>(loads.size())) + "services: [{name: s, metrics: [{name: Memory}]}]\npartitions:\n" +
           InstancesText("s", "Memory", loads);
  }
};

TEST_F(PlanJsonTest, HasTheKeysThatOthersRelyOn) {
  const base::Json json = Json(OneService({{10, 10, 10}, {10}}));
  const std::vector<std::string> keys = Keys(json);
  EXPECT_EQ(std::vector<std::string>(keys.begin(), keys.begin() + 8),
            (std::vector<std::string>{"phase", "groups", "imbalanced", "violations", "actions", "deviation", "skipped",
                                      "milliseconds"}));
  EXPECT_EQ(base::FindString(json, {"phase"}), "QuickBalancing");
  EXPECT_EQ(base::ToText(json.at("groups")), R"([["s"]])");
  EXPECT_EQ(json.at("milliseconds").as_double(), 1.5);
  const base::Json& imbalanced = json.at("imbalanced").at(0);
  EXPECT_EQ(base::FindString(imbalanced, {"metric"}), "Memory");
  EXPECT_TRUE(imbalanced.at("nodeType").is_null());
  EXPECT_EQ(base::FindInt(imbalanced, {"max"}), 30);
  EXPECT_EQ(base::FindInt(imbalanced, {"min"}), 10);
  EXPECT_EQ(imbalanced.at("ratio").as_double(), 3);
  EXPECT_EQ(imbalanced.at("threshold").as_double(), 1);
  EXPECT_EQ(base::FindInt(imbalanced, {"activityThreshold"}, -1), 0);
  EXPECT_EQ(json.at("deviation").at("before").as_double(), 0.5);
  EXPECT_EQ(json.at("deviation").at("after").as_double(), 0);
}

TEST_F(PlanJsonTest, AnActionCarriesWhyAndWhatItChanges) {
  const base::Json json = Json(OneService({{10, 10, 10}, {10}}));
  ASSERT_EQ(json.at("actions").as_array().size(), 1u);
  const base::Json& action = json.at("actions").at(0);
  EXPECT_EQ(base::FindString(action, {"action"}), "MoveInstance");
  EXPECT_EQ(base::FindString(action, {"from"}), "n0");
  EXPECT_EQ(base::FindString(action, {"to"}), "n1");
  EXPECT_EQ(base::FindString(action, {"metric"}), "Memory");
  EXPECT_NE(base::FindString(action, {"reason"}), "");
  EXPECT_GT(action.at("energyGain").as_double(), 0);
  EXPECT_EQ(
      base::ToText(action.at("loads")),
      R"([{"metric":"Memory","source":{"node":"n0","before":30,"after":20},"target":{"node":"n1","before":10,"after":20}}])");
  EXPECT_EQ(base::FindString(action, {"constraints", "Capacity"}), "hard");
  EXPECT_EQ(base::FindString(action, {"constraints", "UpgradeDomain"}), "soft");
}

TEST_F(PlanJsonTest, AnInfiniteRatioIsNull) {
  const base::Json json = Json(OneService({{10}, {}}));
  EXPECT_TRUE(json.at("imbalanced").at(0).at("ratio").is_null());
  EXPECT_TRUE(base::ParseJson(base::ToText(json), "plan").has_value());
}

TEST_F(PlanJsonTest, ViolationsAndNewReplicasNameWhatThereIs) {
  const base::Json json = Json(NodesText(1, "capacities: {Memory: 5}") +
                               "- {name: n1}\nservices: [{name: s, metrics: [{name: Memory, load: 1}]}]\npartitions:\n" +
                               InstancesText("s", "Memory", {{6}}) + "- {name: s/new, service: s, replicas: [], missing: 1}\n");
  const base::Json& violation = json.at("violations").at(0);
  EXPECT_EQ(base::FindString(violation, {"constraint"}), "Capacity");
  EXPECT_EQ(base::FindString(violation, {"node"}), "n0");
  EXPECT_EQ(base::FindString(violation, {"metric"}), "Memory");
  EXPECT_EQ(base::FindString(violation, {"detail"}), "n0 has 6 of Memory, 1 more than its capacity");
  EXPECT_EQ(base::FindString(json, {"phase"}), "Placement");
  const base::Json& action = json.at("actions").at(0);
  EXPECT_EQ(base::FindString(action, {"action"}), "AddInstance");
  EXPECT_TRUE(action.at("from").is_null());
  EXPECT_EQ(base::FindString(action, {"to"}), "n1");
  EXPECT_TRUE(base::Find(action.at("loads").at(0), {"source"}) == nullptr);
}

}  // namespace
}  // namespace evenkeel::balancing::plan_json_test
