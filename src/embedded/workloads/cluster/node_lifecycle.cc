#include "embedded/workloads/cluster/node_lifecycle.h"

#include <algorithm>
#include <optional>

#include "embedded/workloads/pods/pods.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindArray;
using base::FindBool;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kLeaseNamespace = "kube-node-lease";

struct OwnTaint {
  const char* key;
  const char* effect;
  bool wanted;
};

bool IsReadyNode(const NodeItem& node) { return node.ready; }

}  // namespace

JsonArray TaintsOf(const Json& node, bool all_down, base::Time now) {
  const std::string_view ready = kube::ConditionStatus(node, "Ready");
  const bool unknown = ready == "Unknown", not_ready = ready == "False";
  const OwnTaint own[] = {
      {"node.kubernetes.io/not-ready", "NoSchedule", not_ready},
      {"node.kubernetes.io/unreachable", "NoSchedule", unknown},
      {"node.kubernetes.io/memory-pressure", "NoSchedule", kube::ConditionStatus(node, "MemoryPressure") == "True"},
      {"node.kubernetes.io/disk-pressure", "NoSchedule", kube::ConditionStatus(node, "DiskPressure") == "True"},
      {"node.kubernetes.io/pid-pressure", "NoSchedule", kube::ConditionStatus(node, "PIDPressure") == "True"},
      {"node.kubernetes.io/network-unavailable", "NoSchedule", kube::ConditionStatus(node, "NetworkUnavailable") == "True"},
      {"node.kubernetes.io/unschedulable", "NoSchedule", FindBool(node, {"spec", "unschedulable"})},
      {"node.kubernetes.io/not-ready", "NoExecute", not_ready && !all_down},
      {"node.kubernetes.io/unreachable", "NoExecute", unknown && !all_down},
  };
  JsonArray taints;
  std::vector<bool> present(std::size(own), false);
  for (const Json& taint : FindArray(node, {"spec", "taints"})) {
    bool keep = true;
    for (size_t i = 0; i < std::size(own); ++i) {
      if (FindString(taint, {"key"}) != own[i].key || FindString(taint, {"effect"}) != own[i].effect) continue;
      keep = own[i].wanted;
      present[i] = true;
    }
    if (keep) taints.push_back(taint);
  }
  for (size_t i = 0; i < std::size(own); ++i) {
    if (!own[i].wanted || present[i]) continue;
    taints.push_back(JsonObject{{"key", own[i].key}, {"effect", own[i].effect}, {"timeAdded", base::FormatTime(now)}});
  }
  return taints;
}

Json SilentStatus(const Json& node, base::Time now) {
  Json state = JsonObject{{"status", FindObject(node, {"status"})}};
  for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
    const Json* condition = kube::FindCondition(state, type);
    if (condition == nullptr) {
      kube::SetCondition(state, type, "Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.", now);
    } else if (FindString(*condition, {"status"}) != "Unknown") {
      kube::SetCondition(state, type, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", now);
    }
  }
  return *Find(state, {"status"});
}

NodeLifecycleController::NodeLifecycleController(Context& context) : Reconciler(context, "node-controller") {
  informers().nodes().AddHandler([this](const NodePointer& before, const NodePointer& after) {
    if (after == nullptr) heard_.erase(before->meta.name);
    if (after != nullptr) Listen(after->meta.name);
    Enqueue((after ? after : before)->meta.name);
    // Whether all are down decides on all taints.
    if (const bool down = AllDown(); down != were_all_down_) {
      were_all_down_ = down;
      for (const auto& [name, node] : informers().nodes().items()) Enqueue(name);
    }
  });
  informers().Of(kube::resources::Leases()).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const kube::ObjectMeta& meta = (after ? after : before)->meta;
    if (meta.ns != kLeaseNamespace || informers().nodes().Get(meta.name) == nullptr) return;
    Listen(meta.name);
    if (before == nullptr || after == nullptr) Enqueue(meta.name);
  });
}

bool NodeLifecycleController::AllDown() {
  const auto& nodes = informers().nodes().items();
  return !nodes.empty() &&
         std::none_of(nodes.begin(), nodes.end(), [](const auto& entry) { return IsReadyNode(*entry.second); });
}

void NodeLifecycleController::Listen(const std::string& name) {
  const NodePointer node = informers().nodes().Get(name);
  if (node == nullptr) return;
  std::string sign;
  if (const Json* ready = kube::FindCondition(*node->json, "Ready")) {
    // Our own verdict is no sign of life.
    if (FindString(*ready, {"status"}) != "Unknown") sign = FindString(*ready, {"lastHeartbeatTime"});
  }
  if (const ObjectPointer lease = informers().Of(kube::resources::Leases()).Get(std::string(kLeaseNamespace) + "/" + name)) {
    sign += "/" + std::string(FindString(*lease->json, {"spec", "renewTime"}));
  }
  auto [found, added] = heard_.try_emplace(name);
  if (!added && found->second.sign == sign) return;
  const bool silenced = !added && (sign.empty() || sign == "/");
  // Losing the heartbeat by being marked Unknown changes the sign too.
  const bool marked = kube::ConditionStatus(*node->json, "Ready") == "Unknown" && !added && found->second.sign.ends_with(sign);
  found->second.sign = sign;
  if (!silenced && !marked) found->second.at = context_.clock.Monotonic();
}

base::Status NodeLifecycleController::MarkPodsNotReady(const std::string& node) {
  for (const auto& [key, pod] : informers().PodsOn(node)) {
    if (!pod->ready) continue;
    Json state = JsonObject{{"status", FindObject(*pod->json, {"status"})}};
    const Json* ready = kube::FindCondition(state, "Ready");
    const std::string reason(FindString(*ready, {"reason"})), message(FindString(*ready, {"message"}));
    kube::SetCondition(state, "Ready", "False", reason, message, Now());
    EVENKEEL_TRY(UnlessGone(WriteStatus(api(), kube::resources::Pods(), *pod->json, *Find(state, {"status"}))));
    events().Warning(*pod->json, "NodeNotReady", "Node is not ready");
  }
  return {};
}

base::Result<Again> NodeLifecycleController::Reconcile(const std::string& key) {
  const NodePointer node = informers().nodes().Get(key);
  if (node == nullptr || node->meta.deletion_time) return Again{};
  Listen(key);
  Again again;
  Json current = *node->json;
  const base::Instant silent_at = heard_[key].at + kGrace;
  const base::Instant now = context_.clock.Monotonic();
  const std::string before(kube::ConditionStatus(current, "Ready"));
  if (now < silent_at) {
    again = silent_at - now;
  } else if (before != "Unknown") {
    auto written = WriteStatus(api(), kube::resources::Nodes(), current, SilentStatus(current, Now()));
    if (!written) return IsGone(written.error()) ? base::Result<Again>(Again{}) : base::Fail(written.error());
    current = *std::move(written);
    events().Normal(current, "NodeNotReady", "Node " + key + " status is now: NodeNotReady");
  }
  if (kube::ConditionStatus(current, "Ready") != "True" && !kube::ConditionStatus(current, "Ready").empty())
    EVENKEEL_TRY(MarkPodsNotReady(key));
  JsonArray taints = TaintsOf(current, AllDown(), Now());
  if (!base::Equal(Json(taints), Json(FindArray(current, {"spec", "taints"})))) {
    if (taints.empty()) {
      base::Erase(current, {"spec", "taints"});
    } else {
      base::Ensure(current, {"spec", "taints"}) = std::move(taints);
    }
    EVENKEEL_TRY(UnlessGone(api().Update(kube::resources::Nodes(), current)));
  }
  return again;
}

TaintEviction::TaintEviction(Context& context) : Reconciler(context, "taint-eviction-controller") {
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) {
    if (after == nullptr || after->node_name.empty()) return;
    const NodePointer node = informers().nodes().Get(after->node_name);
    if (node != nullptr && node->taints.empty()) return;
    if (before == nullptr || before->node_name != after->node_name) Enqueue(after->meta.Key());
  });
  informers().nodes().AddHandler([this](const NodePointer& before, const NodePointer& after) {
    if (after == nullptr || (before && before->taints == after->taints)) return;
    for (const auto& [key, pod] : informers().PodsOn(after->meta.name)) Enqueue(key);
  });
}

base::Result<Again> TaintEviction::Reconcile(const std::string& key) {
  const PodPointer pod = informers().pods().Get(key);
  if (pod == nullptr || pod->node_name.empty() || pod->meta.deletion_time || pod->terminal()) return Again{};
  const NodePointer node = informers().nodes().Get(pod->node_name);
  if (node == nullptr) return Again{};
  std::optional<base::Time> deadline;
  for (const Json& json : FindArray(*node->json, {"spec", "taints"})) {
    if (FindString(json, {"effect"}) != "NoExecute") continue;
    const kube::Taint taint{std::string(FindString(json, {"key"})), std::string(FindString(json, {"value"})), "NoExecute"};
    const base::Time since = std::max(TimeAt(json, {"timeAdded"}).value_or(pod->meta.creation_time), pod->meta.creation_time);
    std::optional<base::Time> until = since;
    for (const kube::Toleration& toleration : pod->tolerations) {
      if (!toleration.Tolerates(taint)) continue;
      if (!toleration.seconds) {
        until.reset();
        break;
      }
      until = std::max(*until, since + std::chrono::seconds(std::max<int64_t>(0, *toleration.seconds)));
    }
    if (until && (!deadline || *until < *deadline)) deadline = until;
  }
  if (!deadline) return Again{};
  if (*deadline > Now()) return Again(*deadline - Now());
  Json state = JsonObject{{"status", FindObject(*pod->json, {"status"})}};
  kube::SetCondition(state, "DisruptionTarget", "True", "DeletionByTaintManager",
                     "Taint manager: deleting due to NoExecute taint", Now());
  auto written = WriteStatus(api(), kube::resources::Pods(), *pod->json, *Find(state, {"status"}));
  if (!written) return IsGone(written.error()) ? base::Result<Again>(Again{}) : base::Fail(written.error());
  events().Normal(*pod->json, "TaintManagerEviction", "Marking for deletion Pod " + key);
  client::DeleteOptions options;
  options.uid = pod->meta.uid;
  EVENKEEL_TRY(UnlessGone(api().Delete(kube::resources::Pods(), pod->meta.ns, pod->meta.name, options)));
  return Again{};
}

}  // namespace evenkeel::embedded::workloads
