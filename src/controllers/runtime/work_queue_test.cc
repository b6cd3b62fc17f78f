#include "controllers/runtime/work_queue.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::runtime::work_queue_test {
namespace {

using namespace std::chrono_literals;

class WorkQueueTest : public ::testing::Test {
 protected:
  using Lines = std::vector<std::string>;
  std::function<void(const std::string&)> also;
  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<base::Strand> strand = executor.NewStrand("queue");
  Lines done;
  WorkQueue queue{strand, executor.clock(), [this](const std::string& key) {
                    done.push_back(key);
                    if (also) also(key);
                  }};
};

TEST_F(WorkQueueTest, TakesEachKeyOnceInTheOrderAdded) {
  queue.Add("b");
  queue.Add("a");
  queue.Add("b");
  executor.RunUntilIdle();
  EXPECT_EQ(done, Lines{}) << "not started";
  queue.Start();
  queue.Add("c");
  EXPECT_EQ(queue.size(), 3u);
  executor.RunUntilIdle();
  EXPECT_EQ(done, (Lines{"b", "a", "c"}));
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(WorkQueueTest, AKeyAddedWhileItIsProcessedComesAgain) {
  queue.Start();
  also = [&](const std::string&) {
    if (done.size() == 1) queue.Add("a");
  };
  queue.Add("a");
  queue.Add("b");
  executor.RunUntilIdle();
  EXPECT_EQ(done, (Lines{"a", "b", "a"}));
}

TEST_F(WorkQueueTest, LetsOthersOnTheStrandRunBetweenTwoKeys) {
  queue.Start();
  queue.Add("a");
  queue.Add("b");
  strand->Post([&] { done.push_back("other"); });
  executor.RunUntilIdle();
  EXPECT_EQ(done, (Lines{"a", "other", "b"}));
}

TEST_F(WorkQueueTest, OfSeveralDelaysTheEarliestCounts) {
  queue.Start();
  queue.AddAfter("a", 10s);
  queue.AddAfter("a", 5s);
  queue.AddAfter("a", 20s);
  queue.AddAfter("b", 7s);
  executor.RunFor(5s - 1ns);
  EXPECT_EQ(done, Lines{});
  executor.RunFor(1ns);
  EXPECT_EQ(done, Lines{"a"});
  executor.RunFor(1h);
  EXPECT_EQ(done, (Lines{"a", "b"}));
}

TEST_F(WorkQueueTest, WaitsTwiceAsLongAfterEachFailureUpToAMinute) {
  queue.Start();
  std::vector<base::Duration> waits;
  for (int i = 0; i < 16; ++i) waits.push_back(queue.AddRateLimited("a"));
  EXPECT_EQ(waits[0], 5ms);
  EXPECT_EQ(waits[1], 10ms);
  EXPECT_EQ(waits[13], 40960ms);
  EXPECT_EQ(waits[14], 60s);
  EXPECT_EQ(waits[15], 60s);
  EXPECT_EQ(queue.Failures("a"), 16);
  EXPECT_EQ(queue.AddRateLimited("b"), 5ms) << "each key has its own";
  queue.Forget("a");
  EXPECT_EQ(queue.Failures("a"), 0);
  EXPECT_EQ(queue.AddRateLimited("a"), 5ms);
}

TEST_F(WorkQueueTest, DoesNothingAfterStop) {
  queue.Start();
  queue.Add("a");
  queue.AddAfter("b", 1s);
  queue.Stop();
  queue.Add("c");
  queue.AddRateLimited("d");
  executor.RunFor(1h);
  EXPECT_EQ(done, Lines{});
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace evenkeel::controllers::runtime::work_queue_test
