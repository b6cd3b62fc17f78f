#include "balancing/measures/node_loads.h"

#include <gtest/gtest.h>

#include <map>

#include "balancing/model/cluster_testing.h"

namespace evenkeel::balancing::node_loads_test {
namespace {

using testing::ClusterBuilder;
using Bits = std::vector<size_t>;

Bits BitsOf(const NodeSet& set) {
  Bits bits;
  for (size_t node = set.find_first(); node != NodeSet::npos; node = set.find_next(node)) bits.push_back(node);
  return bits;
}

TEST(NodeSetsTest, BlockedNodesAreThoseOfTheConstraintAndOfTheServiceType) {
  ClusterBuilder builder;
  for (const char* type : {"A", "A", "B", "B"}) builder.Node(type);
  Cluster& cluster = builder.cluster();
  cluster.service_types.push_back({.name = "t", .blocked_nodes = {1}});
  const ServiceId a = builder.Service("a", {{"M", 1}}), b = builder.Service("b", {{"M", 1}}),
                  free = builder.Service("f", {{"N", 1}});
  builder.Constrain(a, "NodeType == A");
  builder.Constrain(b, "NodeType == A && NodeName !^P n0");
  cluster.services[a].type = 0;
  cluster.nodes[3].up = false;
  const NodeSets sets(cluster);
  EXPECT_EQ(BitsOf(sets.Blocked(a)), (Bits{1, 2, 3}));
  EXPECT_EQ(BitsOf(sets.BlockedForPrimary(a)), (Bits{1, 2, 3}));
  EXPECT_EQ(BitsOf(sets.Blocked(b)), (Bits{2, 3}));
  EXPECT_EQ(BitsOf(sets.BlockedForPrimary(b)), (Bits{0, 2, 3}));
  EXPECT_EQ(BitsOf(sets.Valid(cluster.FindMetric("M"))), (Bits{0, 1})) << "blocked only where both services are";
  EXPECT_EQ(BitsOf(sets.Valid(cluster.FindMetric("N"))), (Bits{0, 1, 2}));
  EXPECT_EQ(BitsOf(sets.ValidForService(a)), Bits{0});
  EXPECT_EQ(sets.ValidCountForService(free), 3);
}

TEST(NodeSetsTest, ServicesOfOneConstraintAndTypeShareTheirSets) {
  ClusterBuilder builder;
  builder.Node();
  const ServiceId a = builder.Service("a", {{"M", 1}}), b = builder.Service("b", {{"M", 1}});
  const NodeSets sets(builder.cluster());
  EXPECT_EQ(&sets.Blocked(a), &sets.Blocked(b));
}

TEST(NodeSetsTest, TermsForPrimariesDoNotCountWhereNoNodeSuitsThem) {
  ClusterBuilder builder;
  builder.Node();
  builder.Node();
  const ServiceId a = builder.Service("a", {{"M", 1}});
  builder.Constrain(a, "NodeName ^P n1");
  EXPECT_EQ(BitsOf(NodeSets(builder.cluster()).BlockedForPrimary(a)), Bits{0});
  builder.cluster().nodes[1].up = false;
  EXPECT_EQ(BitsOf(NodeSets(builder.cluster()).BlockedForPrimary(a)), Bits{});
}

TEST(NodeSetsTest, DomainsBindUnlessEveryNodeIsOneOfItsOwn) {
  ClusterBuilder builder;
  builder.Node("", "fd:/dc0/r0", "ud0");
  builder.Node("", "fd:/dc0/r1", "ud1");
  builder.Node("", "fd:/dc1", "ud2");
  NodeSets sets(builder.cluster());
  EXPECT_TRUE(sets.fault_domains().binding);
  EXPECT_EQ(sets.fault_domains().count, 3u);
  EXPECT_FALSE(sets.upgrade_domains().binding);
  builder.cluster().nodes[0].up = false;
  EXPECT_FALSE(NodeSets(builder.cluster()).fault_domains().binding) << "two domains for the two nodes that are up";
}

// Sums by adding up all replicas.
LoadSummary Recomputed(const Cluster& cluster, const NodeSets& sets, MetricId metric, NodeTypeId type) {
  std::vector<int64_t> loads(cluster.nodes.size());
  for (const Replica& replica : cluster.replicas) {
    const Service& service = cluster.ServiceOf(replica);
    for (size_t i = 0; i < service.metrics.size(); ++i) {
      if (service.metrics[i].metric == metric) loads[replica.node] += cluster.LoadsOf(replica)[i];
    }
  }
  LoadSummary summary;
  for (NodeId node = 0; node < loads.size(); ++node) {
    if (!sets.Valid(metric).test(node) || (type != kNoId && cluster.nodes[node].type != type)) continue;
    summary.Add(node, loads[node]);
  }
  return summary;
}

LoadSummary RecomputedLocal(const Cluster& cluster, const NodeSets& sets, ServiceId id, size_t metric, NodeTypeId type) {
  LoadSummary summary;
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    if (!sets.ValidForService(id).test(node) || (type != kNoId && cluster.nodes[node].type != type)) continue;
    int64_t load = 0;
    for (const Replica& replica : cluster.replicas) {
      if (cluster.partitions[replica.partition].service == id && replica.node == node) load += cluster.LoadsOf(replica)[metric];
    }
    summary.Add(node, load);
  }
  return summary;
}

void ExpectAsRecomputed(const Cluster& cluster, const NodeSets& sets, const NodeLoads& loads, const std::string& where) {
  for (MetricId metric = 0; metric < cluster.metrics.size(); ++metric) {
    ASSERT_EQ(loads.Summary(metric), Recomputed(cluster, sets, metric, kNoId)) << where;
    for (NodeTypeId type = 0; type < cluster.node_types.size(); ++type) {
      ASSERT_EQ(loads.Summary(metric, type), Recomputed(cluster, sets, metric, type)) << where;
    }
  }
  for (ServiceId id = 0; id < cluster.services.size(); ++id) {
    const ServiceLoads* own = loads.Local(id);
    ASSERT_EQ(own != nullptr, HasLocalDomain(cluster.services[id])) << where;
    if (own == nullptr) continue;
    for (size_t metric = 0; metric < cluster.services[id].metrics.size(); ++metric) {
      const LoadSummary expected = RecomputedLocal(cluster, sets, id, metric, kNoId);
      ASSERT_EQ(own->Sums(metric), expected.sums) << where;
      ASSERT_EQ(own->Summaries(sets.all())[metric], expected) << where;
      ASSERT_EQ(own->Summaries(sets.OfType(0))[metric], RecomputedLocal(cluster, sets, id, metric, 0)) << where;
    }
  }
}

// Moves, exchanges, changes or empties one replica, in the cluster and in the loads.
void ChangeSomething(Cluster& cluster, NodeLoads& loads, base::Random& random) {
  Replica& replica = cluster.replicas[random.Below(cluster.replicas.size())];
  const ServiceId service = cluster.partitions[replica.partition].service;
  const auto row = [&](const Replica& of) {
    return std::span(cluster.loads).subspan(of.first_load, cluster.LoadsOf(of).size());
  };
  const std::span<int64_t> own = row(replica);
  const uint64_t kind = random.Below(3);
  if (kind == 0) {
    const NodeId to = static_cast<NodeId>(random.Below(cluster.nodes.size()));
    loads.Move(service, replica.node, to, own);
    replica.node = to;
  } else if (kind == 1) {
    const std::vector<int64_t> before(own.begin(), own.end());
    for (int64_t& load : own) load = random.Chance(0.3) ? 0 : static_cast<int64_t>(random.Below(30));
    if (random.Chance(0.5)) {
      loads.Change(service, replica.node, before, own);
    } else {
      loads.Remove(service, replica.node, before);
      loads.Add(service, replica.node, own);
    }
  } else {
    const Partition& partition = cluster.partitions[replica.partition];
    Replica& other = cluster.replicas[partition.first_replica + random.Below(partition.replica_count)];
    if (&other == &replica) return;
    loads.Swap(service, replica.node, own, other.node, row(other));
    std::swap(replica.first_load, other.first_load);
  }
}

TEST(NodeLoadsTest, AnyChangesLeaveWhatAddingUpAllReplicasGives) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    base::Random random(seed);
    Cluster cluster = testing::RandomCluster(random);
    const NodeSets sets(cluster);
    NodeLoads loads(cluster, sets);
    ExpectAsRecomputed(cluster, sets, loads, "seed " + std::to_string(seed));
    if (HasFatalFailure() || cluster.replicas.empty()) continue;
    for (int step = 0; step < 40; ++step) {
      ChangeSomething(cluster, loads, random);
      ExpectAsRecomputed(cluster, sets, loads, "seed " + std::to_string(seed) + " step " + std::to_string(step));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(NodeLoadsTest, LargeLoadsAreSquaredWithoutLoss) {
  ClusterBuilder builder;
  builder.Node();
  builder.Node();
  const int64_t large = int64_t{1} << 61;
  const ServiceId service = builder.Loads("s", "M", {large, 1});
  const NodeSets sets(builder.cluster());
  NodeLoads loads(builder.cluster(), sets);
  EXPECT_TRUE(loads.Summary(0).sums.squares == static_cast<WideLoad>(large) * static_cast<WideLoad>(large) + 1);
  loads.Remove(service, 0, std::span(&large, 1));
  EXPECT_TRUE(loads.Summary(0).sums.squares == 1);
  EXPECT_EQ(loads.Summary(0).max_node, 1u);
}

TEST(NodeLoadsTest, DroppedReplicasWeighNothing) {
  ClusterBuilder builder;
  builder.Node();
  const ServiceId service = builder.Service("s", {{"M", 1}});
  builder.Partition(service, {{0, Role::kDropped, {7}}});
  builder.Partition(service, {{0, Role::kStandBy, {5}}});
  const NodeSets sets(builder.cluster());
  EXPECT_EQ(NodeLoads(builder.cluster(), sets).Of(0, 0), 5);
}

}  // namespace
}  // namespace evenkeel::balancing::node_loads_test
