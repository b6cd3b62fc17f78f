#include "embedded/apiserver/admission/admission_policies.h"

#include "base/input/yaml.h"
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::admission_policies_test {
namespace {

using base::Json;

Json Yaml(std::string_view text) {
  auto json = base::ParseYamlDocument(text, "test");
  EXPECT_TRUE(json.has_value()) << text;
  return json ? *std::move(json) : Json();
}

class AdmissionPoliciesTest : public ::testing::Test {
 protected:
  AdmissionPoliciesTest() {
    EXPECT_TRUE(api.Start().has_value());
    client = NewInProcessClient(api, {.name = "tester", .groups = {"people"}});
  }

  /// Empty where it was written, else the error.
  std::string Make(const kube::Resource& kind, std::string_view yaml) {
    Json object = Yaml(yaml);
    Call call{.served = api.resources().Find(kind.group, kind.version, kind.plural),
              .ns = "",
              .name = "",
              .subresource = "",
              .user = {.name = "tester", .groups = {"people"}},
              .field_manager = ""};
    std::string told = "no answer";
    warnings.clear();
    api.Create(std::move(call), std::move(object), [&](Result<Answer> answer) {
      told = answer ? "" : answer.error().message();
      if (answer) warnings = std::move(answer->warnings);
      if (!answer) code = answer.error().code();
    });
    return told;
  }
  std::string Policy(std::string_view name, std::string_view spec, std::string_view rules = kMaps) {
    return Make(
        Kind("validatingadmissionpolicies"),
        fmt::format("{{metadata: {{name: {}}}, spec: {{matchConstraints: {{resourceRules: [{}]}}, {}}}}}", name, rules, spec));
  }
  std::string Bind(std::string_view policy, std::string_view spec = "validationActions: [Deny]", std::string_view name = "b") {
    return Make(Kind("validatingadmissionpolicybindings"),
                fmt::format("{{metadata: {{name: {}}}, spec: {{policyName: {}, {}}}}}", name, policy, spec));
  }
  std::string Map(std::string_view name, std::string_view more = "data: {a: '1'}") {
    return Make(kube::resources::ConfigMaps(), fmt::format("{{metadata: {{name: {}, namespace: default}}, {}}}", name, more));
  }
  static const kube::Resource& Kind(std::string_view plural) {
    return *kube::FindBuiltIn("admissionregistration.k8s.io", "v1", plural);
  }

  static constexpr std::string_view kMaps = "{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}";
  static constexpr std::string_view kNever = "validations: [{expression: 'false', message: never}]";

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  Api api{{.name = "test", .store = store.get(), .clock = &executor.clock(), .random = base::Random(7)}};
  std::unique_ptr<client::Client> client;
  std::vector<std::string> warnings;
  base::Code code{};
};

TEST_F(AdmissionPoliciesTest, ABoundPolicyDenies) {
  ASSERT_EQ(Policy("p",
                   "validations: [{expression: \"object.data.a == '1'\", message: 'a must be 1', reason: Forbidden}, "
                   "{expression: 'object.metadata.namespace == namespaceObject.metadata.name'}]"),
            "");
  EXPECT_EQ(Map("early", "data: {a: '2'}"), "") << "nothing binds it yet";
  ASSERT_EQ(Bind("p"), "");
  EXPECT_EQ(Map("one"), "");
  EXPECT_EQ(Map("two", "data: {a: '2'}"),
            "configmaps \"two\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: a must be 1");
  EXPECT_EQ(code, base::Code::kForbidden);
  EXPECT_FALSE(client->Get(kube::resources::ConfigMaps(), "default", "two"));
  const auto updated =
      client->Update(kube::resources::ConfigMaps(), Yaml("{metadata: {name: one, namespace: default}, data: {a: '3'}}"));
  ASSERT_FALSE(updated);
  ASSERT_TRUE(client->Delete(Kind("validatingadmissionpolicybindings"), "", "b"));
  EXPECT_EQ(Map("two", "data: {a: '2'}"), "");
}

TEST_F(AdmissionPoliciesTest, TheReasonIsInvalidUnlessThePolicySaysAnother) {
  ASSERT_EQ(Policy("p", kNever), "");
  ASSERT_EQ(Bind("p"), "");
  EXPECT_EQ(Map("one"),
            "configmaps \"one\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: never");
  EXPECT_EQ(code, base::Code::kInvalid);
}

TEST_F(AdmissionPoliciesTest, DeletionsAreJudgedByWhatWasThere) {
  ASSERT_EQ(Map("keep", "data: {keep: 'yes'}"), "");
  ASSERT_EQ(Map("drop"), "");
  ASSERT_EQ(Policy("p", "validations: [{expression: \"object == null && !has(oldObject.data.keep)\", message: kept}]",
                   "{operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}"),
            "");
  ASSERT_EQ(Bind("p"), "");
  EXPECT_TRUE(client->Delete(kube::resources::ConfigMaps(), "default", "drop"));
  const auto kept = client->Delete(kube::resources::ConfigMaps(), "default", "keep");
  ASSERT_FALSE(kept);
  EXPECT_TRUE(kept.error().message().ends_with("denied request: kept")) << kept.error().message();
}

TEST_F(AdmissionPoliciesTest, SubresourcesAreNamedApartAndScaleIsAScale) {
  const std::string deployment =
      "{metadata: {name: d, namespace: default}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: "
      "{labels: "
      "{a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
  const kube::Resource& deployments = *kube::FindBuiltIn("apps", "v1", "deployments");
  ASSERT_EQ(
      Policy("p",
             "validations: [{expression: \"object.kind == 'Scale' && request.kind.kind == 'Scale' && request.resource.resource "
             "== 'deployments' && request.subResource == 'scale' && object.spec.replicas < 5\", messageExpression: \"'not ' + "
             "string(object.spec.replicas)\"}]",
             "{operations: [UPDATE], apiGroups: [apps], apiVersions: ['*'], resources: [deployments/scale]}"),
      "");
  ASSERT_EQ(Bind("p"), "");
  ASSERT_EQ(Make(deployments, deployment), "");
  client::PatchOptions options;
  options.subresource = "scale";
  const auto scale = [&](int replicas) {
    const auto done = client->Patch(deployments, "default", "d", client::PatchType::kMerge,
                                    Yaml(fmt::format("{{spec: {{replicas: {}}}}}", replicas)), options);
    return done ? "" : done.error().message();
  };
  EXPECT_EQ(scale(3), "");
  EXPECT_TRUE(scale(7).ends_with("denied request: not 7")) << scale(7);
}

TEST_F(AdmissionPoliciesTest, WarnWarnsAndWhatHasNoEffectIsSaid) {
  ASSERT_EQ(Policy("p", std::string(kNever) + ", auditAnnotations: [{key: k, valueExpression: \"'v'\"}]"), "");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("spec.auditAnnotations")) << warnings[0];
  ASSERT_EQ(Bind("p", "validationActions: [Warn, Audit]"), "");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].contains("Audit")) << warnings[0];
  EXPECT_EQ(Map("one"), "");
  EXPECT_EQ(warnings, std::vector<std::string>{"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': never"});
}

TEST_F(AdmissionPoliciesTest, RulesNamesAndSelectorsSayWhatIsMeant) {
  ASSERT_EQ(
      Policy("p", kNever,
             "{resourceNames: [named], operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}"),
      "");
  ASSERT_EQ(Policy("q", std::string(kNever) + ", failurePolicy: Ignore"), "");
  ASSERT_EQ(Bind("p"), "");
  ASSERT_EQ(
      Bind("q",
           "validationActions: [Deny], matchResources: {objectSelector: {matchLabels: {app: web}}, namespaceSelector: "
           "{matchLabels: {tier: x}}, excludeResourceRules: [{resourceNames: [spared], operations: ['*'], apiGroups: ['*'], "
           "apiVersions: ['*'], resources: ['*']}]}",
           "c"),
      "");
  EXPECT_EQ(Map("other"), "");
  EXPECT_NE(Map("named"), "");
  ASSERT_EQ(Make(kube::resources::Namespaces(), "{metadata: {name: x, labels: {tier: x}}}"), "");
  const auto make = [&](std::string_view name, std::string_view labels) {
    return Make(kube::resources::ConfigMaps(),
                fmt::format("{{metadata: {{name: {}, namespace: x, labels: {}}}}}", name, labels));
  };
  EXPECT_EQ(make("a", "{}"), "");
  EXPECT_NE(make("b", "{app: web}"), "");
  EXPECT_EQ(make("spared", "{app: web}"), "");
}

TEST_F(AdmissionPoliciesTest, EquivalentVersionsAreMeantToo) {
  const kube::Resource& v2 = *kube::FindBuiltIn("autoscaling", "v2", "horizontalpodautoscalers");
  const std::string_view autoscaler =
      "{metadata: {name: h, namespace: default}, spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: d, "
      "apiVersion: "
      "apps/v1}}}";
  const std::string_view rule =
      "{operations: [CREATE], apiGroups: [autoscaling], apiVersions: [v1], resources: [horizontalpodautoscalers]}";
  ASSERT_EQ(
      Policy("p",
             "validations: [{expression: \"object.apiVersion != 'autoscaling/v1' || request.requestKind.version != 'v2'\"}]",
             rule),
      "");
  ASSERT_EQ(Bind("p"), "");
  EXPECT_NE(Make(v2, autoscaler), "");
}

TEST_F(AdmissionPoliciesTest, ParametersComeByNameOrSelector) {
  ASSERT_EQ(Map("limits", "data: {max: '3'}"), "");
  ASSERT_EQ(
      Make(kube::resources::ConfigMaps(), "{metadata: {name: l2, namespace: default, labels: {of: p}}, data: {max: '2'}}"), "");
  ASSERT_EQ(Policy("p",
                   "paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: \"size(object.metadata.name) <= "
                   "int(params.data.max)\", messageExpression: \"'at most ' + params.data.max\"}]"),
            "");
  ASSERT_EQ(Bind("p", "validationActions: [Deny], paramRef: {name: limits, parameterNotFoundAction: Deny}"), "");
  EXPECT_EQ(Map("abc"), "");
  EXPECT_TRUE(Map("abcd").ends_with("denied request: at most 3")) << Map("abcd");
  ASSERT_EQ(
      Bind("p", "validationActions: [Deny], paramRef: {selector: {matchLabels: {of: p}}, parameterNotFoundAction: Allow}", "c"),
      "");
  EXPECT_TRUE(Map("xyz").ends_with("with binding 'c' denied request: at most 2")) << Map("xyz");
  ASSERT_TRUE(client->Delete(kube::resources::ConfigMaps(), "default", "l2").has_value() == false)
      << "deletions have no object";
}

TEST_F(AdmissionPoliciesTest, MissingParametersFollowTheBinding) {
  ASSERT_EQ(Policy("p", "paramKind: {apiVersion: v1, kind: Secret}, validations: [{expression: 'true'}]"), "");
  ASSERT_EQ(Bind("p", "validationActions: [Warn], paramRef: {name: none, parameterNotFoundAction: Deny}"), "");
  EXPECT_TRUE(Map("a").ends_with(
      "denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"))
      << Map("a");
  ASSERT_TRUE(client->Delete(Kind("validatingadmissionpolicybindings"), "", "b"));
  ASSERT_EQ(Bind("p", "validationActions: [Deny], paramRef: {name: none, parameterNotFoundAction: Allow}"), "");
  EXPECT_EQ(Map("a"), "");
  ASSERT_EQ(Policy("q", "paramKind: {apiVersion: x.org/v1, kind: Odd}, validations: [{expression: 'true'}]"), "");
  ASSERT_EQ(Bind("q", "validationActions: [Deny], paramRef: {name: none, parameterNotFoundAction: Allow}", "c"), "");
  EXPECT_TRUE(Map("b").contains("paramKind kind `&ParamKind{APIVersion:x.org/v1,Kind:Odd,}` not known")) << Map("b");
}

TEST_F(AdmissionPoliciesTest, PoliciesCanAlwaysBeMended) {
  ASSERT_EQ(Policy("p", kNever, "{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}"), "");
  ASSERT_EQ(Bind("p"), "");
  EXPECT_NE(Map("one"), "");
  EXPECT_TRUE(client->Delete(Kind("validatingadmissionpolicies"), "", "p"));
  EXPECT_EQ(Map("one"), "");
}

TEST_F(AdmissionPoliciesTest, WhatDoesNotCompileIsRefused) {
  const std::string told = Policy("p", "validations: [{expression: 'object.a +'}]");
  EXPECT_TRUE(
      told.contains("spec.validations[0].expression: Invalid value: \"object.a +\": compilation failed: ERROR: <input>:1:"))
      << told;
  EXPECT_EQ(code, base::Code::kInvalid);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::admission_policies_test
