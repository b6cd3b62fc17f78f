#include "kube/types.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::types_test {
namespace {

TEST(TypesTest, AmountsAreWrittenInTheUnitsOfTheirResource) {
  EXPECT_EQ(AmountText("cpu", 1500), "1500m");
  EXPECT_EQ(AmountText("cpu", 2000), "2");
  EXPECT_EQ(AmountText("memory", int64_t{2} << 30), "2Gi");
  EXPECT_EQ(AmountText("hugepages-2Mi", 4 << 20), "4Mi");
  EXPECT_EQ(AmountText("pods", 110), "110");
}

TEST(TypesTest, APodHasEndedInTwoPhases) {
  const auto ended = [](std::string_view phase) {
    return HasEnded(base::JsonObject{{"status", base::JsonObject{{"phase", phase}}}});
  };
  EXPECT_TRUE(ended("Succeeded"));
  EXPECT_TRUE(ended("Failed"));
  EXPECT_FALSE(ended("Running"));
  EXPECT_FALSE(HasEnded(base::Json(5)));
}

}  // namespace
}  // namespace evenkeel::kube::types_test
