#include "controllers/autoscaler/facts/drainability.h"

#include <algorithm>

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::NodeId;
using scheduling::PodId;
using std::chrono::seconds;

constexpr std::string_view kSystemNamespace = "kube-system";

DrainVerdict Blocked(BlockingReason reason) { return {DrainOutcome::kBlocked, reason}; }

bool Terminal(const PodFacts& pod) {
  if (pod.phase == "Failed") return true;
  return pod.phase == "Succeeded" && (pod.restart_policy == "Never" || pod.restart_policy == "OnFailure");
}

}  // namespace

std::string_view Name(BlockingReason reason) {
  switch (reason) {
    case BlockingReason::kNoReason:
      return "NoReason";
    case BlockingReason::kControllerNotFound:
      return "ControllerNotFound";
    case BlockingReason::kMinReplicasReached:
      return "MinReplicasReached";
    case BlockingReason::kNotReplicated:
      return "NotReplicated";
    case BlockingReason::kLocalStorageRequested:
      return "LocalStorageRequested";
    case BlockingReason::kNotSafeToEvictAnnotation:
      return "NotSafeToEvictAnnotation";
    case BlockingReason::kUnmovableKubeSystemPod:
      return "UnmovableKubeSystemPod";
    case BlockingReason::kNotEnoughPdb:
      return "NotEnoughPdb";
    case BlockingReason::kUnexpectedError:
      return "UnexpectedError";
  }
  return "NoReason";
}

bool LongTerminating(const PodFacts& pod, const LoopTime& now) {
  return pod.deleted && *pod.deleted + seconds(pod.grace_seconds) + kLongTerminating < now;
}

const PodFacts* Drainability::Facts(PodId pod) const {
  if (view_.pods == nullptr || pod >= view_.pods->size()) return nullptr;
  const PodFacts& facts = (*view_.pods)[pod];
  return facts.present ? &facts : nullptr;
}

std::optional<DrainVerdict> Drainability::JudgeOwner(const PodFacts& pod) const {
  if (!options_.skip_nodes_with_custom_controller_pods || view_.owners == nullptr) return std::nullopt;
  const std::string& kind = pod.owner_kind;
  const bool counted = kind == "ReplicationController" || kind == "ReplicaSet";
  if (!counted && kind != "DaemonSet" && kind != "Job" && kind != "StatefulSet") return std::nullopt;
  const auto owner = view_.owners->find(pod.owner_uid);
  if (owner == view_.owners->end()) return Blocked(BlockingReason::kControllerNotFound);
  if (counted && owner->second.replicas < options_.min_replica_count) return Blocked(BlockingReason::kMinReplicasReached);
  return std::nullopt;
}

std::optional<DrainVerdict> Drainability::JudgeEarly(const PodFacts& pod, bool with_owner) const {
  if (pod.mirror || LongTerminating(pod, view_.now)) return DrainVerdict{DrainOutcome::kSkip};
  if (with_owner) {
    if (const auto verdict = JudgeOwner(pod)) return verdict;
  }
  if (pod.daemon) return DrainVerdict{DrainOutcome::kDaemon};
  if (pod.safe_to_evict == "true" || Terminal(pod)) return DrainVerdict{DrainOutcome::kMove};
  if (pod.safe_to_evict == "on-completion") return DrainVerdict{DrainOutcome::kWaitForCompletion};
  return std::nullopt;
}

bool Drainability::Replicated(const PodFacts& pod) const {
  if (pod.owner_kind.empty()) return false;
  if (!options_.skip_nodes_with_custom_controller_pods) return true;
  const std::string& kind = pod.owner_kind;
  return kind == "ReplicaSet" || kind == "StatefulSet" || kind == "Job" || kind == "ReplicationController";
}

DrainVerdict Drainability::Judge(PodId id) const {
  const PodFacts* facts = Facts(id);
  if (facts == nullptr) return Blocked(BlockingReason::kUnexpectedError);
  const PodFacts& pod = *facts;
  if (const auto verdict = JudgeEarly(pod, true)) return *verdict;
  if (!Replicated(pod)) return Blocked(BlockingReason::kNotReplicated);
  const scheduling::ClassId pod_class = view_.snapshot->ClassOf(id);
  if (options_.skip_nodes_with_system_pods && view_.snapshot->classes()[pod_class].ns == kSystemNamespace &&
      budgets_.Matching(pod_class).empty()) {
    const bool old = pod.created != base::Time{} && pod.created + options_.blocking_system_pod_disruption_timeout < view_.now;
    return old ? DrainVerdict{DrainOutcome::kMove} : Blocked(BlockingReason::kUnmovableKubeSystemPod);
  }
  if (pod.safe_to_evict == "false") return Blocked(BlockingReason::kNotSafeToEvictAnnotation);
  if (options_.skip_nodes_with_local_storage && pod.local_storage) return Blocked(BlockingReason::kLocalStorageRequested);
  if (budgets_.UsedUp(pod_class) != scheduling::kNone) return Blocked(BlockingReason::kNotEnoughPdb);
  return {DrainOutcome::kMove};
}

PodsOfNode Drainability::Look(NodeId node) const {
  const scheduling::Snapshot& snapshot = *view_.snapshot;
  PodsOfNode pods;
  for (const PodId pod : snapshot.PodsOn(node)) {
    const DrainVerdict verdict = Judge(pod);
    switch (verdict.outcome) {
      case DrainOutcome::kMove:
        pods.move.push_back(pod);
        break;
      case DrainOutcome::kDaemon:
        pods.daemons.push_back(pod);
        break;
      case DrainOutcome::kWaitForCompletion:
        pods.on_completion.push_back(pod);
        break;
      case DrainOutcome::kSkip:
        break;
      case DrainOutcome::kBlocked:
        if (!pods.blocking || snapshot.PodKey(pod) < snapshot.PodKey(pods.blocking->pod)) {
          pods.blocking = BlockingPod{pod, verdict.reason};
        }
        break;
    }
  }
  if (pods.blocking) return pods;
  const auto by_key = [&](PodId a, PodId b) { return snapshot.PodKey(a) < snapshot.PodKey(b); };
  std::sort(pods.move.begin(), pods.move.end(), by_key);
  std::sort(pods.daemons.begin(), pods.daemons.end(), by_key);
  std::sort(pods.on_completion.begin(), pods.on_completion.end(), by_key);
  return pods;
}

bool Drainability::Empty(NodeId node, bool& waits) const {
  waits = false;
  if (!view_.snapshot->CopiesOn(node).empty()) return false;
  for (const PodId pod : view_.snapshot->PodsOn(node)) {
    const PodFacts* facts = Facts(pod);
    const auto verdict = facts == nullptr ? std::nullopt : JudgeEarly(*facts, false);
    if (!verdict || verdict->outcome == DrainOutcome::kMove || verdict->outcome == DrainOutcome::kBlocked) return false;
    waits |= verdict->outcome == DrainOutcome::kWaitForCompletion;
  }
  return true;
}

std::string Drainability::ExplainOwner(const PodFacts& pod, BlockingReason reason) const {
  const std::string owner = pod.owner_kind + " " + pod.owner_name;
  switch (reason) {
    case BlockingReason::kControllerNotFound:
      return "its owner, " + owner + ", does not exist, so nobody would make the pod again";
    case BlockingReason::kMinReplicasReached: {
      const auto found = view_.owners->find(pod.owner_uid);
      return owner + " has " + std::to_string(found == view_.owners->end() ? 0 : found->second.replicas) +
             " replicas, fewer than --min-replica-count=" + std::to_string(options_.min_replica_count);
    }
    default:
      if (pod.owner_kind.empty()) return "it has no controller, so nobody would make it again";
      return "its owner, " + owner + ", is of a kind that is not known to make it again";
  }
}

std::string Drainability::Explain(PodId id, BlockingReason reason) const {
  const PodFacts* pod = Facts(id);
  std::string text = (id == scheduling::kNone ? std::string("a pod") : "pod " + view_.snapshot->PodKey(id)) + " (" +
                     std::string(Name(reason)) + "): ";
  if (pod == nullptr) return text + "nothing is known of it";
  switch (reason) {
    case BlockingReason::kControllerNotFound:
    case BlockingReason::kMinReplicasReached:
    case BlockingReason::kNotReplicated:
      return text + ExplainOwner(*pod, reason);
    case BlockingReason::kUnmovableKubeSystemPod: {
      text += "a pod of kube-system without a PodDisruptionBudget";
      if (pod->created == base::Time{}) return text;
      const base::Duration left = pod->created + options_.blocking_system_pod_disruption_timeout - view_.now.Read();
      return text + "; it may be moved in " + base::FormatDuration(std::chrono::ceil<seconds>(left));
    }
    case BlockingReason::kNotSafeToEvictAnnotation:
      return text + "annotation cluster-autoscaler.kubernetes.io/safe-to-evict=false";
    case BlockingReason::kLocalStorageRequested:
      return text + "it has local storage (a hostPath, or an emptyDir not in memory) that it would lose";
    case BlockingReason::kNotEnoughPdb: {
      for (const uint32_t index : budgets_.Matching(view_.snapshot->ClassOf(id))) {
        const Budget& budget = (*view_.budgets)[index];
        if (budget.allowed < 1)
          return text + "PodDisruptionBudget " + budget.ns + "/" + budget.name + " allows no disruption now";
      }
      return text + "its PodDisruptionBudget allows no more disruptions than the other planned removals take";
    }
    default:
      return text + "it cannot be judged";
  }
}

}  // namespace evenkeel::controllers::autoscaler
