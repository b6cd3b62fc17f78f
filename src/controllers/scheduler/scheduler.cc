#include "controllers/scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace evenkeel::controllers::scheduler {
namespace {

using scheduling::ClassId;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodClass;
using scheduling::PodId;

/// Changes that come in swarms are waited for: pods spread better when all nodes are there.
constexpr base::Duration kSwarm = std::chrono::milliseconds(20);

/// A claim has yet to be made from a template: it is told of when it is there.
bool WaitsForClaims(const kube::Pod& pod) {
  if (base::FindArray(*pod.json, {"spec", "resourceClaims"}).empty()) return false;
  return std::ranges::any_of(scheduling::DecodePodDevices(*pod.json).claims, [](const scheduling::PodDeviceClaim& claim) {
    return claim.claim.empty() && !claim.template_name.empty() && !claim.not_needed;
  });
}

bool Gated(const kube::Pod& pod) { return !base::FindArray(*pod.json, {"spec", "schedulingGates"}).empty(); }

}  // namespace

bool WantsCompany(const PodClass& pod_class) {
  return !pod_class.topology.affinity.empty() || !pod_class.topology.spread.empty();
}

bool LooksAround(const PodClass& pod_class) { return !pod_class.topology.empty() || pod_class.volumes != nullptr; }

Scheduler::Scheduler(SchedulerContext context, SchedulerOptions options)
    : context_(std::move(context)),
      options_(std::move(options)),
      snapshot_(context_.mirror.snapshot()),
      book_(snapshot_),
      devices_(context_.client, context_.clock, context_.random) {
  context_.mirror.AddListener(*this);
}

void Scheduler::Wake(const std::function<bool(ClassId, const PodClass&)>& concerned) {
  messages_.clear();
  std::vector<ClassId> woken;
  for (const auto& [pod_class, keys] : queue_.parked()) {
    if (concerned(pod_class, snapshot_.classes()[pod_class])) woken.push_back(pod_class);
  }
  if (woken.empty()) return;
  for (const ClassId pod_class : woken) queue_.Wake(pod_class, Monotonic());
  context_.call(kSwarm);
}

bool Scheduler::Wants(const kube::Pod& pod) const {
  return pod.node_name.empty() && !pod.terminal() && !pod.meta.deletion_time && options_.names.contains(pod.scheduler_name);
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
  if (WaitsForClaims(*pod)) return queue_.Park(key, snapshot_.ClassOf(id), Monotonic());
  // Of an attempt that came no further, maybe of another replica: its devices can be those of another node than the one that
  // would be chosen now, and it would be taken for the claim of this attempt.
  if (const std::string left = snapshot_.ExtendedClaimOf(id); !left.empty()) {
    devices_.GiveUpExtended(*pod, left, snapshot_);
    return queue_.Retry(key, Monotonic());
  }
  const Choice choice = Choose(*pod, id);
  if (choice.node == kNone) {
    if (snapshot_.classes()[snapshot_.ClassOf(id)].may_want_devices() && devices_.GiveUpAllocation(*pod, snapshot_)) {
      return queue_.Retry(key, Monotonic());
    }
    return MarkUnschedulable(*pod, id, choice.message);
  }
  Assign(*pod, id, choice.node);
  Wake([](ClassId, const PodClass& pod_class) { return WantsCompany(pod_class); });
}

}  // namespace evenkeel::controllers::scheduler
