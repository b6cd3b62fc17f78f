#include "controllers/autoscaler/loop/autoscaler_memory.h"

#include "controllers/autoscaler/facts/state_fields.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Field;
using base::Json;
using base::JsonObject;

template <typename Reason>
base::Status ReadReason(const Field& field, Reason last, Reason& into) {
  std::string name;
  EVENKEEL_TRY(field.Text(name));
  if (!field) return {};
  for (uint8_t i = 0; i <= static_cast<uint8_t>(last); ++i) {
    into = static_cast<Reason>(i);
    if (Name(into) == name) return {};
  }
  return field.Wrong("not a reason");
}

JsonObject UnremovableToJson(const ScaleDownState& state) {
  JsonObject object;
  std::map<std::string_view, const RecentlyUnremovable*> by_name;
  for (const auto& [node, recent] : state.unremovable) by_name.emplace(node, &recent);
  for (const auto& [node, recent] : by_name) {
    JsonObject entry{{"until", base::FormatMicroTime(recent->until)}, {"reason", Name(recent->reason)}};
    if (recent->blocking != BlockingReason::kNoReason) entry["blocking"] = Name(recent->blocking);
    if (!recent->pod.empty()) entry["pod"] = recent->pod;
    object[node] = std::move(entry);
  }
  return object;
}

base::Status RestoreUnremovable(const Field& nodes, ScaleDownState& state) {
  return nodes.ForEachMember([&](std::string_view node, const Field& field) -> base::Status {
    RecentlyUnremovable& recent = state.unremovable[std::string(node)];
    EVENKEEL_TRY(ReadTime(field["until"], recent.until));
    EVENKEEL_TRY(field["reason"].Required());
    EVENKEEL_TRY(ReadReason(field["reason"], UnremovableReason::kBlockedByOnCompletionPod, recent.reason));
    EVENKEEL_TRY(ReadReason(field["blocking"], BlockingReason::kUnexpectedError, recent.blocking));
    return field["pod"].Text(recent.pod);
  });
}

}  // namespace

JsonObject MemoryToJson(const AutoscalerState& state, const ClusterObjects& objects) {
  JsonObject memory;
  const auto add = [&](const char* name, Json part) {
    if (!part.get_object().empty()) memory[name] = std::move(part);
  };
  add("unremovable", UnremovableToJson(state.scale_down));
  add("hints", state.hints.ToJson());
  add("moves", state.scale_down.hints.ToJson(objects.snapshot()));
  add("podMoves", state.scale_down.moves.ToJson());
  add("templates", objects.templates().CacheToJson());
  return memory;
}

base::Status RestoreMemory(const Json& json, AutoscalerState& state, ClusterObjects& objects) {
  const Field memory(&json, "state");
  EVENKEEL_TRY(RestoreUnremovable(memory["unremovable"], state.scale_down));
  EVENKEEL_TRY(state.hints.Restore(memory["hints"]));
  EVENKEEL_TRY(state.scale_down.moves.Restore(memory["podMoves"]));
  EVENKEEL_TRY(state.scale_down.hints.Restore(memory["moves"], objects.snapshot()));
  return objects.templates().RestoreCache(memory["templates"]);
}

uint64_t MemoryChanges(const AutoscalerState& state, const ClusterObjects& objects) {
  return state.scale_down.unremovable_changes + state.scale_down.hints.changes() + state.scale_down.moves.changes() +
         state.hints.changes() + objects.templates().cache_changes();
}

}  // namespace evenkeel::controllers::autoscaler
