#include "embedded/apiserver/admission/admission_webhooks.h"

#include "base/hash.h"
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::admission_webhooks_test {
namespace {

using base::FindString;
using base::Json;

/// An API whose webhook is a function of the test.
class AdmissionWebhooksTest : public ::testing::Test {
 protected:
  AdmissionWebhooksTest() {
    EXPECT_TRUE(api.Start().has_value());
    client = NewInProcessClient(api, {.name = "tester", .groups = {"people"}});
  }
  base::Result<std::string> Answer(const WebhookPost& post) {
    posts.push_back(post);
    const Json review = ParseOrFail(post.body);
    const std::string uid(FindString(review, {"request", "uid"}));
    if (!error.empty()) return base::Fail(base::Code::kTimeout, error);
    return R"({"response": {"uid": ")" + (wrong_uid ? "other" : uid) + "\", " + response + "}}";
  }
  Json LastRequest() { return ParseOrFail(posts.back().body).at("request"); }

  void Configure(const std::string& resources, const std::string& policy = "Fail", const std::string& name = "judge") {
    Json object = ParseOrFail(R"({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": ")" +
                              name +
                              R"("}, "webhooks": [{"name": "judge.example.org", "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "failurePolicy": ")" +
                              policy + R"(", "timeoutSeconds": 3, "clientConfig": {"url": "https://judge/x", "caBundle": ")" +
                              base::Base64Encode("PEM") + R"("}, "rules": [{"operations": ["*"], "apiGroups": [""],
        "apiVersions": ["v1"], "resources": )" +
                              resources + "}]}]}");
    const kube::Resource& kind = *kube::FindBuiltIn("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");
    const auto created = client->Create(kind, object);
    ASSERT_TRUE(created) << created.error().message();
  }
  base::Result<Json> Make(const std::string& name, const std::string& value = "1", bool dry_run = false) {
    client::WriteOptions options;
    options.dry_run = dry_run;
    return client->Create(kube::resources::ConfigMaps(), Map(name, value), options);
  }
  static Json Map(const std::string& name, const std::string& value) {
    return ParseOrFail(R"({"metadata": {"name": ")" + name + R"(", "namespace": "default"}, "data": {"a": ")" + value + "\"}}");
  }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  std::vector<WebhookPost> posts;
  std::string response = R"("allowed": true)", error;
  bool wrong_uid = false;
  Api api{{.name = "test",
           .store = store.get(),
           .clock = &executor.clock(),
           .random = base::Random(7),
           .webhook_poster = [this](const WebhookPost& post) { return Answer(post); }}};
  std::unique_ptr<client::Client> client;
};

TEST_F(AdmissionWebhooksTest, OnlyMatchingWritesAreAsked) {
  Configure(R"(["configmaps"])");
  ASSERT_TRUE(Make("one"));
  ASSERT_EQ(posts.size(), 1u);
  EXPECT_EQ(posts[0].url, "https://judge/x");
  EXPECT_EQ(posts[0].ca_pem, "PEM");
  EXPECT_EQ(posts[0].timeout, std::chrono::seconds(3));
  Json request = LastRequest();
  EXPECT_EQ(FindString(request, {"operation"}), "CREATE");
  EXPECT_EQ(FindString(request, {"resource", "resource"}), "configmaps");
  EXPECT_EQ(FindString(request, {"namespace"}), "default");
  EXPECT_EQ(FindString(request, {"userInfo", "username"}), "tester");
  EXPECT_EQ(FindString(request, {"object", "data", "a"}), "1");
  EXPECT_TRUE(request.at("oldObject").is_null());
  ASSERT_TRUE(client->Update(kube::resources::ConfigMaps(), Map("one", "2")));
  request = LastRequest();
  EXPECT_EQ(FindString(request, {"operation"}), "UPDATE");
  EXPECT_EQ(FindString(request, {"object", "data", "a"}), "2");
  EXPECT_EQ(FindString(request, {"oldObject", "data", "a"}), "1");
  ASSERT_TRUE(client->Create(kube::resources::Namespaces(), kube::NewObject(kube::resources::Namespaces(), "", "other")));
  EXPECT_EQ(posts.size(), 2u);
  ASSERT_TRUE(client->Delete(kube::resources::ConfigMaps(), "default", "one"));
  ASSERT_EQ(posts.size(), 3u);
  EXPECT_EQ(FindString(LastRequest(), {"operation"}), "DELETE");
}

TEST_F(AdmissionWebhooksTest, ARefusalIsTheAnswerAndNothingIsWritten) {
  ASSERT_TRUE(Make("one"));
  Configure(R"(["*"])");
  response = R"("allowed": false, "status": {"code": 422, "reason": "Invalid", "message": "no such thing"})";
  const auto made = Make("two");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), base::Code::kInvalid);
  EXPECT_EQ(made.error().message(), "admission webhook \"judge.example.org\" denied the request: no such thing");
  EXPECT_FALSE(client->Get(kube::resources::ConfigMaps(), "default", "two"));
  response = R"("allowed": false)";
  const auto updated = client->Update(kube::resources::ConfigMaps(), Map("one", "2"));
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().code(), base::Code::kForbidden);
  EXPECT_EQ(updated.error().message(), "admission webhook \"judge.example.org\" denied the request without explanation");
  EXPECT_EQ(FindString(*client->Get(kube::resources::ConfigMaps(), "default", "one"), {"data", "a"}), "1");
  EXPECT_FALSE(Make("three", "1", true)) << "dry runs are judged, too";
}

TEST_F(AdmissionWebhooksTest, WithoutAnAnswerTheFailurePolicyDecides) {
  Configure(R"(["configmaps"])");
  error = "took too long";
  const auto made = Make("one");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), base::Code::kInternal);
  EXPECT_EQ(made.error().message(), "Internal error occurred: failed calling webhook \"judge.example.org\": took too long");
  error.clear();
  wrong_uid = true;
  EXPECT_FALSE(Make("one"));
  const kube::Resource& kind = *kube::FindBuiltIn("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");
  ASSERT_TRUE(client->Delete(kind, "", "judge"));
  Configure(R"(["configmaps"])", "Ignore");
  EXPECT_TRUE(Make("one"));
}

TEST_F(AdmissionWebhooksTest, SubresourcesAreNamedApart) {
  Configure(R"(["pods/status"])");
  Json pod = ParseOrFail(R"({"metadata": {"name": "p", "namespace": "default"},
                             "spec": {"containers": [{"name": "c", "image": "i"}]}})");
  ASSERT_TRUE(client->Create(kube::resources::Pods(), pod));
  EXPECT_TRUE(posts.empty());
  base::Ensure(pod, {"status", "phase"}) = "Running";
  client::WriteOptions options;
  options.subresource = "status";
  ASSERT_TRUE(client->Update(kube::resources::Pods(), pod, options));
  ASSERT_EQ(posts.size(), 1u);
  EXPECT_EQ(FindString(LastRequest(), {"subResource"}), "status");
}

TEST_F(AdmissionWebhooksTest, WarningsReachTheClient) {
  Configure(R"(["configmaps"])");
  response = R"("allowed": true, "warnings": ["think again"])";
  ApiHandler handler{api, {.executor = &executor, .git_version = "v1.36.0+evenkeel"}};
  HttpRequest request;
  request.method = "POST";
  request.path = "/api/v1/namespaces/default/configmaps";
  request.headers = {{"content-type", "application/json"}};
  request.body = base::ToText(Map("one", "1"));
  request.user = {.name = "admin", .groups = {"system:masters"}};
  auto reply = std::make_shared<TestReply>();
  handler.Handle(std::move(request), std::make_unique<TestResponder>(reply));
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->Header("Warning"), "299 - \"think again\"");
}

TEST_F(AdmissionWebhooksTest, ConfigurationsOutliveTheServerAndCanAlwaysBeChanged) {
  Configure(R"(["*/*"])");
  response = R"("allowed": false)";
  Api second{{.name = "second",
              .store = store.get(),
              .clock = &executor.clock(),
              .random = base::Random(8),
              .webhook_poster = [this](const WebhookPost& post) { return Answer(post); }}};
  ASSERT_TRUE(second.Start());
  const auto other = NewInProcessClient(second, {.name = "tester", .groups = {}});
  EXPECT_FALSE(other->Create(kube::resources::ConfigMaps(), Map("one", "1")));
  const kube::Resource& kind = *kube::FindBuiltIn("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");
  EXPECT_TRUE(other->Patch(kind, "", "judge", client::PatchType::kMerge, ParseOrFail(R"({"webhooks": []})")));
  EXPECT_TRUE(Make("one"));
}

TEST(PostToWebhookTest, OnlySecureAddressesAreAsked) {
  const auto plain =
      PostToWebhook({.url = "http://127.0.0.1:1/x", .ca_pem = "", .body = "{}", .timeout = std::chrono::seconds(1)});
  ASSERT_FALSE(plain);
  EXPECT_NE(plain.error().message().find("https://"), std::string::npos);
  EXPECT_FALSE(PostToWebhook({.url = "nonsense", .ca_pem = "", .body = "{}", .timeout = std::chrono::seconds(1)}));
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::admission_webhooks_test
