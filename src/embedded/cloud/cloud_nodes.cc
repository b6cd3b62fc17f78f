#include "embedded/cloud/cloud_nodes.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/autoscaler/facts/template_slices.h"
#include "kube/object.h"

namespace evenkeel::embedded::cloud {
namespace {

using base::Json;

std::map<std::string, std::string> Amounts(const Json& node, std::string_view list) {
  std::map<std::string, std::string> amounts;
  for (const auto& [name, value] : base::FindObject(node, {"status", list})) {
    amounts[name] = value.is_string() ? std::string(value.get_string()) : base::ToText(value);
  }
  return amounts;
}

nodeagent::NodeConfig Like(const Json& node, const InstanceRecord& record) {
  nodeagent::NodeConfig config;
  config.name = record.node;
  config.provider_id = record.id;
  config.labels = kube::DecodeMeta(node).labels;
  config.taints = kube::Node::Decode(node).taints;
  config.allocatable = Amounts(node, "allocatable");
  config.capacity = Amounts(node, "capacity");
  if (config.capacity.empty()) config.capacity = config.allocatable;
  return config;
}

}  // namespace

std::string PodRange(int cluster_index, int slot) {
  const int range = cluster_index % 16 * kSlots + slot % kSlots;
  return fmt::format("100.{}.{}.0/24", 64 + range / 256, range % 256);
}

std::string LoopbackRange(int cluster_index, int loopback_octet, int slot) {
  // 127.N.1.0 to 127.N.240.0 belong to the nodes that the fleet begins with.
  const int range = (cluster_index * 40 + slot) % 240;
  return fmt::format("127.{}.{}.{}/28", loopback_octet, 241 + range / 16, range % 16 * 16);
}

nodeagent::NodeConfig NewNode(const std::string& group, const InstanceRecord& record, const Json& template_node) {
  nodeagent::NodeConfig config = Like(template_node, record);
  config.labels["kubernetes.io/hostname"] = record.node;
  config.labels[std::string(controllers::autoscaler::kNodeGroupLabel)] = group;
  return config;
}

std::vector<Json> DevicesOf(const InstanceRecord& record, const Json& template_node) {
  return controllers::autoscaler::SlicesOfTemplate(template_node, record.node);
}

nodeagent::NodeConfig KnownNode(const InstanceRecord& record, const Json& node) {
  nodeagent::NodeConfig config = Like(node, record);
  config.pod_cidr = base::FindString(node, {"spec", "podCIDR"});
  return config;
}

}  // namespace evenkeel::embedded::cloud
