#include "embedded/fleet/loopback_claim.h"

#include <gtest/gtest.h>

#include <optional>

namespace evenkeel::embedded::fleet::loopback_claim_test {
namespace {

TEST(LoopbackClaimTest, TwoFleetsNeverHaveTheSame) {
  auto first = LoopbackClaim::Take(200);
  ASSERT_TRUE(first) << first.error().message();
  std::optional<LoopbackClaim> mine(*std::move(first));
  const int octet = mine->octet();
  auto second = LoopbackClaim::Take(octet);
  ASSERT_TRUE(second);
  EXPECT_NE(second->octet(), octet);
  mine.reset();
  auto again = LoopbackClaim::Take(octet);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->octet(), octet) << "what is free again can be had again";
}

TEST(LoopbackClaimTest, AnythingIsAPreference) {
  for (const int preferred : {-1, 0, 15, 240, 1000}) {
    auto claim = LoopbackClaim::Take(preferred);
    ASSERT_TRUE(claim);
    EXPECT_GE(claim->octet(), LoopbackClaim::kFirst);
    EXPECT_LT(claim->octet(), LoopbackClaim::kFirst + LoopbackClaim::kCount);
  }
}

}  // namespace
}  // namespace evenkeel::embedded::fleet::loopback_claim_test
