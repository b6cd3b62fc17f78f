#include "embedded/workloads/controllers/stateful_set_plan.h"

#include <algorithm>
#include <map>

#include "base/parse_number.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kRevisionLabel = "controller-revision-hash";

std::string RevisionLabel(const kube::Pod& pod) {
  auto found = pod.meta.labels.find(kRevisionLabel);
  return found == pod.meta.labels.end() ? "" : found->second;
}

class StatefulPlanner {
 public:
  StatefulPlanner(const Json& set, const std::vector<PodPointer>& pods, const std::string& current, const std::string& update,
                  base::Time now)
      : set_(set), current_(current), update_(update), now_(now) {
    replicas_ = FindInt(set, {"spec", "replicas"}, 1);
    start_ = FindInt(set, {"spec", "ordinals", "start"});
    min_ready_ = FindInt(set, {"spec", "minReadySeconds"});
    ordered_ = FindString(set, {"spec", "podManagementPolicy"}, "OrderedReady") != "Parallel";
    rolling_ = FindString(set, {"spec", "updateStrategy", "type"}, "RollingUpdate") == "RollingUpdate";
    partition_ = FindInt(set, {"spec", "updateStrategy", "rollingUpdate", "partition"});
    for (const PodPointer& pod : pods) {
      if (auto ordinal = OrdinalOf(kube::NameOf(set), pod->meta.name)) pods_[*ordinal] = pod;
    }
  }

  StatefulSetPlan Run() {
    Count();
    if (Find(set_, {"metadata", "deletionTimestamp"}) == nullptr && Replicas() && Condemned()) Update();
    for (const auto& [ordinal, pod] : pods_) plan_.again = Sooner(plan_.again, UntilAvailable(*pod, min_ready_, now_));
    return std::move(plan_);
  }

 private:
  static std::optional<base::Duration> Sooner(std::optional<base::Duration> a, std::optional<base::Duration> b) {
    if (!a || !b) return a ? a : b;
    return std::min(*a, *b);
  }
  bool InRange(int64_t ordinal) const { return ordinal >= start_ && ordinal < start_ + replicas_; }

  void Count() {
    int64_t replicas = 0, ready = 0, available = 0, current = 0, updated = 0;
    for (const auto& [ordinal, pod] : pods_) {
      ++replicas;
      if (IsRunningAndReady(*pod)) {
        ++ready;
        available += IsAvailable(*pod, min_ready_, now_) ? 1 : 0;
      }
      if (pod->meta.deletion_time || pod->terminal()) continue;
      const std::string revision = RevisionLabel(*pod);
      current += revision == current_ ? 1 : 0;
      updated += revision == update_ ? 1 : 0;
    }
    std::string current_name = current_;
    if (rolling_ && current_ != update_ && updated == replicas && ready == replicas && updated == replicas_) {
      current_name = update_;
      current = updated;
    }
    JsonObject status = FindObject(set_, {"status"});
    status["observedGeneration"] = FindInt(set_, {"metadata", "generation"});
    status["replicas"] = replicas;
    SetCount(status, "readyReplicas", ready, false);
    SetCount(status, "availableReplicas", available, true);
    SetCount(status, "currentReplicas", current, false);
    SetCount(status, "updatedReplicas", updated, false);
    status["currentRevision"] = current_name;
    status["updateRevision"] = update_;
    if (!status.contains("collisionCount")) status["collisionCount"] = 0;
    current_count_ = current;
    plan_.status = std::move(status);
  }

  /// New pods below the partition, and those before it in a running update, still get the old revision.
  bool IsUpdated(int64_t ordinal) const {
    if (current_ == update_) return true;
    if (!rolling_) return true;
    if (partition_ == 0) return ordinal >= start_ + current_count_;
    return ordinal >= start_ + partition_;
  }

  /// False: something must happen first, look no further.
  bool Replicas() {
    for (int64_t ordinal = start_; ordinal < start_ + replicas_; ++ordinal) {
      auto found = pods_.find(ordinal);
      if (found == pods_.end()) {
        plan_.create.push_back({ordinal, IsUpdated(ordinal)});
        if (ordered_) return false;
        continue;
      }
      const PodPointer& pod = found->second;
      if (pod->terminal()) {
        if (!pod->meta.deletion_time) {
          plan_.failed.push_back(pod);
          plan_.remove.push_back(pod);
        }
        if (ordered_) return false;
        continue;
      }
      if (!HasIdentity(*pod) && !pod->meta.deletion_time) plan_.relabel.push_back(pod);
      if (!ordered_) continue;
      if (pod->meta.deletion_time || !IsRunningAndReady(*pod) || !IsAvailable(*pod, min_ready_, now_)) return false;
    }
    return ordered_ || plan_.create.empty();
  }

  static bool HasIdentity(const kube::Pod& pod) {
    auto found = pod.meta.labels.find("statefulset.kubernetes.io/pod-name");
    return found != pod.meta.labels.end() && found->second == pod.meta.name;
  }

  bool Condemned() {
    std::vector<PodPointer> condemned;
    for (auto at = pods_.rbegin(); at != pods_.rend(); ++at) {
      if (!InRange(at->first)) condemned.push_back(at->second);
    }
    for (const PodPointer& pod : condemned) {
      if (pod->meta.deletion_time) {
        if (ordered_) return false;
        continue;
      }
      plan_.remove.push_back(pod);
      if (ordered_) return false;
    }
    return true;
  }

  void Update() {
    if (!rolling_) return;
    for (int64_t ordinal = start_ + replicas_ - 1; ordinal >= start_ + std::max<int64_t>(0, partition_); --ordinal) {
      auto found = pods_.find(ordinal);
      if (found == pods_.end()) return;
      const PodPointer& pod = found->second;
      if (RevisionLabel(*pod) != update_ && !pod->meta.deletion_time) {
        plan_.remove.push_back(pod);
        return;
      }
      if (pod->meta.deletion_time || !IsRunningAndReady(*pod) || !IsAvailable(*pod, min_ready_, now_)) return;
    }
  }

  const Json& set_;
  const std::string& current_;
  const std::string& update_;
  base::Time now_;
  int64_t replicas_, start_, min_ready_, partition_, current_count_ = 0;
  bool ordered_, rolling_;
  std::map<int64_t, PodPointer> pods_;
  StatefulSetPlan plan_;
};

}  // namespace

StatefulSetPlan PlanStatefulSet(const Json& set, const std::vector<PodPointer>& pods, const std::string& current,
                                const std::string& update, base::Time now) {
  return StatefulPlanner(set, pods, current, update, now).Run();
}

std::optional<int64_t> OrdinalOf(std::string_view set_name, std::string_view pod_name) {
  if (!pod_name.starts_with(set_name) || pod_name.size() < set_name.size() + 2 || pod_name[set_name.size()] != '-')
    return std::nullopt;
  const auto ordinal = base::ParseNumber<int64_t>(pod_name.substr(set_name.size() + 1));
  return ordinal && *ordinal >= 0 ? ordinal : std::nullopt;
}

Json StatefulPodJson(const Json& set, const Json& pod_template, const std::string& revision, int64_t ordinal) {
  Json pod = PodFromTemplate(pod_template, kube::resources::StatefulSets(), kube::DecodeMeta(set));
  const std::string set_name(kube::NameOf(set));
  const std::string name = set_name + "-" + std::to_string(ordinal);
  base::Ensure(pod, {"metadata", "name"}) = name;
  base::Ensure(pod, {"metadata", "generateName"}) = set_name + "-";
  base::Ensure(pod, {"metadata", "labels", "statefulset.kubernetes.io/pod-name"}) = name;
  base::Ensure(pod, {"metadata", "labels", "apps.kubernetes.io/pod-index"}) = std::to_string(ordinal);
  base::Ensure(pod, {"metadata", "labels", kRevisionLabel}) = revision;
  base::Ensure(pod, {"spec", "hostname"}) = name;
  if (const std::string_view service = FindString(set, {"spec", "serviceName"}); !service.empty()) {
    base::Ensure(pod, {"spec", "subdomain"}) = service;
  }
  const JsonArray& claims = FindArray(set, {"spec", "volumeClaimTemplates"});
  if (claims.empty()) return pod;
  JsonArray volumes;
  std::vector<std::string> names;
  for (const Json& claim : claims) {
    names.emplace_back(kube::NameOf(claim));
    volumes.push_back(
        JsonObject{{"name", names.back()}, {"persistentVolumeClaim", JsonObject{{"claimName", names.back() + "-" + name}}}});
  }
  for (const Json& volume : FindArray(pod_template, {"spec", "volumes"})) {
    if (std::find(names.begin(), names.end(), FindString(volume, {"name"})) == names.end()) volumes.push_back(volume);
  }
  base::Ensure(pod, {"spec", "volumes"}) = std::move(volumes);
  return pod;
}

std::vector<Json> StatefulClaims(const Json& set, int64_t ordinal) {
  std::vector<Json> claims;
  for (const Json& claim_template : FindArray(set, {"spec", "volumeClaimTemplates"})) {
    const std::string name =
        std::string(kube::NameOf(claim_template)) + "-" + std::string(kube::NameOf(set)) + "-" + std::to_string(ordinal);
    Json claim = claim_template;
    claim.get_object()["apiVersion"] = "v1";
    claim.get_object()["kind"] = "PersistentVolumeClaim";
    base::Ensure(claim, {"metadata", "name"}) = name;
    base::Ensure(claim, {"metadata", "namespace"}) = kube::NamespaceOf(set);
    JsonObject labels = FindObject(claim, {"metadata", "labels"});
    for (const auto& [key, value] : FindObject(set, {"spec", "selector", "matchLabels"})) labels[key] = value;
    base::Ensure(claim, {"metadata", "labels"}) = std::move(labels);
    base::Erase(claim, {"status"});
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace evenkeel::embedded::workloads
