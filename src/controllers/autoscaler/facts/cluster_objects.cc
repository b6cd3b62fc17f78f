#include "controllers/autoscaler/facts/cluster_objects.h"

#include "controllers/autoscaler/facts/facts.h"
#include "controllers/autoscaler/facts/pod_filters.h"
#include "kube/object.h"
#include "scheduling/reservations.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::ObjectEvent;
using scheduling::PodId;

std::string PriorityConfigMap(const Options& options) { return options.ns + "/cluster-autoscaler-priority-expander"; }

bool IsOwnerKind(std::string_view kind) {
  return kind == "ReplicaSet" || kind == "ReplicationController" || kind == "StatefulSet" || kind == "Job" ||
         kind == "DaemonSet";
}

/// Beyond what filters and facts look at.
bool SameForTemplates(const kube::Node& a, const kube::Node& b) {
  return a.meta.uid == b.meta.uid && a.meta.labels == b.meta.labels && a.meta.annotations == b.meta.annotations &&
         a.capacity == b.capacity && a.allocatable == b.allocatable && a.provider_id == b.provider_id;
}

}  // namespace

ClusterObjects::ClusterObjects(Options options, scheduling::ClusterMirror& mirror)
    : options_(std::move(options)), snapshot_(mirror.snapshot()), templates_(snapshot_, options_) {
  snapshot_.SetNegativeNamespacesMatchAll(options_.negative_namespaces_match_all);
  mirror.AddListener(*this);
}

void ClusterObjects::AfterChange(const ObjectEvent& event) {
  if (event.object != nullptr && event.kind == "Node") {
    if (PutNode(event)) ++revision_;
    return;
  }
  ++revision_;
  event.object == nullptr ? Drop(event) : Put(event);
}

void ClusterObjects::Put(const ObjectEvent& event) {
  const Json& object = *event.object;
  if (event.kind == "Pod") {
    PutPod(event);
  } else if (event.kind == "PodDisruptionBudget") {
    budget_by_key_[event.key] = DecodeBudget(object);
    budgets_changed_ = true;
  } else if (event.kind == "ConfigMap" && event.key == PriorityConfigMap(options_)) {
    expander_priorities_ = FindString(object, {"data", "priorities"});
  } else if (event.kind == scheduling::BalancingPlans().kind) {
    const auto until = scheduling::RoomKeptUntil(object);
    until ? void(room_kept_until_.insert_or_assign(event.key, *until)) : void(room_kept_until_.erase(event.key));
  } else if (IsOwnerKind(event.kind)) {
    Owner owner = DecodeOwner(object);
    owner_by_key_[std::string(event.kind) + " " + event.key] = owner.uid;
    owners_[owner.uid] = std::move(owner);
    if (event.kind == "DaemonSet") {
      daemon_set_by_key_.insert_or_assign(event.key, Json(object, {}));
      daemon_sets_changed_ = true;
    } else {
      owners_seen_ = true;
    }
  }
}

void ClusterObjects::Drop(const ObjectEvent& event) {
  if (event.kind == "Pod") {
    if (event.pod != kNone) DropPod(event.pod);
  } else if (event.kind == "Node") {
    DropNode(event);
  } else if (event.kind == "PodDisruptionBudget") {
    budget_by_key_.erase(event.key);
    budgets_changed_ = true;
  } else if (event.kind == "ConfigMap" && event.key == PriorityConfigMap(options_)) {
    expander_priorities_.reset();
  } else if (event.kind == scheduling::BalancingPlans().kind) {
    room_kept_until_.erase(event.key);
  } else if (IsOwnerKind(event.kind)) {
    const auto owner = owner_by_key_.find(std::string(event.kind) + " " + event.key);
    if (owner != owner_by_key_.end()) {
      owners_.erase(owner->second);
      owner_by_key_.erase(owner);
    }
    if (event.kind == "DaemonSet") {
      daemon_set_by_key_.erase(event.key);
      daemon_sets_changed_ = true;
    }
  }
}

bool ClusterObjects::PutNode(const ObjectEvent& event) {
  const NodeId id = event.node;
  const Json& object = *event.object;
  if (nodes_.size() <= id) nodes_.resize(id + 1);
  NodeFacts facts = DecodeNodeFacts(object, options_, gpu_label_, nodes_[id].group, nodes_[id].lacks_devices);
  if (!nodes_[id].present) new_.push_back(id);
  kube::Node& known = node_objects_[event.key];
  const bool changed = event.node_changed || facts != nodes_[id] || !SameForTemplates(known, event.DecodedNode());
  if (changed) ++nodes_revision_;
  nodes_[id] = std::move(facts);
  known = event.DecodedNode();
  const auto at = std::ranges::lower_bound(node_names_, event.key);
  const auto json = node_json_.begin() + (at - node_names_.begin());
  if (at != node_names_.end() && *at == event.key) {
    *json = Json(object, {});
    return changed;
  }
  node_names_.insert(at, event.key);
  node_json_.insert(json, Json(object, {}));
  return true;
}

void ClusterObjects::DropNode(const ObjectEvent& event) {
  ++nodes_revision_;
  if (event.node != kNone && event.node < nodes_.size()) nodes_[event.node] = NodeFacts{};
  node_objects_.erase(event.key);
  const auto at = std::ranges::lower_bound(node_names_, event.key);
  if (at == node_names_.end() || *at != event.key) return;
  node_json_.erase(node_json_.begin() + (at - node_names_.begin()));
  node_names_.erase(at);
}

void ClusterObjects::PutPod(const ObjectEvent& event) {
  const PodId id = event.pod;
  if (pods_.size() <= id) pods_.resize(id + 1);
  pods_[id] = DecodePodFacts(*event.object, event.DecodedPod().meta);
  const bool on_node = !FindString(*event.object, {"spec", "nodeName"}).empty();
  on_node ? static_cast<void>(pending_.erase(id)) : static_cast<void>(pending_.insert(id));
  if (on_node && IsExpendable(pods_[id], options_)) {
    expendable_.insert(id);
  } else {
    expendable_.erase(id);
  }
}

void ClusterObjects::DropPod(PodId pod) {
  if (pod < pods_.size()) pods_[pod] = PodFacts{};
  pending_.erase(pod);
  expendable_.erase(pod);
}

void ClusterObjects::GiveToGroup(NodeId id, const providers::NodeGroups& groups, bool decode) {
  NodeFacts& node = nodes_[id];
  if (!node.present) return;
  const auto found = groups.group_of_node.find(node.name);
  const std::string_view group = found == groups.group_of_node.end() ? "" : std::string_view(found->second);
  if (decode || node.group != group) ++nodes_revision_;
  if (decode) {
    node = DecodeNodeFacts(*FindNode(node.name), options_, gpu_label_, group, node.lacks_devices);
  } else if (node.group != group) {
    node.group = group;
  }
}

ClusterView ClusterObjects::View(providers::NodeGroups groups, LoopTime now) {
  const bool decode = gpu_label_ != groups.gpu_label;
  gpu_label_ = groups.gpu_label;
  if (!decode && groups.revision != 0 && groups.revision == grouped_by_) {
    for (const NodeId id : new_) GiveToGroup(id, groups, false);
  } else {
    for (NodeId id = 0; id < nodes_.size(); ++id) GiveToGroup(id, groups, decode);
  }
  grouped_by_ = groups.revision;
  new_.clear();
  JudgeDevices(groups, now);
  ClusterView view = ViewOfPods(now.Read());
  view.now = std::move(now);
  view.groups = std::move(groups);
  digests_.Update(view);
  view.digests = &digests_;
  return view;
}

void ClusterObjects::ExpectDevices(const providers::NodeGroups& groups) {
  expected_.clear();
  for (const providers::NodeGroup& group : groups.groups) {
    ExpectedDevices expected;
    if (group.template_node) expected.pools = PoolsOfTemplate(*group.template_node);
    if (expected.pools.empty() && options_.learn_devices) {
      expected.pools = templates_.PoolsSeen(group.id);
      expected.young = group.options.max_node_startup_time.value_or(options_.max_node_startup_time);
    }
    if (!expected.pools.empty()) expected_.emplace(group.id, std::move(expected));
  }
}

void ClusterObjects::JudgeDevices(const providers::NodeGroups& groups, const LoopTime& now) {
  bool changed = nodes_revision_ != judged_nodes_ || snapshot_.slices_version() != judged_slices_;
  if (groups.revision == 0 || groups.revision != expected_groups_ || templates_.device_changes() != expected_templates_) {
    ExpectDevices(groups);
    changed = true;
  }
  expected_groups_ = groups.revision;
  expected_templates_ = templates_.device_changes();
  if (expected_.empty() && lacking_.empty()) return;
  if (changed) {
    for (NodeId id = 0; id < nodes_.size(); ++id) JudgeDevices(id, now);
  } else {
    for (const NodeId id : std::set<NodeId>(lacking_)) JudgeDevices(id, now);
  }
  judged_nodes_ = nodes_revision_;
  judged_slices_ = snapshot_.slices_version();
}

void ClusterObjects::JudgeDevices(NodeId id, const LoopTime& now) {
  NodeFacts& node = nodes_[id];
  const auto expected = node.present && !node.group.empty() ? expected_.find(node.group.text()) : expected_.end();
  const bool lacks = expected != expected_.end() && !HasPools(CompletePools(snapshot_.SlicesFor(id)), expected->second.pools) &&
                     (!expected->second.young || node.created + *expected->second.young > now);
  lacks ? void(lacking_.insert(id)) : void(lacking_.erase(id));
  if (!node.present || lacks == node.lacks_devices) return;
  node = DecodeNodeFacts(*FindNode(node.name), options_, gpu_label_, node.group, lacks);
  ++nodes_revision_;
}

ClusterView ClusterObjects::ViewOfPods(base::Time now) {
  if (budgets_changed_) RebuildBudgets();
  if (daemon_sets_changed_) {
    daemon_sets_.clear();
    for (const auto& [key, object] : daemon_set_by_key_) daemon_sets_.push_back(object);
    daemon_sets_changed_ = false;
  }
  ClusterView view;
  view.snapshot = &snapshot_;
  view.pods = &pods_;
  view.nodes = &nodes_;
  view.budgets = &budgets_;
  view.nodes_revision = nodes_revision_;
  view.owners = owners_required_ || owners_seen_ ? &owners_ : nullptr;
  view.daemon_sets = &daemon_sets_;
  view.now = now;
  return view;
}

void ClusterObjects::RebuildBudgets() {
  budgets_.clear();
  for (const auto& [key, budget] : budget_by_key_) budgets_.push_back(budget);
  budgets_changed_ = false;
}

void ClusterObjects::CoverNode(NodeId node) {
  if (nodes_.size() <= node) nodes_.resize(node + 1);
}

const kube::Node* ClusterObjects::NodeObject(NodeId node) const {
  if (node >= nodes_.size() || !nodes_[node].present) return nullptr;
  const auto found = node_objects_.find(nodes_[node].name);
  return found == node_objects_.end() ? nullptr : &found->second;
}

std::string ClusterObjects::PlanUnderWay(const LoopTime& now) const {
  for (const auto& [plan, until] : room_kept_until_) {
    if (until > now) return plan;
  }
  return "";
}

NodeObjects ClusterObjects::Objects() const {
  return [this](NodeId node) { return NodeObject(node); };
}

const Json* ClusterObjects::FindNode(std::string_view name) const {
  const auto at = std::ranges::lower_bound(node_names_, name);
  return at == node_names_.end() || *at != name ? nullptr : &node_json_[static_cast<size_t>(at - node_names_.begin())];
}

}  // namespace evenkeel::controllers::autoscaler
