#include "base/log.h"
#include "embedded/nodeagent/pod_worker.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Find;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using State = ContainerRecord::State;

constexpr base::Duration kWriteRetry = std::chrono::seconds(1);

// A strategic patch from one status to another: conditions are merged by type, so only those that changed are named, and what
// other writers put beside them stays.
Json StatusPatch(const Json& before, const Json& after) {
  Json patch = base::DiffMergePatch(before, after);
  if (Find(patch, {"conditions"}) == nullptr) return patch;
  JsonArray changed;
  const Json old_holder = {{"status", before}};
  for (const Json& condition : base::FindArray(after, {"conditions"})) {
    const Json* old = kube::FindCondition(old_holder, base::FindString(condition, {"type"}));
    if (old != nullptr && base::Equal(*old, condition)) continue;
    Json entry = condition;
    for (const std::string_view key : {"reason", "message"}) {
      if (Find(condition, {key}) == nullptr && old != nullptr && Find(*old, {key}) != nullptr)
        entry.get_object()[key] = nullptr;
    }
    changed.push_back(std::move(entry));
  }
  patch.get_object()["conditions"] = std::move(changed);
  return patch;
}

}  // namespace

void PodWorker::MarkDirty() {
  if (std::exchange(dirty_, true)) return;
  host_.strand->Post(Guarded([this] {
    if (dirty_) Flush();
  }));
}

void PodWorker::RetryAfter(base::Duration delay) {
  retry_ = host_.strand->PostAfter(delay, Guarded([this] { Sync(); }));
}

void PodWorker::Event(bool warning, std::string_view reason, std::string_view message) {
  if (host_.events == nullptr) return;
  if (warning) {
    host_.events->Warning(*pod_->json, reason, message);
  } else {
    host_.events->Normal(*pod_->json, reason, message);
  }
}

// True when the API shows what the record says.
bool PodWorker::Flush() {
  dirty_ = false;
  PublishLogs();
  if (!record_.start_time) return true;
  const bool held = runtime_.HoldsUnready(*pod_);
  for (Slot& slot : slots_) {
    slot.record->ready = slot.running && slot.record->started && slot.readiness_passed && !held;
  }
  const bool already_terminal = pod_->terminal();
  const Json* current = Find(*pod_->json, {"status"});
  const Json before = current != nullptr && current->is_object() ? *current : Json(JsonObject());
  bool written = true;
  if (!already_terminal) {
    const Json after = ComputeStatus(*pod_->json, record_, host_.clock.Now());
    if (!base::Equal(before, after)) {
      const Json patch = {{"metadata", {{"uid", identity_.uid}}}, {"status", StatusPatch(before, after)}};
      auto stored = host_.client.Patch(kube::resources::Pods(), identity_.ns, identity_.name, client::PatchType::kStrategic,
                                       patch, {.subresource = "status", .field_manager = "kubelet"});
      if (stored) {
        pod_ = std::make_shared<const kube::Pod>(kube::Pod::Decode(*stored));
      } else if (stored.error().code() != base::Code::kNotFound) {
        base::log::Warn("pod status not written", {{"pod", identity_.Key()}, {"error", stored.error()}});
        written = false;
        RetryAfter(kWriteRetry);
      }
    }
  }
  if (terminal_ && written && !std::exchange(released_, true)) host_.released();
  return written;
}

void PodWorker::PublishLogs() {
  if (host_.logs == nullptr) return;
  PodLogEntry entry;
  entry.uid = identity_.uid;
  entry.simulated = !runtime_.NeedsCommand();
  for (const Slot& slot : slots_) {
    const ContainerRecord& record = *slot.record;
    PodLogEntry::Container container;
    container.name = record.name;
    if (record.state == State::kWaiting && !record.last) container.waiting_reason = record.waiting_reason;
    container.path = runtime_.LogPath(identity_.uid, record.name, record.restarts);
    container.running = slot.running != nullptr;
    container.has_previous = record.restarts > 0;
    if (record.restarts > 0) container.previous_path = runtime_.LogPath(identity_.uid, record.name, record.restarts - 1);
    entry.containers.push_back(std::move(container));
  }
  host_.logs->Record(identity_.Key(), std::move(entry));
}

// Nothing runs any more: says so, then lets the object go. Finalizers may keep it; that is then no business of ours.
void PodWorker::FinishTermination() {
  if (delete_sent_ || !Flush()) return;
  client::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.uid = identity_.uid;
  const auto deleted = host_.client.Delete(kube::resources::Pods(), identity_.ns, identity_.name, options);
  if (!deleted && deleted.error().code() != base::Code::kNotFound && deleted.error().code() != base::Code::kConflict) {
    base::log::Warn("pod not deleted", {{"pod", identity_.Key()}, {"error", deleted.error()}});
    RetryAfter(kWriteRetry);
    return;
  }
  delete_sent_ = true;
  if (!std::exchange(released_, true)) host_.released();
}

}  // namespace evenkeel::embedded::nodeagent
