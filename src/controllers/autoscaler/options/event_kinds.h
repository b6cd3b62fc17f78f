// What the autoscaler writes Events of; most are cluster-autoscaler's own. The ConfigMap is that of its status.
#pragma once

#include "client/event_kind.h"

namespace evenkeel::controllers::autoscaler::events {

using client::EventKind;

inline constexpr EventKind kTriggeredScaleUp{"TriggeredScaleUp", false, "Pod", "the pod has made node groups grow"};
inline constexpr EventKind kNotTriggerScaleUp{"NotTriggerScaleUp", false, "Pod",
                                              "no node group could grow for the pod, and why"};
inline constexpr EventKind kScaledUpGroup{"ScaledUpGroup", false, "ConfigMap",
                                          "the size of a node group is raised, or has been"};
inline constexpr EventKind kFailedToScaleUpGroup{"FailedToScaleUpGroup", true, "ConfigMap",
                                                 "the provider has refused to raise the size of a node group"};
inline constexpr EventKind kMaxNodesTotalReached{"MaxNodesTotalReached", true, "ConfigMap",
                                                 "the cluster has as many nodes as --max-nodes-total allows"};
inline constexpr EventKind kScaleUpTimedOut{"ScaleUpTimedOut", true, "ConfigMap",
                                            "nodes of a group have not registered within --max-node-provision-time"};
inline constexpr EventKind kScaleUpFailed{"ScaleUpFailed", true, "ConfigMap",
                                          "the provider says that it failed to create nodes"};
inline constexpr EventKind kFailedToRevertScaleUp{"FailedToRevertScaleUp", true, "ConfigMap",
                                                  "a group that could not get its nodes could not be set back either"};
inline constexpr EventKind kDeleteUnregistered{"DeleteUnregistered", false, "ConfigMap",
                                               "nodes that never registered are removed"};
inline constexpr EventKind kDeleteUnregisteredFailed{"DeleteUnregisteredFailed", true, "ConfigMap",
                                                     "nodes that never registered could not be removed"};
inline constexpr EventKind kScaleDown{"ScaleDown", false, "Node, Pod, ConfigMap",
                                      "a node is marked, drained and removed; a pod is evicted for that"};
inline constexpr EventKind kScaleDownEmpty{"ScaleDownEmpty", false, "ConfigMap", "an empty node is removed"};
inline constexpr EventKind kScaleDownFailed{"ScaleDownFailed", true, "Node, Pod",
                                            "a node could not be removed, or a pod not be evicted for that"};
inline constexpr EventKind kClusterAutoscalerCleanup{
    "ClusterAutoscalerCleanup", false, "Node", "a mark that an earlier owner of the member has left was taken off the node"};
inline constexpr EventKind kClusterUnhealthy{"ClusterUnhealthy", true, "ConfigMap",
                                             "too many nodes are not ready, so nothing is done"};
inline constexpr EventKind kCloudProviderError{"CloudProviderError", true, "ConfigMap", "the node groups cannot be read"};
inline constexpr EventKind kInvalidAutoscalerArgs{"InvalidAutoscalerArgs", true, "ConfigMap",
                                                  "the flags that the hub has for this member cannot be used, so it has no "
                                                  "autoscaler"};
inline constexpr EventKind kOtherAutoscaler{"OtherAutoscaler", true, "ConfigMap",
                                            "cluster-autoscaler or Karpenter renews its Lease in the member, so the autoscaler "
                                            "only plans"};
inline constexpr EventKind kNodeGroupSetAside{"NodeGroupSetAside", true, "ConfigMap",
                                              "something of the node group cannot be read or contradicts itself, so nothing "
                                              "is done with it or its nodes; the others go on"};
inline constexpr EventKind kAutoscalerStateUnreadable{"AutoscalerStateUnreadable", true, "ConfigMap",
                                                      "what the autoscaler remembers cannot be read, so it begins anew"};
inline constexpr EventKind kPriorityConfigMapNotFound{"PriorityConfigMapNotFound", true, "ConfigMap",
                                                      "the priority expander's ConfigMap does not exist"};
inline constexpr EventKind kPriorityConfigMapInvalid{"PriorityConfigMapInvalid", true, "ConfigMap",
                                                     "the priority expander's ConfigMap cannot be read"};
inline constexpr EventKind kPriorityConfigMapNotMatchedGroup{"PriorityConfigMapNotMatchedGroup", true, "ConfigMap",
                                                             "a node group matches none of the priority expander's patterns"};

inline constexpr EventKind kAll[] = {kTriggeredScaleUp,
                                     kNotTriggerScaleUp,
                                     kScaledUpGroup,
                                     kFailedToScaleUpGroup,
                                     kMaxNodesTotalReached,
                                     kScaleUpTimedOut,
                                     kScaleUpFailed,
                                     kFailedToRevertScaleUp,
                                     kDeleteUnregistered,
                                     kDeleteUnregisteredFailed,
                                     kScaleDown,
                                     kScaleDownEmpty,
                                     kScaleDownFailed,
                                     kClusterAutoscalerCleanup,
                                     kClusterUnhealthy,
                                     kCloudProviderError,
                                     kInvalidAutoscalerArgs,
                                     kOtherAutoscaler,
                                     kNodeGroupSetAside,
                                     kAutoscalerStateUnreadable,
                                     kPriorityConfigMapNotFound,
                                     kPriorityConfigMapInvalid,
                                     kPriorityConfigMapNotMatchedGroup};

}  // namespace evenkeel::controllers::autoscaler::events
