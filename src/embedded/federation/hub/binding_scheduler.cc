#include "embedded/federation/hub/binding_scheduler.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "embedded/federation/hub/dependencies.h"
#include "embedded/federation/policies/bindings.h"
#include "embedded/federation/policies/selectors.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

const Json& PlacementOf(const Json& binding) {
  static const Json none = JsonObject{};
  const Json* placement = Find(binding, {"spec", "placement"});
  return placement != nullptr && placement->is_object() ? *placement : none;
}

Division DivisionOf(const Json& placement) {
  const Json* strategy = Find(placement, {"replicaScheduling"});
  if (strategy == nullptr || FindString(*strategy, {"replicaSchedulingType"}) == "Duplicated") return Division::kDuplicated;
  if (FindString(*strategy, {"replicaDivisionPreference"}) == "Aggregated") return Division::kAggregated;
  if (!FindString(*strategy, {"weightPreference", "dynamicWeight"}).empty()) return Division::kDynamicWeights;
  return Division::kStaticWeights;
}

int64_t WeightOf(const Json& placement, const Json& cluster) {
  int64_t weight = 0;
  for (const Json& rule : base::FindArray(placement, {"replicaScheduling", "weightPreference", "staticWeightList"})) {
    if (MatchesCluster(Find(rule, {"targetCluster"}), cluster)) weight = std::max(weight, FindInt(rule, {"weight"}));
  }
  return weight;
}

/// Asked for after it was last scheduled. Times are RFC 3339 in UTC.
bool IsFresh(const Json& binding) {
  const auto asked = base::ParseTime(FindString(binding, {"spec", "rescheduleTriggeredAt"}));
  const auto last = base::ParseTime(FindString(binding, {"status", "lastScheduledTime"}));
  return asked && (!last || *asked > *last);
}

/// One that nobody has asked yet counts as ready.
bool IsReady(const Json& cluster) {
  const Json* ready = kube::FindCondition(cluster, "Ready");
  return ready == nullptr || FindString(*ready, {"status"}) == "True";
}

JsonArray ToClusters(const std::vector<Share>& shares) {
  JsonArray clusters;
  for (const Share& share : shares) {
    JsonObject cluster{{"name", share.name}};
    if (share.replicas > 0) cluster["replicas"] = share.replicas;
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

}  // namespace

base::Result<std::vector<Share>> ScheduleBinding(const Json& binding, const std::vector<const Json*>& clusters) {
  const Json& placement = PlacementOf(binding);
  DivisionProblem problem;
  problem.division = DivisionOf(placement);
  problem.replicas = FindInt(binding, {"spec", "replicas"});
  problem.workload = IsWorkload(binding);
  problem.fresh = IsFresh(binding);
  problem.tie_break = TieBreakOf(FindString(binding, {"spec", "resource", "uid"}));
  for (const Share& share : TargetsOf(binding)) problem.previous[share.name] = share.replicas;
  base::Result<std::vector<Share>> shares = base::Fail(base::Code::kInfeasible, "no clusters available to schedule");
  for (const Json* affinity : AffinitiesOf(placement)) {
    problem.candidates.clear();
    for (const Json* cluster : clusters) {
      const std::string name(kube::NameOf(*cluster));
      if (!MatchesCluster(affinity, *cluster)) continue;
      // Taints keep out what comes; what is there stays.
      if (!ToleratesCluster(placement, *cluster) && !problem.previous.contains(name)) continue;
      problem.candidates.push_back({name, WeightOf(placement, *cluster), problem.replicas});
    }
    shares = Divide(problem);
    if (shares) break;
  }
  return shares;
}

bool IsDue(const Json& binding) {
  const Json& placement = PlacementOf(binding);
  if (FindString(binding, {"metadata", "annotations", kAppliedPlacement}) != base::ToText(placement)) return true;
  if (IsFresh(binding) || !IsWorkload(binding)) return true;
  const int64_t replicas = FindInt(binding, {"spec", "replicas"});
  int64_t sum = 0;
  const std::vector<Share> targets = TargetsOf(binding);
  for (const Share& share : targets) sum += share.replicas;
  if (DivisionOf(placement) != Division::kDuplicated) return sum != replicas;
  return targets.empty() || std::ranges::any_of(targets, [&](const Share& share) { return share.replicas != replicas; });
}

std::string TaintKey(const Json& cluster, const Json& taint) {
  return fmt::format("{} {}={}:{}", kube::NameOf(cluster), FindString(taint, {"key"}), FindString(taint, {"value"}),
                     FindString(taint, {"effect"}));
}

JsonArray EvictingTaints(const Json& cluster) {
  JsonArray taints;
  for (const Json& taint : base::FindArray(cluster, {"spec", "taints"})) {
    if (FindString(taint, {"effect"}) == "NoExecute") taints.push_back(taint);
  }
  if (!IsReady(cluster)) taints.push_back(JsonObject{{"key", "cluster.karmada.io/not-ready"}, {"effect", "NoExecute"}});
  return taints;
}

Remaining WithoutEvicted(const Json& binding, const std::vector<const Json*>& clusters, base::Time now,
                         const TaintsSeen& seen) {
  const Json& placement = PlacementOf(binding);
  Remaining remaining{TargetsOf(binding), std::nullopt};
  std::erase_if(remaining.targets, [&](const Share& share) {
    const auto cluster = std::ranges::find(clusters, share.name, [](const Json* one) { return kube::NameOf(*one); });
    if (cluster == clusters.end()) return false;
    std::optional<base::Time> goes;
    for (const Json& taint : EvictingTaints(**cluster)) {
      const Json* toleration = TolerationOf(placement, taint);
      if (toleration == nullptr) return true;
      const Json* seconds = Find(*toleration, {"tolerationSeconds"});
      if (seconds == nullptr || !seconds->is_int64()) continue;
      const auto added = base::ParseTime(FindString(taint, {"timeAdded"}));
      const auto found = seen.find(TaintKey(**cluster, taint));
      const base::Time since = added ? *added : found == seen.end() ? now : found->second;
      constexpr int64_t kLongest = int64_t{365} * 24 * 3600;
      const base::Time until = since + std::chrono::seconds(std::clamp<int64_t>(seconds->get_int64(), 0, kLongest));
      goes = std::min(goes.value_or(until), until);
    }
    if (!goes) return false;
    if (*goes <= now) return true;
    remaining.next = std::min(remaining.next.value_or(*goes), *goes);
    return false;
  });
  return remaining;
}

BindingScheduler::BindingScheduler(Hub& hub)
    : hub_(hub),
      controller_("federation-scheduler", hub.strand, hub.clock, [this](const std::string& key) { return Reconcile(key); }) {
  controller_.WaitFor([this] { return hub_.synced(); });
  const auto changed = [this](const ObjectPointer& before, const ObjectPointer& after) {
    if (after != nullptr && (before == nullptr || before->meta.generation != after->meta.generation))
      controller_.Enqueue(after->meta.Key());
  };
  hub.bindings.AddHandler(changed);
  hub.cluster_bindings.AddHandler(changed);
  hub.clusters.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const bool same = before != nullptr && after != nullptr && before->meta.generation == after->meta.generation &&
                      before->meta.labels == after->meta.labels && before->meta.deletion_time == after->meta.deletion_time &&
                      (!hub_.habits.evicts || IsReady(*before->json) == IsReady(*after->json));
    if (!same) hub_.ForEachBinding([this](const ObjectPointer& binding) { controller_.Enqueue(binding->meta.Key()); });
  });
}

base::Result<std::vector<Share>> BindingScheduler::Schedule(const Json& binding, std::vector<const Json*> clusters) const {
  if (!hub_.habits.schedules_once) return ScheduleBinding(binding, clusters);
  if (!IsDue(binding)) return TargetsOf(binding);
  const std::vector<Share> targets = TargetsOf(binding);
  std::erase_if(clusters, [&](const Json* cluster) {
    return !IsReady(*cluster) && std::ranges::find(targets, kube::NameOf(*cluster), &Share::name) == targets.end();
  });
  return ScheduleBinding(binding, clusters);
}

void BindingScheduler::SeeTaints(const std::vector<const Json*>& clusters) {
  TaintsSeen now;
  for (const Json* cluster : clusters) {
    for (const Json& taint : EvictingTaints(*cluster)) {
      const std::string key = TaintKey(*cluster, taint);
      const auto before = taints_.find(key);
      now.emplace(key, before == taints_.end() ? hub_.clock.Now() : before->second);
    }
  }
  taints_ = std::move(now);
}

base::Result<controllers::runtime::ReconcileResult> BindingScheduler::Reconcile(const std::string& key) {
  const ObjectPointer binding = hub_.Binding(key);
  if (binding == nullptr || binding->meta.deletion_time) return {};
  const std::string_view scheduler = FindString(*binding->json, {"spec", "schedulerName"});
  if (!scheduler.empty() && scheduler != "default-scheduler") return {};
  if (base::FindBool(*binding->json, {"spec", "suspension", "scheduling"})) return {};
  // It goes where those are that require it.
  if (IsAttached(*binding->json) && Find(*binding->json, {"spec", "requiredBy"}) != nullptr) return {};
  std::vector<const Json*> clusters;
  for (const auto& [name, cluster] : hub_.clusters.items()) {
    if (!cluster->meta.deletion_time) clusters.push_back(cluster->json.get());
  }
  const kube::Resource& resource = Hub::BindingResource(key);
  Json scheduled = *binding->json;
  controllers::runtime::ReconcileResult again;
  if (hub_.habits.evicts) {
    SeeTaints(clusters);
    const base::Time now = hub_.clock.Now();
    const Remaining remaining = WithoutEvicted(scheduled, clusters, now, taints_);
    base::Ensure(scheduled, {"spec", "clusters"}) = ToClusters(remaining.targets);
    if (remaining.next) again.requeue_after = *remaining.next - now;
  }
  const auto shares = Schedule(scheduled, std::move(clusters));
  if (shares) {
    base::Ensure(scheduled, {"spec", "clusters"}) = ToClusters(*shares);
    base::Ensure(scheduled, {"metadata", "annotations", kAppliedPlacement}) = base::ToText(PlacementOf(scheduled));
    if (!base::Equal(scheduled, *binding->json)) {
      EVENKEEL_ASSIGN(scheduled, hub_.client.Update(resource, scheduled));
    }
  }
  const int64_t generation = FindInt(scheduled, {"metadata", "generation"});
  const base::Time now = hub_.clock.Now();
  bool changed = kube::SetCondition(scheduled, "Scheduled", shares ? "True" : "False", shares ? "Success" : "NoClusterFit",
                                    shares ? "Binding has been scheduled successfully." : shares.error().message(), now);
  if (FindInt(scheduled, {"status", "schedulerObservedGeneration"}) != generation) {
    base::Ensure(scheduled, {"status", "schedulerObservedGeneration"}) = generation;
    if (shares) base::Ensure(scheduled, {"status", "lastScheduledTime"}) = base::FormatTime(now);
    changed = true;
  }
  if (changed)
    EVENKEEL_TRY(hub_.client.Update(resource, scheduled, {.subresource = "status", .field_manager = "", .dry_run = false}));
  return again;
}

}  // namespace evenkeel::embedded::federation
