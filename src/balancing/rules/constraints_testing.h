// A cluster of a test with an arrangement of it and its constraints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "balancing/model/cluster_testing.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing::testing {

/// Describe the cluster with `builder` and `settings`; what is asked for first makes the arrangement, after which nothing of
/// the cluster may change.
class ConstraintCase {
 public:
  ClusterBuilder builder;
  Settings settings;
  ConstraintOptions options;

  Arrangement& arrangement() {
    Make();
    return *arrangement_;
  }
  const Constraints& constraints() {
    Make();
    return *constraints_;
  }
  ViolationSummary Summary() { return Summarize(constraints().Violations()); }
  /// "Capacity", or "" when nothing is in the way.
  std::string ObstacleOf(ReplicaId replica, NodeId to) {
    const std::optional<Constraint> obstacle = constraints().Obstacle(replica, to);
    return obstacle ? std::string(Name(*obstacle)) : "";
  }
  std::string ObstacleOf(ReplicaId replica, NodeId to, Role role) {
    const std::optional<Constraint> obstacle = constraints().Obstacle(replica, to, role);
    return obstacle ? std::string(Name(*obstacle)) : "";
  }
  /// Of every violation one: "FaultDomain s/0@n1", "Capacity n0 +20".
  std::vector<std::string> Violated() {
    std::vector<std::string> texts;
    const Cluster& cluster = builder.cluster();
    for (const Violation& violation : constraints().Violations()) {
      std::string text(Name(violation.constraint));
      if (violation.partition != kNoId) text += " " + cluster.partitions[violation.partition].name + "@";
      if (violation.partition == kNoId) text += " ";
      text += violation.node == kNoId ? "everywhere" : cluster.nodes[violation.node].name;
      if (violation.excess != 1) text += " +" + std::to_string(violation.excess);
      texts.push_back(text);
    }
    return texts;
  }

 private:
  void Make() {
    if (constraints_) return;
    sets_ = std::make_unique<NodeSets>(builder.cluster());
    arrangement_ = std::make_unique<Arrangement>(builder.cluster(), settings, *sets_);
    constraints_ = std::make_unique<Constraints>(*arrangement_, options);
  }

  std::unique_ptr<NodeSets> sets_;
  std::unique_ptr<Arrangement> arrangement_;
  std::unique_ptr<Constraints> constraints_;
};

}  // namespace evenkeel::balancing::testing
