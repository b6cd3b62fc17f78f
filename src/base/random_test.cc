#include "base/random.h"

#include <gtest/gtest.h>

namespace evenkeel::base::random_test {
namespace {

TEST(RandomTest, SeedZeroGivesTheReferenceSequence) {
  // State from SplitMix64(0); first outputs of xoshiro256** for it.
  Random random(0);
  EXPECT_EQ(random.Next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(random.Next(), 0xbf6e1f784956452au);
  EXPECT_EQ(random.Next(), 0x1a5f849d4933e6e0u);
}

TEST(RandomTest, ForksDependOnSeedAndNameOnly) {
  Random drawn(7);
  for (int i = 0; i < 10; ++i) drawn.Next();
  EXPECT_EQ(drawn.Fork("store").Next(), Random(7).Fork("store").Next());
  EXPECT_NE(Random(7).Fork("store").Next(), Random(7).Fork("api").Next());
  EXPECT_NE(Random(7).Fork("store").Next(), Random(8).Fork("store").Next());
  EXPECT_NE(Random(7).Fork("a").Fork("b").Next(), Random(7).Fork("b").Fork("a").Next());
}

TEST(RandomTest, BelowIsUniform) {
  Random random(1);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts[random.Below(6)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(random.Below(1), 0u);
}

TEST(RandomTest, BetweenIncludesBothEnds) {
  Random random(2);
  std::set<int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.Between(-2, 1));
  EXPECT_EQ(seen, (std::set<int64_t>{-2, -1, 0, 1}));
  EXPECT_EQ(random.Between(5, 5), 5);
  random.Between(INT64_MIN, INT64_MAX);
  for (int i = 0; i < 100; ++i) {
    const Duration delay = random.Between(1s, 2s);
    EXPECT_GE(delay, 1s);
    EXPECT_LE(delay, 2s);
  }
}

TEST(RandomTest, UnitStaysBelowOneAndAveragesAHalf) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double unit = random.Unit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
    sum += unit;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(RandomTest, NamesAndUuidsHaveTheirForm) {
  Random random(4);
  const std::string suffix = random.NameSuffix();
  EXPECT_EQ(suffix.size(), 5u);
  EXPECT_EQ(suffix.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
  for (int i = 0; i < 50; ++i) {
    const std::string uuid = random.Uuid();
    ASSERT_EQ(uuid.size(), 36u);
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << uuid;
    EXPECT_EQ(uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-', true) << uuid;
  }
  EXPECT_NE(random.Uuid(), random.Uuid());
}

}  // namespace
}  // namespace evenkeel::base::random_test
