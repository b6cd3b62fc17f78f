// How many new nodes of one kind some pending pods need: cluster-autoscaler's bin-packing (largest pods first, first every node
// that was already added, then the last one, then another), computed for groups of equal pods instead of pod by pod. As long as
// only room decides this is arithmetic; groups with affinity, spread, ports, volumes or devices are tried in a fork of the
// snapshot. Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/estimator/binpacking_estimator.go
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/time.h"
#include "controllers/autoscaler/facts/node_templates.h"
#include "controllers/autoscaler/facts/pod_groups.h"
#include "scheduling/snapshot.h"

namespace evenkeel::controllers::autoscaler {

/// Pods of one group that fit a node of the template by themselves.
struct Demand {
  const PodGroup* group = nullptr;
  int64_t pods = 0;
};

struct Estimate {
  /// `pods` more of demand `demand`; on the new node `node`, or on an existing one (which the spread of pods over hosts can
  /// open; it then counts as a new node, as upstream's estimate does).
  struct Placement {
    uint32_t demand;
    uint32_t node;
    bool existing;
    int64_t pods;
  };
  int64_t nodes = 0;            ///< that got at least one pod
  int64_t added = 0;            ///< new nodes with pods; less than `nodes` only when existing ones were counted
  std::vector<int64_t> pods;    ///< placed, per demand: that many from the front
  std::vector<uint32_t> order;  ///< demands in the order in which they were placed
  std::vector<Placement> placements;

  int64_t total_pods() const;
};

/// How long an estimate may go on adding nodes; without a clock for as long as it takes.
struct EstimateTime {
  const base::Clock* clock = nullptr;
  base::Duration limit{};
};

/// Limits as estimates have them: 0 none, below 0 no node at all.
int64_t CombineLimits(std::initializer_list<int64_t> limits);

/// What of a template the answer depends on, besides the pods: equal keys have equal answers. O(demands).
std::string EstimateKey(const scheduling::Snapshot& snapshot, const NodeTemplate& node_template, std::span<const int64_t> free,
                        std::span<const Demand> demands, int64_t limit);

/// `free`: room on a fresh node of the template, per resource of the snapshot. `limit`: as above. The snapshot is as before
/// afterwards. O(groups x nodes) if all groups are plain.
Estimate EstimateNodes(scheduling::Snapshot& snapshot, const NodeTemplate& node_template, std::span<const int64_t> free,
                       std::span<const Demand> demands, int64_t limit, const EstimateTime& time = {});

/// Room on a fresh node of the template, per resource of the snapshot.
std::vector<int64_t> FreshRoom(const scheduling::Snapshot& snapshot, const NodeTemplate& node_template);

}  // namespace evenkeel::controllers::autoscaler
