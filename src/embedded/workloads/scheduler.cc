#include "embedded/workloads/scheduler.h"

#include <algorithm>

#include "base/log.h"
#include "embedded/workloads/volume_binder.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Json;
using base::JsonObject;
using scheduling::ClassId;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodClass;
using scheduling::PodId;
using scheduling::VolumeKind;

constexpr char kGated[] = "Scheduling is blocked due to non-empty scheduling gates";
/// How long claims have to be bound, as upstream.
constexpr base::Duration kBindLimit = std::chrono::minutes(10);

bool Gated(const kube::Pod& pod) { return !base::FindArray(*pod.json, {"spec", "schedulingGates"}).empty(); }

/// Pods elsewhere can let it in or keep it out.
bool LooksAround(const PodClass& pod_class) { return !pod_class.topology.empty() || pod_class.volumes != nullptr; }
/// More pods elsewhere can let it in.
bool WantsCompany(const PodClass& pod_class) {
  return !pod_class.topology.affinity.empty() || !pod_class.topology.spread.empty();
}

}  // namespace

Scheduler::Scheduler(Context& context) : Reconciler(context, "default-scheduler") {
  informers().pods().AddHandler(
      [this](const PodPointer& before, const PodPointer& after) { OnPod(after, (after ? after : before)->meta.Key()); });
  informers().nodes().AddHandler([this](const NodePointer& before, const NodePointer& after) { OnNode(before, after); });
  informers().Of(kube::resources::Namespaces()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    if (before && after && before->meta.labels == after->meta.labels) return;
    const kube::ObjectMeta& meta = (after ? after : before)->meta;
    if (!before && meta.labels.empty()) return;
    snapshot_.UpsertNamespace(meta.name, after ? meta.labels : kube::Labels{});
    Wake([](ClassId, const PodClass& pod_class) { return !pod_class.topology.empty(); });
  });
  WatchVolumes();
}

void Scheduler::WatchVolumes() {
  struct Kind {
    const char *group, *plural;
    VolumeKind kind;
  };
  for (const auto& [group, plural, kind] :
       {Kind{"", "persistentvolumes", VolumeKind::kPersistentVolume},
        Kind{"", "persistentvolumeclaims", VolumeKind::kPersistentVolumeClaim},
        Kind{"storage.k8s.io", "storageclasses", VolumeKind::kStorageClass},
        Kind{"storage.k8s.io", "csinodes", VolumeKind::kCsiNode}, Kind{"storage.k8s.io", "csidrivers", VolumeKind::kCsiDriver},
        Kind{"storage.k8s.io", "csistoragecapacities", VolumeKind::kCsiStorageCapacity}}) {
    informers()
        .Of(*kube::FindBuiltIn(group, "v1", plural))
        .AddHandler([this, kind](const ObjectPointer& before, const ObjectPointer& after) { OnVolume(kind, before, after); });
  }
}

template <typename Concerned>
void Scheduler::Wake(const Concerned& concerned) {
  messages_.clear();
  std::vector<ClassId> woken;
  for (const auto& [pod_class, keys] : queue_.parked()) {
    if (concerned(pod_class, snapshot_.classes()[pod_class])) woken.push_back(pod_class);
  }
  if (woken.empty()) return;
  for (const ClassId pod_class : woken) queue_.Wake(pod_class, Monotonic());
  // Nodes come in swarms: pods spread better when all of them are there.
  EnqueueSoon("pods");
}

void Scheduler::OnVolume(VolumeKind kind, const ObjectPointer& before, const ObjectPointer& after) {
  if (after != nullptr) {
    snapshot_.UpsertVolume(kind, *after->json);
  } else {
    snapshot_.RemoveVolume(kind, before->meta.Key());
  }
  Wake([](ClassId, const PodClass& pod_class) { return pod_class.volumes != nullptr; });
  if (kind != VolumeKind::kPersistentVolumeClaim) return;
  const std::string claim = (after ? after : before)->meta.Key();
  for (const auto& [pod, binding] : binding_) {
    if (std::find(binding.claims.begin(), binding.claims.end(), claim) == binding.claims.end()) continue;
    queue_.Hurry(pod);
    Run();
  }
}

void Scheduler::OnNode(const NodePointer& before, const NodePointer& after) {
  if (after == nullptr) {
    snapshot_.RemoveNode(before->meta.name);
    Wake([](ClassId, const PodClass& pod_class) { return LooksAround(pod_class); });
    return;
  }
  const bool same = before && before->taints == after->taints && before->allocatable == after->allocatable &&
                    before->unschedulable == after->unschedulable && before->meta.labels == after->meta.labels;
  if (same) return;
  const NodeId node = snapshot_.UpsertNode(*after);
  Wake([&](ClassId id, const PodClass& pod_class) { return LooksAround(pod_class) || snapshot_.Fits(id, node); });
}

bool Scheduler::Wants(const kube::Pod& pod) const {
  return pod.node_name.empty() && !pod.terminal() && !pod.meta.deletion_time &&
         (pod.scheduler_name.empty() || pod.scheduler_name == "default-scheduler");
}

void Scheduler::PodLeft(NodeId node) {
  Wake([&](ClassId id, const PodClass& pod_class) {
    return LooksAround(pod_class) || (snapshot_.Present(node) && snapshot_.Fits(id, node));
  });
}

void Scheduler::DropPod(const std::string& key) {
  queue_.Remove(key);
  nominated_.erase(key);
  binding_.erase(key);
  const PodId pod = snapshot_.FindPod(key);
  if (pod == kNone) return;
  const NodeId node = snapshot_.NodeOf(pod);
  snapshot_.RemovePod(key);
  if (node != kNone) PodLeft(node);
}

void Scheduler::OnPod(const PodPointer& after, const std::string& key) {
  if (after == nullptr || after->terminal()) return DropPod(key);
  const PodId known = snapshot_.FindPod(key);
  const NodeId node_before = known == kNone ? kNone : snapshot_.NodeOf(known);
  const ClassId class_before = known == kNone ? kNone : snapshot_.ClassOf(known);
  const PodId pod = snapshot_.UpsertPod(*after->json);
  const NodeId node = snapshot_.NodeOf(pod);
  const bool changed = class_before != snapshot_.ClassOf(pod);
  if (node_before != kNone && (node != node_before || changed)) PodLeft(node_before);
  if (node != node_before && node != kNone) Wake([](ClassId, const PodClass& c) { return WantsCompany(c); });
  if (!Wants(*after)) {
    queue_.Remove(key);
    nominated_.erase(key);
    if (binding_.erase(key) > 0 && after->node_name.empty() && node != kNone) {
      snapshot_.Unplace(pod);
      PodLeft(node);
    }
    return;
  }
  if (after->nominated_node.empty()) {
    nominated_.erase(key);
  } else {
    nominated_[key] = after->nominated_node;
  }
  // Bound by us, or about to be: the cache is behind.
  if (node != kNone) return;
  if (queue_.Contains(key) && !changed) return;
  queue_.Add(key, after->priority, Monotonic());
  Run();
}

base::Result<Again> Scheduler::Reconcile(const std::string&) {
  if (const auto key = queue_.Pop(Monotonic())) Try(*key);
  const auto due = queue_.NextDue(Monotonic());
  if (!due) return Again{};
  if (*due <= Monotonic()) {
    Run();
    return Again{};
  }
  return Again{*due - Monotonic()};
}

void Scheduler::Try(const std::string& key) {
  const PodPointer pod = informers().pods().Get(key);
  const PodId id = snapshot_.FindPod(key);
  if (pod == nullptr || id == kNone || !Wants(*pod)) return queue_.Remove(key);
  if (const auto bound = binding_.find(key); bound != binding_.end()) {
    const Binding binding = bound->second;
    return FinishBinding(*pod, binding);
  }
  if (snapshot_.NodeOf(id) != kNone) return queue_.Remove(key);
  if (Gated(*pod)) {
    const auto written = WriteCondition(*pod, "SchedulingGated", kGated);
    return written ? queue_.Remove(key) : queue_.Retry(key, Monotonic());
  }
  const Choice choice = Choose(*pod, id);
  if (choice.node == kNone) return MarkUnschedulable(*pod, id, choice.message);
  Assign(*pod, id, choice.node);
}

Scheduler::Choice Scheduler::Choose(const kube::Pod& pod, PodId id) {
  if (nominated_.empty() || (nominated_.size() == 1 && nominated_.begin()->first == pod.meta.Key())) return ChooseNow(pod, id);
  // Pods that are promised a node count there, but for those that are less important than this one.
  messages_.clear();
  scheduling::WhatIf promised(snapshot_);
  for (const auto& [key, name] : nominated_) {
    const PodId other = snapshot_.FindPod(key);
    const NodeId node = snapshot_.FindNodeByName(name);
    if (other == kNone || other == id || node == kNone || !snapshot_.Present(node)) continue;
    if (snapshot_.NodeOf(other) == kNone && snapshot_.PriorityOf(other) >= pod.priority) snapshot_.Place(other, node);
  }
  Choice choice = ChooseNow(pod, id);
  messages_.clear();
  return choice;
}

Scheduler::Choice Scheduler::ChooseNow(const kube::Pod& pod, PodId id) {
  const ClassId pod_class = snapshot_.ClassOf(id);
  if (!pod.nominated_node.empty()) {
    const NodeId node = snapshot_.FindNodeByName(pod.nominated_node);
    if (node != kNone && snapshot_.Present(node) && snapshot_.Fits(pod_class, node)) return {node, ""};
  }
  if (const NodeId node = BestNode(pod_class); node != kNone) return {node, ""};
  const int32_t priority = snapshot_.PriorityOf(id);
  const auto [known, added] = messages_.try_emplace({pod_class, priority});
  if (added) known->second = snapshot_.FailureMessage(pod_class, priority);
  return {kNone, known->second};
}

NodeId Scheduler::BestNode(ClassId pod_class) {
  // Knows at once when nothing has changed since one of its like did not fit.
  const NodeId first = snapshot_.FindNode(pod_class);
  if (first == kNone || !snapshot_.classes()[pod_class].pinned_node.empty()) return first;
  int64_t cpu = 0, memory = 0;
  for (const scheduling::Amount& amount : snapshot_.Requests(pod_class)) {
    if (amount.resource == scheduling::kCpu) cpu = amount.amount;
    if (amount.resource == scheduling::kMemory) memory = amount.amount;
  }
  NodeId best = kNone;
  int64_t best_score = -1;
  for (const NodeId node : snapshot_.order()) {
    if (node == kNone) continue;
    const int64_t score = Score(node, cpu, memory);
    if (score <= best_score || !snapshot_.Fits(pod_class, node)) continue;
    best = node;
    best_score = score;
  }
  return best;
}

// What share of cpu and memory would be left with the pod on the node: more is better.
int64_t Scheduler::Score(NodeId node, int64_t cpu, int64_t memory) const {
  const auto left = [&](scheduling::ResourceId resource, int64_t asked) -> int64_t {
    const int64_t all = snapshot_.Allocatable(node, resource);
    if (all <= 0) return 0;
    const int64_t rest = std::max<int64_t>(0, snapshot_.Free(node, resource) - asked);
    return static_cast<int64_t>(1000.0 * static_cast<double>(rest) / static_cast<double>(all));
  };
  const int64_t score = left(scheduling::kCpu, cpu) + left(scheduling::kMemory, memory);
  // Pods that ask for nothing spread by number.
  const int64_t all = snapshot_.Allocatable(node, scheduling::kPods);
  const int64_t pods = all - snapshot_.Free(node, scheduling::kPods);
  return score * 1000 + 999 - std::clamp<int64_t>(999 * pods / std::max<int64_t>(1, all), 0, 999);
}

void Scheduler::Assign(const kube::Pod& pod, PodId id, NodeId node) {
  const std::string key = pod.meta.Key();
  const std::string name = snapshot_.NodeName(node);
  std::vector<std::string> claims;
  for (const auto* claim : snapshot_.classes()[snapshot_.ClassOf(id)].resolved.delayed) claims.push_back(claim->key);
  snapshot_.Place(id, node);
  Wake([](ClassId, const PodClass& pod_class) { return WantsCompany(pod_class); });
  if (claims.empty()) return Bind(pod, name);
  if (const auto selected = SelectNode(claims, name); !selected) {
    base::log::Debug("claims not told of their node", {{"pod", key}, {"error", selected.error()}});
    return GiveUp(key);
  }
  binding_[key] = {name, std::move(claims), Monotonic() + kBindLimit};
  queue_.Hold(key, Monotonic() + kBindLimit);
}

base::Status Scheduler::SelectNode(const std::vector<std::string>& claims, const std::string& node) {
  const Json patch = JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{kSelectedNode, node}}}}}};
  for (const std::string& claim : claims) {
    std::string ns, name;
    kube::SplitKey(claim, ns, name);
    EVENKEEL_TRY(api().Patch(ClaimKind(), ns, name, client::PatchType::kMerge, patch));
  }
  return {};
}

bool Scheduler::Bound(const std::string& claim) {
  const ObjectPointer found = informers().Of(ClaimKind()).Get(claim);
  return found != nullptr && !base::FindString(*found->json, {"spec", "volumeName"}).empty() &&
         base::FindString(*found->json, {"status", "phase"}) == "Bound";
}

void Scheduler::FinishBinding(const kube::Pod& pod, const Binding& binding) {
  const std::string key = pod.meta.Key();
  const bool bound = std::all_of(binding.claims.begin(), binding.claims.end(), [&](const auto& claim) { return Bound(claim); });
  if (bound) {
    binding_.erase(key);
    return Bind(pod, binding.node);
  }
  if (Monotonic() < binding.deadline) return queue_.Hold(key, binding.deadline);
  events().Warning(*pod.json, "FailedScheduling", "running PreBind plugin \"VolumeBinding\": binding volumes: timed out");
  GiveUp(key);
}

void Scheduler::GiveUp(const std::string& key) {
  binding_.erase(key);
  if (const PodId id = snapshot_.FindPod(key); id != kNone && snapshot_.NodeOf(id) != kNone) {
    const NodeId node = snapshot_.NodeOf(id);
    snapshot_.Unplace(id);
    PodLeft(node);
  }
  queue_.Retry(key, Monotonic());
}

void Scheduler::Bind(const kube::Pod& pod, const std::string& node) {
  const std::string key = pod.meta.Key();
  const Json binding =
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", JsonObject{{"name", pod.meta.name}, {"namespace", pod.meta.ns}, {"uid", pod.meta.uid}}},
                 {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  auto bound = api().Post(kube::resources::Pods(), pod.meta.ns, pod.meta.name, "binding", binding);
  if (!bound) {
    // Whether the pod is gone or somebody else has bound it, the cache will tell.
    const bool theirs = IsGone(bound.error()) || bound.error().code() == base::Code::kConflict;
    if (!theirs) events().Warning(*pod.json, "FailedScheduling", bound.error().message());
    return GiveUp(key);
  }
  queue_.Remove(key);
  events().Normal(*pod.json, "Scheduled", "Successfully assigned " + key + " to " + node);
}

void Scheduler::MarkUnschedulable(const kube::Pod& pod, PodId id, const std::string& message) {
  const std::string key = pod.meta.Key();
  const auto same = WriteCondition(pod, "Unschedulable", message);
  if (!same) return queue_.Retry(key, Monotonic());
  if (!*same) events().Warning(*pod.json, "FailedScheduling", message);
  queue_.Park(key, snapshot_.ClassOf(id), Monotonic());
}

base::Result<bool> Scheduler::WriteCondition(const kube::Pod& pod, const char* reason, const std::string& message) {
  const Json* condition = kube::FindCondition(*pod.json, "PodScheduled");
  if (condition != nullptr && base::FindString(*condition, {"status"}) == "False" &&
      base::FindString(*condition, {"reason"}) == reason && base::FindString(*condition, {"message"}) == message) {
    return true;
  }
  Json status = JsonObject{{"status", base::FindObject(*pod.json, {"status"})}};
  kube::SetCondition(status, "PodScheduled", "False", reason, message, Now());
  auto written = WriteStatus(api(), kube::resources::Pods(), *pod.json, *base::Find(status, {"status"}));
  if (!written && !IsGone(written.error())) return base::Fail(written.error());
  return false;
}

}  // namespace evenkeel::embedded::workloads
