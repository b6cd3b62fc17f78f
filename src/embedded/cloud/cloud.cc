#include "embedded/cloud/cloud.h"

#include <set>

#include "base/log.h"
#include "client/event_recorder.h"
#include "client/informer.h"
#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/runtime/controller.h"
#include "embedded/cloud/cloud_nodes.h"
#include "embedded/cloud/event_kinds.h"
#include "embedded/cloud/group_state.h"
#include "embedded/cloud/node_group_definition.h"

namespace evenkeel::embedded::cloud {
namespace {

using base::Code;
using base::FindString;
using base::Json;
using base::JsonArray;
using InformerOfObjects = client::Informer<kube::Object>;
using controllers::runtime::ReconcileResult;

constexpr char kFinalizer[] = "evenkeel.dev/cloud";
/// Nodes that come or get ready together are written together.
constexpr base::Duration kSettle = std::chrono::milliseconds(200);
constexpr size_t kNameMax = 52;  ///< with a number behind it, it is a host name

bool Ready(const Json& node) { return kube::ConditionStatus(node, "Ready") == "True"; }

std::string_view ProviderId(const Json& node) { return FindString(node, {"spec", "providerID"}); }

/// The group's template, when the object makes sense as a whole.
base::Result<std::optional<Json>> Check(const Json& group) {
  EVENKEEL_ASSIGN(providers::NodeGroup decoded, controllers::autoscaler::DecodeNodeGroup({group, ""}));
  if (decoded.id.size() > kNameMax) {
    return base::Fail(Code::kBadRequest, "NodeGroup " + decoded.id + ": metadata.name: longer than " +
                                             std::to_string(kNameMax) + " letters, so its nodes could not be named after it");
  }
  if (!decoded.template_node) {
    return base::Fail(Code::kBadRequest,
                      "NodeGroup " + decoded.id + ": spec.template: missing: it says what new nodes are like");
  }
  return std::move(decoded.template_node);
}

}  // namespace

struct Cloud::State {
  explicit State(CloudOptions given);

  base::Result<ReconcileResult> Reconcile(const std::string& name);
  base::Result<Json> Write(Json group, std::string subresource);
  base::Status WriteStatusIfChanged(Json& group, const Json& before);
  base::Status CleanDeleting(Json& group, const GroupState& state);
  base::Status Reject(Json group, const base::Error& error);
  base::Status RemoveStrangers(const std::string& name, const GroupState& state);
  base::Status RemoveNode(const std::string& node, const std::string& group);
  void KeepNodes(const std::string& name, const GroupState& state, const Json* template_node);
  std::optional<int> FreeSlot() const;
  void Add(nodeagent::NodeConfig config, const std::string& group);

  CloudOptions options;
  client::EventRecorder events;
  InformerOfObjects groups, nodes;
  std::map<std::string, std::string> world;       ///< group by node, of those that the agent keeps for us
  std::map<std::string, std::string> pod_ranges;  ///< by node
  std::set<std::string> refused;                  ///< nodes that cannot be: told of once
  controllers::runtime::Controller controller;
};

Cloud::State::State(CloudOptions given)
    : options(std::move(given)),
      events(*options.client, options.strand, *options.clock, options.random.Fork("events"), "embedded-cloud", ""),
      groups(*options.client, NodeGroups(), {}, options.strand, *options.clock, options.random.Fork("groups")),
      nodes(*options.client, kube::resources::Nodes(),
            {.ns = {}, .label_selector = std::string(controllers::autoscaler::kNodeGroupLabel), .field_selector = {}},
            options.strand, *options.clock, options.random.Fork("nodes")),
      controller("embedded-cloud", options.strand, *options.clock, [this](const std::string& key) { return Reconcile(key); }) {
  groups.AddHandler([this](const auto& before, const auto& after) { controller.Enqueue((after ? after : before)->meta.name); });
  nodes.AddHandler([this](const auto& before, const auto& after) {
    if (before && after && Ready(*before->json) == Ready(*after->json)) return;
    const std::string group = GroupOfId(ProviderId(*(after ? after : before)->json));
    if (!group.empty()) controller.EnqueueAfter(group, kSettle);
  });
  controller.WaitFor([this] { return groups.synced() && nodes.synced(); });
}

base::Result<ReconcileResult> Cloud::State::Reconcile(const std::string& name) {
  auto read = options.client->Get(NodeGroups(), "", name);
  if (!read && read.error().code() != Code::kNotFound) return base::Fail(read.error());
  if (!read) {
    EVENKEEL_TRY(RemoveStrangers(name, {}));
    return ReconcileResult{};
  }
  Json group = *std::move(read);
  const bool removed = base::Find(group, {"metadata", "deletionTimestamp"}) != nullptr;
  auto template_node = Check(group);
  auto spec = DecodeSpec(group);
  GroupState state = DecodeState(group);
  // A group that goes needs to make no sense.
  if (!removed && (!template_node || !spec)) {
    KeepNodes(name, state, nullptr);
    EVENKEEL_TRY(Reject(std::move(group), template_node ? spec.error() : template_node.error()));
    return ReconcileResult{};
  }
  if (!spec) spec = GroupSpec{.group = name, .target = 0, .max = 0, .deleting = {}, .removed = true, .settings = {}};
  if (!removed && kube::SetFinalizer(group, kFinalizer, true)) {
    EVENKEEL_ASSIGN(group, Write(std::move(group), ""));
  }
  const Json before = group;
  const Progress progress = Advance(*spec, state, options.clock->Now(), options.random);
  for (const InstanceRecord& gone : progress.gone) EVENKEEL_TRY(RemoveNode(gone.node, name));
  EncodeState(state, group);
  EVENKEEL_TRY(WriteStatusIfChanged(group, before));
  for (const std::string& failure : progress.failures) {
    events.Warning(group, failure.substr(0, failure.find(':')), failure.substr(failure.find(": ") + 2));
  }
  EVENKEEL_TRY(CleanDeleting(group, state));
  EVENKEEL_TRY(RemoveStrangers(name, state));
  if (removed && state.instances.empty() && kube::SetFinalizer(group, kFinalizer, false)) {
    EVENKEEL_TRY(Write(std::move(group), ""));
    return ReconcileResult{};
  }
  KeepNodes(name, state, template_node && *template_node ? &**template_node : nullptr);
  if (!progress.due) return ReconcileResult{};
  return ReconcileResult{std::max<base::Duration>(*progress.due - options.clock->Now(), kSettle)};
}

base::Result<Json> Cloud::State::Write(Json group, std::string subresource) {
  return options.client->Update(NodeGroups(), group,
                                {.subresource = std::move(subresource), .field_manager = {}, .dry_run = false});
}

base::Status Cloud::State::WriteStatusIfChanged(Json& group, const Json& before) {
  const std::string name(kube::NameOf(group));
  int64_t ready = 0;
  for (const auto& [key, node] : nodes.items()) ready += GroupOfId(ProviderId(*node->json)) == name && Ready(*node->json);
  base::Ensure(group, {"status", "readyNodes"}) = ready;
  if (kube::FindCondition(group, "Valid") != nullptr) {
    kube::SetCondition(group, "Valid", "True", "Valid", "", options.clock->Now());
  }
  if (base::Equal(base::FindObject(before, {"status"}), base::FindObject(group, {"status"}))) return {};
  EVENKEEL_ASSIGN(group, Write(std::move(group), "status"));
  return {};
}

// Ids of instances that are no more have done their work.
base::Status Cloud::State::CleanDeleting(Json& group, const GroupState& state) {
  const JsonArray& asked = base::FindArray(group, {"spec", "deleting"});
  std::set<std::string_view> known;
  for (const InstanceRecord& record : state.instances) known.insert(record.id);
  JsonArray kept;
  for (const Json& id : asked) {
    if (id.is_string() && known.contains(id.get_string())) kept.push_back(id);
  }
  if (kept.size() == asked.size()) return {};
  base::Ensure(group, {"spec", "deleting"}) = std::move(kept);
  EVENKEEL_ASSIGN(group, Write(std::move(group), ""));
  return {};
}

base::Status Cloud::State::Reject(Json group, const base::Error& error) {
  if (!kube::SetCondition(group, "Valid", "False", "Invalid", error.message(), options.clock->Now())) return {};
  events.Warning(group, events::kInvalidNodeGroup.reason, error.message());
  EVENKEEL_TRY(Write(std::move(group), "status"));
  return {};
}

// Nodes that say they are of the group, and that it does not know: left over from a group that was removed by force.
base::Status Cloud::State::RemoveStrangers(const std::string& name, const GroupState& state) {
  std::set<std::string_view> known;
  for (const InstanceRecord& record : state.instances) known.insert(record.node);
  std::set<std::string> strangers;
  for (const auto& [node, group] : world) {
    if (group == name && !known.contains(node)) strangers.insert(node);
  }
  for (const auto& [node, object] : nodes.items()) {
    if (GroupOfId(ProviderId(*object->json)) == name && !known.contains(node)) strangers.insert(node);
  }
  for (const std::string& node : strangers) EVENKEEL_TRY(RemoveNode(node, name));
  return {};
}

base::Status Cloud::State::RemoveNode(const std::string& node, const std::string& group) {
  refused.erase(node);
  if (world.erase(node) > 0) options.agent->RemoveNode(node, false);
  pod_ranges.erase(node);
  const auto found = options.client->Get(kube::resources::Nodes(), "", node);
  if (!found) return found.error().code() == Code::kNotFound ? base::Status{} : base::Fail(found.error());
  // A node of that name that is somebody else's stays.
  if (ProviderId(*found) != InstanceId(group, node)) return {};
  client::DeleteOptions precondition;
  precondition.uid = kube::UidOf(*found);
  const auto deleted = options.client->Delete(kube::resources::Nodes(), "", node, precondition);
  if (!deleted && deleted.error().code() != Code::kNotFound) return base::Fail(deleted.error());
  return {};
}

// Every instance that runs is a node of the agent; after a restart they all come back here.
void Cloud::State::KeepNodes(const std::string& name, const GroupState& state, const Json* template_node) {
  for (const InstanceRecord& record : state.instances) {
    const bool there = record.state != InstanceRecord::State::kCreating && !record.never_registers;
    if (!there || refused.contains(record.node)) continue;
    if (template_node != nullptr && world.contains(record.node)) {
      options.agent->SetDevices(record.node, DevicesOf(record, *template_node));
    }
    if (world.contains(record.node)) continue;
    const auto known = nodes.Get(record.node);
    std::optional<nodeagent::NodeConfig> config;
    if (known != nullptr && ProviderId(*known->json) == record.id) {
      config = KnownNode(record, *known->json);
    } else if (template_node != nullptr) {
      config = NewNode(name, record, *template_node);
    }
    if (!config) continue;
    if (template_node != nullptr) config->slices = DevicesOf(record, *template_node);
    Add(*std::move(config), name);
  }
}

std::optional<int> Cloud::State::FreeSlot() const {
  std::set<std::string_view> taken;
  for (const auto& [node, range] : pod_ranges) taken.insert(range);
  for (const auto& [node, object] : nodes.items()) taken.insert(FindString(*object->json, {"spec", "podCIDR"}));
  for (int slot = 0; slot < kSlots; ++slot) {
    if (!taken.contains(PodRange(options.cluster_index, slot))) return slot;
  }
  return std::nullopt;
}

void Cloud::State::Add(nodeagent::NodeConfig config, const std::string& group) {
  // With more nodes than ranges, addresses of simulated pods repeat: nobody connects to them.
  const int slot = FreeSlot().value_or(static_cast<int>(world.size()) % kSlots);
  if (config.pod_cidr.empty() || config.pod_cidr == nodeagent::NodeConfig().pod_cidr) {
    config.pod_cidr = PodRange(options.cluster_index, slot);
  }
  config.loopback_cidr = LoopbackRange(options.cluster_index, options.loopback_octet, slot);
  const auto added = options.agent->AddNode(config);
  if (!added) {
    refused.insert(config.name);
    base::log::Warn("instance does not become a node", {{"node", config.name}, {"error", added.error()}});
    if (const auto object = groups.Get(group))
      events.Warning(*object->json, events::kNodeRefused.reason, added.error().message());
    return;
  }
  world[config.name] = group;
  pod_ranges[config.name] = config.pod_cidr;
}

Cloud::Cloud(CloudOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Cloud::~Cloud() = default;

void Cloud::Start() {
  state_->groups.Start();
  state_->nodes.Start();
  state_->controller.Start();
}

}  // namespace evenkeel::embedded::cloud
