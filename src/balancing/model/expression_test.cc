#include "balancing/model/expression.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evenkeel::balancing::expression_test {
namespace {

class Properties final : public PropertySource {
 public:
  Properties(std::initializer_list<std::pair<const std::string, std::string>> values) : values_(values) {}
  const std::string* Find(std::string_view name) const override {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

bool Suits(std::string_view text, const Properties& node, ConstraintPart part = ConstraintPart::kEveryReplica) {
  const auto expression = Expression::Parse(text);
  EXPECT_TRUE(expression.has_value()) << text << ": " << (expression ? "" : expression.error().message());
  return expression && expression->Suits(node, part);
}

std::string ErrorOf(std::string_view text) {
  const auto expression = Expression::Parse(text);
  return expression ? "" : expression.error().message();
}

TEST(ExpressionTest, EmptyTextSuitsEveryNode) {
  EXPECT_TRUE(Suits("", {}));
  EXPECT_TRUE(Suits(" \t\n", {}));
  EXPECT_TRUE(Expression().IsTrue());
}

TEST(ExpressionTest, NumbersCompareAsNumbersAndOtherTextsAsTexts) {
  EXPECT_TRUE(Suits("a == 5", {{"a", "5"}}));
  EXPECT_FALSE(Suits("a == 5", {{"a", "6"}}));
  EXPECT_TRUE(Suits("a == 5", {{"a", "5.0"}}));
  EXPECT_TRUE(Suits("a > 9", {{"a", "10"}}));
  EXPECT_FALSE(Suits("a < 9", {{"a", "10"}}));
  EXPECT_TRUE(Suits("a >= 10", {{"a", "10"}}));
  EXPECT_TRUE(Suits("a <= 10", {{"a", "10"}}));
  EXPECT_TRUE(Suits("a > -3", {{"a", "-2"}}));
  EXPECT_TRUE(Suits("a > 9223372036854775806", {{"a", "9223372036854775807"}}));
  EXPECT_TRUE(Suits("a == alpha", {{"a", "alpha"}}));
  EXPECT_FALSE(Suits("a == alpha", {{"a", "Alpha"}}));
  EXPECT_TRUE(Suits("a != alpha", {{"a", "5"}}));
}

TEST(ExpressionTest, OrderOfTextsAndPrefixOfNumbersSuitNoNode) {
  EXPECT_FALSE(Suits("a > alpha", {{"a", "beta"}}));
  EXPECT_FALSE(Suits("a <= beta", {{"a", "alpha"}}));
  EXPECT_FALSE(Suits("a ^ 5", {{"a", "55"}}));
  EXPECT_FALSE(Suits("a !^ 5", {{"a", "66"}}));
  EXPECT_FALSE(Suits("!(a ^ 5)", {{"a", "66"}}));
}

TEST(ExpressionTest, PrefixOfTextsIsByLetterAndOfUrisBySegment) {
  EXPECT_TRUE(Suits("a ^ Str", {{"a", "String"}}));
  EXPECT_FALSE(Suits("a ^ Str", {{"a", "tring"}}));
  EXPECT_TRUE(Suits("FaultDomain ^ fd:/DC0", {{"FaultDomain", "fd:/DC0/Rack0/Shelf0"}}));
  EXPECT_TRUE(Suits("FaultDomain ^ fd:/DC0", {{"FaultDomain", "fd:/DC0"}}));
  EXPECT_FALSE(Suits("FaultDomain ^ fd:/DC0", {{"FaultDomain", "fd:/DC00/Rack0"}}));
  EXPECT_TRUE(Suits("FaultDomain !^ fd:/DC0", {{"FaultDomain", "fd:/DC1"}}));
  EXPECT_FALSE(Suits("FaultDomain !^ fd:/DC0", {{"FaultDomain", "fd:/DC0/Rack0"}}));
  EXPECT_TRUE(Suits("FaultDomain == fd:/DC0/", {{"FaultDomain", "fd:/DC0"}}));
}

TEST(ExpressionTest, MissingPropertyMakesTheNodeUnsuitableWhateverElseHolds) {
  EXPECT_FALSE(Suits("b == 3", {{"a", "3"}}));
  EXPECT_FALSE(Suits("b != 3", {{"a", "3"}}));
  EXPECT_FALSE(Suits("!(b == 3)", {{"a", "3"}}));
  EXPECT_FALSE(Suits("a == 3 || b == 3", {{"a", "3"}}));
  EXPECT_FALSE(Suits("b == 3 || a == 3", {{"a", "3"}}));
}

TEST(ExpressionTest, AndBindsMoreStronglyThanOr) {
  const Properties node = {{"a", "1"}, {"b", "0"}, {"c", "0"}};
  EXPECT_TRUE(Suits("a == 1 || b == 1 && c == 1", node));
  EXPECT_FALSE(Suits("(a == 1 || b == 1) && c == 1", node));
  EXPECT_TRUE(Suits("!(b == 1) && a==1", node));
  EXPECT_TRUE(Suits("! ( b == 1 )", node));
  EXPECT_TRUE(Suits("!!(a == 1)", node));
}

TEST(ExpressionTest, PrimaryPartIsAskedSeparately) {
  const Properties node = {{"FaultDomain", "fd:/DC00/Rack0"}, {"a", "1"}};
  EXPECT_TRUE(Suits("FaultDomain ^P fd:/DC0", node));
  EXPECT_FALSE(Suits("FaultDomain ^P fd:/DC0", node, ConstraintPart::kPrimaryOnly));
  EXPECT_TRUE(Suits("FaultDomain !^P fd:/DC0", node, ConstraintPart::kPrimaryOnly));
  EXPECT_TRUE(Suits("a == 2", node, ConstraintPart::kPrimaryOnly));
  EXPECT_TRUE(Suits("missing == 2", node, ConstraintPart::kPrimaryOnly));
  EXPECT_TRUE(Expression::Parse("a == 1 && FaultDomain ^P fd:/x")->HasPrimaryPart());
  EXPECT_FALSE(Expression::Parse("a == 1 && FaultDomain ^ fd:/x")->HasPrimaryPart());
}

TEST(ExpressionTest, PoliciesAreInstructionsAndHoldOnEveryNode) {
  EXPECT_EQ(Expression::Parse("FaultDomain ^P fd:/DC0 && FDPolicy ~ Nonpacking")->fault_domain_policy(),
            FaultDomainPolicy::kNonpacking);
  EXPECT_EQ(Expression::Parse("FDPolicy ~ Ignore && a == 5 ")->fault_domain_policy(), FaultDomainPolicy::kIgnore);
  EXPECT_EQ(Expression::Parse("FDPolicy ~ Packing && FDPolicy ~ Ignore")->fault_domain_policy(), FaultDomainPolicy::kPacking);
  EXPECT_TRUE(Expression::Parse("PlacePolicy ~ NonPartially ")->non_partially());
  EXPECT_FALSE(Expression::Parse("a == 1")->non_partially());
  EXPECT_TRUE(Suits("FDPolicy ~ Ignore", {}));
  EXPECT_TRUE(Expression::Parse("FDPolicy ~ Ignore")->PropertyNames().empty());
}

TEST(ExpressionTest, InvalidExpressionsAreErrors) {
  for (const char* text : {"(abc", "abc)", "1==", "==1", "==", "!", "!a && !", "a!Param)", "()var"}) {
    EXPECT_FALSE(Expression::Parse(text).has_value()) << text;
  }
}

TEST(ExpressionTest, ErrorsTellTheColumnAndWhatToDo) {
  EXPECT_EQ(ErrorOf("a == 1 && (b == 2"), "column 18: expected ) for the ( in column 11, found the end");
  EXPECT_EQ(ErrorOf("a == "), "column 6: expected what a is compared with, found the end");
  EXPECT_EQ(ErrorOf("a = 5"), "column 1: \"a = 5\" is not compared with anything; expected == or another comparison");
  EXPECT_EQ(ErrorOf("!a == 5"), "column 2: ! binds more strongly than ==: write !(a == ...)");
  EXPECT_EQ(ErrorOf("a ^Prod"), "column 3: ^ followed by a word with P, or ^P? write a space between them");
  EXPECT_EQ(ErrorOf("FDPolicy ~ Some"), "column 1: FDPolicy ~ Some: expected Packing, Nonpacking or Ignore");
  EXPECT_EQ(ErrorOf("(a == 5) == (b == 5)"),
            "column 10: to the left of a comparison stands the name of a property, not parentheses");
  EXPECT_EQ(ErrorOf("a == 1 b == 2"), "column 10: unexpected \"==\"");
}

TEST(ExpressionTest, DepthIsBounded) {
  EXPECT_TRUE(Expression::Parse(std::string(100, '(') + "a == 1" + std::string(100, ')')).has_value());
  EXPECT_NE(ErrorOf(std::string(50'000, '(')).find("nested deeper than 100"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(50'000, '!') + "true").find("nested deeper than 100"), std::string::npos);
}

TEST(ExpressionTest, WhyNotNamesThePartThatFails) {
  const Properties node = {{"ssd", "0"}, {"zone", "b"}};
  const auto why = [&](std::string_view text) { return Expression::Parse(text)->WhyNot(node, ConstraintPart::kEveryReplica); };
  EXPECT_EQ(why("ssd == 0"), "");
  EXPECT_EQ(why("zone == b && ssd == 1"), "ssd is 0, not == 1");
  EXPECT_EQ(why("zone == a || ssd == 1"), "zone is b, not == a, and ssd is 0, not == 1");
  EXPECT_EQ(why("gpu == 1"), "the node has no property gpu");
  EXPECT_EQ(why("zone > 3"), "zone is b, which cannot be compared by > 3");
  EXPECT_EQ(why("!(ssd == 0)"), "!(ssd == 0) does not hold");
}

TEST(ExpressionTest, NamesWithHyphensGetAHint) {
  EXPECT_EQ(HyphenHint(*Expression::Parse("has-ssd == 1 && a == 1")),
            "Service Fabric never matches properties whose names contain '-': has-ssd");
  EXPECT_EQ(HyphenHint(*Expression::Parse("a == some-value")), "");
  EXPECT_TRUE(Suits("has-ssd == 1", {{"has-ssd", "1"}}));
}

TEST(ExpressionTest, DomainSegmentsLeaveOutSchemeAndEmptyParts) {
  EXPECT_EQ(DomainSegments("fd:/dc0/r1/"), (std::vector<std::string>{"dc0", "r1"}));
  EXPECT_EQ(DomainSegments("/dc0//r1"), (std::vector<std::string>{"dc0", "r1"}));
  EXPECT_TRUE(DomainSegments("").empty());
}

rc::Gen<std::string> Texts(int depth) {
  const auto comparison =
      rc::gen::map(rc::gen::tuple(rc::gen::element<std::string>("a", "NodeType", "x y", "b-c", "true"),
                                  rc::gen::element<std::string>("==", "!=", ">=", "<=", "<", ">", "^", "!^", "^P ", "!^P "),
                                  rc::gen::element<std::string>("1", "P2", "fd:/a/b", "two words", "-3")),
                   [](const auto& parts) { return std::get<0>(parts) + std::get<1>(parts) + " " + std::get<2>(parts); });
  if (depth == 0) return comparison;
  return rc::gen::oneOf(
      comparison, rc::gen::element<std::string>("true", "false", "FDPolicy ~ Ignore"),
      rc::gen::map(Texts(depth - 1), [](const std::string& text) { return "!(" + text + ")"; }),
      rc::gen::map(rc::gen::tuple(Texts(depth - 1), rc::gen::element<std::string>("&&", "||", " && ", "\t||\n"),
                                  Texts(depth - 1), rc::gen::inRange(0, 4)),
                   [](const auto& parts) {
                     const auto& [left, symbol, right, brackets] = parts;
                     return (brackets & 1 ? "(" + left + ")" : left) + symbol + (brackets & 2 ? "(" + right + ")" : right);
                   }));
}

RC_GTEST_PROP(ExpressionTest, WhatIsPrintedParsesBackToTheSame, ()) {
  const std::string text = *Texts(4);
  const auto expression = Expression::Parse(text);
  RC_ASSERT(expression.has_value());
  const auto again = Expression::Parse(expression->ToText());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == *expression);
  RC_ASSERT(again->ToText() == expression->ToText());
}

}  // namespace
}  // namespace evenkeel::balancing::expression_test
