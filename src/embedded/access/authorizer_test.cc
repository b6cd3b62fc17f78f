#include "embedded/access/authorizer.h"

#include <gtest/gtest.h>

#include "embedded/access/default_policy.h"

namespace evenkeel::embedded::access::authorizer_test {
namespace {

using base::Json;

Json Parse(std::string_view text) {
  auto json = base::ParseJson(text, "test");
  EXPECT_TRUE(json.has_value()) << text;
  return json ? *std::move(json) : Json();
}

Rule RuleOf(std::string_view text) { return RuleFromJson(Parse(text)); }

TEST(RulesTest, ARuleAllowsWhatItsListsName) {
  struct Case {
    const char* rule;
    Attributes attributes;
    bool allowed;
  };
  const char* pods = R"({"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]})";
  const char* named = R"({"verbs":["*"],"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["web"]})";
  const char* paths = R"({"verbs":["get"],"nonResourceURLs":["/healthz","/logs/*"]})";
  const Case cases[] = {
      {pods, {.verb = "get", .resource = "pods", .ns = "a", .name = "x"}, true},
      {pods, {.verb = "Get", .resource = "pods"}, false},
      {pods, {.verb = "delete", .resource = "pods"}, false},
      {pods, {.verb = "get", .group = "apps", .resource = "pods"}, false},
      {pods, {.verb = "get", .resource = "pods", .subresource = "log"}, false},
      {pods, {.verb = "get", .path = "/pods"}, false},
      {R"({"verbs":["get"],"apiGroups":["*"],"resources":["*"]})",
       {.verb = "get", .group = "x", .resource = "ys", .subresource = "status"},
       true},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["pods/log"]})",
       {.verb = "get", .resource = "pods", .subresource = "log"},
       true},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["pods/log"]})", {.verb = "get", .resource = "pods"}, false},
      {R"({"verbs":["get"],"apiGroups":["apps"],"resources":["*/scale"]})",
       {.verb = "get", .group = "apps", .resource = "deployments", .subresource = "scale"},
       true},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["pods/*"]})",
       {.verb = "get", .resource = "pods", .subresource = "log"},
       false},
      {named, {.verb = "patch", .group = "apps", .resource = "deployments", .name = "web"}, true},
      {named, {.verb = "patch", .group = "apps", .resource = "deployments", .name = "other"}, false},
      {named, {.verb = "create", .group = "apps", .resource = "deployments"}, false},
      {paths, {.verb = "get", .path = "/healthz"}, true},
      {paths, {.verb = "get", .path = "/logs/a/b"}, true},
      {paths, {.verb = "get", .path = "/logs"}, false},
      {paths, {.verb = "post", .path = "/healthz"}, false},
      {paths, {.verb = "get", .resource = "pods"}, false},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Allows(RuleOf(one.rule), one.attributes), one.allowed)
        << one.rule << " " << one.attributes.verb << " " << one.attributes.resource << one.attributes.path;
  }
}

TEST(RulesTest, WhatIsNotCoveredIsNamedByResource) {
  const std::vector<Rule> held{RuleOf(R"({"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]})"),
                               RuleOf(R"({"verbs":["*"],"apiGroups":[""],"resources":["*/log"]})"),
                               RuleOf(R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["a"]})"),
                               RuleOf(R"({"verbs":["get"],"nonResourceURLs":["/logs/*"]})")};
  const auto missing = [&](std::string_view rule) {
    std::string text;
    for (const Rule& one : Uncovered(held, {RuleOf(rule)})) text += Describe(one);
    return text;
  };
  EXPECT_EQ(missing(R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["x"]})"), "");
  EXPECT_EQ(missing(R"({"verbs":["delete"],"apiGroups":[""],"resources":["pods/log"]})"), "");
  EXPECT_EQ(missing(R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["a"]})"), "");
  EXPECT_EQ(missing(R"({"verbs":["get"],"nonResourceURLs":["/logs/x*"]})"), "");
  EXPECT_EQ(missing(R"({"verbs":["get","update","watch"],"apiGroups":[""],"resources":["pods"]})"),
            R"({APIGroups:[""], Resources:["pods"], Verbs:["update" "watch"]})");
  EXPECT_EQ(missing(R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"]})"),
            R"({APIGroups:[""], Resources:["secrets"], Verbs:["get"]})");
  EXPECT_EQ(missing(R"({"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["b"]})"),
            R"({APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]})");
  EXPECT_EQ(missing(R"({"verbs":["*"],"apiGroups":[""],"resources":["pods"]})"),
            R"({APIGroups:[""], Resources:["pods"], Verbs:["*"]})");
  EXPECT_EQ(missing(R"({"verbs":["get"],"nonResourceURLs":["/metrics"]})"), R"({NonResourceURLs:["/metrics"], Verbs:["get"]})");
}

class AuthorizerTest : public ::testing::Test {
 protected:
  AuthorizerTest() {
    Set(R"({"kind":"ClusterRole","metadata":{"name":"reader"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
    Set(R"({"kind":"Role","metadata":{"name":"writer","namespace":"a"},
            "rules":[{"verbs":["create"],"apiGroups":[""],"resources":["pods"]}]})");
  }
  void Set(std::string_view text) { authorizer.Set(Parse(text)); }
  void Bind(const std::string& name, const std::string& ns, const std::string& role, const std::string& subject) {
    const std::string kind = ns.empty() ? "ClusterRoleBinding" : "RoleBinding";
    Set("{\"kind\":\"" + kind + R"(","metadata":{"name":")" + name + R"(","namespace":")" + ns + R"("},"roleRef":)" + role +
        R"(,"subjects":[)" + subject + "]}");
  }
  std::string May(const UserInfo& user, const std::string& verb, const std::string& ns) {
    const Decision decision = authorizer.Authorize(user, {.verb = verb, .resource = "pods", .ns = ns});
    return (decision.allowed ? "yes " : "no ") + decision.reason;
  }
  static constexpr const char* kReader = R"({"kind":"ClusterRole","name":"reader"})";
  static constexpr const char* kWriter = R"({"kind":"Role","name":"writer"})";
  Authorizer authorizer;
};

TEST_F(AuthorizerTest, MastersMayDoEverythingAndOthersNothingWithoutABinding) {
  EXPECT_EQ(May({"root", {"system:masters"}}, "anything", "a"), "yes ");
  EXPECT_EQ(May({"eve", {"system:authenticated"}}, "get", "a"), "no ");
}

TEST_F(AuthorizerTest, ABindingHoldsWhereItIsAndForItsSubjects) {
  Bind("all", "", kReader, R"({"kind":"Group","name":"team"})");
  Bind("some", "a", kWriter, R"({"kind":"User","name":"eve"},{"kind":"ServiceAccount","name":"bot"})");
  EXPECT_EQ(May({"eve", {"team"}}, "get", "b"),
            R"(yes RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to Group "team")");
  EXPECT_EQ(May({"eve", {"team"}}, "get", ""),
            R"(yes RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to Group "team")");
  EXPECT_EQ(May({"eve", {}}, "create", "a"), R"(yes RBAC: allowed by RoleBinding "some/a" of Role "writer" to User "eve")");
  EXPECT_EQ(May({"eve", {}}, "create", "b"), "no ");
  EXPECT_EQ(May({"eve", {}}, "create", ""), "no ");
  EXPECT_EQ(May({"team", {}}, "get", "a"), "no ") << "a user is no group of that name";
  EXPECT_EQ(May({"system:serviceaccount:a:bot", {}}, "create", "a"),
            R"(yes RBAC: allowed by RoleBinding "some/a" of Role "writer" to ServiceAccount "bot/a")");
  EXPECT_EQ(May({"system:serviceaccount:b:bot", {}}, "create", "a"), "no ");
  authorizer.Remove("RoleBinding", "a", "some");
  EXPECT_EQ(May({"eve", {}}, "create", "a"), "no ");
  Bind("all", "", kReader, R"({"kind":"User","name":"bob"})");
  EXPECT_EQ(May({"eve", {"team"}}, "get", "b"), "no ") << "the binding has other subjects now";
}

TEST_F(AuthorizerTest, ARoleThatIsMissingIsNamedAndOthersStillCount) {
  Bind("a-gone", "", R"({"kind":"ClusterRole","name":"gone"})", R"({"kind":"User","name":"eve"})");
  EXPECT_EQ(May({"eve", {}}, "get", "a"), R"(no RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found)");
  Bind("there", "", kReader, R"({"kind":"User","name":"eve"})");
  EXPECT_TRUE(May({"eve", {}}, "get", "a").starts_with("yes "));
  EXPECT_EQ(authorizer.RulesOf({"eve", {}}, "a").rules.size(), 1u);
  EXPECT_FALSE(authorizer.RulesOfRole(Parse(R"({"kind":"Role","name":"writer"})"), "b").has_value());
}

TEST_F(AuthorizerTest, AggregatedRolesGatherTheRulesOfOthersInOrder) {
  Set(R"({"kind":"ClusterRole","metadata":{"name":"all"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to":"all"}}]},
          "rules":null})");
  EXPECT_TRUE(authorizer.StaleAggregates().empty()) << "nothing matches";
  const std::string one = R"("rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})";
  Set(R"({"kind":"ClusterRole","metadata":{"name":"b","labels":{"to":"all"}},)" + one);
  Set(R"({"kind":"ClusterRole","metadata":{"name":"c","labels":{"to":"all"}},)" + one);
  Set(R"({"kind":"ClusterRole","metadata":{"name":"a","labels":{"to":"all"}},"rules":[{"verbs":["list"],"apiGroups":[""],"resources":["nodes"]}]})");
  const auto stale = authorizer.StaleAggregates();
  ASSERT_EQ(stale.size(), 1u);
  EXPECT_EQ(stale[0].name, "all");
  ASSERT_EQ(stale[0].rules.size(), 2u);
  EXPECT_EQ(stale[0].rules[0].resources, std::vector<std::string>{"nodes"});
}

TEST(DefaultPolicyTest, HoldsUpstreamsRolesAndBindings) {
  std::map<std::string, int> kinds;
  Authorizer authorizer;
  for (const Json& object : DefaultPolicy()) {
    ++kinds[std::string(base::FindString(object, {"kind"}))];
    authorizer.Set(object);
  }
  EXPECT_EQ(kinds,
            (std::map<std::string, int>{{"ClusterRole", 69}, {"ClusterRoleBinding", 50}, {"Role", 7}, {"RoleBinding", 7}}));
  for (int round = 0; round < 3; ++round) {
    for (const StaleAggregate& stale : authorizer.StaleAggregates()) {
      for (Json role : DefaultPolicy()) {
        if (base::FindString(role, {"metadata", "name"}) != stale.name) continue;
        for (const Rule& rule : stale.rules) role.at("rules").as_array().push_back(RuleToJson(rule));
        authorizer.Set(role);
      }
    }
  }
  EXPECT_TRUE(authorizer.StaleAggregates().empty()) << "admin gathers edit, which gathers view";
  Json binding = Parse(R"({"kind":"RoleBinding","metadata":{"name":"x","namespace":"a"},
                           "subjects":[{"kind":"User","name":"eve"}],"roleRef":{"kind":"ClusterRole","name":"admin"}})");
  authorizer.Set(binding);
  const UserInfo eve{"eve", {"system:authenticated"}};
  const auto may = [&](const UserInfo& user, const Attributes& attributes) {
    return authorizer.Authorize(user, attributes).allowed;
  };
  EXPECT_TRUE(may(eve, {.verb = "list", .resource = "pods", .ns = "a"}));
  EXPECT_TRUE(may(eve, {.verb = "create", .group = "rbac.authorization.k8s.io", .resource = "roles", .ns = "a"}));
  EXPECT_FALSE(may(eve, {.verb = "list", .resource = "pods", .ns = "b"}));
  EXPECT_FALSE(may(eve, {.verb = "get", .resource = "nodes"}));
  EXPECT_TRUE(may(eve, {.verb = "get", .path = "/openapi/v3"}));
  EXPECT_TRUE(may(AnonymousUser(), {.verb = "get", .path = "/readyz"}));
  EXPECT_FALSE(may(AnonymousUser(), {.verb = "get", .path = "/api"}));
  EXPECT_FALSE(may(AnonymousUser(), {.verb = "get", .path = "/metrics"}));
}

TEST(DefaultPolicyTest, AddsWhatLacksAndKeepsWhatIsMore) {
  const Json wanted = Parse(R"({"kind":"ClusterRole","metadata":{"name":"r","labels":{"a":"1"},"annotations":{"b":"2"}},
                                "rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}]})");
  Json same = wanted;
  EXPECT_FALSE(AddMissing(same, wanted));
  Json less = Parse(R"({"kind":"ClusterRole","metadata":{"name":"r","labels":{"a":"own"}},
                        "rules":[{"verbs":["get","delete"],"apiGroups":[""],"resources":["pods"]}]})");
  Json kept = less;
  base::Ensure(kept, {"metadata", "annotations", "rbac.authorization.kubernetes.io/autoupdate"}) = "false";
  const Json before = kept;
  EXPECT_FALSE(AddMissing(kept, wanted));
  EXPECT_EQ(kept, before);
  EXPECT_TRUE(AddMissing(less, wanted));
  EXPECT_EQ(base::FindString(less, {"metadata", "labels", "a"}), "own");
  EXPECT_EQ(base::FindString(less, {"metadata", "annotations", "b"}), "2");
  EXPECT_TRUE(Uncovered(RulesFromJson(less), RulesFromJson(wanted)).empty());
  EXPECT_TRUE(
      Uncovered(RulesFromJson(less), {RuleOf(R"({"verbs":["delete"],"apiGroups":[""],"resources":["pods"]})")}).empty());
  EXPECT_FALSE(AddMissing(less, wanted));

  const Json binding =
      Parse(R"({"kind":"ClusterRoleBinding","metadata":{"name":"b"},"subjects":[{"kind":"Group","name":"g"}]})");
  Json bare = Parse(R"({"kind":"ClusterRoleBinding","metadata":{"name":"b"},"subjects":[{"kind":"User","name":"u"}]})");
  EXPECT_TRUE(AddMissing(bare, binding));
  EXPECT_EQ(base::FindArray(bare, {"subjects"}).size(), 2u);
}

}  // namespace
}  // namespace evenkeel::embedded::access::authorizer_test
