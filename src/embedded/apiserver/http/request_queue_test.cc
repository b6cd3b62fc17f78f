#include "embedded/apiserver/http/request_queue.h"

#include <gtest/gtest.h>

#include <latch>

#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::request_queue_test {
namespace {

class RequestQueueApiTest : public ApiFixture {};

class RequestQueueTest : public ::testing::Test {
 protected:
  bool Run(RequestQueue& queue, const std::string& user, const std::string& what) {
    base::Task task = [this, what] { ran_ += what + " "; };
    return queue.Run(user, task);
  }

  base::VirtualExecutor executor_{base::Time(std::chrono::seconds(1'700'000'000))};
  std::string ran_;
};

TEST_F(RequestQueueTest, UsersTakeTurnsWhateverTheySend) {
  RequestQueue queue(executor_, {.workers = 2});
  for (const char* what : {"a1", "a2", "a3", "a4", "a5"}) EXPECT_TRUE(Run(queue, "alice", what));
  EXPECT_TRUE(Run(queue, "bob", "b1"));
  EXPECT_TRUE(Run(queue, "carol", "c1"));
  EXPECT_TRUE(Run(queue, "carol", "c2"));
  executor_.RunUntilIdle();
  // The first worker goes on with whose turn it is, alice's or carol's; the second one got bob's at once.
  EXPECT_EQ(ran_, "a1 c1 a2 c2 a3 a4 a5 b1 ");
}

TEST_F(RequestQueueTest, RefusesWhatOneUserOrAllHaveTooMuchOf) {
  RequestQueue queue(executor_, {.workers = 2, .waiting_max = 4, .waiting_of_one = 3});
  // The first of each user may run at once and does not wait.
  for (const char* what : {"a1", "a2", "a3", "a4"}) EXPECT_TRUE(Run(queue, "alice", what));
  EXPECT_FALSE(Run(queue, "alice", "a5")) << "three of alice's wait";
  EXPECT_TRUE(Run(queue, "bob", "b1")) << "there is a worker";
  EXPECT_TRUE(Run(queue, "bob", "b2"));
  EXPECT_FALSE(Run(queue, "carol", "c1")) << "four wait";
  executor_.RunUntilIdle();
  EXPECT_TRUE(Run(queue, "carol", "c2"));
  executor_.RunUntilIdle();
  EXPECT_EQ(ran_, "a1 a2 a3 a4 b1 b2 c2 ");
}

TEST_F(RequestQueueTest, WhatWaitsIsDroppedWithTheQueue) {
  const auto held = std::make_shared<int>(1);
  {
    RequestQueue queue(executor_, {.workers = 2});
    for (int i = 0; i < 5; ++i) {
      base::Task task = [held] {};
      EXPECT_TRUE(queue.Run("alice", task));
    }
  }
  executor_.RunUntilIdle();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(RequestQueueThreads, SlowRequestsOfOneUserHoldUpNobodyElse) {
  const auto pool = base::NewThreadPool(3);
  std::latch slow(1), quick(10);
  {
    RequestQueue queue(*pool, {.workers = 3});
    for (int i = 0; i < 20; ++i) {
      base::Task task = [&slow] { slow.wait(); };
      ASSERT_TRUE(queue.Run("alice", task));
    }
    for (int i = 0; i < 10; ++i) {
      base::Task task = [&quick] { quick.count_down(); };
      ASSERT_TRUE(queue.Run("bob", task));
    }
    quick.wait();
    slow.count_down();
  }
}

TEST_F(RequestQueueApiTest, TooManyRequestsAreToldWhenToComeBack) {
  ApiHandler crowded(api, {.workers = &executor, .queue = {.workers = 2, .waiting_max = 1, .waiting_of_one = 1}});
  std::vector<std::shared_ptr<TestReply>> replies;
  for (int i = 0; i < 3; ++i) {
    HttpRequest request;
    request.method = "GET";
    request.path = "/api/v1/pods";
    request.user = user;
    replies.push_back(std::make_shared<TestReply>());
    crowded.Handle(std::move(request), std::make_unique<TestResponder>(replies.back()));
  }
  ASSERT_EQ(replies[2]->status, 429);
  EXPECT_EQ(replies[2]->Header("Retry-After"), "1");
  executor.RunUntilIdle();
  EXPECT_EQ(replies[0]->status, 200);
  EXPECT_EQ(replies[1]->status, 200);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::request_queue_test
