#include "embedded/apiserver/api/api_testing.h"
#include "embedded/apiserver/requests/request_info.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver::handler_test {
namespace {

using base::Json;

class HandlerTest : public ApiFixture {};

TEST_F(HandlerTest, SaysWhatDoesNotExist) {
  for (const char* path :
       {"/nope", "/api/v1/nopes", "/apis/apps/v9/deployments", "/api/v2", "/api/v1/namespaces/default/pods/a/b/c/d",
        "/api/v1/pods/x/status", "/apis/nope.example.com", "/api/v1/namespaces/default/nodes"}) {
    const TestReply reply = Send("GET", path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_EQ(reply.message(), "the server could not find the requested resource") << path;
  }
  EXPECT_EQ(Send("GET", "/api/v1/namespaces/default/pods/x").message(), "pods \"x\" not found");
  EXPECT_EQ(Send("PUT", "/api/v1/namespaces/default/pods", "{}").status, 405);
  EXPECT_EQ(Send("POST", "/api/v1/pods", "{}").status, 405);
  EXPECT_EQ(Send("GET", "/api/v1/pods%zz").status, 400);
}

TEST_F(HandlerTest, TellsWhatItServes) {
  const Json groups = Send("GET", "/apis").json();
  std::set<std::string> names;
  for (const Json& group : base::FindArray(groups, {"groups"})) names.emplace(base::FindString(group, {"name"}));
  for (const char* name : {"apps", "batch", "policy", "coordination.k8s.io", "apiextensions.k8s.io", "events.k8s.io"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  const Json core = Send("GET", "/api/v1").json();
  EXPECT_EQ(base::FindString(core, {"groupVersion"}), "v1");
  const Json* eviction = nullptr;
  for (const Json& resource : base::FindArray(core, {"resources"})) {
    if (base::FindString(resource, {"name"}) == "pods/eviction") eviction = &resource;
  }
  ASSERT_NE(eviction, nullptr);
  EXPECT_EQ(base::FindString(*eviction, {"group"}), "policy");
  EXPECT_EQ(base::FindString(*eviction, {"kind"}), "Eviction");
  EXPECT_EQ(base::FindString(Send("GET", "/apis/apps").json(), {"preferredVersion", "groupVersion"}), "apps/v1");
  EXPECT_EQ(base::FindString(Send("GET", "/api").json(), {"kind"}), "APIVersions");
}

TEST_F(HandlerTest, OffersAggregatedDiscovery) {
  const TestReply reply =
      Send("GET", "/apis", "",
           {{"accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}});
  EXPECT_EQ(reply.content_type, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_EQ(base::FindString(reply.json(), {"apiVersion"}), "apidiscovery.k8s.io/v2");
  EXPECT_FALSE(base::FindArray(reply.json(), {"items"}).empty());
}

TEST_F(HandlerTest, NegotiatesTheFormOfAnswers) {
  CreatePod("web");
  const std::string path = "/api/v1/namespaces/default/pods/web";
  EXPECT_EQ(Send("GET", path, "", {{"accept", "text/html"}}).status, 406);
  EXPECT_EQ(Send("GET", path, "", {{"accept", "text/html,application/json"}}).status, 200);
  EXPECT_NE(Send("GET", path, "", {{"accept", "application/yaml"}}).body.find("kind: Pod\n"), std::string::npos);
  const Json partial =
      Send("GET", path, "", {{"accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}}).json();
  EXPECT_EQ(base::FindString(partial, {"kind"}), "PartialObjectMetadata");
  EXPECT_EQ(base::Find(partial, {"spec"}), nullptr);
  EXPECT_EQ(base::FindString(partial, {"metadata", "name"}), "web");
  const Json list =
      Send("GET", "/api/v1/pods", "", {{"accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}}).json();
  EXPECT_EQ(base::FindString(list, {"kind"}), "PartialObjectMetadataList");
}

TEST_F(HandlerTest, WarnsOfUnknownFieldsOrRefusesThem) {
  const std::string body =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"foo":1,"containers":[{"name":"c","image":"x"}]}})";
  const TestReply warned = Send("POST", "/api/v1/namespaces/default/pods?fieldValidation=Warn", body);
  EXPECT_EQ(warned.status, 201) << warned.body;
  EXPECT_EQ(warned.Header("Warning"), "299 - \"unknown field \\\"spec.foo\\\"\"");
  const TestReply refused = Send("POST", "/api/v1/namespaces/default/pods?fieldValidation=Strict", body);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(),
            "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \"spec.foo\"");
  const TestReply silent = Send("POST", "/api/v1/namespaces/default/pods?fieldValidation=Ignore&dryRun=All",
                                R"({"metadata":{"name":"b"},"spec":{"foo":1,"containers":[{"name":"c","image":"x"}]}})");
  EXPECT_EQ(silent.Header("Warning"), "");
}

TEST_F(HandlerTest, WarnsAHundredTimesAtMost) {
  std::string fields;
  for (int i = 0; i < 150; ++i) fields += (i > 0 ? ",\"f" : "\"f") + std::to_string(i) + "\":1";
  const TestReply warned = Send("POST", "/api/v1/namespaces/default/configmaps?fieldValidation=Warn",
                                R"({"metadata":{"name":"many"},)" + fields + "}");
  EXPECT_EQ(warned.status, 201) << warned.body;
  EXPECT_EQ(std::ranges::count(warned.headers, "Warning", &std::pair<std::string, std::string>::first), 100);
}

TEST_F(HandlerTest, ChecksBodyAndPathAgainstEachOther) {
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/pods", R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}})")
                .status,
            400);
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/pods", R"({"metadata":{"name":"a","namespace":"other"}})").message(),
            "the namespace of the provided object does not match the namespace sent on the request");
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/pods", "{").status, 400);
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/pods", "[]").status, 400);
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/pods", "{}", {{"content-type", "application/cbor"}}).status, 415);
  EXPECT_EQ(Patch("/api/v1/namespaces/default/pods/a", "text/plain", "{}").status, 415);
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/pods", std::string(4u << 20, ' ')).status, 413);
  CreatePod("web");
  EXPECT_EQ(Send("PUT", "/api/v1/namespaces/default/pods/web", R"({"metadata":{"name":"other"}})").message(),
            "the name of the object (other) does not match the name on the URL (web)");
}

TEST_F(HandlerTest, WalksTheCycleThatKubectlWalks) {
  const std::string base_path = "/apis/apps/v1/namespaces/default/deployments";
  const TestReply made = Send("POST", base_path + "?fieldManager=kubectl-create&fieldValidation=Strict",
                              R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","creationTimestamp":null},
    "spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},"strategy":{},"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"web"}},
    "spec":{"containers":[{"name":"c","image":"nginx","resources":{}}]}}},"status":{}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const TestReply scaled = Patch(base_path + "/web/scale", "application/merge-patch+json", R"({"spec":{"replicas":3}})");
  EXPECT_EQ(scaled.status, 200) << scaled.body;
  EXPECT_EQ(base::FindInt(scaled.json(), {"spec", "replicas"}), 3);
  EXPECT_EQ(Patch(base_path + "/web", "application/strategic-merge-patch+json",
                  R"({"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}})")
                .status,
            200);
  const TestReply gone = Send("DELETE", base_path + "/web", R"({"propagationPolicy":"Background"})");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(base::FindString(gone.json(), {"status"}), "Success");
  EXPECT_EQ(base::FindString(gone.json(), {"details", "name"}), "web");
}

TEST_F(HandlerTest, WatchesInTheFormOfOldClients) {
  CreatePod("a");
  CreatePod("b");
  for (const auto& [path, events] : std::vector<std::pair<std::string, size_t>>{{"/api/v1/watch/pods", 2},
                                                                                {"/api/v1/watch/namespaces/default/pods", 2},
                                                                                {"/api/v1/watch/namespaces/default/pods/a", 1},
                                                                                {"/api/v1/watch/namespaces/other/pods", 0},
                                                                                {"/api/v1/watch/namespaces/default", 1},
                                                                                {"/apis/apps/v1/watch/deployments", 0}}) {
    const TestReply reply = Send("GET", path + "?timeoutSeconds=10000000000");
    ASSERT_NE(reply.stream, nullptr) << path;
    EXPECT_EQ(reply.stream->TakeEvents().size(), events) << path;
    EXPECT_FALSE(reply.stream->closed) << path;
    reply.stream->Close();
  }
  EXPECT_EQ(Send("DELETE", "/api/v1/watch/namespaces/default/pods/a").status, 405);
  EXPECT_EQ(Send("GET", "/api/v1/namespaces/default/pods/a").status, 200);
}

TEST_F(HandlerTest, SaysWhatItChecksWhenItIsAskedHowItIs) {
  EXPECT_EQ(Send("GET", "/readyz").body, "ok");
  EXPECT_EQ(Send("GET", "/readyz?verbose").body,
            "[+]ping ok\n[+]descriptors ok\n[+]informer-sync ok\n[+]store ok\nreadyz check passed\n");
  EXPECT_EQ(Send("GET", "/readyz?verbose&exclude=store").body,
            "[+]ping ok\n[+]descriptors ok\n[+]informer-sync ok\nreadyz check passed\n");
  EXPECT_EQ(Send("GET", "/livez?verbose=1").body, "[+]ping ok\nlivez check passed\n");
  EXPECT_EQ(Send("GET", "/readyz/store?verbose").body, "[+]store ok\nreadyz check passed\n");
  EXPECT_EQ(Send("GET", "/healthz/ping").body, "ok");
  for (const char* path : {"/readyz/nope", "/livez/store", "/readyz/store/x"}) EXPECT_EQ(Send("GET", path).status, 404) << path;
}

TEST_F(HandlerTest, SaysThatNobodyReachesIntoContainers) {
  CreatePod("p");
  const std::string pod = "/api/v1/namespaces/default/pods/p/";
  for (const auto& [method, path] :
       std::vector<std::pair<std::string, std::string>>{{"POST", pod + "exec"},
                                                        {"GET", pod + "exec?command=sh"},
                                                        {"POST", pod + "attach"},
                                                        {"POST", pod + "portforward"},
                                                        {"GET", pod + "proxy/x/y"},
                                                        {"PATCH", pod + "ephemeralcontainers"},
                                                        {"GET", "/api/v1/nodes/n/proxy/metrics"},
                                                        {"GET", "/api/v1/namespaces/default/services/s:http/proxy"}}) {
    const TestReply reply = Send(method, path);
    EXPECT_EQ(reply.status, 405) << path;
    EXPECT_NE(reply.message().find("is not offered by this API server"), std::string::npos) << reply.message();
  }
}

TEST_F(HandlerTest, DeleteOptionsThatAreNotUnderstoodDeleteNothing) {
  CreatePod("p");
  const std::string pod = "/api/v1/namespaces/default/pods/p";
  for (const char* options :
       {R"({"preconditions":{"uid":5}})", R"({"preconditions":["x"]})", R"({"preconditions":{"resourceVersion":1}})",
        R"({"gracePeriodSeconds":"soon"})", R"({"gracePeriodSeconds":1.5})", R"({"propagationPolicy":1})",
        R"({"orphanDependents":"no"})", R"({"dryRun":"All"})", R"({"dryRun":["Some"]})", R"([])", R"(5)"}) {
    EXPECT_EQ(Send("DELETE", pod, options).status, 400) << options;
    const std::string eviction =
        R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"},"deleteOptions":)" + std::string(options) + "}";
    EXPECT_EQ(Send("POST", pod + "/eviction", eviction).status, 400) << options;
  }
  EXPECT_EQ(Send("GET", pod).status, 200);
  EXPECT_EQ(Send("DELETE", pod, R"({"preconditions":null,"dryRun":["All"],"gracePeriodSeconds":0})").status, 200);
  EXPECT_EQ(Send("GET", pod).status, 200);
  EXPECT_EQ(Send("DELETE", pod, R"({"gracePeriodSeconds":0,"unknown":1})").status, 200);
  EXPECT_EQ(Send("GET", pod).status, 404);
}

TEST_F(HandlerTest, PatchesAndPathsAreBounded) {
  ASSERT_EQ(Send("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"m"},"data":{"a":"b"}})").status, 201);
  const std::string map = "/api/v1/namespaces/default/configmaps/m";
  const std::map<std::string, std::string> json_patch{{"content-type", "application/json-patch+json"}};
  std::string doubling = "[", many = "[";
  for (int i = 0; i < 40; ++i)
    doubling += R"({"op":"copy","from":"/metadata","path":"/metadata/x)" + std::to_string(i) + R"("},)";
  for (int i = 0; i < 10'000; ++i) many += R"({"op":"test","path":"/data/a","value":"b"},)";
  const std::string last = R"({"op":"test","path":"/data/a","value":"b"}])";
  EXPECT_EQ(Send("PATCH", map, doubling + last, json_patch).status, 422);
  EXPECT_EQ(Send("PATCH", map, many + last, json_patch).status, 413);
  EXPECT_EQ(Send("GET", "/api/v1/namespaces/default/pods/%ff").status, 400);
  EXPECT_EQ(Send("GET", "/api/v1/namespaces/default/pods?labelSelector=%ff").status, 400);
}

TEST_F(HandlerTest, GivesOpenApiInEveryFormKubectlAsksFor) {
  const TestReply v2 = Send("GET", "/openapi/v2");
  EXPECT_EQ(v2.status, 200);
  EXPECT_NE(base::Find(v2.json(), {"definitions", "io.k8s.api.core.v1.Pod"}), nullptr);
  const TestReply cached = Send("GET", "/openapi/v2", "", {{"if-none-match", v2.Header("ETag")}});
  EXPECT_EQ(cached.status, 304);
  const TestReply protobuf =
      Send("GET", "/openapi/v2", "", {{"accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}});
  EXPECT_EQ(protobuf.content_type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  EXPECT_FALSE(protobuf.body.empty());
  const Json index = Send("GET", "/openapi/v3").json();
  const std::string url(base::FindString(index, {"paths", "apis/apps/v1", "serverRelativeURL"}));
  EXPECT_TRUE(url.starts_with("/openapi/v3/apis/apps/v1?hash=")) << url;
  EXPECT_EQ(Send("GET", url).status, 200);
  EXPECT_EQ(Send("GET", "/openapi/v3/apis/nope/v1").status, 404);
}

TEST_F(HandlerTest, StoresNothingThatIsNotUtf8) {
  const std::string path = "/api/v1/namespaces/default/configmaps/c?fieldManager=";
  const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"k)";
  EXPECT_EQ(Patch(path + "%C3", "application/apply-patch+yaml", body + "\":\"v\"}}").status, 400);
  EXPECT_EQ(Patch(path + "m", "application/apply-patch+yaml", body + "\xD1\":\"v\"}}").status, 400);
  EXPECT_EQ(Patch(path + "m", "application/apply-patch+yaml", body + "\":\"v\"}}").status, 201);
}

TEST_F(HandlerTest, CountsRequests) {
  Send("GET", "/api/v1/pods");
  const TestReply page = Send("GET", "/metrics");
  EXPECT_NE(page.body.find("apiserver_request_total{code=\"200\",resource=\"pods\",verb=\"LIST\"} 1"), std::string::npos)
      << page.body;
  EXPECT_NE(page.body.find("evenkeel_store_revision"), std::string::npos);
}

TEST_F(HandlerTest, ReadsRawPathsInProcess) {
  CreatePod("web");
  const auto reader = NewInProcessClient(api, user);
  const auto version = reader->GetRaw("/version");
  ASSERT_TRUE(version);
  EXPECT_EQ(base::FindString(ParseOrFail(*version), {"minor"}), "36");
  const auto missing = reader->GetRaw("/api/v1/namespaces/default/pods/nope");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), base::Code::kNotFound);
}

class FakeLogs : public LogSource {
 public:
  base::Result<std::string> ReadLog(const LogRequest& request) override {
    return request.container + ":" + std::to_string(request.tail_lines.value_or(-1)) + "\n";
  }
  base::Result<std::unique_ptr<LogFollower>> FollowLog(const LogRequest& request,
                                                       std::function<void(std::string_view, bool)> follower) override {
    follower(ReadLog(request).value(), false);
    sink = std::move(follower);
    return std::make_unique<LogFollower>();
  }
  std::function<void(std::string_view, bool)> sink;
};

TEST(HandlerLogTest, ReadsAndFollowsLogs) {
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  const auto store = store::NewMemoryStore();
  FakeLogs logs;
  Api api({.name = "t", .store = store.get(), .clock = &executor.clock(), .random = base::Random(1), .logs = &logs});
  ASSERT_TRUE(api.Start());
  const auto client = NewInProcessClient(api, {.name = "me", .groups = {access::kMasters}});
  ASSERT_TRUE(client->Create(kube::resources::Pods(), ParseOrFail(R"({"metadata":{"name":"web","namespace":"default"},
      "spec":{"containers":[{"name":"a","image":"x"}]}})")));
  EXPECT_EQ(client->GetRaw("/api/v1/namespaces/default/pods/web/log?tailLines=5").value(), "a:5\n");
  const auto wrong = client->GetRaw("/api/v1/namespaces/default/pods/web/log?container=z");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message(), "container z is not valid for pod web");
  ApiHandler handler(api, {});
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/v1/namespaces/default/pods/web/log";
  request.query = "follow=true";
  request.user = {.name = "me", .groups = {access::kMasters}};
  auto reply = std::make_shared<TestReply>();
  handler.Handle(std::move(request), std::make_unique<TestResponder>(reply));
  ASSERT_NE(reply->stream, nullptr);
  logs.sink("more\n", false);
  EXPECT_EQ(reply->stream->text, "a:-1\nmore\n");
  logs.sink("", true);
  EXPECT_TRUE(reply->stream->closed);
}

TEST(RequestInfoTest, TakesPathsApart) {
  const auto path = ParseResourcePath(*PathParts("/apis/apps/v1/namespaces/n%20s/deployments/web/scale"));
  ASSERT_TRUE(path);
  EXPECT_EQ(path->ns, "n s");
  EXPECT_EQ(path->plural, "deployments");
  EXPECT_EQ(path->subresource, "scale");
  const auto ns = ParseResourcePath(*PathParts("/api/v1/namespaces/x/finalize"));
  EXPECT_EQ(ns->plural, "namespaces");
  EXPECT_EQ(ns->name, "x");
  EXPECT_FALSE(PathParts("/a/%2"));
  EXPECT_FALSE(PathParts("/a/%2F/b"));
  EXPECT_FALSE(Query::Parse("a=%00"));
  EXPECT_EQ(Query::Parse("a=1+2&a=3&b")->Get("a"), "1 2");
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::handler_test
