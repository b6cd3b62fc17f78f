#include "embedded/workloads/controllers/daemon_set.h"

#include <algorithm>

#include "embedded/workloads/pods/node_fit.h"
#include "embedded/workloads/pods/ownership.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindArray;
using base::FindBool;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

/// The node that a daemon's pod is on, or is pinned to.
std::string DaemonNodeOf(const kube::Pod& pod) {
  if (!pod.node_name.empty()) return pod.node_name;
  for (const auto& term : pod.required_node_terms) {
    for (const auto& field : term.fields) {
      if (field.key == "metadata.name" && field.op == "In" && field.values.size() == 1) return field.values[0];
    }
  }
  return "";
}

JsonArray DaemonTolerations(const Json& set) {
  JsonArray tolerations = FindArray(set, {"spec", "template", "spec", "tolerations"});
  auto add = [&](const char* key, const char* effect) {
    for (const Json& existing : tolerations) {
      if (FindString(existing, {"key"}) == key && FindString(existing, {"effect"}) == effect) return;
    }
    tolerations.push_back(JsonObject{{"key", key}, {"operator", "Exists"}, {"effect", effect}});
  };
  add("node.kubernetes.io/not-ready", "NoExecute");
  add("node.kubernetes.io/unreachable", "NoExecute");
  add("node.kubernetes.io/disk-pressure", "NoSchedule");
  add("node.kubernetes.io/memory-pressure", "NoSchedule");
  add("node.kubernetes.io/pid-pressure", "NoSchedule");
  add("node.kubernetes.io/unschedulable", "NoSchedule");
  if (FindBool(set, {"spec", "template", "spec", "hostNetwork"})) add("node.kubernetes.io/network-unavailable", "NoSchedule");
  return tolerations;
}

class DaemonPlanner {
 public:
  DaemonPlanner(const Json& set, const std::vector<PodPointer>& pods, const std::vector<NodePointer>& nodes,
                const std::string& hash, base::Time now)
      : set_(set), nodes_(nodes), hash_(hash), now_(now), min_ready_(FindInt(set, {"spec", "minReadySeconds"})) {
    for (const PodPointer& pod : pods) by_node_[DaemonNodeOf(*pod)].push_back(pod);
    Json probe =
        JsonObject{{"metadata", JsonObject{{"name", "probe"}}}, {"spec", FindObject(set, {"spec", "template", "spec"})}};
    base::Ensure(probe, {"spec", "tolerations"}) = DaemonTolerations(set);
    probe_ = kube::Pod::Decode(probe);
  }

  DaemonSetPlan Run() {
    for (const NodePointer& node : nodes_) Place(*node);
    for (const auto& [name, pods] : by_node_) {
      const bool known =
          std::any_of(nodes_.begin(), nodes_.end(), [&](const NodePointer& node) { return node->meta.name == name; });
      // Pods of nodes that are gone are the pod garbage collector's, pinned ones that were never bound are ours.
      for (const PodPointer& pod : pods) {
        if (!known && pod->node_name.empty()) Remove(pod);
      }
    }
    if (FindString(set_, {"spec", "updateStrategy", "type"}, "RollingUpdate") == "RollingUpdate") Roll();
    Status();
    return std::move(plan_);
  }

 private:
  bool ShouldRun(const kube::Node& node) const {
    if (!probe_.node_name.empty() && probe_.node_name != node.meta.name) return false;
    return MatchesNodeAffinity(probe_, node) && UntoleratedTaint(probe_, node.taints, true, true) == nullptr;
  }
  bool ShouldStay(const kube::Node& node) const {
    if (!probe_.node_name.empty() && probe_.node_name != node.meta.name) return false;
    return MatchesNodeAffinity(probe_, node) && UntoleratedTaint(probe_, node.taints, false, true) == nullptr;
  }
  bool IsNew(const kube::Pod& pod) const {
    auto label = pod.meta.labels.find("controller-revision-hash");
    return label != pod.meta.labels.end() && label->second == hash_;
  }
  bool Available(const kube::Pod& pod) const { return !pod.meta.deletion_time && IsAvailable(pod, min_ready_, now_); }
  void Remove(const PodPointer& pod) {
    if (!pod->meta.deletion_time && std::find(plan_.remove.begin(), plan_.remove.end(), pod) == plan_.remove.end()) {
      plan_.remove.push_back(pod);
    }
  }

  void Place(const kube::Node& node) {
    auto found = by_node_.find(node.meta.name);
    const std::vector<PodPointer> none;
    const auto& pods = found == by_node_.end() ? none : found->second;
    const bool run = ShouldRun(node), stay = ShouldStay(node);
    if (run) ++desired_;
    if (run && pods.empty()) plan_.create.push_back(node.meta.name);
    if (!stay) {
      for (const PodPointer& pod : pods) Remove(pod);
      return;
    }
    std::vector<PodPointer> fresh, old;
    for (const PodPointer& pod : pods) {
      if (pod->meta.deletion_time) continue;
      if (pod->terminal()) {
        plan_.failed.push_back(pod);
        Remove(pod);
      } else {
        (IsNew(*pod) ? fresh : old).push_back(pod);
      }
    }
    // One of each generation at most: the oldest stays.
    const auto older = [](const PodPointer& a, const PodPointer& b) {
      return std::tuple(a->node_name.empty(), a->meta.creation_time, a->meta.name) <
             std::tuple(b->node_name.empty(), b->meta.creation_time, b->meta.name);
    };
    for (auto* group : {&fresh, &old}) {
      std::sort(group->begin(), group->end(), older);
      for (size_t i = 1; i < group->size(); ++i) Remove((*group)[i]);
    }
    if (!run && !fresh.empty() && !old.empty()) Remove(old[0]);
    if (!run) return;
    nodes_with_.push_back({node.meta.name, fresh.empty() ? nullptr : fresh[0], old.empty() ? nullptr : old[0]});
  }

  void Roll() {
    const Json* unavailable = Find(set_, {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"});
    const Json* surge = Find(set_, {"spec", "updateStrategy", "rollingUpdate", "maxSurge"});
    int64_t most_surge = kube::ScaledValue(surge, desired_, true).value_or(0);
    int64_t most_unavailable = kube::ScaledValue(unavailable, desired_, true).value_or(most_surge > 0 ? 0 : 1);
    if (most_surge == 0 && most_unavailable == 0) most_unavailable = 1;
    int64_t down = desired_ - static_cast<int64_t>(nodes_with_.size()), surging = 0;
    for (const Slot& slot : nodes_with_) {
      const bool up = (slot.fresh && Available(*slot.fresh)) || (slot.old && Available(*slot.old));
      down += up ? 0 : 1;
      surging += slot.fresh && slot.old ? 1 : 0;
    }
    for (const Slot& slot : nodes_with_) {
      if (slot.old == nullptr) continue;
      if (slot.fresh != nullptr) {
        if (Available(*slot.fresh)) Remove(slot.old);
      } else if (!Available(*slot.old)) {
        // It serves nobody: replacing it costs nothing.
        Remove(slot.old);
      } else if (most_surge > 0) {
        if (surging >= most_surge) continue;
        ++surging;
        plan_.create.push_back(slot.node);
      } else if (down < most_unavailable) {
        ++down;
        Remove(slot.old);
      }
    }
  }

  void Status() {
    int64_t current = 0, misplaced = 0, ready = 0, updated = 0, available = 0;
    for (const NodePointer& node : nodes_) {
      auto found = by_node_.find(node->meta.name);
      const bool run = ShouldRun(*node);
      if (found == by_node_.end() || found->second.empty()) continue;
      if (!run) {
        ++misplaced;
        continue;
      }
      ++current;
      const auto& pods = found->second;
      // The newest tells, as it will stay.
      const PodPointer& pod = *std::max_element(pods.begin(), pods.end(), [](const PodPointer& a, const PodPointer& b) {
        return std::pair(a->meta.creation_time, a->meta.name) < std::pair(b->meta.creation_time, b->meta.name);
      });
      const bool any = std::any_of(pods.begin(), pods.end(), [&](const PodPointer& p) { return Available(*p); });
      ready += std::any_of(pods.begin(), pods.end(), [](const PodPointer& p) { return p->ready; }) ? 1 : 0;
      available += any ? 1 : 0;
      updated += IsNew(*pod) ? 1 : 0;
      for (const PodPointer& each : pods) {
        auto wait = UntilAvailable(*each, min_ready_, now_);
        if (wait && (!plan_.again || *wait < *plan_.again)) plan_.again = wait;
      }
    }
    JsonObject status = FindObject(set_, {"status"});
    status["currentNumberScheduled"] = current;
    status["numberMisscheduled"] = misplaced;
    status["desiredNumberScheduled"] = desired_;
    status["numberReady"] = ready;
    status["observedGeneration"] = FindInt(set_, {"metadata", "generation"});
    SetCount(status, "updatedNumberScheduled", updated, false);
    SetCount(status, "numberAvailable", available, false);
    SetCount(status, "numberUnavailable", desired_ - available, false);
    plan_.status = std::move(status);
  }

  struct Slot {
    std::string node;
    PodPointer fresh, old;
  };
  const Json& set_;
  const std::vector<NodePointer>& nodes_;
  const std::string& hash_;
  base::Time now_;
  int64_t min_ready_;
  kube::Pod probe_;
  std::map<std::string, std::vector<PodPointer>> by_node_;
  std::vector<Slot> nodes_with_;
  int64_t desired_ = 0;
  DaemonSetPlan plan_;
};

}  // namespace

DaemonSetPlan PlanDaemonSet(const Json& set, const std::vector<PodPointer>& pods, const std::vector<NodePointer>& nodes,
                            const std::string& hash, base::Time now) {
  return DaemonPlanner(set, pods, nodes, hash, now).Run();
}

Json DaemonPodJson(const Json& set, const std::string& node, const std::string& hash) {
  Json pod = PodFromTemplate(*Find(set, {"spec", "template"}), kube::resources::DaemonSets(), kube::DecodeMeta(set));
  base::Ensure(pod, {"metadata", "labels", "controller-revision-hash"}) = hash;
  base::Ensure(pod, {"spec", "tolerations"}) = DaemonTolerations(set);
  const JsonArray fields{JsonObject{{"key", "metadata.name"}, {"operator", "In"}, {"values", JsonArray{Json(node)}}}};
  Json& terms = base::Ensure(pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  // The node takes the place of other requirements, which it has been checked against.
  terms = JsonObject{{"nodeSelectorTerms", JsonArray{JsonObject{{"matchFields", fields}}}}};
  return pod;
}

DaemonSetController::DaemonSetController(Context& context)
    : Reconciler(context, "daemonset-controller"), expectations_(context.clock) {
  WatchPodsOf(kube::resources::DaemonSets(), expectations_);
  informers().Owned(kube::resources::ControllerRevisions());
  informers().nodes().AddHandler([this](const NodePointer& before, const NodePointer& after) {
    if (before && after && before->meta.labels == after->meta.labels && before->taints == after->taints) return;
    for (const auto& [key, set] : informers().Of(kube::resources::DaemonSets()).items()) EnqueueSoon(key);
  });
}

base::Status DaemonSetController::Carry(const kube::Object& set, const DaemonSetPlan& plan, const std::string& hash) {
  for (const PodPointer& pod : plan.remove) {
    if (std::find(plan.failed.begin(), plan.failed.end(), pod) != plan.failed.end()) {
      const bool failed = pod->phase == "Failed";
      events().Warning(*set.json, failed ? "FailedDaemonPod" : "SucceededDaemonPod",
                       std::string("Found ") + (failed ? "failed" : "succeeded") + " daemon pod " + pod->meta.Key() +
                           " on node " + pod->node_name + ", will try to " + (failed ? "kill" : "delete") + " it");
    }
    client::DeleteOptions options;
    options.uid = pod->meta.uid;
    auto deleted = api().Delete(kube::resources::Pods(), pod->meta.ns, pod->meta.name, options);
    if (!deleted && !IsGone(deleted.error())) return base::Fail(deleted.error());
    if (!deleted) continue;
    expectations_.Deleted(set.meta.Key(), pod->meta.uid);
    events().Normal(*set.json, "SuccessfulDelete", "Deleted pod: " + pod->meta.name);
  }
  for (const std::string& node : plan.create) {
    auto created = api().Create(kube::resources::Pods(), DaemonPodJson(*set.json, node, hash));
    if (!created) {
      events().Warning(*set.json, "FailedCreate", "Error creating: " + created.error().message());
      return base::Fail(created.error());
    }
    expectations_.Created(set.meta.Key(), std::string(kube::UidOf(*created)));
    events().Normal(*set.json, "SuccessfulCreate", "Created pod: " + std::string(kube::NameOf(*created)));
  }
  return {};
}

base::Result<Again> DaemonSetController::Reconcile(const std::string& key) {
  const ObjectPointer set = informers().Of(kube::resources::DaemonSets()).Get(key);
  if (set == nullptr || set->meta.deletion_time) return Again{};
  if (IsTemplate(*set))
    return RemoveDependents(api(), kube::resources::Pods(), informers().owned_pods().OwnedBy(set->meta.uid));
  const auto selector = SelectorOf(*set->json);
  if (!selector) return Again{};
  EVENKEEL_ASSIGN(auto pods, Claim<kube::Pod>(api(), informers().owned_pods(), kube::resources::Pods(),
                                              kube::resources::DaemonSets(), set->meta, *selector));
  if (!expectations_.Satisfied(key)) return Again{};
  EVENKEEL_ASSIGN(auto revisions, SyncRevisions(context_, kube::resources::DaemonSets(), *set, *selector));
  const std::string hash = revisions.back().hash;
  std::vector<NodePointer> nodes;
  for (const auto& [name, node] : informers().nodes().items()) nodes.push_back(node);
  DaemonSetPlan plan = PlanDaemonSet(*set->json, pods, nodes, hash, Now());
  const base::Status carried = Carry(*set, plan, hash);
  auto written = WriteStatus(api(), kube::resources::DaemonSets(), *set->json, plan.status);
  if (!carried) return base::Fail(carried.error());
  if (!written && !IsGone(written.error())) return base::Fail(written.error());
  std::vector<std::string> in_use;
  for (const PodPointer& pod : pods) {
    auto label = pod->meta.labels.find("controller-revision-hash");
    if (label != pod->meta.labels.end()) in_use.push_back(label->second);
  }
  EVENKEEL_TRY(TrimRevisions(context_, *set, revisions, in_use));
  return plan.again;
}

}  // namespace evenkeel::embedded::workloads
