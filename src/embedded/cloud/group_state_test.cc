#include "embedded/cloud/group_state.h"

#include <gtest/gtest.h>

namespace evenkeel::embedded::cloud::group_state_test {
namespace {

using namespace std::chrono_literals;
using base::Json;
using State = InstanceRecord::State;

const base::Time kStart{std::chrono::seconds(1'700'000'000)};

class AdvanceTest : public ::testing::Test {
 protected:
  AdvanceTest() {
    spec_.group = "general";
    spec_.max = 100;
    spec_.settings.provision_delay = 10s;
    spec_.settings.delete_delay = 5s;
  }
  Progress Step(int64_t target, base::Duration later = 0s) {
    now_ += later;
    spec_.target = target;
    return Advance(spec_, state_, now_, random_);
  }
  int64_t Count(State state) const {
    return std::ranges::count_if(state_.instances, [&](const auto& record) { return record.state == state; });
  }
  int64_t Failed(std::string_view code) const {
    return std::ranges::count_if(state_.instances,
                                 [&](const auto& record) { return record.error && record.error->code == code; });
  }
  std::vector<std::string> Nodes(State state) const {
    std::vector<std::string> nodes;
    for (const auto& record : state_.instances) {
      if (record.state == state) nodes.push_back(record.node);
    }
    return nodes;
  }

  GroupSpec spec_;
  GroupState state_;
  base::Random random_{7};
  base::Time now_ = kStart;
};

TEST_F(AdvanceTest, InstancesRunAfterTheirDelay) {
  const Progress first = Step(3);
  EXPECT_EQ(Count(State::kCreating), 3);
  ASSERT_TRUE(first.due.has_value());
  EXPECT_GE(*first.due - now_, 8s);
  EXPECT_LE(*first.due - now_, 12s);
  Step(3, 7s);
  EXPECT_EQ(Count(State::kRunning), 0) << "no sooner than a fifth before the delay";
  Step(3, 5s);
  EXPECT_EQ(Count(State::kRunning), 3);
  EXPECT_EQ(Nodes(State::kRunning), (std::vector<std::string>{"general-1", "general-2", "general-3"}));
  EXPECT_FALSE(Step(3, 1h).due.has_value());
}

TEST_F(AdvanceTest, NeverMakesMoreThanTheMaximum) {
  spec_.max = 2;
  Step(5);
  EXPECT_EQ(state_.instances.size(), 2U);
  Step(5, 12s);
  spec_.max = 1;
  Step(5);
  EXPECT_EQ(Count(State::kRunning), 2) << "a lower maximum takes nothing away";
}

TEST_F(AdvanceTest, ALowerTargetTakesWhatDoesNotExistYetThenTheNewest) {
  Step(3);
  Step(3, 12s);
  Step(5);
  const Progress cancelled = Step(4);
  ASSERT_EQ(cancelled.gone.size(), 1U);
  EXPECT_EQ(cancelled.gone[0].node, "general-5");
  Step(2);
  EXPECT_EQ(Nodes(State::kDeleting), (std::vector<std::string>{"general-3"}));
  EXPECT_EQ(Nodes(State::kCreating), (std::vector<std::string>{}));
  const Progress gone = Step(2, 6s);
  ASSERT_EQ(gone.gone.size(), 1U);
  EXPECT_EQ(gone.gone[0].node, "general-3");
  EXPECT_EQ(Nodes(State::kRunning), (std::vector<std::string>{"general-1", "general-2"}));
}

TEST_F(AdvanceTest, DeletesWhatItIsAskedToAndNothingElse) {
  Step(3);
  Step(3, 12s);
  spec_.deleting = {"embedded://general/general-1", "embedded://general/unknown"};
  const Progress begun = Step(2);
  EXPECT_EQ(Nodes(State::kDeleting), (std::vector<std::string>{"general-1"}));
  EXPECT_TRUE(begun.gone.empty()) << "its time has not come";
  EXPECT_EQ(Step(2, 6s).gone.size(), 1U);
  EXPECT_EQ(Nodes(State::kRunning), (std::vector<std::string>{"general-2", "general-3"}));
}

TEST_F(AdvanceTest, ADeletionWithoutALowerTargetIsReplaced) {
  Step(2);
  Step(2, 12s);
  spec_.deleting = {"embedded://general/general-2"};
  Step(2);
  EXPECT_EQ(Nodes(State::kCreating), (std::vector<std::string>{"general-3"})) << "names are never used again";
}

TEST_F(AdvanceTest, BeyondTheQuotaTheCloudIsOutOfResources) {
  spec_.settings.quota = 2;
  const Progress first = Step(5);
  EXPECT_EQ(Failed("QuotaExceeded"), 3);
  EXPECT_EQ(state_.instances[4].error->error_class, providers::Instance::ErrorClass::kOutOfResources);
  EXPECT_EQ(first.failures.size(), 3U);
  EXPECT_TRUE(Step(5, 12s).failures.empty()) << "told once";
  EXPECT_EQ(Count(State::kRunning), 2);
  EXPECT_EQ(Count(State::kCreating), 3);
  Step(2);
  EXPECT_EQ(state_.instances.size(), 2U) << "those that failed go first";
  spec_.settings.quota = 0;
  Step(3);
  EXPECT_EQ(Failed("OutOfStock"), 1);
  spec_.settings.quota.reset();
  Step(3);
  EXPECT_EQ(Failed("OutOfStock"), 0);
  EXPECT_EQ(Count(State::kRunning), 2) << "it is tried from the start";
  Step(3, 12s);
  EXPECT_EQ(Count(State::kRunning), 3);
}

TEST_F(AdvanceTest, AShareOfCreationsFails) {
  spec_.settings.fail_creations = 0.3;
  Step(100);
  EXPECT_GT(Failed("CreationFailed"), 15);
  EXPECT_LT(Failed("CreationFailed"), 45);
  const int64_t failed = Failed("CreationFailed");
  Step(100, 20s);
  EXPECT_EQ(Count(State::kRunning), 100 - failed);
  spec_.settings.fail_creations = 0;
  Step(100);
  Step(100, 20s);
  EXPECT_EQ(Count(State::kRunning), 100);
}

TEST_F(AdvanceTest, WhatHasFailedForGoodStaysSoUntilItIsDeleted) {
  spec_.settings.fail_for_good = 1;
  Step(1);
  spec_.settings.fail_for_good = 0;
  Step(2, 1h);
  Step(2, 1h);
  EXPECT_EQ(Failed("CreationFailed"), 1);
  EXPECT_EQ(Nodes(State::kCreating), (std::vector<std::string>{"general-1"}));
  EXPECT_EQ(Nodes(State::kRunning), (std::vector<std::string>{"general-2"}));
  spec_.deleting = {state_.instances[0].id};
  Step(1);
  EXPECT_EQ(Count(State::kRunning), 1);
  EXPECT_EQ(Failed("CreationFailed"), 0);
}

TEST_F(AdvanceTest, AGroupThatGoesTakesAllAlong) {
  Step(2);
  Step(3, 12s);
  spec_.removed = true;
  EXPECT_EQ(Step(3).gone.size(), 1U);
  EXPECT_EQ(Step(3, 6s).gone.size(), 2U);
  EXPECT_TRUE(state_.instances.empty());
}

TEST_F(AdvanceTest, ThereAndBackThroughTheStatusNothingIsLost) {
  spec_.settings.quota = 6;
  spec_.settings.fail_creations = 0.5;
  spec_.settings.never_register = 0.5;
  spec_.settings.fail_for_good = 0.2;
  Step(8);
  spec_.deleting = {state_.instances[1].id};
  for (int i = 0; i < 40; ++i) {
    Json object = base::JsonObject();
    EncodeState(state_, object);
    GroupState read = DecodeState(object);
    Json again = base::JsonObject();
    EncodeState(read, again);
    EXPECT_TRUE(base::Equal(object, again));
    EXPECT_EQ(read.created, state_.created);
    state_ = read;
    const Progress progress = Step(i < 20 ? 8 : 3, 1s);
    for (const auto& record : state_.instances) EXPECT_LE(record.number, state_.created);
    if (i == 39) {
      EXPECT_FALSE(progress.due.has_value());
    }
  }
  EXPECT_EQ(Count(State::kRunning) + Count(State::kCreating), 3);
}

TEST(CloudSettingsTest, NamesTheFieldThatIsWrong) {
  const auto decode = [](const char* cloud) {
    return DecodeCloudSettings(
        *base::ParseJson(R"({"metadata":{"name":"g"},"spec":{"cloud":)" + std::string(cloud) + "}}", "test"));
  };
  const auto good = decode(R"({"provisionDelay":"2s","deleteDelay":"0s","quota":3,"failCreations":true,"neverRegister":0.25})");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->provision_delay, 2s);
  EXPECT_EQ(good->quota, 3);
  EXPECT_EQ(good->fail_creations, 1);
  EXPECT_EQ(good->never_register, 0.25);
  for (const auto& [cloud, message] : std::map<std::string, std::string>{
           {R"({"provisionDelay":"soon"})", "NodeGroup g: spec.cloud.provisionDelay: not a duration from 0s to 24h"},
           {R"({"deleteDelay":"-1s"})", "NodeGroup g: spec.cloud.deleteDelay: not a duration from 0s to 24h"},
           {R"({"quota":-1})", "NodeGroup g: spec.cloud.quota: not a whole number of at least 0"},
           {R"({"failCreations":2})", "NodeGroup g: spec.cloud.failCreations: not a number from 0 to 1"},
           {R"([])", "NodeGroup g: spec.cloud: not an object"}}) {
    const auto wrong = decode(cloud.c_str());
    ASSERT_FALSE(wrong) << cloud;
    EXPECT_EQ(wrong.error().message(), message);
  }
}

TEST(InstanceIdTest, NamesItsGroup) {
  EXPECT_EQ(GroupOfId(InstanceId("general", "general-1")), "general");
  EXPECT_EQ(GroupOfId("aws:///us-east-1a/i-1"), "");
  EXPECT_EQ(GroupOfId("embedded://alone"), "");
}

}  // namespace
}  // namespace evenkeel::embedded::cloud::group_state_test
