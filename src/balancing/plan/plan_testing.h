// What tests of whole plans have in common: states and settings as text, plans one after the other.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/input/cluster_reader.h"
#include "balancing/input/manifest.h"
#include "balancing/model/cluster_order.h"
#include "balancing/plan/plan.h"
#include "balancing/plan/plan_apply.h"

namespace evenkeel::balancing::testing {

/// "{name: n0}, {name: n1}, ..." with more fields for each.
inline std::string NodesText(int count, const std::string& fields = "") {
  std::string text = "nodes:\n";
  for (int i = 0; i < count; ++i) text += "- {name: n" + std::to_string(i) + (fields.empty() ? "" : ", " + fields) + "}\n";
  return text;
}

/// Stateless partitions of a service, one instance each: `loads` in the order of nodes, each with its own list of instances.
inline std::string InstancesText(const std::string& service, const std::string& metric,
                                 const std::vector<std::vector<int>>& loads) {
  std::string text;
  int number = 0;
  for (size_t node = 0; node < loads.size(); ++node) {
    for (const int load : loads[node]) {
      text += "- {name: " + service + "/" + std::to_string(number++) + ", service: " + service + ", replicas: [{node: n" +
              std::to_string(node) + ", loads: {" + metric + ": " + std::to_string(load) + "}}]}\n";
    }
  }
  return text;
}

inline std::vector<int> Ones(int count) { return std::vector<int>(static_cast<size_t>(count), 1); }

class PlanFixture : public ::testing::Test {
 protected:
  void Configure(std::string_view manifest) {
    auto read = ReadManifest(manifest, "m");
    ASSERT_TRUE(read.has_value()) << read.error().message();
    settings = std::move(read->settings);
    node_types = std::move(read->node_types);
  }
  /// A new state; what the planner remembers goes on, or begins with the history of the state.
  void Load(std::string_view text) {
    auto file = ReadCluster(text, "s", {.settings = settings, .node_types = node_types});
    ASSERT_TRUE(file.has_value()) << file.error().message();
    cluster = std::move(file->cluster);
    SortByName(cluster);
  }
  void LoadAfresh(std::string_view text) {
    Load(text);
    memory = MemoryOf(settings, cluster, 0);
  }
  const Plan& MakeAt(double now) {
    plan = MakePlan(cluster, settings, {.now = now, .evaluations = evaluations}, memory);
    return plan;
  }
  const Plan& Make(std::string_view text) {
    LoadAfresh(text);
    return MakeAt(0);
  }

  int Count(ActionKind kind) const { return static_cast<int>(std::ranges::count(plan.Actions(), kind, &Action::kind)); }
  size_t Actions() const { return plan.Actions().size(); }
  std::string NodeName(NodeId node) const { return node == kNoId ? "-" : cluster.nodes[node].name; }
  std::string ServiceOf(const Action& action) const { return cluster.ServiceOf(cluster.partitions[action.partition]).name; }
  /// Loads of a metric by node, when the plan has been carried out.
  std::vector<int64_t> LoadsAfter(std::string_view metric) const {
    const NodeSets sets(cluster);
    Arrangement arrangement(cluster, settings, sets);
    for (const Action& action : plan.Actions()) Apply(action, arrangement);
    const auto column = arrangement.loads().Column(cluster.FindMetric(metric));
    return {column.begin(), column.end()};
  }
  std::string WhySkipped(std::string_view what, size_t group = 0) const {
    for (const SkippedItem& item : plan.of_groups[group].skipped) {
      if (item.what.contains(what)) return item.why;
    }
    return "not skipped";
  }

  Settings settings;
  std::vector<NodeTypeDescription> node_types;
  Cluster cluster;
  PlannerMemory memory;
  Plan plan;
  int64_t evaluations = 0;
};

}  // namespace evenkeel::balancing::testing
