// Webhooks that change what is written, and those of both kinds that choose by selector, by operation or by service.
#include "base/hash.h"
#include "embedded/apiserver/admission/admission_webhooks.h"
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::mutating_webhooks_test {
namespace {

using base::Find;
using base::FindString;
using base::Json;
namespace resources = kube::resources;

/// An API whose webhooks answer what the test says, by the path of their address.
class MutatingWebhooksTest : public ::testing::Test {
 protected:
  MutatingWebhooksTest() {
    EXPECT_TRUE(api.Start().has_value());
    client = NewInProcessClient(api, {.name = "tester", .groups = {"people"}});
  }
  base::Result<std::string> Answer(const WebhookPost& post) {
    asked.push_back(post);
    const Json review = ParseOrFail(post.body);
    const std::string path = post.url.substr(post.url.rfind('/') + 1);
    requests.push_back(path + " " + std::string(FindString(review, {"request", "operation"})));
    last = review.at("request");
    const auto found = answers.find(path);
    std::string answer = R"("allowed": true)";
    if (found != answers.end()) answer = found->second(last);
    return R"({"response": {"uid": ")" + std::string(FindString(review, {"request", "uid"})) + "\", " + answer + "}}";
  }
  static std::string Patched(const std::string& patch) {
    return R"("allowed": true, "patchType": "JSONPatch", "patch": ")" + base::Base64Encode(patch) + "\"";
  }
  // Hooks as "NAME" or "NAME EXTRA-FIELDS".
  base::Result<Json> Configure(const std::string& plural, const std::string& name, const std::vector<std::string>& hooks,
                               const std::string& rule = R"({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
                                                             "resources": ["configmaps"]})") {
    std::string list;
    for (const std::string& hook : hooks) {
      const size_t space = hook.find(' ');
      const std::string short_name = hook.substr(0, space);
      const std::string extra = space == hook.npos ? "" : hook.substr(space) + ",";
      const bool placed = extra.find("clientConfig") != extra.npos;
      list += (list.empty() ? "" : ",") + (R"({"name": ")" + short_name + ".example.org\"," + extra) +
              (placed ? "" : R"("clientConfig": {"url": "https://hook/)" + short_name + "\"},") +
              R"("sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [)" + rule + "]}";
    }
    const kube::Resource& kind = *kube::FindBuiltIn("admissionregistration.k8s.io", "v1", plural);
    return client->Create(kind, ParseOrFail(R"({"metadata": {"name": ")" + name + R"("}, "webhooks": [)" + list + "]}"));
  }
  base::Result<Json> Make(const std::string& name, const std::string& labels = "{}", const std::string& ns = "default") {
    return client->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata": {"name": ")" + name + R"(", "namespace": ")" +
                                                               ns + R"(", "labels": )" + labels + R"(}, "data": {"a": "1"}})"));
  }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  std::vector<WebhookPost> asked;
  std::vector<std::string> requests;
  Json last;
  std::map<std::string, std::function<std::string(const Json& request)>> answers;
  Api api{{.name = "test",
           .store = store.get(),
           .clock = &executor.clock(),
           .random = base::Random(7),
           .webhook_poster = [this](const WebhookPost& post) { return Answer(post); }}};
  std::unique_ptr<client::Client> client;
};

constexpr const char* kMutating = "mutatingwebhookconfigurations";
constexpr const char* kValidating = "validatingwebhookconfigurations";

TEST_F(MutatingWebhooksTest, ChangesWhatIsWrittenBeforeItIsJudged) {
  ASSERT_TRUE(Configure(kMutating, "m", {"change"}));
  ASSERT_TRUE(Configure(kValidating, "v", {"judge"}));
  answers["change"] = [](const Json&) {
    return Patched(R"([{"op": "add", "path": "/data/b", "value": "2"}, {"op": "add", "path": "/nonsense", "value": 1}])");
  };
  std::string judged;
  answers["judge"] = [&](const Json& request) {
    judged = base::ToText(*Find(request, {"object", "data"}));
    return R"("allowed": true)";
  };
  const auto made = Make("one");
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(FindString(*made, {"data", "b"}), "2");
  EXPECT_EQ(Find(*made, {"nonsense"}), nullptr);
  EXPECT_EQ(judged, R"({"a":"1","b":"2"})");
  EXPECT_EQ(requests, (std::vector<std::string>{"change CREATE", "judge CREATE"}));
  answers["change"] = [](const Json& request) {
    EXPECT_EQ(FindString(request, {"oldObject", "data", "b"}), "2");
    return Patched(R"([{"op": "replace", "path": "/data/a", "value": "9"}])");
  };
  const auto changed =
      client->Patch(resources::ConfigMaps(), "default", "one", client::PatchType::kMerge, ParseOrFail(R"({"data":{"c":"3"}})"));
  ASSERT_TRUE(changed) << changed.error().message();
  EXPECT_EQ(base::ToText(*Find(*changed, {"data"})), R"({"a":"9","b":"2","c":"3"})");
}

TEST_F(MutatingWebhooksTest, AsksAgainWhoWantsItOnceOthersHaveChanged) {
  ASSERT_TRUE(Configure(kMutating, "b", {"second"}));
  ASSERT_TRUE(Configure(kMutating, "a", {R"(first "reinvocationPolicy": "IfNeeded")", "quiet"}));
  answers["second"] = [](const Json&) { return Patched(R"([{"op": "add", "path": "/data/second", "value": "x"}])"); };
  ASSERT_TRUE(Make("one"));
  EXPECT_EQ(requests, (std::vector<std::string>{"first CREATE", "quiet CREATE", "second CREATE", "first CREATE"}));
  EXPECT_EQ(FindString(last, {"object", "data", "second"}), "x");
}

TEST_F(MutatingWebhooksTest, WhatItMakesIsValidatedAndItsDenialPassedOn) {
  ASSERT_TRUE(Configure(kMutating, "m", {"change"}));
  answers["change"] = [](const Json&) {
    return Patched(R"([{"op": "replace", "path": "/data", "value": {"no/slash": "x"}}])");
  };
  const auto invalid = Make("one");
  ASSERT_FALSE(invalid);
  EXPECT_EQ(invalid.error().code(), base::Code::kInvalid);
  answers["change"] = [](const Json&) { return Patched("no patch"); };
  EXPECT_FALSE(Make("two"));
  answers["change"] = [](const Json&) {
    return R"("allowed": false, "status": {"code": 409, "reason": "Conflict", "message": "taken", "details": {"name": "n",
              "causes": [{"reason": "R", "message": "why", "field": "data"}]}})";
  };
  const auto denied = Make("three");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code(), base::Code::kConflict);
  EXPECT_EQ(denied.error().message(), "admission webhook \"change.example.org\" denied the request: taken");
  ASSERT_NE(denied.error().details(), nullptr);
  EXPECT_EQ(denied.error().details()->causes.at(0).message, "why");
}

TEST_F(MutatingWebhooksTest, ConditionsSayWhoIsAsked) {
  const auto on = [](std::string_view name, std::string_view expression, std::string_view more = "") {
    return fmt::format(R"({} "matchConditions": [{{"name": "c", "expression": "{}"}}]{})", name, expression, more);
  };
  ASSERT_TRUE(Configure(kMutating, "m",
                        {on("change", "object.metadata.labels.app == 'web' && request.userInfo.username == 'tester'")}));
  ASSERT_TRUE(Configure(kValidating, "v",
                        {on("never", "false"), on("owner", "authorizer.requestResource.check('create').allowed()"),
                         on("lenient", "object.nope == 1", R"(, "failurePolicy": "Ignore")")}));
  ASSERT_TRUE(Make("one", R"({"app": "web"})"));
  EXPECT_EQ(requests, std::vector<std::string>{"change CREATE"}) << "the user has no right that a role gives";
  ASSERT_TRUE(Make("two", R"({"app": "other"})"));
  EXPECT_EQ(requests.size(), 1U);
  const auto failed = Make("three");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), base::Code::kForbidden);
  EXPECT_EQ(
      failed.error().message(),
      "configmaps \"three\" is forbidden: expression 'object.metadata.labels.app == 'web' && request.userInfo.username == "
      "'tester'' resulted in error: no such key: app");
}

TEST_F(MutatingWebhooksTest, DeletionsAreAskedAbout) {
  ASSERT_TRUE(Make("one"));
  ASSERT_TRUE(Make("two"));
  ASSERT_TRUE(Configure(kValidating, "v", {"judge"}, R"({"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"],
                                                        "resources": ["configmaps"]})"));
  answers["judge"] = [](const Json& request) {
    return FindString(request, {"oldObject", "metadata", "name"}) == "one"
               ? R"("allowed": false, "status": {"message": "stay"})"
               : R"("allowed": true)";
  };
  const auto refused = client->Delete(resources::ConfigMaps(), "default", "one");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "admission webhook \"judge.example.org\" denied the request: stay");
  EXPECT_TRUE(Find(last, {"object"})->is_null());
  EXPECT_EQ(FindString(last, {"options", "kind"}), "DeleteOptions");
  EXPECT_TRUE(client->Get(resources::ConfigMaps(), "default", "one"));
  EXPECT_TRUE(client->Delete(resources::ConfigMaps(), "default", "two"));
  EXPECT_TRUE(Make("three")) << "nobody asked about creations";
}

TEST_F(MutatingWebhooksTest, SelectorsChooseObjectsAndNamespaces) {
  ASSERT_TRUE(
      client->Create(resources::Namespaces(), ParseOrFail(R"({"metadata": {"name": "marked", "labels": {"on": "yes"}}})")));
  ASSERT_TRUE(Configure(kValidating, "n", {R"(spaces "namespaceSelector": {"matchLabels": {"on": "yes"}})"}));
  ASSERT_TRUE(Configure(kValidating, "o", {R"(objects "objectSelector": {"matchLabels": {"me": "too"}})"}));
  ASSERT_TRUE(Make("one"));
  EXPECT_TRUE(requests.empty());
  ASSERT_TRUE(Make("two", "{}", "marked"));
  EXPECT_EQ(requests, std::vector<std::string>{"spaces CREATE"});
  requests.clear();
  ASSERT_TRUE(Make("three", R"({"me": "too"})"));
  EXPECT_EQ(requests, std::vector<std::string>{"objects CREATE"});
  requests.clear();
  ASSERT_TRUE(client->Patch(resources::ConfigMaps(), "default", "three", client::PatchType::kMerge,
                            ParseOrFail(R"({"metadata":{"labels":{"me":null}}})")));
  EXPECT_EQ(requests, std::vector<std::string>{"objects UPDATE"}) << "what it was counts, too";
}

TEST_F(MutatingWebhooksTest, OtherVersionsOfAnObjectAreMeantUnlessExactlyOneIs) {
  const std::string rule = R"({"operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": ["v2"],
                               "resources": ["horizontalpodautoscalers"]})";
  ASSERT_TRUE(Configure(kMutating, "e", {"any", R"(exact "matchPolicy": "Exact")"}, rule));
  answers["any"] = [](const Json& request) {
    EXPECT_EQ(FindString(request, {"object", "apiVersion"}), "autoscaling/v2");
    EXPECT_EQ(FindString(request, {"resource", "version"}), "v2");
    EXPECT_EQ(FindString(request, {"requestResource", "version"}), "v1");
    return Patched(R"([{"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 33}])");
  };
  const auto made = client->Create(
      *kube::FindBuiltIn("autoscaling", "v1", "horizontalpodautoscalers"),
      ParseOrFail(
          R"({"metadata":{"name":"a","namespace":"default"},"spec":{"scaleTargetRef":{"kind":"D","name":"d"},"maxReplicas":2,
                      "targetCPUUtilizationPercentage":70}})"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(base::FindInt(*made, {"spec", "targetCPUUtilizationPercentage"}), 33);
  EXPECT_EQ(requests, std::vector<std::string>{"any CREATE"});
}

TEST_F(MutatingWebhooksTest, ServicesAreAskedWhereAProcessListens) {
  const std::string hook =
      R"(svc "clientConfig": {"service": {"namespace": "default", "name": "hook", "path": "/x", "port": 8443}})";
  ASSERT_TRUE(Configure(kValidating, "v", {hook}));
  ASSERT_TRUE(Make("one")) << "nobody could answer, and a warning says so";
  EXPECT_TRUE(asked.empty());
  ASSERT_TRUE(client->Create(resources::Services(), ParseOrFail(R"({"metadata": {"name": "hook", "namespace": "default"},
      "spec": {"ports": [{"name": "https", "port": 8443, "targetPort": 9443}]}})")));
  ASSERT_TRUE(client->Create(resources::Endpoints(), ParseOrFail(R"({"metadata": {"name": "hook", "namespace": "default"},
      "subsets": [{"addresses": [{"ip": "127.3.0.9"}], "ports": [{"name": "https", "port": 9443}]}]})")));
  ASSERT_TRUE(Make("two"));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].url, "https://hook.default.svc:8443/x");
  EXPECT_EQ(asked[0].address, "127.3.0.9:9443");
}

TEST_F(MutatingWebhooksTest, WhatIsNotCarriedOutIsSaid) {
  ApiHandler handler{api, {.executor = &executor, .git_version = "v1.36.0+evenkeel"}};
  const auto send = [&](const std::string& path, const std::string& body) {
    HttpRequest request = NewTestRequest("POST", path, body);
    request.user = {.name = "admin", .groups = {"system:masters"}};
    auto reply = std::make_shared<TestReply>();
    handler.Handle(std::move(request), std::make_unique<TestResponder>(reply));
    return *reply;
  };
  const std::string path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const std::string hook =
      R"({"name":"check.shop.example.org","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"n","name":"s"}})";
  const TestReply stored = send(path, R"({"metadata":{"name":"s"},"webhooks":[)" + hook + "}]}");
  EXPECT_EQ(stored.status, 201) << stored.body;
  EXPECT_EQ(stored.Header("Warning"),
            "299 - \"webhook \\\"check.shop.example.org\\\" is not asked: service n/s has no endpoint here that a process "
            "listens on\"");
  const TestReply refused = send(
      path, R"({"metadata":{"name":"c"},"webhooks":[)" + hook + R"(,"matchConditions":[{"name":"x","expression":"nope"}]}]})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(
      refused.message().find("webhooks[0].matchConditions[0].expression: Invalid value: \"nope\": compilation failed: ERROR: "
                             "<input>:1:1: undeclared reference to 'nope'"),
      std::string::npos)
      << refused.message();
  const TestReply crd =
      send("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
           R"({"metadata":{"name":"mangos.shop.example.org"},"spec":{"group":"shop.example.org","scope":"Namespaced",
    "names":{"plural":"mangos","kind":"Mango"},"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
    "clientConfig":{"service":{"namespace":"default","name":"mango","path":"/convert"}}}},"versions":[
    {"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
    {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  EXPECT_EQ(crd.status, 201) << crd.body;
  EXPECT_EQ(crd.Header("Warning"),
            "299 - \"spec.conversion.webhook is not asked, and objects of other versions than the stored one cannot be read: "
            "service default/mango has no endpoint here that a process listens on\"");
  EXPECT_EQ(FindString(crd.json(), {"spec", "conversion", "webhook", "clientConfig", "service", "path"}), "/convert");
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::mutating_webhooks_test
