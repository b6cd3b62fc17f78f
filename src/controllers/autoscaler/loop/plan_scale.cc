// What `plan scale` answers.
#include "controllers/autoscaler/loop/plan_scale.h"

#include "controllers/autoscaler/loop/explanation.h"
#include "controllers/autoscaler/loop/scale_session.h"
#include "kube/types.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::PodId;

/// Which pods a step's new nodes hold, by the group that is to have them.
std::map<std::string, PodIds> PodsByGroup(scheduling::Snapshot& snapshot, const ScaleUpStep& step) {
  std::map<uint64_t, PodIds> waiting;  // by likeness of their classes
  for (const PodId pod : step.placed) waiting[snapshot.Likeness(snapshot.ClassOf(pod))].push_back(pod);
  for (auto& [likeness, pods] : waiting) std::ranges::reverse(pods);
  std::map<std::string, PodIds> by_group;
  const std::string& first = step.changes.front().group;
  for (const ScaleUpStep::NewNode& node : step.nodes) {
    PodIds& here = by_group[node.group.empty() ? first : node.group];
    for (const auto& [pod_class, count] : node.pods) {
      PodIds& pods = waiting[snapshot.Likeness(pod_class)];
      for (int64_t i = 0; i < count && !pods.empty(); ++i) {
        here.push_back(pods.back());
        pods.pop_back();
      }
    }
  }
  for (auto& [likeness, pods] : waiting) {
    for (; !pods.empty(); pods.pop_back()) by_group[first].push_back(pods.back());
  }
  return by_group;
}

JsonArray PodKeys(const scheduling::Snapshot& snapshot, const PodIds& pods) {
  std::vector<std::string_view> keys;
  for (const PodId pod : pods) keys.push_back(snapshot.PodKey(pod));
  std::ranges::sort(keys);
  return base::ToJsonArray(keys);
}

}  // namespace

std::string DescribeFit(const scheduling::Fit& fit) {
  std::string text;
  for (const scheduling::Reason& reason : fit.reasons) {
    text += (text.empty() ? "" : ", ") + reason.text;
    if (!reason.detail.empty()) text += " (" + reason.detail + ")";
    if (reason.resource.empty()) continue;
    const auto amount = [&](int64_t value) { return kube::AmountText(reason.resource, value); };
    text += " (" + amount(reason.requested) + " requested, " + amount(std::max<int64_t>(0, reason.allocatable - reason.used)) +
            " free of " + amount(reason.allocatable) + ": " + amount(reason.missing()) + " missing)";
  }
  return std::string(Name(fit.filter)) + ": " + (text.empty() ? "refused" : text);
}

std::vector<OneRefusal> ByReason(std::vector<std::pair<std::string, Miss>> misses) {
  std::vector<std::string> reasons;
  for (const auto& [name, miss] : misses) {
    if (std::ranges::find(reasons, miss.reason) == reasons.end()) reasons.push_back(miss.reason);
  }
  std::ranges::stable_sort(misses, {}, [](const auto& entry) { return entry.second.lacking; });
  std::vector<OneRefusal> refusals;
  for (std::string& reason : reasons) refusals.push_back({std::move(reason), "", {}});
  for (auto& [name, miss] : misses) {
    OneRefusal& refusal = *std::ranges::find(refusals, miss.reason, &OneRefusal::reason);
    if (refusal.names.empty()) refusal.nearest = std::move(miss.text);
    refusal.names.push_back(std::move(name));
  }
  return refusals;
}

Json ScaleSession::Result() const {
  JsonObject upcoming;
  for (const auto& [group, nodes] : plan_.upcoming) upcoming[group] = nodes;
  JsonObject result{{"health", Health()},
                    {"scaleUp", ScaleUps()},
                    {"pending", Pending()},
                    {"unneeded", Unneeded()},
                    {"unremovable", Unremovables()},
                    {"scaleDown", ScaleDowns()},
                    {"upcoming", std::move(upcoming)},
                    {"nodeGroups", Groups()},
                    {"milliseconds", milliseconds_}};
  if (!plan_.left_alone.empty()) result["leftAlone"] = ToJson(plan_.left_alone);
  if (!plan_.stopped_at.empty()) result["stopped"] = JsonObject{{"stage", plan_.stopped_at}, {"why", plan_.why}};
  if (plan_.scale_down.in_cool_down()) result["coolDown"] = plan_.scale_down.cool_down;
  return result;
}

Json ScaleSession::Health() const {
  const Readiness& total = state_.cluster.total();
  const char* status = plan_.stopped_at == "CheckActionable" ? "Initializing"
                       : state_.cluster.IsClusterHealthy()   ? "Healthy"
                                                             : "Unhealthy";
  return JsonObject{{"status", status}, {"unready", total.unready}, {"registered", total.registered}, {"ready", total.ready}};
}

JsonArray ScaleSession::ScaleUps() const {
  struct Growth {
    std::string group;
    int64_t from = 0, to = 0;
    PodIds pods;
  };
  std::vector<Growth> growths;
  const auto grow = [&](const std::string& group, int64_t from, int64_t to) -> Growth& {
    auto found = std::ranges::find(growths, group, &Growth::group);
    if (found == growths.end()) found = growths.insert(growths.end(), {group, from, from, {}});
    found->to = to;
    return *found;
  };
  for (const ScaleUpStep& step : plan_.scale_ups) {
    if (step.changes.empty()) continue;
    std::map<std::string, PodIds> pods = PodsByGroup(*plan_.view.snapshot, step);
    for (const GroupDelta& delta : step.changes) {
      Growth& growth = grow(delta.group, delta.from, delta.to);
      std::ranges::move(pods[delta.group], std::back_inserter(growth.pods));
    }
  }
  // What grows for other reasons than pods: minimum sizes, consolidation.
  std::map<std::string, int64_t> others;
  for (const GroupChange& change : plan_.changes) {
    if (change.kind == GroupChange::Kind::kIncreaseSize) others[change.group] += change.delta;
  }
  for (const Growth& growth : growths) others[growth.group] -= growth.to - growth.from;
  for (const auto& [group, delta] : others) {
    const auto found = std::ranges::find(growths, group, &Growth::group);
    const int64_t base = found != growths.end() ? found->to : given_.contains(group) ? given_.at(group) : 0;
    if (delta > 0) grow(group, base, base + delta);
  }
  JsonArray array;
  for (const Growth& growth : growths) {
    array.push_back(JsonObject{{"group", growth.group},
                               {"from", growth.from},
                               {"to", growth.to},
                               {"pods", PodKeys(*plan_.view.snapshot, growth.pods)}});
  }
  return array;
}

JsonArray ScaleSession::Pending() const {
  JsonArray array;
  for (auto& [key, reason] : PendingReasons(plan_)) {
    JsonObject entry{{"pod", key}, {"reasons", GroupsToJson(reason)}};
    if (!reason.why.empty()) entry["why"] = std::move(reason.why);
    array.push_back(std::move(entry));
  }
  return array;
}

std::vector<PendingPods> ScaleSession::PendingByReason() const {
  const std::map<std::string, std::string, std::less<>> owners = PodOwners();
  std::vector<PendingPods> all;
  std::map<std::string, size_t> index;  // by what makes them equal
  for (const auto& [key, reason] : PendingReasons(plan_)) {
    const auto owner = owners.find(key);
    const std::string name = owner == owners.end() ? "" : owner->second;
    const auto [found, added] =
        index.try_emplace(name + "\n" + reason.why + "\n" + base::ToText(GroupsToJson(reason)), all.size());
    if (added) {
      PendingPods& pods = all.emplace_back(PendingPods{name, std::string(key), 0, reason.why, {}});
      std::vector<std::pair<std::string, Miss>> misses(reason.groups.begin(), reason.groups.end());
      pods.groups = ByReason(std::move(misses));
    }
    ++all[found->second].pods;
  }
  return all;
}

std::map<std::string, std::string, std::less<>> ScaleSession::PodOwners() const {
  std::map<std::string, std::string, std::less<>> owners;
  for (const PodId pod : objects_.pending()) {
    const PodFacts& facts = (*plan_.view.pods)[pod];
    if (facts.owner_kind.empty()) continue;
    owners[facts.key] = facts.owner_kind + " " + facts.key.substr(0, facts.key.find('/') + 1) + facts.owner_name;
  }
  return owners;
}

bool ScaleSession::IsTooYoung(PodId pod) const {
  if (std::ranges::find(plan_.passed_over, std::pair(pod, PassedOver::kYoung)) != plan_.passed_over.end()) return true;
  return plan_.decision == ScaleUpDecision::kInCooldown &&
         std::ranges::find(plan_.unschedulable, pod) != plan_.unschedulable.end();
}

std::optional<base::Time> ScaleSession::NextDecision() const {
  std::optional<base::Time> earliest;
  const auto note = [&](base::Time time) { earliest = std::min(earliest.value_or(time), time); };
  if (plan_.decision == ScaleUpDecision::kInCooldown) note(AllNewUntil(plan_.view, plan_.unschedulable));
  for (const auto& [pod, why] : plan_.passed_over) {
    // Only after it.
    if (why == PassedOver::kYoung) note(YoungUntil(plan_.view, input_.options, pod) + base::Duration(1));
  }
  if (!earliest) return std::nullopt;
  const base::Duration interval = std::max(input_.options.scan_interval, base::Duration(std::chrono::milliseconds(1)));
  const int64_t loops = std::max<int64_t>(1, (*earliest - input_.now + interval - base::Duration(1)) / interval);
  return input_.now + loops * interval;
}

base::Result<Json> ScaleSession::NextLoop() {
  const std::optional<base::Time> at = NextDecision();
  if (!at) return Json();
  input_.now = *at;
  groups_ = plan_.view.groups;
  for (const providers::NodeGroup& group : groups_.groups) given_[group.id] = group.target_size;
  EVENKEEL_TRY(Loop());
  return JsonObject{{"at", base::FormatTime(*at)}, {"scaleUp", ScaleUps()}, {"pending", Pending()}};
}

JsonArray ScaleSession::Unneeded() const {
  JsonArray array;
  for (const auto& [node, since] : state_.scale_down.unneeded.all()) {
    array.push_back(JsonObject{{"node", node}, {"since", base::FormatTime(since)}});
  }
  return array;
}

JsonArray ScaleSession::Unremovables() const {
  JsonArray array;
  for (const Unremovable& node : plan_.scale_down.unremovable) {
    JsonObject object{{"node", (*plan_.view.nodes)[node.node].name}, {"reason", Name(node.reason)}};
    if (node.blocking.pod != scheduling::kNone) {
      object["pod"] = plan_.view.snapshot->PodKey(node.blocking.pod);
      if (node.blocking.reason != BlockingReason::kNoReason) object["blocking"] = Name(node.blocking.reason);
    }
    if (node.until) object["until"] = base::FormatTime(*node.until);
    array.push_back(std::move(object));
  }
  return array;
}

std::vector<std::string> ScaleSession::DeletedNodes(bool drain) const {
  std::vector<std::string> nodes;
  for (const size_t index : drain ? plan_.scale_down.delete_drain : plan_.scale_down.delete_empty) {
    nodes.push_back((*plan_.view.nodes)[plan_.scale_down.unneeded[index].node].name);
  }
  std::ranges::sort(nodes);
  return nodes;
}

JsonObject ScaleSession::ScaleDowns() const {
  JsonArray empty, drain;
  for (const std::string& node : DeletedNodes(false)) empty.emplace_back(node);
  for (const std::string& name : DeletedNodes(true)) {
    for (const UnneededNode& node : plan_.scale_down.unneeded) {
      if ((*plan_.view.nodes)[node.node].name != name) continue;
      PodIds pods;
      for (const MovedPod& moved : node.pods) pods.push_back(moved.pod);
      drain.push_back(JsonObject{{"node", name}, {"pods", PodKeys(*plan_.view.snapshot, pods)}});
    }
  }
  return JsonObject{{"empty", std::move(empty)}, {"drain", std::move(drain)}};
}

JsonArray ScaleSession::Groups() const {
  JsonArray array;
  for (const providers::NodeGroup& group : plan_.view.groups.groups) {
    const GroupState* known = state_.cluster.Find(group.id);
    const Backoff::Entry* backoff = state_.cluster.backoff().Find(group.id, input_.now);
    JsonObject object{{"name", group.id},
                      {"target", group.target_size},
                      {"min", group.min_size},
                      {"max", group.max_size},
                      {"ready", known == nullptr ? 0 : known->readiness.ready},
                      {"backoff", nullptr}};
    if (backoff != nullptr) {
      object["backoff"] = base::FormatTime(backoff->until);
      object["backoffReason"] = backoff->error.message;
    }
    array.push_back(std::move(object));
  }
  return array;
}

base::Result<ScaleOutput> PlanScale(ScaleInput input) {
  EVENKEEL_ASSIGN(const auto session, ScaleSession::Run(std::move(input)));
  ScaleOutput output{session->Result(), session->State(), session->PendingByReason(), {}, session->PodOwners()};
  EVENKEEL_ASSIGN(Json next, session->NextLoop());
  if (!next.is_null()) {
    output.result.as_object()["nextLoop"] = std::move(next);
    output.next_pending = session->PendingByReason();
  }
  return output;
}

}  // namespace evenkeel::controllers::autoscaler
