// Any JSON objects as Cluster API's, any text as a discovery spec: what is wrong is warned of in one line, what is left
// is sound.
#include <cstddef>
#include <cstdint>

#include "base/log.h"
#include "kube/object.h"
#include "providers/cluster_api_inventory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  static const bool quiet = base::log::Configure(base::log::Level::kOff).has_value();
  static_cast<void>(quiet);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  providers::ClusterApiOptions options;
  const auto discovery = providers::ClusterApiDiscovery::Parse(std::string(text.substr(0, text.find('\n'))));
  if (discovery) {
    options.discovery.push_back(*discovery);
  } else {
    EVENKEEL_CHECK(discovery.error().message().find('\n') == std::string::npos);
  }
  const auto json = base::ParseJson(text, "fuzz");
  if (!json || !json->is_array()) return 0;
  options.discovery.clear();
  providers::ClusterApiLists lists;
  std::vector<base::Json> nodes;
  for (const base::Json& item : json->get_array()) {
    if (!item.is_object()) continue;
    const std::string_view kind = base::FindString(item, {"kind"});
    if (kind == "Machine")
      lists.machines.push_back(item);
    else if (kind == "MachineSet")
      lists.sets.push_back(item);
    else if (kind == "MachinePool")
      lists.pools.push_back(item);
    else if (kind == "Node")
      nodes.push_back(item);
    else
      lists.deployments.push_back(item);
  }
  providers::Warnings warnings;
  const auto inventory = providers::TakeInventory(
      lists, nodes, options, [&](const auto&) { return nodes.empty() ? nullptr : &nodes.front(); }, warnings);
  for (const providers::NodeGroup& group : inventory.groups.groups) {
    EVENKEEL_CHECK(group.min_size >= 0 && group.min_size <= group.max_size && group.max_size > 0 && group.target_size >= 0);
    EVENKEEL_CHECK(inventory.places.contains(group.id));
    for (const providers::Instance& instance : group.instances) EVENKEEL_CHECK(!instance.id.empty());
  }
  for (const auto& [node, group] : inventory.groups.group_of_node) EVENKEEL_CHECK(inventory.groups.Find(group) != nullptr);
  for (const std::string& warning : warnings.now()) EVENKEEL_CHECK(warning.find('\n') == std::string::npos);
  return 0;
}
