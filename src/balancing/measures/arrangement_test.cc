#include "balancing/measures/arrangement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "balancing/model/cluster_testing.h"
#include "base/random.h"

namespace evenkeel::balancing::arrangement_test {
namespace {

using testing::ClusterBuilder;
using testing::RandomCluster;

// Two application groups, some replicas missing.
Cluster ClusterForSteps(base::Random& random) {
  Cluster cluster = RandomCluster(random);
  for (int i = 0; i < 2; ++i) {
    Application application;
    application.name = "app" + std::to_string(i);
    application.max_nodes = 3;
    for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
      if (random.Chance(0.5)) continue;
      application.metrics.push_back({.metric = metric, .node_reservation = static_cast<int64_t>(random.Below(40))});
    }
    cluster.applications.push_back(application);
  }
  for (Service& service : cluster.services) {
    if (random.Chance(0.6)) service.application = static_cast<ApplicationId>(random.Below(2));
    for (const PartitionId partition : service.partitions) {
      cluster.partitions[partition].missing = static_cast<int32_t>(random.Below(3));
    }
  }
  return cluster;
}

// The cluster as it is after the steps, with new replicas as existing ones.
Cluster AsCluster(const Arrangement& arrangement) {
  Cluster after = arrangement.cluster();
  after.replicas.clear();
  for (PartitionId id = 0; id < after.partitions.size(); ++id) {
    Partition& partition = after.partitions[id];
    partition.first_replica = static_cast<ReplicaId>(after.replicas.size());
    partition.missing = 0;
    arrangement.ForEachOf(id, [&](ReplicaId replica) {
      if (arrangement.NodeOf(replica) == kNoId) return;
      const std::span<const int64_t> loads = arrangement.LoadsOf(replica);
      after.replicas.push_back({.node = arrangement.NodeOf(replica),
                                .partition = id,
                                .first_load = static_cast<uint32_t>(loads.data() - arrangement.cluster().loads.data()),
                                .role = arrangement.RoleOf(replica)});
    });
    partition.replica_count = static_cast<uint32_t>(after.replicas.size()) - partition.first_replica;
  }
  return after;
}

void ExpectAlike(const Arrangement& stepped, const Arrangement& fresh, const std::string& where) {
  const Cluster& cluster = stepped.cluster();
  for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
    ASSERT_EQ(stepped.loads().Summary(metric), fresh.loads().Summary(metric)) << where;
    for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
      ASSERT_EQ(stepped.UsedOf(metric, node), fresh.UsedOf(metric, node)) << where << " node " << node;
    }
  }
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    ASSERT_EQ(stepped.On(node).size(), fresh.On(node).size()) << where;
    for (const ReplicaId replica : stepped.On(node)) {
      ASSERT_EQ(stepped.NodeOf(replica), node) << where;
      ASSERT_EQ(stepped.Find(stepped.PartitionOf(replica), node), replica) << where;
    }
  }
  for (PartitionId partition = 0; partition < cluster.partitions.size(); ++partition) {
    const ReplicaId primary = stepped.PrimaryOf(partition), other = fresh.PrimaryOf(partition);
    ASSERT_EQ(primary == kNoId ? kNoId : stepped.NodeOf(primary), other == kNoId ? kNoId : fresh.NodeOf(other)) << where;
    ASSERT_TRUE(primary == kNoId || stepped.RoleOf(primary) == Role::kPrimary) << where;
  }
  for (ApplicationId id = 0; id < cluster.applications.size(); ++id) {
    ASSERT_EQ(stepped.NodesOf(id), fresh.NodesOf(id)) << where;
    for (size_t i = 0; i < cluster.applications[id].metrics.size(); ++i) {
      ASSERT_EQ(stepped.LoadOf(id, i), fresh.LoadOf(id, i)) << where;
      for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
        ASSERT_EQ(stepped.ReplicasOnNode(id, node), fresh.ReplicasOnNode(id, node)) << where;
        ASSERT_EQ(stepped.LoadOnNode(id, i, node), fresh.LoadOnNode(id, i, node)) << where;
      }
    }
  }
}

// Takes a random step that fits and answers its reverse; nothing when the one that was drawn does not fit.
std::optional<std::function<void()>> RandomStep(Arrangement& arrangement, base::Random& random) {
  if (arrangement.replica_count() == 0) return std::nullopt;
  const ReplicaId replica = static_cast<ReplicaId>(random.Below(arrangement.replica_count()));
  const PartitionId partition = arrangement.PartitionOf(replica);
  const NodeId at = arrangement.NodeOf(replica);
  const ReplicaId primary = arrangement.PrimaryOf(partition);
  const Role role = arrangement.RoleOf(replica);
  const NodeId to = static_cast<NodeId>(random.Below(arrangement.cluster().nodes.size()));
  const bool free = arrangement.Find(partition, to) == kNoId;
  if (at == kNoId && arrangement.IsNew(replica)) {
    if (!free) return std::nullopt;
    arrangement.Place(replica, to, primary == kNoId && random.Chance(0.5) ? Role::kPrimary : Role::kSecondary);
    return [=, &arrangement] { arrangement.Remove(replica); };
  }
  if (at == kNoId) return std::nullopt;
  switch (random.Below(4)) {
    case 0:
      arrangement.Remove(replica);
      if (arrangement.IsNew(replica)) return [=, &arrangement] { arrangement.Place(replica, at, role); };
      return [=, &arrangement] { arrangement.Restore(replica); };
    case 1:
      if (primary != kNoId && primary != replica) {
        arrangement.Swap(primary, replica);
        return [=, &arrangement] { arrangement.Swap(replica, primary); };
      }
      arrangement.ChangeRole(replica, primary == kNoId ? Role::kPrimary : Role::kSecondary);
      return [=, &arrangement] { arrangement.ChangeRole(replica, role); };
    default:
      if (!free) return std::nullopt;
      arrangement.Move(replica, to);
      return [=, &arrangement] { arrangement.Move(replica, at); };
  }
}

TEST(ArrangementTest, StepsAndTheirReverseAgreeWithAnArrangementBuiltAnew) {
  base::Random random(1);
  for (int round = 0; round < 150; ++round) {
    const Cluster cluster = ClusterForSteps(random);
    const NodeSets sets(cluster);
    Settings settings;
    settings.prevent_transient_overcommit = round % 2 == 0;
    Arrangement arrangement(cluster, settings, sets);
    std::vector<std::function<void()>> reverse;
    for (int i = 0; i < 40; ++i) {
      if (auto undo = RandomStep(arrangement, random)) reverse.push_back(std::move(*undo));
    }
    const Cluster after = AsCluster(arrangement);
    ExpectAlike(arrangement, Arrangement(after, settings, sets), "round " + std::to_string(round));
    while (!reverse.empty()) {
      reverse.back()();
      reverse.pop_back();
    }
    const Arrangement untouched(cluster, settings, sets);
    ExpectAlike(arrangement, untouched, "undone, round " + std::to_string(round));
    for (ReplicaId replica = 0; replica < arrangement.replica_count(); ++replica) {
      ASSERT_EQ(arrangement.NodeOf(replica), untouched.NodeOf(replica));
      ASSERT_EQ(arrangement.RoleOf(replica), untouched.RoleOf(replica));
      ASSERT_EQ(arrangement.LoadsOf(replica).data(), untouched.LoadsOf(replica).data());
      ASSERT_FALSE(arrangement.Moved(replica));
    }
    for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
      ASSERT_EQ(arrangement.BuildingOn(node), untouched.BuildingOn(node));
      for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) ASSERT_EQ(arrangement.Freed(metric, node), 0);
    }
  }
}

class ArrangementOfOnePartition : public ::testing::Test {
 protected:
  ArrangementOfOnePartition() {
    for (int i = 0; i < 4; ++i) builder_.Node();
    const ServiceId service = builder_.Service("s", {{"M", 1.0}});
    builder_.Partition(service, {{0, Role::kPrimary, {50}}, {1, Role::kSecondary, {10}}});
    builder_.Missing(0, 2, {60}, {20});
    settings_.prevent_transient_overcommit = true;
    sets_.emplace(builder_.cluster());
    arrangement_.emplace(builder_.cluster(), settings_, *sets_);
  }

  ClusterBuilder builder_;
  Settings settings_;
  std::optional<NodeSets> sets_;
  std::optional<Arrangement> arrangement_;
};

TEST_F(ArrangementOfOnePartition, NewReplicasWeighWhatTheirRoleDoes) {
  Arrangement& arrangement = *arrangement_;
  ASSERT_EQ(arrangement.NewOf(0), std::pair(2u, 4u));
  EXPECT_EQ(arrangement.RoleOf(2), Role::kNone);
  arrangement.Place(2, 2, Role::kSecondary);
  EXPECT_EQ(arrangement.UsedOf(0, 2), 20);
  arrangement.Remove(0);
  EXPECT_EQ(arrangement.RoleOf(0), Role::kDropped);
  EXPECT_EQ(arrangement.PrimaryOf(0), kNoId);
  arrangement.ChangeRole(1, Role::kPrimary);
  EXPECT_EQ(arrangement.UsedOf(0, 1), 50) << "the load that the partition's primary had";
  EXPECT_TRUE(arrangement.Moved(1));
  EXPECT_FALSE(arrangement.Moved(2)) << "a new one";
}

TEST_F(ArrangementOfOnePartition, PrimaryAndSecondaryTakeOverEachOthersLoads) {
  Arrangement& arrangement = *arrangement_;
  arrangement.Swap(0, 1);
  EXPECT_EQ(arrangement.UsedOf(0, 0), 10);
  EXPECT_EQ(arrangement.UsedOf(0, 1), 50);
  EXPECT_EQ(arrangement.Freed(0, 0), 40);
  EXPECT_EQ(arrangement.Freed(0, 1), 0);
  arrangement.Move(0, 3);
  EXPECT_EQ(arrangement.UsedOf(0, 3), 10);
  EXPECT_EQ(arrangement.Freed(0, 0), 50);
}

// A primary of 50 and secondaries of 10, 20 and 30, each on its own node.
class ArrangementOfFourReplicas : public ::testing::Test {
 protected:
  ArrangementOfFourReplicas() {
    for (int i = 0; i < 4; ++i) builder_.Node();
    const ServiceId service = builder_.Service("s", {{"M", 1.0}});
    builder_.Partition(
        service,
        {{0, Role::kPrimary, {50}}, {1, Role::kSecondary, {10}}, {2, Role::kSecondary, {20}}, {3, Role::kSecondary, {30}}});
    sets_.emplace(builder_.cluster());
    arrangement_.emplace(builder_.cluster(), settings_, *sets_);
  }
  std::vector<int64_t> Loads() const {
    const auto column = arrangement_->loads().Column(0);
    return {column.begin(), column.end()};
  }

  ClusterBuilder builder_;
  Settings settings_;
  std::optional<NodeSets> sets_;
  std::optional<Arrangement> arrangement_;
};

TEST_F(ArrangementOfFourReplicas, LoadsDependOnThePrimaryAndNotOnTheSwapsThatLedThere) {
  arrangement_->Swap(0, 1);
  EXPECT_EQ(Loads(), (std::vector<int64_t>{10, 50, 20, 30}));
  EXPECT_EQ(arrangement_->ThirdOfSwap(1, 2), 0u);
  const auto changes = arrangement_->ChangesOfSwap(1, 2);
  ASSERT_EQ(changes.size(), 3u);
  std::vector<int64_t> foreseen = Loads();
  for (const NodeChange& change : changes) foreseen[change.node] += change.added[0] - change.removed[0];
  arrangement_->Swap(1, 2);
  EXPECT_EQ(Loads(), (std::vector<int64_t>{20, 10, 50, 30})) << "as after one swap of the first and the last primary";
  EXPECT_EQ(Loads(), foreseen);
  arrangement_->Swap(2, 3);
  EXPECT_EQ(Loads(), (std::vector<int64_t>{30, 10, 20, 50}));
  arrangement_->Swap(3, 0);
  EXPECT_EQ(Loads(), (std::vector<int64_t>{50, 10, 20, 30}));
}

TEST_F(ArrangementOfFourReplicas, TheGivenPrimaryFollowsAlsoWhereThePrimaryGoesAndOthersArePromoted) {
  arrangement_->Swap(0, 2);
  arrangement_->Remove(2);
  const int64_t unknown = Loads()[0];
  arrangement_->ChangeRole(3, Role::kPrimary);
  EXPECT_EQ(Loads(), (std::vector<int64_t>{30, 10, 0, 50}));
  arrangement_->ChangeRole(3, Role::kSecondary);
  EXPECT_EQ(Loads()[0], unknown);
  arrangement_->Restore(2);
  EXPECT_EQ(Loads(), (std::vector<int64_t>{20, 10, 50, 30}));
}

TEST_F(ArrangementOfOnePartition, WhatComesToANodeIsBuiltThere) {
  Arrangement& arrangement = *arrangement_;
  arrangement.Move(1, 2);
  EXPECT_EQ(arrangement.BuildingOn(2), 1);
  arrangement.Place(2, 3, Role::kSecondary);
  EXPECT_EQ(arrangement.BuildingOn(3), 1);
  arrangement.Move(1, 1 /* home */);
  EXPECT_EQ(arrangement.BuildingOn(2), 0);
  EXPECT_EQ(arrangement.BuildingOn(1), 0);
  arrangement.Remove(0);
  arrangement.Place(3, 0, Role::kPrimary);
  EXPECT_EQ(arrangement.BuildingOn(0), 0) << "a new primary starts empty";
}

TEST_F(ArrangementOfOnePartition, StepsThatDoNotFitAreBrokenInvariants) {
  Arrangement& arrangement = *arrangement_;
  EXPECT_DEATH(arrangement.Move(0, 0), "");
  EXPECT_DEATH(arrangement.Move(2, 1), "");
  EXPECT_DEATH(arrangement.Swap(1, 0), "");
  EXPECT_DEATH(arrangement.Place(2, 2, Role::kPrimary), "") << "there is one";
  EXPECT_DEATH(arrangement.Restore(0), "");
}

}  // namespace
}  // namespace evenkeel::balancing::arrangement_test
