// Typed views of the built-in kinds that code reads: decoded once per version of an object, read only. A view keeps what
// decisions need; writes go through JSON and patches (object.h). Like DecodeMeta, decoding never fails.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/object.h"
#include "kube/selector.h"

namespace evenkeel::kube {

/// Amounts by resource name in the smallest unit that counts: cpu in milli-cores, everything else in whole units (bytes,
/// counts). Rounded up.
using ResourceList = std::map<std::string, int64_t>;
ResourceList DecodeResourceList(const base::Json* quantities);
/// One of its amounts as people write it: "500m" of cpu, "2Gi" of memory.
std::string AmountText(const std::string& resource, int64_t amount);

struct Taint {
  std::string key, value, effect;
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  std::string key, op, value, effect;  ///< op: "Equal" (also when empty) or "Exists"
  std::optional<int64_t> seconds;
  bool Tolerates(const Taint& taint) const;
};

struct ContainerPort {
  std::string name, protocol, host_ip;
  int container_port = 0, host_port = 0;
};

struct Container {
  std::string name, image;
  ResourceList requests, limits;
  std::vector<ContainerPort> ports;
  bool sidecar = false;  ///< an init container with restartPolicy Always
};

struct ContainerStatus {
  std::string name;
  bool ready = false;
  bool running = false, terminated = false, waiting = false;
  std::string reason;
  int restart_count = 0;
  int exit_code = 0;
};

struct NodeSelectorRequirement {
  std::string key, op;
  std::vector<std::string> values;
};
/// All of expressions and fields hold.
struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> expressions, fields;
};

struct Pod {
  ObjectMeta meta;
  std::string node_name, scheduler_name, priority_class, restart_policy, service_account;
  int64_t priority = 0;
  int64_t termination_grace_seconds = 30;
  std::vector<Container> containers, init_containers;
  Labels node_selector;
  std::vector<NodeSelectorTerm> required_node_terms;  ///< one of them holds; empty: no requirement
  std::vector<Toleration> tolerations;
  ResourceList overhead;

  std::string phase, pod_ip, host_ip, reason, nominated_node;
  bool ready = false;      ///< condition Ready
  bool scheduled = false;  ///< condition PodScheduled
  std::vector<ContainerStatus> statuses;
  /// The object itself, for what the view leaves out (templates, volumes). Null when decoded with DecodeCompact.
  std::shared_ptr<const base::Json> json;

  bool terminal() const { return phase == "Succeeded" || phase == "Failed"; }
  /// Effective requests: max(init, sum of containers plus sidecars) + overhead, and 1 of "pods".
  ResourceList Requests() const;
  static Pod Decode(const base::Json& json);
};

/// Whether its phase is one that a pod ends in, as Pod::terminal.
bool HasEnded(const base::Json& pod);

/// A Pod without its JSON: what a cache of very many pods holds.
struct CompactPod : Pod {
  static CompactPod Decode(const base::Json& json);
};

struct Node {
  ObjectMeta meta;
  bool unschedulable = false;
  std::string provider_id, pod_cidr;
  std::vector<Taint> taints;
  ResourceList capacity, allocatable;
  bool ready = false;
  base::Time ready_since{};                    ///< lastTransitionTime of condition Ready
  std::vector<std::string> declared_features;  ///< sorted
  static Node Decode(const base::Json& json);
};

/// What the workload kinds share: a number of pods made from a template and found by a selector.
struct Workload {
  ObjectMeta meta;
  int64_t replicas = 1;
  LabelSelector selector;
  int64_t observed_generation = 0, ready_replicas = 0, available_replicas = 0, updated_replicas = 0, status_replicas = 0;
  int64_t min_ready_seconds = 0;
  bool paused = false;
  std::shared_ptr<const base::Json> json;  ///< template, strategy and the rest
  static Workload Decode(const base::Json& json);
};

struct PodDisruptionBudget {
  ObjectMeta meta;
  LabelSelector selector;
  std::optional<std::string> min_available, max_unavailable;  ///< "3" or "50%"
  int64_t disruptions_allowed = 0, current_healthy = 0, desired_healthy = 0, expected_pods = 0, observed_generation = 0;
  std::shared_ptr<const base::Json> json;
  static PodDisruptionBudget Decode(const base::Json& json);
};

/// A ConfigMap's or Secret's data; a Secret's values are decoded from base64 (binaryData too).
struct DataObject {
  ObjectMeta meta;
  std::string type;
  std::map<std::string, std::string> data;
  static DataObject Decode(const base::Json& json);
};

/// "25%" or 3 of `total`, rounded up or down; nullopt when it is neither a number nor a percentage.
std::optional<int64_t> ScaledValue(const base::Json* int_or_percent, int64_t total, bool round_up);

}  // namespace evenkeel::kube
