#include "base/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <semaphore>
#include <set>
#include <thread>

namespace evenkeel::base::executor_test {
namespace {

TEST(ThreadPoolTest, AStrandRunsItsTasksOneAtATimeInOrder) {
  auto pool = NewThreadPool(4);
  const auto strand = pool->NewStrand("counter");
  std::vector<int> order;  // not locked: the strand is what protects it
  std::latch done(1);
  for (int i = 0; i < 1000; ++i) strand->Post([&order, i] { order.push_back(i); });
  strand->Post([&] { done.count_down(); });
  done.wait();
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(ThreadPoolTest, StrandsRunSideBySide) {
  auto pool = NewThreadPool(2);
  const auto left = pool->NewStrand("left");
  const auto right = pool->NewStrand("right");
  std::latch both(2);
  std::latch done(2);
  for (const auto& strand : {left, right}) {
    strand->Post([&] {
      both.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
}

TEST(ThreadPoolTest, AQuietPoolKeepsToFewThreads) {
  const auto pool = NewThreadPool(16);
  const auto strand = pool->NewStrand("quiet");
  const auto used_by_100_tasks = [&] {
    std::set<std::thread::id> threads;
    for (int i = 0; i < 100; ++i) {
      const auto done = std::make_shared<std::promise<void>>();
      strand->Post([&threads, done] {
        threads.insert(std::this_thread::get_id());
        done->set_value();
      });
      done->get_future().wait();
    }
    return threads.size();
  };
  // Threads that begin late are the last ones that became idle, and asked first; so this takes until all have begun.
  size_t used = used_by_100_tasks();
  for (int round = 0; round < 100 && used >= 9; ++round) used = used_by_100_tasks();
  EXPECT_LT(used, 9u);
}

TEST(ThreadPoolTest, PostsFromManyThreadsAllRun) {
  auto pool = NewThreadPool(3);
  const auto strand = pool->NewStrand("sum");
  int sum = 0;
  std::latch done(400);
  {
    std::vector<std::jthread> posters;
    for (int i = 0; i < 4; ++i) {
      posters.emplace_back([&] {
        for (int j = 0; j < 100; ++j) {
          strand->Post([&] {
            ++sum;
            done.count_down();
          });
        }
      });
    }
  }
  done.wait();
  strand->Close();
  EXPECT_EQ(sum, 400);
}

TEST(ThreadPoolTest, TimersRunInTheOrderTheyFallDue) {
  auto pool = NewThreadPool(2);
  const auto strand = pool->NewStrand("timers");
  std::vector<int> order;
  std::latch done(3);
  const auto note = [&](int which) {
    order.push_back(which);
    done.count_down();
  };
  const Instant before = pool->clock().Monotonic();
  const Timer late = strand->PostAfter(60ms, [&] { note(3); });
  const Timer early = strand->PostAfter(20ms, [&] { note(2); });
  const Timer now = strand->PostAfter(-5ms, [&] { note(1); });
  const Timer never = strand->PostAfter(Duration::max(), [&] { note(4); });
  done.wait();
  EXPECT_GE(pool->clock().Monotonic() - before, 60ms);
  strand->Close();
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(ThreadPoolTest, ACancelledTimerDoesNotRunEvenWhenItIsDue) {
  auto pool = NewThreadPool(1);
  const auto strand = pool->NewStrand("cancel");
  std::atomic<int> ran = 0;
  std::latch done(1);
  std::binary_semaphore go(0);
  Timer waiting = strand->PostAfter(1h, [&] { ++ran; });
  waiting.Cancel();
  Timer due;
  strand->Post([&] {
    go.acquire();
    due.Cancel();
  });
  due = strand->PostAfter(0s, [&] { ++ran; });
  std::this_thread::sleep_for(20ms);
  go.release();
  const Timer kept = strand->PostAfter(30ms, [&] { done.count_down(); });
  done.wait();
  EXPECT_EQ(ran, 0);
}

TEST(ThreadPoolTest, CloseWaitsForTheRunningTaskAndDropsTheRest) {
  auto pool = NewThreadPool(2);
  const auto strand = pool->NewStrand("close");
  std::binary_semaphore started(0);
  std::atomic<bool> finished = false;
  std::atomic<bool> dropped_ran = false;
  auto held = std::make_shared<int>(1);
  strand->Post([&] {
    started.release();
    std::this_thread::sleep_for(30ms);
    finished = true;
  });
  strand->Post([&, held] { dropped_ran = true; });
  const Timer timer = strand->PostAfter(1ms, [&, held] { dropped_ran = true; });
  started.acquire();
  strand->Close();
  EXPECT_TRUE(finished);
  EXPECT_EQ(held.use_count(), 1) << "dropped tasks are destroyed by the time Close returns";
  strand->Post([&] { dropped_ran = true; });
  const Timer refused = strand->PostAfter(0s, [&] { dropped_ran = true; });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(dropped_ran);
}

TEST(ThreadPoolTest, CloseFromItsOwnTaskDoesNotWait) {
  auto pool = NewThreadPool(1);
  const auto strand = pool->NewStrand("self");
  std::latch done(1);
  std::atomic<bool> ran = false;
  strand->Post([&] {
    strand->Post([&] { ran = true; });
    strand->Close();
    done.count_down();
  });
  done.wait();
  strand->Close();
  EXPECT_FALSE(ran);
}

TEST(ThreadPoolTest, DestroyingThePoolWaitsForRunningTasks) {
  std::atomic<int> finished = 0;
  std::latch started(2);
  Timer outlives;
  std::shared_ptr<Strand> strand;
  {
    auto pool = NewThreadPool(2);
    strand = pool->NewStrand("a");
    const auto other = pool->NewStrand("b");
    for (const auto& each : {strand, other}) {
      each->Post([&] {
        started.count_down();
        std::this_thread::sleep_for(20ms);
        ++finished;
      });
    }
    outlives = strand->PostAfter(1h, [] {});
    started.wait();
  }
  EXPECT_EQ(finished, 2);
  strand->Post([&] { ++finished; });
  outlives.Cancel();
  EXPECT_EQ(finished, 2);
}

TEST(ThreadPoolTest, DroppedTasksMayCallBackIntoTheExecutor) {
  auto pool = NewThreadPool(1);
  const auto strand = pool->NewStrand("outer");
  auto inner = pool->NewStrand("inner");
  auto timer = std::make_shared<Timer>(strand->PostAfter(1h, [] {}));
  std::binary_semaphore started(0);
  std::binary_semaphore go(0);
  strand->Post([&] {
    started.release();
    go.acquire();
  });
  strand->Post([timer = std::move(timer), inner = std::move(inner)] {});
  started.acquire();
  std::jthread releaser([&] { go.release(); });
  strand->Close();
}

TEST(VirtualExecutorTest, RunsTasksByInstantThenSequence) {
  VirtualExecutor executor(Time(1000s));
  const auto left = executor.NewStrand("left");
  const auto right = executor.NewStrand("right");
  std::string order;
  const Timer b = left->PostAfter(2s, [&] { order += 'b'; });
  const Timer a = right->PostAfter(1s, [&] { order += 'a'; });
  const Timer c = right->PostAfter(2s, [&] { order += 'c'; });
  left->Post([&] { order += '1'; });
  left->Post([&] { order += '2'; });
  right->Post([&] { order += '3'; });
  left->Post([&] { order += '4'; });
  executor.RunUntilIdle();
  EXPECT_EQ(order, "1234");
  executor.RunFor(2s);
  EXPECT_EQ(order, "1234abc");
  EXPECT_EQ(executor.steps(), 7u);
}

TEST(VirtualExecutorTest, TheClockMovesOnlyWithTheRun) {
  VirtualExecutor executor(Time(1000s));
  const auto strand = executor.NewStrand("clock");
  EXPECT_EQ(executor.clock().Monotonic(), Instant{});
  Time seen{};
  const Timer timer = strand->PostAfter(90s, [&] { seen = executor.clock().Now(); });
  executor.RunFor(2min);
  EXPECT_EQ(seen, Time(1090s));
  EXPECT_EQ(executor.clock().Now(), Time(1120s));
  EXPECT_EQ(executor.clock().Monotonic(), Instant(120s));
}

TEST(VirtualExecutorTest, AChargedStrandRunsItsNextTaskLaterAndOthersDoNotWait) {
  VirtualExecutor executor{Time{}};
  const auto slow = executor.NewStrand("slow");
  const auto other = executor.NewStrand("other");
  std::vector<std::pair<char, Duration>> ran;
  const auto note = [&](char what) { ran.emplace_back(what, executor.clock().Monotonic().time_since_epoch()); };
  slow->Post([&] {
    note('a');
    slow->Charge(3s);
    slow->Charge(2s);
  });
  slow->Post([&] { note('b'); });
  const Timer due_at_the_end = slow->PostAfter(5s, [&] { note('d'); });
  const Timer due_meanwhile = slow->PostAfter(1s, [&] { note('c'); });
  const Timer elsewhere = other->PostAfter(2s, [&] { note('o'); });
  executor.RunFor(10s);
  const std::vector<std::pair<char, Duration>> expected = {{'a', 0s}, {'o', 2s}, {'b', 5s}, {'c', 5s}, {'d', 5s}};
  EXPECT_EQ(ran, expected);
}

TEST(VirtualExecutorTest, CancelledTimersDoNotRun) {
  VirtualExecutor executor{Time{}};
  const auto strand = executor.NewStrand("cancel");
  std::string order;
  Timer waiting = strand->PostAfter(1s, [&] { order += 'x'; });
  Timer due;
  const Timer canceller = strand->PostAfter(2s, [&] {
    order += 'c';
    due.Cancel();
  });
  due = strand->PostAfter(2s, [&] { order += 'y'; });
  const Timer behind = strand->PostAfter(2s, [&] { order += 'z'; });
  waiting.Cancel();
  executor.RunFor(1min);
  EXPECT_EQ(order, "cz");
  EXPECT_EQ(executor.steps(), 2u);
}

TEST(VirtualExecutorTest, CancellingTheFirstOfABusyStrandKeepsTheOthers) {
  VirtualExecutor executor{Time{}};
  const auto strand = executor.NewStrand("busy");
  std::string order;
  strand->Post([&] { strand->Charge(10s); });
  Timer first = strand->PostAfter(1s, [&] { order += '1'; });
  const Timer second = strand->PostAfter(2s, [&] { order += '2'; });
  executor.RunFor(5s);
  first.Cancel();
  executor.RunFor(10s);
  EXPECT_EQ(order, "2");
}

TEST(VirtualExecutorTest, ClosedOrDestroyedStrandsDropTheirTasks) {
  VirtualExecutor executor{Time{}};
  auto closed = executor.NewStrand("closed");
  auto destroyed = executor.NewStrand("destroyed");
  int ran = 0;
  auto held = std::make_shared<int>(1);
  std::vector<Timer> timers;
  for (const auto& strand : {closed, destroyed}) {
    strand->Post([&, held] { ++ran; });
    timers.push_back(strand->PostAfter(1s, [&, held] { ++ran; }));
  }
  closed->Close();
  destroyed.reset();
  EXPECT_EQ(held.use_count(), 1);
  closed->Post([&] { ++ran; });
  timers.push_back(closed->PostAfter(1s, [&] { ++ran; }));
  executor.RunFor(1min);
  EXPECT_EQ(ran, 0);
}

TEST(VirtualExecutorTest, ATaskMayCloseItsOwnStrand) {
  VirtualExecutor executor{Time{}};
  auto strand = executor.NewStrand("self");
  int ran = 0;
  strand->Post([&] {
    ++ran;
    strand.reset();
  });
  strand->Post([&] { ++ran; });
  executor.RunFor(1s);
  EXPECT_EQ(ran, 1);
}

TEST(VirtualExecutorTest, RunUntilStopsAtTheTaskThatMakesItTrue) {
  VirtualExecutor executor{Time{}};
  const auto strand = executor.NewStrand("until");
  int count = 0;
  std::function<void()> tick;
  Timer timer;
  tick = [&] {
    ++count;
    timer = strand->PostAfter(1s, [&] { tick(); });
  };
  strand->Post([&] { tick(); });
  EXPECT_TRUE(executor.RunUntil([&] { return count == 5; }, 1min));
  EXPECT_EQ(executor.clock().Monotonic(), Instant(4s));
  EXPECT_FALSE(executor.RunUntil([&] { return count == 1000; }, 10s));
  EXPECT_EQ(executor.clock().Monotonic(), Instant(14s));
  EXPECT_TRUE(executor.RunUntil([] { return true; }, 0s));
}

TEST(VirtualExecutorTest, StrandsAndTimersMayOutliveTheExecutor) {
  std::shared_ptr<Strand> strand;
  Timer timer;
  auto held = std::make_shared<int>(1);
  {
    VirtualExecutor executor{Time{}};
    strand = executor.NewStrand("outlives");
    timer = strand->PostAfter(1s, [held] {});
    strand->Post([held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
  strand->Post([] { FAIL(); });
  strand->Close();
  timer.Cancel();
}

uint64_t TraceOfARun(Duration second_delay, std::string_view strand_name, std::string_view fact) {
  VirtualExecutor executor{Time{}};
  const auto strand = executor.NewStrand(strand_name);
  const Timer first = strand->PostAfter(1s, [&] { executor.Mark(fact); });
  const Timer second = strand->PostAfter(second_delay, [] {});
  executor.RunFor(1h);
  return executor.trace_hash();
}

TEST(VirtualExecutorTest, TheTraceHashIsEqualForEqualRunsOnly) {
  const uint64_t trace = TraceOfARun(2s, "a", "fact");
  EXPECT_EQ(TraceOfARun(2s, "a", "fact"), trace);
  EXPECT_NE(TraceOfARun(3s, "a", "fact"), trace);
  EXPECT_NE(TraceOfARun(2s, "b", "fact"), trace);
  EXPECT_NE(TraceOfARun(2s, "a", "other"), trace);
}

}  // namespace
}  // namespace evenkeel::base::executor_test
