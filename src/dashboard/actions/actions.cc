#include "dashboard/actions/actions.h"

#include <spdlog/fmt/fmt.h>

#include "base/hash.h"
#include "base/log.h"
#include "controllers/autoscaler/member/cluster_cache.h"
#include "controllers/balancer/kinds.h"
#include "controllers/balancer/plan_object.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/runtime/eviction.h"
#include "dashboard/actions/drain_plan.h"
#include "dashboard/actions/event_kinds.h"
#include "embedded/cloud/node_group_definition.h"

namespace evenkeel::dashboard {
namespace {

namespace balancer = controllers::balancer;
namespace zookeeper = controllers::rollout::zookeeper;
using base::Code;
using base::FindBool;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using base::Result;

/// Of what an Event is called after: names of nodes may be as long as names may be.
constexpr size_t kEventNameMax = 200;
constexpr const char* kComponent = "evenkeel-dashboard";
/// Pods of a node, and moves of a plan, that a preview names one by one.
constexpr size_t kNamedMax = 300;

/// What an action would do, and what it was worked out from.
struct Plan {
  Json about;  ///< the object
  Json basis;  ///< of which "seen" is the hash, besides the object's uid
  std::string title;
  JsonArray effects, warnings;
  DrainPlan drain;

  std::string Seen() const {
    const Json whole = JsonObject{{"uid", kube::UidOf(about)}, {"basis", basis}};
    return fmt::format("{:016x}", base::Blake2b64(base::CanonicalText(whole)));
  }
};

const kube::Resource& KindOf(const ActionRequest& request) {
  switch (request.kind) {
    case ActionKind::kScale:
      return embedded::cloud::NodeGroups();
    case ActionKind::kPause:
    case ActionKind::kResume:
      return zookeeper::MultiClusterZooKeepers();
    case ActionKind::kApprove:
    case ActionKind::kReject:
      return balancer::BalancingPlans();
    default:
      return kube::resources::Nodes();
  }
}

const client::EventKind& EventOf(ActionKind kind) {
  switch (kind) {
    case ActionKind::kCordon:
      return events::kCordoned;
    case ActionKind::kUncordon:
      return events::kUncordoned;
    case ActionKind::kDrain:
      return events::kDrained;
    case ActionKind::kScale:
      return events::kScaled;
    case ActionKind::kPause:
      return events::kPaused;
    case ActionKind::kResume:
      return events::kResumed;
    case ActionKind::kApprove:
      return events::kApproved;
    case ActionKind::kReject:
      return events::kRejected;
  }
  return events::kCordoned;
}

base::Error Changed(const ActionRequest& request) {
  return {Code::kConflict, fmt::format("{} {} is another one by now: look at it again", KindOf(request).kind, request.name)};
}

std::unexpected<base::Error> Nothing(std::string why) { return base::Fail(Code::kConflict, std::move(why)); }

base::Status PlanCordon(const ActionRequest& request, Plan& plan) {
  const bool cordon = request.kind == ActionKind::kCordon;
  const bool now = FindBool(plan.about, {"spec", "unschedulable"});
  plan.basis = now;
  if (now == cordon) return Nothing(fmt::format("node {} is {} already", request.name, cordon ? "cordoned" : "schedulable"));
  plan.title = fmt::format("{} node {} of {}?", cordon ? "Cordon" : "Uncordon", request.name, request.cluster);
  plan.effects.emplace_back(cordon ? "No new pod is placed on it." : "New pods may be placed on it again.");
  if (cordon) plan.effects.emplace_back("The pods that run there stay.");
  return {};
}

Result<std::vector<Json>> ReadForDrain(client::Client& client) {
  std::vector<Json> objects;
  for (const controllers::runtime::ReadKind& kind : controllers::autoscaler::ReadKinds({})) {
    const client::ListOptions which{.ns = kind.ns, .field_selector = kind.field_selector};
    auto page = client::ListAll(client, kind.resource, which);
    if (!page && page.error().code() == Code::kNotFound && kind.older) page = client::ListAll(client, *kind.older, which);
    if (!page && page.error().code() == Code::kNotFound) continue;
    if (!page) return base::Fail(page.error().Wrap("list " + kind.resource.QualifiedPlural()));
    for (Json& object : page->items) {
      if (FindString(object, {"kind"}).empty()) object.as_object()["kind"] = kind.resource.kind;
      objects.push_back(std::move(object));
    }
  }
  return objects;
}

base::Status PlanDraining(const ActionContext& context, const ActionRequest& request, Plan& plan) {
  EVENKEEL_ASSIGN(const std::vector<Json> objects, ReadForDrain(context.client));
  EVENKEEL_ASSIGN(plan.drain, PlanDrain(objects, request.name, context.now));
  JsonArray leaving;
  size_t waits = 0, stays = 0;
  for (const DrainPlan::Pod& pod : plan.drain.pods) {
    if (pod.leaves) leaving.emplace_back(pod.uid);
    if (pod.waits) ++waits;
    if (!pod.leaves) ++stays;
  }
  const size_t going = leaving.size();
  plan.basis = std::move(leaving);
  plan.title = fmt::format("Drain node {} of {}?", request.name, request.cluster);
  plan.effects.emplace_back("No new pod is placed on it.");
  plan.effects.emplace_back(
      going == 0 ? std::string("No pod has to leave it.")
                 : fmt::format("{} {} evicted, as far as their budgets allow:", going, going == 1 ? "pod is" : "pods are"));
  for (size_t i = 0; i < plan.drain.pods.size() && i < kNamedMax; ++i) {
    const DrainPlan::Pod& pod = plan.drain.pods[i];
    plan.effects.emplace_back(pod.key + ": " + pod.words);
  }
  if (plan.drain.pods.size() > kNamedMax) {
    plan.effects.emplace_back(fmt::format("and {} more", plan.drain.pods.size() - kNamedMax));
  }
  if (plan.drain.daemons > 0) {
    plan.effects.emplace_back(
        fmt::format("{} of DaemonSets {}.", plan.drain.daemons, plan.drain.daemons == 1 ? "stays" : "stay"));
  }
  if (waits > 0) plan.warnings.emplace_back(fmt::format("{} of them find no room now and will wait.", waits));
  if (stays > 0) {
    plan.warnings.emplace_back(fmt::format("{} {} on the node: the autoscaler would not move them either.", stays,
                                           stays == 1 ? "pod stays" : "pods stay"));
  }
  return {};
}

base::Status PlanScaling(const ActionRequest& request, Plan& plan) {
  const int64_t min = FindInt(plan.about, {"spec", "minSize"}), max = FindInt(plan.about, {"spec", "maxSize"});
  const int64_t target = FindInt(plan.about, {"spec", "targetSize"}, min);
  plan.basis = JsonArray{target, min, max};
  if (request.size < min || request.size > max) {
    return base::Fail(Code::kBadRequest, fmt::format("size: node group {} goes from {} to {} nodes", request.name, min, max));
  }
  if (request.size == target) return Nothing(fmt::format("the target of node group {} is {} already", request.name, target));
  plan.title = fmt::format("Scale node group {} of {} from {} to {}?", request.name, request.cluster, target, request.size);
  const int64_t by = request.size - target, count = by < 0 ? -by : by;
  const Json* price = base::Find(plan.about, {"spec", "pricePerHour"});
  if (by > 0) {
    plan.effects.emplace_back(fmt::format("The cloud makes {} more {}.", count, count == 1 ? "node" : "nodes"));
    if (price != nullptr && price->is_number()) {
      plan.effects.emplace_back(
          fmt::format("That costs {:.4g} more an hour.", price->to_number<double>() * static_cast<double>(by)));
    }
    plan.warnings.emplace_back("Where nothing needs them, the autoscaler takes them away again after its time.");
  } else {
    plan.effects.emplace_back(
        fmt::format("The cloud takes away {}: first those that are not there yet, then the newest.", count));
    plan.warnings.emplace_back(
        "Their pods are not evicted first. Drain the nodes that you mean, and the autoscaler removes them.");
  }
  return {};
}

base::Status PlanPause(const ActionRequest& request, Plan& plan) {
  const bool pause = request.kind == ActionKind::kPause;
  const bool now = FindBool(plan.about, {"spec", "rollout", "paused"});
  plan.basis = now;
  const std::string key = request.ns + "/" + request.name;
  if (now == pause) return Nothing(fmt::format("the rollout of {} is {} already", key, pause ? "paused" : "not paused"));
  plan.title = fmt::format("{} the rollout of {}?", pause ? "Pause" : "Go on with", key);
  const std::string_view phase = FindString(plan.about, {"status", "phase"}, "Pending");
  plan.effects.emplace_back(fmt::format("It is {} now.", phase));
  if (pause) {
    plan.effects.emplace_back("No further server is changed, in no cluster, until somebody lets it go on.");
    plan.effects.emplace_back("What has been changed stays as it is.");
  } else {
    plan.effects.emplace_back("It goes on where it was, as far as the quorum allows.");
  }
  return {};
}

/// Without its approval.
Json PlannedOf(const Json& plan) {
  const Json* spec = base::Find(plan, {"spec"});
  Json counted = spec == nullptr ? Json() : *spec;
  base::Erase(counted, {"approved"});
  return counted;
}

base::Status PlanDecision(const ActionRequest& request, Plan& plan) {
  const bool approve = request.kind == ActionKind::kApprove;
  const balancer::PlanObject present = balancer::PlanObject::Decode(plan.about);
  plan.basis = PlannedOf(plan.about);
  if (present.state != balancer::PlanPhase::kPending || present.approved) {
    return Nothing(fmt::format("BalancingPlan {} {}: it does not wait for approval", request.name,
                               present.approved && present.state == balancer::PlanPhase::kPending
                                   ? "is approved"
                                   : fmt::format("is {}", Name(present.state))));
  }
  plan.title = fmt::format("{} plan {} of {}?", approve ? "Carry out" : "Reject", request.name, request.cluster);
  if (!approve) {
    plan.effects.emplace_back("No pod moves.");
    plan.effects.emplace_back("The balancer makes another plan at its next look where the cluster is still out of balance.");
    return {};
  }
  plan.effects.emplace_back(
      fmt::format("{} evicted, one after another, and made again elsewhere:",
                  present.moves.size() == 1 ? "1 pod is" : fmt::format("{} pods are", present.moves.size())));
  for (size_t i = 0; i < present.moves.size() && i < kNamedMax; ++i) {
    const balancer::PlannedMove& move = present.moves[i];
    plan.effects.emplace_back(fmt::format("{}: from {} to {}", move.pod, move.from, move.to));
  }
  plan.effects.emplace_back("If the cluster has changed since, nothing is moved.");
  return {};
}

Result<Plan> MakePlan(const ActionContext& context, const ActionRequest& request) {
  Plan plan;
  const kube::Resource& kind = KindOf(request);
  auto found = context.client.Get(kind, request.ns, request.name);
  if (!found && found.error().code() == Code::kNotFound) {
    return base::Fail(Code::kNotFound, fmt::format("there is no {} {}", kind.kind, request.name));
  }
  EVENKEEL_ASSIGN(plan.about, std::move(found));
  plan.about.as_object()["apiVersion"] = kind.ApiVersion();
  plan.about.as_object()["kind"] = kind.kind;
  base::Status made;
  switch (request.kind) {
    case ActionKind::kCordon:
    case ActionKind::kUncordon:
      made = PlanCordon(request, plan);
      break;
    case ActionKind::kDrain:
      made = PlanDraining(context, request, plan);
      break;
    case ActionKind::kScale:
      made = PlanScaling(request, plan);
      break;
    case ActionKind::kPause:
    case ActionKind::kResume:
      made = PlanPause(request, plan);
      break;
    case ActionKind::kApprove:
    case ActionKind::kReject:
      made = PlanDecision(request, plan);
      break;
  }
  if (!made) return base::Fail(made.error());
  return plan;
}

/// Sets one field. What others write meanwhile stays, unless it is the spec that was looked at.
base::Status Write(const ActionContext& context, const ActionRequest& request, const Plan& plan,
                   std::initializer_list<std::string_view> field, const Json& value) {
  const auto change = [&](Json& object) -> Result<bool> {
    const Json* before = base::Find(plan.about, {"spec"});
    const Json* now = base::Find(object, {"spec"});
    const bool same = (before == nullptr) == (now == nullptr) && (now == nullptr || base::Equal(*before, *now));
    if (!same || kube::UidOf(object) != kube::UidOf(plan.about)) return base::Fail(Changed(request));
    base::Ensure(object, field) = value;
    return true;
  };
  EVENKEEL_TRY(client::ReadModifyWrite(context.client, KindOf(request), request.ns, request.name, change));
  return {};
}

/// What became of it, in words.
Result<std::string> EvictAll(const ActionContext& context, const ActionRequest& request, const Plan& plan) {
  if (!FindBool(plan.about, {"spec", "unschedulable"})) {
    EVENKEEL_TRY(Write(context, request, plan, {"spec", "unschedulable"}, true));
  }
  size_t evicted = 0, refused = 0;
  std::string why;
  for (const DrainPlan::Pod& pod : plan.drain.pods) {
    if (!pod.leaves) continue;
    std::string ns, name;
    kube::SplitKey(pod.key, ns, name);
    const auto answer = context.client.Post(kube::resources::Pods(), ns, name, "eviction",
                                            controllers::runtime::EvictionOf(ns, name, pod.uid, std::nullopt));
    // One that has gone by itself is where it was to be.
    if (answer || answer.error().code() == Code::kNotFound) {
      ++evicted;
    } else {
      ++refused;
      if (why.empty()) why = pod.key + ": " + answer.error().message();
    }
  }
  std::string text =
      fmt::format("node {} is cordoned, {} {} evicted", request.name, evicted, evicted == 1 ? "pod was" : "pods were");
  if (refused > 0)
    text += fmt::format(", {} {} refused and can be tried again ({})", refused, refused == 1 ? "was" : "were", why);
  return text;
}

base::Status Reject(const ActionContext& context, const ActionRequest& request, const Plan& plan) {
  balancer::PlanObject present = balancer::PlanObject::Decode(plan.about);
  present.state = balancer::PlanPhase::kRefused;
  present.message = "rejected by " + context.user;
  present.finished_at = context.now;
  Json object = plan.about;
  object.as_object()["status"] = present.Status();
  EVENKEEL_TRY(
      context.client.Update(KindOf(request), object, {.subresource = "status", .field_manager = "", .dry_run = false}));
  return {};
}

Result<std::string> Do(const ActionContext& context, const ActionRequest& request, const Plan& plan) {
  const std::string key = request.ns.empty() ? request.name : request.ns + "/" + request.name;
  switch (request.kind) {
    case ActionKind::kCordon:
    case ActionKind::kUncordon: {
      const bool cordon = request.kind == ActionKind::kCordon;
      EVENKEEL_TRY(Write(context, request, plan, {"spec", "unschedulable"}, cordon));
      return fmt::format("node {} is {}", key, cordon ? "cordoned" : "schedulable again");
    }
    case ActionKind::kDrain:
      return EvictAll(context, request, plan);
    case ActionKind::kScale:
      EVENKEEL_TRY(Write(context, request, plan, {"spec", "targetSize"}, request.size));
      return fmt::format("the target of node group {} is {}", key, request.size);
    case ActionKind::kPause:
    case ActionKind::kResume: {
      const bool pause = request.kind == ActionKind::kPause;
      EVENKEEL_TRY(Write(context, request, plan, {"spec", "rollout", "paused"}, pause));
      return fmt::format("the rollout of {} {}", key, pause ? "is paused" : "goes on");
    }
    case ActionKind::kApprove:
      EVENKEEL_TRY(Write(context, request, plan, {"spec", "approved"}, true));
      return fmt::format("BalancingPlan {} of {} is approved", key, request.cluster);
    case ActionKind::kReject:
      EVENKEEL_TRY(Reject(context, request, plan));
      return fmt::format("BalancingPlan {} of {} is rejected", key, request.cluster);
  }
  return base::Fail(Code::kInternal, "there is no such action");
}

/// Written at once, so that who looks at the object finds it.
void Record(const ActionContext& context, const ActionRequest& request, const Json& about, const std::string& text) {
  const client::EventKind& kind = EventOf(request.kind);
  const std::string ns(kube::NamespaceOf(about));
  const std::string time = base::FormatTime(context.now);
  JsonObject object{{"apiVersion", FindString(about, {"apiVersion"})},
                    {"kind", FindString(about, {"kind"})},
                    {"name", kube::NameOf(about)},
                    {"uid", kube::UidOf(about)}};
  if (!ns.empty()) object["namespace"] = ns;
  const auto number = std::chrono::duration_cast<std::chrono::nanoseconds>(context.now.time_since_epoch()).count();
  const Json event = JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", JsonObject{{"namespace", ns.empty() ? "default" : ns},
                              {"name", fmt::format("{}.{:x}", kube::NameOf(about).substr(0, kEventNameMax), number)}}},
      {"involvedObject", std::move(object)},
      {"reason", kind.reason},
      {"message", fmt::format("{}: by {}", text, context.user)},
      {"source", JsonObject{{"component", kComponent}}},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"count", 1},
      {"type", kind.warning ? "Warning" : "Normal"}};
  if (const auto written = context.client.Create(kube::resources::Events(), event); !written) {
    base::log::Warn("the event of an action could not be written",
                    {{"action", Name(request.kind)}, {"name", request.name}, {"error", written.error()}});
  }
}

}  // namespace

std::string PlanHash(const Json& plan) {
  Plan made;
  made.about = plan;
  made.basis = PlannedOf(plan);
  return made.Seen();
}

Result<Json> PreviewAction(const ActionContext& context, const ActionRequest& request) {
  EVENKEEL_ASSIGN(const Plan plan, MakePlan(context, request));
  return Json(JsonObject{{"title", plan.title}, {"effects", plan.effects}, {"warnings", plan.warnings}, {"seen", plan.Seen()}});
}

Result<Json> CarryOutAction(const ActionContext& context, const ActionRequest& request) {
  EVENKEEL_ASSIGN(const Plan plan, MakePlan(context, request));
  if (plan.Seen() != request.seen) {
    return base::Fail(Changed(request));
  }
  EVENKEEL_ASSIGN(const std::string done, Do(context, request, plan));
  Record(context, request, plan.about, done);
  return Json(JsonObject{{"message", done}});
}

}  // namespace evenkeel::dashboard
