// What a kube-apiserver refuses, and with which field and words.
#include <gtest/gtest.h>

#include "kube/forms/defaulting.h"
#include "kube/validation/validation.h"

namespace evenkeel::kube::validation_refusals_test {
namespace {

struct Refusal {
  const char* name;
  const char* group;
  const char* version;
  const char* plural;
  std::string object;
  const char* told;
};

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, IsUpstreams) {
  const Refusal& refusal = GetParam();
  const Resource* resource = FindBuiltIn(refusal.group, refusal.version, refusal.plural);
  ASSERT_NE(resource, nullptr);
  auto object = base::ParseJson(refusal.object, "test");
  ASSERT_TRUE(object.has_value()) << refusal.object;
  ApplyKindDefaults(*resource, *object);
  std::string told;
  for (const base::Cause& cause : ValidateObject(*resource, *object)) told += cause.field + ": " + cause.message + "\n";
  EXPECT_EQ(told, std::string(refusal.told) + "\n");
}

Refusal Hook(const char* name, const std::string& fields, const char* told) {
  const std::string review = fields.contains("admissionReviewVersions") ? "" : R"(,"admissionReviewVersions":["v1"])";
  const std::string client = fields.contains("clientConfig") ? "" : R"(,"clientConfig":{"url":"https://127.0.0.1/x"})";
  return {name,
          "admissionregistration.k8s.io",
          "v1",
          "validatingwebhookconfigurations",
          R"({"metadata":{"name":"w"},"webhooks":[{"name":"a.example.org","sideEffects":"None")" + review + client + "," +
              fields + "}]}",
          told};
}

Refusal Rule(const char* name, const std::string& fields, const char* told) {
  std::string rule;
  for (const auto& [field, value] : {std::pair("operations", R"(["CREATE"])"), std::pair("apiGroups", R"(["b"])"),
                                     std::pair("apiVersions", R"(["v1"])"), std::pair("resources", R"(["x"])")}) {
    if (!fields.contains(field)) rule += std::string("\"") + field + "\":" + value + ",";
  }
  return Hook(name, R"("rules":[{)" + rule + fields + "}]", told);
}

Refusal Policy(const char* name, const std::string& fields, const char* told) {
  const std::string match =
      fields.contains("matchConstraints")
          ? ""
          : R"("matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]},)";
  const std::string rules = fields.contains("alidations") ? "" : R"("validations":[{"expression":"true"}],)";
  return {name,
          "admissionregistration.k8s.io",
          "v1",
          "validatingadmissionpolicies",
          R"({"metadata":{"name":"p"},"spec":{)" + match + rules + fields + "}}",
          told};
}

Refusal Binding(const char* name, const std::string& fields, const char* told) {
  const std::string actions = fields.contains("validationActions") ? "" : R"("validationActions":["Deny"],)";
  return {name,
          "admissionregistration.k8s.io",
          "v1",
          "validatingadmissionpolicybindings",
          R"({"metadata":{"name":"b"},"spec":{"policyName":"p",)" + actions + fields + "}}",
          told};
}

Refusal Service(const char* name, const std::string& fields, const char* told) {
  const std::string ports = fields.contains("\"ports\"") ? "" : R"("ports":[{"port":80}],)";
  return {name, "", "v1", "services", R"({"metadata":{"name":"s","namespace":"d"},"spec":{)" + ports + fields + "}}", told};
}

Refusal Pod(const char* name, const std::string& container, const std::string& spec, const char* told) {
  return {name,
          "",
          "v1",
          "pods",
          R"({"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[{"name":"c","image":"x")" + container + "}]" +
              spec + "}}",
          told};
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RefusalTest,
    ::testing::Values(
        Hook("UnknownReviews", R"("admissionReviewVersions":["v9"])",
             R"(webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1)"),
        Hook("RepeatedReviews", R"("admissionReviewVersions":["v1","v1"])",
             R"(webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version)"),
        Hook("UserInUrl", R"("clientConfig":{"url":"https://u:p@a/b"})",
             R"(webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL)"),
        Hook("QueryInUrl", R"("clientConfig":{"url":"https://a/b?c"})",
             R"(webhooks[0].clientConfig.url: Invalid value: "c": query parameters are not permitted in the URL)"),
        Hook("FragmentInUrl", R"("clientConfig":{"url":"https://a/b#d"})",
             R"(webhooks[0].clientConfig.url: Invalid value: "d": fragments are not permitted in the URL)"),
        Hook("RelativePath", R"("clientConfig":{"service":{"name":"a","namespace":"b","path":"x"}})",
             R"(webhooks[0].clientConfig.service.path: Invalid value: "x": must start with a '/')"),
        Hook(
            "PortOfService", R"("clientConfig":{"service":{"name":"a","namespace":"b","port":0}})",
            R"(webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive)"),
        Rule(
            "OperationsBesideAll", R"("operations":["*","CREATE"])",
            R"(webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations)"),
        Rule(
            "GroupsBesideAll", R"("apiGroups":["*","b"])",
            R"(webhooks[0].rules[0].apiGroups: Invalid value: ["*","b"]: if '*' is present, must not specify other API groups)"),
        Rule("EmptyVersion", R"("apiVersions":[""])", "webhooks[0].rules[0].apiVersions[0]: Required value"),
        Rule(
            "ResourcesBesideAll", R"("resources":["*","x"])",
            R"(webhooks[0].rules[0].resources: Invalid value: ["*","x"]: if '*' is present, must not specify other resources without subresources)"),
        Rule("SubresourcesBesideAll", R"("resources":["x/*","x/y"])",
             R"(webhooks[0].rules[0].resources[1]: Invalid value: "x/y": if 'x/*' is present, must not specify x/y)"),
        Policy("NoRulesOfPolicy", R"("matchConstraints":{})", "spec.matchConstraints.resourceRules: Required value"),
        Policy("NoValidations", R"("validations":[])",
               "spec.validations: Required value: validations or auditAnnotations must contain at least one item\n"
               "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item"),
        Policy("KindOfParams", R"("paramKind":{"apiVersion":"a/b/c","kind":"X"})",
               R"(spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c)"),
        Policy("ReasonOfPolicy", R"("validations":[{"expression":"true","reason":"Odd"}])",
               "spec.validations[0].reason: Unsupported value: \"Odd\": supported values: \"Forbidden\", \"Invalid\", "
               "\"RequestEntityTooLarge\", \"Unauthorized\""),
        Policy("LinesOfMessage", R"("validations":[{"expression":"true","message":"a\nb"}])",
               R"(spec.validations[0].message: Invalid value: "a\nb": message must not contain line breaks)"),
        Policy("FailurePolicy", R"("failurePolicy":"Odd")",
               R"(spec.failurePolicy: Unsupported value: "Odd": supported values: "Fail", "Ignore")"),
        Policy(
            "NamesTwice",
            R"("matchConstraints":{"resourceRules":[{"resourceNames":["a","a"],"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]})",
            R"(spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a")"),
        Binding(
            "DenyAndWarn", R"("validationActions":["Deny","Warn"])",
            R"(spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose))"),
        Binding("NoActions", R"("validationActions":[])",
                "spec.validationActions: Required value: at least one validation action is required"),
        Binding("NameAndSelector", R"("paramRef":{"name":"a","selector":{},"parameterNotFoundAction":"Deny"})",
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive\n"
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive"),
        Binding("NoParams", R"("paramRef":{})",
                "spec.paramRef: Required value: one of name or selector must be specified\n"
                "spec.paramRef.parameterNotFoundAction: Required value"),
        Refusal{"PortOfApiService", "apiregistration.k8s.io", "v1", "apiservices",
                R"({"metadata":{"name":"v1.g"},"spec":{"group":"g","version":"v1","groupPriorityMinimum":1,"versionPriority":1,
                    "service":{"namespace":"a","name":"b","port":0}}})",
                "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"},
        Service(
            "NodePortOutOfRange", R"("type":"NodePort","ports":[{"port":1,"nodePort":1}])",
            "spec.ports[0].nodePort: Invalid value: 1: provided port is not in the valid range. The range of valid ports is "
            "30000-32767"),
        Service("LoopbackOutside", R"("externalIPs":["127.0.0.1"])",
                R"(spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128))"),
        Service("NoAddressOutside", R"("externalIPs":["x"])",
                R"(spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff))"),
        Service("RangesOfNobody", R"("loadBalancerSourceRanges":["1.2.3.0/24"])",
                "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"),
        Service(
            "NoTimeForAffinity", R"("sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":0}})",
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400"),
        Pod("UnknownField", R"(,"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"spec.foo"}}}])", "",
            R"(spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": error converting fieldPath: field label not supported: spec.foo)"),
        Pod("PathOutOfTheHost", "", R"(,"volumes":[{"name":"v","hostPath":{"path":"/a/../b"}}])",
            R"(spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain '..')"),
        Pod("NoMap", "", R"(,"volumes":[{"name":"v","configMap":{}}])", "spec.volumes[0].configMap.name: Required value"),
        Pod("NoSecret", "", R"(,"volumes":[{"name":"v","secret":{}}])", "spec.volumes[0].secret.secretName: Required value"),
        Pod("NoDns", "", R"(,"dnsPolicy":"None")",
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"),
        Pod("ClaimsComeFromSomewhere", "", R"(,"resourceClaims":[{"name":"a"}])",
            R"(spec.resourceClaims[0]: Invalid value: {"name":"a"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`)"),
        Pod("ClaimsComeFromOne", "",
            R"(,"resourceClaims":[{"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"y"}])",
            R"(spec.resourceClaims[0]: Invalid value: {"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified)"),
        Pod("UnknownClaim", R"(,"resources":{"claims":[{"name":"b","request":"r"}]})",
            R"(,"resourceClaims":[{"name":"a","resourceClaimName":"x"}])",
            R"(spec.containers[0].resources.claims[0]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a)"),
        Pod("NoClaims", R"(,"resources":{"claims":[{"name":"b"}]})", "",
            R"(spec.containers[0].resources.claims[0]: Not found: "b": must be one of the names in pod.spec.resourceClaims which is empty)"),
        Pod("NoAlias", "", R"(,"hostAliases":[{"ip":"x"}])",
            R"(spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff))")),
    [](const auto& one) { return std::string(one.param.name); });

TEST(AcceptedTest, VariablesTakeLabelsAndFiles) {
  const Resource& pods = resources::Pods();
  auto pod = base::ParseJson(
      R"({"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[{"name":"c","image":"x","env":[
          {"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['a/b']"}}},
          {"name":"B","valueFrom":{"fileKeyRef":{"volumeName":"v","path":"p","key":"k"}}}]}]}})",
      "test");
  ASSERT_TRUE(pod.has_value());
  ApplyKindDefaults(pods, *pod);
  EXPECT_TRUE(ValidateObject(pods, *pod).empty());
}

}  // namespace
}  // namespace evenkeel::kube::validation_refusals_test
