// From the choice of a node to the binding, and what is said where there is no choice.
// Follows: kubernetes@1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
#include <algorithm>

#include "base/log.h"
#include "controllers/scheduler/event_kinds.h"
#include "controllers/scheduler/scheduler.h"

namespace evenkeel::controllers::scheduler {
namespace {

using base::Json;
using base::JsonObject;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

constexpr char kGated[] = "Scheduling is blocked due to non-empty scheduling gates";
/// How long claims have to be bound.
constexpr base::Duration kBindLimit = std::chrono::minutes(10);
/// How long an API server may still carry out a request whose answer did not come: --request-timeout of kube-apiserver.
constexpr base::Duration kRequestLimit = std::chrono::minutes(1);

}  // namespace

void Scheduler::Assign(const kube::Pod& pod, PodId id, NodeId node) {
  const std::string key = pod.meta.Key();
  const std::string name = snapshot_.NodeName(node);
  std::vector<std::string> claims;
  for (const auto* claim : snapshot_.classes()[snapshot_.ClassOf(id)].resolved.delayed) claims.push_back(claim->key);
  // First the reservation: it may hold the devices that the pod is to have.
  const auto freed = book_.Take(pod, node);
  snapshot_.Place(id, node);
  if (freed) PodLeft(*freed);
  if (claims.empty()) return Bind(pod, name);
  if (const auto selected = SelectNode(claims, name); !selected) {
    base::log::Debug("claims not told of their node", {{"pod", key}, {"error", selected.error()}});
    return GiveUp(key);
  }
  binding_[key] = {name, std::move(claims), Monotonic() + kBindLimit};
  queue_.Hold(key, Monotonic() + kBindLimit);
}

base::Status Scheduler::SelectNode(const std::vector<std::string>& claims, const std::string& node) {
  for (const std::string& key : claims) {
    const auto claim = claims_.find(key);
    if (claim == claims_.end()) return base::Fail(base::Code::kNotFound, "there is no claim " + key);
    std::string ns, name;
    kube::SplitKey(key, ns, name);
    const Json patch =
        JsonObject{{"metadata", JsonObject{{"uid", claim->second.uid}, {"annotations", JsonObject{{kSelectedNode, node}}}}}};
    EVENKEEL_TRY(context_.client.Patch(kube::resources::PersistentVolumeClaims(), ns, name, client::PatchType::kMerge, patch));
  }
  return {};
}

void Scheduler::FinishBinding(const kube::Pod& pod, const Binding& binding) {
  const std::string key = pod.meta.Key();
  if (binding.asked) return AskAgain(pod, binding);
  const bool bound = std::all_of(binding.claims.begin(), binding.claims.end(), [&](const std::string& claim) {
    const auto found = claims_.find(claim);
    return found != claims_.end() && found->second.bound;
  });
  if (bound) return Bind(pod, binding.node);
  if (Monotonic() < binding.deadline) return queue_.Hold(key, binding.deadline);
  context_.events.Warning(*pod.json, events::kFailedScheduling.reason,
                          "running PreBind plugin \"VolumeBinding\": binding volumes: timed out");
  GiveUp(key);
}

bool Scheduler::WriteDevices(const kube::Pod& pod, const std::string& node) {
  const std::string key = pod.meta.Key();
  const PodId id = snapshot_.FindPod(key);
  const scheduling::PlacedDevices placed = id == kNone ? scheduling::PlacedDevices{} : snapshot_.DevicesOf(id);
  if (placed.empty() && !devices_.HasWritten(key)) return true;
  const auto written = devices_.Write(pod, placed, snapshot_);
  if (written) return true;
  const auto before = binding_.find(key);
  // What was sent may arrive yet: until then the devices are the pod's, and what it has reserved must not be taken back.
  const bool unknown = client::MayHaveTakenEffect(written.error().code());
  if (unknown) binding_[key] = {node, {}, Monotonic() + kRequestLimit, true};
  if (unknown || (before != binding_.end() && before->second.asked && Monotonic() < before->second.deadline)) {
    queue_.Retry(key, Monotonic());
    return false;
  }
  context_.events.Warning(*pod.json, events::kFailedScheduling.reason,
                          "running PreBind plugin \"DynamicResources\": " + written.error().message());
  GiveUp(key);
  return false;
}

void Scheduler::GiveUp(const std::string& key) {
  binding_.erase(key);
  if (const auto pod = waiting_.find(key); pod != waiting_.end()) devices_.TakeBack(*pod->second);
  if (const PodId id = snapshot_.FindPod(key); id != kNone && snapshot_.NodeOf(id) != kNone) {
    const NodeId node = snapshot_.NodeOf(id);
    snapshot_.Unplace(id);
    book_.GiveBack(key);
    PodLeft(node);
  }
  queue_.Retry(key, Monotonic());
}

void Scheduler::Bind(const kube::Pod& pod, const std::string& node) {
  const std::string key = pod.meta.Key();
  if (!WriteDevices(pod, node)) return;
  const Json binding =
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", JsonObject{{"name", pod.meta.name}, {"namespace", pod.meta.ns}, {"uid", pod.meta.uid}}},
                 {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  auto bound = context_.client.Post(kube::resources::Pods(), pod.meta.ns, pod.meta.name, "binding", binding);
  if (!bound) {
    const base::Code code = bound.error().code();
    const bool unknown = client::MayHaveTakenEffect(code);
    // Whether the pod is gone or bound already, the mirror will tell.
    const bool told = code == base::Code::kNotFound || code == base::Code::kConflict;
    if (!told) context_.events.Warning(*pod.json, events::kFailedScheduling.reason, bound.error().message());
    const auto before = binding_.find(key);
    const bool asked = before != binding_.end() && before->second.asked;
    if (code == base::Code::kNotFound || (!unknown && !asked && code != base::Code::kConflict)) return GiveUp(key);
    if (unknown || !asked) binding_[key] = {node, {}, Monotonic() + kRequestLimit, true};
    return queue_.Retry(key, Monotonic());
  }
  binding_.erase(key);
  devices_.Forget(key);
  queue_.Remove(key);
  context_.events.Normal(*pod.json, events::kScheduled.reason, "Successfully assigned " + key + " to " + node);
}

void Scheduler::AskAgain(const kube::Pod& pod, const Binding& binding) {
  const std::string key = pod.meta.Key();
  const PodId id = snapshot_.FindPod(key);
  const NodeId node = snapshot_.NodeOf(id);
  if (Monotonic() >= binding.deadline || node == kNone || !snapshot_.Present(node)) return GiveUp(key);
  const bool fits = [&] {
    const scheduling::WhatIf without_it(snapshot_);
    snapshot_.Unplace(id);
    return snapshot_.Fits(snapshot_.ClassOf(id), node);
  }();
  // Where it must not run any more it is not sent again, but it may arrive there yet.
  return fits ? Bind(pod, binding.node) : queue_.Hold(key, binding.deadline);
}

void Scheduler::MarkGated(const kube::Pod& pod) {
  const std::string key = pod.meta.Key();
  const auto written = WriteCondition(pod, "SchedulingGated", kGated);
  return written ? queue_.Remove(key) : queue_.Retry(key, Monotonic());
}

void Scheduler::MarkUnschedulable(const kube::Pod& pod, PodId id, const std::string& message) {
  const std::string key = pod.meta.Key();
  const auto same = WriteCondition(pod, "Unschedulable", message);
  if (!same) return queue_.Retry(key, Monotonic());
  if (!*same) context_.events.Warning(*pod.json, events::kFailedScheduling.reason, message);
  queue_.Park(key, snapshot_.ClassOf(id), Monotonic());
}

base::Result<bool> Scheduler::WriteCondition(const kube::Pod& pod, const char* reason, const std::string& message) {
  const Json* condition = kube::FindCondition(*pod.json, "PodScheduled");
  if (condition != nullptr && base::FindString(*condition, {"status"}) == "False" &&
      base::FindString(*condition, {"reason"}) == reason && base::FindString(*condition, {"message"}) == message) {
    return true;
  }
  Json changed = *pod.json;
  kube::SetCondition(changed, "PodScheduled", "False", reason, message, context_.clock.Now());
  auto written = context_.client.Update(kube::resources::Pods(), changed,
                                        {.subresource = "status", .field_manager = "", .dry_run = false});
  if (!written && written.error().code() != base::Code::kNotFound) return base::Fail(written.error());
  return false;
}

}  // namespace evenkeel::controllers::scheduler
