#include "sim/world/zookeeper_model.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

namespace evenkeel::sim::zookeeper_model_test {
namespace {

using namespace std::chrono_literals;
using Handle = ZooKeeperModel::Handle;
using zookeeper::Mode;

std::string Line(int64_t id) { return fmt::format("server.{0}=zk-{0}:2888:3888:participant;2181", id); }

std::vector<zookeeper::ServerLine> List(const std::set<int64_t>& ids) {
  std::vector<std::string> lines;
  for (const int64_t id : ids) lines.push_back(Line(id));
  return *zookeeper::ParseServerLines(lines);
}

class ZooKeeperModelTest : public ::testing::Test, public ZooKeeperObserver {
 protected:
  ZooKeeperModelTest() { model_.Observe(this); }

  void OnLeading(const ZooKeeperServerView& leader, int64_t epoch, const ZooKeeperDisk& disk) override {
    last_leader_ = leader.id;
    last_epoch_ = epoch;
    for (const int64_t value : acknowledged_) {
      if (std::ranges::none_of(disk.log, [&](const auto& entry) { return entry.value == value; })) lost_.insert(value);
    }
  }
  void OnCommitted(const ZooKeeperServerView& leader, int64_t epoch) override { committed_[leader.id] = epoch; }

  void Start(int64_t id, const std::set<int64_t>& given) {
    std::shared_ptr<ZooKeeperDisk>& disk = disks_[id];
    if (!disk) disk = std::make_shared<ZooKeeperDisk>();
    const auto handle = model_.Run({.place = fmt::format("m{}", id),
                                    .name = fmt::format("zk-{}", id),
                                    .host = fmt::format("zk-{}", id),
                                    .address = fmt::format("10.0.0.{}", id),
                                    .id = id,
                                    .given = List(given),
                                    .reconfigurable = reconfigurable_,
                                    .super_digest = "digest of secret",
                                    .disk = disk});
    ASSERT_TRUE(handle) << handle.error().message();
    handles_[id] = *handle;
  }
  void StartAll(const std::set<int64_t>& ids) {
    for (const int64_t id : ids) Start(id, ids);
    Run(20s);
  }
  void Stop(int64_t id) { model_.Stop(handles_.at(id)); }
  void Restart(int64_t id, const std::set<int64_t>& given) {
    Stop(id);
    Run(1s);
    Start(id, given);
    Run(15s);
  }
  void Run(base::Duration duration) { executor_.RunFor(duration); }
  Mode ModeOf(int64_t id) { return model_.AnswerOf(handles_.at(id)).mode; }
  std::set<int64_t> Leaders() const {
    std::set<int64_t> leaders;
    for (const auto& server : model_.Servers()) {
      if (server.mode == Mode::kLeader) leaders.insert(server.id);
    }
    return leaders;
  }
  bool Write(int64_t value) {
    const size_t before = acknowledged_.size();
    model_.Write(value, [this, value] { acknowledged_.insert(value); });
    Run(1s);
    return acknowledged_.size() > before;
  }
  base::Status Change(const std::vector<std::string>& joining, const std::vector<int64_t>& leaving, int64_t via,
                      const std::string& password = "secret") {
    base::Status result = base::Fail(base::Code::kTimeout, "no answer");
    const std::string version = model_.AnswerOf(handles_.at(via)).config_version;
    model_.Reconfigure(handles_.at(via),
                       {.joining = joining, .leaving = leaving, .from_version = version, .password = password},
                       [&result](base::Status status) { result = std::move(status); });
    Run(1s);
    return result;
  }

  base::VirtualExecutor executor_{base::Time{}};
  ZooKeeperModel model_{executor_, base::Random(1),
                        [](const auto& password, const auto& digest) { return digest == "digest of " + password; }};
  std::map<int64_t, std::shared_ptr<ZooKeeperDisk>> disks_;
  std::map<int64_t, Handle> handles_;
  bool reconfigurable_ = true;
  int64_t last_leader_ = 0, last_epoch_ = 0;
  std::map<int64_t, int64_t> committed_;
  std::set<int64_t> acknowledged_, lost_;
};

TEST_F(ZooKeeperModelTest, MajorityElectsOneLeaderAndAcknowledgesWrites) {
  Start(1, {1, 2, 3});
  Run(30s);
  EXPECT_EQ(ModeOf(1), Mode::kNotServing);
  EXPECT_FALSE(Write(1));
  Start(2, {1, 2, 3});
  Run(10s);
  EXPECT_EQ(Leaders(), std::set<int64_t>{2}) << "of equal logs the greatest id";
  EXPECT_EQ(ModeOf(1), Mode::kFollower);
  EXPECT_TRUE(Write(2));
  Start(3, {1, 2, 3});
  Run(10s);
  EXPECT_EQ(Leaders(), std::set<int64_t>{2}) << "who comes later follows";
  EXPECT_EQ(model_.AnswerOf(handles_.at(2)).synced_voters, 2);
  EXPECT_EQ(model_.HealthyVoters(), (std::set<int64_t>{1, 2, 3}));
  EXPECT_EQ(disks_.at(3)->last_zxid(), disks_.at(2)->last_zxid());
}

TEST_F(ZooKeeperModelTest, WhatWasAcknowledgedSurvivesTheLeader) {
  StartAll({1, 2, 3});
  for (int64_t value = 1; value <= 20; ++value) {
    ASSERT_TRUE(Write(value));
    if (value % 5 != 0) continue;
    const int64_t leader = *Leaders().begin();
    const int64_t epoch = last_epoch_;
    Stop(leader);
    Run(10s);
    ASSERT_EQ(Leaders().size(), 1u);
    EXPECT_GT(last_epoch_, epoch);
    Start(leader, {1, 2, 3});
    Run(10s);
  }
  EXPECT_TRUE(lost_.empty());
}

TEST_F(ZooKeeperModelTest, MinoritySideOfACutDoesNotCommit) {
  StartAll({1, 2, 3});
  ASSERT_TRUE(Write(1));
  ASSERT_EQ(Leaders(), std::set<int64_t>{3});
  model_.Cut("m3", "m1");
  model_.Cut("m3", "m2");
  EXPECT_FALSE(Write(2)) << "the old leader has not noticed yet, and has no majority";
  Run(20s);
  EXPECT_EQ(Leaders(), std::set<int64_t>{2});
  EXPECT_EQ(ModeOf(3), Mode::kNotServing);
  EXPECT_TRUE(Write(3));
  model_.HealAll();
  Run(10s);
  EXPECT_EQ(ModeOf(3), Mode::kFollower);
  EXPECT_EQ(disks_.at(3)->log.size(), disks_.at(2)->log.size()) << "what was not committed is gone";
  EXPECT_TRUE(lost_.empty());
}

TEST_F(ZooKeeperModelTest, ListsTwoVotersApartMakeTwoLeaders) {
  reconfigurable_ = false;
  StartAll({1, 2, 3});
  ASSERT_TRUE(Write(1));
  // The list of five reaches the first of three and both new ones, and then the network is cut in between.
  Stop(3);
  Start(3, {1, 2, 3, 4, 5});
  Start(4, {1, 2, 3, 4, 5});
  Start(5, {1, 2, 3, 4, 5});
  for (const char* old : {"m1", "m2"}) {
    for (const char* fresh : {"m3", "m4", "m5"}) model_.Cut(old, fresh);
  }
  Run(30s);
  EXPECT_EQ(Leaders().size(), 2u);
  EXPECT_TRUE(Leaders().contains(2));
  committed_.clear();
  for (int64_t value = 2; value <= 20; ++value) Write(value);
  EXPECT_EQ(committed_.size(), 2u) << "both sides commit";
}

TEST_F(ZooKeeperModelTest, ListsOneVoterApartNeverDo) {
  reconfigurable_ = false;
  StartAll({1, 2, 3});
  ASSERT_TRUE(Write(1));
  Stop(3);
  Start(3, {1, 2, 3, 4});
  Start(4, {1, 2, 3, 4});
  for (const char* old : {"m1", "m2"}) {
    for (const char* fresh : {"m3", "m4"}) model_.Cut(old, fresh);
  }
  Run(30s);
  EXPECT_EQ(Leaders(), std::set<int64_t>{2});
  for (int64_t value = 2; value <= 20; ++value) EXPECT_TRUE(Write(value));
  model_.HealAll();
  Run(30s);
  EXPECT_EQ(Leaders(), std::set<int64_t>{2});
  EXPECT_TRUE(lost_.empty());
}

TEST_F(ZooKeeperModelTest, NewcomerFollowsWithoutAVoteUntilItIsTakenIn) {
  StartAll({1, 2, 3});
  EXPECT_EQ(model_.agreed().Voters(), (std::set<int64_t>{1, 2, 3}));
  Start(4, {1, 2, 3, 4});
  Run(10s);
  EXPECT_EQ(ModeOf(4), Mode::kFollower);
  EXPECT_EQ(model_.AnswerOf(handles_.at(3)).synced_voters, 2) << "it is in line, and has no vote";
  EXPECT_EQ(model_.AnswerOf(handles_.at(4)).servers.size(), 3u);
  ASSERT_TRUE(Change({Line(4)}, {}, 1));
  EXPECT_EQ(model_.agreed().Voters(), (std::set<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(model_.AnswerOf(handles_.at(3)).synced_voters, 3);
  Stop(1);
  Stop(2);
  Run(20s);
  EXPECT_TRUE(Leaders().empty()) << "two of four are no majority";
  // Whatever its file says, a server goes by what was agreed on.
  Start(1, {1, 2, 3});
  Run(20s);
  EXPECT_EQ(Leaders().size(), 1u);
  EXPECT_EQ(model_.AnswerOf(handles_.at(1)).servers.size(), 4u);
}

TEST_F(ZooKeeperModelTest, LeaderThatIsLetGoStepsDown) {
  StartAll({1, 2, 3, 4});
  ASSERT_EQ(Leaders(), std::set<int64_t>{4});
  ASSERT_TRUE(Write(1));
  ASSERT_TRUE(Change({}, {4}, 1));
  Run(10s);
  EXPECT_EQ(Leaders(), std::set<int64_t>{3});
  EXPECT_EQ(ModeOf(4), Mode::kFollower) << "it goes on without a vote";
  EXPECT_EQ(model_.AnswerOf(handles_.at(3)).synced_voters, 2);
  EXPECT_TRUE(Write(2));
  EXPECT_TRUE(lost_.empty());
}

TEST_F(ZooKeeperModelTest, RefusesChangesOfTheMembersAsZooKeeperDoes) {
  StartAll({1, 2, 3});
  EXPECT_EQ(Change({Line(4)}, {}, 1, "guess").error().code(), base::Code::kForbidden);
  EXPECT_EQ(Change({"server.4=zk-3:2888:3888:participant;2181"}, {}, 1).error().code(), base::Code::kBadRequest);
  base::Status result;
  model_.Reconfigure(handles_.at(1), {.joining = {Line(4)}, .leaving = {}, .from_version = "1", .password = "secret"},
                     [&result](base::Status status) { result = std::move(status); });
  EXPECT_EQ(result.error().code(), base::Code::kConflict);
  EXPECT_EQ(Change({Line(4), Line(5), Line(6)}, {}, 1).error().code(), base::Code::kUnavailable) << "three of six are in line";
  Stop(3);
  Run(10s);
  EXPECT_EQ(Change({Line(4)}, {}, 1).error().code(), base::Code::kUnavailable) << "two of four are in line";
  EXPECT_TRUE(Write(1));
}

TEST_F(ZooKeeperModelTest, FindsOthersByNameAndPortOnly) {
  Start(1, {1, 2});
  std::shared_ptr<ZooKeeperDisk> disk = std::make_shared<ZooKeeperDisk>();
  ASSERT_TRUE(model_.Run({.place = "m2",
                          .name = "zk-2",
                          .host = "zk-2.elsewhere",
                          .address = "10.0.0.2",
                          .id = 2,
                          .given = *zookeeper::ParseServerLines({Line(1), "server.2=zk-2:2889:3888:participant;2181"}),
                          .disk = disk}));
  Run(30s);
  EXPECT_TRUE(Leaders().empty());
  EXPECT_EQ(model_.Find("zk-1", 2181), handles_.at(1));
  EXPECT_EQ(model_.Find("10.0.0.1", 2181), handles_.at(1));
  EXPECT_EQ(model_.Find("zk-1", 2182), 0u);
  EXPECT_EQ(model_.Run({.place = "m3", .id = 3, .given = List({1, 2}), .disk = disk}).error().code(), base::Code::kInvalid);
}

TEST_F(ZooKeeperModelTest, ServerWithoutItsVolumeForgets) {
  StartAll({1, 2, 3});
  for (int64_t value = 1; value <= 3; ++value) ASSERT_TRUE(Write(value));
  Stop(1);
  Stop(2);
  disks_.at(1) = std::make_shared<ZooKeeperDisk>();
  disks_.at(2) = std::make_shared<ZooKeeperDisk>();
  Stop(3);
  Run(5s);
  Start(1, {1, 2, 3});
  Start(2, {1, 2, 3});
  Run(20s);
  EXPECT_EQ(lost_.size(), 3u) << "a majority has lost its disks";
}

}  // namespace
}  // namespace evenkeel::sim::zookeeper_model_test
