#include "controllers/autoscaler/member/state_store.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;

constexpr const char* kKey = "state";
constexpr const char* kUnreadableKey = "unreadable";
/// A ConfigMap holds 1 MiB.
constexpr size_t kUnreadableMax = 512 * 1024;

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

base::Result<AutoscalerState> StateStore::Load(std::string& unreadable) {
  EVENKEEL_ASSIGN(StoredState stored, ReadStoredState(client_, options_.ns));
  unreadable = std::move(stored.unreadable);
  if (!stored.state.is_null()) {
    auto state = AutoscalerState::FromJson(stored.state, options_);
    if (state) {
      saved_ = base::ToText(state->ToJson());
      return state;
    }
    unreadable = state.error().message();
  }
  keep_unreadable_ = !unreadable.empty();
  return AutoscalerState(options_);
}

base::Status StateStore::Save(const AutoscalerState& state) {
  std::string text = base::ToText(state.ToJson());
  if (text == saved_) return {};
  EVENKEEL_TRY(EditConfigMap(client_, options_.ns, kStateConfigMap, [&](Json& object) {
    Json& data = base::Ensure(object, {"data"});
    if (!data.is_object()) data = base::JsonObject{};
    if (keep_unreadable_) {
      const std::string before = Truncate(FindString(data, {kKey}), kUnreadableMax);
      data.as_object()[kUnreadableKey] = before;
    }
    data.as_object()[kKey] = text;
    return true;
  }));
  saved_ = std::move(text);
  keep_unreadable_ = false;
  return {};
}

}  // namespace evenkeel::controllers::autoscaler
