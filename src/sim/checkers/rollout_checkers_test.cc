#include "sim/checkers/rollout_checkers.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include "sim/checkers/member_checker_testing.h"

namespace evenkeel::sim::rollout_checkers_test {
namespace {

using testing::QuietFleet;
using namespace std::chrono_literals;

/// Servers 1, 2, 3 of three members, one each, in a fleet in which nothing else goes on.
class RolloutCheckersTest : public ::testing::Test {
 protected:
  RolloutCheckersTest() {
    for (int64_t id = 1; id <= 3; ++id) disks_[id] = std::make_shared<ZooKeeperDisk>();
  }

  template <typename Made>
  Made& Attach(std::unique_ptr<Made> checker) {
    checker->Attach(fleet_, [this](std::string what) { violations_.push_back(std::move(what)); });
    if (auto* observer = dynamic_cast<ZooKeeperObserver*>(checker.get())) model_.Observe(observer);
    Made& made = *checker;
    checkers_.push_back(std::move(checker));
    return made;
  }

  void Start(int64_t id, const std::string& uid) {
    std::vector<std::string> lines;
    for (int64_t other = 1; other <= 3; ++other) lines.push_back(fmt::format("server.{0}=zk-{0}:2888:3888;2181", other));
    handles_[id] = *model_.Run({.place = fmt::format("member-{}", id),
                                .name = fmt::format("zk-{}", id),
                                .host = fmt::format("zk-{}", id),
                                .uid = uid,
                                .id = id,
                                .given = *zookeeper::ParseServerLines(lines),
                                .disk = disks_.at(id)});
    Store(fmt::format("member-{}", id), fmt::format("pods/data/zk-{}", id), Pod(uid, false));
  }
  void StartAll() {
    for (int64_t id = 1; id <= 3; ++id) Start(id, fmt::format("uid-{}", id));
    Run(20s);
    ASSERT_EQ(model_.HealthyVoters().size(), 3u);
  }
  void Stop(int64_t id) {
    model_.Stop(handles_.at(id));
    Run(10s);
  }
  static base::Json Pod(const std::string& uid, bool deleted) {
    base::Json pod = base::JsonObject{{"metadata", base::JsonObject{{"uid", uid}}}};
    if (deleted) base::Ensure(pod, {"metadata", "deletionTimestamp"}) = "2030-01-01T00:00:00Z";
    return pod;
  }
  /// Its pod is deleted; the server still runs.
  void Delete(int64_t id, const std::string& uid) {
    Store(fmt::format("member-{}", id), fmt::format("pods/data/zk-{}", id), Pod(uid, true));
  }
  void Run(base::Duration duration) {
    executor_.RunFor(duration);
    fleet_.time = executor_.clock().Monotonic();
    book_.Absences();
  }

  void Store(const std::string& api, const std::string& key, const base::Json& object) {
    embedded::store::Event event;
    event.type = embedded::store::Event::Type::kPut;
    event.current.key = "/registry/" + key;
    event.current.value = std::make_shared<const std::string>(base::ToText(object));
    event.previous = std::exchange(stored_[api + key], event.current.value);
    book_.See(api, event);
    for (const auto& checker : checkers_) checker->OnStored(api, event);
  }
  void StoreRecords(const std::string& records) {
    base::Json object = base::JsonObject{};
    base::Ensure(object, {"status", "records"}) = *base::ParseJson(records, "records");
    Store(kHub, "evenkeel.dev/multiclusterzookeepers/data/zk", object);
  }
  static std::string Record(const std::string& status, const std::string& completed, const std::string& deploying,
                            const std::string& pending, const std::string& order = R"("m1","m2","m3")") {
    return fmt::format(R"({{"order":[{}],"status":"{}","lastTransitionTime":"2030-01-01T00:00:00Z",)"
                       R"("currentState":{{"completed":[{}],"deploying":[{}],"pending":[{}]}}}})",
                       order, status, completed, deploying, pending);
  }

  base::VirtualExecutor executor_{base::Time{}};
  ZooKeeperModel model_{executor_, base::Random(1), [](const auto&, const auto&) { return true; }};
  RolloutBook book_{model_};
  QuietFleet fleet_;
  std::map<int64_t, std::shared_ptr<ZooKeeperDisk>> disks_;
  std::map<int64_t, ZooKeeperModel::Handle> handles_;
  std::map<std::string, embedded::store::Value> stored_;
  std::vector<std::unique_ptr<Checker>> checkers_;
  std::vector<std::string> violations_;
};

TEST_F(RolloutCheckersTest, QuorumAllowsOneOfThreeAtATime) {
  Attach(std::make_unique<QuorumChecker>(&book_, 20s));
  StartAll();
  for (int64_t id = 1; id <= 3; ++id) {
    Delete(id, fmt::format("uid-{}", id));
    Stop(id);
    Start(id, fmt::format("next-{}", id));
    Run(20s);
  }
  EXPECT_EQ(violations_, std::vector<std::string>{});
}

TEST_F(RolloutCheckersTest, QuorumSeesASecondPodDeletedBeforeTheFirstIsBack) {
  Attach(std::make_unique<QuorumChecker>(&book_, 20s));
  StartAll();
  Delete(1, "uid-1");
  Delete(2, "uid-2");
  ASSERT_EQ(violations_.size(), 1u) << "although both servers still run";
  EXPECT_EQ(violations_[0],
            "pod zk-2 of member-2 is deleted, which leaves 1 of 3 voters: 1, 2 are missed, 0 of them by faults");
}

TEST_F(RolloutCheckersTest, QuorumKnowsThatAServerWasBackForAMoment) {
  Attach(std::make_unique<QuorumChecker>(&book_, 20s));
  StartAll();
  Delete(1, "uid-1");
  Stop(1);
  Start(1, "next-1");
  executor_.RunFor(20s);  // nobody looks meanwhile
  ASSERT_EQ(model_.HealthyVoters().size(), 3u);
  model_.Stop(handles_.at(1));
  Delete(2, "uid-2");
  EXPECT_TRUE(violations_.empty()) << "a fault took it away, of which nobody may know yet";
}

TEST_F(RolloutCheckersTest, QuorumSeesAPodDeletedWhileAFaultIsKnown) {
  Attach(std::make_unique<QuorumChecker>(&book_, 20s));
  StartAll();
  Stop(1);
  Delete(2, "uid-2");
  EXPECT_TRUE(violations_.empty()) << "nobody may know yet";
  Stop(2);
  Start(2, "next-2");
  Run(30s);
  ASSERT_EQ(model_.HealthyVoters().size(), 2u);
  Delete(2, "next-2");
  EXPECT_EQ(violations_.size(), 1u);
}

TEST_F(RolloutCheckersTest, QuorumIsNotBlamedForWhatFaultsHaveBroken) {
  Attach(std::make_unique<QuorumChecker>(&book_, 20s));
  StartAll();
  Stop(1);
  Stop(2);
  Run(60s);
  Delete(3, "uid-3");
  EXPECT_TRUE(violations_.empty());
}

TEST_F(RolloutCheckersTest, QuorumSeesMembersOfWhomTooFewAreThere) {
  QuorumChecker& checker = Attach(std::make_unique<QuorumChecker>(&book_, 20s));
  StartAll();
  Stop(1);
  Run(30s);
  ZooKeeperMembers members;
  members.servers = *zookeeper::ParseServerLines({"server.1=zk-1:2888:3888;2181", "server.2=zk-2:2888:3888;2181"});
  checker.OnMembers(members);
  EXPECT_TRUE(violations_.empty()) << "a fault has taken the majority of these";
  Delete(2, "uid-2");
  Stop(2);
  violations_.clear();
  members.servers = *zookeeper::ParseServerLines({"server.2=zk-2:2888:3888;2181", "server.3=zk-3:2888:3888;2181"});
  checker.OnMembers(members);
  EXPECT_EQ(violations_.size(), 1u);
}

TEST_F(RolloutCheckersTest, OneDeployingReadsTheStatus) {
  Attach(std::make_unique<OneDeployingChecker>(&book_));
  StoreRecords("[" + Record("Deploying", "", R"("m1")", R"("m2","m3")") + "]");
  EXPECT_TRUE(violations_.empty());
  StoreRecords("[" + Record("Deploying", "", R"("m1","m2")", R"("m3")") + "]");
  EXPECT_EQ(violations_, std::vector<std::string>{"m1 and m2 are deploying"});
}

TEST_F(RolloutCheckersTest, OneDeployingSeesTwoMembersStopServers) {
  Attach(std::make_unique<OneDeployingChecker>(&book_));
  StartAll();
  Delete(1, "uid-1");
  Stop(1);
  Start(1, "next-1");
  Run(20s);
  Delete(2, "uid-2");
  EXPECT_TRUE(violations_.empty());
  Delete(3, "uid-3");
  EXPECT_EQ(violations_.size(), 1u);
}

/// What member-1 has: an order, and what servers are made from.
class AskedCheckerTest : public RolloutCheckersTest {
 protected:
  void Begin() {
    Attach(std::make_unique<AskedChecker>(&book_, 20s));
    StartAll();
    Turn("member-1", {"r1", "r2", "r3"});
    Order("r1", "3.8.1");
    WriteDown("v1");
    base::Json pod = Pod("uid-1", false);
    base::Ensure(pod, {"metadata", "annotations", "evenkeel.dev/pod-revision"}) = "v1";
    Store("member-1", "pods/data/zk-1", pod);
    Run(1min);
  }
  /// It is given these orders, one after the other.
  void Turn(const std::string& member, const std::vector<std::string>& orders) {
    for (const std::string& order : orders) {
      base::Json object = base::JsonObject{};
      base::Ensure(object, {"status", "records"}) =
          *base::ParseJson("[" + Record("Deploying", "", '"' + member + '"', "", '"' + member + '"') + "]", "records");
      base::Ensure(object, {"status", "clusters"}) = base::JsonArray{base::JsonObject{{"name", member}, {"revision", order}}};
      Store(kHub, "evenkeel.dev/multiclusterzookeepers/data/zk", object);
    }
  }
  void Order(const std::string& revision, const std::string& tag, bool hold = false) {
    Store("member-1", "evenkeel.dev/zookeepers/data/zk",
          base::JsonObject{
              {"spec",
               base::JsonObject{{"rolloutRevision", revision}, {"image", base::JsonObject{{"tag", tag}}}, {"hold", hold}}}});
  }
  void WriteDown(const std::string& revision) {
    base::Json set = base::JsonObject{};
    base::Ensure(set, {"spec", "template", "metadata", "annotations", "evenkeel.dev/pod-revision"}) = revision;
    Store("member-1", "apps/statefulsets/data/zk", set);
  }
};

TEST_F(AskedCheckerTest, AnOrderMayStopAServer) {
  Begin();
  Order("r2", "3.8.2");
  WriteDown("v2");
  Run(1min);
  Delete(1, "uid-1");
  EXPECT_EQ(violations_, std::vector<std::string>{});
}

TEST_F(AskedCheckerTest, WritingDownTheSameOtherwiseMayNot) {
  Begin();
  WriteDown("v2");
  Run(1min);
  Delete(1, "uid-1");
  ASSERT_EQ(violations_.size(), 1u);
  EXPECT_NE(violations_.front().find("made from what is asked"), std::string::npos) << violations_.front();
}

TEST_F(AskedCheckerTest, WhatMayNotBeKnownYetIsNotHeldAgainstAnybody) {
  Begin();
  Order("r2", "3.8.2");
  Order("r3", "3.8.1");
  Run(10s);
  Delete(1, "uid-1");
  EXPECT_EQ(violations_, std::vector<std::string>{});
}

TEST_F(AskedCheckerTest, NobodyIsStoppedOutOfTurn) {
  Begin();
  Turn("member-2", {"r4"});
  Run(1min);
  Order("r4", "3.8.2");
  WriteDown("v2");
  Run(1min);
  Delete(1, "uid-1");
  ASSERT_EQ(violations_.size(), 1u);
  EXPECT_NE(violations_.front().find("whose turn it is not"), std::string::npos) << violations_.front();
}

TEST_F(AskedCheckerTest, WhatIsToBeHeldIsNotStopped) {
  Begin();
  Order("r2", "3.8.2", true);
  WriteDown("v2");
  Run(1min);
  Delete(1, "uid-1");
  ASSERT_EQ(violations_.size(), 1u);
  EXPECT_NE(violations_.front().find("is to be held"), std::string::npos) << violations_.front();
}

TEST_F(AskedCheckerTest, WhoMayNotKnowThatItIsToBeHeldMayStopIt) {
  Begin();
  Order("r2", "3.8.2");
  WriteDown("v2");
  Run(1min);
  Order("r2", "3.8.2", true);
  Run(10s);
  Delete(1, "uid-1");
  EXPECT_EQ(violations_, std::vector<std::string>{});
}

TEST_F(AskedCheckerTest, DefinitionsDoNotGoBack) {
  Begin();
  for (const char* number : {"1", "2", "2", "1"}) {
    base::Json definition = base::JsonObject{};
    base::Ensure(definition, {"metadata", "annotations", "evenkeel.dev/definition"}) = number;
    EXPECT_TRUE(violations_.empty());
    Store("member-2", "apiextensions.k8s.io/customresourcedefinitions/zookeepers.evenkeel.dev", definition);
  }
  EXPECT_EQ(violations_.size(), 1u);
}

TEST_F(RolloutCheckersTest, RecordsFollowOneAfterTheOther) {
  Attach(std::make_unique<RecordsChecker>());
  const std::string ready = Record("Ready", R"("m1","m2","m3")", "", "");
  StoreRecords("[" + Record("Deploying", "", "", R"("m1","m2","m3")") + "]");
  StoreRecords("[" + Record("Deploying", R"("m1")", R"("m2")", R"("m3")") + "]");
  StoreRecords("[" + ready + "]");
  StoreRecords("[" + ready + "," + Record("Deploying", "", "", R"("m1","m2","m3")") + "]");
  StoreRecords("[" + Record("Failed", "", "", R"("m1","m2","m3")") + "]");
  StoreRecords("[" + Record("Superseded", "", "", R"("m1","m2","m3")") + "," + ready + "]");
  EXPECT_EQ(violations_, std::vector<std::string>{}) << "the oldest may be forgotten";
}

TEST_F(RolloutCheckersTest, RecordsSeesWhatIsIllFormed) {
  const std::string ready = Record("Ready", R"("m1","m2","m3")", "", "");
  const std::string deploying = Record("Deploying", "", R"("m1")", R"("m2","m3")");
  const std::vector<std::pair<std::string, std::string>> cases{
      {"twice in its order", Record("Deploying", "", "", R"("m1","m2")", R"("m1","m2","m1")")},
      {"in 2 of completed, deploying and pending", Record("Deploying", R"("m1")", R"("m1")", R"("m2","m3")")},
      {"in 0 of completed, deploying and pending", Record("Deploying", R"("m1")", "", R"("m2")")},
      {"not in its order", Record("Deploying", R"("m4")", "", R"("m1","m2","m3")")},
      {"pending is not in its order", Record("Deploying", "", "", R"("m2","m1","m3")")},
      {"no status", Record("Deploy", "", "", R"("m1","m2","m3")")},
      {"not all clusters are completed", Record("Ready", R"("m1","m2")", "", R"("m3")")},
      {"not the last", deploying + "," + deploying},
  };
  for (const auto& [what, records] : cases) {
    Attach(std::make_unique<RecordsChecker>());
    StoreRecords("[" + records + "]");
    ASSERT_EQ(violations_.size(), 1u) << what;
    EXPECT_NE(violations_[0].find(what), std::string::npos) << violations_[0];
    violations_.clear();
    checkers_.clear();
  }
}

TEST_F(RolloutCheckersTest, RecordsSeesHistoryRewritten) {
  const std::string ready = Record("Ready", R"("m1","m2","m3")", "", "");
  const std::string failed = Record("Failed", R"("m1")", R"("m2")", R"("m3")");
  const std::string deploying = Record("Deploying", "", "", R"("m1","m2","m3")");
  const std::string other = Record("Deploying", "", "", R"("m3","m2","m1")", R"("m3","m2","m1")");
  const std::string begun = Record("Deploying", R"("m1")", R"("m2")", R"("m3")");
  const std::string moved = Record("Deploying", R"("m1")", R"("m2")", R"("m3")", R"("m2","m1","m3")");
  const std::vector<std::pair<std::string, std::string>> cases{
      {ready, failed}, {ready, ""}, {deploying, other}, {begun, moved}};
  for (const auto& [before, after] : cases) {
    Attach(std::make_unique<RecordsChecker>());
    StoreRecords("[" + before + "]");
    EXPECT_TRUE(violations_.empty());
    StoreRecords("[" + after + "]");
    EXPECT_EQ(violations_.size(), 1u) << before << " to " << after;
    violations_.clear();
    checkers_.clear();
  }
}

TEST_F(RolloutCheckersTest, RecordsLetsAPendingClusterChangeItsPlace) {
  Attach(std::make_unique<RecordsChecker>());
  StoreRecords("[" + Record("Deploying", R"("m1")", "", R"("m2","m3")") + "]");
  StoreRecords("[" + Record("Deploying", R"("m1")", "", R"("m3","m2")", R"("m1","m3","m2")") + "]");
  EXPECT_TRUE(violations_.empty());
}

TEST_F(RolloutCheckersTest, AcknowledgedSeesALostWrite) {
  AcknowledgedChecker& checker = Attach(std::make_unique<AcknowledgedChecker>());
  StartAll();
  model_.Write(1, [&checker] { checker.Acknowledged(1); });
  Run(1s);
  ASSERT_EQ(checker.count(), 1u);
  for (const int64_t id : {1, 2, 3}) model_.Stop(handles_.at(id));
  for (const int64_t id : {1, 2, 3}) Start(id, "again");
  Run(20s);
  EXPECT_TRUE(violations_.empty());
  for (const int64_t id : {1, 2, 3}) {
    model_.Stop(handles_.at(id));
    disks_[id] = std::make_shared<ZooKeeperDisk>();
  }
  for (const int64_t id : {1, 2, 3}) Start(id, "empty");
  Run(20s);
  EXPECT_EQ(violations_.size(), 1u);
}

TEST_F(RolloutCheckersTest, OneLeaderSeesAnOlderOneCommit) {
  OneLeaderChecker& checker = Attach(std::make_unique<OneLeaderChecker>());
  checker.OnCommitted({.handle = 1, .place = "m1", .id = 1}, 1);
  checker.OnCommitted({.handle = 2, .place = "m2", .id = 2}, 2);
  checker.OnCommitted({.handle = 2, .place = "m2", .id = 2}, 2);
  EXPECT_TRUE(violations_.empty());
  checker.OnCommitted({.handle = 1, .place = "m1", .id = 1}, 1);
  EXPECT_EQ(violations_, std::vector<std::string>{"server 1 commits in epoch 1, after server 2 of m2 has in epoch 2"});
  checker.OnCommitted({.handle = 3, .place = "m3", .id = 3}, 2);
  EXPECT_EQ(violations_.size(), 2u) << "two of one epoch";
}

}  // namespace
}  // namespace evenkeel::sim::rollout_checkers_test
