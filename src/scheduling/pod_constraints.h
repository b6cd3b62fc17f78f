// What of a pod its place depends on, decoded once and shared by all pods that are alike. What tells the pods of one owner
// apart is kept out of PodSpec so that they share it: labels, namespace, claims, and the node that a DaemonSet's pod is for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/selector.h"
#include "kube/types.h"
#include "scheduling/devices/pod_devices.h"
#include "scheduling/ids.h"
#include "scheduling/node_shape.h"

namespace evenkeel::scheduling {

/// containerPort with a hostPort. An empty IP is written as 0.0.0.0, which means all of them.
struct HostPort {
  std::string ip, protocol;
  int port = 0;
  bool operator==(const HostPort&) const = default;
  bool Conflicts(const HostPort& other) const;
};

/// A required pod affinity or anti-affinity term.
struct AffinityTerm {
  std::string topology_key;
  std::vector<std::string> namespaces;  ///< sorted; with no namespace_selector and none here: the pod's own
  std::optional<kube::LabelSelector> namespace_selector;
  kube::LabelSelector selector;
  std::vector<std::string> match_label_keys, mismatch_label_keys;
};

/// A constraint with whenUnsatisfiable DoNotSchedule.
struct SpreadConstraint {
  int64_t index = 0;  ///< in spec.topologySpreadConstraints
  std::string topology_key;
  int64_t max_skew = 1, min_domains = 1;
  kube::LabelSelector selector;
  std::vector<std::string> match_label_keys;
  bool honor_affinity = true, honor_taints = false;
};

struct PodSpec {
  kube::ResourceList requests;  ///< without "pods"
  NodeSelection nodes;
  std::vector<kube::Toleration> tolerations;
  std::vector<HostPort> ports;
  std::vector<AffinityTerm> affinity, anti_affinity;
  std::vector<SpreadConstraint> spread;
  bool never_preempts = false;               ///< preemptionPolicy: Never
  std::vector<ContainerDevices> containers;  ///< only where one asks for an extended resource
  std::vector<std::string> features;         ///< that the node has to declare; sorted

  bool ToleratesCordon() const;
  /// Equal for specs that mean the same, however they are written.
  std::string Key() const;
};

/// `pinned`: leave out the affinity that PinnedNode told.
PodSpec DecodePodSpec(const base::Json& pod, bool pinned);
/// A text for looking up a spec without decoding it: equal texts have equal specs (not the other way round).
void AppendSpecText(const base::Json& pod, bool pinned, std::string& out);
/// The node that a DaemonSet's pod is for: its only affinity is one matchFields term that names it. "" for other pods.
std::string_view PinnedNode(const base::Json& pod);

/// What kube-scheduler reserves for the pod: init containers and sidecars, requests at the level of the pod, overhead; for a
/// bound pod also what a resize in place still holds. Requests that are missing are the limits, as the API server defaults
/// them.
kube::ResourceList EffectiveRequests(const base::Json& pod);

/// The selector with the pod's own values for matchLabelKeys (and without those for mismatchLabelKeys).
kube::LabelSelector WithLabelKeys(const kube::LabelSelector& selector, const std::vector<std::string>& match,
                                  const std::vector<std::string>& mismatch, const kube::Labels& labels);

}  // namespace evenkeel::scheduling
