#include "balancing/model/cluster.h"

#include <algorithm>

namespace evenkeel::balancing {
namespace {

template <typename T>
uint32_t FindNamed(const std::vector<T>& things, std::string_view name) {
  const auto found = std::ranges::find(things, name, &T::name);
  return found == things.end() ? kNoId : static_cast<uint32_t>(found - things.begin());
}

}  // namespace

BuiltInMetric BuiltIn(std::string_view name) {
  if (name == "PrimaryCount") return BuiltInMetric::kPrimaryCount;
  if (name == "SecondaryCount") return BuiltInMetric::kSecondaryCount;
  if (name == "ReplicaCount") return BuiltInMetric::kReplicaCount;
  if (name == "InstanceCount") return BuiltInMetric::kInstanceCount;
  return name == "Count" ? BuiltInMetric::kCount : BuiltInMetric::kNo;
}

std::span<const int64_t> Cluster::NewReplicaLoads(const Partition& partition, Role role) const {
  const size_t row = ServiceOf(partition).metrics.size();
  return std::span(loads).subspan(partition.new_loads + (role == Role::kPrimary ? 0 : row), row);
}

const int64_t* Cluster::CapacityOf(NodeId node, MetricId metric) const {
  const std::vector<Capacity>& capacities = nodes[node].capacities;
  const auto found = std::ranges::lower_bound(capacities, metric, {}, &Capacity::metric);
  return found == capacities.end() || found->metric != metric ? nullptr : &found->amount;
}

NodeId Cluster::FindNode(std::string_view name) const { return FindNamed(nodes, name); }
MetricId Cluster::FindMetric(std::string_view name) const { return FindNamed(metrics, name); }
ServiceId Cluster::FindService(std::string_view name) const { return FindNamed(services, name); }
PartitionId Cluster::FindPartition(std::string_view name) const { return FindNamed(partitions, name); }

const std::string* NodeProperties::Find(std::string_view name) const {
  if (name == "NodeType") return &type_;
  if (name == "NodeName") return &node_.name;
  if (name == "UpgradeDomain") return &node_.upgrade_domain;
  if (name == "FaultDomain") return &node_.fault_domain_uri;
  const auto found = node_.properties.find(name);
  return found == node_.properties.end() ? nullptr : &found->second;
}

double GlobalWeight(const Settings& settings, const Metric& metric) {
  const auto configured = settings.global_metric_weights.find(metric.name);
  if (configured != settings.global_metric_weights.end()) return configured->second;
  return metric.services == 0 ? 0 : metric.weight_sum / metric.services;
}

int64_t CostValue(const Settings& settings, MoveCost cost) {
  switch (cost) {
    case MoveCost::kZero:
      return settings.move_cost_zero_value;
    case MoveCost::kLow:
      return settings.move_cost_low_value;
    case MoveCost::kMedium:
      return settings.move_cost_medium_value;
    case MoveCost::kHigh:
    case MoveCost::kVeryHigh:
      return settings.move_cost_high_value;
  }
  return settings.move_cost_low_value;
}

std::string_view Name(Role role) {
  switch (role) {
    case Role::kPrimary:
      return "primary";
    case Role::kSecondary:
      return "secondary";
    case Role::kInstance:
      return "instance";
    case Role::kStandBy:
      return "standBy";
    case Role::kNone:
      return "none";
    case Role::kDropped:
      return "dropped";
  }
  return "none";
}

std::string_view Name(MoveCost cost) {
  switch (cost) {
    case MoveCost::kZero:
      return "Zero";
    case MoveCost::kLow:
      return "Low";
    case MoveCost::kMedium:
      return "Medium";
    case MoveCost::kHigh:
      return "High";
    case MoveCost::kVeryHigh:
      return "VeryHigh";
  }
  return "Low";
}

std::string_view Name(DeactivationIntent intent) {
  switch (intent) {
    case DeactivationIntent::kNone:
      return "None";
    case DeactivationIntent::kPause:
      return "Pause";
    case DeactivationIntent::kRestart:
      return "Restart";
    case DeactivationIntent::kRemoveData:
      return "RemoveData";
    case DeactivationIntent::kRemoveNode:
      return "RemoveNode";
  }
  return "None";
}

std::string_view Name(DeactivationStatus status) {
  switch (status) {
    case DeactivationStatus::kNone:
      return "None";
    case DeactivationStatus::kSafetyCheckInProgress:
      return "SafetyCheckInProgress";
    case DeactivationStatus::kSafetyCheckComplete:
      return "SafetyCheckComplete";
    case DeactivationStatus::kComplete:
      return "Complete";
  }
  return "None";
}

}  // namespace evenkeel::balancing
