// How many nodes may go: how many are worth finding, how many of those the minimums leave, and how many of those one loop
// begins to delete.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/scaledown/budgets/budgets.go
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// How many unneeded nodes the simulation looks for: enough to feed --max-scale-down-parallelism until nodes found now have
/// waited out their time. `unneeded`: how many there are; `interval`: the shortest between two loops so far.
int64_t UnneededLimit(int64_t unneeded, int64_t parallelism, base::Duration unneeded_time, base::Duration interval);

/// What there is above the minimums of the cluster: cores, memory, GPUs; the capacity of nodes counts.
class ResourcesLeft {
 public:
  /// Counts the nodes that are not being deleted, if any minimum is set. O(nodes) then.
  ResourcesLeft(const ClusterView& view, const Options& options);
  /// Takes a node's resources away; false, and nothing taken, when that would go below a minimum. `what` is told which.
  bool TryTake(scheduling::NodeId node, std::string* what = nullptr);

 private:
  const ClusterView& view_;
  std::optional<int64_t> cores_, memory_;             // absent: no minimum
  std::map<std::string, int64_t, std::less<>> gpus_;  // by type, where there is a minimum
};

/// Nodes of these groups go all together or not at all.
struct GroupForBudget {
  bool atomic = false;
  int64_t target = 0, registered = 0;
};

/// A node that could be deleted now. `index` is the caller's.
struct DeletionCandidate {
  size_t index;
  std::string_view group;
};

struct DeletionBudgets {
  int64_t parallelism = 10, drain_parallelism = 1;  ///< --max-scale-down-parallelism, --max-drain-parallelism
  int64_t empty_in_progress = 0, drain_in_progress = 0;
};

struct Deletions {
  std::vector<size_t> empty, drain;
};

/// Upstream's CropNodes: which of the candidates fit the budgets. Groups come in the order of their first candidates; an atomic
/// group comes whole, and the first that is taken may exceed the budgets.
Deletions CropToBudgets(std::span<const DeletionCandidate> empty, std::span<const DeletionCandidate> drain,
                        const std::function<GroupForBudget(std::string_view)>& group_of, const DeletionBudgets& budgets);

}  // namespace evenkeel::controllers::autoscaler
