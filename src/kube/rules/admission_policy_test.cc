#include "kube/rules/admission_policy.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"

namespace evenkeel::kube::cel::admission_policy_test {
namespace {

using base::Json;

Json Yaml(std::string_view text) { return *base::ParseYamlDocument(text, "test"); }

/// Lines "reason: message"; failures of annotations are marked.
std::string Judged(std::string_view spec, const Json* params = nullptr) {
  static const Json object = Yaml("{metadata: {name: a, namespace: n, labels: {app: web}}, spec: {replicas: 7}}");
  static const Json ns = Yaml("{metadata: {name: n, labels: {tier: prod}}}");
  static const Json request = Yaml("{operation: CREATE, name: a, userInfo: {username: eve, groups: [dev]}}");
  struct OnlyGet final : AccessRules {
    Answer Ask(const AccessQuestion&, std::string_view verb) const override { return {verb == "get", ""}; }
  } access;
  const AdmissionPolicy policy(Yaml(spec));
  const auto verdict = policy.Judge(
      {.object = &object, .request = &request, .namespace_object = &ns, .params = params, .access = &access, .resource = {}});
  std::string lines;
  for (const auto& refusal : verdict.refusals) lines += refusal.reason + ": " + refusal.message + "\n";
  for (const auto& failure : verdict.failures) lines += "annotation: " + failure.message + "\n";
  return lines;
}

TEST(AdmissionPolicyTest, ValidationsSeeTheWrite) {
  EXPECT_EQ(Judged("validations: [{expression: 'object.spec.replicas <= 7'}]"), "");
  EXPECT_EQ(Judged("validations: [{expression: 'object.spec.replicas <= 5'}]"),
            "Invalid: failed expression: object.spec.replicas <= 5\n");
  EXPECT_EQ(Judged("validations: [{expression: 'object.spec.replicas <= 5', message: ' too many ', reason: Forbidden}]"),
            "Forbidden: too many\n");
  EXPECT_EQ(Judged("validations: [{expression: \"oldObject == null && request.userInfo.username == 'eve' && "
                   "namespaceObject.metadata.labels['tier'] == 'prod'\"}]"),
            "");
  EXPECT_EQ(Judged("validations: [{expression: \"authorizer.requestResource.check('get').allowed()\"}, "
                   "{expression: \"authorizer.requestResource.check('delete').allowed()\", message: bad}]"),
            "Invalid: bad\n");
}

TEST(AdmissionPolicyTest, ExpressionsMakeMessages) {
  const auto message = [](std::string_view expression) {
    return Judged("validations: [{expression: 'false', message: plain, messageExpression: \"" + std::string(expression) +
                  "\"}]");
  };
  EXPECT_EQ(message("'has ' + string(object.spec.replicas)"), "Invalid: has 7\n");
  EXPECT_EQ(message("string(object.spec.nope)"), "Invalid: plain\n");
  EXPECT_EQ(message("'a\\\\nb'"), "Invalid: plain\n") << "of several lines";
  EXPECT_EQ(message("' '"), "Invalid: plain\n");
}

TEST(AdmissionPolicyTest, VariablesAreEvaluatedWhenTheyAreAskedFor) {
  EXPECT_EQ(Judged(R"y({variables: [{name: n, expression: 'object.spec.replicas'}, {name: big, expression: 'variables.n > 5'},
                                    {name: broken, expression: 'object.spec.nope == 1'}],
                        validations: [{expression: '!variables.big', messageExpression: "'of ' + string(variables.n)"},
                                      {expression: 'true || variables.broken'}]})y"),
            "Invalid: of 7\n");
  EXPECT_EQ(Judged(R"y({variables: [{name: broken, expression: 'object.spec.nope'}],
                        validations: [{expression: 'variables.broken == 1'}]})y"),
            ": expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails to evaluate: no such "
            "key: nope\n");
}

TEST(AdmissionPolicyTest, VariablesWithinVariablesAreBounded) {
  std::string variables = "{name: v0, expression: 'object.spec.replicas'}";
  for (int i = 1; i < 2000; ++i) variables += fmt::format(", {{name: v{}, expression: 'variables.v{} + 0'}}", i, i - 1);
  const std::string lines =
      Judged("{variables: [" + variables +
             "], validations: [{expression: 'variables.v20 == 7'}, {expression: 'variables.v1999 == 7'}]}");
  EXPECT_TRUE(lines.starts_with(": expression 'variables.v1999 == 7' resulted in error")) << lines.substr(0, 200);
  EXPECT_TRUE(lines.contains("variables are nested too deep")) << lines.substr(0, 200);
}

TEST(AdmissionPolicyTest, ParametersAreKnownWhereThePolicyHasAKindOfThem) {
  const Json params = Yaml("{data: {max: '5'}}");
  const std::string_view spec =
      "{paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: "
      "'params != null && object.spec.replicas <= int(params.data.max)'}]}";
  EXPECT_TRUE(Judged(spec, &params).starts_with("Invalid: failed expression"));
  EXPECT_TRUE(Judged(spec).starts_with("Invalid: failed expression"));
}

TEST(AdmissionPolicyTest, ConditionsDecideWhetherItIsAsked) {
  const auto judged = [](std::string_view condition, std::string_view policy) {
    return Judged(
        fmt::format("{{failurePolicy: {}, matchConditions: [{{name: c, expression: \"{}\"}}], validations: [{{expression: "
                    "'false'}}]}}",
                    policy, condition));
  };
  EXPECT_EQ(judged("request.name == 'b'", "Fail"), "");
  EXPECT_EQ(judged("request.name == 'a'", "Fail"), "Invalid: failed expression: false\n");
  EXPECT_EQ(judged("namespaceObject == null", "Fail"), "Invalid: failed expression: false\n") << "upstream shows them none";
  EXPECT_EQ(judged("object.nope == 1", "Fail"), ": expression 'object.nope == 1' resulted in error: no such key: nope\n");
  EXPECT_EQ(judged("object.nope == 1", "Ignore"), "");
}

TEST(AdmissionPolicyTest, FailuresFollowThePolicyAndFalseDoesNot) {
  const std::string validations = "validations: [{expression: 'object.nope == 1'}, {expression: 'false', message: bad}]";
  EXPECT_EQ(Judged("{" + validations + "}"),
            ": expression 'object.nope == 1' resulted in error: no such key: nope\nInvalid: bad\n");
  EXPECT_EQ(Judged("{failurePolicy: Ignore, " + validations + "}"), "Invalid: bad\n");
  const std::string annotations = "auditAnnotations: [{key: k, valueExpression: 'string(object.nope)'}]";
  EXPECT_EQ(Judged("{" + annotations + "}"),
            "annotation: expression 'string(object.nope)' resulted in error: no such key: nope\n");
  EXPECT_EQ(Judged("{failurePolicy: Ignore, " + annotations + "}"), "");
}

TEST(AdmissionPolicyTest, CostsAreBounded) {
  // Each costs somewhat below what one expression may.
  std::string validations;
  const std::string expression =
      "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, "
      "[0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, a + b + c + d + e < 100 || a < 100)))))";
  for (int i = 0; i < 30; ++i) validations += (i == 0 ? "" : ", ") + ("{expression: '" + expression + "'}");
  const std::string lines = Judged("validations: [" + validations + "]");
  EXPECT_TRUE(lines.contains("cost limit exceeded") || lines.contains("cost budget")) << lines.substr(0, 300);
}

std::string Problems(std::string_view spec) {
  std::string lines;
  for (const base::Cause& cause : CheckPolicyExpressions(Yaml(spec), "p.example.org", FieldPath("spec")))
    lines += cause.field + ": " + cause.message.substr(0, cause.message.find("ERROR")) + "\n";
  return lines;
}

TEST(AdmissionPolicyTest, WrongExpressionsAreRefused) {
  EXPECT_EQ(Problems("validations: [{expression: 'object.a == 1'}]"), "");
  EXPECT_EQ(Problems("validations: [{expression: 'object.a'}]"),
            "spec.validations[0].expression: Invalid value: \"object.a\": must evaluate to bool but got dyn\n");
  EXPECT_EQ(Problems("validations: [{expression: 'params.a == 1'}]"),
            "spec.validations[0].expression: Invalid value: \"params.a == 1\": compilation failed: \n");
  EXPECT_EQ(Problems("{paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: 'params.a == 1'}]}"), "");
  EXPECT_EQ(Problems("validations: [{expression: 'true', messageExpression: '1'}, {expression: ' '}]"),
            "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string but got int\n"
            "spec.validations[1].expression: Required value: expression is not specified\n");
  EXPECT_EQ(Problems("validations: [{expression: 'true', messageExpression: \"authorizer.path('/').check('get').reason()\"}]"),
            "spec.validations[0].messageExpression: Invalid value: \"authorizer.path('/').check('get').reason()\": compilation "
            "failed: \n")
      << "messages know no authorizer";
  EXPECT_EQ(
      Problems("{variables: [{name: a, expression: 'variables.b'}, {name: b, expression: '1'}, {name: in, expression: '1'}], "
               "validations: [{expression: 'variables.b == 1'}, {expression: \"variables.b == 'x'\"}]}"),
      "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: \n"
      "spec.variables[2].name: Invalid value: \"in\": name is not a valid CEL identifier\n"
      "spec.validations[1].expression: Invalid value: \"variables.b == 'x'\": compilation failed: \n")
      << "variables have types, and see those before them";
  EXPECT_EQ(
      Problems("auditAnnotations: [{key: k, valueExpression: '1'}, {key: k, valueExpression: 'null'}]"),
      "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int\n"
      "spec.auditAnnotations[1].key: Duplicate value: \"k\"\n");
}

}  // namespace
}  // namespace evenkeel::kube::cel::admission_policy_test
