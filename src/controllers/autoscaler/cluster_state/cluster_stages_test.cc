#include "controllers/autoscaler/cluster_state/cluster_stages.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"
#include "controllers/autoscaler/facts/fleet_testing.h"
#include "controllers/autoscaler/options/flags.h"

namespace evenkeel::controllers::autoscaler::cluster_stages_test {
namespace {

using providers::Instance;
using testing::Fleet;
using testing::kStart;
using namespace std::chrono_literals;

std::vector<std::string> Ids(const GroupChange& change) {
  std::vector<std::string> ids;
  for (const auto& node : change.nodes) ids.push_back(node.provider_id);
  return ids;
}

/// A state that has known the fleet's instances for so long.
ClusterState StateSince(Fleet& fleet, const Options& options, base::Duration ago) {
  ClusterState state(options);
  fleet.view.now = kStart - ago;
  state.Update(fleet.view);
  fleet.view.now = kStart;
  state.Update(fleet.view);
  return state;
}

TEST(CleanUpLeftoversTest, TakesMarksOffManagedNodesAndOldCandidatesOfAll) {
  Fleet fleet;
  fleet.Node("b", "ng1").to_be_deleted = kStart;
  fleet.Node("a", "").to_be_deleted = kStart;
  fleet.Node("c", "").deletion_candidate = kStart - 10min;
  Options options;
  auto cleanups = CleanUpLeftovers(fleet.view, options);
  ASSERT_EQ(cleanups.size(), 1u);
  EXPECT_EQ(cleanups[0].node, "b");
  EXPECT_TRUE(cleanups[0].to_be_deleted);
  options.max_bulk_soft_taint_count = 0;
  options.node_deletion_candidate_ttl = 5min;
  cleanups = CleanUpLeftovers(fleet.view, options);
  ASSERT_EQ(cleanups.size(), 2u);
  EXPECT_TRUE(cleanups[1].deletion_candidate);
  options.node_deletion_candidate_ttl = 10min;
  EXPECT_EQ(CleanUpLeftovers(fleet.view, options).size(), 1u) << "not older than its time";
}

TEST(CleanUpLeftoversTest, LeavesNodesAloneThatTheProviderIsDeleting) {
  Fleet fleet;
  fleet.Group("ng1", 0, 5, 1);
  fleet.Node("a", "ng1").to_be_deleted = kStart;
  fleet.Node("b", "ng1").to_be_deleted = kStart;
  fleet.Instance("ng1", "a", providers::Instance::State::kDeleting);
  fleet.Instance("ng1", "b");
  const auto cleanups = CleanUpLeftovers(fleet.view, Options{});
  ASSERT_EQ(cleanups.size(), 1u);
  EXPECT_EQ(cleanups[0].node, "b");
}

TEST(CheckActionableTest, StopsOnlyWhenScaleUpFromZeroIsOff) {
  Fleet fleet;
  Options options;
  EXPECT_FALSE(CheckActionable(fleet.view, options, 1h).stop);
  options.scale_up_from_zero = false;
  StageResult result = CheckActionable(fleet.view, options, 1s);
  EXPECT_TRUE(result.stop && result.clear_unneeded);
  EXPECT_EQ(result.why, "Cluster has no nodes.");
  EXPECT_EQ(result.events.size(), 1u);
  fleet.Node("n1", "", false);
  result = CheckActionable(fleet.view, options, 10min);
  EXPECT_EQ(result.why, "Cluster has no ready nodes.");
  EXPECT_TRUE(result.events.empty()) << "a young process does not complain";
  EXPECT_EQ(CheckActionable(fleet.view, options, 11min).events.size(), 1u);
  fleet.Find("n1").ready = true;
  EXPECT_FALSE(CheckActionable(fleet.view, options, 1h).stop);
}

TEST(RemoveLongUnregisteredTest, RemovesTheOldestDownToTheMinimum) {
  Fleet fleet;
  fleet.Group("ng1", 3, 10, 5);
  fleet.Nodes("ng1", 2);
  for (const char* id : {"i3", "i1", "i2"}) fleet.Instance("ng1", id);
  Options options;
  ClusterState state = StateSince(fleet, options, 16min);
  const StageResult result = RemoveLongUnregistered(fleet.view, options, state);
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(Ids(result.changes[0]), (std::vector<std::string>{"i1", "i2"}));
  EXPECT_EQ(result.changes[0].delta, -2);
  EXPECT_EQ(fleet.At("ng1").target_size, 3);
  EXPECT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.changes[0].succeeded[0], (ClusterEvent{false, "DeleteUnregistered", "Removed unregistered node i1"}));
  EXPECT_EQ(result.changes[0].failed[1], (ClusterEvent{true, "DeleteUnregisteredFailed", "Failed to remove node i2: "}));
  EXPECT_FALSE(result.stop);
  EXPECT_TRUE(RemoveLongUnregistered(fleet.view, options, state).changes.empty()) << "at the minimum now";
}

TEST(RemoveLongUnregisteredTest, WaitsForMoreThanTheProvisionTimeOfTheGroup) {
  for (const auto& [waited, removed] : {std::pair<base::Duration, size_t>{5min, 0}, {5min + 1s, 1}}) {
    Fleet fleet;
    fleet.Group("ng1", 0, 10, 1).options.max_node_provision_time = 5min;
    fleet.Instance("ng1", "i1");
    ClusterState state = StateSince(fleet, {}, waited);
    EXPECT_EQ(RemoveLongUnregistered(fleet.view, {}, state).changes.size(), removed);
  }
}

TEST(RemoveLongUnregisteredTest, ForceGoesBelowTheMinimum) {
  Fleet fleet;
  fleet.Group("ng1", 2, 10, 2);
  fleet.Instance("ng1", "i1");
  Options options;
  ClusterState state = StateSince(fleet, options, 16min);
  EXPECT_TRUE(RemoveLongUnregistered(fleet.view, options, state).changes.empty());
  options.force_delete_unregistered_nodes = true;
  const StageResult result = RemoveLongUnregistered(fleet.view, options, state);
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_TRUE(result.changes[0].force);
  EXPECT_EQ(fleet.At("ng1").target_size, 1);
}

TEST(RemoveLongUnregisteredTest, AtomicGroupGoesWholeOrNotAtAll) {
  for (const int64_t min : {0, 2}) {
    Fleet fleet;
    fleet.Group("ng1", min, 10, 3).options.zero_or_max_node_scaling = true;
    fleet.Node("n1", "ng1");
    for (const char* id : {"n1", "i1", "i2"}) fleet.Instance("ng1", id);
    ClusterState state = StateSince(fleet, {}, 16min);
    const StageResult result = RemoveLongUnregistered(fleet.view, {}, state);
    ASSERT_EQ(result.changes.size(), min == 0 ? 1u : 0u);
    if (min != 0) continue;
    EXPECT_EQ(Ids(result.changes[0]), (std::vector<std::string>{"i1", "i2", "n1"}));
    EXPECT_EQ(result.changes[0].nodes[2].name, "n1");
    EXPECT_EQ(fleet.At("ng1").target_size, 0);
  }
}

TEST(DeleteFailedCreationsTest, AnAtomicGroupThatMayBeCompletedKeepsWhatHasCome) {
  for (const bool completed : {false, true}) {
    for (const bool any : {false, true}) {
      Fleet fleet;
      providers::NodeGroup& group = fleet.Group("ng1", 0, 3, 3);
      group.options.zero_or_max_node_scaling = true;
      group.options.allow_non_atomic_scale_up_to_max = completed;
      if (any) fleet.Node("n1", "ng1");
      if (any) fleet.Instance("ng1", "n1");
      fleet.FailedInstance("ng1", "i1", "QUOTA");
      fleet.FailedInstance("ng1", "i2", "QUOTA");
      ClusterState state{Options{}};
      state.Update(fleet.view);
      const StageResult result = DeleteFailedCreations(fleet.view, {}, state);
      ASSERT_EQ(result.changes.size(), completed && any ? 0u : 1u) << completed << any;
      if (!result.changes.empty()) EXPECT_EQ(result.changes[0].nodes.size(), any ? 3u : 2u);
    }
  }
}

TEST(CheckClusterHealthTest, UnhealthyClusterStopsTheLoop) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 8);
  fleet.Nodes("ng1", 4);
  fleet.Nodes("ng1", 4, false);
  ClusterState state{Options{}};
  state.Update(fleet.view);
  const StageResult result = CheckClusterHealth(fleet.view, {}, state);
  EXPECT_TRUE(result.stop && result.clear_unneeded);
  EXPECT_EQ(result.why, "4 of 8 nodes are not ready");
  EXPECT_EQ(result.events.at(0), (ClusterEvent{true, "ClusterUnhealthy", "Cluster is unhealthy"}));
  fleet.nodes.back().ready = true;
  state.Update(fleet.view);
  EXPECT_FALSE(CheckClusterHealth(fleet.view, {}, state).stop);
}

TEST(DeleteFailedCreationsTest, DeletesThemAndTheLoopGoesOnExceptWithOldRules) {
  for (const Compat compat : {Compat::k1_37, Compat::k1_26}) {
    Options options;
    options.compat = compat;
    Fleet fleet;
    fleet.Group("ng1", 0, 10, 4);
    fleet.Nodes("ng1", 1);
    fleet.FailedInstance("ng1", "i2", "QUOTA");
    fleet.FailedInstance("ng1", "i1", "STOCKOUT");
    fleet.Instance("ng1", "i3", Instance::State::kCreating);
    ClusterState state(options);
    state.RegisterScaleUp("ng1", 3, kStart);
    state.Update(fleet.view);
    const StageResult result = DeleteFailedCreations(fleet.view, options, state);
    ASSERT_EQ(result.changes.size(), 1u);
    EXPECT_EQ(Ids(result.changes[0]), (std::vector<std::string>{"i1", "i2"}));
    EXPECT_EQ(result.changes[0].why, "2 instances could not be created: OutOfResource.QUOTA OutOfResource.STOCKOUT");
    EXPECT_EQ(fleet.At("ng1").target_size, 2);
    EXPECT_EQ(state.Find("ng1")->range.target, 2) << "recalculated";
    EXPECT_EQ(result.stop, compat == Compat::k1_26);
  }
}

TEST(FixNodeGroupSizeTest, FixNodeGroupSizeVectorWaitsForTheProvisionTime) {
  Options options;
  options.max_node_provision_time = 45min;
  Fleet fleet;
  fleet.Group("ng1", 1, 10, 3);
  fleet.Nodes("ng1", 1);
  ClusterState state(options);
  state.Update(fleet.view);
  fleet.view.now = kStart + 10min;
  state.Update(fleet.view);
  EXPECT_FALSE(FixNodeGroupSize(fleet.view, options, state).stop);
  fleet.view.now = kStart + 1h;
  state.Update(fleet.view);
  const StageResult result = FixNodeGroupSize(fleet.view, options, state);
  EXPECT_TRUE(result.stop);
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(result.changes[0].delta, -2);
  EXPECT_EQ(fleet.At("ng1").target_size, 1);
}

TEST(FixNodeGroupSizeTest, MoreNodesThanWantedAreLeftAlone) {
  Fleet fleet;
  fleet.Group("ng1", 1, 10, 3);
  fleet.Nodes("ng1", 5);
  ClusterState state = StateSince(fleet, {}, 24h);
  ASSERT_EQ(state.incorrect_sizes().size(), 1u);
  EXPECT_FALSE(FixNodeGroupSize(fleet.view, {}, state).stop);
}

TEST(FixNodeGroupSizeTest, RemovedInstancesAreNotTakenOffTwice) {
  Fleet fleet;
  fleet.Group("ng1", 0, 10, 5);
  fleet.Nodes("ng1", 3);
  fleet.Instance("ng1", "i1");
  ClusterState state = StateSince(fleet, {}, 16min);
  ASSERT_EQ(state.incorrect_sizes().at("ng1").expected, 5);
  EXPECT_EQ(RemoveLongUnregistered(fleet.view, {}, state).changes.at(0).delta, -1);
  EXPECT_EQ(FixNodeGroupSize(fleet.view, {}, state).changes.at(0).delta, -1);
  EXPECT_EQ(fleet.At("ng1").target_size, 3) << "the registered count";
}

TEST(EnforceMinSizeTest, GrowsGroupsBelowTheirMinimumAsFarAsLimitsAllow) {
  Fleet fleet;
  fleet.Group("backed-off", 3, 10, 1);
  fleet.Group("low", 3, 10, 1);
  fleet.Group("fine", 1, 10, 1);
  for (const char* group : {"backed-off", "low", "fine"}) fleet.Nodes(group, 1);
  Options options;
  ClusterState state(options);
  state.Update(fleet.view);
  state.RegisterFailedScaleUp("backed-off", {}, kStart);
  EXPECT_TRUE(EnforceMinSize(fleet.view, options, state).changes.empty()) << "only with the flag";
  options.enforce_node_group_min_size = true;
  StageResult result = EnforceMinSize(fleet.view, options, state, [](const auto&, int64_t) { return 0; });
  EXPECT_TRUE(result.changes.empty());
  EXPECT_EQ(result.notes.size(), 2u);
  result = EnforceMinSize(fleet.view, options, state);
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(result.changes[0].group, "low");
  EXPECT_EQ(result.changes[0].delta, 2);
  EXPECT_EQ(result.changes[0].before[0].message, "Scale-up: setting group low size to 3 instead of 1 (max: 10)");
  EXPECT_EQ(result.changes[0].succeeded[0].message, "Scale-up: group low size set to 3 instead of 1 (max: 10)");
  EXPECT_EQ(state.scale_ups().at("low").increase, 2);
  EXPECT_EQ(FindUpcomingNodes(fleet.view, options, state).nodes.at("low"), 2);
  fleet.At("low").target_size = 1;
  options.max_nodes_total = 2;
  EXPECT_EQ(EnforceMinSize(fleet.view, options, state).changes.at(0).delta, 1);
}

/// A random history of one cluster, the same for the same seed.
class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      const std::string id = "ng" + std::to_string(i);
      const int64_t min = random_.Between(int64_t{0}, int64_t{3}), max = min + random_.Between(int64_t{0}, int64_t{8});
      auto& group = fleet.Group(id, min, max, random_.Between(min, max));
      group.options.zero_or_max_node_scaling = random_.Chance(0.2);
      for (int64_t n = 0; n < group.target_size; ++n) AddInstance(id);
    }
    options.enforce_node_group_min_size = true;
    options.compat = random_.Chance(0.3) ? Compat::k1_26 : Compat::k1_37;
  }

  /// Things happen to the cluster.
  void Step() {
    fleet.view.now = fleet.view.now.Read() + random_.Between(base::Duration(1s), base::Duration(8min));
    fleet.view.now = base::Time(std::chrono::floor<std::chrono::milliseconds>(fleet.view.now.Read()));
    for (auto& group : fleet.view.groups.groups) {
      // Somebody else changes the size.
      if (random_.Chance(0.05)) group.target_size = random_.Between(int64_t{0}, group.max_size);
      std::erase_if(group.instances, [&](const Instance& instance) {
        return instance.state == Instance::State::kDeleting || random_.Chance(0.05);
      });
      while (static_cast<int64_t>(group.instances.size()) < group.target_size && random_.Chance(0.7)) AddInstance(group.id);
      for (Instance& instance : group.instances) {
        if (instance.error || !random_.Chance(0.3)) continue;
        instance.state = Instance::State::kRunning;
        if (std::ranges::find(fleet.nodes, instance.id, &NodeFacts::provider_id) != fleet.nodes.end()) continue;
        NodeFacts& node = fleet.Node(instance.id, group.id, false);
        node.created = fleet.view.now.Read();
      }
    }
    for (NodeFacts& node : fleet.nodes) {
      if (random_.Chance(0.3)) node.ready = random_.Chance(0.8);
      if (random_.Chance(0.03)) node.present = false;
      node.suspended = random_.Chance(0.02);
      node.to_be_deleted = random_.Chance(0.05) ? std::optional(fleet.view.now.Read()) : std::nullopt;
    }
  }

  Fleet fleet;
  Options options;

  /// As a scale-up would.
  void Grow(ClusterState& state) {
    for (auto& group : fleet.view.groups.groups) {
      const int64_t room = group.max_size - group.target_size;
      if (room <= 0 || !random_.Chance(0.3)) continue;
      const int64_t delta = random_.Between(int64_t{1}, room);
      group.target_size += delta;
      state.RegisterScaleUp(group.id, delta, fleet.view.now.Read());
    }
  }

 private:
  void AddInstance(const std::string& group) {
    const std::string id = "i" + std::to_string(next_++);
    if (random_.Chance(0.2)) {
      fleet.FailedInstance(group, id, random_.Chance(0.5) ? "QUOTA" : "STOCKOUT");
    } else {
      fleet.Instance(group, id, Instance::State::kCreating);
    }
  }

  base::Random random_;
  int next_ = 0;
};

std::string Text(const StageResult& result) {
  std::string text = result.stop ? "stop " : "";
  for (const auto& event : result.events) text += event.reason + ": " + event.message + "\n";
  for (const auto& change : result.changes) text += change.group + " " + std::to_string(change.delta) + " " + change.why + "\n";
  return text;
}

/// One loop; `check` sees every stage.
template <typename Check>
std::string RunStages(History& history, ClusterState& state, const Check& check) {
  ClusterView& view = history.fleet.view;
  const Options& options = history.options;
  std::string text;
  bool stop = false;
  const auto run = [&](auto&& stage) {
    if (stop) return;
    const auto before = view.groups;
    const StageResult result = stage();
    check(before, result);
    text += Text(result);
    stop = result.stop;
  };
  run([&] { return UpdateClusterState(view, options, state); });
  run([&] { return RemoveLongUnregistered(view, options, state); });
  run([&] { return CheckClusterHealth(view, options, state); });
  run([&] { return DeleteFailedCreations(view, options, state); });
  run([&] { return FixNodeGroupSize(view, options, state); });
  for (const auto& [group, count] : FindUpcomingNodes(view, options, state).nodes) text += group + "+" + std::to_string(count);
  run([&] { return EnforceMinSize(view, options, state); });
  return text;
}

TEST(ClusterStagesPropertiesTest, HistoriesReachEveryKindOfDecision) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    History history(seed);
    ClusterState state(history.options);
    for (int step = 0; step < 25; ++step) {
      history.Step();
      RunStages(history, state, [&](const auto&, const StageResult& result) {
        for (const auto& event : result.events) ++seen[event.reason];
        for (const auto& change : result.changes) {
          ++seen[change.kind == GroupChange::Kind::kDeleteNodes      ? "delete"
                 : change.kind == GroupChange::Kind::kDecreaseTarget ? "decrease"
                                                                     : "increase"];
          for (const auto& event : change.succeeded) ++seen[event.reason];
        }
        if (result.why == "sizes of node groups have been corrected") ++seen["fixed"];
      });
      seen["upcoming"] += static_cast<int>(state.UpcomingNodes(history.fleet.view).nodes.size());
      if (step % 3 == 0) history.Grow(state);
    }
  }
  for (const char* kind : {"delete", "decrease", "increase", "fixed", "upcoming", "ScaleUpTimedOut", "FailedToRevertScaleUp",
                           "ScaleUpFailed", "ClusterUnhealthy", "DeleteUnregistered", "ScaledUpGroup"}) {
    EXPECT_GT(seen[kind], 0) << kind;
  }
}

TEST(ClusterStagesPropertiesTest, NoDecisionLeavesTheBoundsOfAGroupAndUpcomingIsNeverNegative) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    History history(seed);
    ClusterState state(history.options);
    for (int step = 0; step < 25; ++step) {
      history.Step();
      RunStages(history, state, [&](const providers::NodeGroups& before, const StageResult& result) {
        for (const GroupChange& change : result.changes) {
          const auto* was = before.Find(change.group);
          const auto* is = history.fleet.view.groups.Find(change.group);
          RC_ASSERT(is->target_size == was->target_size + change.delta);
          RC_ASSERT(change.delta > 0 || is->target_size >= was->min_size);
          RC_ASSERT(change.delta < 0 || is->target_size <= was->max_size);
          RC_ASSERT(change.delta != 0);
        }
      });
      for (const auto& [group, count] : state.UpcomingNodes(history.fleet.view).nodes) RC_ASSERT(count > 0);
      if (step % 3 == 0) history.Grow(state);
    }
  }));
}

TEST(ClusterStagesPropertiesTest, AStateThatWentThroughJsonDecidesTheSame) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    History one(seed), two(seed);
    ClusterState state(one.options), restarted(two.options);
    const auto ignore = [](const auto&, const auto&) {};
    for (int step = 0; step < 25; ++step) {
      one.Step();
      two.Step();
      auto again = ClusterState::FromJson(*base::ParseJson(base::ToText(restarted.ToJson()), "test"), two.options);
      RC_ASSERT(again.has_value());
      restarted = *std::move(again);
      RC_ASSERT(RunStages(one, state, ignore) == RunStages(two, restarted, ignore));
      RC_ASSERT(base::ToText(state.ToJson()) == base::ToText(restarted.ToJson()));
      RC_ASSERT(state.IsClusterHealthy() == restarted.IsClusterHealthy());
      for (const auto& [id, group] : state.groups()) {
        RC_ASSERT(group.range == restarted.Find(id)->range);
        RC_ASSERT(state.IsSafeToScaleUp(id) == restarted.IsSafeToScaleUp(id));
      }
      if (step % 3 != 0) continue;
      one.Grow(state);
      two.Grow(restarted);
    }
  }));
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::cluster_stages_test
