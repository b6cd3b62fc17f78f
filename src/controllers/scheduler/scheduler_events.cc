// What the mirror tells of, and whom it may help.
#include <algorithm>

#include "base/log.h"
#include "controllers/scheduler/scheduler.h"

namespace evenkeel::controllers::scheduler {

using scheduling::ClassId;
using scheduling::kNone;
using scheduling::ObjectEvent;
using scheduling::PodClass;
using scheduling::PodId;

void Scheduler::BeforeChange(const ObjectEvent& event) {
  if (event.kind != "Pod") return;
  node_before_ = event.pod == kNone ? kNone : snapshot_.NodeOf(event.pod);
  class_before_ = event.pod == kNone ? kNone : snapshot_.ClassOf(event.pod);
  if (event.object != nullptr) return;
  queue_.Remove(event.key);
  waiting_.erase(event.key);
  nominated_.erase(event.key);
  binding_.erase(event.key);
  devices_.Forget(event.key);
  if (event.pod != kNone) book_.GiveBack(event.key);
}

void Scheduler::AfterChange(const ObjectEvent& event) {
  if (event.kind == "Pod") {
    OnPod(event);
  } else if (event.kind == "Node") {
    OnNode(event);
  } else if (event.kind == "Namespace") {
    OnNamespace(event.key, event.object == nullptr ? kube::Labels{} : kube::DecodeMeta(*event.object).labels);
  } else if (event.kind == scheduling::BalancingPlans().kind) {
    OnPlan(event.key, event.object);
  } else if (event.volume) {
    OnVolume(event);
  } else if (event.device) {
    if (event.device == scheduling::DeviceKind::kResourceClaim) devices_.OnClaim(event.key, event.object, snapshot_);
    Wake([](ClassId, const PodClass& pod_class) { return pod_class.may_want_devices(); });
  }
}

void Scheduler::OnNamespace(const std::string& name, const kube::Labels& labels) {
  const auto known = namespaces_.find(name);
  if (known == namespaces_.end() ? labels.empty() : known->second == labels) return;
  if (labels.empty()) {
    namespaces_.erase(known);
  } else {
    namespaces_[name] = labels;
  }
  Wake([](ClassId, const PodClass& pod_class) { return !pod_class.topology.empty(); });
}

void Scheduler::OnVolume(const ObjectEvent& event) {
  Wake([](ClassId, const PodClass& pod_class) { return pod_class.volumes != nullptr; });
  if (event.volume == scheduling::VolumeKind::kPersistentVolumeClaim) OnClaim(event);
}

void Scheduler::OnClaim(const ObjectEvent& event) {
  if (event.object != nullptr) {
    const bool bound = !base::FindString(*event.object, {"spec", "volumeName"}).empty() &&
                       base::Find(*event.object, {"metadata", "annotations", "pv.kubernetes.io/bind-completed"}) != nullptr;
    claims_[event.key] = {std::string(kube::UidOf(*event.object)), bound};
  } else {
    claims_.erase(event.key);
  }
  for (const auto& [pod, binding] : binding_) {
    if (std::ranges::find(binding.claims, event.key) == binding.claims.end()) continue;
    queue_.TriggerNow(pod);
    Run();
  }
}

void Scheduler::OnNode(const ObjectEvent& event) {
  if (event.object == nullptr) {
    Wake([](ClassId, const PodClass& pod_class) { return LooksAround(pod_class); });
    return;
  }
  if (!event.node_changed) return;
  if (!book_.empty()) book_.Settle();
  WakePromised(event.node);
  Wake([&](ClassId id, const PodClass& pod_class) { return LooksAround(pod_class) || snapshot_.Fits(id, event.node); });
}

void Scheduler::OnPlan(const std::string& name, const base::Json* after) {
  scheduling::PlanReservations read;
  if (after != nullptr) read = scheduling::ReadReservations(*after);
  for (const std::string& problem : read.problems) {
    base::log::Warn("a balancing plan asks for a reservation that cannot be read",
                    {{"plan", name}, {"version", kube::ResourceVersionOf(*after)}, {"error", problem}});
  }
  NodesFreed(book_.Update(name, read.reservations, context_.clock.Now()));
  if (read.reservations.empty()) return;
  for (const auto& [key, pod] : waiting_) {
    const PodId id = snapshot_.FindPod(key);
    if (snapshot_.NodeOf(id) != kNone || book_.For(*pod).empty()) continue;
    book_.Adopt(*pod, id);
    queue_.Add(key, pod->priority, Monotonic());
  }
  // For those, and because a reservation ends by itself.
  Run();
}

void Scheduler::OnPod(const ObjectEvent& event) {
  const scheduling::NodeId node_before = node_before_;
  if (event.object == nullptr) {
    if (node_before != kNone) PodLeft(node_before);
    return;
  }
  const scheduling::NodeId node = snapshot_.NodeOf(event.pod);
  const bool known = class_before_ != kNone, changed = class_before_ != snapshot_.ClassOf(event.pod);
  if (node_before != kNone && (node != node_before || changed)) PodLeft(node_before);
  // Somebody else has bound it.
  if (known && node_before == kNone && node != kNone && !book_.empty()) {
    if (const auto freed = book_.Take(event.DecodedPod(), node)) PodLeft(*freed);
  }
  if (node != node_before && node != kNone) Wake([](ClassId, const PodClass& c) { return WantsCompany(c); });
  if (base::FindString(*event.object, {"spec", "nodeName"}).empty()) return OnWaitingPod(event, changed);
  queue_.Remove(event.key);
  waiting_.erase(event.key);
  nominated_.erase(event.key);
  binding_.erase(event.key);
}

void Scheduler::OnWaitingPod(const ObjectEvent& event, bool changed) {
  const std::string& key = event.key;
  const auto pod = std::make_shared<const kube::Pod>(kube::Pod::Decode(*event.object));
  const scheduling::NodeId node = snapshot_.NodeOf(event.pod);
  if (!Wants(*pod)) {
    queue_.Remove(key);
    waiting_.erase(key);
    nominated_.erase(key);
    if (binding_.erase(key) > 0 && node != kNone) {
      snapshot_.Unplace(event.pod);
      PodLeft(node);
    }
    return;
  }
  waiting_[key] = pod;
  if (pod->nominated_node.empty()) {
    nominated_.erase(key);
  } else {
    nominated_[key] = pod->nominated_node;
  }
  // Bound by us, or about to be: the cache is behind.
  if (node != kNone) return;
  if (queue_.Contains(key) && !changed) return;
  if (!book_.empty()) book_.Adopt(*pod, event.pod);
  queue_.Add(key, pod->priority, Monotonic());
  Run();
}

}  // namespace evenkeel::controllers::scheduler
