#include "base/text.h"

#include <gtest/gtest.h>

namespace evenkeel::base::text_test {
namespace {

TEST(TextTest, OnlyLettersOfAsciiBecomeLower) {
  EXPECT_EQ(Lower("AZaz09@[`{"), "azaz09@[`{");
  EXPECT_EQ(Lower("\xC3\x84\xC0"), "\xC3\x84\xC0") << "bytes of other characters, and of none";
  EXPECT_EQ(Lower(std::string_view("A\0B", 3)), std::string_view("a\0b", 3));
  EXPECT_EQ(Lower(""), "");
}

TEST(TextTest, OnlyBlanksAtTheEndsGo) {
  EXPECT_EQ(Trimmed(" \t\r\na b\n "), "a b");
  EXPECT_EQ(Trimmed("a"), "a");
  EXPECT_EQ(Trimmed(" \n"), "");
  EXPECT_EQ(Trimmed(""), "");
  EXPECT_EQ(Trimmed(" \na\n ", " "), "\na\n") << "what counts as a blank may be said";
  EXPECT_EQ(Trimmed("\v a"), "\v a");
}

using Parts = std::vector<std::string_view>;

TEST(TextTest, EmptyPartsArePartsAndNoWords) {
  EXPECT_EQ(Split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(Split(",a,,b,", ','), (Parts{"", "a", "", "b", ""}));
  EXPECT_EQ(Split("", ','), Parts{""});
  EXPECT_EQ(SplitWords("  a b ", ' '), (Parts{"a", "b"}));
  EXPECT_EQ(SplitWords("", ' '), Parts{});
}

}  // namespace
}  // namespace evenkeel::base::text_test
