#include <gtest/gtest.h>

#include "balancing/rules/constraints.h"
#include "balancing/rules/constraints_testing.h"
#include "base/random.h"

namespace evenkeel::balancing::violations_test {
namespace {

using testing::RandomCluster;
using Entry = ViolationSummary::Entry;

constexpr Constraint kCapacity = Constraint::kCapacity, kAffinity = Constraint::kAffinity,
                     kUpgradeDomain = Constraint::kUpgradeDomain;

ViolationSummary Of(std::vector<Entry> entries) { return {std::move(entries)}; }

TEST(ViolationSummaryTest, AddsUpByPriorityAndConstraint) {
  const std::vector<Violation> violations = {{.constraint = kUpgradeDomain, .priority = 1},
                                             {.constraint = kCapacity, .priority = 0, .excess = 30},
                                             {.constraint = kUpgradeDomain, .priority = 1},
                                             {.constraint = kCapacity, .priority = 0, .excess = 5}};
  EXPECT_EQ(Summarize(violations), Of({{0, kCapacity, 2, 35}, {1, kUpgradeDomain, 2, 2}}));
}

void ExpectBetter(const ViolationSummary& a, const ViolationSummary& b) {
  EXPECT_TRUE(Better(a, b));
  EXPECT_FALSE(Better(b, a));
}

TEST(ViolationSummaryTest, LessSeverePrioritiesAreBetter) {
  ExpectBetter(Of({{1, kUpgradeDomain, 9, 9}}), Of({{0, kCapacity, 1, 1}}));
  ExpectBetter(Of({}), Of({{2, kCapacity, 1, 1}}));
}

TEST(ViolationSummaryTest, FewerConstraintsOfAPriorityAreBetter) {
  ExpectBetter(Of({{0, kCapacity, 9, 99}}), Of({{0, kCapacity, 1, 1}, {0, kAffinity, 1, 1}}));
}

TEST(ViolationSummaryTest, OfTheSameConstraintsNoneMayDegrade) {
  const ViolationSummary before = Of({{0, kCapacity, 2, 20}, {0, kAffinity, 2, 2}});
  ExpectBetter(Of({{0, kCapacity, 2, 10}, {0, kAffinity, 2, 2}}), before);
  EXPECT_FALSE(Better(Of({{0, kCapacity, 2, 10}, {0, kAffinity, 3, 3}}), before));
  EXPECT_FALSE(Better(before, Of({{0, kCapacity, 2, 10}, {0, kAffinity, 3, 3}})));
}

TEST(ViolationSummaryTest, OtherConstraintsAreNotBetter) {
  EXPECT_FALSE(Better(Of({{0, kCapacity, 1, 1}}), Of({{0, kAffinity, 2, 2}})));
  EXPECT_FALSE(Better(Of({{0, kAffinity, 2, 2}}), Of({{0, kCapacity, 1, 1}})));
}

TEST(ViolationSummaryTest, LowerPrioritiesCountWhereHigherOnesAreTheSame) {
  ExpectBetter(Of({{0, kCapacity, 1, 1}, {1, kUpgradeDomain, 1, 1}}), Of({{0, kCapacity, 1, 1}, {1, kUpgradeDomain, 2, 2}}));
  ExpectBetter(Of({{0, kCapacity, 1, 1}}), Of({{0, kCapacity, 1, 1}, {1, kUpgradeDomain, 2, 2}}));
  EXPECT_FALSE(Better(Of({{0, kCapacity, 1, 1}}), Of({{0, kCapacity, 1, 1}})));
}

// Tight capacities, application groups, affinity, nodes that are removed, replicas that are not at rest.
Cluster ClusterOfTroubles(base::Random& random) {
  Cluster cluster = RandomCluster(random);
  for (Node& node : cluster.nodes) {
    for (Capacity& capacity : node.capacities) capacity.amount = static_cast<int64_t>(random.Below(60));
    if (random.Chance(0.1)) node.intent = DeactivationIntent::kRemoveNode;
    if (random.Chance(0.3)) node.fault_domain.pop_back();
  }
  for (int i = 0; i < 2; ++i) {
    Application application;
    application.name = "app" + std::to_string(i);
    application.max_nodes = static_cast<int64_t>(random.Below(4));
    for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
      if (random.Chance(0.5)) continue;
      application.metrics.push_back({.metric = metric,
                                     .total_capacity = static_cast<int64_t>(random.Below(100)),
                                     .max_node_capacity = static_cast<int64_t>(random.Below(40)),
                                     .node_reservation = static_cast<int64_t>(random.Below(20))});
    }
    cluster.applications.push_back(application);
  }
  for (ServiceId id = 0; id < cluster.services.size(); ++id) {
    Service& service = cluster.services[id];
    if (random.Chance(0.5)) service.application = static_cast<ApplicationId>(random.Below(2));
    if (id > 0 && random.Chance(0.4)) service.affinity_to = 0;
    service.aligned_affinity = random.Chance(0.5);
    if (random.Chance(0.3)) service.target_replicas = static_cast<int64_t>(1 + random.Below(5));
  }
  for (Replica& replica : cluster.replicas) {
    if (random.Chance(0.05)) replica.flags = kToBeDropped;
    if (random.Chance(0.05)) replica.flags = kInBuild;
  }
  return cluster;
}

bool RandomAllowedStep(Arrangement& arrangement, const Constraints& constraints, base::Random& random) {
  const ReplicaId replica = static_cast<ReplicaId>(random.Below(arrangement.replica_count()));
  if (!constraints.Movable(replica) || arrangement.NodeOf(replica) == kNoId) return false;
  const ReplicaId primary = arrangement.PrimaryOf(arrangement.PartitionOf(replica));
  if (random.Chance(0.3)) {
    if (primary == kNoId || primary == replica || !constraints.Movable(primary)) return false;
    if (constraints.SwapObstacle(primary, replica)) return false;
    arrangement.Swap(primary, replica);
    return true;
  }
  const NodeId to = static_cast<NodeId>(random.Below(arrangement.cluster().nodes.size()));
  if (to == arrangement.NodeOf(replica) || !constraints.Allows(replica, to)) return false;
  arrangement.Move(replica, to);
  return true;
}

int64_t ExcessOf(const ViolationSummary& summary, Constraint constraint) {
  for (const Entry& entry : summary.entries) {
    if (entry.constraint == constraint) return entry.excess;
  }
  return 0;
}

TEST(ViolationsTest, NoAllowedStepMakesAnyConstraintWorse) {
  base::Random random(7);
  int steps = 0;
  std::array<int, kConstraints> seen{};
  for (int round = 0; round < 400; ++round) {
    const Cluster cluster = ClusterOfTroubles(random);
    if (cluster.replicas.empty()) continue;
    const NodeSets sets(cluster);
    Settings settings;
    settings.prevent_transient_overcommit = random.Chance(0.3);
    settings.quorum_based_logic_auto_switch = random.Chance(0.7);
    if (random.Chance(0.3)) settings.node_buffer_percentage["A"] = 0.25;
    Arrangement arrangement(cluster, settings, sets);
    const Constraints constraints(arrangement, {.purpose = Purpose::kConstraintCheck});
    ViolationSummary before = Summarize(constraints.Violations());
    for (const Entry& entry : before.entries) ++seen[static_cast<size_t>(entry.constraint)];
    for (int i = 0; i < 60; ++i) {
      if (!RandomAllowedStep(arrangement, constraints, random)) continue;
      ++steps;
      const ViolationSummary after = Summarize(constraints.Violations());
      for (const Entry& entry : after.entries) {
        ASSERT_LE(entry.excess, ExcessOf(before, entry.constraint))
            << "round " << round << ": " << Name(entry.constraint) << " became worse";
      }
      before = after;
    }
  }
  EXPECT_GT(steps, 500);
  for (const Constraint constraint : {Constraint::kPlacementConstraint, Constraint::kFaultDomain, kUpgradeDomain, kCapacity,
                                      Constraint::kScaleoutCount, Constraint::kApplicationCapacity, kAffinity}) {
    EXPECT_GT(seen[static_cast<size_t>(constraint)], 0) << Name(constraint) << " was never violated";
  }
}

TEST(ViolationsTest, ComeInTheOrderOfPriorityConstraintNodeAndPartition) {
  base::Random random(8);
  for (int round = 0; round < 50; ++round) {
    const Cluster cluster = ClusterOfTroubles(random);
    const NodeSets sets(cluster);
    const Settings settings;
    const Arrangement arrangement(cluster, settings, sets);
    const std::vector<Violation> violations = Constraints(arrangement, {}).Violations();
    const auto key = [](const Violation& violation) {
      return std::tuple(violation.priority, violation.constraint, violation.node, violation.partition);
    };
    EXPECT_TRUE(std::ranges::is_sorted(violations, {}, key));
    for (const Violation& violation : violations) {
      EXPECT_GT(violation.excess, 0);
      EXPECT_FALSE(Text(arrangement, violation).empty());
    }
  }
}

}  // namespace
}  // namespace evenkeel::balancing::violations_test
