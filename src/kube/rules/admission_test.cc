#include "kube/rules/admission.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::cel::admission_test {
namespace {

using base::Json;

Json Parsed(std::string_view text) { return *base::ParseJson(text, "test"); }

Json Conditions(std::initializer_list<std::string_view> expressions) {
  base::JsonArray list;
  for (const std::string_view expression : expressions)
    list.push_back(base::JsonObject{{"name", fmt::format("c{}", list.size())}, {"expression", expression}});
  return list;
}

/// "true", "false" or the error.
std::string Matches(std::initializer_list<std::string_view> expressions) {
  static const Json object =
      Parsed(R"({"metadata":{"name":"a","namespace":"ns","labels":{"app":"web"}},"spec":{"replicas":3}})");
  static const Json request =
      Parsed(R"({"operation":"CREATE","name":"a","userInfo":{"username":"eve","groups":["dev"]},"dryRun":false})");
  struct OnlyGet final : AccessRules {
    Answer Ask(const AccessQuestion& question, std::string_view verb) const override {
      return {verb == "get" && question.resource == "pods" && question.name == "a", ""};
    }
  } access;
  const AdmissionInput input{
      .object = &object, .request = &request, .access = &access, .resource = {.resource = "pods", .name = "a"}};
  const auto matches = MatchesConditions(CompileMatchConditions(Conditions(expressions).as_array()), input);
  return matches ? (*matches ? "true" : "false") : matches.error().message();
}

TEST(AdmissionTest, ConditionsSeeTheWrite) {
  EXPECT_EQ(Matches({}), "true");
  EXPECT_EQ(Matches({"object.spec.replicas == 3", "object.metadata.namespace == 'ns'"}), "true");
  EXPECT_EQ(Matches({"request.operation == 'CREATE' && 'dev' in request.userInfo.groups && !request.dryRun"}), "true");
  EXPECT_EQ(Matches({"oldObject == null && namespaceObject == null"}), "true");
  EXPECT_EQ(Matches({"authorizer.requestResource.check('get').allowed()"}), "true");
  EXPECT_EQ(Matches({"authorizer.group('').resource('pods').check('get').allowed()"}), "false");
}

TEST(AdmissionTest, WhatDoesNotHoldDecidesAndErrorsAreToldOtherwise) {
  EXPECT_EQ(Matches({"object.spec.nope == 1", "false"}), "false");
  EXPECT_EQ(Matches({"true", "object.spec.nope == 1"}),
            "expression 'object.spec.nope == 1' resulted in error: no such key: nope");
}

TEST(AdmissionTest, WrongConditionsAreRefused) {
  const auto problems = [](std::initializer_list<std::string_view> expressions) {
    std::string lines;
    for (const base::Cause& cause : CheckMatchConditions(Conditions(expressions).as_array(), FieldPath("matchConditions")))
      lines += cause.field + ": " + cause.message;
    return lines;
  };
  EXPECT_EQ(problems({"true", "request.name == 'a'"}), "");
  EXPECT_NE(problems({"request.uid == ''"})
                .find("matchConditions[0].expression: Invalid value: \"request.uid == ''\": compilation failed: ERROR"),
            std::string::npos);
  EXPECT_NE(problems({"1"}).find("must evaluate to bool"), std::string::npos);
  EXPECT_NE(problems({" "}).find("Required value"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::kube::cel::admission_test
