// Any YAML as objects: node groups that are read are sound, and errors are one line that names the object.
#include <cstddef>
#include <cstdint>

#include "controllers/autoscaler/facts/node_group_object.h"
#include "kube/object.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const auto objects = kube::ParseManifests(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!objects) return 0;
  std::vector<kube::ManifestObject> groups;
  std::vector<base::Json> nodes;
  for (const kube::ManifestObject& object : *objects) {
    if (base::FindString(object.object, {"kind"}) == "Node") {
      nodes.push_back(object.object);
    } else {
      // Callers pass no other kinds.
      base::Ensure(groups.emplace_back(object).object, {"kind"}) = "NodeGroup";
    }
  }
  const auto decoded = controllers::autoscaler::DecodeNodeGroups(groups, nodes);
  if (!decoded) {
    EVENKEEL_CHECK(decoded.error().message().find("NodeGroup ") != std::string::npos);
    EVENKEEL_CHECK(decoded.error().message().find('\n') == std::string::npos);
    return 0;
  }
  EVENKEEL_CHECK(decoded->groups.size() == groups.size());
  for (const providers::NodeGroup& group : decoded->groups) {
    EVENKEEL_CHECK(decoded->Find(group.id) == &group);
    EVENKEEL_CHECK(group.min_size >= 0 && group.min_size <= group.max_size && group.target_size >= 0);
  }
  for (const auto& [node, group] : decoded->group_of_node) EVENKEEL_CHECK(decoded->Find(group) != nullptr);
  return 0;
}
