#include "kube/selector.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::selector_test {
namespace {

using LabelMap = std::map<std::string, std::string>;

bool Selects(std::string_view selector, const LabelMap& labels) {
  const auto parsed = LabelSelector::Parse(selector);
  EXPECT_TRUE(parsed) << selector << ": " << (parsed ? "" : parsed.error().message());
  if (!parsed) return false;
  base::JsonObject object;
  for (const auto& [key, value] : labels) object[key] = value;
  EXPECT_EQ(parsed->Matches(labels), parsed->Matches(object));
  return parsed->Matches(labels);
}

std::string LabelErrorOf(std::string_view selector) {
  const auto parsed = LabelSelector::Parse(selector);
  return parsed ? "no error: " + parsed->ToString() : parsed.error().message();
}

TEST(LabelSelectorTest, EqualityAndInequality) {
  EXPECT_TRUE(Selects("", {}));
  EXPECT_TRUE(Selects(" ", {{"a", "b"}}));
  EXPECT_TRUE(Selects("app=web", {{"app", "web"}, {"x", "y"}}));
  EXPECT_TRUE(Selects("app==web", {{"app", "web"}}));
  EXPECT_FALSE(Selects("app=web", {{"app", "db"}}));
  EXPECT_FALSE(Selects("app=web", {}));
  EXPECT_TRUE(Selects("app!=web", {{"app", "db"}}));
  EXPECT_TRUE(Selects("app!=web", {})) << "a missing label is not equal";
  EXPECT_TRUE(Selects("app=", {{"app", ""}}));
  EXPECT_TRUE(Selects("app=,x=y", {{"app", ""}, {"x", "y"}}));
  EXPECT_FALSE(Selects("a=b,c=d", {{"a", "b"}}));
}

TEST(LabelSelectorTest, SetsAndPresence) {
  EXPECT_TRUE(Selects("a in (x, y)", {{"a", "y"}}));
  EXPECT_FALSE(Selects("a in (x,y)", {{"a", "z"}}));
  EXPECT_FALSE(Selects("a in (x,y)", {}));
  EXPECT_TRUE(Selects("a notin (x,y)", {{"a", "z"}}));
  EXPECT_TRUE(Selects("a notin (x,y)", {}));
  EXPECT_TRUE(Selects("a in (x,)", {{"a", ""}}));
  EXPECT_TRUE(Selects("a", {{"a", ""}}));
  EXPECT_FALSE(Selects("a", {}));
  EXPECT_TRUE(Selects("!a", {}));
  EXPECT_TRUE(Selects("! a , b", {{"b", "1"}}));
  EXPECT_TRUE(Selects("in in (in,notin)", {{"in", "notin"}}));
  EXPECT_TRUE(Selects("example.com/tier in (a),x!=y", {{"example.com/tier", "a"}}));
}

TEST(LabelSelectorTest, NumbersCompare) {
  EXPECT_TRUE(Selects("gen>5", {{"gen", "10"}}));
  EXPECT_FALSE(Selects("gen>5", {{"gen", "5"}}));
  EXPECT_TRUE(Selects("gen<5", {{"gen", "-1"}}) == true);
  EXPECT_FALSE(Selects("gen<5", {{"gen", "four"}}));
  EXPECT_FALSE(Selects("gen<5", {}));
}

TEST(LabelSelectorTest, ErrorsAreWordedAsUpstream) {
  EXPECT_EQ(LabelErrorOf("a=b c"), "found 'c', expected: ',' or 'end of string'");
  EXPECT_EQ(LabelErrorOf("=b"), "unable to parse requirement: found '=', expected: identifier");
  EXPECT_EQ(LabelErrorOf("a in x"), "unable to parse requirement: found 'x' expected: '('");
  EXPECT_EQ(LabelErrorOf("a in (x"), "unable to parse requirement: found '', expected: ',' or ')'");
  EXPECT_EQ(LabelErrorOf("a b"), "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(LabelErrorOf("a=b,"), "found '', expected: identifier after ','");
  EXPECT_EQ(LabelErrorOf("a=(x)"), "unable to parse requirement: found '(', expected: identifier");
  EXPECT_EQ(LabelErrorOf("a in ()"),
            "unable to parse requirement: values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
  EXPECT_NE(LabelErrorOf("a/b/c=d").find("unable to parse requirement: key: Invalid value: \"a/b/c\": "), std::string::npos);
  EXPECT_NE(LabelErrorOf("a=-x").find("values[0][a]: Invalid value: \"-x\": "), std::string::npos) << LabelErrorOf("a=-x");
  EXPECT_NE(LabelErrorOf("a>x").find("must be an integer"), std::string::npos);
  EXPECT_NE(LabelErrorOf("a=" + std::string(64, 'x')).find("no more than 63"), std::string::npos);
  EXPECT_EQ(LabelSelector::Parse("=").error().code(), base::Code::kBadRequest);
}

TEST(LabelSelectorTest, WritesACanonicalFormThatReadsBack) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"b==c , a", "a,b=c"},
      {"x in (b,a,b)", "x in (a,b)"},
      {"x in (a)", "x=a"},
      {"x notin (b,a)", "x notin (a,b)"},
      {"x != y", "x!=y"},
      {"!z", "!z"},
      {"a=", "a="},
      {"g>1,h<2", "g>1,h<2"},
      {"", ""},
  };
  for (const auto& [text, canonical] : cases) {
    const auto parsed = LabelSelector::Parse(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->ToString(), canonical);
    EXPECT_EQ(*LabelSelector::Parse(canonical), *parsed);
  }
}

LabelSelector FromText(std::string_view json) {
  const auto selector = LabelSelector::FromJson(*base::ParseJson(json, "test"));
  EXPECT_TRUE(selector) << json;
  return selector.value_or(LabelSelector::Nothing());
}

TEST(LabelSelectorTest, ReadsTheFormOfObjects) {
  const LabelSelector selector = FromText(R"({"matchLabels":{"app":"web"},"matchExpressions":[
      {"key":"tier","operator":"In","values":["a","b"]},{"key":"env","operator":"NotIn","values":["dev"]},
      {"key":"owner","operator":"Exists"},{"key":"legacy","operator":"DoesNotExist","values":[]}]})");
  EXPECT_EQ(selector.ToString(), "app=web,env!=dev,!legacy,owner,tier in (a,b)");
  EXPECT_TRUE(selector.Matches(LabelMap{{"app", "web"}, {"tier", "b"}, {"owner", "me"}}));
  EXPECT_FALSE(selector.Matches(LabelMap{{"app", "web"}, {"tier", "b"}, {"owner", "me"}, {"legacy", ""}}));
}

TEST(LabelSelectorTest, AnEmptyObjectSelectsEverythingAndNullNothing) {
  EXPECT_TRUE(FromText("{}").Matches(LabelMap{}));
  EXPECT_TRUE(FromText("{}").everything());
  EXPECT_FALSE(FromText("null").Matches(LabelMap{}));
  EXPECT_FALSE(FromText("null").everything());
  EXPECT_TRUE(LabelSelector::FromLabels({{"a", "b"}}).Matches(LabelMap{{"a", "b"}}));
  EXPECT_FALSE(LabelSelector::FromLabels({{"a", "b"}}).Matches(LabelMap{}));
}

TEST(LabelSelectorTest, RefusesBrokenObjects) {
  for (const std::string_view json :
       {R"([])", R"({"matchLabels":{"a":1}})", R"({"matchLabels":{"a b":"c"}})",
        R"({"matchExpressions":[{"key":"a","operator":"Like","values":["b"]}]})",
        R"({"matchExpressions":[{"key":"a","operator":"In","values":[]}]})",
        R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]})",
        R"({"matchExpressions":[{"key":"a","operator":"In","values":[5]}]})", R"({"matchExpressions":["a"]})"}) {
    const auto selector = LabelSelector::FromJson(*base::ParseJson(json, "test"));
    ASSERT_FALSE(selector) << json;
    EXPECT_EQ(selector.error().code(), base::Code::kInvalid);
  }
}

TEST(FieldSelectorTest, ParsesTermsAndEscapes) {
  const auto selector = FieldSelector::Parse("metadata.name=web,,status.phase!=Running,spec.x==a\\,b\\=c\\\\");
  ASSERT_TRUE(selector) << selector.error().message();
  const std::vector<FieldSelector::Term> expected = {
      {"metadata.name", true, "web"}, {"status.phase", false, "Running"}, {"spec.x", true, "a,b=c\\"}};
  EXPECT_EQ(selector->terms(), expected);
  EXPECT_EQ(selector->ToString(), "metadata.name=web,status.phase!=Running,spec.x=a\\,b\\=c\\\\");
  EXPECT_EQ(*FieldSelector::Parse(selector->ToString()), *selector);
  EXPECT_EQ(selector->Required("metadata.name"), "web");
  EXPECT_EQ(selector->Required("status.phase"), std::nullopt);
  EXPECT_TRUE(FieldSelector::Parse("")->everything());
}

TEST(FieldSelectorTest, AbsentFieldsCountAsEmpty) {
  const auto lookup = [](std::string_view path) -> std::optional<std::string> {
    if (path == "spec.nodeName") return "n1";
    return std::nullopt;
  };
  EXPECT_TRUE(FieldSelector::Parse("spec.nodeName=n1")->Matches(lookup));
  EXPECT_FALSE(FieldSelector::Parse("spec.nodeName!=n1")->Matches(lookup));
  EXPECT_TRUE(FieldSelector::Parse("status.phase=")->Matches(lookup));
  EXPECT_TRUE(FieldSelector::Parse("status.phase!=Running,spec.nodeName=n1")->Matches(lookup));
}

TEST(FieldSelectorTest, ErrorsAreWordedAsUpstream) {
  EXPECT_EQ(FieldSelector::Parse("name").error().message(), "invalid selector: 'name'; can't understand 'name'");
  EXPECT_EQ(FieldSelector::Parse("a=b=c").error().message(), "invalid field selector: unescaped character in value: =");
  EXPECT_EQ(FieldSelector::Parse("a=\\x").error().message(), "invalid field selector: invalid escape sequence: \\x");
  EXPECT_FALSE(FieldSelector::Parse("a=b\\"));
}

}  // namespace
}  // namespace evenkeel::kube::selector_test
