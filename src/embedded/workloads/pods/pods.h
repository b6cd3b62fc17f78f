// What the workload controllers know about pods: which count, in which state, which go first, and how one is made of a
// template.
// Follows: kubernetes@1.36 pkg/controller/controller_utils.go
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "embedded/workloads/pods/informers.h"
#include "kube/object.h"
#include "kube/selector.h"
#include "kube/types.h"

namespace evenkeel::embedded::workloads {

/// Neither finished nor being deleted.
bool IsActive(const kube::Pod& pod);
bool IsRunningAndReady(const kube::Pod& pod);
/// Ready for at least min_ready_seconds.
bool IsAvailable(const kube::Pod& pod, int64_t min_ready_seconds, base::Time now);
/// When condition Ready last changed; the epoch when there is none.
base::Time ReadyChanged(const kube::Pod& pod);
/// How long until a ready pod counts as available; nullopt when it is not ready or counts already.
std::optional<base::Duration> UntilAvailable(const kube::Pod& pod, int64_t min_ready_seconds, base::Time now);

/// A candidate for deletion with the number of related active pods on its node.
struct RankedPod {
  PodPointer pod;
  int64_t rank = 0;
};
/// Orders pods so that those to delete first come first, as ReplicaSets do: unassigned, pending, not ready, cheaper by the
/// annotation controller.kubernetes.io/pod-deletion-cost, on fuller nodes, ready or created more recently (in powers of two).
void SortForDeletion(std::vector<RankedPod>& pods, base::Time now);

/// A pod of `owner` (an object with apiVersion, kind, metadata) from a pod template: generateName, labels, annotations,
/// finalizers, spec and the controller reference.
base::Json PodFromTemplate(const base::Json& pod_template, const kube::Resource& owner_kind, const kube::ObjectMeta& owner);

/// metadata.labels (annotations) as a map set into JSON.
base::Json LabelsJson(const kube::Labels& labels);

/// The parsed selector at spec.selector; nullopt when it is absent, empty or broken.
std::optional<kube::LabelSelector> SelectorOf(const base::Json& object);

/// Text that stands for a hash in a name: letters and digits that spell no words.
std::string SafeName(uint64_t number);
/// Hash of a template for names and labels; `collisions` makes another one of the same template.
std::string TemplateHash(const base::Json& pod_template, int64_t collisions);
/// Equal but for the labels that controllers add (pod-template-hash).
bool SameTemplate(const base::Json& a, const base::Json& b);

/// Sets a field of `status` unless a zero is to be left out, as upstream's omitempty does.
void SetCount(base::JsonObject& status, std::string_view field, int64_t value, bool keep_zero);

/// A condition in a list of an object's status (`conditions` is the array); null when absent.
const base::Json* ConditionIn(const base::JsonArray& conditions, std::string_view type);

/// `time` as text, or "" when it is absent.
std::optional<base::Time> TimeAt(const base::Json& object, std::initializer_list<std::string_view> path);

}  // namespace evenkeel::embedded::workloads
