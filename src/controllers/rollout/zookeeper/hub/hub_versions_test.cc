// What the hub's controller makes of a status that another version has written.
#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/unknown_fields.h"

namespace evenkeel::controllers::rollout::zookeeper::hub_versions_test {
namespace {

using base::Json;
using testing::kFive;
using testing::Spec;

class HubVersionsTest : public ::testing::Test {
 protected:
  HubVersionsTest() : fleet_(Spec(kFive)) { fleet_.Settle(); }
  base::Result<Plan> PlanWith(int64_t orders) {
    PlanInput input = fleet_.Input();
    input.forms.orders = orders;
    return PlanRollout(input);
  }
  Json& Status() { return base::Ensure(fleet_.ensemble(), {"status"}); }
  FakeFleet fleet_;
};

TEST_F(HubVersionsTest, ANewerOneChangesNothingByItself) {
  const auto plan = PlanWith(2);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->apply.empty()) << base::ToText(plan->apply.front());
  EXPECT_EQ(base::Find(plan->status, {"format"}), nullptr);
}

TEST_F(HubVersionsTest, ItsFormatIsThatOfTheOrdersItGives) {
  fleet_.SetSpec(Spec(kFive, "3.8.5"));
  Json said;
  for (int i = 0; i < 5 && base::FindInt(said, {"format"}) == 0; ++i) {
    const auto plan = PlanWith(2);
    ASSERT_TRUE(plan) << plan.error().message();
    said = Json(plan->status, {});
    fleet_.Tick();
  }
  EXPECT_EQ(base::FindInt(said, {"format"}), 2);
  Status() = said;
  const auto plan = PlanWith(2);
  ASSERT_TRUE(plan) << plan.error().message();
  size_t overrides = 0;
  for (const Json& object : plan->apply) {
    if (base::FindString(object, {"kind"}) != "OverridePolicy") continue;
    ++overrides;
    const Json* format = OverriddenBy(object, "/spec/format");
    EXPECT_TRUE(format != nullptr && *format == 2) << base::ToText(object);
  }
  EXPECT_GT(overrides, 0U);
}

TEST_F(HubVersionsTest, WhoIsOlderPlansAndRepairsNothing) {
  const Json good(fleet_.ensemble(), {});
  const struct {
    std::vector<std::string> path;
    Json value;
    std::string said;
  } kCases[] = {{{"format"}, 2, "status.format is 2"},
                {{"waves"}, base::JsonArray{}, "status.waves: unknown field"},
                {{"records", "wave"}, 1, "status.records[0].wave: unknown field"},
                {{"clusters", "wave"}, 1, "status.clusters[0].wave: unknown field"}};
  for (const auto& [path, value, said] : kCases) {
    fleet_.ensemble() = Json(good, {});
    Json& at = path.size() == 1 ? Status() : Status().at(path.front()).as_array().back();
    const std::string expected = path.size() == 1 || path.front() == "records" ? said : ".wave: unknown field";
    at.as_object()[path.back()] = value;
    const auto plan = PlanWith(1);
    ASSERT_FALSE(plan) << said;
    EXPECT_NE(plan.error().message().find(expected), std::string::npos) << plan.error().message();
    const auto repairs = PlanRepair(fleet_.Input());
    EXPECT_TRUE(repairs && repairs->empty()) << said;
  }
  fleet_.ensemble() = Json(good, {});
  Status().as_object()["format"] = 2;
  EXPECT_TRUE(PlanWith(2));
}

TEST_F(HubVersionsTest, WhatIsPastBindsNobody) {
  Json past(Status().at("records").at(0), {});
  past.as_object()["wave"] = 1;
  Status().at("records").as_array().insert(Status().at("records").as_array().begin(), past);
  EXPECT_EQ(WhyTooNew(fleet_.ensemble(), {}), "");
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::hub_versions_test
