#include "controllers/balancer/member_cluster.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "kube/quantity.h"

namespace evenkeel::controllers::balancer {
namespace {

using balancing::Cluster;
using balancing::History;
using balancing::kNoId;
using balancing::kPartitionInTransition;
using balancing::Metric;
using balancing::MetricId;
using balancing::Movement;
using balancing::Node;
using balancing::NodeId;
using balancing::NodeTypeId;
using balancing::Partition;
using balancing::PartitionId;
using balancing::Replica;
using balancing::ReplicaId;
using balancing::Role;
using balancing::Service;
using balancing::ServiceId;
using balancing::ServiceMetric;
using balancing::ServiceTypeId;
using balancing::Unit;

using base::Json;
using scheduling::ClassId;
using scheduling::Filter;

/// Sums of loads stay below what is exact as a double.
constexpr int64_t kSumMax = int64_t{1} << 52;
constexpr int64_t kScaleStep = 1024;
/// Allocatable amounts of like machines differ a little.
constexpr double kUnequal = 1.1;

struct PodRow {
  const SeenPod* pod = nullptr;
  NodeId node = kNoId;
  std::vector<int64_t> loads;  // by metric of the policy
  std::string fixed;
};

/// Nodes where pods of a class may not run whatever else is there, and the fields, or filters, that say so.
struct Blocking {
  std::vector<NodeId> nodes;
  std::set<std::string> fields;
};

struct ServiceRow {
  std::vector<PodRow> pods;  // by key
};

int64_t AmountOf(const kube::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? 0 : scheduling::Bounded(found->second);
}

int64_t LoadOf(const SeenPod& pod, const MetricRule& rule, const PodUsage& usage) {
  if (rule.source == LoadSource::kAnnotation) {
    const auto declared = pod.declared.find(rule.name);
    return declared == pod.declared.end() ? 0 : declared->second;
  }
  if (rule.source == LoadSource::kUsage) {
    if (const auto used = usage.find(pod.key); used != usage.end()) return AmountOf(used->second, rule.resource);
  }
  return AmountOf(pod.requests, rule.resource);
}

/// Refused whatever else is on the node. Volumes are asked about after room, so they are found out only where there is some.
bool IsLasting(Filter filter) {
  switch (filter) {
    case Filter::kNodeUnschedulable:
    case Filter::kNodeName:
    case Filter::kTaintToleration:
    case Filter::kNodeAffinity:
    case Filter::kVolumeBinding:
    case Filter::kVolumeZone:
      return true;
    default:
      return false;
  }
}

Unit UnitOf(const std::string& resource) {
  if (resource == "cpu") return Unit::kMilli;
  const bool bytes = resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  return bytes ? Unit::kByte : Unit::kNone;
}

int64_t Scaled(int64_t load, int64_t scale) { return load / scale + (load % scale == 0 ? 0 : 1); }

class Builder {
 public:
  explicit Builder(const MemberInput& input) : input_(input), policy_(input.policy) {}

  MemberCluster Build() {
    AddNodes();
    Collect();
    if (FindClosedNodes()) {
      cluster() = Cluster();
      node_ids_.clear();
      services_.clear();
      blocked_for_.clear();
      built_.fixed.clear();
      built_.absent.clear();
      AddNodes();
      Collect();
    }
    SetScale();
    AddMetrics();
    built_.cluster.constraints.emplace_back();
    built_.cluster.constraint_texts.emplace_back();
    for (auto& [name, row] : services_) AddService(name, row);
    AddHistory();
    built_.settings = SettingsOf(policy_, built_.scale);
    // A service's own loads are compared as they are, which speaks against even shares of nodes of different sizes.
    if (CapacitiesDiffer()) built_.settings.local_domain_weight = 0;
    return std::move(built_);
  }

 private:
  Cluster& cluster() { return built_.cluster; }

  void AddNodes() {
    for (const auto& [name, seen] : input_.objects.nodes()) {
      if (!seen.left_out.empty()) built_.left_out[name] = seen.left_out;
      if (built_.left_out.contains(name)) continue;
      node_ids_[name] = static_cast<NodeId>(cluster().nodes.size());
      Node node;
      node.name = name;
      node.type = NodeType(seen);
      node.fault_domain = FaultDomain(seen);
      for (const std::string& segment : node.fault_domain) node.fault_domain_uri += "/" + segment;
      if (!node.fault_domain_uri.empty()) node.fault_domain_uri.insert(0, "fd:");
      for (const auto& [key, value] : seen.labels) node.properties[key] = value;
      cluster().nodes.push_back(std::move(node));
    }
  }

  NodeTypeId NodeType(const SeenNode& seen) {
    std::string type;
    if (const auto label = seen.labels.find(policy_.node_type_label); label != seen.labels.end()) type = label->second;
    auto& types = cluster().node_types;
    const auto found = std::ranges::find(types, type);
    if (found != types.end()) return static_cast<NodeTypeId>(found - types.begin());
    types.push_back(type);
    return static_cast<NodeTypeId>(types.size() - 1);
  }

  /// Domains of one depth, or none: a node that lacks an outer label would hang in another place of the tree.
  std::vector<std::string> FaultDomain(const SeenNode& seen) const {
    std::vector<std::string> segments;
    for (const std::string& key : policy_.fault_domain_keys) {
      const auto label = seen.labels.find(key);
      segments.push_back(label == seen.labels.end() ? (segments.empty() ? "none" : seen.name) : label->second);
    }
    return segments;
  }

  void Collect() {
    for (const auto& [key, pod] : input_.objects.pods()) {
      const auto node = node_ids_.find(pod.node);
      if (node == node_ids_.end() || pod.terminating) {
        NoteAbsent(pod);
        continue;
      }
      PodRow row{.pod = &pod, .node = node->second, .loads = {}, .fixed = pod.fixed};
      for (const MetricRule& rule : policy_.metrics) row.loads.push_back(LoadOf(pod, rule, input_.usage));
      if (row.fixed.empty()) row.fixed = WhyFixed(pod);
      if (!row.fixed.empty()) built_.fixed[key] = row.fixed;
      services_[ServiceNameOf(pod, input_.objects)].pods.push_back(std::move(row));
    }
  }

  void NoteAbsent(const SeenPod& pod) {
    AbsentPods& absent = built_.absent[ServiceNameOf(pod, input_.objects)];
    if (pod.terminating) {
      ++absent.ending;
    } else if (pod.node.empty()) {
      ++absent.waiting;
    } else {
      absent.nodes.insert(pod.node);
    }
  }

  std::string WhyFixed(const SeenPod& pod) const {
    if (std::ranges::find(policy_.excluded_namespaces, pod.ns) != policy_.excluded_namespaces.end() ||
        policy_.excluded_namespace_labels.Matches(input_.objects.NamespaceLabels(pod.ns))) {
      return "the policy excludes its namespace";
    }
    if (policy_.excluded_pods.Matches(pod.labels)) return "the policy excludes it";
    const SeenOwner* owner = input_.objects.FindOwner(pod.owner_uid);
    if (owner == nullptr) return "its controller " + pod.owner_kind + " " + pod.owner_name + " is not there";
    if (input_.past.JustMoved(pod.uid, LoadsOf(pod, policy_, input_.usage), input_.now)) {
      return "it was moved a short time ago, and its load is the same";
    }
    return "";
  }

  /// Nodes that no pod that may move is on or may come to (as those of a control plane) would always look idle. Whether there
  /// are any; none where nothing may move at all.
  bool FindClosedNodes() {
    std::vector<uint8_t> open(cluster().nodes.size(), 0);
    bool any = false;
    std::set<ClassId> classes;
    for (const auto& [name, row] : services_) {
      for (const PodRow& pod : row.pods) {
        if (!pod.pod->fixed.empty()) continue;  // also those that do not move only now
        any = true;
        open[pod.node] = 1;
        const scheduling::PodId id = input_.objects.snapshot().FindPod(pod.pod->key);
        if (id != scheduling::kNone) classes.insert(input_.objects.snapshot().ClassOf(id));
      }
    }
    for (const ClassId pod_class : classes) {
      std::vector<uint8_t> allowed(open.size(), 1);
      for (const NodeId node : BlockedFor(pod_class).nodes) allowed[node] = 0;
      for (NodeId node = 0; node < open.size(); ++node) open[node] |= allowed[node];
    }
    if (!any || std::ranges::find(open, 0) == open.end()) return false;
    for (NodeId node = 0; node < open.size(); ++node) {
      if (open[node] == 0) built_.left_out[cluster().nodes[node].name] = "no pod that may move may run there";
    }
    return true;
  }

  void SetScale() {
    for (size_t metric = 0; metric < policy_.metrics.size(); ++metric) {
      __int128 sum = 0;
      for (const auto& [name, row] : services_) {
        for (const PodRow& pod : row.pods) sum += pod.loads[metric];
      }
      __int128 capacity = 0;
      for (const Node& node : cluster().nodes) {
        capacity += AmountOf(input_.objects.FindNode(node.name)->allocatable, policy_.metrics[metric].resource);
      }
      int64_t scale = 1;
      while (std::max(sum, capacity) / scale > kSumMax) scale *= kScaleStep;
      built_.scale.push_back(scale);
    }
  }

  void AddMetrics() {
    for (size_t i = 0; i < policy_.metrics.size(); ++i) {
      const MetricRule& rule = policy_.metrics[i];
      Metric metric;
      metric.name = rule.name;
      metric.unit = UnitOf(rule.resource);
      metric.scale = built_.scale[i];
      cluster().metrics.push_back(std::move(metric));
      if (rule.resource.empty()) continue;
      for (Node& node : cluster().nodes) {
        const int64_t amount = AmountOf(input_.objects.FindNode(node.name)->allocatable, rule.resource);
        node.capacities.push_back({.metric = static_cast<MetricId>(i), .amount = amount / built_.scale[i]});
      }
    }
  }

  /// By more than a tenth, of a metric that every node has some of.
  bool CapacitiesDiffer() {
    for (MetricId metric = 0; metric < cluster().metrics.size(); ++metric) {
      int64_t smallest = INT64_MAX, largest = 0;
      for (NodeId node = 0; node < cluster().nodes.size(); ++node) {
        const int64_t* capacity = cluster().CapacityOf(node, metric);
        smallest = std::min(smallest, capacity == nullptr ? 0 : *capacity);
        largest = std::max(largest, capacity == nullptr ? 0 : *capacity);
      }
      if (smallest > 0 && static_cast<double>(largest) > kUnequal * static_cast<double>(smallest)) return true;
    }
    return false;
  }

  void AddService(const std::string& name, const ServiceRow& row) {
    Service service;
    service.name = name;
    service.stateful = std::ranges::any_of(row.pods, [](const PodRow& pod) { return !pod.pod->role.empty(); });
    service.target_replicas = 1;
    for (size_t i = 0; i < policy_.metrics.size(); ++i) AddServiceMetric(service, row, i);
    if (service.metrics.empty()) {
      built_.absent[name].loads_nothing = true;
      return;
    }
    service.type = static_cast<ServiceTypeId>(cluster().service_types.size());
    std::string blocked_by;
    std::vector<NodeId> blocked = BlockedNodes(row, blocked_by);
    cluster().service_types.push_back(
        {.name = name, .blocked_nodes = std::move(blocked), .leaves_blocked = true, .blocked_by = std::move(blocked_by)});
    const auto id = static_cast<ServiceId>(cluster().services.size());
    for (const PodRow& pod : row.pods) {
      service.partitions.push_back(static_cast<PartitionId>(cluster().partitions.size()));
      AddPod(id, service, pod);
    }
    cluster().services.push_back(std::move(service));
  }

  /// What only annotations tell of belongs to the services that have some.
  void AddServiceMetric(Service& service, const ServiceRow& row, size_t i) {
    const MetricRule& rule = policy_.metrics[i];
    int64_t largest = 0;
    bool declared = rule.source != LoadSource::kAnnotation;
    for (const PodRow& pod : row.pods) {
      largest = std::max(largest, Scaled(pod.loads[i], built_.scale[i]));
      declared |= pod.pod->declared.contains(rule.name);
    }
    if (!declared) return;
    Metric& metric = cluster().metrics[i];
    ++metric.services;
    metric.weight_sum += rule.weight;
    service.metrics.push_back({.metric = static_cast<MetricId>(i),
                               .weight = rule.weight,
                               .primary_load = service.stateful ? largest : 0,
                               .secondary_load = largest});
  }

  void AddPod(ServiceId service_id, const Service& service, const PodRow& row) {
    Partition partition;
    partition.name = row.pod->key;
    partition.service = service_id;
    partition.first_replica = static_cast<ReplicaId>(cluster().replicas.size());
    partition.replica_count = 1;
    if (!row.fixed.empty()) partition.flags |= kPartitionInTransition;
    Replica replica;
    replica.node = row.node;
    replica.partition = static_cast<PartitionId>(cluster().partitions.size());
    replica.first_load = static_cast<uint32_t>(cluster().loads.size());
    replica.role = !service.stateful ? Role::kInstance : row.pod->role == "primary" ? Role::kPrimary : Role::kSecondary;
    replica.move_cost = policy_.CostOf(row.pod->labels);
    // The replica's row, and those of a primary and of a secondary that were placed now: one pod is one replica.
    for (int i = 0; i < 3; ++i) {
      if (i == 1) partition.new_loads = static_cast<uint32_t>(cluster().loads.size());
      for (const ServiceMetric& metric : service.metrics) {
        cluster().loads.push_back(Scaled(row.loads[metric.metric], built_.scale[metric.metric]));
      }
    }
    partition_of_uid_[row.pod->uid] = replica.partition;
    cluster().replicas.push_back(replica);
    cluster().partitions.push_back(std::move(partition));
  }

  /// A node that has such a pod is not blocked, even if it could not come there today: what runs is not in the way of rules for
  /// what is to come, and the planner would take it for a violation.
  std::vector<NodeId> BlockedNodes(const ServiceRow& row, std::string& blocked_by) {
    std::vector<uint8_t> blocked(cluster().nodes.size(), 0);
    std::set<std::string> fields;
    scheduling::Snapshot& snapshot = input_.objects.snapshot();
    for (const PodRow& pod : row.pods) {
      if (!pod.fixed.empty()) continue;
      const scheduling::PodId id = snapshot.FindPod(pod.pod->key);
      if (id == scheduling::kNone) continue;
      const Blocking& blocking = BlockedFor(snapshot.ClassOf(id));
      for (const NodeId node : blocking.nodes) blocked[node] = 1;
      fields.insert(blocking.fields.begin(), blocking.fields.end());
    }
    for (const PodRow& pod : row.pods) blocked[pod.node] = 0;
    blocked_by = fmt::format("{}", fmt::join(fields, ", "));
    std::vector<NodeId> ids;
    for (NodeId node = 0; node < blocked.size(); ++node) {
      if (blocked[node] != 0) ids.push_back(node);
    }
    return ids;
  }

  const Blocking& BlockedFor(ClassId pod_class) {
    const auto [entry, is_new] = blocked_for_.try_emplace(pod_class);
    if (!is_new) return entry->second;
    scheduling::Snapshot& snapshot = input_.objects.snapshot();
    const scheduling::WhatIf told(snapshot, scheduling::Layers::kTold);
    for (NodeId node = 0; node < cluster().nodes.size(); ++node) {
      const scheduling::NodeId seen = snapshot.FindNodeByName(cluster().nodes[node].name);
      const scheduling::Fit fit = seen == scheduling::kNone ? scheduling::Fit() : snapshot.Check(pod_class, seen);
      if (seen != scheduling::kNone && !IsLasting(fit.filter)) continue;
      entry->second.nodes.push_back(node);
      if (!fit.fits()) entry->second.fields.insert(fit.field.empty() ? std::string(Name(fit.filter)) : fit.field);
    }
    return entry->second;
  }

  void AddHistory() {
    History& history = cluster().history;
    for (const PastMove& move : input_.past.moves()) {
      const auto partition = partition_of_uid_.find(move.successor_uid);
      Movement movement;
      movement.at = PlannerTime(move.at);
      movement.partition = partition == partition_of_uid_.end() ? kNoId : partition->second;
      movement.phase = move.balancing ? Movement::Phase::kBalancing : Movement::Phase::kConstraintCheck;
      history.movements.push_back(movement);
    }
    for (const auto& [name, seen] : input_.objects.nodes()) {
      if (node_ids_.contains(name)) history.last_node_up = std::max(history.last_node_up, PlannerTime(seen.ready_since));
    }
  }

  const MemberInput& input_;
  const Policy& policy_;
  MemberCluster built_;
  std::map<std::string, NodeId, std::less<>> node_ids_;
  std::map<std::string, ServiceRow> services_;
  std::unordered_map<std::string, PartitionId> partition_of_uid_;
  std::unordered_map<ClassId, Blocking> blocked_for_;
};

}  // namespace

const kube::Resource& PodMetrics() {
  static const kube::Resource resource = kube::MakeResource("metrics.k8s.io/v1beta1", "PodMetrics", "pods");
  return resource;
}

PodUsage DecodeUsage(const std::vector<Json>& pod_metrics) {
  PodUsage usage;
  for (const Json& object : pod_metrics) {
    kube::ResourceList& sum = usage[kube::KeyOf(object)];
    for (const Json& container : base::FindArray(object, {"containers"})) {
      for (const auto& [resource, amount] : kube::DecodeResourceList(base::Find(container, {"usage"}))) {
        int64_t& total = sum[resource];
        total = scheduling::Bounded(total) + scheduling::Bounded(amount);
      }
    }
  }
  return usage;
}

MemberCluster BuildCluster(const MemberInput& input) { return Builder(input).Build(); }

std::string WhyAbsent(const MemberCluster& member, const std::string& service) {
  const auto found = member.absent.find(service);
  if (found == member.absent.end()) return "";
  const AbsentPods& absent = found->second;
  std::vector<std::string> reasons;
  if (absent.loads_nothing) reasons.emplace_back("no metric of the policy is about it");
  if (!absent.nodes.empty()) {
    constexpr size_t kNamed = 5;
    std::string text = "it has pods on nodes that are left out: ";
    size_t named = 0;
    for (const std::string& node : absent.nodes) {
      if (named == kNamed) {
        text += fmt::format(" and {} more", absent.nodes.size() - kNamed);
        break;
      }
      const auto why = member.left_out.find(node);
      text += fmt::format("{}{} ({})", named++ == 0 ? "" : ", ", node,
                          why == member.left_out.end() ? "there is no such node" : why->second);
    }
    reasons.push_back(std::move(text));
  }
  if (absent.waiting > 0) reasons.push_back(fmt::format("{} of its pods wait for a node", absent.waiting));
  if (absent.ending > 0) reasons.push_back(fmt::format("{} of its pods are ending", absent.ending));
  return "service " + service + " is not looked at: " + fmt::format("{}", fmt::join(reasons, "; "));
}

std::map<std::string, int64_t> LoadsOf(const SeenPod& pod, const Policy& policy, const PodUsage& usage) {
  std::map<std::string, int64_t> loads;
  for (const MetricRule& rule : policy.metrics) loads[rule.name] = LoadOf(pod, rule, usage);
  return loads;
}

std::string ServiceNameOf(const SeenPod& pod, const MemberObjects& objects) {
  if (pod.owner_name.empty()) return pod.key;
  const SeenOwner* owner = objects.FindOwner(pod.owner_uid);
  std::string kind = pod.owner_kind, name = pod.owner_name;
  if (owner != nullptr && !owner->parent_name.empty()) {
    kind = owner->parent_kind;
    name = owner->parent_name;
  }
  // Names are unique per kind only.
  const bool plain = kind == "Deployment" || kind == "StatefulSet" || kind == "ReplicaSet";
  return pod.ns + "/" + name + (plain ? "" : " (" + kind + ")");
}

double PlannerTime(base::Time time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

}  // namespace evenkeel::controllers::balancer
