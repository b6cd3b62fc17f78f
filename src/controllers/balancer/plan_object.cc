#include "controllers/balancer/plan_object.h"

#include <algorithm>
#include <array>

#include "kube/object.h"

namespace evenkeel::controllers::balancer {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr std::array<std::string_view, 6> kMoveStates = {"Waiting", "Evicting", "Evicted", "Landed", "Elsewhere", "Failed"};
constexpr std::array<std::string_view, 5> kPlanPhases = {"Pending", "Executing", "Done", "Refused", "Failed"};

/// The word's index; 0 for any other word.
template <size_t N>
size_t IndexOf(const std::array<std::string_view, N>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() ? 0 : static_cast<size_t>(found - words.begin());
}

double NumberAt(const Json& object, std::string_view key) {
  const Json* value = base::Find(object, {key});
  if (value == nullptr) return 0;
  if (value->is_double()) return value->get_double();
  return static_cast<double>(base::FindInt(object, {key}));
}

std::optional<base::Time> TimeAt(const Json& object, std::string_view key) {
  const auto time = base::ParseTime(FindString(object, {key}));
  return time ? std::optional(*time) : std::nullopt;
}

void PutText(JsonObject& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

void PutTime(JsonObject& object, std::string_view key, const std::optional<base::Time>& time) {
  if (time) object[key] = base::FormatMicroTime(*time);
}

PlannedMove DecodeMove(const Json& json) {
  PlannedMove move;
  move.partition = FindString(json, {"partition"});
  move.service = FindString(json, {"service"});
  move.action = FindString(json, {"action"});
  move.from = FindString(json, {"from"});
  move.to = FindString(json, {"to"});
  move.pod = FindString(json, {"pod"});
  move.pod_uid = FindString(json, {"podUid"});
  move.owner_uid = FindString(json, {"ownerUid"});
  move.reason = FindString(json, {"reason"});
  move.energy_gain = NumberAt(json, "energyGain");
  for (const auto& [metric, load] : base::FindObject(json, {"loads"})) {
    if (load.is_int64()) move.loads[std::string(metric)] = load.get_int64();
  }
  return move;
}

MoveStatus DecodeStatus(const Json& json) {
  MoveStatus status;
  status.state = static_cast<MoveState>(IndexOf(kMoveStates, FindString(json, {"state"})));
  status.replacement = FindString(json, {"replacement"});
  status.replacement_uid = FindString(json, {"replacementUid"});
  status.node = FindString(json, {"node"});
  status.newest = TimeAt(json, "newest");
  status.newest_uids = base::FindTexts(json, {"newestUids"});
  status.since = TimeAt(json, "since");
  status.evicted_at = TimeAt(json, "evictedAt");
  status.reserve_until = TimeAt(json, "reserveUntil");
  status.message = FindString(json, {"message"});
  return status;
}

}  // namespace

std::string_view Name(MoveState state) { return kMoveStates[static_cast<size_t>(state)]; }
std::string_view Name(PlanPhase phase) { return kPlanPhases[static_cast<size_t>(phase)]; }

PlanObject PlanObject::Decode(const Json& object) {
  PlanObject plan;
  const kube::ObjectMeta meta = kube::DecodeMeta(object);
  plan.name = meta.name;
  plan.uid = meta.uid;
  plan.resource_version = meta.resource_version;
  plan.created = meta.creation_time;
  const auto label = meta.labels.find(kManagedByLabel);
  plan.ours = label != meta.labels.end() && label->second == kManagedBy;
  plan.policy = FindString(object, {"spec", "policy"});
  plan.approved = base::FindBool(object, {"spec", "approved"});
  plan.input_version = FindString(object, {"spec", "inputVersion"});
  plan.phase = FindString(object, {"spec", "phase"});
  if (const Json* spec = base::Find(object, {"spec"}); spec != nullptr) {
    plan.deviation_before = NumberAt(*spec, "deviationBefore");
    plan.deviation_after = NumberAt(*spec, "deviationAfter");
    plan.energy_before = NumberAt(*spec, "energyBefore");
    plan.energy_after = NumberAt(*spec, "energyAfter");
  }
  for (const Json& move : base::FindArray(object, {"spec", "actions"})) plan.moves.push_back(DecodeMove(move));
  plan.state = static_cast<PlanPhase>(IndexOf(kPlanPhases, FindString(object, {"status", "phase"})));
  plan.message = FindString(object, {"status", "message"});
  if (const Json* status = base::Find(object, {"status"}); status != nullptr) {
    plan.started_at = TimeAt(*status, "startedAt");
    plan.finished_at = TimeAt(*status, "finishedAt");
  }
  for (const Json& status : base::FindArray(object, {"status", "actions"})) plan.status.push_back(DecodeStatus(status));
  plan.status.resize(plan.moves.size());
  return plan;
}

Json PlanObject::Spec() const {
  JsonArray actions;
  for (const PlannedMove& move : moves) {
    JsonObject loads;
    for (const auto& [metric, load] : move.loads) loads[metric] = load;
    actions.push_back(JsonObject{{"partition", move.partition},
                                 {"service", move.service},
                                 {"action", move.action},
                                 {"from", move.from},
                                 {"to", move.to},
                                 {"pod", move.pod},
                                 {"podUid", move.pod_uid},
                                 {"ownerUid", move.owner_uid},
                                 {"loads", std::move(loads)},
                                 {"reason", move.reason},
                                 {"energyGain", move.energy_gain}});
  }
  return JsonObject{{"policy", policy},
                    {"approved", approved},
                    {"inputVersion", input_version},
                    {"phase", phase},
                    {"deviationBefore", deviation_before},
                    {"deviationAfter", deviation_after},
                    {"energyBefore", energy_before},
                    {"energyAfter", energy_after},
                    {"actions", std::move(actions)}};
}

Json PlanObject::Status() const {
  JsonArray actions;
  for (const MoveStatus& each : status) {
    JsonObject action{{"state", Name(each.state)}};
    PutText(action, "replacement", each.replacement);
    PutText(action, "replacementUid", each.replacement_uid);
    PutText(action, "node", each.node);
    PutTime(action, "newest", each.newest);
    if (!each.newest_uids.empty()) action["newestUids"] = JsonArray(each.newest_uids.begin(), each.newest_uids.end());
    PutTime(action, "since", each.since);
    PutTime(action, "evictedAt", each.evicted_at);
    PutTime(action, "reserveUntil", each.reserve_until);
    PutText(action, "message", each.message);
    actions.push_back(std::move(action));
  }
  JsonObject object{{"phase", Name(state)}, {"actions", std::move(actions)}};
  PutText(object, "message", message);
  PutTime(object, "startedAt", started_at);
  PutTime(object, "finishedAt", finished_at);
  return object;
}

}  // namespace evenkeel::controllers::balancer
