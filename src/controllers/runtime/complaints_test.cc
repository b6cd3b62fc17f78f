#include "controllers/runtime/complaints.h"

#include <gtest/gtest.h>

#include "base/executor.h"

namespace evenkeel::controllers::runtime::complaints_test {
namespace {

using namespace std::chrono_literals;

TEST(ComplaintsTest, EachIsToldAtOnceThenOnceAMinute) {
  base::VirtualExecutor time{base::Time{}};
  Complaints complaints(time.clock(), "it waits", "m1");
  EXPECT_TRUE(complaints.Tell("a pod", "refused"));
  EXPECT_FALSE(complaints.Tell("a pod", "refused again"));
  EXPECT_TRUE(complaints.Tell("a set", "refused")) << "another thing is no repetition";
  EXPECT_FALSE(complaints.Tell("a pod", "refused")) << "and does not make the first one news";
  time.RunFor(59s);
  EXPECT_FALSE(complaints.Tell("a pod", "refused"));
  time.RunFor(1s);
  EXPECT_TRUE(complaints.Tell("a pod", "refused"));
  complaints.Clear();
  EXPECT_TRUE(complaints.Tell("a pod", "refused"));
}

}  // namespace
}  // namespace evenkeel::controllers::runtime::complaints_test
