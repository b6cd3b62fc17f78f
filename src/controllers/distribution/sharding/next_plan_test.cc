#include "controllers/distribution/sharding/next_plan.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::distribution::next_plan_test {
namespace {

using namespace std::chrono_literals;

constexpr base::Time kNow{std::chrono::seconds(1'900'000'000)};

class NextPlanTest : public ::testing::Test {
 protected:
  std::vector<Cluster> clusters;
  std::vector<LiveReplica> replicas;
  PlanInputs inputs{.leader = "a-1", .now = kNow};

  void PutClusters(int count) {
    for (int i = 1; i <= count; ++i) {
      Cluster cluster;
      cluster.name = "c" + std::to_string(i);
      cluster.server = "https://" + cluster.name;
      clusters.push_back(cluster);
    }
  }
  NextPlan Make(const PublishedPlan& current) {
    inputs.clusters = clusters;
    inputs.replicas = replicas;
    return MakeNextPlan(current, inputs);
  }
  static std::map<int64_t, int> Counts(const PublishedPlan& plan) {
    std::map<int64_t, int> counts;
    for (const auto& item : plan.assignments) ++counts[item.shard];
    return counts;
  }
};

TEST_F(NextPlanTest, TheFirstPlanNumbersShardsFromZeroAndSharesEvenly) {
  PutClusters(6);
  replicas = {{"b-1", "b"}, {"a-1", "a"}};
  const NextPlan next = Make({});
  EXPECT_TRUE(next.changed);
  EXPECT_EQ(next.plan.epoch, 1);
  ASSERT_EQ(next.plan.shards.size(), 2u);
  EXPECT_EQ(next.plan.shards[0].replica, "a-1");
  EXPECT_EQ(Counts(next.plan), (std::map<int64_t, int>{{0, 3}, {1, 3}}));
  for (const auto& item : next.plan.assignments) {
    EXPECT_EQ(item.epoch, 1);
    EXPECT_EQ(item.standby, 1 - item.shard);
    EXPECT_EQ(item.weight, kUnknownWeight);
  }
  EXPECT_TRUE(next.plan.moves.empty()) << "nothing had an owner before";
}

TEST_F(NextPlanTest, NothingNewIsNotWorthWriting) {
  PutClusters(6);
  replicas = {{"a-1", "a"}, {"b-1", "b"}};
  const PublishedPlan first = Make({}).plan;
  inputs.now += 1h;
  inputs.leader = "b-1";
  const NextPlan next = Make(first);
  EXPECT_FALSE(next.changed);
  EXPECT_EQ(next.plan.epoch, 1);
}

TEST_F(NextPlanTest, SurvivorsKeepTheirNumbersAndEpochs) {
  PutClusters(9);
  replicas = {{"a-1", "a"}, {"b-1", "b"}, {"c-1", "c"}};
  const PublishedPlan first = Make({}).plan;
  replicas = {{"b-1", "b"}, {"c-1", "c"}};
  const NextPlan next = Make(first);
  EXPECT_EQ(next.plan.epoch, 2);
  ASSERT_EQ(next.plan.shards.size(), 2u);
  EXPECT_EQ(next.plan.shards[0].shard, 1);
  EXPECT_EQ(next.plan.shards[1].shard, 2);
  size_t kept = 0;
  for (const auto& item : next.plan.assignments) {
    const bool moved = first.Find(item.server)->shard == 0;
    EXPECT_EQ(item.epoch, moved ? 2 : 1) << item.cluster;
    if (moved) {
      EXPECT_EQ(item.shard, first.Find(item.server)->standby) << "its standby watches it already";
    }
    kept += !moved;
  }
  EXPECT_EQ(kept, 6u);
  ASSERT_EQ(next.plan.moves.size(), 3u);
  EXPECT_EQ(next.plan.moves[0].reason, "shard 0 is gone");
  EXPECT_FALSE(next.plan.moves[0].balance);
}

TEST_F(NextPlanTest, ANewProcessOnTheSameHostTakesTheNumberOverWithNewEpochs) {
  PutClusters(4);
  replicas = {{"a-1", "a"}, {"b-1", "b"}};
  const PublishedPlan first = Make({}).plan;
  replicas = {{"a-2", "a"}, {"b-1", "b"}};
  const NextPlan next = Make(first);
  EXPECT_EQ(next.plan.FindShard(0)->replica, "a-2");
  EXPECT_TRUE(next.plan.moves.empty());
  for (const auto& item : next.plan.assignments) {
    EXPECT_EQ(item.shard, first.Find(item.server)->shard);
    EXPECT_EQ(item.epoch, item.shard == 0 ? 2 : 1) << "another process, another tenure";
  }
}

TEST_F(NextPlanTest, WhoLeavesGetsNothingAndHandsAllOver) {
  PutClusters(6);
  replicas = {{"a-1", "a"}, {"b-1", "b"}};
  const PublishedPlan first = Make({}).plan;
  replicas[0].leaving = true;
  const NextPlan next = Make(first);
  EXPECT_EQ(Counts(next.plan), (std::map<int64_t, int>{{1, 6}}));
  EXPECT_TRUE(next.plan.FindShard(0)->leaving);
  EXPECT_EQ(next.plan.moves.front().reason, "the replica of shard 0 leaves");
}

TEST_F(NextPlanTest, WhoeverHadTheClusterStandsByForIt) {
  PutClusters(9);
  replicas = {{"a-1", "a"}, {"b-1", "b"}};
  const PublishedPlan first = Make({}).plan;
  replicas.push_back({"c-1", "c"});
  const PublishedPlan next = Make(first).plan;
  int moved = 0;
  for (const auto& item : next.assignments) {
    const int64_t before = first.Find(item.server)->shard;
    if (item.shard == before) continue;
    ++moved;
    EXPECT_EQ(item.standby, before) << item.cluster;
  }
  EXPECT_GT(moved, 0);
}

TEST_F(NextPlanTest, MovesForBalanceWaitForTheirMinute) {
  PutClusters(12);
  replicas = {{"a-1", "a"}};
  const PublishedPlan first = Make({}).plan;
  replicas.push_back({"b-1", "b"});
  inputs.moves_per_minute = 2;
  const NextPlan second = Make(first);
  EXPECT_EQ(Counts(second.plan)[1], 2);
  EXPECT_GT(second.plan.waiting, 0);
  ASSERT_TRUE(second.again);
  EXPECT_EQ(*second.again, 1min);
  inputs.now += 30s;
  const NextPlan third = Make(second.plan);
  EXPECT_FALSE(third.changed);
  EXPECT_EQ(*third.again, 30s);
  inputs.now += 30s;
  const NextPlan fourth = Make(second.plan);
  EXPECT_EQ(Counts(fourth.plan)[1], 3) << "one plan moves little";
  EXPECT_EQ(*fourth.again, 1s);
  EXPECT_EQ(Counts(Make(fourth.plan).plan)[1], 4);
}

TEST_F(NextPlanTest, WeightsFollowMeasurementsThatAreOffByHalf) {
  PutClusters(2);
  replicas = {{"a-1", "a"}};
  PublishedPlan plan = Make({}).plan;
  inputs.weights = {{"https://c1", 1000}, {"https://c2", 23}};
  EXPECT_FALSE(Make(plan).changed) << "weights alone are written once a minute";
  inputs.now += 1min;
  NextPlan next = Make(plan);
  EXPECT_TRUE(next.changed);
  EXPECT_EQ(next.plan.Find("https://c1")->weight, 1000);
  EXPECT_EQ(next.plan.Find("https://c2")->weight, kUnknownWeight);
  EXPECT_EQ(next.plan.Find("https://c1")->epoch, 1) << "the owner is the same";
  inputs.weights = {{"https://c1", 1400}};
  EXPECT_FALSE(Make(next.plan).changed);
  clusters[0].weight = 5;
  inputs.now += 1min;
  EXPECT_EQ(Make(next.plan).plan.Find("https://c1")->weight, 5) << "the annotation decides";
}

TEST_F(NextPlanTest, TellsOfHotClustersAndOfPinsToNobody) {
  PutClusters(6);
  clusters[0].weight = 10'000;
  clusters[1].shard = 9;
  replicas = {{"a-1", "a"}, {"b-1", "b"}};
  const NextPlan next = Make({});
  EXPECT_EQ(next.plan.hot, std::vector<std::string>{"c1"});
  ASSERT_EQ(next.findings.size(), 2u);
  EXPECT_EQ(next.findings[0].reason, "HotCluster");
  EXPECT_EQ(next.findings[1].reason, "ShardOutOfRange");
  EXPECT_NE(next.findings[1].message.find("pinned to shard 9"), std::string::npos);
  EXPECT_GE(next.plan.Find("https://c2")->shard, 0) << "it still has an owner";
}

TEST_F(NextPlanTest, LeavesOutWhatNobodyIsToReconcileAndWaitsForTheFirstReplica) {
  PutClusters(2);
  clusters[0].skip_reconcile = true;
  EXPECT_TRUE(Make({}).plan.assignments.empty());
  replicas = {{"a-1", "a"}};
  const PublishedPlan plan = Make({}).plan;
  EXPECT_EQ(plan.Find("https://c1"), nullptr);
  EXPECT_NE(plan.Find("https://c2"), nullptr);
}

TEST_F(NextPlanTest, TheEpochNeverFallsBelowOneThatWasSeen) {
  PutClusters(1);
  replicas = {{"a-1", "a"}};
  inputs.epoch_floor = 41;
  EXPECT_EQ(Make({}).plan.epoch, 42);
}

TEST_F(NextPlanTest, SurvivesTheWayThroughItsObject) {
  PutClusters(5);
  replicas = {{"a-1", "a"}, {"b-1", "b", true}, {"c-1", "c"}};
  const PublishedPlan first = Make({}).plan;
  replicas.erase(replicas.begin());
  PublishedPlan plan = Make(first).plan;
  plan.hot = {"c3"};
  base::Json object = base::JsonObject{};
  plan.WriteTo(object);
  const PublishedPlan back = PublishedPlan::Decode(object);
  EXPECT_EQ(back.epoch, plan.epoch);
  EXPECT_EQ(back.leader, plan.leader);
  EXPECT_EQ(back.shards, plan.shards);
  EXPECT_EQ(back.assignments, plan.assignments);
  EXPECT_EQ(back.hot, plan.hot);
  ASSERT_EQ(back.moves.size(), plan.moves.size());
  for (size_t i = 0; i < plan.moves.size(); ++i) EXPECT_EQ(back.moves[i].reason, plan.moves[i].reason);
  base::Json again = base::JsonObject{};
  back.WriteTo(again);
  EXPECT_EQ(base::ToText(again), base::ToText(object));
}

TEST_F(NextPlanTest, DecodingKeepsWhatIsSoundOfAMeddledPlan) {
  const PublishedPlan plan = PublishedPlan::Decode(*base::ParseJson(
      R"({"spec":{"epoch":"many","shards":[7,{"shard":1,"replica":"b-1"}],"assignments":[{"cluster":"x"},{"server":"https://c1","shard":1},null]},"status":[]})",
      "test"));
  EXPECT_EQ(plan.epoch, 0);
  EXPECT_EQ(plan.assignments.size(), 1u);
  EXPECT_EQ(plan.FindShard(1)->replica, "b-1");
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::next_plan_test
