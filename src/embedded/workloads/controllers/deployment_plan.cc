#include "embedded/workloads/controllers/deployment_plan.h"

#include <algorithm>
#include <cmath>

#include "embedded/workloads/controllers/deployment_status.h"
#include "embedded/workloads/pods/pods.h"
#include "kube/types.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindBool;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kRevision = "deployment.kubernetes.io/revision";
constexpr const char* kRevisionHistory = "deployment.kubernetes.io/revision-history";
constexpr const char* kDesired = "deployment.kubernetes.io/desired-replicas";
constexpr const char* kMax = "deployment.kubernetes.io/max-replicas";

int64_t NumberIn(std::string_view text) {
  int64_t number = 0;
  for (const char letter : text) {
    if (letter < '0' || letter > '9' || number > (int64_t{1} << 50)) return 0;
    number = number * 10 + (letter - '0');
  }
  return number;
}

int64_t Annotated(const Json& set, const char* key) { return NumberIn(FindString(set, {"metadata", "annotations", key})); }
int64_t Replicas(const Json& set) { return FindInt(set, {"spec", "replicas"}, 1); }
int64_t Available(const Json& set) { return FindInt(set, {"status", "availableReplicas"}); }
std::string CreationOf(const Json& set) { return std::string(FindString(set, {"metadata", "creationTimestamp"})); }

bool OlderFirst(const Json& a, const Json& b) {
  return std::pair(CreationOf(a), kube::NameOf(a)) < std::pair(CreationOf(b), kube::NameOf(b));
}

/// Annotations of a Deployment that its ReplicaSets do not take over.
bool StaysWithDeployment(std::string_view key) {
  return key == "kubectl.kubernetes.io/last-applied-configuration" || key == kRevision || key == kRevisionHistory ||
         key == kDesired || key == kMax || key == "deprecated.deployment.rollback.to";
}

class Planner {
 public:
  Planner(const Json& deployment, const std::vector<Json>& sets, bool old_pods, base::Time now)
      : deployment_(deployment), before_(sets), sets_(sets), old_pods_(old_pods), now_(now), numbers_(NumbersOf(deployment)) {
    changed_.resize(sets_.size(), false);
    plan_.status = FindObject(deployment, {"status"});
    newest_ = FindNewReplicaSet(deployment, sets);
  }

  DeploymentPlan Run() {
    const bool deleting = Find(deployment_, {"metadata", "deletionTimestamp"}) != nullptr;
    if (deleting) {
      Finish(false);
      return std::move(plan_);
    }
    const bool paused = FindBool(deployment_, {"spec", "paused"});
    MarkPaused(plan_.status, numbers_, paused, now_);
    if (paused || IsScalingEvent()) {
      SyncRevision(false);
      Scale();
      if (paused) Cleanup();
      Finish(false);
    } else if (FindString(deployment_, {"spec", "strategy", "type"}, "RollingUpdate") == "Recreate") {
      Recreate();
      Finish(true);
    } else {
      Roll();
      Finish(true);
    }
    return std::move(plan_);
  }

 private:
  bool IsNewest(size_t index) const { return newest_ && *newest_ == index; }
  int64_t TotalReplicas() const {
    int64_t total = 0;
    for (const Json& set : sets_) total += Replicas(set);
    return total + (plan_.create.is_object() ? Replicas(plan_.create) : 0);
  }
  int64_t TotalAvailable() const {
    int64_t total = 0;
    for (const Json& set : sets_) total += Available(set);
    return total;
  }
  std::vector<size_t> Old(bool active_only) const {
    std::vector<size_t> old;
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (!IsNewest(i) && (!active_only || Replicas(sets_[i]) > 0)) old.push_back(i);
    }
    std::stable_sort(old.begin(), old.end(), [&](size_t a, size_t b) { return OlderFirst(sets_[a], sets_[b]); });
    return old;
  }

  bool Annotate(Json& set, const char* key, const std::string& value) {
    Json& annotation = base::Ensure(set, {"metadata", "annotations", key});
    if (annotation.is_string() && annotation.get_string() == value) return false;
    annotation = value;
    return true;
  }

  bool AnnotateScale(Json& set) {
    const bool desired = Annotate(set, kDesired, std::to_string(numbers_.replicas));
    const bool most = Annotate(set, kMax, std::to_string(numbers_.replicas + numbers_.max_surge));
    return desired || most;
  }

  /// Whether the desired count changed since the ReplicaSets were last scaled.
  bool IsScalingEvent() const {
    for (const Json& set : sets_) {
      if (Replicas(set) == 0 || Find(set, {"metadata", "annotations", kDesired}) == nullptr) continue;
      if (Annotated(set, kDesired) != numbers_.replicas) return true;
    }
    return false;
  }

  bool ScaleSet(size_t index, int64_t replicas) {
    Json& set = sets_[index];
    const int64_t before = Replicas(set);
    if (AnnotateScale(set)) changed_[index] = true;
    if (before == replicas) return false;
    base::Ensure(set, {"spec", "replicas"}) = replicas;
    changed_[index] = true;
    plan_.events.push_back({false, "ScalingReplicaSet",
                            std::string("Scaled ") + (before < replicas ? "up" : "down") + " replica set " +
                                std::string(kube::NameOf(set)) + " from " + std::to_string(before) + " to " +
                                std::to_string(replicas)});
    return true;
  }

  /// How many pods the new ReplicaSet (which has `current` of them) may have now.
  int64_t NewReplicas(int64_t current) const {
    if (FindString(deployment_, {"spec", "strategy", "type"}, "RollingUpdate") == "Recreate") return numbers_.replicas;
    const int64_t room = numbers_.replicas + numbers_.max_surge - TotalReplicas();
    if (room <= 0) return current;
    return current + std::min(room, numbers_.replicas - current);
  }

  bool CopyAnnotations(Json& set) {
    bool changed = false;
    for (const auto& [key, value] : FindObject(deployment_, {"metadata", "annotations"})) {
      if (StaysWithDeployment(key) || !value.is_string()) continue;
      changed |= Annotate(set, std::string(key).c_str(), std::string(std::string_view(value.get_string())));
    }
    return changed;
  }

  /// Gives the newest template the highest revision, and makes its ReplicaSet when there is none.
  void SyncRevision(bool create) {
    int64_t highest = 0;
    for (const size_t i : Old(false)) highest = std::max(highest, Annotated(sets_[i], kRevision));
    const int64_t revision = highest + 1;
    if (newest_) {
      Json& set = sets_[*newest_];
      bool changed = CopyAnnotations(set);
      const int64_t had = Annotated(set, kRevision);
      if (had < revision) {
        if (had > 0) {
          std::string history(FindString(set, {"metadata", "annotations", kRevisionHistory}));
          Annotate(set, kRevisionHistory, history.empty() ? std::to_string(had) : history + "," + std::to_string(had));
        }
        changed |= Annotate(set, kRevision, std::to_string(revision));
      }
      const int64_t min_ready = FindInt(deployment_, {"spec", "minReadySeconds"});
      if (FindInt(set, {"spec", "minReadySeconds"}) != min_ready) {
        base::Ensure(set, {"spec", "minReadySeconds"}) = min_ready;
        changed = true;
      }
      if (changed) changed_[*newest_] = true;
      plan_.revision = FindString(set, {"metadata", "annotations", kRevision});
      MarkFound(plan_.status, numbers_, kube::NameOf(set), now_);
    } else if (create) {
      MakeNewReplicaSet(revision);
    }
    if (FindString(deployment_, {"metadata", "annotations", kRevision}) == plan_.revision) plan_.revision.clear();
  }

  void MakeNewReplicaSet(int64_t revision) {
    const std::string hash =
        TemplateHash(*Find(deployment_, {"spec", "template"}), FindInt(deployment_, {"status", "collisionCount"}));
    const std::string name = std::string(kube::NameOf(deployment_)) + "-" + hash;
    Json set = kube::NewObject(kube::resources::ReplicaSets(), kube::NamespaceOf(deployment_), name);
    Json pod_template = *Find(deployment_, {"spec", "template"});
    base::Ensure(pod_template, {"metadata", "labels", "pod-template-hash"}) = hash;
    base::Ensure(set, {"metadata", "labels"}) = FindObject(pod_template, {"metadata", "labels"});
    base::Ensure(set, {"metadata", "ownerReferences"}) = JsonArray{
        kube::ControllerReference(kube::resources::Deployments(), kube::NameOf(deployment_), kube::UidOf(deployment_))};
    base::Ensure(set, {"spec", "selector"}) = FindObject(deployment_, {"spec", "selector"});
    base::Ensure(set, {"spec", "selector", "matchLabels", "pod-template-hash"}) = hash;
    base::Ensure(set, {"spec", "template"}) = std::move(pod_template);
    if (const int64_t min_ready = FindInt(deployment_, {"spec", "minReadySeconds"}); min_ready > 0) {
      base::Ensure(set, {"spec", "minReadySeconds"}) = min_ready;
    }
    const int64_t replicas = NewReplicas(0);
    base::Ensure(set, {"spec", "replicas"}) = replicas;
    CopyAnnotations(set);
    Annotate(set, kRevision, std::to_string(revision));
    AnnotateScale(set);
    plan_.revision = std::to_string(revision);
    plan_.create = std::move(set);
    if (replicas > 0) {
      plan_.events.push_back(
          {false, "ScalingReplicaSet", "Scaled up replica set " + name + " from 0 to " + std::to_string(replicas)});
    }
    MarkCreated(plan_.status, numbers_, name, now_);
  }

  /// The desired count changed, perhaps in the middle of a rollout.
  void Scale() {
    std::vector<size_t> active;
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (Replicas(sets_[i]) > 0) active.push_back(i);
    }
    if (active.size() <= 1) {
      std::optional<size_t> only = active.empty() ? newest_ : std::optional(active[0]);
      if (!only && !sets_.empty()) {
        const auto old = Old(false);
        only = old.back();
      }
      if (only) ScaleSet(*only, numbers_.replicas);
      return;
    }
    if (newest_ && Replicas(sets_[*newest_]) == numbers_.replicas &&
        Annotated(sets_[*newest_], kDesired) == numbers_.replicas && Available(sets_[*newest_]) == numbers_.replicas) {
      for (const size_t i : Old(true)) ScaleSet(i, 0);
      return;
    }
    if (FindString(deployment_, {"spec", "strategy", "type"}, "RollingUpdate") == "Recreate") return;
    ScaleProportionally(active);
  }

  void ScaleProportionally(std::vector<size_t> active) {
    const int64_t allowed = numbers_.replicas > 0 ? numbers_.replicas + numbers_.max_surge : 0;
    const int64_t to_add = allowed - TotalReplicas();
    // The largest first; of equal ones the newest when growing and the oldest when shrinking.
    std::sort(active.begin(), active.end(), [&](size_t a, size_t b) {
      if (Replicas(sets_[a]) != Replicas(sets_[b])) return Replicas(sets_[a]) > Replicas(sets_[b]);
      return to_add > 0 ? OlderFirst(sets_[b], sets_[a]) : OlderFirst(sets_[a], sets_[b]);
    });
    std::vector<int64_t> sizes;
    int64_t added = 0;
    for (const size_t i : active) {
      int64_t size = Replicas(sets_[i]);
      if (to_add != 0) {
        int64_t most = Annotated(sets_[i], kMax);
        if (most == 0) most = std::max<int64_t>(1, FindInt(deployment_, {"status", "replicas"}));
        const double ideal = static_cast<double>(size) * static_cast<double>(allowed) / static_cast<double>(most);
        const int64_t fraction = static_cast<int64_t>(std::floor(ideal + 0.5)) - size;
        const int64_t share = to_add > 0 ? std::min(fraction, to_add - added) : std::max(fraction, to_add - added);
        size += share;
        added += share;
      }
      sizes.push_back(size);
    }
    for (size_t n = 0; n < active.size(); ++n) {
      const int64_t leftover = n == 0 && to_add != 0 ? to_add - added : 0;
      ScaleSet(active[n], std::max<int64_t>(0, sizes[n] + leftover));
    }
  }

  void Roll() {
    SyncRevision(true);
    if (!newest_) {
      // The old ones are scaled down once the new one is there.
      return;
    }
    const int64_t current = Replicas(sets_[*newest_]);
    if (current != numbers_.replicas) {
      const int64_t next = current > numbers_.replicas ? numbers_.replicas : NewReplicas(current);
      if (ScaleSet(*newest_, next)) return;
    }
    if (ScaleDownOld()) return;
    if (IsComplete(plan_.status, before_)) Cleanup();
  }

  bool ScaleDownOld() {
    const auto old = Old(true);
    if (old.empty()) return false;
    const int64_t least = numbers_.replicas - numbers_.max_unavailable;
    const int64_t new_unavailable = Replicas(sets_[*newest_]) - Available(sets_[*newest_]);
    const int64_t most_down = TotalReplicas() - least - new_unavailable;
    if (most_down <= 0) return false;
    bool scaled = false;
    int64_t cleaned = 0;
    for (const size_t i : old) {
      if (cleaned >= most_down) break;
      const int64_t unhealthy = Replicas(sets_[i]) - Available(sets_[i]);
      if (unhealthy <= 0) continue;
      const int64_t down = std::min(most_down - cleaned, unhealthy);
      scaled |= ScaleSet(i, Replicas(sets_[i]) - down);
      cleaned += down;
    }
    int64_t to_remove = TotalAvailable() - least;
    for (const size_t i : old) {
      if (to_remove <= 0) break;
      const int64_t down = std::min(Replicas(sets_[i]), to_remove);
      if (down <= 0) continue;
      scaled |= ScaleSet(i, Replicas(sets_[i]) - down);
      to_remove -= down;
    }
    return scaled;
  }

  void Recreate() {
    SyncRevision(false);
    bool scaled = false;
    for (const size_t i : Old(true)) scaled |= ScaleSet(i, 0);
    if (scaled || old_pods_) return;
    if (!newest_) {
      SyncRevision(true);
      return;
    }
    ScaleSet(*newest_, numbers_.replicas);
    if (IsComplete(plan_.status, before_)) Cleanup();
  }

  bool IsComplete(const Json& status, const std::vector<Json>& sets) const {
    JsonObject counted = status.get_object();
    CountReplicas(counted, deployment_, sets, newest_, numbers_);
    return RolloutComplete(deployment_, counted, numbers_);
  }

  void Cleanup() {
    const int64_t limit = FindInt(deployment_, {"spec", "revisionHistoryLimit"}, 10);
    std::vector<size_t> old = Old(false);
    std::erase_if(old, [&](size_t i) { return Find(sets_[i], {"metadata", "deletionTimestamp"}) != nullptr; });
    const int64_t excess = static_cast<int64_t>(old.size()) - limit;
    if (excess <= 0) return;
    std::stable_sort(old.begin(), old.end(),
                     [&](size_t a, size_t b) { return Annotated(sets_[a], kRevision) < Annotated(sets_[b], kRevision); });
    for (int64_t n = 0; n < excess; ++n) {
      const Json& set = sets_[old[static_cast<size_t>(n)]];
      const bool seen = FindInt(set, {"status", "observedGeneration"}) >= FindInt(set, {"metadata", "generation"});
      if (FindInt(set, {"status", "replicas"}) != 0 || Replicas(set) != 0 || !seen) continue;
      plan_.remove.emplace_back(kube::NameOf(set));
    }
  }

  void Finish(bool rollout) {
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (changed_[i]) plan_.update.push_back(sets_[i]);
    }
    JsonObject status = plan_.status.get_object();
    CountReplicas(status, deployment_, sets_, newest_, numbers_);
    MarkAvailable(status, deployment_, numbers_, now_);
    if (rollout) {
      std::string name;
      if (newest_) name = kube::NameOf(sets_[*newest_]);
      if (plan_.create.is_object()) name = kube::NameOf(plan_.create);
      MarkProgress(status, deployment_, sets_, newest_, numbers_, name, now_);
    }
    plan_.again = UntilDeadline(status, deployment_, numbers_, now_);
    plan_.status = std::move(status);
  }

  const Json& deployment_;
  const std::vector<Json>& before_;
  std::vector<Json> sets_;
  std::vector<bool> changed_;
  std::optional<size_t> newest_;
  bool old_pods_;
  base::Time now_;
  DeploymentNumbers numbers_;
  DeploymentPlan plan_;
};

}  // namespace

std::optional<size_t> FindNewReplicaSet(const Json& deployment, const std::vector<Json>& replica_sets) {
  const Json* pod_template = Find(deployment, {"spec", "template"});
  if (pod_template == nullptr) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < replica_sets.size(); ++i) {
    const Json* candidate = Find(replica_sets[i], {"spec", "template"});
    if (candidate == nullptr || !SameTemplate(*candidate, *pod_template)) continue;
    if (!found || OlderFirst(replica_sets[i], replica_sets[*found])) found = i;
  }
  return found;
}

DeploymentPlan PlanDeployment(const Json& deployment, const std::vector<Json>& replica_sets, bool old_pods, base::Time now) {
  return Planner(deployment, replica_sets, old_pods, now).Run();
}

}  // namespace evenkeel::embedded::workloads
