#include "embedded/federation/policies/interpreter.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/input/yaml.h"
#include "embedded/apiserver/http/http_testing.h"

// Numbers (I01 ...) are those of cases that Karmada's own tests have.
namespace evenkeel::embedded::federation::interpreter_test {
namespace {

using base::Json;

Json Yaml(const std::string& text) {
  auto parsed = base::ParseYamlDocument(text, "test");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? *parsed : Json();
}

std::string Check(const std::string& response, const char* operation) {
  const auto checked = CheckAnswer(Yaml("{response: " + response + "}"), operation, "a");
  return checked ? "fine" : checked.error().message();
}

TEST(InterpreterProtocolTest, I01AndI02Versions) {
  for (const char* versions : {"[v1alpha1]", "[v2, v1alpha1]"})
    EXPECT_EQ(*ContextVersion(Yaml(std::string("{interpreterContextVersions: ") + versions + "}")), "v1alpha1") << "I01";
  for (const char* versions : {"[v2]", "[]"}) {
    const auto version = ContextVersion(Yaml(std::string("{interpreterContextVersions: ") + versions + "}"));
    ASSERT_FALSE(version) << "I02";
    EXPECT_EQ(version.error().message(), "webhook does not accept known ResourceInterpreterContext versions (v1alpha1)");
  }
}

TEST(InterpreterProtocolTest, I03ToI05AnswersAsAWhole) {
  EXPECT_EQ(CheckAnswer(Yaml("{}"), kInterpretReplica, "a").error().message(), "webhook response was absent") << "I03";
  EXPECT_EQ(Check("{uid: b, successful: true}", kInterpretReplica), "expected response.uid \"a\", got \"b\"") << "I04";
  EXPECT_EQ(Check("{uid: a, successful: false}", kInterpretReplica),
            "webhook require response.status when response.successful is false")
      << "I05";
  const std::string refused = Check("{uid: a, successful: false, status: {code: 400, message: what}}", kInterpretReplica);
  EXPECT_NE(refused.find("what"), std::string::npos);
  EXPECT_NE(refused.find("400"), std::string::npos);
}

TEST(InterpreterProtocolTest, I06ToI09WhatEachOperationNeeds) {
  const std::string fine = "{uid: a, successful: true";
  EXPECT_EQ(Check(fine + "}", kInterpretReplica), "webhook returned nil response.replicas") << "I06";
  EXPECT_EQ(Check(fine + ", replicas: 3}", kInterpretReplica), "fine") << "I07";
  EXPECT_EQ(Check(fine + "}", kInterpretHealth), "webhook returned nil response.healthy") << "I08";
  EXPECT_EQ(Check(fine + ", healthy: false}", kInterpretHealth), "fine");
  EXPECT_EQ(Check(fine + "}", kInterpretStatus), "webhook returned nil response.rawStatus") << "I08";
  EXPECT_EQ(Check(fine + "}", "InterpretComponent"), "fine") << "I09";
  EXPECT_EQ(Check(fine + ", dependencies: [{apiVersion: v1, kind: Secret, name: s}]}", kInterpretDependency), "fine");
  EXPECT_NE(Check(fine + ", dependencies: [{apiVersion: v1, kind: Secret}]}", kInterpretDependency), "fine");
  EXPECT_EQ(Check(fine + "}", "Unknown"), "input wrong operation type: Unknown") << "I15";
}

TEST(InterpreterProtocolTest, I10ToI14Patches) {
  const std::string fine = "{uid: a, successful: true";
  for (const char* operation : {kReviseReplica, kRetain, kAggregateStatus}) {
    EXPECT_EQ(Check(fine + ", patchType: JSONPatch, patch: W10=}", operation), "fine") << "I10";
    EXPECT_EQ(Check(fine + "}", operation), "fine");
    EXPECT_EQ(Check(fine + ", patch: W10=}", operation), "webhook returned nil response.patchType") << "I12";
    EXPECT_EQ(Check(fine + ", patchType: JSONPatch}", operation), "webhook returned empty response.patch") << "I13";
    EXPECT_EQ(Check(fine + ", patchType: Merge, patch: W10=}", operation),
              "webhook returned invalid response.patchType of \"Merge\"")
        << "I14";
  }
}

TEST(InterpreterProtocolTest, I16AndI17PatchesAreApplied) {
  const Json object = Yaml("{metadata: {name: test}}");
  const auto patched = [&](const std::string& patch) {
    const Json response = base::JsonObject{{"patchType", "JSONPatch"}, {"patch", base::Base64Encode(patch)}};
    const auto applied = ApplyAnswer(object, response);
    return applied ? base::ToText(*applied) : "error";
  };
  EXPECT_EQ(patched(R"([{"op":"replace","path":"/metadata/name","value":"test-patched"}])"),
            R"({"metadata":{"name":"test-patched"}})")
      << "I16";
  EXPECT_EQ(patched("[]"), base::ToText(object)) << "I17";
  EXPECT_EQ(patched(""), base::ToText(object));
  EXPECT_EQ(patched("nonsense"), "error");
  EXPECT_FALSE(ApplyAnswer(object, Yaml("{patch: '%%'}")));
}

TEST(InterpreterProtocolTest, I19AndI20TheFirstOfTheHooksThatMatch) {
  const auto configuration = [](const std::string& name, const std::string& kinds, const std::string& operations) {
    return Yaml("{metadata: {name: " + name + "}, webhooks: [{name: hook, rules: [{operations: " + operations +
                ", apiGroups: ['*'], apiVersions: ['*'], kinds: " + kinds + "}]}]}");
  };
  const std::vector<Json> two{configuration("hook-2", "['*']", "['*']"), configuration("hook-1", "['*']", "['*']")};
  EXPECT_EQ(FindHook(two, "example.org/v1", "Engine", kRetain)->id, "hook-1/hook") << "I19";
  const std::vector<Json> one{configuration("a", "[Engine]", "[Retain]")};
  EXPECT_TRUE(FindHook(one, "example.org/v1", "Engine", kRetain));
  EXPECT_FALSE(FindHook(one, "example.org/v1", "Wheel", kRetain)) << "I20";
  EXPECT_FALSE(FindHook(one, "example.org/v1", "Engine", kInterpretHealth)) << "I20";
}

TEST(InterpreterProtocolTest, WhatIsAskedHasTheShapeThatWebhooksExpect) {
  const Json object = Yaml("{apiVersion: example.org/v1, kind: Engine, metadata: {name: e, namespace: d}}");
  EXPECT_EQ(base::CanonicalText(MakeContext({.operation = kReviseReplica, .object = &object, .replicas = 2}, "u")),
            R"({"apiVersion":"config.karmada.io/v1alpha1","kind":"ResourceInterpreterContext","request":{)"
            R"("kind":{"group":"example.org","kind":"Engine","version":"v1"},"name":"e","namespace":"d",)"
            R"("object":{"apiVersion":"example.org/v1","kind":"Engine","metadata":{"name":"e","namespace":"d"}},)"
            R"("operation":"ReviseReplica","replicas":2,"uid":"u"}})");
  const Json retain = MakeContext({.operation = kRetain, .object = &object, .observed = &object}, "u");
  EXPECT_NE(base::Find(retain, {"request", "observedObject"}), nullptr);
}

/// Interprets the kind Engine by a webhook that answers what it is told to, and notes what it was asked.
class HookedInterpreterTest : public ::testing::Test {
 protected:
  HookedInterpreterTest()
      : interpreter_([this](const Json&, const Json& context) -> base::Result<Json> {
          asked_ = context;
          if (down_) return base::Fail(base::Code::kUnavailable, "connection refused");
          Json response = Yaml(answer_);
          base::Ensure(response, {"uid"}) = *base::Find(context, {"request", "uid"});
          return base::JsonObject{{"response", std::move(response)}};
        }) {
    interpreter_.SetConfigurations(
        {Yaml(R"({metadata: {name: a}, webhooks: [{name: hook, interpreterContextVersions: [v1alpha1],
        rules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], kinds: [Engine, Deployment]}]}]})")});
  }
  /// An answer with these fields that it succeeds with.
  void Answer(const std::string& fields) { answer_ = "{successful: true" + fields + "}"; }
  void AnswerPatch(const std::string& patch) { Answer(", patchType: JSONPatch, patch: '" + base::Base64Encode(patch) + "'"); }
  std::string Asked(const char* field) const {
    const Json* value = base::Find(asked_, {"request", field});
    return value == nullptr ? "absent" : base::CanonicalText(*value);
  }

  bool down_ = false;
  std::string answer_;
  Json asked_;
  Interpreter interpreter_;
  const Json engine_ =
      Yaml("{apiVersion: example.org/v1, kind: Engine, metadata: {name: e}, spec: {size: 3}, status: {up: 1}}");
  const Json wheel_ = Yaml("{apiVersion: example.org/v1, kind: Wheel, metadata: {name: w}, spec: {size: 3}, status: {up: 1}}");
};

TEST_F(HookedInterpreterTest, EveryOperationIsTheHooks) {
  Answer(", replicas: 3, replicaRequirements: {resourceRequest: {cpu: '1'}}");
  const auto demand = interpreter_.Replicas(engine_);
  ASSERT_TRUE(demand && *demand);
  EXPECT_EQ((*demand)->replicas, 3);
  EXPECT_EQ(base::CanonicalText((*demand)->requirements), R"({"resourceRequest":{"cpu":"1"}})");
  EXPECT_EQ(Asked("operation"), R"("InterpretReplica")");
  EXPECT_EQ(Asked("replicas"), "0");

  AnswerPatch(R"([{"op":"replace","path":"/spec/size","value":2}])");
  EXPECT_EQ(base::FindInt(*interpreter_.Revise(engine_, 2), {"spec", "size"}), 2);
  EXPECT_EQ(Asked("operation") + Asked("replicas"), R"("ReviseReplica"2)");
  EXPECT_EQ(base::FindInt(*interpreter_.Retain(engine_, wheel_), {"spec", "size"}), 2);
  EXPECT_EQ(Asked("operation"), R"("Retain")");
  EXPECT_EQ(Asked("observedObject"), base::CanonicalText(wheel_));

  Answer(", rawStatus: {up: 7}");
  EXPECT_EQ(base::CanonicalText(*interpreter_.Status(engine_)), R"({"up":7})");
  EXPECT_EQ(Asked("operation") + Asked("observedObject"), R"("InterpretStatus"absent)");
  Answer(", healthy: false");
  EXPECT_EQ(interpreter_.Health(engine_), "Unhealthy");
  Answer(", healthy: true");
  EXPECT_EQ(interpreter_.Health(engine_), "Healthy");
  Answer(", dependencies: [{apiVersion: v1, kind: Secret, namespace: d, name: s}]");
  EXPECT_EQ(interpreter_.Dependencies(engine_)->size(), 1u);

  AnswerPatch(R"([{"op":"replace","path":"/status/up","value":9},{"op":"replace","path":"/spec/size","value":9}])");
  const auto status = interpreter_.Aggregate(engine_, {Yaml("{clusterName: m1, status: {up: 9}}")});
  ASSERT_TRUE(status && *status);
  EXPECT_EQ(base::CanonicalText(**status), R"({"up":9})") << "only the status of what is patched";
  EXPECT_EQ(Asked("aggregatedStatus"), R"([{"clusterName":"m1","status":{"up":9}}])");
}

TEST_F(HookedInterpreterTest, AHookGoesBeforeWhatIsKnownOfTheKind) {
  const Json web = Yaml("{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: 4}}");
  Answer(", replicas: 9");
  EXPECT_EQ((*interpreter_.Replicas(web))->replicas, 9);
  interpreter_.SetConfigurations({});
  EXPECT_EQ((*interpreter_.Replicas(web))->replicas, 4);
}

TEST_F(HookedInterpreterTest, WhatNobodyKnowsHasNoReplicasAndIsHealthy) {
  EXPECT_FALSE(*interpreter_.Replicas(wheel_));
  EXPECT_EQ(*interpreter_.Revise(wheel_, 2), wheel_);
  EXPECT_EQ(*interpreter_.Retain(wheel_, engine_), wheel_);
  EXPECT_EQ(base::CanonicalText(*interpreter_.Status(wheel_)), R"({"up":1})");
  EXPECT_EQ(interpreter_.Health(wheel_), "Healthy");
  EXPECT_TRUE(interpreter_.Dependencies(wheel_)->empty());
  EXPECT_FALSE(*interpreter_.Aggregate(wheel_, {}));
  EXPECT_TRUE(asked_.is_null());
}

TEST_F(HookedInterpreterTest, AHookThatIsAwayOrAnswersNonsenseIsAnErrorAndNeverAGuess) {
  for (const char* answer : {"down", "{successful: false, status: {code: 500, message: broken}}", "{successful: false}"}) {
    down_ = std::string_view(answer) == "down";
    answer_ = answer;
    EXPECT_FALSE(interpreter_.Replicas(engine_)) << answer;
    EXPECT_FALSE(interpreter_.Revise(engine_, 2)) << answer;
    EXPECT_FALSE(interpreter_.Retain(engine_, engine_)) << answer;
    EXPECT_FALSE(interpreter_.Status(engine_)) << answer;
    EXPECT_FALSE(interpreter_.Dependencies(engine_)) << answer;
    EXPECT_FALSE(interpreter_.Aggregate(engine_, {})) << answer;
    EXPECT_EQ(interpreter_.Health(engine_), "Unknown") << answer;
  }
}

// A webhook as others write them: over TLS, what it gets is checked and answered.
class HttpsTransportTest : public ::testing::Test {
 protected:
  HttpsTransportTest()
      : handler_([this](apiserver::HttpRequest request, std::unique_ptr<apiserver::Responder> responder) {
          seen_ = request.body;
          target_ = request.path;
          responder->Send(apiserver::testing::TextResponse(status_, answer_));
        }) {
    auto options = apiserver::testing::TlsServerOptions();
    options.client_ca_pem.clear();
    auto server = apiserver::HttpServer::Start(options, handler_);
    EXPECT_TRUE(server) << server.error().message();
    server_ = *std::move(server);
  }
  Json Webhook() const {
    const std::string ca = base::Base64Encode(apiserver::testing::TestCertificates::Get().authority.certificate_pem);
    return base::JsonObject{
        {"timeoutSeconds", 5},
        {"clientConfig",
         base::JsonObject{{"url", "https://127.0.0.1:" + std::to_string(server_->port()) + "/interpreter"}, {"caBundle", ca}}}};
  }

  int status_ = 200;
  std::string answer_ = R"({"response":{"uid":"a","successful":true}})", seen_, target_;
  apiserver::testing::LambdaHandler handler_;
  std::unique_ptr<apiserver::HttpServer> server_;
};

TEST_F(HttpsTransportTest, BringsTheQuestionAndTheAnswer) {
  const auto answer = NewHttpsTransport()(Webhook(), Yaml("{request: {uid: a}}"));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_TRUE(CheckAnswer(*answer, kRetain, "a"));
  EXPECT_EQ(seen_, R"({"request":{"uid":"a"}})");
  EXPECT_EQ(target_, "/interpreter");
}

TEST_F(HttpsTransportTest, WhatIsNoAnswerIsAnError) {
  const auto transport = NewHttpsTransport();
  answer_ = "no json";
  EXPECT_FALSE(transport(Webhook(), Yaml("{}")));
  status_ = 500;
  EXPECT_FALSE(transport(Webhook(), Yaml("{}")));
  Json other = Webhook();
  base::Ensure(other, {"clientConfig", "caBundle"}) = "";
  status_ = 200;
  answer_ = "{}";
  EXPECT_FALSE(transport(other, Yaml("{}"))) << "a certificate that nobody vouches for";
  EXPECT_TRUE(transport(Webhook(), Yaml("{}")));
  base::Ensure(other, {"clientConfig", "url"}) = "http://127.0.0.1:1/";
  EXPECT_EQ(transport(other, Yaml("{}")).error().code(), base::Code::kBadRequest);
  EXPECT_FALSE(transport(Yaml("{}"), Yaml("{}")));
}

}  // namespace
}  // namespace evenkeel::embedded::federation::interpreter_test
