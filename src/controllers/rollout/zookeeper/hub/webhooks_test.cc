#include "controllers/rollout/zookeeper/hub/webhooks.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/json.h"
#include "controllers/rollout/zookeeper/reading/interpreter.h"

// Numbers (I21 ...) are those of cases that Karmada's own tests have, or that follow from its rules.
namespace evenkeel::controllers::rollout::zookeeper::webhooks_test {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;

constexpr std::string_view kJsonType = "application/json";

Json Response(const WebhookAnswer& answer) {
  EXPECT_EQ(answer.http_status, 200);
  EXPECT_EQ(answer.content_type, kJsonType);
  const auto context = base::ParseJson(answer.body, "answer");
  EXPECT_TRUE(context) << answer.body;
  if (!context) return {};
  EXPECT_EQ(FindString(*context, {"kind"}), "ResourceInterpreterContext");
  EXPECT_EQ(FindString(*context, {"apiVersion"}), "config.karmada.io/v1alpha1");
  const Json* response = base::Find(*context, {"response"});
  EXPECT_NE(response, nullptr);
  return response == nullptr ? Json() : *response;
}

Json AskInterpreter(std::string_view content_type, std::string_view body) {
  return Response(AnswerWebhook({"POST", kInterpreterPath, content_type, body}));
}

std::string Question(const std::string& operation) {
  return R"({"kind": "ResourceInterpreterContext", "apiVersion": "config.karmada.io/v1alpha1", "request": {"uid": "the-uid",
      "kind": {"group": "evenkeel.dev", "version": "v1alpha1", "kind": "ZooKeeper"}, "name": "zk", "namespace": "data",
      "operation": ")" +
         operation + R"(", "replicas": 2, "object": {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper",
        "metadata": {"name": "zk", "namespace": "data", "generation": 1, "labels": {"evenkeel.dev/multiclusterzookeeper": "zk"}},
        "spec": {"replicas": 5, "image": {"pullSecrets": ["s"]}}, "status": {"readyReplicas": 5, "observedGeneration": 1}},
      "observedObject": {"spec": {"paused": true}}, "aggregatedStatus": [{"clusterName": "m1", "status": {"replicas": 2}}]}})";
}

TEST(WebhooksTest, EveryOperationIsAnsweredWithWhatItsCallerNeeds) {
  struct {
    const char *operation, *field, *value;  ///< of the response; "patch" decoded
  } const rows[] = {
      {"InterpretReplica", "replicas", "5"},
      {"ReviseReplica", "patch", R"([{"op":"replace","path":"/spec/replicas","value":0}])"},
      {"Retain", "patch", R"([{"op":"add","path":"/spec/paused","value":true}])"},
      {"InterpretStatus", "rawStatus", R"({"generation":1,"observedGeneration":1,"readyReplicas":5})"},
      {"InterpretHealth", "healthy", "true"},
      {"InterpretDependency", "dependencies", R"([{"apiVersion":"v1","kind":"Secret","name":"s","namespace":"data"}])"},
      {"AggregateStatus", "patch",
       R"([{"op":"replace","path":"/status/readyReplicas","value":0},{"op":"add","path":"/status/replicas","value":2},)"
       R"({"op":"add","path":"/status/updatedReplicas","value":0}])"},
  };
  for (const auto& row : rows) {
    const Json response = AskInterpreter(kJsonType, Question(row.operation));
    EXPECT_TRUE(base::FindBool(response, {"successful"})) << row.operation;
    EXPECT_EQ(FindString(response, {"uid"}), "the-uid") << row.operation;
    EXPECT_EQ(FindInt(response, {"status", "code"}), 200) << row.operation;
    const Json* value = base::Find(response, {row.field});
    ASSERT_NE(value, nullptr) << row.operation;
    std::string text = base::CanonicalText(*value);
    if (std::string_view(row.field) == "patch") {
      EXPECT_EQ(FindString(response, {"patchType"}), "JSONPatch") << row.operation;
      text.clear();
      EXPECT_TRUE(base::Base64Decode(value->as_string(), text)) << row.operation;
    }
    EXPECT_EQ(text, row.value) << row.operation;
  }
}

TEST(WebhooksTest, WhatIsWrongWithAQuestionIsSaidInTheAnswer) {
  const std::string huge(kInterpreterBodyMax + 1, ' ');
  struct {
    std::string_view name, type, body, message;
  } const rows[] = {
      {"I21 another type", "text/plain", "{}", "contentType=text/plain, expected application/json"},
      {"I21 a type with more to it", "application/json; charset=utf-8", "{}",
       "contentType=application/json; charset=utf-8, expected application/json"},
      {"I21 no type", "", "{}", "contentType=, expected application/json"},
      {"I22 no body", kJsonType, "", "request body is empty"},
      {"I23 no JSON", kJsonType, "invalid-json", "json parse error: "},
      {"larger than Karmada's own take", kJsonType, huge, "request body is larger than 1048576 bytes"},
      {"no request", kJsonType, R"({"response": {}})", "request is empty"},
      {"a list", kJsonType, "[]", "request is empty"},
  };
  for (const auto& row : rows) {
    const Json response = AskInterpreter(row.type, row.body);
    EXPECT_FALSE(base::FindBool(response, {"successful"}, true)) << row.name;
    EXPECT_EQ(FindInt(response, {"status", "code"}), 400) << row.name;
    EXPECT_TRUE(FindString(response, {"status", "message"}).starts_with(row.message))
        << row.name << ": " << FindString(response, {"status", "message"});
    EXPECT_EQ(FindString(response, {"uid"}, "absent"), "") << row.name;
  }
}

TEST(WebhooksTest, AnOperationThatNobodyKnowsIsRefusedUnderItsUid) {
  for (const char* operation : {"Prune", "InterpretComponent", "interprethealth", ""}) {
    const Json response = AskInterpreter(kJsonType, Question(operation));
    EXPECT_FALSE(base::FindBool(response, {"successful"}, true)) << operation;
    EXPECT_EQ(FindInt(response, {"status", "code"}), 400) << operation;
    EXPECT_EQ(FindString(response, {"uid"}), "the-uid") << operation;
    EXPECT_EQ(FindString(response, {"status", "message"}), std::string("wrong request operation type: ") + operation);
  }
}

TEST(WebhooksTest, OtherMethodsAndPathsAreHttpErrors) {
  for (const char* path : {kInterpreterPath, kAdmissionPath}) {
    for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "post"}) {
      const WebhookAnswer answer = AnswerWebhook({method, path, kJsonType, "{}"});
      EXPECT_EQ(answer.http_status, 405) << method << path;
      EXPECT_EQ(answer.allow, "POST") << method << path;
      EXPECT_TRUE(answer.content_type.starts_with("text/plain")) << method << path;
    }
  }
  for (const char* path : {"/", "/interpreter/", "/interpreters", ""}) {
    EXPECT_EQ(AnswerWebhook({"POST", path, kJsonType, "{}"}).http_status, 404) << path;
  }
}

TEST(WebhooksTest, AdmissionAnswersReviewsAndNothingElse) {
  const WebhookAnswer answer = AnswerWebhook({"POST", kAdmissionPath, kJsonType,
                                              R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                                                  "request": {"uid": "u", "kind": {"kind": "Pod"}, "operation": "CREATE"}})"});
  EXPECT_EQ(answer.http_status, 200);
  EXPECT_EQ(answer.content_type, kJsonType);
  EXPECT_NE(answer.body.find(R"("allowed":true)"), std::string::npos);
  const WebhookAnswer refused = AnswerWebhook({"POST", kAdmissionPath, "text/plain", "{}"});
  EXPECT_EQ(refused.http_status, 400);
  EXPECT_TRUE(refused.content_type.starts_with("text/plain"));
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::webhooks_test
