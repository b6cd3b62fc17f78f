#include "embedded/workloads/controllers/replica_set.h"

#include <algorithm>

#include "embedded/workloads/pods/ownership.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr int64_t kBurst = 500;

bool HasLabels(const kube::Pod& pod, const JsonObject& labels) {
  for (const auto& [key, value] : labels) {
    auto found = pod.meta.labels.find(std::string(key));
    if (found == pod.meta.labels.end() || !value.is_string() || found->second != std::string_view(value.get_string()))
      return false;
  }
  return true;
}

}  // namespace

ReplicaSetPlan PlanReplicaSet(const Json& replica_set, const std::vector<PodPointer>& pods,
                              const std::vector<PodPointer>& related, base::Time now) {
  ReplicaSetPlan plan;
  std::vector<RankedPod> active;
  for (const PodPointer& pod : pods) {
    if (IsActive(*pod)) active.push_back({pod, 0});
  }
  const int64_t difference = static_cast<int64_t>(active.size()) - FindInt(replica_set, {"spec", "replicas"}, 1);
  if (difference < 0) {
    plan.create = std::min(-difference, kBurst);
    return plan;
  }
  if (difference == 0) return plan;
  std::map<std::string, int64_t> per_node;
  for (const PodPointer& pod : related) {
    if (IsActive(*pod)) ++per_node[pod->node_name];
  }
  for (RankedPod& ranked : active) ranked.rank = per_node[ranked.pod->node_name];
  SortForDeletion(active, now);
  const auto count = static_cast<size_t>(std::min(difference, kBurst));
  for (size_t i = 0; i < count; ++i) plan.remove.push_back(active[i].pod);
  return plan;
}

Json ReplicaSetStatus(const Json& replica_set, const std::vector<PodPointer>& pods, const std::string& failure_reason,
                      const std::string& failure, base::Time now) {
  int64_t replicas = 0, labelled = 0, ready = 0, available = 0;
  const JsonObject& labels = FindObject(replica_set, {"spec", "template", "metadata", "labels"});
  const int64_t min_ready = FindInt(replica_set, {"spec", "minReadySeconds"});
  for (const PodPointer& pod : pods) {
    if (!IsActive(*pod)) continue;
    ++replicas;
    labelled += HasLabels(*pod, labels) ? 1 : 0;
    ready += pod->ready ? 1 : 0;
    available += IsAvailable(*pod, min_ready, now) ? 1 : 0;
  }
  JsonObject status = FindObject(replica_set, {"status"});
  status["replicas"] = replicas;
  SetCount(status, "fullyLabeledReplicas", labelled, false);
  SetCount(status, "readyReplicas", ready, false);
  SetCount(status, "availableReplicas", available, false);
  status["observedGeneration"] = FindInt(replica_set, {"metadata", "generation"});
  Json holder = JsonObject{{"status", std::move(status)}};
  if (!failure.empty()) {
    if (kube::FindCondition(holder, "ReplicaFailure") == nullptr) {
      kube::SetCondition(holder, "ReplicaFailure", "True", failure_reason, failure, now);
    }
  } else if (kube::FindCondition(holder, "ReplicaFailure") != nullptr) {
    JsonArray kept;
    for (const Json& condition : base::FindArray(holder, {"status", "conditions"})) {
      if (FindString(condition, {"type"}) != "ReplicaFailure") kept.push_back(condition);
    }
    if (kept.empty()) {
      base::Erase(holder, {"status", "conditions"});
    } else {
      base::Ensure(holder, {"status", "conditions"}) = std::move(kept);
    }
  }
  return *Find(holder, {"status"});
}

ReplicaSetController::ReplicaSetController(Context& context)
    : Reconciler(context, "replicaset-controller"), expectations_(context.clock) {
  WatchPodsOf(kube::resources::ReplicaSets(), expectations_);
}

std::vector<PodPointer> ReplicaSetController::Related(const kube::Object& set) {
  std::vector<PodPointer> pods;
  auto add = [&](const std::string& uid) {
    for (const auto& [key, pod] : informers().owned_pods().OwnedBy(uid)) pods.push_back(pod);
  };
  const kube::OwnerReference* owner = set.meta.Controller();
  if (owner == nullptr) {
    add(set.meta.uid);
    return pods;
  }
  for (const auto& [key, sibling] : informers().Owned(kube::resources::ReplicaSets()).OwnedBy(owner->uid))
    add(sibling->meta.uid);
  return pods;
}

base::Status ReplicaSetController::Create(const kube::Object& set, int64_t count) {
  const Json pod = PodFromTemplate(*Find(*set.json, {"spec", "template"}), kube::resources::ReplicaSets(), set.meta);
  // Batches of 1, 2, 4 ...: when the API refuses these pods, it refuses a few of them and not all.
  base::Status failure;
  for (int64_t batch = 1, done = 0; done < count && failure; batch *= 2) {
    for (int64_t i = 0; i < batch && done < count; ++i, ++done) {
      auto created = api().Create(kube::resources::Pods(), pod);
      if (created) {
        expectations_.Created(set.meta.Key(), std::string(kube::UidOf(*created)));
        events().Normal(*set.json, "SuccessfulCreate", "Created pod: " + std::string(kube::NameOf(*created)));
        continue;
      }
      events().Warning(*set.json, "FailedCreate", "Error creating: " + created.error().message());
      failure = base::Fail(created.error());
      if (created.error().code() != base::Code::kTimeout) break;
    }
  }
  return failure;
}

base::Status ReplicaSetController::Remove(const kube::Object& set, const std::vector<PodPointer>& pods) {
  base::Status failure;
  for (const PodPointer& pod : pods) {
    client::DeleteOptions options;
    options.uid = pod->meta.uid;
    auto deleted = api().Delete(kube::resources::Pods(), pod->meta.ns, pod->meta.name, options);
    if (deleted) {
      expectations_.Deleted(set.meta.Key(), pod->meta.uid);
      events().Normal(*set.json, "SuccessfulDelete", "Deleted pod: " + pod->meta.name);
    } else if (!IsGone(deleted.error())) {
      events().Warning(*set.json, "FailedDelete", "Error deleting: " + deleted.error().message());
      failure = base::Fail(deleted.error());
    }
  }
  return failure;
}

base::Result<Again> ReplicaSetController::Reconcile(const std::string& key) {
  const ObjectPointer set = informers().Of(kube::resources::ReplicaSets()).Get(key);
  if (set == nullptr) return Again{};
  if (IsTemplate(*set))
    return RemoveDependents(api(), kube::resources::Pods(), informers().owned_pods().OwnedBy(set->meta.uid));
  const auto selector = SelectorOf(*set->json);
  if (!selector) return Again{};
  const bool settled = expectations_.Satisfied(key);
  EVENKEEL_ASSIGN(auto pods, Claim<kube::Pod>(api(), informers().owned_pods(), kube::resources::Pods(),
                                              kube::resources::ReplicaSets(), set->meta, *selector, IsActive));
  base::Status managed;
  std::string reason;
  if (settled && !set->meta.deletion_time) {
    const ReplicaSetPlan plan = PlanReplicaSet(*set->json, pods, Related(*set), Now());
    reason = plan.create > 0 ? "FailedCreate" : "FailedDelete";
    managed = plan.create > 0 ? Create(*set, plan.create) : Remove(*set, plan.remove);
  }
  Json status = ReplicaSetStatus(*set->json, pods, managed ? "" : reason, managed ? "" : managed.error().message(), Now());
  auto written = WriteStatus(api(), kube::resources::ReplicaSets(), *set->json, std::move(status));
  if (!managed) return base::Fail(managed.error());
  if (!written && !IsGone(written.error())) return base::Fail(written.error());
  Again again;
  const int64_t min_ready = FindInt(*set->json, {"spec", "minReadySeconds"});
  for (const PodPointer& pod : pods) {
    if (IsActive(*pod)) again = Sooner(again, UntilAvailable(*pod, min_ready, Now()));
  }
  return again;
}

}  // namespace evenkeel::embedded::workloads
