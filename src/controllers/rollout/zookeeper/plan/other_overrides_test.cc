#include "controllers/rollout/zookeeper/plan/other_overrides.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::other_overrides_test {
namespace {

using base::Json;

Json Policy(const std::string& kind, const std::string& name, const std::string& selector, const std::string& clusters = "") {
  const std::string rule = clusters.empty() ? "{}" : R"({"targetCluster": {"clusterNames": [)" + clusters + "]}}";
  return *base::ParseJson(R"({"kind": ")" + kind + R"(", "metadata": {"name": ")" + name +
                              R"(", "namespace": "data"}, "spec": {"resourceSelectors": [)" + selector +
                              R"(], "overrideRules": [)" + rule + "]}}",
                          "policy");
}
constexpr char kKind[] = R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper"})";
constexpr char kName[] = R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "name": "zk"})";

/// The condition's message; "": there is none.
std::string Said(const FakeFleet& fleet, const Json& policy) {
  PlanInput input = fleet.Input();
  (base::FindString(policy, {"kind"}) == "OverridePolicy" ? input.fleet.children : input.fleet.cluster_overrides)
      .push_back(&policy);
  const auto plan = PlanRollout(input);
  EXPECT_TRUE(plan);
  const Json holder = base::JsonObject{{"status", plan->status}};
  const Json* condition = kube::FindCondition(holder, "OverridesHonoured");
  return condition == nullptr ? "" : std::string(base::FindString(*condition, {"message"}));
}

TEST(OtherOverridesTest, OfOthersThatMeanTheZooKeeperItIsSaidWhatBecomesOfThem) {
  FakeFleet fleet(testing::Spec(testing::kThree));
  fleet.Settle();
  const char* lost = "not honoured, since each cluster's revision replaces the whole: ";
  EXPECT_EQ(Said(fleet, Policy("ClusterOverridePolicy", "fleet-storage", kKind, R"("m3", "elsewhere")")),
            std::string(lost) + "ClusterOverridePolicy fleet-storage in m3; say it in spec.template");
  EXPECT_EQ(Said(fleet, Policy("OverridePolicy", "all", "")),
            std::string(lost) +
                "OverridePolicy all in m1, OverridePolicy all in m2, OverridePolicy all in m3; say it in spec.template");
  EXPECT_EQ(Said(fleet, Policy("OverridePolicy", "zzz", kName, R"("m2")")),
            "changes servers past the rollout: OverridePolicy zzz in m2; remove it");
  EXPECT_EQ(Said(fleet, Policy("OverridePolicy", "aaa", kName, R"("m2")")),
            std::string(lost) + "OverridePolicy aaa in m2; say it in spec.template");
  for (const char* selector : {R"({"apiVersion": "apps/v1", "kind": "StatefulSet"})",
                               R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "name": "another"})",
                               R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "namespace": "elsewhere"})",
                               R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper",
                                   "labelSelector": {"matchLabels": {"team": "b"}}})"}) {
    EXPECT_EQ(Said(fleet, Policy("ClusterOverridePolicy", "other", selector)), "") << selector;
  }
  EXPECT_EQ(Said(fleet, Policy("ClusterOverridePolicy", "there", kKind, R"("elsewhere")")), "");
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::other_overrides_test
