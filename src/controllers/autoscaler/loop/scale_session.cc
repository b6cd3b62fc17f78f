#include "controllers/autoscaler/loop/scale_session.h"

#include "controllers/autoscaler/expanders/grpc_expander.h"
#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/autoscaler/facts/state_fields.h"
#include "controllers/autoscaler/loop/autoscaler_memory.h"
#include "controllers/autoscaler/loop/scale_input.h"
#include "kube/object.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

/// Plans do not depend on chance unless --expander=random asks for it; then they are the same for the same input.
constexpr uint64_t kSeed = 1;

}  // namespace

Json Assumed::ToJson() const {
  JsonObject target_json, deletion_json;
  for (const auto& [group, target] : targets) target_json[group] = JsonObject{{"seen", target.seen}, {"target", target.target}};
  for (const auto& [node, deletion] : deletions) {
    deletion_json[node] =
        JsonObject{{"group", deletion.group}, {"drain", deletion.drain}, {"at", base::FormatMicroTime(deletion.at)}};
  }
  return JsonObject{{"targets", std::move(target_json)},
                    {"deletions", std::move(deletion_json)},
                    {"instances", base::ToJsonArray(instances)}};
}

base::Result<Assumed> Assumed::FromJson(const Json& json) {
  const base::Field fields(&json, "state", "assumed");
  Assumed assumed;
  EVENKEEL_TRY(fields["targets"].ForEachMember([&](std::string_view group, const base::Field& field) -> base::Status {
    Target& target = assumed.targets[std::string(group)];
    EVENKEEL_TRY(ReadCount(field["seen"], target.seen));
    return ReadCount(field["target"], target.target);
  }));
  EVENKEEL_TRY(fields["deletions"].ForEachMember([&](std::string_view node, const base::Field& field) -> base::Status {
    Deletion& deletion = assumed.deletions[std::string(node)];
    EVENKEEL_TRY(field["group"].Text(deletion.group));
    EVENKEEL_TRY(field["drain"].Flag(deletion.drain));
    return ReadTime(field["at"], deletion.at);
  }));
  EVENKEEL_TRY(ReadTexts(fields["instances"], assumed.instances));
  return assumed;
}

base::Result<std::unique_ptr<ScaleSession>> ScaleSession::Run(ScaleInput input) {
  std::unique_ptr<ScaleSession> session(new ScaleSession(std::move(input)));
  EVENKEEL_TRY(session->ReadState());
  EVENKEEL_TRY(session->Load());
  EVENKEEL_TRY(RestoreMemory(session->input_.state, session->state_, session->objects_));
  EVENKEEL_TRY(session->Loop());
  session->CarryOut();
  return session;
}

base::Status ScaleSession::ReadState() {
  if (input_.state.is_null()) return {};
  EVENKEEL_ASSIGN(state_, AutoscalerState::FromJson(input_.state, input_.options));
  state_.cleaned_up = true;
  if (const Json* assumed = base::Find(input_.state, {"assumed"})) {
    EVENKEEL_ASSIGN(assumed_, Assumed::FromJson(*assumed));
  }
  return {};
}

base::Status ScaleSession::Load() {
  EVENKEEL_ASSIGN(ScaleObjects checked, CheckScaleObjects(std::move(input_.objects)));
  std::vector<Json> nodes;
  std::set<std::string, std::less<>> without_target;
  for (kube::ManifestObject& object : checked.others) {
    if (base::FindString(object.object, {"kind"}) == "Node") nodes.push_back(object.object);
  }
  for (const kube::ManifestObject& object : checked.groups) {
    const Json* target = base::Find(object.object, {"spec", "targetSize"});
    if (target == nullptr || target->is_null()) without_target.emplace(kube::NameOf(object.object));
  }
  if (input_.live) {
    groups_ = *std::move(input_.live);
    objects_.RequireOwners();
    without_target.clear();
  } else {
    EVENKEEL_ASSIGN(groups_, DecodeNodeGroups(checked.groups, nodes));
  }
  AssumeDeletions(nodes);
  AssumeGroups(without_target);
  for (const Json& node : nodes) mirror_.Upsert(node);
  for (const kube::ManifestObject& object : checked.others) {
    const std::string_view kind = base::FindString(object.object, {"kind"});
    if (kind != "Node") mirror_.Upsert(object.object);
    if (kind == "Pod" && base::FindString(object.object, {"spec", "nodeName"}).empty()) {
      pending_.insert_or_assign(kube::KeyOf(object.object), std::move(object.object));
    }
  }
  return {};
}

base::Result<ExpanderChain> ScaleSession::Expanders() {
  const Options& options = input_.options;
  if (std::ranges::find(options.expander, "grpc") == options.expander.end()) return ExpanderChain::Make(options.expander);
  EVENKEEL_ASSIGN(std::shared_ptr<const ExpanderPlugin> plugin,
                  NewGrpcExpander({options.grpc_expander_url, options.grpc_expander_cert}, [this](scheduling::PodId pod) {
                    const auto found = pending_.find(objects_.PodKey(pod));
                    return found == pending_.end() ? std::nullopt : std::optional<Json>(found->second);
                  }));
  return ExpanderChain::Make(options.expander, std::move(plugin));
}

/// Nodes that were to go are marked as an actuator would have marked them, until they are gone or it must have failed.
void ScaleSession::AssumeDeletions(std::vector<Json>& nodes) {
  std::set<std::string, std::less<>> there;
  for (Json& node : nodes) {
    const std::string name(kube::NameOf(node));
    const auto deletion = assumed_.deletions.find(name);
    if (deletion == assumed_.deletions.end()) continue;
    if (deletion->second.at + kDeletionTime < input_.now) {
      const auto target = assumed_.targets.find(deletion->second.group);
      if (target != assumed_.targets.end()) ++target->second.target;
      continue;
    }
    there.insert(name);
    Json& taints = base::Ensure(node, {"spec", "taints"});
    if (!taints.is_array()) taints = JsonArray{};
    const auto since = std::chrono::floor<std::chrono::seconds>(deletion->second.at).time_since_epoch().count();
    taints.as_array().push_back(
        JsonObject{{"key", kToBeDeletedTaint}, {"value", std::to_string(since)}, {"effect", "NoSchedule"}});
  }
  std::erase_if(assumed_.deletions, [&](const auto& item) { return !there.contains(item.first); });
}

void ScaleSession::AssumeGroups(const std::set<std::string, std::less<>>& without_target) {
  std::set<std::string, std::less<>> listed;
  for (providers::NodeGroup& group : groups_.groups) {
    given_[group.id] = group.target_size;
    std::erase_if(group.instances, [&](const providers::Instance& instance) {
      if (!assumed_.instances.contains(instance.id)) return false;
      listed.insert(instance.id);
      return true;
    });
    const auto found = assumed_.targets.find(group.id);
    if (found == assumed_.targets.end()) continue;
    Assumed::Target& assumed = found->second;
    // Without a targetSize the objects only tell how many nodes have come so far.
    const bool coming = without_target.contains(group.id) && state_.cluster.scale_ups().contains(group.id) &&
                        group.target_size <= assumed.target;
    if (assumed.seen == group.target_size || coming) {
      group.target_size = std::min(std::max(assumed.target, int64_t{0}), std::max(group.max_size, group.target_size));
    }
  }
  assumed_.instances = std::move(listed);
}

base::Status ScaleSession::Loop() {
  LoopRequest request;
  request.now = input_.now;
  request.count_unprocessed = !input_.live.has_value();
  request.list_order = input_.live ? ListOrder::kByName : ListOrder::kAsTold;
  for (const auto& [node, deletion] : assumed_.deletions) {
    (deletion.drain ? request.deleting_drain : request.deleting_empty).push_back(node);
  }
  EVENKEEL_ASSIGN(const ExpanderChain expanders, Expanders());
  base::Random random(kSeed);
  const auto began = input_.clock == nullptr ? base::Instant{} : input_.clock->Monotonic();
  plan_ = RunOnce(objects_, std::move(groups_), input_.options, expanders, state_, random, request);
  if (input_.clock != nullptr) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(input_.clock->Monotonic() - began);
    milliseconds_ = static_cast<double>(took.count()) / 1000;
  }
  return {};
}

void ScaleSession::CarryOut() {
  for (const bool drain : {false, true}) {
    for (const size_t index : drain ? plan_.scale_down.delete_drain : plan_.scale_down.delete_empty) {
      const UnneededNode& node = plan_.scale_down.unneeded[index];
      const std::string& name = (*plan_.view.nodes)[node.node].name;
      const std::string group = node.group == nullptr ? "" : node.group->id;
      assumed_.deletions[name] = {group, drain, input_.now};
      state_.cluster.RegisterScaleDown(group, name, input_.now);
      state_.scale_down.Deleted(group, input_.now);
      if (providers::NodeGroup* shrunk = plan_.view.groups.Find(group)) --shrunk->target_size;
    }
  }
  for (const GroupChange& change : plan_.changes) {
    if (change.kind != GroupChange::Kind::kDeleteNodes) continue;
    for (const providers::NodeReference& node : change.nodes) assumed_.instances.insert(node.provider_id);
  }
  assumed_.targets.clear();
  for (const providers::NodeGroup& group : plan_.view.groups.groups) {
    const int64_t given = given_[group.id];
    if (group.target_size != given) assumed_.targets[group.id] = {given, group.target_size};
  }
}

Json ScaleSession::State() const {
  Json state = state_.ToJson();
  state.as_object()["assumed"] = assumed_.ToJson();
  for (auto& [part, memory] : MemoryToJson(state_, objects_)) state.as_object()[part] = std::move(memory);
  return state;
}

}  // namespace evenkeel::controllers::autoscaler
