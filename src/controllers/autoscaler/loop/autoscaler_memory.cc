#include "controllers/autoscaler/loop/autoscaler_memory.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;
using base::JsonObject;

template <typename Reason>
std::optional<Reason> ParseReason(std::string_view name, Reason last) {
  for (uint8_t i = 0; i <= static_cast<uint8_t>(last); ++i) {
    if (Name(static_cast<Reason>(i)) == name) return static_cast<Reason>(i);
  }
  return std::nullopt;
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

base::Status RestoreUnremovable(const Json& json, ScaleDownState& state) {
  for (const auto& [node, entry] : base::FindObject(json, {"unremovable"})) {
    const auto until = base::ParseTime(FindString(entry, {"until"}));
    const auto reason = ParseReason(FindString(entry, {"reason"}), UnremovableReason::kBlockedByOnCompletionPod);
    const std::string_view named = FindString(entry, {"blocking"});
    const auto blocking = named.empty() ? BlockingReason::kNoReason : ParseReason(named, BlockingReason::kUnexpectedError);
    if (!until || !reason || !blocking) {
      return base::Fail(base::Code::kBadRequest, "state: unremovable." + std::string(node) + ": not a time and a reason");
    }
    state.unremovable[std::string(node)] = {*until, *reason, *blocking, std::string(FindString(entry, {"pod"}))};
  }
  return {};
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
  EVENKEEL_TRY(RestoreUnremovable(json, state.scale_down));
  if (const Json* hints = base::Find(json, {"hints"})) state.hints = PodHints::FromJson(*hints);
  if (const Json* moves = base::Find(json, {"podMoves"})) state.scale_down.moves = PodHints::FromJson(*moves);
  if (const Json* moves = base::Find(json, {"moves"})) EVENKEEL_TRY(state.scale_down.hints.Restore(*moves, objects.snapshot()));
  if (const Json* templates = base::Find(json, {"templates"})) EVENKEEL_TRY(objects.templates().RestoreCache(*templates));
  return {};
}

uint64_t MemoryChanges(const AutoscalerState& state, const ClusterObjects& objects) {
  return state.scale_down.unremovable_changes + state.scale_down.hints.changes() + state.scale_down.moves.changes() +
         state.hints.changes() + objects.templates().cache_changes();
}

}  // namespace evenkeel::controllers::autoscaler
