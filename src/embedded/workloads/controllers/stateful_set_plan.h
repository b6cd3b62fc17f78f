// What a StatefulSet does next: pods with names and storage of their own, one after the other or all at once. Pure.
// Follows: kubernetes@1.36 pkg/controller/statefulset/stateful_set_control.go
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "embedded/workloads/pods/pods.h"

namespace evenkeel::embedded::workloads {

struct StatefulPod {
  int64_t ordinal = 0;
  bool updated = false;  ///< of the update revision rather than the current one
};

struct StatefulSetPlan {
  std::vector<StatefulPod> create;
  std::vector<PodPointer> remove;
  /// Pods whose failure is the reason for their removal: told in an event.
  std::vector<PodPointer> failed;
  /// Pods that lost their labels.
  std::vector<PodPointer> relabel;
  base::Json status;
  std::optional<base::Duration> again;
};

/// `pods` are those claimed; `current` and `update` names of revisions (current may be the same).
StatefulSetPlan PlanStatefulSet(const base::Json& set, const std::vector<PodPointer>& pods, const std::string& current,
                                const std::string& update, base::Time now);

/// The ordinal in "NAME-3"; nullopt when the pod's name is not of that set.
std::optional<int64_t> OrdinalOf(std::string_view set_name, std::string_view pod_name);
/// The pod of that ordinal from a template: name, labels, hostname, subdomain and volumes of its claims.
base::Json StatefulPodJson(const base::Json& set, const base::Json& pod_template, const std::string& revision, int64_t ordinal);
/// The claims of that ordinal, one per volumeClaimTemplate.
std::vector<base::Json> StatefulClaims(const base::Json& set, int64_t ordinal);

}  // namespace evenkeel::embedded::workloads
