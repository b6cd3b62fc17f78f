#include "balancing/model/cluster_order.h"

#include <gtest/gtest.h>

#include "balancing/input/cluster_reader.h"

namespace evenkeel::balancing::cluster_order_test {
namespace {

Cluster Sorted(std::string_view text) {
  auto file = ReadCluster(text, "s", {});
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message());
  if (!file) return {};
  SortByName(file->cluster);
  return std::move(file->cluster);
}

// Everything that ids stand for, as names.
std::string Described(const Cluster& cluster) {
  std::string text;
  const auto add = [&](const auto&... parts) {
    ((text += parts, text += ' '), ...);
    text += '\n';
  };
  for (const Node& node : cluster.nodes) {
    add("node", node.name, cluster.node_types[node.type]);
    for (const Capacity& capacity : node.capacities) {
      add("capacity", cluster.metrics[capacity.metric].name, std::to_string(capacity.amount));
    }
  }
  for (const Metric& metric : cluster.metrics) {
    add("metric", metric.name, std::to_string(metric.weight_sum), std::to_string(metric.services));
  }
  for (const ServiceType& type : cluster.service_types) {
    add("type", type.name);
    for (const NodeId node : type.blocked_nodes) add("blocked", cluster.nodes[node].name);
  }
  for (const Service& service : cluster.services) {
    add("service", service.name, service.type == kNoId ? "-" : cluster.service_types[service.type].name,
        service.application == kNoId ? "-" : cluster.applications[service.application].name,
        service.affinity_to == kNoId ? "-" : cluster.services[service.affinity_to].name,
        cluster.constraint_texts[service.constraint]);
    for (const ServiceMetric& metric : service.metrics) add("reports", cluster.metrics[metric.metric].name);
    for (const PartitionId partition : service.partitions) add("has", cluster.partitions[partition].name);
  }
  for (const Partition& partition : cluster.partitions) {
    const Service& service = cluster.services[partition.service];
    add("partition", partition.name, service.name);
    for (const Replica& replica : cluster.ReplicasOf(partition)) {
      add("replica", cluster.nodes[replica.node].name, Name(replica.role), cluster.partitions[replica.partition].name);
      for (const int64_t load : cluster.LoadsOf(replica)) add("load", std::to_string(load));
    }
    for (const Role role : {Role::kPrimary, Role::kSecondary}) {
      for (const int64_t load : cluster.NewReplicaLoads(partition, role)) add("new", std::to_string(load));
    }
  }
  for (const Movement& movement : cluster.history.movements) {
    add("moved", movement.partition == kNoId ? "-" : cluster.partitions[movement.partition].name);
  }
  return text;
}

constexpr std::string_view kOneOrder = R"(
nodes:
- {name: n0, nodeType: A, capacities: {Memory: 100, Disk: 50}}
- {name: n1, nodeType: B, capacities: {Memory: 90}}
- {name: n2, nodeType: A}
serviceTypes: [{name: t1, blockedNodes: [n0, n2]}, {name: t2}]
applications: [{name: a1}, {name: a2, maxNodes: 2}]
services:
- {name: child, kind: stateful, affinityTo: parent, metrics: [{name: Memory, primaryLoad: 7, secondaryLoad: 6}]}
- {name: parent, kind: stateful, type: t1, application: a2, placementConstraints: NodeType == B,
   metrics: [{name: Disk, weight: Low, primaryLoad: 3, secondaryLoad: 2}, {name: Memory, weight: 0.2, primaryLoad: 5, secondaryLoad: 4}]}
partitions:
- {name: child/0, service: child, replicas: [{node: n0, role: primary, loads: {Memory: 70}}, {node: n2, role: secondary}]}
- {name: parent/0, service: parent, missing: 1, replicas: [{node: n1, role: primary, loads: {Disk: 30, Memory: 50}}]}
history: {movements: [{at: 1, partition: parent/0}]}
)";

constexpr std::string_view kAnotherOrder = R"(
history: {movements: [{at: 1, partition: parent/0}]}
partitions:
- {name: parent/0, service: parent, missing: 1, replicas: [{node: n1, role: primary, loads: {Memory: 50, Disk: 30}}]}
- {name: child/0, service: child, replicas: [{node: n2, role: secondary}, {node: n0, role: primary, loads: {Memory: 70}}]}
services:
- {name: parent, kind: stateful, type: t1, application: a2, placementConstraints: NodeType == B,
   metrics: [{name: Memory, weight: 0.2, primaryLoad: 5, secondaryLoad: 4}, {name: Disk, weight: Low, primaryLoad: 3, secondaryLoad: 2}]}
- {name: child, kind: stateful, affinityTo: parent, metrics: [{name: Memory, primaryLoad: 7, secondaryLoad: 6}]}
applications: [{name: a2, maxNodes: 2}, {name: a1}]
serviceTypes: [{name: t2}, {name: t1, blockedNodes: [n2, n0]}]
nodes:
- {name: n2, nodeType: A}
- {name: n1, nodeType: B, capacities: {Memory: 90}}
- {name: n0, nodeType: A, capacities: {Disk: 50, Memory: 100}}
)";

TEST(ClusterOrderTest, EqualClustersBecomeTheSame) {
  const std::string described = Described(Sorted(kOneOrder));
  EXPECT_EQ(described, Described(Sorted(kAnotherOrder)));
  EXPECT_TRUE(described.contains("replica n1 primary parent/0 \nload 30 \nload 50 \nnew 30 \nnew 50 \nnew 2 \nnew 4 \n"))
      << described;
}

TEST(ClusterOrderTest, SortingTwiceChangesNothing) {
  Cluster cluster = Sorted(kAnotherOrder);
  const std::string once = Described(cluster);
  SortByName(cluster);
  EXPECT_EQ(Described(cluster), once);
}

}  // namespace
}  // namespace evenkeel::balancing::cluster_order_test
