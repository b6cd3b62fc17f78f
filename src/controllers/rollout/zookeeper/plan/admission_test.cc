#include "controllers/rollout/zookeeper/plan/admission.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/hub/fake_fleet_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::admission_test {
namespace {

using base::FindString;
using base::Json;
using base::JsonObject;

Json Ensemble(const std::string& clusters, const std::string& more = "", const std::string& name = "zk") {
  return *base::ParseJson(R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "MultiClusterZooKeeper", "metadata": {"name": ")" +
                              name + R"(", "namespace": "data"}, "spec": {"placement": {"clusters": [)" + clusters + "]" +
                              more + "}}}",
                          "test");
}
std::string Cluster(const std::string& name, int replicas) {
  return R"({"name": ")" + name + R"(", "replicas": )" + std::to_string(replicas) + "}";
}
const std::string kThree = Cluster("m1", 1) + "," + Cluster("m2", 1) + "," + Cluster("m3", 1);

Json Ask(const std::string& operation, Json object, Json old = nullptr, const std::string& subresource = "") {
  const Json review = JsonObject{
      {"apiVersion", "admission.k8s.io/v1"},
      {"kind", "AdmissionReview"},
      {"request",
       JsonObject{{"uid", "u1"},
                  {"kind", JsonObject{{"group", "evenkeel.dev"}, {"version", "v1alpha1"}, {"kind", "MultiClusterZooKeeper"}}},
                  {"operation", operation},
                  {"subResource", subresource},
                  {"object", std::move(object)},
                  {"oldObject", std::move(old)}}}};
  const AdmissionAnswer answer = AnswerAdmission("application/json", base::ToText(review));
  EXPECT_EQ(answer.http_status, 200);
  const Json json = *base::ParseJson(answer.body, "answer");
  EXPECT_EQ(FindString(json, {"apiVersion"}), "admission.k8s.io/v1");
  EXPECT_EQ(FindString(json, {"response", "uid"}), "u1");
  return json.at("response");
}
bool Allowed(const Json& response) { return response.at("allowed").as_bool(); }
std::string Why(const Json& response) {
  EXPECT_FALSE(Allowed(response));
  EXPECT_EQ(base::FindInt(response, {"status", "code"}), 422);
  return std::string(FindString(response, {"status", "message"}));
}

TEST(AdmissionTest, AGoodEnsembleIsAllowedWithoutAWord) {
  const Json response = Ask("CREATE", Ensemble(kThree));
  EXPECT_TRUE(Allowed(response));
  EXPECT_EQ(base::Find(response, {"warnings"}), nullptr);
}

TEST(AdmissionTest, AnUnsafePlacementIsRefusedWhereSafetyIsRequiredAndWarnedOfElsewhere) {
  const std::string unsafe = Cluster("m1", 2) + "," + Cluster("m2", 1);
  const Json warned = Ask("CREATE", Ensemble(unsafe));
  EXPECT_TRUE(Allowed(warned));
  EXPECT_EQ(base::ToText(warned.at("warnings")), R"(["without m1 1 of 3 voters are left, but a majority is 2"])");
  EXPECT_EQ(Why(Ask("CREATE", Ensemble(unsafe, R"(, "requireClusterFaultTolerance": true)"))),
            "MultiClusterZooKeeper data/zk: spec.placement: without m1 1 of 3 voters are left, but a majority is 2, and "
            "requireClusterFaultTolerance is set");
}

TEST(AdmissionTest, AnEvenNumberOfVotersIsWarnedOf) {
  const Json response = Ask("CREATE", Ensemble(kThree + "," + Cluster("m4", 1)));
  EXPECT_TRUE(Allowed(response));
  EXPECT_EQ(base::ToText(response.at("warnings")), R"(["4 voters survive the loss of no more than 3 do"])");
}

TEST(AdmissionTest, OrdersNamesAndStridesAreChecked) {
  EXPECT_NE(Why(Ask("CREATE", Ensemble(kThree, R"(}, "rollout": {"order": ["m1", "m2"])"))).find("m3 is missing"),
            std::string::npos);
  EXPECT_NE(Why(Ask("CREATE", Ensemble(kThree, "", std::string(60, 'z')))).find("metadata.name"), std::string::npos);
  EXPECT_NE(Why(Ask("CREATE", Ensemble(Cluster("m1", 11)))).find("stride"), std::string::npos);
}

TEST(AdmissionTest, AnUnknownFieldIsRefusedWithTheNearestName) {
  const auto with = [](const std::string& field, const std::string& json) {
    Json object = Ensemble(kThree);
    base::Ensure(object, {"spec", field}) = *base::ParseJson(json, "field");
    return object;
  };
  EXPECT_EQ(Why(Ask("CREATE", with("template", R"({"confg": {"tickTime": 100}})"))),
            "MultiClusterZooKeeper data/zk: spec.template.confg: unknown field; did you mean config?");
  EXPECT_EQ(Why(Ask("CREATE", with("template", R"({"storage": {"sise": "1Gi"}})"))),
            "MultiClusterZooKeeper data/zk: spec.template.storage.sise: unknown field; did you mean size?");
  EXPECT_EQ(Why(Ask("CREATE", with("rollout", R"({"progresDeadlineSeconds": 5})"))),
            "MultiClusterZooKeeper data/zk: spec.rollout.progresDeadlineSeconds: unknown field; did you mean "
            "progressDeadlineSeconds?");
  EXPECT_EQ(Why(Ask("CREATE", Ensemble(R"({"name": "m1", "replicas": 1, "clusterId": "c1"})"))),
            "MultiClusterZooKeeper data/zk: spec.placement.clusters[0].clusterId: unknown field; did you mean clusterID?");
  EXPECT_EQ(Why(Ask("CREATE", with("utterlyElse", "1"))), "MultiClusterZooKeeper data/zk: spec.utterlyElse: unknown field");
  EXPECT_TRUE(Allowed(Ask("CREATE", with("template", R"({"config": {"extra": {"anything": "1"}},
      "podTemplate": {"metadata": {"labels": {"any": "x"}}, "spec": {"nodeSelector": {"any": "x"}}}})"))));
  // One that is there already may stay.
  Json before = with("template", R"({"confg": {}})");
  Json after = with("template", R"({"confg": {}, "image": {"tag": "3.9"}})");
  EXPECT_TRUE(Allowed(Ask("UPDATE", after, before)));
}

TEST(AdmissionTest, AnObjectFromBeforeCanStillBeLabelledAndDeleted) {
  const Json bad = Ensemble(Cluster("m1", 11));
  Json labelled = bad;
  base::Ensure(labelled, {"metadata", "labels", "a"}) = "b";
  EXPECT_TRUE(Allowed(Ask("UPDATE", labelled, bad)));
  Json worse = Ensemble(Cluster("m1", 12));
  EXPECT_FALSE(Allowed(Ask("UPDATE", worse, bad)));
  base::Ensure(worse, {"metadata", "deletionTimestamp"}) = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(Allowed(Ask("UPDATE", worse, bad)));
  EXPECT_TRUE(Allowed(Ask("DELETE", nullptr, bad)));
}

TEST(AdmissionTest, WhatContradictsRunningServersIsRefused) {
  FakeFleet fleet(R"({"placement": {"clusters": [)" + kThree + "]}}");
  fleet.Settle();
  Json changed = fleet.ensemble();
  base::Ensure(changed, {"spec", "naming", "stride"}) = 20;
  EXPECT_NE(Why(Ask("UPDATE", changed, fleet.ensemble())).find("spec.naming.stride: cannot change from 10 to 20"),
            std::string::npos);
  base::Ensure(changed, {"spec", "naming", "stride"}) = 10;
  base::Ensure(changed, {"spec", "template", "image", "tag"}) = "3.8.5";
  EXPECT_TRUE(Allowed(Ask("UPDATE", changed, fleet.ensemble())));
}

TEST(AdmissionTest, AnEditedRecordIsRefusedAndAnHonestStatusIsNot) {
  FakeFleet fleet(R"({"placement": {"clusters": [)" + kThree + "]}}");
  fleet.Settle();
  const Json good = fleet.ensemble();
  Json edited = good;
  base::Ensure(edited, {"status", "records"}).as_array().back().at("currentState").as_object()["deploying"] =
      base::JsonArray{"m1", "m2"};
  EXPECT_NE(Why(Ask("UPDATE", edited, good, "status")).find("status.records[0]"), std::string::npos);
  // What the controller says of one that slipped in while the webhook was away.
  Json told = edited;
  base::Ensure(told, {"status", "conditions"}) = base::JsonArray{};
  EXPECT_TRUE(Allowed(Ask("UPDATE", told, edited, "status")));
  EXPECT_TRUE(Allowed(Ask("UPDATE", good, edited, "status"))) << "and the way back is open";
  fleet.SetSpec(R"({"placement": {"clusters": [)" + kThree + R"(]}, "template": {"image": {"tag": "new"}}})");
  fleet.Tick();
  EXPECT_TRUE(Allowed(Ask("UPDATE", fleet.ensemble(), good, "status")));
}

TEST(AdmissionTest, OtherBodiesAreBadRequests) {
  EXPECT_EQ(AnswerAdmission("text/plain", "{}").http_status, 400);
  EXPECT_EQ(AnswerAdmission("application/json", "{").http_status, 400);
  EXPECT_EQ(
      AnswerAdmission("application/json", R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})").http_status,
      400);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::admission_test
