#include "kube/rules/schema_rules.h"

#include <gtest/gtest.h>

#include "kube/rules/estimate.h"

namespace evenkeel::kube::cel::schema_rules_test {
namespace {

using base::Cause;
using base::Json;

Json Parsed(std::string_view text) { return *base::ParseJson(text, "test"); }

std::vector<std::string> Lines(const std::vector<Cause>& causes) {
  std::vector<std::string> lines;
  for (const Cause& cause : causes) lines.push_back(cause.field + ": " + cause.message);
  return lines;
}

std::vector<std::string> Wrong(std::string_view schema) { return Lines(CheckRules(Parsed(schema), FieldPath("schema"))); }

std::vector<std::string> Check(std::string_view schema, std::string_view object, std::string_view old = "") {
  const auto rules = RulesOf(Parsed(schema));
  EXPECT_NE(rules, nullptr);
  const Json now = Parsed(object);
  if (old.empty()) return Lines(rules->Check(now, nullptr));
  const Json before = Parsed(old);
  return Lines(rules->Check(now, &before));
}

using Texts = std::vector<std::string>;

constexpr std::string_view kScaled = R"j({"type":"object","properties":{"spec":{"type":"object",
  "x-kubernetes-validations":[{"rule":"self.min <= self.max"}],
  "properties":{"min":{"type":"integer"},"max":{"type":"integer","x-kubernetes-validations":[{"rule":"self < 10","message":" too many "}]}}}}})j";

TEST(SchemaRulesTest, FailedRulesAreToldWhereTheyAre) {
  EXPECT_EQ(Check(kScaled, R"j({"spec":{"min":1,"max":2}})j"), Texts{});
  EXPECT_EQ(Check(kScaled, R"j({"spec":{"min":3,"max":2}})j"), Texts{"spec: Invalid value: failed rule: self.min <= self.max"});
  EXPECT_EQ(Check(kScaled, R"j({"spec":{"min":3,"max":20}})j"), Texts{"spec.max: Invalid value: 20: too many"});
  EXPECT_EQ(Check(kScaled, R"j({"spec":{"max":2}})j"),
            Texts{"spec: Invalid value: no such key: min evaluating rule: self.min <= self.max"});
  EXPECT_EQ(Check(kScaled, R"j({"spec":null})j"), Texts{}) << "rules about absence belong to the parent";
}

TEST(SchemaRulesTest, UnchangedValuesThatFailAreLetPass) {
  EXPECT_EQ(Check(kScaled, R"j({"spec":{"min":1,"max":20}})j", R"j({"spec":{"min":2,"max":20}})j"), Texts{});
  EXPECT_EQ(Check(kScaled, R"j({"spec":{"min":1,"max":21}})j", R"j({"spec":{"min":1,"max":20}})j"),
            Texts{"spec.max: Invalid value: 21: too many"});
}

TEST(SchemaRulesTest, ItemsOfAtomicListsAreComparedWithWhatTheyAreIn) {
  constexpr std::string_view kList = R"j({"type":"object","properties":{"l":{"type":"array",
    "items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0"}]}}}})j";
  EXPECT_EQ(Check(kList, R"j({"l":[0],"x":1})j", R"j({"l":[0]})j"), Texts{});
  EXPECT_EQ(Check(kList, R"j({"l":[0,1]})j", R"j({"l":[0]})j"), Texts{"l[0]: Invalid value: 0: failed rule: self > 0"});
}

TEST(SchemaRulesTest, TransitionRulesNeedAnOldValue) {
  constexpr std::string_view kFixed = R"j({"type":"object","properties":{"id":{"type":"string",
    "x-kubernetes-validations":[{"rule":"self == oldSelf","reason":"FieldValueForbidden","message":"fixed"}]}}})j";
  EXPECT_EQ(Check(kFixed, R"j({"id":"a"})j"), Texts{});
  EXPECT_EQ(Check(kFixed, R"j({"id":"a"})j", R"j({})j"), Texts{});
  EXPECT_EQ(Check(kFixed, R"j({"id":"b"})j", R"j({"id":"a"})j"), Texts{"id: Forbidden: fixed"});
}

TEST(SchemaRulesTest, ItemsOfListsOfTypeMapFindTheirOldOnesByKey) {
  constexpr std::string_view kNamed = R"j({"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map",
    "x-kubernetes-list-map-keys":["k"],"items":{"type":"object","x-kubernetes-validations":[{"rule":"self.v >= oldSelf.v"}],
    "properties":{"k":{"type":"string"},"v":{"type":"integer"}}}}}})j";
  EXPECT_EQ(Wrong(kNamed).size(), 0U);
  EXPECT_EQ(Check(kNamed, R"j({"l":[{"k":"b","v":1},{"k":"a","v":2}]})j", R"j({"l":[{"k":"a","v":2},{"k":"b","v":2}]})j"),
            Texts{"l[0]: Invalid value: failed rule: self.v >= oldSelf.v"});
}

TEST(SchemaRulesTest, OptionalOldSelfAlwaysRuns) {
  constexpr std::string_view kOptional = R"j({"type":"object","x-kubernetes-validations":[
    {"rule":"oldSelf.hasValue() || self.v == 'new'","optionalOldSelf":true}],"properties":{"v":{"type":"string"}}})j";
  EXPECT_EQ(Check(kOptional, R"j({"v":"new"})j"), Texts{});
  EXPECT_EQ(Check(kOptional, R"j({"v":"x"})j").size(), 1U);
  EXPECT_EQ(Check(kOptional, R"j({"v":"x"})j", R"j({"v":"y"})j"), Texts{});
}

TEST(SchemaRulesTest, MessagesAndPathsComeFromTheRule) {
  constexpr std::string_view kWorded = R"j({"type":"object","properties":{"m":{"type":"object","x-kubernetes-validations":[
    {"rule":"self.a < self.b","messageExpression":"'a is ' + string(self.a)","fieldPath":".a"},
    {"rule":"false","messageExpression":"string(1 / (self.a - self.a))","message":"plain","reason":"FieldValueRequired","fieldPath":".c['x']"}],
    "properties":{
  "a" : {"type" : "integer"}, "b" : {"type" : "integer"}, "c" : {
    "type" : "object", "additionalProperties" : {"type" : "string"}
  }
}
}
}
})j";
  EXPECT_EQ(Check(kWorded, R"j({"m":{"a":5,"b":1}})j"), (Texts{"m.a: Invalid value: a is 5", "m.c[x]: Required value: plain"}));
}

TEST(SchemaRulesTest, BudgetEndsTheRules) {
  constexpr std::string_view kCostly = R"j({"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},
    "x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, self.all(c, a != b || b != c || a == c)))"},{"rule":"false"}]
}
}
})j";
  std::string items;
  for (int i = 0; i < 200; ++i) items += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\"";
  const Texts lines = Check(kCostly, "{\"l\":[" + items + "]}");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("'operation cancelled: actual cost limit exceeded': no further validation rules will be run"),
            std::string::npos);
}

TEST(SchemaRulesTest, WrongRulesAreRefusedWhereTheyAreWritten) {
  const auto at_root = [](std::string_view rule) {
    return Wrong(fmt::format(
        R"j({{"type":"object","properties":{{"a":{{"type":"integer"}}}},"x-kubernetes-validations":[{}]}})j", rule));
  };
  const auto expect = [&](std::string_view rule, std::string_view field, std::string_view message) {
    const Texts lines = at_root(rule);
    ASSERT_EQ(lines.size(), 1U) << rule;
    EXPECT_TRUE(lines[0].starts_with(fmt::format("schema.x-kubernetes-validations[0]{}: ", field))) << lines[0];
    EXPECT_NE(lines[0].find(message), std::string::npos) << lines[0];
  };
  EXPECT_EQ(at_root(R"j({"rule":"self.a > 0"})j"), Texts{});
  expect(R"j({"rule":""})j", ".rule", "Required value: rule is not specified");
  expect(R"j({"rule":"self.b > 0"})j", ".rule", "compilation failed: ERROR: <input>:1:5: undefined field 'b'");
  expect(R"j({"rule":"self.a"})j", ".rule", "cel expression must evaluate to a bool");
  expect(R"j({"rule":"true","optionalOldSelf":true})j", ".optionalOldSelf", "may not be set if oldSelf is not used in rule");
  expect(R"j({"rule":"true","messageExpression":"1"})j", ".messageExpression", "messageExpression must evaluate to a string");
  expect(R"j({"rule":"true","fieldPath":".b"})j", ".fieldPath", "must be a valid path");
  expect(R"j({"rule":"true","message":"a\nb"})j", ".message", "message must not contain line breaks");
  expect(R"j({"rule":"true &&\ntrue"})j", ".message", "message must be specified if rule contains line breaks");
  expect(R"j({"rule":"true","reason":"Because"})j", ".reason", "Unsupported value");
}

TEST(SchemaRulesTest, OldSelfNeedsACounterpart) {
  const Texts lines = Wrong(R"j({"type":"object","properties":{"l":{"type":"array","maxItems":3,
    "items":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf"}]}}}})j");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[l]"),
            std::string::npos)
      << lines[0];
}

TEST(SchemaRulesTest, RulesThatMayCostTooMuchAreRefused) {
  const auto bounded = [](std::string_view list, std::string_view item) {
    constexpr std::string_view kRule = R"j("x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, a == b))"}])j";
    return Wrong(
        fmt::format(R"j({{"type":"object","properties":{{"l":{{"type":"array",{}{},"items":{{"type":"string"{}}}}}}}}})j",
                    kRule, list, item));
  };
  const Texts lines = bounded("", "");
  ASSERT_GE(lines.size(), 1U);
  EXPECT_NE(
      lines[0].find("Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule"),
      std::string::npos)
      << lines[0];
  EXPECT_EQ(bounded(R"(,"maxItems":10)", R"(,"maxLength":10)"), Texts{});
}

}  // namespace
}  // namespace evenkeel::kube::cel::schema_rules_test
