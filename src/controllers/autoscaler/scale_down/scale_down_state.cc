// What outlives a process, and the cool-downs.
#include <fmt/format.h>

#include "controllers/autoscaler/scale_down/scale_down.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Field;

struct NamedTime {
  const char* name;
  std::optional<base::Time> CoolDown::* member;
};
constexpr NamedTime kTimes[] = {
    {"lastScaleUp", &CoolDown::scale_up}, {"lastDeletion", &CoolDown::deletion}, {"lastFailure", &CoolDown::failure}};

base::Json CoolDownToJson(const CoolDown& times) {
  base::JsonObject object;
  for (const auto& [name, member] : kTimes) {
    if (const auto& time = times.*member) object[name] = base::FormatMicroTime(*time);
  }
  return object;
}

base::Status ReadCoolDown(const Field& fields, CoolDown& times) {
  for (const auto& [name, member] : kTimes) EVENKEEL_TRY(fields[name].Instant(times.*member));
  return {};
}

}  // namespace

void ScaleDownState::ScaledUp(const std::string& group, base::Time now) {
  cool_down.scale_up = now;
  if (!group.empty()) group_cool_down[group].scale_up = now;
}

void ScaleDownState::Deleted(const std::string& group, base::Time now) {
  cool_down.deletion = now;
  if (!group.empty()) group_cool_down[group].deletion = now;
}

void ScaleDownState::Failed(const std::string& group, base::Time now) {
  cool_down.failure = now;
  if (!group.empty()) group_cool_down[group].failure = now;
}

base::Json ScaleDownState::ToJson() const {
  base::JsonObject groups;
  for (const auto& [group, times] : group_cool_down) groups[group] = CoolDownToJson(times);
  base::JsonObject object{
      {"unneeded", unneeded.ToJson()}, {"coolDown", CoolDownToJson(cool_down)}, {"groups", std::move(groups)}};
  if (replaceable.size() > 0) object["replaceable"] = replaceable.ToJson();
  if (consolidation) object["consolidation"] = consolidation->ToJson();
  if (last_consolidation) object["lastConsolidation"] = base::FormatMicroTime(*last_consolidation);
  if (last_update) object["lastUpdate"] = base::FormatMicroTime(*last_update);
  if (shortest_interval) object["shortestInterval"] = base::FormatDuration(*shortest_interval);
  return object;
}

base::Result<ScaleDownState> ScaleDownState::FromJson(const base::Json& json) {
  const Field fields(&json, "state", "scaleDown");
  ScaleDownState state;
  EVENKEEL_TRY(fields.IsObject());
  EVENKEEL_ASSIGN(state.unneeded, UnneededNodes::Read(fields["unneeded"]));
  EVENKEEL_TRY(ReadCoolDown(fields["coolDown"], state.cool_down));
  EVENKEEL_TRY(fields["groups"].ForEachMember([&](std::string_view group, const Field& times) {
    return ReadCoolDown(times, state.group_cool_down[std::string(group)]);
  }));
  EVENKEEL_ASSIGN(state.replaceable, UnneededNodes::Read(fields["replaceable"]));
  if (const Field active = fields["consolidation"]) {
    EVENKEEL_ASSIGN(state.consolidation, ActiveConsolidation::Read(active));
  }
  EVENKEEL_TRY(fields["lastConsolidation"].Instant(state.last_consolidation));
  EVENKEEL_TRY(fields["lastUpdate"].Instant(state.last_update));
  EVENKEEL_TRY(fields["shortestInterval"].Wait(state.shortest_interval));
  return state;
}

std::string CoolDownReason(const ScaleDownState& state, const Options& options, bool disabled_for_loop, const LoopTime& now) {
  if (disabled_for_loop) return "pods of this loop wait for a scale-up, or are too young to tell";
  if (options.scale_down_delay_type_local) return "";
  const auto after = [&](const std::optional<base::Time>& time, base::Duration delay, const char* what) -> std::string {
    if (!time || *time + delay <= now) return "";
    return fmt::format("{} was {} ago; deletions go on in {}", what, base::HumanDuration(now.Read() - *time),
                       base::FormatDuration(std::chrono::ceil<std::chrono::seconds>(*time + delay - now.Read())));
  };
  std::string reason = after(state.cool_down.scale_up, options.scale_down_delay_after_add, "the last scale-up");
  if (reason.empty()) {
    reason = after(state.cool_down.failure, options.scale_down_delay_after_failure, "the last failure to delete a node");
  }
  if (reason.empty()) reason = after(state.cool_down.deletion, options.scale_down_delay_after_delete, "the last deletion");
  return reason;
}

std::string WhyNoDeletions(const ScaleDownState& state, const Options& options, bool disabled_for_loop,
                           const std::string& plan_under_way, const LoopTime& now) {
  std::string reason = CoolDownReason(state, options, disabled_for_loop, now);
  if (!reason.empty() || plan_under_way.empty()) return reason;
  // Where its pods come to is not seen yet, so the simulation knows neither that they need room nor on which node.
  return WhyNotDuring(plan_under_way);
}

std::string WhyNotDuring(const std::string& balancing_plan) {
  return "BalancingPlan " + balancing_plan + " moves pods, and room is kept for them";
}

bool ScaleDownState::SameMemory(const ScaleDownState& other) const {
  return !consolidation && !other.consolidation && unneeded == other.unneeded && cool_down == other.cool_down &&
         group_cool_down == other.group_cool_down && last_consolidation == other.last_consolidation &&
         replaceable == other.replaceable && unremovable == other.unremovable && hints == other.hints && moves == other.moves &&
         shortest_interval == other.shortest_interval;
}

bool ScaleDownState::PassLoop(base::Time now) {
  if (!last_update) return true;
  if (!shortest_interval || now - *last_update < *shortest_interval) return false;
  last_update = now;
  return true;
}

}  // namespace evenkeel::controllers::autoscaler
