// What the autoscaler would do with a cluster that is given as objects, and why: one loop (run_once.h) on files. A sequence of
// calls that hand the state on behaves as the loop does: a plan assumes that it is carried out, so the next one waits for the
// nodes that were asked for and sees nodes that were to go as going.
//
// What the objects say wins: a targetSize that differs from the one which the last call saw replaces the assumed one, and a
// node that is gone is gone. Scale-ups whose nodes do not come time out as they do upstream (15 min), deletions after 5 min.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/autoscaler/options/options.h"
#include "kube/manifest.h"
#include "providers/provider.h"

namespace evenkeel::controllers::autoscaler {

struct ScaleInput {
  std::vector<kube::ManifestObject> objects;
  base::Json state;  ///< of the call before; null: none
  Options options;
  base::Time now{};
  const base::Clock* clock = nullptr;  ///< measures the loop; null: "milliseconds" is 0
  /// Of a live cluster, as its provider tells; then NodeGroups among the objects do not count, pods that no scheduler has
  /// looked at are left to it, and pods whose controllers are missing hold their nodes.
  std::optional<providers::NodeGroups> live{};
};

/// Nodes, or node groups, that do not take a pod for one reason.
struct OneRefusal {
  std::string reason;              ///< "NodeResourcesFit: Insufficient cpu", without amounts; "": the pod fits
  std::string nearest;             ///< the same of the first of them, with amounts
  std::vector<std::string> names;  ///< the nearest miss first
};
/// Pods of one controller that stay pending for the same reasons.
struct PendingPods {
  std::string owner;  ///< "ReplicaSet default/web"; "": they have none
  std::string first;  ///< namespace/name of the first one
  size_t pods = 0;
  std::string why;                 ///< where it is no matter of node groups; "" otherwise
  std::vector<OneRefusal> groups;  ///< by reason, in the order of their names
};

struct ScaleOutput {
  base::Json result;  ///< {"health", "scaleUp", "pending", "unneeded", "unremovable", "scaleDown", "upcoming", "nodeGroups",
                      ///< "milliseconds"}; "stopped" when the loop did not run to its end, "nextLoop" where pods were too young
  base::Json state;   ///< for the next call
  std::vector<PendingPods> pending{};       ///< those of result by controller and reason, in the order of the first ones
  std::vector<PendingPods> next_pending{};  ///< those of its "nextLoop"
  /// Controllers of the pods that have no node, by namespace/name: "ReplicaSet default/web"; of those that have one.
  std::map<std::string, std::string, std::less<>> owners{};
};

struct PodExplanation {
  base::Json json;                ///< kExplainPodJson
  std::vector<OneRefusal> nodes;  ///< its nodes by reason, the nearest miss first
};

/// kBadRequest: one line that names file, object and field.
base::Result<ScaleOutput> PlanScale(ScaleInput input);

/// Where a pod is or why it is nowhere; and then for each group and each node the filter and how much is missing
/// (kExplainPodJson). `key`: namespace/name, or a name in "default". kNotFound when there is no such pod.
base::Result<PodExplanation> ExplainPodScale(ScaleInput input, const std::string& key);
/// Why the node stays, or when it goes (kExplainNodeJson). kNotFound when there is no such node.
base::Result<base::Json> ExplainNodeScale(ScaleInput input, const std::string& name);

}  // namespace evenkeel::controllers::autoscaler
