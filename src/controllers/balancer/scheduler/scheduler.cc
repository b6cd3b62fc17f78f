#include "controllers/balancer/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace evenkeel::controllers::balancer::scheduler {
namespace {

using scheduling::ClassId;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodClass;
using scheduling::PodId;
using scheduling::VolumeKind;

/// Changes that come in swarms are waited for: pods spread better when all nodes are there.
constexpr base::Duration kSwarm = std::chrono::milliseconds(20);

bool Gated(const kube::Pod& pod) { return !base::FindArray(*pod.json, {"spec", "schedulingGates"}).empty(); }

/// Pods elsewhere can let it in or keep it out.
bool LooksAround(const PodClass& pod_class) { return !pod_class.topology.empty() || pod_class.volumes != nullptr; }

}  // namespace

bool WantsCompany(const PodClass& pod_class) {
  return !pod_class.topology.affinity.empty() || !pod_class.topology.spread.empty();
}

const std::vector<VolumeResource>& VolumeResources() {
  static const std::vector<VolumeResource> all{
      {*kube::FindBuiltIn("", "v1", "persistentvolumes"), VolumeKind::kPersistentVolume},
      {*kube::FindBuiltIn("", "v1", "persistentvolumeclaims"), VolumeKind::kPersistentVolumeClaim},
      {*kube::FindBuiltIn("storage.k8s.io", "v1", "storageclasses"), VolumeKind::kStorageClass},
      {*kube::FindBuiltIn("storage.k8s.io", "v1", "csinodes"), VolumeKind::kCsiNode},
      {*kube::FindBuiltIn("storage.k8s.io", "v1", "csidrivers"), VolumeKind::kCsiDriver},
      {*kube::FindBuiltIn("storage.k8s.io", "v1", "csistoragecapacities"), VolumeKind::kCsiStorageCapacity}};
  return all;
}

Scheduler::Scheduler(SchedulerContext context, SchedulerOptions options)
    : context_(std::move(context)), options_(std::move(options)), book_(snapshot_) {}

template <typename Concerned>
void Scheduler::Wake(const Concerned& concerned) {
  messages_.clear();
  std::vector<ClassId> woken;
  for (const auto& [pod_class, keys] : queue_.parked()) {
    if (concerned(pod_class, snapshot_.classes()[pod_class])) woken.push_back(pod_class);
  }
  if (woken.empty()) return;
  for (const ClassId pod_class : woken) queue_.Wake(pod_class, Monotonic());
  context_.call(kSwarm);
}

void Scheduler::OnNamespace(const std::string& name, const kube::Labels& labels) {
  const auto known = namespaces_.find(name);
  if (known == namespaces_.end() ? labels.empty() : known->second == labels) return;
  if (labels.empty()) {
    namespaces_.erase(known);
  } else {
    namespaces_[name] = labels;
  }
  snapshot_.UpsertNamespace(name, labels);
  Wake([](ClassId, const PodClass& pod_class) { return !pod_class.topology.empty(); });
}

void Scheduler::OnVolume(VolumeKind kind, const std::string& key, const base::Json* after) {
  if (after != nullptr) {
    snapshot_.UpsertVolume(kind, *after);
  } else {
    snapshot_.RemoveVolume(kind, key);
  }
  Wake([](ClassId, const PodClass& pod_class) { return pod_class.volumes != nullptr; });
  if (kind != VolumeKind::kPersistentVolumeClaim) return;
  if (after != nullptr) {
    claims_[key] = {std::string(kube::UidOf(*after)), !base::FindString(*after, {"spec", "volumeName"}).empty() &&
                                                          base::FindString(*after, {"status", "phase"}) == "Bound"};
  } else {
    claims_.erase(key);
  }
  for (const auto& [pod, binding] : binding_) {
    if (std::find(binding.claims.begin(), binding.claims.end(), key) == binding.claims.end()) continue;
    queue_.Hurry(pod);
    Run();
  }
}

void Scheduler::OnNode(const kube::Node* before, const kube::Node* after) {
  if (after == nullptr) {
    snapshot_.RemoveNode(before->meta.name);
    Wake([](ClassId, const PodClass& pod_class) { return LooksAround(pod_class); });
    return;
  }
  const bool same = before && before->taints == after->taints && before->allocatable == after->allocatable &&
                    before->unschedulable == after->unschedulable && before->meta.labels == after->meta.labels;
  if (same) return;
  const NodeId node = snapshot_.UpsertNode(*after);
  if (!book_.empty()) book_.Settle();
  WakePromised(node);
  Wake([&](ClassId id, const PodClass& pod_class) { return LooksAround(pod_class) || snapshot_.Fits(id, node); });
}

bool Scheduler::Wants(const kube::Pod& pod) const {
  return pod.node_name.empty() && !pod.terminal() && !pod.meta.deletion_time && options_.names.contains(pod.scheduler_name);
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

void Scheduler::NodesFreed(const ReservationBook::Nodes& nodes) {
  for (const NodeId node : nodes) PodLeft(node);
}

void Scheduler::WakePromised(NodeId node) {
  if (book_.empty() || !book_.AnyOn(snapshot_.NodeName(node))) return;
  for (const auto& [key, pod] : waiting_) {
    if (snapshot_.NodeOf(snapshot_.FindPod(key)) != kNone || !book_.Opens(snapshot_.NodeName(node), *pod)) continue;
    queue_.Add(key, pod->priority, Monotonic());
    Run();
  }
}

void Scheduler::PodLeft(NodeId node) {
  WakePromised(node);
  Wake([&](ClassId id, const PodClass& pod_class) {
    return LooksAround(pod_class) || (snapshot_.Present(node) && snapshot_.Fits(id, node));
  });
}

void Scheduler::DropPod(const std::string& key) {
  queue_.Remove(key);
  waiting_.erase(key);
  nominated_.erase(key);
  binding_.erase(key);
  const PodId pod = snapshot_.FindPod(key);
  if (pod == kNone) return;
  const NodeId node = snapshot_.NodeOf(pod);
  book_.GiveBack(key);
  snapshot_.RemovePod(key);
  if (node != kNone) PodLeft(node);
}

void Scheduler::OnPod(const std::string& key, const PodPointer& after) {
  if (after == nullptr || after->terminal()) return DropPod(key);
  const PodId known = snapshot_.FindPod(key);
  const NodeId node_before = known == kNone ? kNone : snapshot_.NodeOf(known);
  const ClassId class_before = known == kNone ? kNone : snapshot_.ClassOf(known);
  const PodId pod = snapshot_.UpsertPod(*after->json);
  const NodeId node = snapshot_.NodeOf(pod);
  const bool changed = class_before != snapshot_.ClassOf(pod);
  if (node_before != kNone && (node != node_before || changed)) PodLeft(node_before);
  // Somebody else has bound it.
  if (known != kNone && node_before == kNone && node != kNone) {
    if (const auto freed = book_.Take(*after, node)) PodLeft(*freed);
  }
  if (node != node_before && node != kNone) Wake([](ClassId, const PodClass& c) { return WantsCompany(c); });
  if (!Wants(*after)) {
    queue_.Remove(key);
    waiting_.erase(key);
    nominated_.erase(key);
    if (binding_.erase(key) > 0 && after->node_name.empty() && node != kNone) {
      snapshot_.Unplace(pod);
      PodLeft(node);
    }
    return;
  }
  waiting_[key] = after;
  if (after->nominated_node.empty()) {
    nominated_.erase(key);
  } else {
    nominated_[key] = after->nominated_node;
  }
  // Bound by us, or about to be: the cache is behind.
  if (node != kNone) return;
  if (queue_.Contains(key) && !changed) return;
  if (!book_.empty()) book_.Adopt(*after, pod);
  queue_.Add(key, after->priority, Monotonic());
  Run();
}

std::optional<base::Duration> Scheduler::Turn() {
  if (!book_.empty()) {
    if (!std::exchange(told_, true)) book_.Settle();
    NodesFreed(book_.Expire(context_.clock.Now()));
  }
  if (const auto key = queue_.Pop(Monotonic())) Try(*key);
  auto due = queue_.NextDue(Monotonic());
  if (const auto end = book_.NextEnd()) {
    const base::Instant ends = Monotonic() + (*end - context_.clock.Now());
    due = due ? std::min(*due, ends) : ends;
  }
  if (!due) return std::nullopt;
  if (*due > Monotonic()) return *due - Monotonic();
  Run();
  return std::nullopt;
}

void Scheduler::Try(const std::string& key) {
  const auto found = waiting_.find(key);
  const PodId id = snapshot_.FindPod(key);
  if (found == waiting_.end() || id == kNone) return queue_.Remove(key);
  const PodPointer pod = found->second;
  if (const auto bound = binding_.find(key); bound != binding_.end()) {
    const Binding binding = bound->second;
    return FinishBinding(*pod, binding);
  }
  if (snapshot_.NodeOf(id) != kNone) return queue_.Remove(key);
  if (Gated(*pod)) return MarkGated(*pod);
  const Choice choice = Choose(*pod, id);
  if (choice.node == kNone) return MarkUnschedulable(*pod, id, choice.message);
  Assign(*pod, id, choice.node);
  Wake([](ClassId, const PodClass& pod_class) { return WantsCompany(pod_class); });
}

}  // namespace evenkeel::controllers::balancer::scheduler
