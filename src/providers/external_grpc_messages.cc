#include "providers/external_grpc_messages.h"

#include <algorithm>
#include <cmath>

#include "kube/object.h"
#include "providers/object_bytes.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;

constexpr int32_t kOutOfResources = 1;

template <typename Map>
void CopyTexts(const base::JsonObject& from, Map& to) {
  for (const auto& [key, value] : from) {
    if (value.is_string()) to[std::string(key)] = std::string(value.get_string());
  }
}

void SetDuration(const std::optional<base::Duration>& value, google::protobuf::Duration& duration,
                 external_grpc::LegacyDuration& legacy) {
  const base::Duration time = value.value_or(base::Duration{});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  duration.set_seconds(seconds.count());
  duration.set_nanos(static_cast<int32_t>((time - seconds).count()));
  legacy.set_duration(time.count());
}

std::string GroupNamed(const std::string& group) {
  return "node group \"" + OneLine(group) + "\" of the external gRPC service";
}

base::Result<base::Duration> ReadDuration(const google::protobuf::Duration& value, const char* field) {
  constexpr int64_t kSecondsMax = 100LL * 366 * 24 * 3600;
  if (value.seconds() < 0 || value.seconds() > kSecondsMax || value.nanos() < 0 || value.nanos() >= 1'000'000'000) {
    return Fail(Code::kInvalid, std::string(field) + ": is not from 0 to 100 years");
  }
  return std::chrono::seconds(value.seconds()) + std::chrono::nanoseconds(value.nanos());
}

base::Result<double> ReadShare(double value, const char* field) {
  if (value >= 0 && value <= 1) return value;
  return Fail(Code::kInvalid, std::string(field) + ": is not from 0 to 1");
}

}  // namespace

external_grpc::ExternalGrpcNode NodeMessage(const Json& node) {
  external_grpc::ExternalGrpcNode message;
  message.set_providerid(std::string(base::FindString(node, {"spec", "providerID"})));
  message.set_name(std::string(kube::NameOf(node)));
  CopyTexts(base::FindObject(node, {"metadata", "labels"}), *message.mutable_labels());
  CopyTexts(base::FindObject(node, {"metadata", "annotations"}), *message.mutable_annotations());
  return message;
}

external_grpc::ExternalGrpcNode NodeMessage(const NodeReference& node) {
  external_grpc::ExternalGrpcNode message;
  if (node.node.is_object()) message = NodeMessage(node.node);
  message.set_providerid(node.provider_id);
  // cluster-autoscaler names instances without a node by their id.
  message.set_name(node.name.empty() ? node.provider_id : node.name);
  return message;
}

external_grpc::NodeGroupAutoscalingOptions OptionsMessage(const NodeGroupOptions& options) {
  external_grpc::NodeGroupAutoscalingOptions message;
  message.set_scaledownutilizationthreshold(options.scale_down_utilization_threshold.value_or(0));
  message.set_scaledowngpuutilizationthreshold(options.scale_down_gpu_utilization_threshold.value_or(0));
  message.set_zeroormaxnodescaling(options.zero_or_max_node_scaling.value_or(false));
  message.set_ignoredaemonsetsutilization(options.ignore_daemonsets_utilization.value_or(false));
  SetDuration(options.scale_down_unneeded_time, *message.mutable_scaledownunneededduration(),
              *message.mutable_legacy_scale_down_unneeded());
  SetDuration(options.scale_down_unready_time, *message.mutable_scaledownunreadyduration(),
              *message.mutable_legacy_scale_down_unready());
  SetDuration(options.max_node_provision_time, *message.mutable_maxnodeprovisionduration(),
              *message.mutable_legacy_max_node_provision());
  return message;
}

void SetAside(NodeGroup& group, const std::string& why) {
  if (group.set_aside.empty()) group.set_aside = OneLine(why);
}

std::vector<NodeGroup> ReadNodeGroups(const external_grpc::NodeGroupsResponse& response, Warnings& warnings) {
  std::map<std::string, NodeGroup> by_id;
  for (const auto& message : response.nodegroups()) {
    if (message.id().empty()) {
      warnings.Add("a node group of the external gRPC service: id: missing, so it is left out");
      continue;
    }
    const auto [found, fresh] = by_id.try_emplace(message.id());
    NodeGroup& group = found->second;
    if (!fresh) {
      SetAside(group, "the service lists two groups of this id");
      continue;
    }
    group.id = message.id();
    group.min_size = message.minsize();
    group.max_size = message.maxsize();
    group.debug = message.debug();
    if (group.min_size >= 0 && group.max_size >= group.min_size) continue;
    SetAside(group, group.min_size < 0 ? "minSize: " + std::to_string(group.min_size) + " is less than 0"
                                       : "maxSize: " + std::to_string(group.max_size) + " is less than minSize " +
                                             std::to_string(group.min_size));
    group.min_size = group.max_size = 0;
  }
  std::vector<NodeGroup> groups;
  for (auto& [id, group] : by_id) groups.push_back(std::move(group));
  return groups;
}

void ReadInstances(const external_grpc::NodeGroupNodesResponse& response, NodeGroup& group) {
  for (const auto& message : response.instances()) {
    Instance instance;
    instance.id = message.id();
    if (instance.id.empty()) {
      SetAside(group, "NodeGroupNodes: an instance: id: missing");
      continue;
    }
    const auto state = message.status().instancestate();
    if (state == external_grpc::InstanceStatus::instanceCreating) instance.state = Instance::State::kCreating;
    if (state == external_grpc::InstanceStatus::instanceDeleting) instance.state = Instance::State::kDeleting;
    const auto& info = message.status().errorinfo();
    if (state != external_grpc::InstanceStatus::unspecified && !info.errorcode().empty()) {
      const bool out = info.instanceerrorclass() == kOutOfResources;
      instance.error = Instance::Error{out ? Instance::ErrorClass::kOutOfResources : Instance::ErrorClass::kOther,
                                       info.errorcode(), info.errormessage()};
    }
    group.instances.push_back(std::move(instance));
  }
  std::ranges::stable_sort(group.instances, {}, &Instance::id);
  const auto twice = std::ranges::adjacent_find(group.instances, {}, &Instance::id);
  if (twice == group.instances.end()) return;
  SetAside(group, "NodeGroupNodes: instance \"" + twice->id + "\" is listed twice");
  const auto same = std::ranges::unique(group.instances, {}, &Instance::id);
  group.instances.erase(same.begin(), same.end());
}

base::Result<NodeGroupOptions> ReadGroupOptions(const external_grpc::NodeGroupAutoscalingOptions& message) {
  NodeGroupOptions options;
  EVENKEEL_ASSIGN(options.scale_down_utilization_threshold,
                  ReadShare(message.scaledownutilizationthreshold(), "scaleDownUtilizationThreshold"));
  EVENKEEL_ASSIGN(options.scale_down_gpu_utilization_threshold,
                  ReadShare(message.scaledowngpuutilizationthreshold(), "scaleDownGpuUtilizationThreshold"));
  options.zero_or_max_node_scaling = message.zeroormaxnodescaling();
  options.ignore_daemonsets_utilization = message.ignoredaemonsetsutilization();
  const auto read = [&](bool present, const google::protobuf::Duration& value, bool legacy_present,
                        const external_grpc::LegacyDuration& legacy,
                        const char* field) -> base::Result<std::optional<base::Duration>> {
    if (!present && !legacy_present) return std::nullopt;
    google::protobuf::Duration converted = value;
    if (!present) {
      converted.set_seconds(legacy.duration() / 1'000'000'000);
      converted.set_nanos(static_cast<int32_t>(legacy.duration() % 1'000'000'000));
    }
    EVENKEEL_ASSIGN(const base::Duration duration, ReadDuration(converted, field));
    return duration;
  };
  EVENKEEL_ASSIGN(
      options.scale_down_unneeded_time,
      read(message.has_scaledownunneededduration(), message.scaledownunneededduration(),
           message.has_legacy_scale_down_unneeded(), message.legacy_scale_down_unneeded(), "scaleDownUnneededDuration"));
  EVENKEEL_ASSIGN(
      options.scale_down_unready_time,
      read(message.has_scaledownunreadyduration(), message.scaledownunreadyduration(), message.has_legacy_scale_down_unready(),
           message.legacy_scale_down_unready(), "scaleDownUnreadyDuration"));
  EVENKEEL_ASSIGN(
      options.max_node_provision_time,
      read(message.has_maxnodeprovisionduration(), message.maxnodeprovisionduration(), message.has_legacy_max_node_provision(),
           message.legacy_max_node_provision(), "MaxNodeProvisionDuration"));
  return options;
}

std::optional<Json> ReadTemplate(const std::string& group, const external_grpc::NodeGroupTemplateNodeInfoResponse& response,
                                 Warnings& warnings) {
  const std::string& bytes = response.nodebytes().empty() ? response.legacy_node() : response.nodebytes();
  if (bytes.empty()) return std::nullopt;
  auto node = DecodeNode(bytes);
  if (!node) {
    warnings.Add(GroupNamed(group) + ": template: " + node.error().message() + ", so it cannot be scaled from zero");
    return std::nullopt;
  }
  if (base::FindObject(*node, {"status", "allocatable"}).empty()) {
    Json capacity = base::FindObject(*node, {"status", "capacity"});
    if (capacity.get_object().empty()) {
      warnings.Add(GroupNamed(group) + ": template: status.allocatable: missing, so it cannot be scaled from zero");
      return std::nullopt;
    }
    base::Ensure(*node, {"status", "allocatable"}) = std::move(capacity);
  }
  return *std::move(node);
}

}  // namespace evenkeel::providers
