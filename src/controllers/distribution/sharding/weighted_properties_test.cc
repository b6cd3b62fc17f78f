// What holds for any fleet and any change of it.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "base/random.h"
#include "controllers/distribution/sharding/weighted_plan.h"

namespace evenkeel::controllers::distribution::weighted_properties_test {
namespace {

using Reason = WeightedMove::Reason;

constexpr int64_t kClustersMax = 300;
constexpr int64_t kShardsMax = 20;
constexpr int kPlansMax = 1000;

enum class Weights { kEqual, kUniform, kZipf, kSmall };

struct FleetShape {
  Weights weights = Weights::kEqual;
  int64_t shards = 1;
  int64_t clusters = 0;
  double pinned = 0;
  double leaving = 0;
};

struct WeightedFleet {
  std::vector<WeightedShard> shards;
  std::vector<WeightedCluster> clusters;
};

/// Checks a property on random fleets of up to kClustersMax clusters; what fails is made as small as it can be.
void ForSizes(const std::function<void(base::Random& random, int64_t size)>& property) {
  const bool held = rc::check([&] {
    const auto seed = *rc::gen::arbitrary<uint32_t>();
    const auto size = *rc::gen::inRange<int64_t>(0, kClustersMax + 1);
    testing::TestPartResultArray failures;
    {
      // Failures on the way to the smallest example are RapidCheck's business.
      testing::ScopedFakeTestPartResultReporter intercept(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
      base::Random random(seed);
      property(random, size);
    }
    if (failures.size() > 0) RC_FAIL(failures.GetTestPartResult(0).message());
  });
  EXPECT_TRUE(held);
}

WeightedPlan Plan(const WeightedFleet& fleet, const WeightedOptions& options = {}) {
  return PlanWeighted(fleet.shards, fleet.clusters, options);
}

void Follow(const WeightedPlan& plan, WeightedFleet& fleet) {
  for (size_t i = 0; i < fleet.clusters.size(); ++i) {
    fleet.clusters[i].shard = plan.shard[i];
    fleet.clusters[i].standby = plan.standby[i];
  }
}

/// Plans until nothing moves; returns the number of plans that moved something.
int Settle(WeightedFleet& fleet, const WeightedOptions& options = {}) {
  for (int plans = 0; plans < kPlansMax; ++plans) {
    const WeightedPlan plan = Plan(fleet, options);
    Follow(plan, fleet);
    if (plan.moves.empty()) return plans;
  }
  return kPlansMax;
}

int64_t RandomWeight(base::Random& random, Weights weights, int64_t count) {
  switch (weights) {
    case Weights::kEqual:
      return 40;
    case Weights::kUniform:
      return random.Between(int64_t{0}, int64_t{1000});
    case Weights::kZipf:
      return 100'000 / random.Between(int64_t{1}, std::max<int64_t>(count, 1));
    case Weights::kSmall:
      return random.Between(int64_t{0}, int64_t{3});
  }
  return 1;
}

void AddCluster(base::Random& random, const FleetShape& shape, WeightedFleet& fleet) {
  WeightedCluster cluster;
  cluster.server = "https://member-" + random.NameSuffix(3) + "-" + std::to_string(fleet.clusters.size());
  cluster.weight = RandomWeight(random, shape.weights, shape.clusters);
  // Now and then to a shard that is not there.
  if (random.Chance(shape.pinned)) cluster.pinned = random.Between(int64_t{-1}, 2 * shape.shards);
  fleet.clusters.push_back(std::move(cluster));
}

/// Nothing is placed. The numbers of the shards have gaps and are not in order.
WeightedFleet NewFleet(base::Random& random, const FleetShape& shape) {
  WeightedFleet fleet;
  for (int64_t i = 0; i < shape.shards; ++i) {
    fleet.shards.push_back({.shard = i % 3 == 2 ? 100 - i : i + i % 3, .leaving = random.Chance(shape.leaving)});
  }
  for (int64_t i = 0; i < shape.clusters; ++i) AddCluster(random, shape, fleet);
  return fleet;
}

FleetShape AnyShape(base::Random& random, int64_t size) {
  return {.weights = static_cast<Weights>(random.Below(4)),
          .shards = random.Between(int64_t{1}, kShardsMax),
          .clusters = random.Between(int64_t{0}, size),
          .pinned = random.Chance(0.3) ? 0.2 : 0,
          .leaving = random.Chance(0.3) ? 0.2 : 0};
}

/// Owners and standbys at random, some of them shards that do not exist.
void Scatter(base::Random& random, WeightedFleet& fleet) {
  const auto any = [&] {
    return random.Chance(0.9) ? fleet.shards[random.Below(fleet.shards.size())].shard
                              : random.Between(int64_t{-1}, int64_t{200});
  };
  for (WeightedCluster& cluster : fleet.clusters) {
    cluster.shard = any();
    cluster.standby = any();
  }
}

/// A fleet of any kind in any condition: new, in disorder, or settled when some shards leave.
WeightedFleet AnyFleet(base::Random& random, int64_t size) {
  WeightedFleet fleet = NewFleet(random, AnyShape(random, size));
  const uint64_t condition = random.Below(3);
  if (condition == 1) Scatter(random, fleet);
  if (condition == 2) {
    Settle(fleet);
    for (WeightedShard& shard : fleet.shards) shard.leaving ^= random.Chance(0.1);
  }
  return fleet;
}

/// One shard or one cluster more or less.
enum class Change { kShardAdded, kShardGone, kShardLeaves, kClusterAdded, kClusterGone };
constexpr std::array kChanges = {Change::kShardAdded, Change::kShardGone, Change::kShardLeaves, Change::kClusterAdded,
                                 Change::kClusterGone};

/// What was changed.
struct Changed {
  int64_t shard = -1;
  WeightedCluster cluster;
};

Changed Make(Change change, base::Random& random, const FleetShape& shape, WeightedFleet& fleet) {
  const auto any = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(random.Below(list.size())); };
  if (change == Change::kShardAdded) {
    fleet.shards.push_back({.shard = 57});
    return {.shard = 57, .cluster = {}};
  }
  if (change == Change::kClusterAdded) {
    AddCluster(random, shape, fleet);
    return {.cluster = fleet.clusters.back()};
  }
  if (change == Change::kClusterGone) {
    const auto at = any(fleet.clusters);
    WeightedCluster gone = std::move(*at);
    fleet.clusters.erase(at);
    return {.cluster = std::move(gone)};
  }
  const auto at = any(fleet.shards);
  const int64_t shard = at->shard;
  at->leaving = true;
  if (change == Change::kShardGone) fleet.shards.erase(at);
  return {.shard = shard, .cluster = {}};
}

int64_t WeightOf(const WeightedCluster& cluster) { return std::max<int64_t>(cluster.weight, 1); }

int64_t Heaviest(const WeightedFleet& fleet) {
  int64_t heaviest = 0;
  for (const WeightedCluster& cluster : fleet.clusters) heaviest = std::max(heaviest, WeightOf(cluster));
  return heaviest;
}

std::set<int64_t> Targets(const WeightedFleet& fleet) {
  std::set<int64_t> targets;
  for (const WeightedShard& shard : fleet.shards) {
    if (!shard.leaving) targets.insert(shard.shard);
  }
  return targets;
}

bool Pinned(const WeightedCluster& cluster, const std::set<int64_t>& targets) {
  return cluster.pinned && targets.contains(*cluster.pinned);
}

size_t BalanceMoves(const WeightedPlan& plan) {
  return static_cast<size_t>(std::ranges::count(plan.moves, Reason::kBalance, &WeightedMove::reason));
}

/// Moved for balance; a swap counts by its heavier cluster.
int64_t BalanceWeight(const WeightedFleet& fleet, const WeightedPlan& plan) {
  int64_t sum = 0;
  const WeightedMove* before = nullptr;
  for (const WeightedMove& move : plan.moves) {
    if (move.reason != Reason::kBalance) continue;
    const int64_t weight = WeightOf(fleet.clusters[move.cluster]);
    const bool swap = before != nullptr && move.from == before->to && move.to == before->from;
    sum += swap ? std::max<int64_t>(weight - WeightOf(fleet.clusters[before->cluster]), 0) : weight;
    before = swap ? nullptr : &move;
  }
  return sum;
}

/// The fleet as it is, in exact arithmetic: the default options are 5/4 and 1/20.
struct Census {
  explicit Census(const WeightedFleet& fleet) : targets(Targets(fleet)), shards(static_cast<int64_t>(targets.size())) {
    for (int64_t shard : targets) loads[shard] = 0;
    for (const WeightedCluster& cluster : fleet.clusters) {
      total += WeightOf(cluster);
      loads[cluster.shard] += WeightOf(cluster);
      if (!Pinned(cluster, targets)) movable[cluster.shard].push_back(WeightOf(cluster));
    }
  }
  bool WithinBound(int64_t load) const { return 4 * shards * load <= 5 * total; }
  bool GainsEnough(int64_t gain) const { return gain > 0 && 20 * shards * gain >= total; }
  /// Whether a move or a swap of clusters that are not pinned would lower this load enough.
  bool CanBeLowered(int64_t from) {
    const int64_t load = loads[from];
    for (const auto& [to, other] : loads) {
      for (int64_t mine : movable[from]) {
        if (to != from && GainsEnough(load - other - mine)) return true;
        for (int64_t theirs : movable[to]) {
          const int64_t given = mine - theirs;
          const bool helps = GainsEnough(given) || (given > 0 && WithinBound(load - given));
          if (to != from && helps && GainsEnough(load - other - given)) return true;
        }
      }
    }
    return false;
  }

  std::set<int64_t> targets;
  int64_t shards;
  int64_t total = 0;
  std::map<int64_t, int64_t> loads;
  std::map<int64_t, std::vector<int64_t>> movable;
};

void ExpectNothingToLower(const WeightedFleet& fleet, std::string_view when) {
  Census census(fleet);
  for (int64_t shard : census.targets) {
    if (census.WithinBound(census.loads[shard])) continue;
    ASSERT_FALSE(census.CanBeLowered(shard)) << when << ": shard " << shard << " carries " << census.loads[shard] << " of "
                                             << census.total << " over " << census.shards;
  }
}

TEST(WeightedPropertiesTest, EachClusterHasOneOwnerThatStaysAndAStandbyElsewhere) {
  ForSizes([](base::Random& random, int64_t size) {
    const WeightedFleet fleet = AnyFleet(random, size);
    const std::set<int64_t> targets = Targets(fleet);
    const WeightedPlan plan = Plan(fleet);
    ASSERT_EQ(plan.shard.size(), fleet.clusters.size());
    ASSERT_EQ(plan.standby.size(), fleet.clusters.size());
    for (size_t i = 0; i < fleet.clusters.size(); ++i) {
      ASSERT_TRUE(targets.empty() ? plan.shard[i] == -1 : targets.contains(plan.shard[i])) << plan.shard[i];
      ASSERT_TRUE(targets.size() < 2 ? plan.standby[i] == -1 : targets.contains(plan.standby[i])) << plan.standby[i];
      ASSERT_TRUE(targets.size() < 2 || plan.standby[i] != plan.shard[i]) << plan.shard[i];
    }
  });
}

TEST(WeightedPropertiesTest, MovesSayWhatChangesAndWhyAndPinsAreHonoured) {
  ForSizes([](base::Random& random, int64_t size) {
    const WeightedFleet fleet = AnyFleet(random, size);
    const std::set<int64_t> targets = Targets(fleet);
    if (targets.empty()) return;
    std::set<int64_t> live;
    for (const WeightedShard& shard : fleet.shards) live.insert(shard.shard);
    const WeightedPlan plan = Plan(fleet);
    std::map<size_t, WeightedMove> moves;
    for (const WeightedMove& move : plan.moves) ASSERT_TRUE(moves.emplace(move.cluster, move).second) << "moves twice";
    for (size_t i = 0; i < fleet.clusters.size(); ++i) {
      const WeightedCluster& cluster = fleet.clusters[i];
      const bool pinned = Pinned(cluster, targets);
      ASSERT_EQ(moves.contains(i), plan.shard[i] != cluster.shard);
      ASSERT_TRUE(!pinned || plan.shard[i] == *cluster.pinned);
      if (!moves.contains(i)) continue;
      const Reason expected = cluster.shard < 0                  ? Reason::kNew
                              : !live.contains(cluster.shard)    ? Reason::kOwnerGone
                              : !targets.contains(cluster.shard) ? Reason::kLeaving
                              : pinned                           ? Reason::kPinned
                                                                 : Reason::kBalance;
      ASSERT_EQ(moves[i].reason, expected);
      ASSERT_EQ(moves[i].from, cluster.shard);
      ASSERT_EQ(moves[i].to, plan.shard[i]);
    }
  });
}

TEST(WeightedPropertiesTest, LoadsAddUpAndLeavingShardsEndEmpty) {
  ForSizes([](base::Random& random, int64_t size) {
    WeightedFleet fleet = AnyFleet(random, size);
    if (Targets(fleet).empty()) return;
    const WeightedPlan plan = Plan(fleet);
    Follow(plan, fleet);
    Census census(fleet);
    int64_t greatest = 0;
    for (size_t i = 0; i < fleet.shards.size(); ++i) {
      const int64_t expected = fleet.shards[i].leaving ? 0 : census.loads[fleet.shards[i].shard];
      ASSERT_EQ(plan.loads[i], expected);
      greatest = std::max(greatest, expected);
    }
    ASSERT_DOUBLE_EQ(plan.mean, static_cast<double>(census.total) / static_cast<double>(census.shards));
    ASSERT_DOUBLE_EQ(plan.imbalance, census.total > 0 ? static_cast<double>(greatest) / plan.mean : 1);
    std::vector<size_t> hot;
    for (size_t i = 0; i < fleet.clusters.size(); ++i) {
      if (!census.WithinBound(WeightOf(fleet.clusters[i]))) hot.push_back(i);
    }
    ASSERT_TRUE(std::ranges::is_permutation(hot, plan.hot));
    ASSERT_TRUE(std::ranges::is_sorted(plan.hot, std::greater(), [&](size_t i) { return WeightOf(fleet.clusters[i]); }));
  });
}

// The plain bound cannot hold for any fleet: three equal clusters on two shards are 1.33 times the mean.
TEST(WeightedPropertiesTest, ALoadBeyondTheBoundIsOneThatNoMoveOrSwapLowersEnough) {
  ForSizes([](base::Random& random, int64_t size) {
    WeightedFleet fleet = NewFleet(random, AnyShape(random, size));
    if (Targets(fleet).empty()) return;
    Follow(Plan(fleet), fleet);
    ASSERT_NO_FATAL_FAILURE(ExpectNothingToLower(fleet, "from scratch"));
    Scatter(random, fleet);
    ASSERT_LT(Settle(fleet), kPlansMax);
    ASSERT_NO_FATAL_FAILURE(ExpectNothingToLower(fleet, "settled"));
  });
}

/// At least 8 clusters per shard, none heavier than a quarter of the mean, even with a shard or a cluster more or less: weights
/// are equal or from 50 to 100.
WeightedFleet FineGrained(base::Random& random) {
  FleetShape shape{.shards = random.Between(int64_t{3}, kShardsMax - 1)};
  shape.clusters = (shape.shards + 1) * random.Between(int64_t{8}, int64_t{14}) + 1;
  WeightedFleet fleet = NewFleet(random, shape);
  const bool uneven = random.Chance(0.5);
  for (WeightedCluster& cluster : fleet.clusters) cluster.weight = uneven ? random.Between(int64_t{50}, int64_t{100}) : 40;
  return fleet;
}

TEST(WeightedPropertiesTest, WithManyClustersOfModerateWeightTheBoundHoldsWithoutException) {
  ForSizes([](base::Random& random, int64_t) {
    WeightedFleet fleet = FineGrained(random);
    const WeightedPlan first = Plan(fleet);
    ASSERT_LE(first.imbalance, 1.25);
    Follow(first, fleet);
    for (Change change : kChanges) {
      WeightedFleet changed = fleet;
      Make(change, random, {}, changed);
      ASSERT_LT(Settle(changed), 10);
      const WeightedPlan plan = Plan(changed);
      ASSERT_LE(plan.imbalance, 1.25) << "change " << static_cast<int>(change);
      ASSERT_EQ(plan.waiting, 0);
    }
    Scatter(random, fleet);
    ASSERT_LT(Settle(fleet), kPlansMax);
    ASSERT_LE(Plan(fleet).imbalance, 1.25) << "out of disorder";
  });
}

TEST(WeightedPropertiesTest, TheLossOfAShardMovesOnlyItsClustersToTheirStandbysAndTheBoundHolds) {
  ForSizes([](base::Random& random, int64_t) {
    WeightedFleet fleet = FineGrained(random);
    Settle(fleet);
    const int64_t gone = Make(Change::kShardGone, random, {}, fleet).shard;
    const WeightedPlan plan = Plan(fleet);
    ASSERT_LE(plan.imbalance, 1.25);
    for (size_t i = 0; i < fleet.clusters.size(); ++i) {
      const WeightedCluster& cluster = fleet.clusters[i];
      ASSERT_EQ(plan.shard[i], cluster.shard == gone ? cluster.standby : cluster.shard);
    }
  });
}

TEST(WeightedPropertiesTest, AChangeMovesNoMoreThanItsShareAndOneCluster) {
  ForSizes([](base::Random& random, int64_t size) {
    FleetShape shape = AnyShape(random, size);
    shape.leaving = 0;
    shape.clusters = std::max<int64_t>(shape.clusters, 1);
    shape.shards = std::max<int64_t>(shape.shards, 2);
    WeightedFleet settled = NewFleet(random, shape);
    ASSERT_LT(Settle(settled), kPlansMax);
    for (Change change : kChanges) {
      SCOPED_TRACE("change " + std::to_string(static_cast<int>(change)));
      WeightedFleet fleet = settled;
      const Changed changed = Make(change, random, shape, fleet);
      const WeightedPlan plan = Plan(fleet);
      const size_t shards = Targets(fleet).size();
      size_t share = 0;  // of a shard that goes: its own clusters, and they do not move for balance
      int64_t share_weight = 0;
      if (change == Change::kShardAdded) {
        share = (fleet.clusters.size() + shards - 1) / shards;
        share_weight = static_cast<int64_t>(std::ceil(plan.mean));
      } else if (change == Change::kClusterAdded || change == Change::kClusterGone) {
        share_weight = WeightOf(changed.cluster);
      }
      ASSERT_LE(BalanceWeight(fleet, plan), share_weight + Heaviest(fleet));
      ASSERT_TRUE(shape.weights != Weights::kEqual || BalanceMoves(plan) <= share + 1) << BalanceMoves(plan);
      for (const WeightedMove& move : plan.moves) {
        const WeightedCluster& cluster = fleet.clusters[move.cluster];
        const bool caused = move.reason == Reason::kBalance || cluster.server == changed.cluster.server ||
                            cluster.shard == changed.shard || cluster.pinned == changed.shard;
        ASSERT_TRUE(caused) << cluster.server << " " << move.from << ">" << move.to;
      }
    }
  });
}

TEST(WeightedPropertiesTest, TheOrderOfTheInputDoesNotMatter) {
  ForSizes([](base::Random& random, int64_t size) {
    const WeightedFleet fleet = AnyFleet(random, size);
    WeightedFleet shuffled = fleet;
    for (size_t i = shuffled.clusters.size(); i > 1; --i)
      std::swap(shuffled.clusters[i - 1], shuffled.clusters[random.Below(i)]);
    for (size_t i = shuffled.shards.size(); i > 1; --i) std::swap(shuffled.shards[i - 1], shuffled.shards[random.Below(i)]);
    const WeightedOptions options{.moves_max = random.Between(int64_t{0}, int64_t{40})};
    const auto told = [&](const WeightedFleet& of) {
      const WeightedPlan plan = Plan(of, options);
      std::map<std::string, std::pair<int64_t, int64_t>> places;
      for (size_t i = 0; i < of.clusters.size(); ++i) places[of.clusters[i].server] = {plan.shard[i], plan.standby[i]};
      std::vector<std::tuple<std::string, int64_t, int64_t, Reason, int64_t, int64_t>> moves;
      for (const WeightedMove& move : plan.moves) {
        moves.emplace_back(of.clusters[move.cluster].server, move.from, move.to, move.reason, move.load_from, move.load_to);
      }
      return std::tuple(places, moves, plan.waiting, plan.imbalance);
    };
    ASSERT_TRUE(told(fleet) == told(shuffled));
    ASSERT_TRUE(told(fleet) == told(fleet));
  });
}

void ExpectSettled(const WeightedFleet& fleet) {
  const WeightedPlan plan = Plan(fleet);
  ASSERT_TRUE(plan.moves.empty());
  ASSERT_EQ(plan.waiting, 0);
  for (size_t i = 0; i < fleet.clusters.size(); ++i) ASSERT_EQ(plan.standby[i], fleet.clusters[i].standby);
}

TEST(WeightedPropertiesTest, PlanningAgainSettlesAndChangesNothingMore) {
  int most = 0;
  ForSizes([&](base::Random& random, int64_t size) {
    const FleetShape shape = AnyShape(random, size);
    WeightedFleet fleet = NewFleet(random, shape);
    Follow(Plan(fleet), fleet);
    ASSERT_NO_FATAL_FAILURE(ExpectSettled(fleet)) << "a plan from scratch";
    Make(kChanges[fleet.clusters.empty() ? 0 : random.Below(kChanges.size())], random, shape, fleet);
    most = std::max(most, Settle(fleet));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled(fleet));
  });
  EXPECT_LE(most, 20) << "plans until one change is dealt with";
}

TEST(WeightedPropertiesTest, MovesMaxHoldsBackMovesForBalanceAndNoOthers) {
  int limited_plans = 0;
  ForSizes([&](base::Random& random, int64_t size) {
    const WeightedFleet fleet = AnyFleet(random, size);
    const WeightedOptions options{.moves_max = random.Between(int64_t{0}, int64_t{6})};
    const auto most = static_cast<size_t>(options.moves_max);
    const WeightedPlan full = Plan(fleet), limited = Plan(fleet, options);
    ASSERT_LE(BalanceMoves(limited), most);
    ASSERT_EQ(full.moves.size() - BalanceMoves(full), limited.moves.size() - BalanceMoves(limited));
    if (BalanceMoves(full) <= most) {
      ASSERT_EQ(full.shard, limited.shard);
      ASSERT_EQ(full.waiting, limited.waiting);
    } else {
      ++limited_plans;
      ASSERT_GT(limited.waiting, 0);
    }
  });
  EXPECT_GT(limited_plans, 0) << "nothing was shown";
}

TEST(WeightedPropertiesTest, WhatWaitsIsDoneByLaterPlansAndNothingWaitsInVain) {
  ForSizes([](base::Random& random, int64_t size) {
    WeightedFleet fleet = AnyFleet(random, size);
    const WeightedOptions options{.moves_max = 2};
    ASSERT_LT(Settle(fleet, options), kPlansMax);
    ASSERT_EQ(Plan(fleet, options).waiting, 0);
    if (!Targets(fleet).empty()) ExpectNothingToLower(fleet, "in small plans");
  });
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::weighted_properties_test
