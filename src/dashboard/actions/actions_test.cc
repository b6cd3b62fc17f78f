#include "dashboard/actions/actions.h"

#include "controllers/balancer/kinds.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "dashboard/server_testing.h"
#include "embedded/cloud/node_group_definition.h"

namespace evenkeel::dashboard::actions_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

namespace on_member = controllers::balancer;

class ActionTest : public ServerTest {
 protected:
  ActionTest() {
    members["member-1"]->Put(on_member::BalancingPlans(), Parsed(R"({"metadata": {"name": "plan-1", "uid": "u1"},
      "spec": {"policy": "default", "approved": false, "actions": [{"pod": "default/a", "from": "n1", "to": "n2"}]}})"));
    members["member-1"]->Put(embedded::cloud::NodeGroups(), Parsed(R"({"metadata": {"name": "general", "uid": "g1"},
      "spec": {"minSize": 1, "maxSize": 5, "targetSize": 2, "pricePerHour": 0.25}})"));
    hub.api().Put(controllers::rollout::zookeeper::MultiClusterZooKeepers(),
                  Parsed(R"({"metadata": {"name": "zk", "namespace": "default", "uid": "z1"}, "spec": {}})"));
  }
  Json& Plan() { return members["member-1"]->objects["balancingplans"]["plan-1"]; }
  Json& Node() { return members["member-1"]->objects["nodes"]["n1"]; }
  Json& Group() { return members["member-1"]->objects["nodegroups"]["general"]; }
  Json& Ensemble() { return hub.api().objects["multiclusterzookeepers"]["default/zk"]; }
  bool Approved() { return base::FindBool(Plan(), {"spec", "approved"}); }

  static JsonObject Of(const std::string& action, const std::string& name) {
    JsonObject body{{"action", action}, {"cluster", "member-1"}, {"name", name}};
    if (action == "pause" || action == "resume") body["namespace"] = "default";
    return body;
  }
  /// Looks first, and then does it.
  std::shared_ptr<Reply> LookAndAct(const Headers& who, JsonObject body) {
    body["dryRun"] = true;
    const auto looked = Act(who, body);
    if (looked->status != 200) return looked;
    body["dryRun"] = false;
    body["seen"] = base::FindString(Parsed(looked->body), {"seen"});
    return Act(who, body);
  }
  /// What an Event in that API says of it; "": there is none.
  static std::string EventOf(client::FakeApi& api, const std::string& reason) {
    for (const auto& [key, event] : api.objects["events"]) {
      if (base::FindString(event, {"reason"}) == reason) return std::string(base::FindString(event, {"message"}));
    }
    return "";
  }
};

TEST_F(ActionTest, ExactlyThePlanThatWasLookedAt) {
  JsonObject body = Of("approve", "plan-1");
  body["seen"] = "0123";
  EXPECT_EQ(Act(Bearer(kAdmin), body)->status, 409);
  body["seen"] = PlanHash(Plan());
  body["cluster"] = "nobody";
  EXPECT_EQ(Act(Bearer(kAdmin), body)->status, 404);
  body["cluster"] = "member-1";
  Json other = Plan();
  base::Ensure(other, {"spec", "policy"}) = "other";
  members["member-1"]->Put(on_member::BalancingPlans(), other);
  EXPECT_EQ(Act(Bearer(kAdmin), body)->status, 409) << "it has changed";
  EXPECT_FALSE(Approved());
  body["seen"] = PlanHash(Plan());
  const auto approved = Act(Bearer(kAdmin), body);
  EXPECT_EQ(approved->status, 200) << approved->body;
  EXPECT_TRUE(Approved());
  EXPECT_EQ(EventOf(*members["member-1"], "ApprovedByPerson"),
            "BalancingPlan plan-1 of member-1 is approved: by evenkeel:dashboard-token");
  EXPECT_EQ(Act(Bearer(kAdmin), body)->status, 409) << "it does not wait any more";
}

TEST_F(ActionTest, APlanIsRejected) {
  const auto rejected = LookAndAct(Bearer(kAdmin), Of("reject", "plan-1"));
  EXPECT_EQ(rejected->status, 200) << rejected->body;
  EXPECT_EQ(base::FindString(Plan(), {"status", "phase"}), "Refused");
  EXPECT_EQ(base::FindString(Plan(), {"status", "message"}), "rejected by evenkeel:dashboard-token");
  EXPECT_FALSE(Approved());
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), Of("approve", "plan-1"))->status, 409);
}

TEST_F(ActionTest, ADryRunChangesNothing) {
  const uint64_t before = members["member-1"]->version, at_hub = hub.api().version;
  for (const char* action : {"cordon", "drain"}) {
    JsonObject body = Of(action, "n1");
    body["dryRun"] = true;
    const auto looked = Act(Bearer(kAdmin), body);
    EXPECT_EQ(looked->status, 200) << looked->body;
    EXPECT_FALSE(base::FindArray(Parsed(looked->body), {"effects"}).empty());
  }
  JsonObject scale = Of("scale", "general");
  scale["size"] = 4;
  scale["dryRun"] = true;
  EXPECT_TRUE(Act(Bearer(kAdmin), scale)->body.contains("0.5 more an hour"));
  JsonObject pause = Of("pause", "zk");
  pause["dryRun"] = true;
  EXPECT_EQ(Act(Bearer(kAdmin), pause)->status, 200);
  EXPECT_EQ(members["member-1"]->version, before);
  EXPECT_EQ(hub.api().version, at_hub);
}

TEST_F(ActionTest, NodesAreCordonedAndUncordoned) {
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), Of("uncordon", "n1"))->status, 409) << "it is not cordoned";
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), Of("cordon", "n1"))->status, 200);
  EXPECT_TRUE(base::FindBool(Node(), {"spec", "unschedulable"}));
  EXPECT_NE(EventOf(*members["member-1"], "CordonedByPerson"), "");
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), Of("uncordon", "n1"))->status, 200);
  EXPECT_FALSE(base::FindBool(Node(), {"spec", "unschedulable"}));
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), Of("cordon", "nobody"))->status, 404);
}

TEST_F(ActionTest, ADrainSaysWhereEachPodGoesAndWhatStays) {
  client::FakeApi& api = *members["member-1"];
  api.Put(kube::resources::Nodes(), NodeObject("n2"));
  api.Put(kube::resources::ReplicaSets(),
          Parsed(R"({"metadata": {"name": "rs", "namespace": "default", "uid": "rs"}, "spec": {"replicas": 3}})"));
  for (const auto& [name, cpu] : {std::pair("small", "1"), std::pair("large", "30")}) {
    Json pod = PodObject(name, "n1", cpu);
    base::Ensure(pod, {"metadata", "ownerReferences"}) =
        Parsed(R"([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": true}])");
    api.Put(kube::resources::Pods(), pod);
  }
  JsonObject body = Of("drain", "n1");
  body["dryRun"] = true;
  const auto looked = Act(Bearer(kAdmin), body);
  EXPECT_EQ(looked->status, 200) << looked->body;
  EXPECT_TRUE(looked->body.contains("default/small: to n2")) << looked->body;
  EXPECT_TRUE(looked->body.contains("default/large: no other node has room for it now")) << looked->body;
  EXPECT_TRUE(looked->body.contains("default/web: stays: ")) << "nobody would make it again: " << looked->body;
  const auto drained = LookAndAct(Bearer(kAdmin), Of("drain", "n1"));
  EXPECT_EQ(drained->status, 200) << drained->body;
  EXPECT_TRUE(drained->body.contains("2 pods were evicted")) << drained->body;
  EXPECT_TRUE(base::FindBool(Node(), {"spec", "unschedulable"}));
  EXPECT_TRUE(EventOf(api, "DrainedByPerson").contains("by evenkeel:dashboard-token"));
}

TEST_F(ActionTest, AGroupIsScaledWithinItsBounds) {
  JsonObject body = Of("scale", "general");
  for (const int64_t size : {0, 6}) {
    body["size"] = size;
    EXPECT_EQ(LookAndAct(Bearer(kAdmin), body)->status, 400) << size;
  }
  body["size"] = 2;
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), body)->status, 409) << "it is so already";
  body["size"] = 4;
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), body)->status, 200);
  EXPECT_EQ(base::FindInt(Group(), {"spec", "targetSize"}), 4);
}

TEST_F(ActionTest, ARolloutIsPausedAndGoesOn) {
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), Of("pause", "zk"))->status, 200);
  EXPECT_TRUE(base::FindBool(Ensemble(), {"spec", "rollout", "paused"}));
  EXPECT_NE(EventOf(hub.api(), "PausedByPerson"), "");
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), Of("resume", "zk"))->status, 200);
  EXPECT_FALSE(base::FindBool(Ensemble(), {"spec", "rollout", "paused"}, true));
}

TEST_F(ActionTest, OnlyWhoMay) {
  for (const char* action : {"approve", "reject"}) EXPECT_EQ(LookAndAct(Bearer(kReader), Of(action, "plan-1"))->status, 403);
  for (const char* action : {"cordon", "drain"}) EXPECT_EQ(LookAndAct(Bearer(kReader), Of(action, "n1"))->status, 403);
  EXPECT_EQ(LookAndAct(Bearer(kReader), Of("pause", "zk"))->status, 403);
  EXPECT_EQ(gate->asked.back(), "evenkeel:dashboard-read-token pause rollouts.dashboard.evenkeel.dev default/zk");
  EXPECT_EQ(Ask("POST", "/api/actions", Bearer(kAdmin), "{}")->status, 403) << "a form of another site sends no such header";
  EXPECT_EQ(Ask("GET", "/api/actions", Bearer(kAdmin))->status, 405);
  gate->away = true;
  EXPECT_EQ(LookAndAct(Bearer(kAdmin), Of("approve", "plan-1"))->status, 503) << "what cannot be asked is refused";
  EXPECT_FALSE(Approved());
  EXPECT_FALSE(base::FindBool(Node(), {"spec", "unschedulable"}));
}

TEST_F(ActionTest, WhatIsNoRequestIsRefusedInOneSentence) {
  const Headers admin = LoggedIn(kAdmin);
  for (const char* body :
       {"", "[]", "{", R"({"action": 1})", R"({"action": "reboot", "cluster": "member-1", "name": "n1"})",
        R"({"action": "cordon", "name": "n1"})", R"({"action": "cordon", "cluster": "member-1", "name": "../n1"})",
        R"({"action": "cordon", "cluster": "member-1", "name": "n1"})", R"({"action": "pause", "name": "zk", "dryRun": true})",
        R"({"action": "scale", "cluster": "member-1", "name": "general", "size": -1, "dryRun": true})",
        R"({"action": "scale", "cluster": "member-1", "name": "general", "size": "4", "dryRun": true})"}) {
    const auto refused = Ask("POST", "/api/actions", admin, body);
    EXPECT_EQ(refused->status, 400) << body;
    EXPECT_NE(base::FindString(Parsed(refused->body), {"message"}), "") << body;
  }
  EXPECT_EQ(Ask("POST", "/api/actions", admin, std::string(5000, ' '))->status, 413);
}

}  // namespace
}  // namespace evenkeel::dashboard::actions_test
