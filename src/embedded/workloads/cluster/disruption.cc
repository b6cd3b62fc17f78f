#include "embedded/workloads/cluster/disruption.h"

#include <algorithm>
#include <set>

#include "embedded/workloads/pods/pods.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonObject;

constexpr base::Duration kDisruptionTimeout = std::chrono::minutes(2);

}  // namespace

Json BudgetStatus(const Json& budget, const std::vector<PodPointer>& pods, const ExpectedPods& expected, base::Time now,
                  Again* again) {
  JsonObject disrupted;
  for (const auto& [name, since] : FindObject(budget, {"status", "disruptedPods"})) {
    const auto pod = std::find_if(pods.begin(), pods.end(), [&](const PodPointer& p) { return p->meta.name == name; });
    const auto time = since.is_string() ? base::ParseTime(std::string_view(since.get_string())) : base::Result<base::Time>(now);
    if (pod == pods.end() || (*pod)->meta.deletion_time || !time || *time + kDisruptionTimeout <= now) continue;
    disrupted[name] = since;
    if (again != nullptr) *again = Sooner(*again, *time + kDisruptionTimeout - now);
  }
  int64_t healthy = 0;
  for (const PodPointer& pod : pods) {
    if (pod->ready && !pod->meta.deletion_time && !disrupted.contains(pod->meta.name)) ++healthy;
  }
  const Json* most = Find(budget, {"spec", "maxUnavailable"});
  const Json* least = Find(budget, {"spec", "minAvailable"});
  int64_t count = expected.count, desired = 0;
  if (most != nullptr && !most->is_null()) {
    desired = std::max<int64_t>(0, count - kube::ScaledValue(most, count, true).value_or(0));
  } else if (least != nullptr && !least->is_null()) {
    if (!least->is_string()) count = static_cast<int64_t>(pods.size());
    desired = kube::ScaledValue(least, count, true).value_or(0);
  }
  int64_t allowed = std::max<int64_t>(0, healthy - desired);
  if (count <= 0) allowed = 0;
  if (!expected.error.empty()) allowed = 0;
  Json state = JsonObject{{"status", FindObject(budget, {"status"})}};
  JsonObject& status = state.at("status").get_object();
  status["observedGeneration"] = FindInt(budget, {"metadata", "generation"});
  status["disruptionsAllowed"] = allowed;
  if (expected.error.empty()) {
    status["currentHealthy"] = healthy;
    status["desiredHealthy"] = desired;
    status["expectedPods"] = count;
    if (disrupted.empty()) {
      status.erase("disruptedPods");
    } else {
      status["disruptedPods"] = std::move(disrupted);
    }
  } else {
    for (const char* field : {"currentHealthy", "desiredHealthy", "expectedPods"}) {
      if (!status.contains(field)) status[field] = 0;
    }
  }
  const char* reason = !expected.error.empty() ? "SyncFailed" : allowed > 0 ? "SufficientPods" : "InsufficientPods";
  kube::SetCondition(state, "DisruptionAllowed", allowed > 0 ? "True" : "False", reason, expected.error, now);
  for (Json& condition : state.at("status").at("conditions").get_array()) {
    if (FindString(condition, {"type"}) == "DisruptionAllowed") {
      condition.get_object()["observedGeneration"] = FindInt(budget, {"metadata", "generation"});
    }
  }
  return state.at("status");
}

DisruptionController::DisruptionController(Context& context) : Reconciler(context, "disruption-controller") {
  informers()
      .Of(kube::resources::PodDisruptionBudgets())
      .AddHandler(
          [this](const ObjectPointer& before, const ObjectPointer& after) { Enqueue((after ? after : before)->meta.Key()); });
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) {
    EnqueueNamespace((after ? after : before)->meta.ns, before, after);
  });
  for (const kube::Resource* kind :
       {&kube::resources::Deployments(), &kube::resources::ReplicaSets(), &kube::resources::StatefulSets()}) {
    informers().Of(*kind).AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
      if (before && after && FindInt(*before->json, {"spec", "replicas"}, 1) == FindInt(*after->json, {"spec", "replicas"}, 1))
        return;
      EnqueueNamespace((after ? after : before)->meta.ns, nullptr, nullptr);
    });
  }
}

void DisruptionController::EnqueueNamespace(const std::string& ns, const PodPointer& before, const PodPointer& after) {
  const auto& all = informers().Of(kube::resources::PodDisruptionBudgets()).items();
  const std::string prefix = ns + "/";
  for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at) {
    if (before || after) {
      const Json* json = Find(*at->second->json, {"spec", "selector"});
      auto selector = json != nullptr ? kube::LabelSelector::FromJson(*json)
                                      : base::Result<kube::LabelSelector>(kube::LabelSelector::Nothing());
      if (!selector) continue;
      if (!(before && selector->Matches(before->meta.labels)) && !(after && selector->Matches(after->meta.labels))) continue;
    }
    EnqueueSoon(at->first);
  }
}

ExpectedPods DisruptionController::Expected(const std::vector<PodPointer>& pods) {
  ExpectedPods expected;
  std::set<std::string> seen;
  for (const PodPointer& pod : pods) {
    const kube::OwnerReference* owner = pod->meta.Controller();
    if (owner == nullptr) {
      expected.error = "found no controller ref for pod \"" + pod->meta.name + "\"";
      continue;
    }
    const kube::Resource* kind = informers().FindKind(owner->api_version, owner->kind);
    ObjectPointer object;
    if (kind != nullptr && kind->kind != "Pod" && kind->kind != "Node")
      object = informers().Of(*kind).Get(pod->meta.ns + "/" + owner->name);
    if (object != nullptr && object->meta.uid != owner->uid) object = nullptr;
    if (object != nullptr && kind->kind == "ReplicaSet" && object->meta.Controller() != nullptr) {
      const std::string key = pod->meta.ns + "/" + object->meta.Controller()->name;
      if (ObjectPointer deployment = informers().Of(kube::resources::Deployments()).Get(key)) object = deployment;
    }
    if (object == nullptr || !seen.insert(object->meta.uid).second) continue;
    const int64_t fallback = kind->kind == "DaemonSet" || kind->kind == "Job" ? 0 : 1;
    const std::initializer_list<std::string_view> path = {"spec", "replicas"};
    if (Find(*object->json, path) == nullptr && fallback == 0) {
      expected.error = kind->QualifiedPlural() + " does not implement the scale subresource";
      continue;
    }
    expected.count += FindInt(*object->json, path, fallback);
  }
  return expected;
}

base::Result<Again> DisruptionController::Reconcile(const std::string& key) {
  const ObjectPointer budget = informers().Of(kube::resources::PodDisruptionBudgets()).Get(key);
  if (budget == nullptr || budget->meta.deletion_time) return Again{};
  std::vector<PodPointer> pods;
  if (const Json* json = Find(*budget->json, {"spec", "selector"})) {
    auto selector = kube::LabelSelector::FromJson(*json);
    if (!selector) return Again{};
    for (const PodPointer& pod : informers().PodsIn(budget->meta.ns)) {
      if (!pod->terminal() && selector->Matches(pod->meta.labels)) pods.push_back(pod);
    }
  }
  ExpectedPods expected = Expected(pods);
  // A fixed minimum needs to know nothing about controllers.
  const Json* least = Find(*budget->json, {"spec", "minAvailable"});
  if (least != nullptr && least->is_number()) expected.error.clear();
  if (!expected.error.empty())
    events().Warning(*budget->json, "CalculateExpectedPodCountFailed",
                     "Failed to calculate the number of expected pods: " + expected.error);
  Again again;
  Json status = BudgetStatus(*budget->json, pods, expected, Now(), &again);
  EVENKEEL_TRY(UnlessGone(WriteStatus(api(), kube::resources::PodDisruptionBudgets(), *budget->json, std::move(status))));
  return again;
}

}  // namespace evenkeel::embedded::workloads
