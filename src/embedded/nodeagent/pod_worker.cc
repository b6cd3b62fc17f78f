#include "embedded/nodeagent/pod_worker.h"

#include <algorithm>

#include "base/log.h"
#include "base/parse_number.h"
#include "embedded/nodeagent/pod_claims.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using Role = ContainerRecord::Role;
using State = ContainerRecord::State;

// Versions of one API's objects are numbers that grow; anything else cannot be compared and counts as newer.
bool IsOlder(const std::string& version, const std::string& than) {
  const auto left = base::ParseNumber<uint64_t>(version), right = base::ParseNumber<uint64_t>(than);
  return left && right && *left < *right;
}

}  // namespace

PodWorker::PodWorker(WorkerHost host, ContainerRuntime& runtime, std::shared_ptr<const kube::Pod> pod)
    : host_(std::move(host)), runtime_(runtime), pod_(std::move(pod)), record_(RecallRecord(*pod_->json)) {
  identity_ = {pod_->meta.ns, pod_->meta.name, pod_->meta.uid, host_.node, record_.ip, host_.host_ip};
  record_.host_ip = host_.host_ip;
  slots_.resize(record_.init.size() + record_.main.size());
  size_t index = 0;
  for (ContainerRecord& container : record_.init) slots_[index++].record = &container;
  for (ContainerRecord& container : record_.main) slots_[index++].record = &container;
  terminal_ = pod_->terminal();
}

PodWorker::~PodWorker() = default;

std::function<void()> PodWorker::Guarded(std::function<void()> action) {
  return [weak = std::weak_ptr(alive_), action = std::move(action)] {
    if (!weak.expired()) action();
  };
}

void PodWorker::Begin() {
  if (!terminal_) {
    if (!record_.start_time) record_.start_time = host_.clock.Now();
    Recall();
  } else if (!std::exchange(released_, true)) {
    host_.released();
  }
  Sync();
}

// What was running when the last agent stopped either still runs, or is lost and counts as ended.
void PodWorker::Recall() {
  for (Slot& slot : slots_) {
    ContainerRecord& container = *slot.record;
    if (container.state != State::kRunning) continue;
    if (runtime_.SurvivesAgent()) {
      StartNow(slot, container.running_since);
      continue;
    }
    container.last = Termination{137,
                                 0,
                                 "ContainerStatusUnknown",
                                 "The container could not be located when the node agent started",
                                 container.running_since,
                                 host_.clock.Now(),
                                 container.id};
    container.state = State::kTerminated;
    container.ready = container.started = false;
  }
}

void PodWorker::Reject(std::string_view reason, std::string_view message) {
  record_.phase_override = "Failed";
  record_.reason = reason;
  record_.message = message;
  record_.start_time = host_.clock.Now();
  terminal_ = true;
  Event(true, reason, message);
  MarkDirty();
}

void PodWorker::Update(std::shared_ptr<const kube::Pod> pod) {
  if (IsOlder(pod->meta.resource_version, pod_->meta.resource_version)) return;
  const bool relabelled = pod->meta.labels != pod_->meta.labels || pod->meta.annotations != pod_->meta.annotations;
  pod_ = std::move(pod);
  if (relabelled && record_.sandbox && runtime_.NeedsConfiguration()) {
    if (auto status = SyncVolumes(); !status)
      base::log::Warn("volumes not updated", {{"pod", identity_.Key()}, {"error", status.error()}});
  }
  if (pod_->terminal() && !std::exchange(terminal_, true)) {
    // Somebody else declared it over (an eviction, a controller): what still runs has to go.
    for (Slot& slot : slots_) {
      slot.start_timer.Cancel();
      slot.start_pending = false;
      if (slot.running) Stop(slot, std::chrono::seconds(pod_->termination_grace_seconds), "");
    }
  }
  Sync();
}

void PodWorker::ConfigurationChanged(const std::string& reference) {
  if (!record_.sandbox || !runtime_.NeedsConfiguration() || terminal_) return;
  const std::vector<std::string> references = VolumeReferences(*pod_->json);
  if (!std::ranges::binary_search(references, reference)) return;
  if (auto status = SyncVolumes(); !status) {
    base::log::Warn("volumes not updated", {{"pod", identity_.Key()}, {"cause", reference}, {"error", status.error()}});
  }
}

void PodWorker::Forget() {
  for (Slot& slot : slots_) slot.running.reset();
  runtime_.RemovePod(identity_);
  if (host_.logs != nullptr) host_.logs->Forget(identity_.Key(), identity_.uid);
}

void PodWorker::Sync() {
  if (pod_->meta.deletion_time) {
    SyncTermination();
  } else if (!terminal_) {
    SyncContainers();
  }
  MarkDirty();
}

bool PodWorker::AnyRunning(bool sidecars) const {
  return std::ranges::any_of(
      slots_, [&](const Slot& slot) { return slot.running && (slot.record->role == Role::kSidecar) == sidecars; });
}

void PodWorker::SyncContainers() {
  if (!PrepareSandbox()) return;
  const bool begun = std::ranges::any_of(record_.main, [](const auto& c) { return c.state != State::kWaiting || c.last; });
  bool initialized = true;
  for (Slot& slot : slots_) {
    const ContainerRecord& container = *slot.record;
    if (container.role == Role::kInit) {
      if (begun || container.Succeeded() || !initialized) continue;
      initialized = false;
      EnsureRunning(slot);
    } else if (container.role == Role::kSidecar) {
      if (!initialized) continue;
      EnsureRunning(slot);
      initialized = begun || (container.state == State::kRunning && container.started);
    } else if (initialized) {
      EnsureRunning(slot);
    }
  }
  const std::string& policy = pod_->restart_policy;
  const auto over = [&](const ContainerRecord& container) {
    return container.state == State::kTerminated && !ShouldRestart(policy, container.role, container.last->exit_code);
  };
  const bool init_failed = std::ranges::any_of(
      record_.init, [&](const auto& c) { return c.role == Role::kInit && over(c) && c.last->exit_code != 0; });
  if (!init_failed && !std::ranges::all_of(record_.main, over)) return;
  for (Slot& slot : slots_) {
    slot.start_timer.Cancel();
    slot.start_pending = false;
    if (slot.running) Stop(slot, std::chrono::seconds(pod_->termination_grace_seconds), "");
  }
  if (AnyRunning(true)) return;
  for (Slot& slot : slots_) {
    if (slot.record->role == Role::kSidecar && slot.record->last) slot.record->state = State::kTerminated;
  }
  terminal_ = true;
}

void PodWorker::EnsureRunning(Slot& slot) {
  ContainerRecord& container = *slot.record;
  if (slot.running || slot.start_pending) return;
  if (container.state != State::kTerminated && !container.last) return ScheduleStart(slot, {});
  if (!ShouldRestart(pod_->restart_policy, container.role, container.last->exit_code)) return;
  const base::Duration back_off = slot.backoff.DelayAfter(container.last->finished);
  const base::Duration left = back_off - (host_.clock.Now() - container.last->finished);
  if (left <= base::Duration::zero()) return ScheduleStart(slot, {});
  container.state = State::kWaiting;
  container.waiting_reason = "CrashLoopBackOff";
  const std::string pod_name = fmt::format("{}_{}({})", identity_.name, identity_.ns, identity_.uid);
  container.waiting_message = fmt::format("back-off {} restarting failed container={} pod={}", base::FormatDuration(back_off),
                                          container.name, pod_name);
  Event(true, "BackOff", fmt::format("Back-off restarting failed container {} in pod {}", container.name, pod_name));
  ScheduleStart(slot, left);
}

bool PodWorker::PrepareSandbox() {
  if (record_.sandbox) return true;
  if (record_.ip.empty()) {
    const bool host_network = base::FindBool(*pod_->json, {"spec", "hostNetwork"});
    auto address = host_network ? std::optional(host_.host_ip) : host_.allocate_address(runtime_.UsesLoopback());
    if (!address) {
      Event(true, "FailedCreatePodSandBox", "Failed to create pod sandbox: no free pod address is left on the node");
      RetryAfter(std::chrono::seconds(5));
      return false;
    }
    record_.ip = *std::move(address);
  }
  identity_.ip = record_.ip;
  if (runtime_.NeedsConfiguration()) {
    if (auto status = SyncVolumes(); !status) {
      Event(true, "FailedMount", status.error().message());
      RetryAfter(std::chrono::seconds(2));
      return false;
    }
  }
  if (auto status = CheckDeviceClaims(host_.client, *pod_); !status) {
    Event(true, "FailedPrepareDynamicResources",
          "Failed to prepare dynamic resources: prepare dynamic resources: " + status.error().message());
    RetryAfter(std::chrono::seconds(2));
    return false;
  }
  record_.sandbox = true;
  return true;
}

base::Status PodWorker::SyncVolumes() {
  const DataLookup lookup = Lookup();
  EVENKEEL_ASSIGN(const std::vector<Volume> volumes, ResolveVolumes({*pod_->json, identity_, lookup, host_.allocatable}));
  return runtime_.SyncVolumes(identity_, volumes);
}

// Containers first, then the sidecars that they may need to the end; then the last status and the final delete.
void PodWorker::SyncTermination() {
  record_.terminating = true;
  const int64_t asked = pod_->meta.deletion_grace_seconds.value_or(pod_->termination_grace_seconds);
  const bool sooner = !grace_ || asked < *grace_;
  if (sooner) grace_ = asked;
  for (Slot& slot : slots_) {
    slot.start_timer.Cancel();
    slot.start_pending = false;
    if (!slot.running && slot.record->state == State::kWaiting && slot.record->last) slot.record->state = State::kTerminated;
  }
  const bool main_running = AnyRunning(false);
  for (Slot& slot : slots_) {
    if (!slot.running || (slot.record->role == Role::kSidecar && main_running)) continue;
    if (slot.stopping && !sooner) continue;
    Stop(slot, std::chrono::seconds(std::max<int64_t>(*grace_, 0)), fmt::format("Stopping container {}", slot.record->name));
  }
  if (!main_running && !AnyRunning(true)) FinishTermination();
}

}  // namespace evenkeel::embedded::nodeagent
