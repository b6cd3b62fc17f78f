#include "embedded/federation/interpreter.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/yaml.h"
#include "embedded/apiserver/http_testing.h"

// Numbers (I01 ...) are those of cases that Karmada's own tests have.
namespace evenkeel::embedded::federation {
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
    EXPECT_EQ(*ContextVersion(Yaml(std::string("{interpreterContextVersions: ") + versions + "}")), "v1alpha1");
  for (const char* versions : {"[v2]", "[]"}) {
    const auto version = ContextVersion(Yaml(std::string("{interpreterContextVersions: ") + versions + "}"));
    ASSERT_FALSE(version);
    EXPECT_EQ(version.error().message(), "webhook does not accept known ResourceInterpreterContext versions (v1alpha1)");
  }
}

TEST(InterpreterProtocolTest, I03ToI05AnswersAsAWhole) {
  EXPECT_EQ(CheckAnswer(Yaml("{}"), kInterpretReplica, "a").error().message(), "webhook response was absent");
  EXPECT_EQ(Check("{uid: b, successful: true}", kInterpretReplica), "expected response.uid \"a\", got \"b\"");
  EXPECT_EQ(Check("{uid: a, successful: false}", kInterpretReplica),
            "webhook require response.status when response.successful is false");
  const std::string refused = Check("{uid: a, successful: false, status: {code: 400, message: what}}", kInterpretReplica);
  EXPECT_NE(refused.find("what"), std::string::npos);
  EXPECT_NE(refused.find("400"), std::string::npos);
}

TEST(InterpreterProtocolTest, I06ToI09WhatEachOperationNeeds) {
  const std::string fine = "{uid: a, successful: true";
  EXPECT_EQ(Check(fine + "}", kInterpretReplica), "webhook returned nil response.replicas");
  EXPECT_EQ(Check(fine + ", replicas: 3}", kInterpretReplica), "fine");
  EXPECT_EQ(Check(fine + "}", kInterpretHealth), "webhook returned nil response.healthy");
  EXPECT_EQ(Check(fine + ", healthy: false}", kInterpretHealth), "fine");
  EXPECT_EQ(Check(fine + "}", kInterpretStatus), "webhook returned nil response.rawStatus");
  EXPECT_EQ(Check(fine + "}", "InterpretComponent"), "fine");
  EXPECT_EQ(Check(fine + ", dependencies: [{apiVersion: v1, kind: Secret, name: s}]}", kInterpretDependency), "fine");
  EXPECT_NE(Check(fine + ", dependencies: [{apiVersion: v1, kind: Secret}]}", kInterpretDependency), "fine");
  EXPECT_EQ(Check(fine + "}", "Unknown"), "input wrong operation type: Unknown");
}

TEST(InterpreterProtocolTest, I10ToI14Patches) {
  const std::string fine = "{uid: a, successful: true";
  for (const char* operation : {kReviseReplica, kRetain, kAggregateStatus}) {
    EXPECT_EQ(Check(fine + ", patchType: JSONPatch, patch: W10=}", operation), "fine");
    EXPECT_EQ(Check(fine + "}", operation), "fine");
    EXPECT_EQ(Check(fine + ", patch: W10=}", operation), "webhook returned nil response.patchType");
    EXPECT_EQ(Check(fine + ", patchType: JSONPatch}", operation), "webhook returned empty response.patch");
    EXPECT_EQ(Check(fine + ", patchType: Merge, patch: W10=}", operation),
              "webhook returned invalid response.patchType of \"Merge\"");
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
            R"({"metadata":{"name":"test-patched"}})");
  EXPECT_EQ(patched("[]"), base::ToText(object));
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
  EXPECT_EQ(FindHook(two, "example.org/v1", "Engine", kRetain)->id, "hook-1/hook");
  const std::vector<Json> one{configuration("a", "[Engine]", "[Retain]")};
  EXPECT_TRUE(FindHook(one, "example.org/v1", "Engine", kRetain));
  EXPECT_FALSE(FindHook(one, "example.org/v1", "Wheel", kRetain));
  EXPECT_FALSE(FindHook(one, "example.org/v1", "Engine", kInterpretHealth));
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

// A webhook as others write them: over TLS, what it gets is checked and answered.
class HttpsTransportTest : public testing::Test {
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
}  // namespace evenkeel::embedded::federation
