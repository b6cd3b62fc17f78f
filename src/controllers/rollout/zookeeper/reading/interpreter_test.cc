#include "controllers/rollout/zookeeper/reading/interpreter.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace evenkeel::controllers::rollout::zookeeper::interpreter_test {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;

constexpr const char* kOwned = R"("metadata": {"name": "zk", "namespace": "data",
    "labels": {"evenkeel.dev/multiclusterzookeeper": "zk"}})";
constexpr const char* kPlain = R"("metadata": {"name": "zk", "namespace": "data"})";

/// The response for an operation on a ZooKeeper.
Json Ask(const std::string& operation, const std::string& object, const std::string& more = "") {
  const std::string body = R"({"kind": "ResourceInterpreterContext", "apiVersion": "config.karmada.io/v1alpha1", "request":
      {"uid": "test-uid", "kind": {"group": "evenkeel.dev", "version": "v1alpha1", "kind": "ZooKeeper"}, "name": "zk",
       "namespace": "data", "operation": ")" +
                           operation + R"(", "object": {)" + object + "}" + more + "}}";
  const Json context = *base::ParseJson(AnswerInterpreter("application/json", body), "answer");
  EXPECT_EQ(FindString(context, {"kind"}), "ResourceInterpreterContext");
  EXPECT_EQ(FindString(context, {"apiVersion"}), "config.karmada.io/v1alpha1");
  EXPECT_EQ(FindString(context, {"response", "uid"}), "test-uid");
  return context.at("response");
}

/// The patch in a response, "" for none.
std::string PatchIn(const Json& response) {
  EXPECT_TRUE(response.at("successful").as_bool());
  const std::string_view type = FindString(response, {"patchType"});
  EXPECT_EQ(type.empty(), base::Find(response, {"patch"}) == nullptr) << "both or none";
  if (type.empty()) return "";
  EXPECT_EQ(type, "JSONPatch");
  std::string text;
  EXPECT_TRUE(base::Base64Decode(FindString(response, {"patch"}), text));
  return text;
}

Json Refusal(std::string_view content_type, std::string_view body) {
  const Json context = *base::ParseJson(AnswerInterpreter(content_type, body), "answer");
  const Json response = context.at("response");
  EXPECT_FALSE(response.at("successful").as_bool());
  EXPECT_EQ(FindInt(response, {"status", "code"}), 400);
  return response;
}
std::string_view Message(const Json& response) { return FindString(response, {"status", "message"}); }

TEST(InterpreterTest, I21ContentTypeOtherThanJson) {
  const Json response = Refusal("text/plain", "{}");
  EXPECT_EQ(Message(response), "contentType=text/plain, expected application/json");
  EXPECT_EQ(FindString(response, {"uid"}, "absent"), "");
}

TEST(InterpreterTest, I22EmptyBody) { EXPECT_EQ(Message(Refusal("application/json", "")), "request body is empty"); }

TEST(InterpreterTest, I23InvalidJson) {
  EXPECT_NE(Message(Refusal("application/json", "invalid-json")).find("json parse error"), std::string_view::npos);
}

TEST(InterpreterTest, I24UidIsCopiedAndTheCodeIs200) {
  const Json response = Ask("InterpretReplica", std::string(kPlain) + R"(, "spec": {"replicas": 3})");
  EXPECT_TRUE(response.at("successful").as_bool());
  EXPECT_EQ(FindInt(response, {"status", "code"}), 200);
}

TEST(InterpreterTest, I25PatchOfWhatDiffers) {
  const auto diff = [](const char* from, const char* to) {
    return base::ToText(Json(DiffJsonPatch(*base::ParseJson(from, "from"), *base::ParseJson(to, "to"))));
  };
  EXPECT_EQ(diff(R"({"name": "original"})", R"({"name": "current"})"),
            R"([{"op":"replace","path":"/name","value":"current"}])");
  EXPECT_EQ(
      diff(R"({"a": {"x/y": 1, "b": [1]}})", R"({"a": {"b": [2], "~": 0}})"),
      R"([{"op":"remove","path":"/a/x~1y"},{"op":"replace","path":"/a/b","value":[2]},{"op":"add","path":"/a/~0","value":0}])");
}

TEST(InterpreterTest, I26NoPatchOfEqualDocuments) {
  EXPECT_TRUE(
      DiffJsonPatch(*base::ParseJson(R"({"a": [1, {"b": 2}]})", "from"), *base::ParseJson(R"({"a": [1, {"b": 2}]})", "to"))
          .empty());
}

TEST(InterpreterTest, I27Replicas) {
  const Json three = Ask("InterpretReplica", std::string(kPlain) + R"(, "spec": {"replicas": 3, "podTemplate": {"spec":
      {"containers": [{"name": "zookeeper", "resources": {"requests": {"cpu": "500m"}}}], "nodeSelector": {"disk": "ssd"}}}})");
  EXPECT_EQ(FindInt(three, {"replicas"}), 3);
  EXPECT_EQ(FindString(three, {"replicaRequirements", "resourceRequest", "cpu"}), "500m");
  EXPECT_EQ(FindString(three, {"replicaRequirements", "nodeClaim", "nodeSelector", "disk"}), "ssd");
  const Json nil = Ask("InterpretReplica", std::string(kPlain) + R"(, "spec": {})");
  EXPECT_EQ(FindInt(nil, {"replicas"}), 1);
  EXPECT_EQ(base::Find(nil, {"replicaRequirements"}), nullptr);
}

TEST(InterpreterTest, I28Health) {
  const auto healthy = [](const char* status) {
    return Ask("InterpretHealth",
               R"("metadata": {"name": "zk", "generation": 2}, "spec": {"replicas": 3}, "status": )" + std::string(status))
        .at("healthy")
        .as_bool();
  };
  EXPECT_TRUE(healthy(R"({"observedGeneration": 2, "readyReplicas": 3})"));
  EXPECT_FALSE(healthy(R"({"observedGeneration": 2, "readyReplicas": 2})"));
  EXPECT_FALSE(healthy(R"({"observedGeneration": 1, "readyReplicas": 3})"));
  EXPECT_TRUE(Ask("InterpretHealth", R"("metadata": {"name": "zk"}, "spec": {"replicas": 0})").at("healthy").as_bool());
}

TEST(InterpreterTest, I29Status) {
  EXPECT_EQ(base::ToText(Ask("InterpretStatus", std::string(kPlain) + R"(, "status": {"readyReplicas": 3})").at("rawStatus")),
            R"({"readyReplicas":3})");
  const Json raw = Ask("InterpretStatus", R"("metadata": {"name": "zk", "generation": 7, "annotations":
      {"resourcetemplate.karmada.io/generation": "4"}}, "status": {"replicas": 2, "observedRevision": "r", "observedGeneration": 7,
      "leaderID": 11, "members": [{"id": 11, "mode": "leader"}], "conditions": []})")
                       .at("rawStatus");
  EXPECT_EQ(FindInt(raw, {"generation"}), 7);
  EXPECT_EQ(FindInt(raw, {"resourceTemplateGeneration"}), 4);
  EXPECT_EQ(FindString(raw, {"observedRevision"}), "r");
  EXPECT_EQ(base::FindArray(raw, {"members"}).size(), 1u);
  EXPECT_EQ(base::Find(raw, {"conditions"}), nullptr);
}

TEST(InterpreterTest, I30UnknownOperation) {
  const Json response = Ask("Prune", kPlain);
  EXPECT_FALSE(response.at("successful").as_bool());
  EXPECT_EQ(FindInt(response, {"status", "code"}), 400);
  EXPECT_EQ(Message(response), "wrong request operation type: Prune");
}

TEST(InterpreterTest, I31OwnedObjectsGetNoReplicas) {
  EXPECT_EQ(PatchIn(Ask("ReviseReplica", std::string(kOwned) + R"(, "spec": {"replicas": 5})", R"(, "replicas": 2)")),
            R"([{"op":"replace","path":"/spec/replicas","value":0}])");
  EXPECT_EQ(PatchIn(Ask("ReviseReplica", std::string(kOwned) + R"(, "spec": {"replicas": 0})", R"(, "replicas": 2)")), "");
}

TEST(InterpreterTest, I32OtherObjectsGetWhatIsAsked) {
  EXPECT_EQ(PatchIn(Ask("ReviseReplica", std::string(kPlain) + R"(, "spec": {"replicas": 5})", R"(, "replicas": 2)")),
            R"([{"op":"replace","path":"/spec/replicas","value":2}])");
  EXPECT_EQ(PatchIn(Ask("ReviseReplica", std::string(kPlain) + R"(, "spec": {"replicas": 2})", R"(, "replicas": 2)")), "");
}

TEST(InterpreterTest, RetainKeepsAMembersPauseUnlessTheTemplateSaysOtherwise) {
  const std::string observed = R"(, "observedObject": {"spec": {"paused": true, "replicas": 9}})";
  EXPECT_EQ(PatchIn(Ask("Retain", std::string(kPlain) + R"(, "spec": {"replicas": 2})", observed)),
            R"([{"op":"add","path":"/spec/paused","value":true}])");
  EXPECT_EQ(PatchIn(Ask("Retain", std::string(kPlain) + R"(, "spec": {"paused": false})", observed)), "");
  EXPECT_FALSE(Ask("Retain", kPlain).at("successful").as_bool());
}

TEST(InterpreterTest, StatusesAreSummedAndTheGenerationWaitsForAll) {
  const auto item = [](const char* cluster, int generation) {
    return R"({"clusterName": ")" + std::string(cluster) +
           R"(", "applied": true, "status": {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "generation": 5,
              "observedGeneration": 5, "resourceTemplateGeneration": )" +
           std::to_string(generation) + "}}";
  };
  const std::string object = R"("metadata": {"name": "zk", "generation": 3}, "spec": {})";
  const std::string both = R"(, "aggregatedStatus": [)" + item("m1", 3) + "," + item("m2", 3) + "]";
  EXPECT_EQ(
      PatchIn(Ask("AggregateStatus", object, both)),
      R"([{"op":"add","path":"/status","value":{"replicas":4,"readyReplicas":2,"updatedReplicas":4,"observedGeneration":3}}])");
  EXPECT_EQ(
      PatchIn(Ask("AggregateStatus",
                  object + R"(, "status": {"replicas": 4, "readyReplicas": 2, "updatedReplicas": 4, "observedGeneration": 3})",
                  both)),
      "");
  EXPECT_EQ(
      PatchIn(Ask("AggregateStatus", object, R"(, "aggregatedStatus": [)" + item("m1", 2) + "]")).find("observedGeneration"),
      std::string::npos);
}

TEST(InterpreterTest, SecretsAndConfigMapsOfTheSpecAreDependencies) {
  const std::string metadata =
      R"("metadata": {"name": "zk", "namespace": "data", "annotations": {"evenkeel.dev/needs": "Secret/former Secret/p"}})";
  const Json response = Ask("InterpretDependency", metadata + R"(, "spec": {"image": {"pullSecrets": ["p"]},
      "podTemplate": {"spec": {"imagePullSecrets": [{"name": "p"}, {"name": "q"}],
        "volumes": [{"name": "v", "secret": {"secretName": "tls"}}, {"name": "w", "configMap": {"name": "c"}}, {"name": "x"}],
        "containers": [{"name": "zookeeper", "envFrom": [{"secretRef": {"name": "e"}}], "env": [
          {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "k", "key": "k"}}}, {"name": "B", "value": "b"}]}]}}})");
  std::string names;
  for (const Json& item : response.at("dependencies").as_array()) {
    EXPECT_EQ(FindString(item, {"apiVersion"}), "v1");
    EXPECT_EQ(FindString(item, {"namespace"}), "data");
    names += std::string(FindString(item, {"kind"})) + " " + std::string(FindString(item, {"name"})) + ";";
  }
  EXPECT_EQ(names, "ConfigMap c;ConfigMap k;Secret e;Secret former;Secret p;Secret q;Secret tls;");
}

TEST(InterpreterTest, OtherKindsMissingObjectsAndLargeBodiesAreRefused) {
  EXPECT_EQ(Message(Refusal("application/json", std::string(kInterpreterBodyMax + 1, ' '))),
            "request body is larger than 1048576 bytes");
  EXPECT_EQ(Message(Refusal("application/json", "{}")), "request is empty");
  EXPECT_NE(
      Message(Refusal("application/json", R"({"request": {"kind": {"kind": "Deployment", "group": "apps"}, "object": {}}})"))
          .find("this webhook interprets zookeepers.evenkeel.dev"),
      std::string_view::npos);
  EXPECT_EQ(Message(Refusal("application/json", R"({"request": {"kind": {"kind": "ZooKeeper", "group": "evenkeel.dev"}}})")),
            "the request has no object");
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::interpreter_test
