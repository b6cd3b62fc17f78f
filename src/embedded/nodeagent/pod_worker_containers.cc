#include <algorithm>

#include "embedded/nodeagent/pod_worker.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Find;
using base::Json;
using Role = ContainerRecord::Role;
using State = ContainerRecord::State;

constexpr std::string_view kProbeNames[] = {"Startup", "Liveness", "Readiness"};
constexpr std::string_view kProbeFields[] = {"startupProbe", "livenessProbe", "readinessProbe"};
constexpr base::Duration kConfigurationRetry = std::chrono::seconds(10);

}  // namespace

const Json* PodWorker::Spec(const Slot& slot) const {
  const std::string_view list = slot.record->role == Role::kMain ? "containers" : "initContainers";
  for (const Json& container : base::FindArray(*pod_->json, {"spec", list})) {
    if (base::FindString(container, {"name"}) == slot.record->name) return &container;
  }
  return nullptr;
}

DataLookup PodWorker::Lookup() const {
  return [&client = host_.client, ns = identity_.ns](std::string_view kind,
                                                     std::string_view name) -> base::Result<kube::DataObject> {
    const kube::Resource& resource = kind == "secret" ? kube::resources::Secrets() : kube::resources::ConfigMaps();
    EVENKEEL_ASSIGN(const Json object, client.Get(resource, ns, name));
    return kube::DataObject::Decode(object);
  };
}

ContainerStart PodWorker::MakeStart(const Slot& slot) const {
  ContainerStart start;
  start.pod = identity_;
  start.spec = pod_;
  start.container = slot.record->name;
  start.image = slot.record->image;
  start.attempt = slot.record->restarts + (slot.record->last ? 1 : 0);
  start.init = slot.record->role == Role::kInit;
  start.runs_to_completion = start.init || (slot.record->role == Role::kMain &&
                                            (pod_->restart_policy == "Never" || pod_->restart_policy == "OnFailure"));
  return start;
}

void PodWorker::ScheduleStart(Slot& slot, base::Duration wait) {
  slot.start_pending = true;
  slot.start_timer = host_.strand->PostAfter(wait + runtime_.StartDelay(MakeStart(slot)), Guarded([this, &slot] {
                                               slot.start_pending = false;
                                               StartNow(slot, std::nullopt);
                                               Sync();
                                             }));
}

base::Status PodWorker::Configure(const Json& spec, ContainerStart& start, std::string& reason) {
  reason = "CreateContainerConfigError";
  if (runtime_.NeedsConfiguration()) {
    const DataLookup lookup = Lookup();
    EVENKEEL_TRY(ConfigureContainer(spec, {*pod_->json, identity_, lookup, host_.allocatable},
                                    runtime_.BaseEnvironment(identity_), start));
  }
  reason = "CreateContainerError";
  if (runtime_.NeedsCommand() && start.command.empty()) {
    return base::Fail(
        base::Code::kInvalid,
        fmt::format("container {} has no command: a pod with the annotation evenkeel.dev/runtime: process runs a local "
                    "program, not image {}; set containers[].command",
                    start.container, start.image));
  }
  return {};
}

void PodWorker::StartNow(Slot& slot, std::optional<base::Time> running_since) {
  ContainerRecord& container = *slot.record;
  const Json* spec = Spec(slot);
  if (spec == nullptr) return;
  ContainerStart start = MakeStart(slot);
  const base::Time now = host_.clock.Now();
  if (running_since) {
    start.running_since = running_since;
    start.attempt = container.restarts;
  }
  std::string reason;
  if (auto configured = Configure(*spec, start, reason); !configured) {
    container.state = State::kWaiting;
    container.waiting_reason = reason;
    container.waiting_message = configured.error().message();
    Event(true, "Failed", fmt::format("Error: {}", configured.error().message()));
    ScheduleStart(slot, kConfigurationRetry);
    return;
  }
  if (!running_since && container.last) slot.backoff.RecordRestart(container.last->finished, now);
  container.restarts = start.attempt;
  container.running_since = running_since.value_or(now);
  const auto exited = [weak = std::weak_ptr(alive_), this, &slot](const ContainerExit& exit) {
    if (!weak.expired()) Exited(slot, exit);
  };
  auto running = runtime_.Start(start, host_.strand, exited);
  if (!running) {
    Event(true, "Failed", fmt::format("Error: {}", running.error().message()));
    container.last = Termination{128, 0, "StartError", running.error().message(), now, now, ""};
    container.state = State::kTerminated;
    return;
  }
  slot.running = *std::move(running);
  slot.stopping = false;
  container.id = slot.running->id();
  container.state = State::kRunning;
  if (!running_since) {
    Event(false, "Created", fmt::format("Created container {}", container.name));
    Event(false, "Started", fmt::format("Started container {}", container.name));
  }
  slot.readiness_passed = false;
  container.started = false;
  StartProbes(slot);
}

void PodWorker::Exited(Slot& slot, const ContainerExit& exit) {
  ContainerRecord& container = *slot.record;
  container.last = Termination{exit.exit_code,
                               exit.signal,
                               exit.reason.empty() ? (exit.exit_code == 0 ? "Completed" : "Error") : exit.reason,
                               exit.message,
                               container.running_since,
                               host_.clock.Now(),
                               container.id};
  container.state = State::kTerminated;
  container.started = container.ready = false;
  slot.readiness_passed = slot.stopping = false;
  slot.kill_timer.Cancel();
  slot.hook_timer.Cancel();
  for (auto& probing : slot.probes) probing.reset();
  slot.running.reset();
  Sync();
}

void PodWorker::Stop(Slot& slot, base::Duration grace, std::string_view message) {
  const bool again = std::exchange(slot.stopping, true);
  if (again && message.empty()) return;
  if (!again && !message.empty()) Event(false, "Killing", message);
  for (const ProbeKind kind : {kStartup, kLiveness}) slot.probes[kind].reset();
  if (grace <= base::Duration::zero()) {
    slot.running->Signal(SIGKILL);
    return;
  }
  slot.kill_timer = host_.strand->PostAfter(grace, Guarded([&slot] {
                                              if (slot.running) slot.running->Signal(SIGKILL);
                                            }));
  if (!again) RunPreStop(slot, grace);
}

// The hook's time is part of the grace period; whatever becomes of it, SIGTERM follows.
void PodWorker::RunPreStop(Slot& slot, base::Duration grace) {
  const Json* spec = Spec(slot);
  const Json* hook = spec == nullptr ? nullptr : Find(*spec, {"lifecycle", "preStop"});
  const auto terminate = [&slot] {
    if (slot.running) slot.running->Signal(SIGTERM);
  };
  if (hook == nullptr) return terminate();
  if (const Json* sleep = Find(*hook, {"sleep"})) {
    slot.hook_timer = host_.strand->PostAfter(std::chrono::seconds(base::FindInt(*sleep, {"seconds"})), Guarded(terminate));
    return;
  }
  auto action = DecodeAction(*hook, *spec, identity_.ip);
  if (!action) {
    Event(true, "FailedPreStopHook", action.error().message());
    return terminate();
  }
  slot.running->Probe(*action, grace, [this, weak = std::weak_ptr(alive_), terminate](const ProbeResult& result) {
    if (weak.expired()) return;
    if (!result.success) Event(true, "FailedPreStopHook", fmt::format("PreStopHook failed: {}", result.message));
    terminate();
  });
}

void PodWorker::StartProbes(Slot& slot) {
  const Json* spec = Spec(slot);
  if (Find(*spec, {kProbeFields[kStartup]}) != nullptr) return StartProbe(slot, kStartup);
  slot.record->started = true;
  slot.readiness_passed = Find(*spec, {kProbeFields[kReadiness]}) == nullptr;
  for (const ProbeKind kind : {kLiveness, kReadiness}) {
    if (Find(*spec, {kProbeFields[kind]}) != nullptr) StartProbe(slot, kind);
  }
}

void PodWorker::StartProbe(Slot& slot, ProbeKind kind) {
  const Json* spec = Spec(slot);
  auto probe = DecodeProbe(*Find(*spec, {kProbeFields[kind]}), *spec, identity_.ip);
  if (!probe) {
    // A probe that can never be carried out never passes, and kills nothing.
    Event(true, "Unhealthy", fmt::format("{} probe errored: {}", kProbeNames[kind], probe.error().message()));
    return;
  }
  const ProbeTracker tracker(probe->success_threshold, probe->failure_threshold);
  slot.probes[kind] = std::make_unique<Probing>(*std::move(probe), tracker, base::Timer());
  const base::Duration running = host_.clock.Now() - slot.record->running_since;
  ScheduleProbe(slot, kind, std::max(base::Duration::zero(), slot.probes[kind]->spec.initial_delay - running));
}

void PodWorker::ScheduleProbe(Slot& slot, ProbeKind kind, base::Duration delay) {
  slot.probes[kind]->timer = host_.strand->PostAfter(delay, Guarded([this, &slot, kind] { ProbeNow(slot, kind); }));
}

void PodWorker::ProbeNow(Slot& slot, ProbeKind kind) {
  if (!slot.running || !slot.probes[kind]) return;
  const ProbeSpec& spec = slot.probes[kind]->spec;
  slot.running->Probe(
      spec.action, spec.timeout,
      [this, weak = std::weak_ptr(alive_), &slot, kind, attempt = slot.record->restarts](const ProbeResult& result) {
        if (weak.expired() || !slot.running || !slot.probes[kind] || slot.record->restarts != attempt) return;
        Probed(slot, kind, result);
      });
}

void PodWorker::Probed(Slot& slot, ProbeKind kind, const ProbeResult& result) {
  std::optional<bool> outcome = slot.probes[kind]->tracker.Record(result.success);
  if (result.success && slot.running->ProbesAreConstant()) {
    outcome = true;
  } else {
    ScheduleProbe(slot, kind, slot.probes[kind]->spec.period);
  }
  if (!result.success) Event(true, "Unhealthy", fmt::format("{} probe failed: {}", kProbeNames[kind], result.message));
  if (!outcome) return;
  if (kind == kReadiness) {
    if (std::exchange(slot.readiness_passed, *outcome) != *outcome) MarkDirty();
    return;
  }
  if (!*outcome) {
    const int64_t grace = slot.probes[kind]->spec.grace_seconds.value_or(pod_->termination_grace_seconds);
    Stop(slot, std::chrono::seconds(grace),
         fmt::format("Container {} failed {} probe, will be restarted", slot.record->name,
                     kind == kStartup ? "startup" : "liveness"));
    return;
  }
  if (kind != kStartup) return;
  slot.probes[kStartup].reset();
  slot.record->started = true;
  const Json* spec = Spec(slot);
  slot.readiness_passed = Find(*spec, {kProbeFields[kReadiness]}) == nullptr;
  for (const ProbeKind next : {kLiveness, kReadiness}) {
    if (Find(*spec, {kProbeFields[next]}) != nullptr) StartProbe(slot, next);
  }
  Sync();
}

}  // namespace evenkeel::embedded::nodeagent
