#include "controllers/autoscaler/cluster_objects.h"

#include "controllers/autoscaler/facts.h"
#include "controllers/autoscaler/pod_filters.h"
#include "kube/object.h"
#include "scheduling/reservations.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;
using scheduling::VolumeKind;

constexpr std::string_view kPriorityConfigMap = "cluster-autoscaler-priority-expander";

std::optional<VolumeKind> VolumeKindOf(std::string_view kind) {
  if (kind == "PersistentVolume") return VolumeKind::kPersistentVolume;
  if (kind == "PersistentVolumeClaim") return VolumeKind::kPersistentVolumeClaim;
  if (kind == "StorageClass") return VolumeKind::kStorageClass;
  if (kind == "CSINode") return VolumeKind::kCsiNode;
  if (kind == "CSIDriver") return VolumeKind::kCsiDriver;
  if (kind == "CSIStorageCapacity") return VolumeKind::kCsiStorageCapacity;
  return std::nullopt;
}

bool IsOwnerKind(std::string_view kind) {
  return kind == "ReplicaSet" || kind == "ReplicationController" || kind == "StatefulSet" || kind == "Job" ||
         kind == "DaemonSet";
}

}  // namespace

ClusterObjects::ClusterObjects(Options options) : options_(std::move(options)), templates_(snapshot_, options_) {}

void ClusterObjects::Upsert(const Json& object) {
  const std::string_view kind = FindString(object, {"kind"});
  if (kind == "Pod") return UpsertPod(object);
  if (kind == "Node") return UpsertNode(object);
  const std::string key = kube::KeyOf(object);
  if (kind == "PodDisruptionBudget") {
    budget_by_key_[key] = DecodeBudget(object);
    budgets_changed_ = true;
  } else if (kind == "Namespace") {
    snapshot_.UpsertNamespace(key, kube::DecodeMeta(object).labels);
  } else if (kind == "ConfigMap" && kube::NameOf(object) == kPriorityConfigMap) {
    expander_priorities_ = FindString(object, {"data", "priorities"});
  } else if (kind == scheduling::BalancingPlans().kind) {
    const auto until = scheduling::RoomKeptUntil(object);
    until ? void(room_kept_until_.insert_or_assign(key, *until)) : void(room_kept_until_.erase(key));
  } else if (const auto volume = VolumeKindOf(kind)) {
    snapshot_.UpsertVolume(*volume, object);
  } else if (IsOwnerKind(kind)) {
    Owner owner = DecodeOwner(object);
    owner_by_key_[std::string(kind) + " " + key] = owner.uid;
    owners_[owner.uid] = std::move(owner);
    if (kind == "DaemonSet") {
      daemon_set_by_key_.insert_or_assign(key, Json(object, {}));
      daemon_sets_changed_ = true;
    } else {
      owners_seen_ = true;
    }
  }
}

void ClusterObjects::Remove(std::string_view kind, const std::string& key) {
  if (kind == "Pod") return RemovePod(key);
  if (kind == "Node") return RemoveNode(key);
  if (kind == "PodDisruptionBudget") {
    budget_by_key_.erase(key);
    budgets_changed_ = true;
  } else if (kind == "Namespace") {
    snapshot_.RemoveNamespace(key);
  } else if (kind == "ConfigMap" && key.ends_with(kPriorityConfigMap)) {
    expander_priorities_.reset();
  } else if (kind == scheduling::BalancingPlans().kind) {
    room_kept_until_.erase(key);
  } else if (const auto volume = VolumeKindOf(kind)) {
    snapshot_.RemoveVolume(*volume, key);
  } else if (IsOwnerKind(kind)) {
    const auto owner = owner_by_key_.find(std::string(kind) + " " + key);
    if (owner != owner_by_key_.end()) {
      owners_.erase(owner->second);
      owner_by_key_.erase(owner);
    }
    if (kind == "DaemonSet") {
      daemon_set_by_key_.erase(key);
      daemon_sets_changed_ = true;
    }
  }
}

void ClusterObjects::UpsertNode(const Json& object) {
  kube::Node node = kube::Node::Decode(object);
  const NodeId id = snapshot_.UpsertNode(node);
  if (nodes_.size() <= id) nodes_.resize(id + 1);
  nodes_[id] = DecodeNodeFacts(object, options_, gpu_label_, nodes_[id].present ? nodes_[id].group : std::string());
  const std::string name(kube::NameOf(object));
  node_objects_.insert_or_assign(name, std::move(node));
  const auto at = std::ranges::lower_bound(node_names_, name);
  const auto json = node_json_.begin() + (at - node_names_.begin());
  if (at != node_names_.end() && *at == name) {
    *json = Json(object, {});
    return;
  }
  node_names_.insert(at, name);
  node_json_.insert(json, Json(object, {}));
}

void ClusterObjects::RemoveNode(const std::string& name) {
  const NodeId id = snapshot_.FindNodeByName(name);
  if (id != kNone && id < nodes_.size()) nodes_[id] = NodeFacts{};
  snapshot_.RemoveNode(name);
  node_objects_.erase(name);
  const auto at = std::ranges::lower_bound(node_names_, name);
  if (at == node_names_.end() || *at != name) return;
  node_json_.erase(node_json_.begin() + (at - node_names_.begin()));
  node_names_.erase(at);
}

void ClusterObjects::UpsertPod(const Json& object) {
  const std::string key = kube::KeyOf(object);
  const std::string_view phase = FindString(object, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return RemovePod(key);
  const PodId id = snapshot_.UpsertPod(object);
  if (id == kNone) return RemovePod(key);
  if (pods_.size() <= id) pods_.resize(id + 1);
  pods_[id] = DecodePodFacts(object);
  const bool on_node = !FindString(object, {"spec", "nodeName"}).empty();
  on_node ? static_cast<void>(pending_.erase(id)) : static_cast<void>(pending_.insert(id));
  if (on_node && IsExpendable(pods_[id], options_)) {
    expendable_.insert(id);
  } else {
    expendable_.erase(id);
  }
}

void ClusterObjects::RemovePod(const std::string& key) {
  const PodId id = snapshot_.FindPod(key);
  if (id == kNone) return;
  if (id < pods_.size()) pods_[id] = PodFacts{};
  pending_.erase(id);
  expendable_.erase(id);
  snapshot_.RemovePod(key);
}

ClusterView ClusterObjects::View(providers::NodeGroups groups, base::Time now) {
  const bool decode = gpu_label_ != groups.gpu_label;
  gpu_label_ = groups.gpu_label;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (!nodes_[id].present) continue;
    const auto group = groups.group_of_node.find(nodes_[id].name);
    const std::string_view name = group == groups.group_of_node.end() ? "" : std::string_view(group->second);
    if (decode) {
      nodes_[id] = DecodeNodeFacts(*FindNode(nodes_[id].name), options_, gpu_label_, name);
    } else if (nodes_[id].group != name) {
      nodes_[id].group = name;
    }
  }
  ClusterView view = ViewOfPods(now);
  view.groups = std::move(groups);
  return view;
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

std::string ClusterObjects::PlanUnderWay(base::Time now) const {
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
