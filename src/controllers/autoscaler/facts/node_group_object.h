// Node groups from objects of kind NodeGroup (evenkeel.dev/v1alpha1), which say what a provider would: sizes, which nodes
// belong to the group, what a new one is like, what instances there are beyond the registered nodes.
//
//   spec: {minSize: 0, maxSize: 10, targetSize: 3, pricePerHour: 0.192,
//          selector: {matchLabels: {evenkeel.dev/node-group: general}},
//          template: {metadata: {labels: {}}, spec: {taints: []}, status: {allocatable: {cpu: "4", memory: 16Gi, pods:
//          "110"}}}, instances: [{id, state: Running|Creating|Deleting, errorClass: OutOfResources|Other, errorCode,
//          errorMessage}], options: {scaleDownUtilizationThreshold: 0.5, scaleDownUnneededTime: 10m, zeroOrMaxNodeScaling:
//          false, ...}}
//
// Instances may also be in status.instances, where a live cloud keeps them; spec.instances takes its place. Only maxSize is
// required. Without a selector it is the label evenkeel.dev/node-group with the group's name; without
// targetSize it is the number of nodes that match.
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "kube/manifest.h"
#include "providers/provider.h"

namespace evenkeel::controllers::autoscaler {

inline constexpr std::string_view kNodeGroupLabel = "evenkeel.dev/node-group";
/// Label of nodes with GPUs; its value is the type.
inline constexpr std::string_view kNodeGroupGpuLabel = "evenkeel.dev/gpu";

/// One group, without nodes; a target of -1 stands for a targetSize that is not given. kBadRequest in one line: where it
/// stands, the object, the field, what is wrong.
base::Result<providers::NodeGroup> DecodeNodeGroup(const kube::ManifestObject& object);

/// All of them, with the v1.Node objects told apart. A registered node with a providerID is one of the group's instances. Two
/// groups that claim one node, and two of one name, are errors. O(groups * nodes).
base::Result<providers::NodeGroups> DecodeNodeGroups(std::span<const kube::ManifestObject> groups,
                                                     std::span<const base::Json> nodes);

}  // namespace evenkeel::controllers::autoscaler
