#include "base/split.h"

#include <gtest/gtest.h>

namespace evenkeel::base::split_test {
namespace {

using Parts = std::vector<std::string_view>;

TEST(SplitTest, EmptyPartsArePartsAndNoWords) {
  EXPECT_EQ(Split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(Split(",a,,b,", ','), (Parts{"", "a", "", "b", ""}));
  EXPECT_EQ(Split("", ','), Parts{""});
  EXPECT_EQ(SplitWords("  a b ", ' '), (Parts{"a", "b"}));
  EXPECT_EQ(SplitWords("", ' '), Parts{});
}

}  // namespace
}  // namespace evenkeel::base::split_test
