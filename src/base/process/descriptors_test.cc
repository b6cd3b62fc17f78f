#include "base/process/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace evenkeel::base::descriptors_test {
namespace {

TEST(DescriptorsTest, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit lower{std::min<rlim_t>(256, before.rlim_max), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), static_cast<int64_t>(before.rlim_max));
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(DescriptorsTest, AShortageIsRememberedForAWhile) {
  const Instant now{std::chrono::hours(1)};
  EXPECT_FALSE(DescriptorsAreShort(now));
  NoteNoDescriptorLeft(now);
  EXPECT_TRUE(DescriptorsAreShort(now + 9s));
  EXPECT_FALSE(DescriptorsAreShort(now + 11s));
}

}  // namespace
}  // namespace evenkeel::base::descriptors_test
