#include "sim/network/process.h"

#include <gtest/gtest.h>

namespace evenkeel::sim::process_test {
namespace {

using namespace std::chrono_literals;
using base::Duration;

class ProcessTest : public ::testing::Test {
 protected:
  base::VirtualExecutor time{base::Time(std::chrono::seconds(1'900'000'000))};
  Fibers fibers;
  std::vector<std::string> log;
  base::Task Log(std::string text) {
    return [this, text = std::move(text)] { log.push_back(text); };
  }
  using Texts = std::vector<std::string>;
};

TEST_F(ProcessTest, TasksOfAStrandRunInOrderOneAtATime) {
  Process process(time, fibers, "p");
  auto strand = process.NewStrand("s");
  Wait wait(process);
  strand->Post([&] {
    log.push_back("begin");
    EXPECT_TRUE(wait.Block());
    log.push_back("end");
  });
  strand->Post(Log("next"));
  auto other = process.NewStrand("other");
  other->Post(Log("other"));
  time.RunFor(1s);
  EXPECT_EQ(log, (Texts{"begin", "other"})) << "a task that waits holds up its strand only";
  wait.Done();
  time.RunFor(1s);
  EXPECT_EQ(log, (Texts{"begin", "other", "end", "next"}));
  EXPECT_EQ(strand->busy(), 1s);
}

TEST_F(ProcessTest, WhatComesDueWhilePausedRunsAfterwardsInOrder) {
  Process process(time, fibers, "p");
  auto a = process.NewStrand("a");
  auto b = process.NewStrand("b");
  const base::Timer first = a->PostAfter(1s, Log("1 on a"));
  const base::Timer second = b->PostAfter(2s, Log("2 on b"));
  const base::Timer third = a->PostAfter(3s, Log("3 on a"));
  base::Timer cancelled = b->PostAfter(2s, Log("cancelled"));
  const base::Timer last = b->PostAfter(20s, Log("20 on b"));
  process.Pause();
  time.RunFor(10s);
  process.Deliver(Log("packet"));
  EXPECT_TRUE(log.empty());
  cancelled.Cancel();
  process.Resume();
  time.RunUntilIdle();
  EXPECT_EQ(log, (Texts{"1 on a", "2 on b", "packet", "3 on a"})) << "3 waits for its strand's turn after 1";
  time.RunFor(10s);
  EXPECT_EQ(log.back(), "20 on b");
}

TEST_F(ProcessTest, ATaskThatPausesItsOwnProcessStopsAtItsNextWait) {
  Process process(time, fibers, "p");
  auto strand = process.NewStrand("s");
  strand->Post([&] {
    process.Pause();
    log.push_back("still runs");
    EXPECT_TRUE(process.WaitWhilePaused());
    log.push_back("after");
  });
  time.RunFor(1min);
  EXPECT_EQ(log, Texts{"still runs"});
  process.Resume();
  EXPECT_EQ(log, (Texts{"still runs", "after"}));
}

TEST_F(ProcessTest, NothingBeginsOnceItIsKilledAndWaitingTasksUnwind) {
  Process process(time, fibers, "p");
  auto strand = process.NewStrand("s");
  const base::Timer timer = strand->PostAfter(5s, Log("timer"));
  Wait wait(process);
  strand->Post([&] {
    EXPECT_FALSE(wait.Block());
    log.push_back("unwound");
    EXPECT_FALSE(Wait(process).Block()) << "no wait lasts any more";
    strand->Post(Log("posted"));
  });
  strand->Post(Log("queued"));
  time.RunFor(1s);
  process.Kill();
  EXPECT_EQ(log, Texts{"unwound"});
  time.RunFor(1min);
  process.Deliver(Log("packet"));
  process.Resume();
  EXPECT_EQ(log, Texts{"unwound"});
  EXPECT_FALSE(process.alive());
}

TEST_F(ProcessTest, CloseWaitsForTheRunningTaskAlsoWhenItIsKilledMeanwhile) {
  for (const bool killed : {false, true}) {
    log.clear();
    Process process(time, fibers, "p");
    auto closed = process.NewStrand("closed");
    auto closer = process.NewStrand("closer");
    Wait wait(process);
    closed->Post([&] {
      wait.Block();
      log.push_back("ended");
    });
    closed->Post(Log("dropped"));
    closer->Post([&] {
      closed->Close();
      log.push_back("closed");
    });
    time.RunFor(1s);
    EXPECT_TRUE(log.empty());
    killed ? process.Kill() : wait.Done();
    time.RunFor(1s);
    EXPECT_EQ(log, (Texts{"ended", "closed"}));
    closed->Post(Log("refused"));
    time.RunFor(1s);
    EXPECT_EQ(log.size(), 2u);
  }
}

TEST_F(ProcessTest, CloseFromItsOwnTaskDoesNotWait) {
  Process process(time, fibers, "p");
  auto strand = process.NewStrand("s");
  strand->Post([&] {
    strand->Close();
    log.push_back("goes on");
  });
  strand->Post(Log("dropped"));
  time.RunFor(1s);
  EXPECT_EQ(log, Texts{"goes on"});
}

TEST_F(ProcessTest, WallTimeJumpsAndMonotonicTimeDoesNot) {
  Process process(time, fibers, "p", {.wall_offset = -3h});
  const base::Instant begin = process.clock().Monotonic();
  EXPECT_EQ(process.clock().Now(), time.clock().Now() - 3h);
  process.JumpWallClock(8h);
  process.Pause();
  time.RunFor(1min);
  EXPECT_EQ(process.clock().Now(), time.clock().Now() + 5h);
  EXPECT_EQ(process.clock().Monotonic() - begin, 1min) << "it runs on while the process is stopped";
}

TEST_F(ProcessTest, ADriftingClockKeepsItsOwnTime) {
  for (const int64_t ppm : {10'000, -10'000, 1, 0}) {
    Process process(time, fibers, "p", {.drift_ppm = ppm});
    auto strand = process.NewStrand("s");
    const base::Instant own = process.clock().Monotonic();
    const base::Instant real = time.clock().Monotonic();
    base::Instant ran{};
    const base::Timer timer = strand->PostAfter(100s, [&] { ran = time.clock().Monotonic(); });
    time.RunFor(102s);
    const Duration took = ran - real;
    EXPECT_NEAR(std::chrono::duration<double>(took).count(), 100 / (1 + static_cast<double>(ppm) / 1e6), 1e-6);
    EXPECT_NEAR(std::chrono::duration<double>(process.clock().Monotonic() - own).count(),
                102 * (1 + static_cast<double>(ppm) / 1e6), 1e-6);
  }
}

TEST_F(ProcessTest, ATimerNeverComesBeforeItsTimeByTheOwnClock) {
  Process process(time, fibers, "p", {.drift_ppm = 9'973});
  auto strand = process.NewStrand("s");
  for (int i = 1; i <= 50; ++i) {
    const base::Instant begin = process.clock().Monotonic();
    const Duration delay(i * 1'234'567);
    base::Instant ran{};
    const base::Timer timer = strand->PostAfter(delay, [&] { ran = process.clock().Monotonic(); });
    time.RunFor(delay * 2);
    EXPECT_GE(ran - begin, delay);
    EXPECT_LE(ran - begin, delay + 2ns);
  }
}

}  // namespace
}  // namespace evenkeel::sim::process_test
