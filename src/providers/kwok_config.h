// What the kwok provider reads from outside: its configuration and the nodes that serve as templates. No network.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::providers {

inline constexpr std::string_view kKwokGroupAnnotation = "cluster-autoscaler.kwok.nodegroup/name";
inline constexpr std::string_view kKwokMinAnnotation = "cluster-autoscaler.kwok.nodegroup/min-count";
inline constexpr std::string_view kKwokMaxAnnotation = "cluster-autoscaler.kwok.nodegroup/max-count";
inline constexpr std::string_view kKwokDesiredAnnotation = "cluster-autoscaler.kwok.nodegroup/desired-count";
inline constexpr std::string_view kKwokManagedAnnotation = "kwok.x-k8s.io/node";  ///< "fake": kwok plays its agent

/// Key "config" of the ConfigMap kwok-provider-config.
struct KwokConfig {
  bool from_cluster = false;  ///< templates are the cluster's nodes; false: they are in a ConfigMap
  bool by_label = true;       ///< groups are values of a label; false: of an annotation
  std::string key;            ///< of that label or annotation
  bool skip_taint = false;
  std::string gpu_label;
  std::vector<std::string> gpu_types;  ///< sorted
  std::string templates_config_map;    ///< "" with from_cluster
  std::string templates_key;           ///< "" unless given; "templates" goes before it
};

struct KwokGroup {
  std::string id;
  int64_t min_size = 0, max_size = 200;
  base::Json node;  ///< what nodes of the group are copies of, with kwok's annotations and taint
};

/// YAML. kBadRequest: "SOURCE: FIELD: what".
base::Result<KwokConfig> ParseKwokConfig(std::string_view text, std::string_view source);
/// YAML: several Nodes, or a List of them; other kinds are passed over. kBadRequest names the node and the field, or that there
/// is none.
base::Result<std::vector<base::Json>> ParseKwokTemplates(std::string_view text, std::string_view source);
/// One group per value, by id; its template is the first node by name that kwok has not made, or else the first. Nodes without
/// the label or annotation are in none. kBadRequest names the node and the annotation.
base::Result<std::vector<KwokGroup>> ReadKwokGroups(const KwokConfig& config, std::span<const base::Json> nodes);

}  // namespace evenkeel::providers
