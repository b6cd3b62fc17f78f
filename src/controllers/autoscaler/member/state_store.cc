#include "controllers/autoscaler/member/state_store.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;

constexpr const char* kKey = "state";
constexpr const char* kUnreadableKey = "unreadable";
/// A ConfigMap holds 1 MiB.
constexpr size_t kUnreadableMax = 512 * 1024;
/// Of the state, beside what could not be read.
constexpr size_t kStateMax = 960 * 1024 - kUnreadableMax, kStateMaxAlone = 960 * 1024;
constexpr size_t kLarge = 64 * 1024;
constexpr base::Duration kLargeEvery = std::chrono::minutes(1);

/// What is written as soon as it changes. When the last loop was only says how long the shortest interval can be, and longer
/// ones do not change that.
std::string Timers(const AutoscalerState& state) {
  Json json = state.ToJson();
  if (Json* scale_down = base::Find(json, {"scaleDown"}); scale_down != nullptr && scale_down->is_object()) {
    scale_down->as_object().erase("lastUpdate");
  }
  return base::ToText(json);
}

std::string Bounded(const AutoscalerState& state, const ClusterObjects& objects, size_t most) {
  Json json = state.ToJson();
  size_t left = most - std::min(most, base::ToText(json).size());
  for (auto& [part, memory] : MemoryToJson(state, objects)) {
    const size_t size = base::ToText(memory).size();
    if (size + part.size() + 4 > left) continue;
    left -= size + part.size() + 4;
    json.as_object()[part] = std::move(memory);
  }
  return base::ToText(json);
}

}  // namespace

base::Status EditConfigMap(client::Client& client, const std::string& ns, const std::string& name,
                           const std::function<bool(Json&)>& edit) {
  const kube::Resource& config_maps = kube::resources::ConfigMaps();
  const auto change = [&](Json& object) -> base::Result<bool> { return edit(object); };
  auto written = client::ReadModifyWrite(client, config_maps, ns, name, change);
  if (written) return {};
  if (written.error().code() != base::Code::kNotFound) return base::Fail(written.error());
  Json object = kube::NewObject(config_maps, ns, name);
  if (!edit(object)) return {};
  EVENKEEL_TRY(client.Create(config_maps, object));
  return {};
}

base::Result<StoredState> ReadStoredState(client::Client& client, const std::string& ns) {
  const auto object = client.Get(kube::resources::ConfigMaps(), ns, kStateConfigMap);
  if (!object && object.error().code() == base::Code::kNotFound) return StoredState{};
  if (!object) return base::Fail(object.error());
  const std::string_view text = FindString(*object, {"data", kKey});
  if (text.empty()) return StoredState{};
  auto state = base::ParseJson(text, std::string("ConfigMap ") + ns + "/" + kStateConfigMap);
  if (!state) return StoredState{{}, state.error().message()};
  return StoredState{*std::move(state), ""};
}

base::Result<AutoscalerState> StateStore::Decode(const Json& json, ClusterObjects& objects) const {
  EVENKEEL_ASSIGN(AutoscalerState state, AutoscalerState::FromJson(json, options_));
  EVENKEEL_TRY(RestoreMemory(json, state, objects));
  return state;
}

base::Result<AutoscalerState> StateStore::Load(ClusterObjects& objects, std::string& unreadable) {
  EVENKEEL_ASSIGN(StoredState stored, ReadStoredState(client_, options_.ns));
  unreadable = std::move(stored.unreadable);
  if (!stored.state.is_null()) {
    auto state = Decode(stored.state, objects);
    if (state) {
      saved_ = Timers(*state);
      saved_changes_ = MemoryChanges(*state, objects);
      return state;
    }
    unreadable = state.error().message();
  }
  keep_unreadable_ = !unreadable.empty();
  return AutoscalerState(options_);
}

base::Status StateStore::Save(const AutoscalerState& state, const ClusterObjects& objects, base::Time now) {
  std::string timers = Timers(state);
  const uint64_t changes = MemoryChanges(state, objects);
  const bool remembers_more = changes != saved_changes_ && !(large_ && now - saved_at_ < kLargeEvery);
  if (timers == saved_ && !remembers_more) return {};
  std::string text;
  EVENKEEL_TRY(EditConfigMap(client_, options_.ns, kStateConfigMap, [&](Json& object) {
    Json& data = base::Ensure(object, {"data"});
    if (!data.is_object()) data = base::JsonObject{};
    const bool alone = !keep_unreadable_ && base::Find(data, {kUnreadableKey}) == nullptr;
    text = Bounded(state, objects, alone ? kStateMaxAlone : kStateMax);
    if (keep_unreadable_) {
      const std::string before = Truncate(FindString(data, {kKey}), kUnreadableMax);
      data.as_object()[kUnreadableKey] = before;
    }
    data.as_object()[kKey] = text;
    return true;
  }));
  saved_ = std::move(timers);
  saved_changes_ = changes;
  large_ = text.size() > kLarge;
  saved_at_ = now;
  keep_unreadable_ = false;
  return {};
}

}  // namespace evenkeel::controllers::autoscaler
