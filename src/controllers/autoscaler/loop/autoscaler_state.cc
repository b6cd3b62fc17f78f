#include "controllers/autoscaler/loop/autoscaler_state.h"

#include "controllers/autoscaler/facts/state_fields.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr int64_t kStateVersion = 1;

}  // namespace

bool AutoscalerState::SameMemory(const AutoscalerState& other) const {
  return cleaned_up == other.cleaned_up && next_node == other.next_node && cluster.SameMemory(other.cluster) &&
         scale_down.SameMemory(other.scale_down) && status == other.status && hints == other.hints;
}

base::Json AutoscalerState::ToJson() const {
  return base::JsonObject{{"version", kStateVersion},
                          {"cluster", cluster.ToJson()},
                          {"scaleDown", scale_down.ToJson()},
                          {"status", status.ToJson()},
                          {"nextNode", next_node}};
}

base::Result<AutoscalerState> AutoscalerState::FromJson(const base::Json& json, const Options& options) {
  const base::Field fields(&json, "state");
  int64_t version = 0, next_node = 0;
  EVENKEEL_TRY(fields.IsObject());
  EVENKEEL_TRY(ReadCount(fields["version"], version));
  if (version != kStateVersion) return fields["version"].Wrong("not " + std::to_string(kStateVersion));
  EVENKEEL_TRY(fields["nextNode"].Whole(next_node, 0, UINT32_MAX));
  AutoscalerState state(options);
  if (const base::Json* part = base::Find(json, {"cluster"})) {
    EVENKEEL_ASSIGN(state.cluster, ClusterState::FromJson(*part, options));
  }
  if (const base::Json* part = base::Find(json, {"scaleDown"})) {
    EVENKEEL_ASSIGN(state.scale_down, ScaleDownState::FromJson(*part));
  }
  if (const base::Json* part = base::Find(json, {"status"})) {
    EVENKEEL_ASSIGN(state.status, StatusReporter::FromJson(*part));
  }
  state.next_node = static_cast<uint32_t>(next_node);
  return state;
}

}  // namespace evenkeel::controllers::autoscaler
