#include "controllers/rollout/zookeeper/reading/copies.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"
#include "kube/karmada.h"

namespace evenkeel::controllers::rollout::zookeeper::copies_test {
namespace {

using base::FindString;
using base::Json;
using testing::kFive;
using testing::Spec;

Json& Policy(FakeFleet& fleet) { return fleet.children().at("PropagationPolicy/zk-zk"); }

/// Until it is gone; what was done, each once.
std::vector<std::string> Deleted(FakeFleet& fleet) {
  fleet.Delete();
  std::vector<std::string> reasons;
  for (int i = 0; i < 30; ++i) {
    const Plan plan = fleet.Tick();
    if (reasons.empty() || reasons.back() != plan.reason) reasons.push_back(plan.reason);
    if (plan.finished) break;
  }
  return reasons;
}

TEST(CopiesTest, ATemplateDeletedByHandStopsNobodyAndItsCopiesAreTakenBack) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  const auto servers = fleet.Servers();
  for (int i = 0; i < 2; ++i) {
    fleet.DeleteTemplate();
    EXPECT_EQ(fleet.Servers(), servers);
    fleet.Settle();
    EXPECT_EQ(fleet.Servers(), servers);
  }
  fleet.SetSpec(Spec(kFive, "3.9.9"));
  fleet.Settle();
  EXPECT_EQ(FindString(testing::Overridden(fleet, "m2", "/spec"), {"image", "tag"}), "3.9.9");
  EXPECT_EQ(FindString(fleet.records().back(), {"status"}), "Ready") << "Karmada brings changes there as before";
  EXPECT_EQ(FindString(*fleet.Input().fleet.zookeeper, {"metadata", "annotations", kConflictAnnotation}), "abort");
  Deleted(fleet);
  EXPECT_TRUE(fleet.Gone());
}

TEST(CopiesTest, WhatIsThereBeforeTheEnsembleIsNeverWrittenOver) {
  FakeFleet fleet(Spec(kFive));
  for (int i = 0; i < 10; ++i) {
    fleet.Tick();
    fleet.Work();
    EXPECT_NE(FindString(*fleet.Input().fleet.zookeeper, {"metadata", "annotations", kConflictAnnotation}), "overwrite");
  }
  fleet.Settle();
  fleet.DeleteTemplate();
  // What is in a new cluster may be anybody's.
  fleet.SetSpec(Spec("m1:2 m2:2 m3:1 m4:2"));
  fleet.Tick();
  EXPECT_NE(FindString(*fleet.Input().fleet.zookeeper, {"metadata", "annotations", kConflictAnnotation}), "overwrite");
}

/// Two clusters, of which nobody has noted that Karmada brought copies there.
struct LeftBehind {
  LeftBehind() {
    fleet.Settle();
    input = fleet.Input();
    status = fleet.status();
    Forget(kCopiedField);
    binding = *input.fleet.binding;
    input.fleet.binding = &binding;
  }
  void Forget(const char* note) {
    for (Json& cluster : base::Find(status, {"clusters"})->as_array()) base::Erase(cluster, {note});
  }
  /// Whether Karmada may write over what is there, once it has said `message` of the copy in m2.
  bool Overwrites(const char* message) {
    Json& m2 = base::Find(binding, {"status", "aggregatedStatus"})->as_array()[1];
    m2 = base::JsonObject{{"clusterName", "m2"}, {"applied", false}, {"appliedMessage", message}};
    base::Ensure(input.object.object, {"status"}) = status;
    auto plan = PlanRollout(input);
    EXPECT_TRUE(plan);
    status = plan->status;
    return std::ranges::any_of(plan->apply, [](const Json& object) {
      return FindString(object, {"metadata", "annotations", kConflictAnnotation}) == "overwrite";
    });
  }

  FakeFleet fleet{Spec("m1:1 m2:1")};
  PlanInput input;
  Json status, binding;
};

TEST(CopiesTest, WhatABindingLeftBehindBeforeAnybodySawItIsOurs) {
  LeftBehind left;
  const auto plan_with = [&](const char* uid, const char* message) {
    base::Ensure(left.binding, {"metadata", "uid"}) = uid;
    return left.Overwrites(message);
  };
  const char* met = "resource(kind=ZooKeeper) already exist in the cluster";
  EXPECT_FALSE(plan_with("b1", "connection refused"));
  EXPECT_TRUE(plan_with("b2", met)) << "b1 has left it behind";
  // Somebody else's: the first binding met it.
  left.Forget(kBoundField);
  EXPECT_FALSE(plan_with("b3", ""));
  EXPECT_FALSE(plan_with("b3", met));
  EXPECT_FALSE(plan_with("b4", met));
}

TEST(CopiesTest, WhatAClusterLeftBehindBeforeAnybodySawItIsOurs) {
  LeftBehind left;
  base::Ensure(left.binding, {"metadata", "uid"}) = "b1";
  std::vector<Json> clusters;
  const auto plan_with = [&](const char* cluster_uid, const char* message) {
    clusters.clear();
    for (const char* name : {"m1", "m2"}) {
      clusters.push_back(kube::NewObject(kube::karmada::Clusters(), "", name));
      base::Ensure(clusters.back(), {"metadata", "uid"}) = name == std::string("m2") ? cluster_uid : "c-m1";
    }
    left.input.fleet.clusters.clear();
    for (const Json& cluster : clusters) {
      if (cluster_uid[0] != 0 || kube::NameOf(cluster) != "m2") left.input.fleet.clusters.push_back(&cluster);
    }
    return left.Overwrites(message);
  };
  const char* met = "resource(kind=ZooKeeper) already exists in cluster m2 but is not managed by Karmada";
  EXPECT_FALSE(plan_with("c1", "connection refused"));
  EXPECT_FALSE(plan_with("", "")) << "somebody has deleted the Cluster";
  EXPECT_TRUE(plan_with("c2", met)) << "c1 has left it behind";
  // Somebody else's: the first Cluster met it.
  left.Forget(kBoundField);
  EXPECT_FALSE(plan_with("c3", ""));
  EXPECT_FALSE(plan_with("c3", met));
  EXPECT_FALSE(plan_with("c4", met));
}

TEST(CopiesTest, DeletionTakesCopiesThatWereLeftBehind) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.DeleteTemplate();
  EXPECT_FALSE(fleet.Servers().empty());
  Deleted(fleet);
  EXPECT_TRUE(fleet.Gone());
}

TEST(CopiesTest, DeletionEndsWhereTheHubTakesNoTemplateAnyMore) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.DeleteTemplate();
  fleet.Delete();
  PlanInput input = fleet.Input();
  input.takes_no_template = true;
  EXPECT_EQ(PlanDeletion(input).reason, "DeletingPolicies");
}

TEST(CopiesTest, DeletionWithoutThePolicyMakesItAgainToSayThatTheCopiesGo) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  PlanInput input = fleet.Input();
  std::erase_if(input.fleet.children, [](const Json* child) { return kube::NameOf(*child) == "zk-zk"; });
  base::Ensure(input.object.object, {"metadata", "deletionTimestamp"}) = "2026-01-01T00:00:00Z";
  const Plan plan = PlanDeletion(input);
  EXPECT_TRUE(plan.remove.empty());
  ASSERT_EQ(plan.apply.size(), 1U);
  EXPECT_EQ(kube::NameOf(plan.apply[0]), "zk-zk");
  EXPECT_FALSE(base::FindBool(plan.apply[0], {"spec", kKeepsField}, true));
  EXPECT_EQ(base::Find(plan.apply[0], {"spec", "placement"})->as_object(),
            base::Find(*input.fleet.binding, {"spec", "placement"})->as_object());
}

TEST(CopiesTest, NothingGoesBeforeTheWorksSayThatTheCopiesGoToo) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  fleet.Delete();
  EXPECT_EQ(fleet.Tick().apply.size(), 1U) << "the policy";
  PlanInput input = fleet.Input();
  Json work = base::JsonObject{{"metadata", base::JsonObject{{"name", "zk"}, {"namespace", "karmada-es-m2"}}},
                               {"spec", base::JsonObject{{kKeepsField, true}}}};
  input.fleet.works = {&work};
  const Plan plan = PlanDeletion(input);
  EXPECT_TRUE(plan.remove.empty());
  EXPECT_TRUE(plan.apply.empty());
  EXPECT_TRUE(plan.polls);
  base::Ensure(work, {"spec", kKeepsField}) = false;
  EXPECT_EQ(PlanDeletion(input).remove.size(), 1U);
}

TEST(CopiesTest, AClusterThatIsLetGoLosesItsCopyAndTheOthersKeepTheirs) {
  FakeFleet fleet(Spec("m1:1 m2:1 m3:1 m4:1"));
  fleet.Settle();
  fleet.SetSpec(Spec("m1:1 m2:1 m3:1"));
  bool released = false;
  for (int i = 0; i < 60; ++i) {
    fleet.Tick();
    fleet.Work();
    released = released || !base::FindBool(Policy(fleet), {"spec", kKeepsField});
  }
  EXPECT_TRUE(released);
  EXPECT_TRUE(base::FindBool(Policy(fleet), {"spec", kKeepsField}));
  EXPECT_EQ(base::FindArray(Policy(fleet), {"spec", "placement", "clusterAffinity", "clusterNames"}).size(), 3U);
}

TEST(CopiesTest, AKarmadaThatKnowsNoSuchFieldIsNotAskedForItAgain) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  base::Erase(Policy(fleet), {"spec", kKeepsField});
  EXPECT_EQ(fleet.Tick().reason, "UpToDate");
  fleet.SetSpec(Spec("m1:2 m2:1"));
  for (int i = 0; i < 80; ++i) {
    fleet.Tick();
    base::Erase(Policy(fleet), {"spec", kKeepsField});
    fleet.Work();
  }
  EXPECT_EQ(fleet.Servers().size(), 3U);
}

TEST(CopiesTest, TaintsTakeNoCopyAwayAndTolerationsOfPeopleStay) {
  FakeFleet fleet(Spec(kFive));
  fleet.Settle();
  const auto tolerations = [&](const char* policy) {
    std::vector<std::string> texts;
    for (const Json& one : base::FindArray(fleet.children().at(policy), {"spec", "placement", "clusterTolerations"}))
      texts.push_back(base::CanonicalText(one));
    return texts;
  };
  const std::vector<std::string> own{R"({"effect":"NoExecute","operator":"Exists"})",
                                     R"({"effect":"NoExecute","key":"cluster.karmada.io/not-ready","operator":"Exists"})",
                                     R"({"effect":"NoExecute","key":"cluster.karmada.io/unreachable","operator":"Exists"})"};
  EXPECT_EQ(tolerations("PropagationPolicy/zk-zk"), own) << "the first that fits counts";
  EXPECT_EQ(tolerations("PropagationPolicy/zk-svc"), own);
  // Somebody's, and what Karmada's webhook has put into a policy that had none.
  base::Ensure(Policy(fleet), {"spec", "placement", "clusterTolerations"}) = *base::ParseJson(
      R"([{"key": "ours", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
          {"key": "cluster.karmada.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}])",
      "tolerations");
  fleet.Tick();
  std::vector<std::string> with = own;
  with.emplace_back(R"({"effect":"NoSchedule","key":"ours","operator":"Equal","value":"yes"})");
  EXPECT_EQ(tolerations("PropagationPolicy/zk-zk"), with);
  EXPECT_EQ(fleet.Tick().reason, "UpToDate");
  fleet.SetSpec(Spec("m1:2 m2:2 m3:2"));
  fleet.Settle();
  EXPECT_EQ(tolerations("PropagationPolicy/zk-zk"), with);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::copies_test
