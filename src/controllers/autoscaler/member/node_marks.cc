#include "controllers/autoscaler/member/node_marks.h"

#include <algorithm>

#include "controllers/autoscaler/scale_down/removal_simulation.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

base::Status Edit(client::Client& client, const std::string& node, const std::function<bool(Json&)>& change) {
  const auto written = client::ReadModifyWrite(client, kube::resources::Nodes(), "", node,
                                               [&](Json& object) -> base::Result<bool> { return change(object); });
  if (!written && written.error().code() != base::Code::kNotFound) return base::Fail(written.error());
  return {};
}

}  // namespace

bool SetTaint(Json& node, std::string_view key, std::string_view effect, base::Time time) {
  Json& taints = base::Ensure(node, {"spec", "taints"});
  if (!taints.is_array()) taints = JsonArray{};
  const std::string value = std::to_string(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
  for (Json& taint : taints.as_array()) {
    if (FindString(taint, {"key"}) != key || FindString(taint, {"effect"}) != effect) continue;
    if (FindString(taint, {"value"}) == value) return false;
    taint.as_object()["value"] = value;
    return true;
  }
  taints.as_array().push_back(JsonObject{{"key", key}, {"value", value}, {"effect", effect}});
  return true;
}

bool RemoveTaint(Json& node, std::string_view key) {
  Json* taints = base::Find(node, {"spec", "taints"});
  if (taints == nullptr || !taints->is_array()) return false;
  JsonArray& list = taints->as_array();
  const auto gone = std::remove_if(list.begin(), list.end(), [&](const Json& t) { return FindString(t, {"key"}) == key; });
  if (gone == list.end()) return false;
  list.erase(gone, list.end());
  if (list.empty()) base::Erase(node, {"spec", "taints"});
  return true;
}

bool SetCordon(Json& node, bool on) {
  if (base::FindBool(node, {"spec", "unschedulable"}) == on) return false;
  if (on) {
    base::Ensure(node, {"spec", "unschedulable"}) = true;
  } else {
    base::Erase(node, {"spec", "unschedulable"});
  }
  return true;
}

bool WantsDelay(const Json& node) {
  return std::ranges::any_of(base::FindObject(node, {"metadata", "annotations"}),
                             [](const auto& item) { return std::string_view(item.key()).starts_with(kDelayDeletionPrefix); });
}

base::Result<bool> MarkForDeletion(client::Client& client, const std::string& node, bool cordon, base::Time now) {
  bool cordoned = false;
  const auto change = [&](Json& object) -> base::Result<bool> {
    const bool tainted = SetTaint(object, kToBeDeletedTaint, "NoSchedule", now);
    cordoned = cordon && SetCordon(object, true);
    return tainted || cordoned;
  };
  EVENKEEL_TRY(client::ReadModifyWrite(client, kube::resources::Nodes(), "", node, change));
  return cordoned;
}

base::Status Unmark(client::Client& client, const std::string& node, bool uncordon) {
  return Edit(client, node, [&](Json& object) {
    const bool untainted = RemoveTaint(object, kToBeDeletedTaint);
    const bool opened = uncordon && SetCordon(object, false);
    return untainted || opened;
  });
}

base::Status MarkCandidate(client::Client& client, const std::string& node, bool on, base::Time now) {
  return Edit(client, node, [&](Json& object) {
    if (!on) return RemoveTaint(object, kDeletionCandidateTaint);
    const auto& taints = base::FindArray(object, {"spec", "taints"});
    const bool there =
        std::ranges::any_of(taints, [](const Json& t) { return FindString(t, {"key"}) == kDeletionCandidateTaint; });
    return !there && SetTaint(object, kDeletionCandidateTaint, "PreferNoSchedule", now);
  });
}

}  // namespace evenkeel::controllers::autoscaler
