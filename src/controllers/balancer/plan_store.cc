#include "controllers/balancer/plan_store.h"

#include <algorithm>
#include <ranges>

#include "controllers/balancer/kinds.h"

namespace evenkeel::controllers::balancer {
namespace {

using base::Json;

/// Plans that nothing counts any more are left to be looked at, so many and for so long.
constexpr size_t kHistoryLimit = 10;
constexpr base::Duration kHistoryTime = std::chrono::hours(1);
/// Names of objects have 253 characters.
constexpr size_t kNameMax = 200;

/// "20261123t014500": part of a name, in the order of time.
std::string Stamp(base::Time now) {
  std::string stamp;
  for (const char c : base::FormatTime(now)) {
    if (c == 'T') stamp += 't';
    if (c >= '0' && c <= '9') stamp += c;
  }
  return stamp;
}

}  // namespace

PlanStore::PlanStore(client::Client& client, runtime::MemberFeed& feed) : client_(client), feed_(feed) {
  feed.ReadPlans();
  feed.mirror().AddListener(*this);
}

void PlanStore::AfterChange(const scheduling::ObjectEvent& event) {
  if (event.kind == BalancingPlans().kind && event.object == nullptr) written_.erase(event.key);
}

std::string PlanStore::Missing() {
  std::string missing = feed_.MissingPlans();
  if (missing.empty() && feed_.plans() == nullptr) missing = "the definition of " + BalancingPlans().kind;
  return missing;
}

std::vector<PlanObject> PlanStore::All() {
  static const std::map<std::string, client::Informer<kube::Object>::Pointer> kNone;
  std::vector<PlanObject> plans;
  for (const auto& [name, object] : feed_.plans() == nullptr ? kNone : feed_.plans()->items()) {
    const auto own = written_.find(name);
    if (own != written_.end()) {
      const bool newer = own->second.uid == object->meta.uid &&
                         client::IsOlderVersion(object->meta.resource_version, own->second.resource_version);
      if (newer) continue;
      written_.erase(own);
    }
    plans.push_back(PlanObject::Decode(*object->json));
  }
  for (const auto& [name, plan] : written_) plans.push_back(plan);
  std::ranges::sort(plans, {}, [](const PlanObject& plan) { return std::pair(plan.created, plan.name); });
  return plans;
}

const PlanObject* PlanStore::Current(const std::vector<PlanObject>& plans) {
  for (const PlanPhase phase : {PlanPhase::kExecuting, PlanPhase::kPending}) {
    const auto found = std::ranges::find_if(plans, [&](const PlanObject& plan) { return plan.ours && plan.state == phase; });
    if (found != plans.end()) return &*found;
  }
  return nullptr;
}

void PlanStore::Keep(PlanObject& plan, const Json& stored) {
  plan.uid = kube::UidOf(stored);
  plan.resource_version = kube::ResourceVersionOf(stored);
  plan.created = kube::DecodeMeta(stored).creation_time;
  written_[plan.name] = plan;
}

base::Status PlanStore::Create(PlanObject& plan, base::Time now) {
  plan.name = plan.policy.substr(0, kNameMax) + "-" + Stamp(now);
  Json object = kube::NewObject(BalancingPlans(), "", plan.name);
  plan.ours = true;
  base::Ensure(object, {"metadata", "labels", kManagedByLabel}) = kManagedBy;
  base::Ensure(object, {"spec"}) = plan.Spec();
  EVENKEEL_ASSIGN(const Json stored, client_.Create(BalancingPlans(), object));
  Keep(plan, stored);
  return {};
}

base::Status PlanStore::WriteStatus(PlanObject& plan) {
  Json object = kube::NewObject(BalancingPlans(), "", plan.name);
  base::Ensure(object, {"metadata", "uid"}) = plan.uid;
  base::Ensure(object, {"metadata", "resourceVersion"}) = plan.resource_version;
  if (plan.ours) base::Ensure(object, {"metadata", "labels", kManagedByLabel}) = kManagedBy;
  base::Ensure(object, {"spec"}) = plan.Spec();
  base::Ensure(object, {"status"}) = plan.Status();
  const auto stored = client_.Update(BalancingPlans(), object, {.subresource = "status"});
  if (!stored) {
    if (stored.error().code() == base::Code::kNotFound) written_.erase(plan.name);
    return base::Fail(stored.error());
  }
  Keep(plan, *stored);
  return {};
}

void PlanStore::Prune(const std::vector<PlanObject>& plans, base::Duration memory, base::Time now,
                      const std::function<void(const base::Error&)>& failed) {
  size_t history = 0;
  for (const PlanObject& plan : plans | std::views::reverse) {
    if (!plan.ours || !IsFinal(plan.state)) continue;
    const auto counts = [&](const MoveStatus& move) { return move.evicted_at && now - *move.evicted_at < memory; };
    if (std::ranges::any_of(plan.status, counts)) continue;
    if (now - plan.finished_at.value_or(plan.created) < kHistoryTime && ++history <= kHistoryLimit) continue;
    const auto deleted = client_.Delete(BalancingPlans(), "", plan.name, {.uid = plan.uid});
    if (!deleted && deleted.error().code() != base::Code::kNotFound) failed(deleted.error());
  }
}

}  // namespace evenkeel::controllers::balancer
