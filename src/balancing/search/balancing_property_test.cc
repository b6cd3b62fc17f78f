// What holds for every balancing plan, on many small clusters at random.
#include <gtest/gtest.h>

#include "balancing/search/balancing_testing.h"
#include "balancing/search/reference_annealing_testing.h"

namespace evenkeel::balancing::balancing_property_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): builders

Settings RandomSettings(base::Random& random) {
  Settings settings;
  settings.prevent_transient_overcommit = random.Chance(0.2);
  settings.use_move_cost_reports = random.Chance(0.2);
  if (random.Chance(0.2)) settings.defragmentation_metrics["A"] = true;
  if (random.Chance(0.2)) settings.local_balancing_threshold = 1;
  if (random.Chance(0.2)) settings.local_domain_weight = 0;
  return settings;
}

template <typename F>
void ForEachGroup(const Cluster& cluster, const Settings& settings, F&& visit) {
  const NodeSets sets(cluster);
  for (const ServiceGroup& group : GroupServices(cluster).groups) {
    Arrangement arrangement(cluster, settings, sets);
    const GroupBalance balance = CheckBalance(cluster, settings, sets, arrangement.loads(), group);
    if (!balance.balanced()) visit(arrangement, group, balance);
  }
}

TEST(BalancingPropertyTest, EnergyNeverRisesAndIsThatOfTheArrangement) {
  base::Random random(1);
  for (int i = 0; i < 60; ++i) {
    const Cluster cluster = RandomCluster(random);
    const Settings settings = RandomSettings(random);
    ForEachGroup(cluster, settings, [&](Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance) {
      const BalancingResult result = Balance(arrangement, group, balance, {.evaluations = 5000});
      EXPECT_LE(result.energy_after, result.energy_before);
      EXPECT_LE(result.deviation_after, result.deviation_before);
      const GroupScore score(cluster, settings, arrangement.sets(), arrangement.loads(), group);
      EXPECT_NEAR(score.average_deviation(), result.deviation_after, 1e-9);
    });
  }
}

TEST(BalancingPropertyTest, NoBeginningOfAPlanExceedsACapacity) {
  base::Random random(2);
  size_t actions = 0;
  for (int i = 0; i < 60; ++i) {
    const Cluster cluster = RandomCluster(random);
    const Settings settings = RandomSettings(random);
    ForEachGroup(cluster, settings, [&](Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance) {
      Balance(arrangement, group, balance, {.evaluations = 5000});
      std::vector<SkippedItem> skipped;
      const std::vector<Action> plan = ActionsOf(arrangement, {.group = group, .balance = &balance}, skipped);
      actions += plan.size();
      Arrangement state(cluster, settings, arrangement.sets());
      for (const Action& action : plan) {
        const NodeId to = action.to;
        if (action.kind == ActionKind::kSwapPrimarySecondary) {
          state.Swap(action.replica, state.Find(action.partition, to));
        } else {
          EXPECT_EQ(state.NodeOf(action.replica), action.from);
          EXPECT_EQ(state.Find(action.partition, to), kNoId) << "one replica of a partition per node";
          state.Move(action.replica, to);
        }
        for (const LoadChange& change : action.loads) {
          EXPECT_EQ(change.target_after, state.loads().Of(change.metric, to));
          EXPECT_EQ(change.source_after, state.loads().Of(change.metric, action.from));
          const int64_t* capacity = cluster.CapacityOf(to, change.metric);
          const bool comes = capacity != nullptr && change.target_after > change.target_before;
          EXPECT_TRUE(!comes || change.target_after <= *capacity) << TextOf(action);
        }
        EXPECT_FALSE(action.reason.empty());
      }
      for (ReplicaId replica = 0; replica < cluster.replicas.size(); ++replica) {
        EXPECT_EQ(state.NodeOf(replica), arrangement.NodeOf(replica));
        EXPECT_EQ(state.RoleOf(replica), arrangement.RoleOf(replica));
      }
    });
  }
  EXPECT_GT(actions, 50u);
}

TEST(BalancingPropertyTest, TheSameSeedGivesTheSamePlan) {
  base::Random random(3);
  for (int i = 0; i < 15; ++i) {
    const Cluster cluster = RandomCluster(random);
    const Settings settings = RandomSettings(random);
    EXPECT_EQ(BalanceAll(cluster, settings, {.evaluations = 5000}).texts,
              BalanceAll(cluster, settings, {.evaluations = 5000}).texts);
  }
}

TEST(BalancingPropertyTest, NothingThatWasMovedCouldAsWellHaveStayed) {
  base::Random random(4);
  for (int i = 0; i < 30; ++i) {
    const Cluster cluster = RandomCluster(random);
    const Settings settings = RandomSettings(random);
    ForEachGroup(cluster, settings, [&](Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance) {
      Balance(arrangement, group, balance, {});
      std::vector<SkippedItem> skipped;
      const std::vector<Action> plan = ActionsOf(arrangement, {.group = group, .balance = &balance}, skipped);
      const Constraints constraints(arrangement, {.max_priority = kBalancingMaxPriority});
      for (const Action& action : plan) {
        const bool could_stay = action.kind != ActionKind::kSwapPrimarySecondary &&
                                constraints.Allows(action.replica, cluster.replicas[action.replica].node);
        EXPECT_TRUE(!could_stay || action.energy_gain > -1e-9) << TextOf(action) << " gains " << action.energy_gain;
      }
    });
  }
}

TEST(BalancingPropertyTest, NoWorseThanAnnealingByServiceFabricsRules) {
  base::Random random(5);
  int compared = 0;
  for (int i = 0; i < 25; ++i) {
    const Cluster cluster = RandomCluster(random);
    const Settings settings = RandomSettings(random);
    ForEachGroup(cluster, settings, [&](Arrangement& arrangement, const ServiceGroup& group, const GroupBalance& balance) {
      double best = 0;
      {
        BalancingState state(arrangement, group, balance, {});
        best = state.energy();
        for (uint64_t seed = 1; seed <= 2; ++seed) {
          best = std::min(best, ReferenceAnnealing(state, seed).Run(40, 200));
          state.RollBack(0);
        }
      }
      const BalancingResult result = Balance(arrangement, group, balance, {});
      EXPECT_LE(result.energy_after, best + 1e-6 * std::abs(best)) << "cluster " << i;
      ++compared;
    });
  }
  EXPECT_GT(compared, 10);
}

}  // namespace
}  // namespace evenkeel::balancing::balancing_property_test
