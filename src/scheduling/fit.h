// The answer to "does this pod fit on this node?": which filter says no, in kube-scheduler's order and words, and in numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::scheduling {

/// In the order in which kube-scheduler's default profile asks them.
enum class Filter : uint8_t {
  kPass,
  kNodeUnschedulable,
  kNodeName,
  kTaintToleration,
  kNodeAffinity,
  kNodePorts,
  kNodeResourcesFit,
  kVolumeRestrictions,
  kNodeVolumeLimits,
  kVolumeBinding,
  kVolumeZone,
  kPodTopologySpread,
  kInterPodAffinity,
  kDynamicResources,
  kNodeDeclaredFeatures,
};

/// kube-scheduler's name of the plugin; "" for kPass.
std::string_view Name(Filter filter);

struct Reason {
  std::string text;        ///< as in FailedScheduling events: "Insufficient cpu"
  std::string resource{};  ///< for NodeResourcesFit; the numbers are in units of kube::ResourceList
  int64_t requested = 0, used = 0, allocatable = 0;
  std::string detail{};  ///< for people, where there is more to say: which claim, request, selector and device

  int64_t missing() const { return requested + used - allocatable; }
};

struct Fit {
  Filter filter = Filter::kPass;
  /// Whether removing pods from the node could help (upstream: Unschedulable, not UnschedulableAndUnresolvable).
  bool resolvable = false;
  /// No node can take the pod, whatever it is like (upstream: rejected in PreFilter).
  bool anywhere = false;
  std::vector<Reason> reasons;
  /// Which field of the pod it is that is not kept: "spec.nodeSelector", "spec.topologySpreadConstraints[0]". "": it is no one
  /// field of this pod.
  std::string field{};

  bool fits() const { return filter == Filter::kPass; }
};

}  // namespace evenkeel::scheduling
