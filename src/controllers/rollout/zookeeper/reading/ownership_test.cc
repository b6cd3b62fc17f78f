#include "controllers/rollout/zookeeper/reading/ownership.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::ownership_test {
namespace {

using base::FindString;
using base::Json;

Json Object(const std::string& kind, const std::string& name, const std::string& owner = "") {
  Json object =
      *base::ParseJson(R"({"metadata": {"name": ")" + name + R"(", "namespace": "data", "uid": "u"}, "spec": {}})", "test");
  object.as_object()["kind"] = kind;
  if (!owner.empty()) base::Ensure(object, {"metadata", "labels", kOwnerLabel}) = owner;
  return object;
}

/// What is planned for an ensemble of which nothing is there yet, beside an object that somebody else made.
Plan PlanBeside(const Json& object) {
  FakeFleet fleet(testing::Spec(testing::kThree));
  PlanInput input = fleet.Input();
  (FindString(object, {"kind"}) == "ZooKeeper" ? input.fleet.zookeeper : input.fleet.children.emplace_back()) = &object;
  auto plan = PlanRollout(input);
  EXPECT_TRUE(plan);
  return plan ? *std::move(plan) : Plan();
}

TEST(OwnershipTest, WhatIsThereBeforeTheFirstRecordAndIsNotOursIsNotTouched) {
  const std::pair<const char*, const char*> taken[] = {{"ZooKeeper", "zk"},
                                                       {"PropagationPolicy", "zk-zk"},
                                                       {"PropagationPolicy", "zk-svc"},
                                                       {"ServiceExport", "zk-headless"},
                                                       {"OverridePolicy", "zk-m2"}};
  for (const auto& [kind, name] : taken) {
    for (const char* owner : {"", "z"}) {
      const Plan plan = PlanBeside(Object(kind, name, owner));
      EXPECT_EQ(plan.reason, "NameTaken") << kind;
      EXPECT_TRUE(plan.apply.empty() && plan.remove.empty()) << kind;
      EXPECT_NE(plan.message.find(std::string(kind) + " " + name), std::string::npos) << plan.message;
    }
    EXPECT_NE(PlanBeside(Object(kind, name, "zk")).reason, "NameTaken") << "ours, from a status that was lost";
  }
  EXPECT_NE(PlanBeside(Object("PropagationPolicy", "zk")).reason, "NameTaken") << "no name of ours";
}

TEST(OwnershipTest, WhatHasLostItsLabelSinceIsPutRight) {
  FakeFleet fleet(testing::Spec(testing::kThree));
  fleet.Settle();
  PlanInput input = fleet.Input();
  Json zookeeper(*input.fleet.zookeeper, {});
  base::Erase(zookeeper, {"metadata", "labels"});
  input.fleet.zookeeper = &zookeeper;
  const auto plan = PlanRollout(input);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->reason, "DriftRepaired");
  ASSERT_EQ(plan->apply.size(), 1u);
  EXPECT_EQ(OwnerOf(plan->apply[0]), "zk");
}

TEST(OwnershipTest, DeletionLeavesTheZooKeeperOfSomebodyElse) {
  FakeFleet fleet(testing::Spec(testing::kThree));
  fleet.Delete();
  const Json ours = Object("ZooKeeper", "zk", "zk"), binding = Object("ResourceBinding", "zk-zookeeper");
  const auto plan_with = [&](const Json& zookeeper) {
    PlanInput input = fleet.Input();
    input.fleet.zookeeper = &zookeeper;
    input.fleet.binding = &binding;
    return *PlanRollout(input);
  };
  EXPECT_EQ(plan_with(ours).remove.size(), 1u);
  for (const char* owner : {"", "z"}) {
    const Plan plan = plan_with(Object("ZooKeeper", "zk", owner));
    EXPECT_TRUE(plan.remove.empty());
    EXPECT_TRUE(plan.finished) << plan.reason;
  }
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::ownership_test
