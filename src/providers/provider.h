// Who makes and deletes nodes: one interface, several bodies (Cluster API, an external gRPC service, kwok, the embedded cloud).
// Reading is one call per loop for everything, so that a planner works on a value and never waits for a network.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace evenkeel::providers {

/// On a template node: how many volumes a new node takes, "DRIVER=LIMIT,..."; 0 is no limit.
inline constexpr std::string_view kCsiDriverAnnotation = "capacity.cluster-autoscaler.kubernetes.io/csi-driver";

/// A machine as the provider sees it; it may not be registered as a node yet, or not any more.
struct Instance {
  enum class State { kRunning, kCreating, kDeleting };
  enum class ErrorClass { kOutOfResources, kOther };
  struct Error {
    ErrorClass error_class = ErrorClass::kOther;
    std::string code;
    std::string message;
    bool operator==(const Error&) const = default;
  };
  std::string id;  ///< the node's spec.providerID
  State state = State::kRunning;
  std::optional<Error> error;
  bool operator==(const Instance&) const = default;
};

/// What a group sets differently from the flags (reference: NodeGroupAutoscalingOptions).
struct NodeGroupOptions {
  std::optional<double> scale_down_utilization_threshold;
  std::optional<double> scale_down_gpu_utilization_threshold;
  std::optional<base::Duration> scale_down_unneeded_time;
  std::optional<base::Duration> scale_down_unready_time;
  std::optional<base::Duration> max_node_provision_time;
  std::optional<base::Duration> max_node_startup_time;
  std::optional<bool> zero_or_max_node_scaling;  ///< atomic: all nodes or none
  std::optional<bool> allow_non_atomic_scale_up_to_max;
  std::optional<bool> ignore_daemonsets_utilization;
  bool operator==(const NodeGroupOptions&) const = default;
};

struct NodeGroup {
  std::string id;
  int64_t min_size = 0, max_size = 0, target_size = 0;
  std::vector<Instance> instances;
  /// A v1.Node that a new node of the group will be like; absent: it cannot be scaled from zero.
  std::optional<base::Json> template_node;
  NodeGroupOptions options;
  std::optional<double> price_per_hour;
  /// Why nothing is to be done with the group or its nodes: something of it cannot be read, or contradicts itself. "": all is
  /// well. Its sizes and instances are then those that were read last.
  std::string set_aside;
  bool exists = true;       ///< false: would be created by the first scale-up
  std::string keeps_nodes;  ///< why none of its nodes may be taken away now: "is rolling out"; "" otherwise
  std::string debug;
  bool operator==(const NodeGroup&) const = default;
};

/// All there is to know from the provider, at one moment.
struct NodeGroups {
  std::vector<NodeGroup> groups;                                  ///< by id
  std::map<std::string, std::string, std::less<>> group_of_node;  ///< id by node name; absent: not managed
  std::string gpu_label;                                          ///< label of nodes with GPUs; "" when the provider has none
  std::vector<std::string> gpu_types;
  std::vector<std::string> warnings;  ///< what of the provider's answers cannot be used; one line each
  /// Of two answers about one cluster with the same number everything else is the same, too; 0: not known.
  uint64_t revision = 0;

  NodeGroup* Find(std::string_view id);
  const NodeGroup* Find(std::string_view id) const;
  bool operator==(const NodeGroups&) const = default;
};

/// Gives answers about one cluster their numbers.
class AnswerNumbers {
 public:
  /// O(groups + instances + nodes).
  void Number(NodeGroups& answer);

 private:
  NodeGroups last_;
};

/// NodeGroup::set_aside of a group that another member's autoscaler would take for its own, too.
inline std::string ClaimedBy(const std::string& member) {
  return "member " + member +
         " would claim it, too: annotation evenkeel.dev/autoscaler-args of the cluster Secrets says what is "
         "whose";
}

/// A node to delete: registered, or only an instance (then without a name).
struct NodeReference {
  std::string name, provider_id;
  base::Json node;  ///< v1.Node when registered; null otherwise
};

/// Calls block, each with its own time-out. An optional ability that is missing answers kMethodNotAllowed.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string_view name() const = 0;
  /// Reads everything anew. `nodes`: v1.Node objects of the cluster, to be told apart by group. Once per loop, before all else.
  /// What is wrong with one group sets that group aside; an error means that nothing can be said.
  virtual base::Result<NodeGroups> Refresh(std::span<const base::Json> nodes) = 0;
  /// delta > 0. `atomically`: all or nothing.
  virtual base::Status IncreaseSize(std::string_view group, int64_t delta, bool atomically) = 0;
  /// Deletes these and lowers the target by as many. `force`: also what the provider would rather keep.
  virtual base::Status DeleteNodes(std::string_view group, std::span<const NodeReference> nodes, bool force) = 0;
  /// delta < 0: of nodes that do not exist yet; never deletes one.
  virtual base::Status DecreaseTargetSize(std::string_view group, int64_t delta) = 0;
};

}  // namespace evenkeel::providers
