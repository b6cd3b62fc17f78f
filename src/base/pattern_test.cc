#include "base/pattern.h"

#include <gtest/gtest.h>

namespace evenkeel::base::pattern_test {
namespace {

bool Match(std::string_view pattern, std::string_view text) {
  const auto parsed = Pattern::Parse(pattern);
  EXPECT_TRUE(parsed.has_value()) << pattern << ": " << (parsed ? "" : parsed.error().message());
  return parsed && (*parsed)->Matches(text);
}

std::string Problem(std::string_view pattern) {
  const auto parsed = Pattern::Parse(pattern);
  return parsed ? "" : parsed.error().message();
}

TEST(PatternTest, MeansWhatGoMeans) {
  EXPECT_TRUE(Match("b", "abc")) << "a match anywhere counts";
  EXPECT_TRUE(Match("^[0-9a-z-.]+$", "a-1.b")) << "a dash that ends no range is a letter";
  EXPECT_TRUE(Match("^[\\w-.]+$", "a_-."));
  EXPECT_TRUE(Match("^[\\d-z]+$", "1-z"));
  EXPECT_FALSE(Match("^[\\d-z]+$", "a"));
  EXPECT_TRUE(Match("^.{3}$", "äöü")) << "code points, not bytes";
  EXPECT_TRUE(Match("^[^a]$", "ä"));
  EXPECT_TRUE(Match("^\\pL+$", "straße"));
  EXPECT_FALSE(Match("^\\pL+$", "a1"));
  EXPECT_FALSE(Match("^.*$", "a\nb")) << "no line breaks";
  EXPECT_TRUE(Match("(?s)^.*$", "a\nb"));
  EXPECT_FALSE(Match("^a$", "a\nb"));
  EXPECT_TRUE(Match("(?m)^a$", "a\nb"));
  EXPECT_FALSE(Match("^a$", "a\n"));
  EXPECT_TRUE(Match("(?i)^straße$", "STRAßE"));
  EXPECT_TRUE(Match("^(?<year>\\d{4})-(?P<month>\\d\\d)$", "2024-12"));
  EXPECT_TRUE(Match("^[(?<a>]+$", "(?<a>")) << "no group within a class";
  EXPECT_TRUE(Match("^[](?<a>]+$", "]<(")) << "a bracket that comes first is a letter";
  EXPECT_TRUE(Match("^\\Q(?<a>\\E$", "(?<a>"));
  EXPECT_TRUE(Match("^[[:alpha:]-]+$", "a-b"));
  EXPECT_TRUE(Match("", ""));
}

TEST(PatternTest, RefusesWhatGoRefuses) {
  EXPECT_EQ(Problem("[a"), "error parsing regexp: missing closing ]: `[a`");
  EXPECT_EQ(Problem("(?=x)"), "error parsing regexp: invalid or unsupported Perl syntax: `(?=`");
  EXPECT_EQ(Problem("(?<!x)").substr(0, 57), "error parsing regexp: invalid or unsupported Perl syntax:");
  EXPECT_EQ(Problem("(a)\\1"), "error parsing regexp: invalid escape sequence: `\\1`");
  EXPECT_EQ(Problem("\\C"), "error parsing regexp: invalid escape sequence: `\\C`");
  EXPECT_EQ(Problem("a**"), "error parsing regexp: invalid nested repetition operator: `**`");
  EXPECT_EQ(Problem("*"), "error parsing regexp: missing argument to repetition operator: `*`");
  EXPECT_EQ(Problem("a{1001}"), "error parsing regexp: invalid repeat count: `{1001}`");
  EXPECT_EQ(Problem("[z-a]"), "error parsing regexp: invalid character class range: `z-a`");
  EXPECT_EQ(Problem("(((\\pL{1,100}){1,100}){1,10})").substr(0, 43), "error parsing regexp: invalid repeat count:");
  EXPECT_NE(Problem(std::string(Pattern::kTextBytesMax + 1, 'a')), "");
}

TEST(PatternTest, TakesTimeLinearInTheText) {
  EXPECT_FALSE(Match("^(a+)+$", std::string(40, 'a') + "b"));
  EXPECT_FALSE(Match("(x+x+)+y", std::string(30'000, 'x')));
  EXPECT_TRUE(Match("^.*$", std::string(200'000, 'x')));
}

TEST(PatternTest, CountsLettersOfAllAlphabets) {
  EXPECT_TRUE(Match("^\\pL{1,253}$", "straße"));
  EXPECT_FALSE(Match("^[\\pL_-]{1,63}$", "a b"));
}

TEST(PatternTest, EqualTextsAreOne) {
  const auto first = Pattern::Parse("^once$");
  const auto second = Pattern::Parse("^once$");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->get(), second->get());
}

TEST(PatternTest, MorePatternsThanStayCompiledStillMatch) {
  std::vector<std::shared_ptr<const Pattern>> patterns;
  for (int i = 0; i < 300; ++i) patterns.push_back(Pattern::Parse("^n" + std::to_string(i) + "$").value());
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300; ++i) {
      EXPECT_TRUE(patterns[static_cast<size_t>(i)]->Matches("n" + std::to_string(i)));
      EXPECT_FALSE(patterns[static_cast<size_t>(i)]->Matches("m"));
    }
  }
}

}  // namespace
}  // namespace evenkeel::base::pattern_test
