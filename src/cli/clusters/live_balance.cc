#include "cli/clusters/live_balance.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "controllers/balancer/kinds.h"
#include "controllers/balancer/member_objects.h"
#include "controllers/balancer/metric_faults.h"

namespace evenkeel::cli {
namespace {

using base::Json;
namespace on_member = controllers::balancer;

/// Nothing of kinds that the API does not serve.
base::Result<std::vector<Json>> ListServed(client::Client& cluster, const kube::Resource& resource,
                                           const std::string& field_selector = "") {
  auto page = client::ListAll(cluster, resource, {.field_selector = field_selector});
  if (!page && page.error().code() == base::Code::kNotFound) return std::vector<Json>();
  if (!page) return base::Fail(page.error().Wrap("list " + resource.QualifiedPlural()));
  for (Json& object : page->items) {
    if (base::FindString(object, {"kind"}).empty()) object.as_object()["kind"] = resource.kind;
  }
  return std::move(page->items);
}

base::Result<on_member::Policy> ReadPolicy(client::Client& cluster, const std::string& name) {
  EVENKEEL_ASSIGN(std::vector<Json> objects, ListServed(cluster, on_member::BalancingPolicies()));
  std::ranges::sort(objects, {}, [](const Json& object) { return kube::NameOf(object); });
  std::optional<base::Error> invalid;
  for (const Json& object : objects) {
    const std::string found(kube::NameOf(object));
    if (!name.empty() && found != name) continue;
    auto policy = on_member::ParsePolicy(object);
    if (policy) return policy;
    if (!invalid) invalid = policy.error().Wrap("BalancingPolicy " + found);
  }
  if (invalid) return base::Fail(*std::move(invalid));
  return base::Fail(base::Code::kNotFound, cluster.Describe() + " has no BalancingPolicy" + (name.empty() ? "" : " " + name) +
                                               ": without one nothing is balanced (docs/BALANCING.md)");
}

base::Status ReadMember(client::Client& cluster, scheduling::ClusterMirror& mirror) {
  for (const controllers::runtime::ReadKind& kind : on_member::ReadKinds()) {
    EVENKEEL_ASSIGN(const std::vector<Json> all, ListServed(cluster, kind.resource, kind.field_selector));
    for (const Json& object : all) mirror.Upsert(object);
  }
  return {};
}

on_member::PodUsage ReadUsage(client::Client& cluster, std::vector<std::string>& warnings) {
  const auto page = client::ListAll(cluster, on_member::PodMetrics());
  if (page) return on_member::DecodeUsage(page->items);
  warnings.push_back("the metrics API cannot be asked, so requests count: " + page.error().message());
  return {};
}

/// What the balancer takes out of its plan again is there, and said not to be done.
void NoteDropped(on_member::Outlook& outlook) {
  for (const on_member::DroppedMove& dropped : outlook.dropped) {
    const uint32_t service = outlook.member.cluster.FindService(dropped.move.service);
    if (service == balancing::kNoId) continue;
    const uint32_t group = outlook.plan.groups.group_of_service[service];
    const auto found = std::ranges::find(outlook.plan.of_groups, group, &balancing::GroupPlan::group);
    if (found == outlook.plan.of_groups.end()) continue;
    found->skipped.push_back({"the balancer leaves this action out: " + dropped.why, "pod " + dropped.move.pod});
  }
}

}  // namespace

void AddReasonsOfMember(const std::map<std::string, std::string>& fixed, const std::vector<on_member::BrokenPod>& broken,
                        Json& explanation) {
  for (Json& replica : base::Ensure(explanation, {"replicas"}).as_array()) {
    if (base::FindBool(replica, {"moves"})) continue;
    const std::string pod(base::FindString(replica, {"partition"}));
    const auto stays = std::ranges::find(broken, pod, &on_member::BrokenPod::pod);
    if (stays != broken.end()) replica.as_object()["why"] = stays->why;
    if (const auto why = fixed.find(pod); why != fixed.end()) replica.as_object()["why"] = why->second;
  }
}

base::Result<LiveBalance> ReadLiveBalance(client::Client& cluster, const std::string& policy, base::Time now) {
  LiveBalance live;
  EVENKEEL_ASSIGN(live.policy, ReadPolicy(cluster, policy));
  scheduling::ClusterMirror mirror;
  on_member::MemberObjects objects(mirror);
  EVENKEEL_TRY(ReadMember(cluster, mirror));
  on_member::PodUsage usage;
  if (live.policy.UsesUsage()) usage = ReadUsage(cluster, live.warnings);
  const on_member::MetricFault fault = FindMetricFault(live.policy, objects, usage, "");
  if (!fault.reason.empty() && live.warnings.empty()) live.warnings.push_back(fault.text);
  EVENKEEL_ASSIGN(const std::vector<Json> stored, ListServed(cluster, on_member::BalancingPlans()));
  std::vector<on_member::PlanObject> plans;
  for (const Json& object : stored) plans.push_back(on_member::PlanObject::Decode(object));
  std::ranges::sort(plans, {}, [](const on_member::PlanObject& plan) { return std::tie(plan.created, plan.name); });
  const on_member::PastMoves past(plans);
  const on_member::MemberInput input{.objects = objects, .policy = live.policy, .usage = usage, .past = past, .now = now};
  live.outlook = on_member::Planning().Look(input, plans);
  live.memory = MemoryOf(live.outlook.member.settings, live.outlook.member.cluster, on_member::PlannerTime(now));
  NoteDropped(live.outlook);
  return live;
}

}  // namespace evenkeel::cli
