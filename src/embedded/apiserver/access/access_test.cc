#include <gmock/gmock.h>

#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/access/request_attributes.h"
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::access_test {
namespace {

using base::FindArray;
using base::FindBool;
using base::FindString;
using base::Json;

constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kRbac[] = "/apis/rbac.authorization.k8s.io/v1";

/// With Kubernetes' roles, as a fleet's clusters are served.
class AccessTest : public ::testing::Test {
 protected:
  AccessTest() {
    EXPECT_TRUE(api.Start().has_value());
    executor.RunFor(std::chrono::seconds(1));
  }

  TestReply Send(const std::string& method, const std::string& target, const std::string& body = "",
                 std::map<std::string, std::string> headers = {}) {
    HttpRequest request = NewTestRequest(method, target, body, std::move(headers));
    request.user = user;
    auto reply = std::make_shared<TestReply>();
    auto responder = std::make_unique<TestResponder>(reply);
    if (auto refusal = handler.Admit(request)) {
      responder->Send(*std::move(refusal));
    } else {
      handler.Handle(std::move(request), std::move(responder));
    }
    executor.RunFor(std::chrono::milliseconds(10));
    return *reply;
  }
  TestReply As(UserInfo who, const std::string& method, const std::string& target, const std::string& body = "",
               std::map<std::string, std::string> headers = {}) {
    const UserInfo before = std::exchange(user, std::move(who));
    TestReply reply = Send(method, target, body, std::move(headers));
    user = before;
    return reply;
  }
  /// As an administrator; fails the test where it is refused.
  void Make(const std::string& target, const std::string& body) {
    const TestReply reply = Send("POST", target, body);
    EXPECT_EQ(reply.status, 201) << reply.body;
  }
  void Bind(const std::string& name, const std::string& role, const std::string& subject) {
    Make(std::string(kRbac) + "/namespaces/default/rolebindings",
         R"({"metadata":{"name":")" + name +
             R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")" + role +
             R"("},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":")" + subject + R"("}]})");
  }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  Api api{{.name = "test",
           .store = store.get(),
           .clock = &executor.clock(),
           .random = base::Random(7),
           .executor = &executor,
           .default_policy = true}};
  ApiHandler handler{api, {.executor = &executor}};
  UserInfo user{.name = "admin", .groups = {"system:masters"}};
  const UserInfo eve{.name = "eve", .groups = {"system:authenticated"}};
};

TEST_F(AccessTest, RequestsAreWhatUpstreamCallsThem) {
  const auto text = [](const char* method, const char* target) {
    HttpRequest request;
    request.method = method;
    const std::string_view all(target);
    request.path = all.substr(0, all.find('?'));
    if (all.find('?') != all.npos) request.query = all.substr(all.find('?') + 1);
    const access::Attributes is = AttributesOf(request);
    return is.verb + " " +
           (is.on_resource() ? is.group + "|" + is.resource + "|" + is.subresource + "|" + is.ns + "|" + is.name : is.path);
  };
  EXPECT_EQ(text("GET", "/api/v1/namespaces/a/pods/x"), "get |pods||a|x");
  EXPECT_EQ(text("GET", "/api/v1/namespaces/a/pods"), "list |pods||a|");
  EXPECT_EQ(text("GET", "/api/v1/pods?watch=1"), "watch |pods|||");
  EXPECT_EQ(text("GET", "/api/v1/watch/namespaces/a/pods"), "watch |pods||a|");
  EXPECT_EQ(text("GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx"), "list |pods||a|x");
  EXPECT_EQ(text("DELETE", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx"), "deletecollection |pods||a|");
  EXPECT_EQ(text("DELETE", "/apis/apps/v1/namespaces/a/deployments/d"), "delete apps|deployments||a|d");
  EXPECT_EQ(text("PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale"), "update apps|deployments|scale|a|d");
  EXPECT_EQ(text("PATCH", "/api/v1/nodes/n/status"), "patch |nodes|status||n");
  EXPECT_EQ(text("POST", "/api/v1/namespaces"), "create |namespaces|||");
  EXPECT_EQ(text("GET", "/api/v1/namespaces/a"), "get |namespaces||a|a");
  EXPECT_EQ(text("GET", "/apis/apps/v1"), "get /apis/apps/v1");
  EXPECT_EQ(text("POST", "//metrics/"), "post /metrics");
  EXPECT_EQ(text("GET", "/"), "get /");
}

TEST_F(AccessTest, RefusesInUpstreamsWords) {
  const TestReply pod = As(eve, "GET", std::string(kPods) + "/x");
  EXPECT_EQ(pod.status, 403);
  EXPECT_EQ(pod.message(),
            R"(pods "x" is forbidden: User "eve" cannot get resource "pods" in API group "" in the namespace "default")");
  EXPECT_EQ(FindString(pod.json(), {"reason"}), "Forbidden");
  EXPECT_EQ(FindString(pod.json(), {"details", "kind"}), "pods");
  EXPECT_EQ(FindString(pod.json(), {"details", "name"}), "x");
  EXPECT_EQ(pod.Header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(
      As(eve, "GET", "/apis/apps/v1/deployments").message(),
      R"(deployments.apps is forbidden: User "eve" cannot list resource "deployments" in API group "apps" at the cluster scope)");
  EXPECT_EQ(
      As(eve, "PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale", "{}").message(),
      R"(deployments.apps "d" is forbidden: User "eve" cannot patch resource "deployments/scale" in API group "apps" in the )"
      R"(namespace "a")");
  EXPECT_EQ(As({"<b>", {}}, "GET", "/metrics").message(), R"(forbidden: User "&lt;b&gt;" cannot get path "/metrics")");
  EXPECT_EQ(As(eve, "GET", "/apis/nope/v1/things").status, 403) << "what exists is not told";
  EXPECT_EQ(As(eve, "POST", "/apis/nope/v1/things", "{}").status, 403);
}

TEST_F(AccessTest, AnonymousSeesHealthAndVersionOnly) {
  for (const char* path : {"/healthz", "/livez", "/readyz", "/version", "/livez/ping"}) {
    EXPECT_EQ(As({}, "GET", path).status, std::string_view(path) == "/livez/ping" ? 403 : 200) << path;
  }
  for (const char* path : {"/", "/api", "/apis", "/metrics", "/openapi/v2", "/api/v1/pods"}) {
    EXPECT_EQ(As({}, "GET", path).status, 403) << path;
  }
  EXPECT_EQ(As({}, "GET", "/metrics").message(), R"(forbidden: User "system:anonymous" cannot get path "/metrics")");
  for (const char* path : {"/api", "/apis", "/apis/apps/v1", "/openapi/v2", "/version"}) {
    EXPECT_EQ(As(eve, "GET", path).status, 200) << path;
  }
}

TEST_F(AccessTest, RolesGiveWhatTheySay) {
  Bind("eve-view", "view", "eve");
  EXPECT_EQ(As(eve, "GET", kPods).status, 200) << "view has gathered its rules";
  EXPECT_EQ(As(eve, "GET", std::string(kPods) + "?watch=1").status, 200);
  EXPECT_EQ(As(eve, "GET", "/api/v1/namespaces/default/secrets").status, 403);
  EXPECT_EQ(As(eve, "GET", "/api/v1/pods").status, 403) << "only in its namespace";
  EXPECT_EQ(As(eve, "DELETE", std::string(kPods) + "/x").status, 403);
  EXPECT_EQ(Send("DELETE", std::string(kRbac) + "/namespaces/default/rolebindings/eve-view").status, 200);
  EXPECT_EQ(As(eve, "GET", kPods).status, 403);

  Make(
      std::string(kRbac) + "/namespaces/default/roles",
      R"({"metadata":{"name":"one"},"rules":[{"verbs":["get","watch","list"],"apiGroups":[""],"resources":["configmaps"],"resourceNames":["a"]}]})");
  Make(std::string(kRbac) + "/namespaces/default/rolebindings",
       R"({"metadata":{"name":"one"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"one"},
           "subjects":[{"kind":"ServiceAccount","name":"bot"}]})");
  const UserInfo bot{"system:serviceaccount:default:bot", {"system:serviceaccounts"}};
  EXPECT_EQ(As(bot, "GET", "/api/v1/namespaces/default/configmaps/a").status, 404);
  EXPECT_EQ(As(bot, "GET", "/api/v1/namespaces/default/configmaps/b").status, 403);
  EXPECT_EQ(As(bot, "GET", "/api/v1/namespaces/default/configmaps").status, 403);
  EXPECT_EQ(As(bot, "GET", "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da").status, 200);
}

TEST_F(AccessTest, WhoAppliesWhatIsNotThereHasToBeAllowedToCreateIt) {
  Make(std::string(kRbac) + "/namespaces/default/roles",
       R"({"metadata":{"name":"p"},"rules":[{"verbs":["patch"],"apiGroups":[""],"resources":["configmaps"]}]})");
  Make(std::string(kRbac) + "/namespaces/default/rolebindings",
       R"({"metadata":{"name":"p"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"p"},
           "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"eve"}]})");
  const std::string target = "/api/v1/namespaces/default/configmaps/c?fieldManager=m";
  const std::map<std::string, std::string> apply{{"content-type", "application/apply-patch+yaml"}};
  const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"b"}})";
  EXPECT_EQ(
      As(eve, "PATCH", target, body, apply).message(),
      R"(configmaps "c" is forbidden: User "eve" cannot create resource "configmaps" in API group "" in the namespace "default")");
  EXPECT_EQ(Send("PATCH", target, body, apply).status, 201);
  EXPECT_EQ(As(eve, "PATCH", target, body, apply).status, 200);
}

TEST_F(AccessTest, AggregatedRolesFollowTheirParts) {
  Make(std::string(kRbac) + "/clusterroles",
       R"({"metadata":{"name":"more","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},
           "rules":[{"verbs":["get"],"apiGroups":["x.dev"],"resources":["things"]}]})");
  executor.RunFor(std::chrono::seconds(1));
  for (const char* name : {"view", "edit", "admin"}) {
    EXPECT_NE(Send("GET", std::string(kRbac) + "/clusterroles/" + name).body.find("x.dev"), std::string::npos) << name;
  }
  EXPECT_EQ(Send("DELETE", std::string(kRbac) + "/clusterroles/more").status, 200);
  executor.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Send("GET", std::string(kRbac) + "/clusterroles/admin").body.find("x.dev"), std::string::npos);
}

TEST_F(AccessTest, AStartMendsTheDefaultsAndKeepsWhatIsMore) {
  const std::string role = std::string(kRbac) + "/clusterroles/system:discovery";
  EXPECT_EQ(Send("PATCH", role, R"({"rules":[{"verbs":["get"],"nonResourceURLs":["/own"]}]})",
                 {{"content-type", "application/merge-patch+json"}})
                .status,
            200);
  const std::string kept = std::string(kRbac) + "/clusterrolebindings/system:basic-user";
  EXPECT_EQ(Send("PATCH", kept,
                 R"({"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}},"subjects":null})",
                 {{"content-type", "application/merge-patch+json"}})
                .status,
            200);
  EXPECT_EQ(Send("DELETE", std::string(kRbac) + "/clusterroles/system:kube-scheduler").status, 200);
  Api again({.name = "again",
             .store = store.get(),
             .clock = &executor.clock(),
             .random = base::Random(8),
             .executor = &executor,
             .default_policy = true});
  ASSERT_TRUE(again.Start());
  const Json mended = Send("GET", role).json();
  EXPECT_NE(base::ToText(mended).find("/own"), std::string::npos);
  EXPECT_NE(base::ToText(mended).find("/openapi"), std::string::npos);
  EXPECT_TRUE(FindArray(Send("GET", kept).json(), {"subjects"}).empty());
  EXPECT_EQ(Send("GET", std::string(kRbac) + "/clusterroles/system:kube-scheduler").status, 200);
}

TEST_F(AccessTest, NobodyGrantsWhatTheyDoNotHave) {
  Bind("eve-admin", "admin", "eve");
  const std::string roles = std::string(kRbac) + "/namespaces/default/roles";
  const TestReply refused =
      As(eve, "POST", roles,
         R"({"metadata":{"name":"r"},"rules":[{"verbs":["get","create"],"apiGroups":[""],"resources":["nodes","pods"]}]})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(
      refused.message(),
      "roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"eve\" (groups=[\"system:authenticated\"]) is attempting to "
      "grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" \"create\"]}");
  EXPECT_EQ(
      As(eve, "POST", roles, R"({"metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})")
          .status,
      201);
  EXPECT_EQ(As(eve, "PATCH", roles + "/r", R"({"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})",
               {{"content-type", "application/merge-patch+json"}})
                .status,
            403);
  const std::string bindings = std::string(kRbac) + "/namespaces/default/rolebindings";
  const auto binding = [](const std::string& name, const std::string& kind, const std::string& role) {
    return R"({"metadata":{"name":")" + name + R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" + kind +
           R"(","name":")" + role + R"("},"subjects":[{"kind":"ServiceAccount","name":"x"}]})";
  };
  EXPECT_EQ(As(eve, "POST", bindings, binding("b", "ClusterRole", "cluster-admin")).status, 403);
  EXPECT_EQ(As(eve, "POST", bindings, binding("b", "ClusterRole", "gone")).status, 404);
  EXPECT_EQ(As(eve, "POST", bindings, binding("b", "ClusterRole", "view")).status, 201);
  EXPECT_EQ(As(eve, "POST", bindings, binding("c", "Role", "r")).status, 201);
  const TestReply moved = As(eve, "PATCH", bindings + "/c", R"({"roleRef":{"kind":"ClusterRole","name":"view"}})",
                             {{"content-type", "application/merge-patch+json"}});
  EXPECT_EQ(moved.status, 422);
  EXPECT_THAT(moved.message(), ::testing::HasSubstr("cannot change roleRef"));

  Make(roles, R"({"metadata":{"name":"binder"},"rules":[{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],
                  "resources":["clusterroles"],"resourceNames":["cluster-admin"]},{"verbs":["escalate"],
                  "apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]}]})");
  Make(bindings,
       R"({"metadata":{"name":"binder"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"binder"},
                     "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"eve"}]})");
  EXPECT_EQ(As(eve, "POST", bindings, binding("d", "ClusterRole", "cluster-admin")).status, 201) << "bind";
  EXPECT_EQ(As(eve, "POST", roles, R"({"metadata":{"name":"s"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})")
                .status,
            201)
      << "escalate";
}

TEST_F(AccessTest, OnlyWhoHasAllMayAggregate) {
  Make(
      std::string(kRbac) + "/clusterroles",
      R"({"metadata":{"name":"roles"},"rules":[{"verbs":["*"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"]}]})");
  const std::string bindings = std::string(kRbac) + "/clusterrolebindings";
  const auto bind = [&](const std::string& role, const std::string& who) {
    Make(bindings, R"({"metadata":{"name":")" + role +
                       R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")" + role +
                       R"("},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":")" + who + R"("}]})");
  };
  bind("roles", "eve");
  const char* gathering = R"({"metadata":{"name":"g"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})";
  // All verbs on roles are escalate, too.
  EXPECT_EQ(As(eve, "POST", std::string(kRbac) + "/clusterroles", gathering).status, 201);
  Make(
      std::string(kRbac) + "/clusterroles",
      R"({"metadata":{"name":"makes"},"rules":[{"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"]}]})");
  bind("makes", "bob");
  const TestReply refused =
      As({"bob", {}}, "POST", std::string(kRbac) + "/clusterroles",
         R"({"metadata":{"name":"h"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})");
  EXPECT_EQ(
      refused.message(),
      R"(clusterroles.rbac.authorization.k8s.io "h" is forbidden: must have cluster-admin privileges to use the aggregationRule)");
}

TEST_F(AccessTest, ImpersonationTakesTheRightTo) {
  const std::map<std::string, std::string> as_bob{{"impersonate-user", "bob"}};
  EXPECT_EQ(As(eve, "GET", kPods, "", as_bob).message(),
            R"(users "bob" is forbidden: User "eve" cannot impersonate resource "users" in API group "" at the cluster scope)");
  EXPECT_EQ(Send("GET", kPods, "", as_bob).message(),
            R"(pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default")");
  EXPECT_EQ(Send("GET", kPods, "", {{"impersonate-group", "team"}}).status, 400);
  const auto who = [&](std::map<std::string, std::string> headers) {
    return base::ToText(
        *base::Find(Send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}", std::move(headers)).json(),
                    {"status", "userInfo"}));
  };
  EXPECT_EQ(
      who({{"impersonate-user", "bob"},
           {"impersonate-group", "team, crew"},
           {"impersonate-uid", "u1"},
           {"impersonate-extra-acme.com%2fproject", "some"}}),
      R"({"username":"bob","uid":"u1","groups":["team","crew","system:authenticated"],"extra":{"acme.com/project":["some"]}})");
  EXPECT_EQ(
      who({{"impersonate-user", "system:serviceaccount:a:b"}}),
      R"({"username":"system:serviceaccount:a:b","groups":["system:serviceaccounts","system:serviceaccounts:a","system:authenticated"]})");
  EXPECT_EQ(
      As(eve, "GET", kPods, "", {{"impersonate-user", "system:serviceaccount:a:b"}}).message(),
      R"(serviceaccounts "b" is forbidden: User "eve" cannot impersonate resource "serviceaccounts" in API group "" in the )"
      R"(namespace "a")");
  Make(
      std::string(kRbac) + "/clusterroles",
      R"({"metadata":{"name":"as-bob"},"rules":[{"verbs":["impersonate"],"apiGroups":[""],"resources":["users"],"resourceNames":["bob"]}]})");
  Make(std::string(kRbac) + "/clusterrolebindings",
       R"({"metadata":{"name":"as-bob"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"as-bob"},
           "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"eve"}]})");
  Bind("bob-view", "view", "bob");
  EXPECT_EQ(As(eve, "GET", kPods, "", as_bob).status, 200);
  EXPECT_EQ(
      As(eve, "GET", kPods, "", {{"impersonate-user", "bob"}, {"impersonate-group", "system:masters"}}).message(),
      R"(groups "system:masters" is forbidden: User "eve" cannot impersonate resource "groups" in API group "" at the cluster scope)");
  EXPECT_EQ(As(eve, "GET", kPods, "", {{"impersonate-user", "admin"}}).status, 403);
}

TEST_F(AccessTest, ReviewsSayWhatIsAllowed) {
  Bind("eve-view", "view", "eve");
  const std::string base = "/apis/authorization.k8s.io/v1/";
  const auto ask = [&](const std::string& verb, const std::string& resource) {
    const TestReply reply = As(
        eve, "POST", base + "selfsubjectaccessreviews",
        R"({"spec":{"resourceAttributes":{"namespace":"default","verb":")" + verb + R"(","resource":")" + resource + R"("}}})");
    EXPECT_EQ(reply.status, 201) << reply.body;
    EXPECT_EQ(FindString(reply.json(), {"kind"}), "SelfSubjectAccessReview");
    return (FindBool(reply.json(), {"status", "allowed"}) ? "yes " : "no ") +
           std::string(FindString(reply.json(), {"status", "reason"}));
  };
  EXPECT_EQ(ask("list", "pods"), R"(yes RBAC: allowed by RoleBinding "eve-view/default" of ClusterRole "view" to User "eve")");
  EXPECT_EQ(ask("list", "secrets"), "no ");
  EXPECT_EQ(As(eve, "POST", base + "subjectaccessreviews", "{}").status, 403) << "about others takes a right";
  const auto about = [&](const std::string& path, const std::string& spec) {
    return Send("POST", base + path, R"({"spec":)" + spec + "}");
  };
  const std::string list_pods = R"("resourceAttributes":{"namespace":"default","verb":"list","resource":"pods"})";
  EXPECT_TRUE(FindBool(about("subjectaccessreviews", R"({"user":"eve",)" + list_pods + "}").json(), {"status", "allowed"}));
  EXPECT_FALSE(
      FindBool(about("subjectaccessreviews", R"({"user":"bob",)" + list_pods + "}").json(), {"status", "allowed"}, true));
  EXPECT_TRUE(FindBool(about("subjectaccessreviews", R"({"groups":["system:masters"],)" + list_pods + "}").json(),
                       {"status", "allowed"}));
  EXPECT_TRUE(
      FindBool(about("subjectaccessreviews",
                     R"({"groups":["system:unauthenticated"],"nonResourceAttributes":{"verb":"get","path":"/healthz"}})")
                   .json(),
               {"status", "allowed"}));
  EXPECT_TRUE(FindBool(about("namespaces/default/localsubjectaccessreviews", R"({"user":"eve",)" + list_pods + "}").json(),
                       {"status", "allowed"}));
  EXPECT_EQ(about("namespaces/kube-system/localsubjectaccessreviews", R"({"user":"eve",)" + list_pods + "}").status, 422);
  EXPECT_EQ(about("subjectaccessreviews", "{" + list_pods + "}").message(),
            "SubjectAccessReview.authorization.k8s.io \"\" is invalid: spec.user: Required value: at least one of user or "
            "group must be "
            "specified");
  EXPECT_EQ(about("selfsubjectaccessreviews", "{}").status, 422);
  EXPECT_EQ(
      about("selfsubjectaccessreviews", "{" + list_pods + R"(,"nonResourceAttributes":{"path":"/","verb":"get"}})").status,
      422);
  EXPECT_EQ(Send("POST", base + "selfsubjectaccessreviews", R"({"metadata":{"name":"x"},"spec":{)" + list_pods + "}}").status,
            422);
  EXPECT_EQ(Send("GET", base + "selfsubjectaccessreviews").status, 405);
  EXPECT_EQ(Send("DELETE", base + "selfsubjectaccessreviews/x").status, 405);

  EXPECT_EQ(about("selfsubjectrulesreviews", "{}").status, 400);
  const Json rules = As(eve, "POST", base + "selfsubjectrulesreviews", R"({"spec":{"namespace":"default"}})").json();
  EXPECT_GT(FindArray(rules, {"status", "resourceRules"}).size(), 5u);
  EXPECT_FALSE(FindArray(rules, {"status", "nonResourceRules"}).empty());
  EXPECT_FALSE(FindBool(rules, {"status", "incomplete"}, true));
  EXPECT_THAT(Send("GET", "/apis/authorization.k8s.io/v1").body, ::testing::HasSubstr(R"("verbs":["create"])"));
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::access_test
