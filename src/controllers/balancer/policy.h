// What a BalancingPolicy says, read and checked. Everything has a default: an empty spec balances cpu and memory by what pods
// request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/model/cluster.h"
#include "balancing/model/settings.h"
#include "base/json.h"
#include "base/time.h"
#include "controllers/balancer/move_windows.h"
#include "kube/object.h"
#include "kube/selector.h"

namespace evenkeel::controllers::balancer {

/// Where the loads of pods come from. A pod that has none there: Usage falls back to its request, Annotation to 0.
enum class LoadSource : uint8_t {
  kRequests,
  kUsage,       ///< PodMetrics
  kAnnotation,  ///< kLoadAnnotation
};
std::string_view Name(LoadSource source);  ///< "Requests", ...

/// On a pod: {"METRIC": amount, ...}, whole numbers from 0.
inline constexpr const char* kLoadAnnotation = "evenkeel.dev/load";
/// On a pod: "primary" or "secondary".
inline constexpr const char* kRoleLabel = "evenkeel.dev/role";

struct MetricRule {
  std::string name;
  LoadSource source = LoadSource::kRequests;
  std::string resource;  ///< whose amounts and capacity count; "": none (only with kAnnotation), and nodes are unlimited
  double weight = 1;
  double balancing_threshold = 1.5;
  int64_t activity_threshold = 0;  ///< in units of kube::ResourceList
  double node_buffer = 0;
};

struct NodeTypeRule {
  std::string name;
  std::optional<base::Duration> balancing_interval;
  balancing::Group<double> balancing_thresholds;  ///< by metric
  balancing::Group<int64_t> activity_thresholds;  ///< by metric
};

struct MoveCostRule {
  kube::LabelSelector selector;
  balancing::MoveCost cost = balancing::MoveCost::kMedium;
};

/// Which rules of Kubernetes pods are moved for that break them where they run.
struct KeptRules {
  bool node_affinity = true;    ///< nodeSelector and required node affinity
  bool pod_affinity = true;     ///< required affinity and anti-affinity of pods
  bool topology_spread = true;  ///< constraints with whenUnsatisfiable DoNotSchedule
  bool node_taints = false;     ///< NoSchedule and NoExecute
};

struct Policy {
  std::string name, uid;
  uint64_t version = 0;             ///< of its spec: another one when that has changed
  std::vector<MetricRule> metrics;  ///< never empty; names differ
  std::string node_type_label;      ///< "": nodes are all of one type
  std::vector<NodeTypeRule> node_types;

  base::Duration balancing_interval = std::chrono::minutes(1);
  base::Duration constraint_check_interval = std::chrono::seconds(10);
  base::Duration delay_after_new_node = std::chrono::minutes(2);
  base::Duration delay_after_node_down = std::chrono::minutes(2);

  base::Duration throttle_window = std::chrono::minutes(10);
  int64_t movements = 100;        ///< 0: unlimited
  int64_t movements_per_pod = 1;  ///< of a pod and its successors; 0: unlimited
  double max_share = 0.3;
  int64_t in_flight = 1;

  KeptRules rules;
  std::vector<MoveWindow> windows;  ///< none: moves begin at any time
  std::vector<MoveCostRule> move_costs;
  std::vector<std::string> excluded_namespaces{"kube-system"};
  kube::LabelSelector excluded_namespace_labels = kube::LabelSelector::Nothing();
  kube::LabelSelector excluded_pods = kube::LabelSelector::Nothing();
  std::vector<std::string> fault_domain_keys{"topology.kubernetes.io/zone", "kubernetes.io/hostname"};
  bool dry_run = false;

  balancing::MoveCost CostOf(const kube::Labels& labels) const;
  bool UsesUsage() const;
};

/// kInvalid in one line: "spec.metrics[1].weight: not a number from 0 to 1000000".
base::Result<Policy> ParsePolicy(const base::Json& object);

/// The planner's settings for this policy: those of a cluster of Service Fabric where it says nothing. `scale`: by metric, what
/// amounts are divided by (MemberCluster::scale).
balancing::Settings SettingsOf(const Policy& policy, const std::vector<int64_t>& scale);

}  // namespace evenkeel::controllers::balancer
