// What ScaleOutput::result is, `plan scale`, and the answers of `explain pod` and `explain node`.
#pragma once

#include "base/json_field.h"

namespace evenkeel::controllers::autoscaler {

inline constexpr base::JsonField kPlanScaleJson[] = {
    {"health.status", "string", "Healthy, Unhealthy or Initializing"},
    {"health.unready", "integer", "nodes"},
    {"health.registered", "integer", "nodes"},
    {"health.ready", "integer", "nodes"},
    {"scaleUp[].group", "string", "that would grow"},
    {"scaleUp[].from", "integer", "target size now"},
    {"scaleUp[].to", "integer", "target size then"},
    {"scaleUp[].pods[]", "string", "for which, namespace/name"},
    {"pending[].pod", "string", "that stays pending, namespace/name"},
    {"pending[].reasons.*", "string", "by node group"},
    {"pending[].why", "string", "where it is no matter of node groups, the reason", false},
    {"unneeded[].node", "string", "that could go"},
    {"unneeded[].since", "string", "since when"},
    {"unremovable[].node", "string", "that stays"},
    {"unremovable[].reason", "string", "why"},
    {"unremovable[].pod", "string", "the pod that keeps it", false},
    {"unremovable[].blocking", "string", "why the pod does", false},
    {"unremovable[].until", "string", "when it is looked at again", false},
    {"scaleDown.empty[]", "string", "nodes that would be deleted at once"},
    {"scaleDown.drain[].node", "string", "that would be drained and deleted"},
    {"scaleDown.drain[].pods[]", "string", "that would have to move"},
    {"upcoming.*", "integer", "nodes on their way, by node group"},
    {"nodeGroups[].name", "string", "its name"},
    {"nodeGroups[].target", "integer", "nodes wanted"},
    {"nodeGroups[].min", "integer", "bound"},
    {"nodeGroups[].max", "integer", "bound"},
    {"nodeGroups[].ready", "integer", "nodes"},
    {"nodeGroups[].backoff", "string", "until when it is not tried; null: it is"},
    {"nodeGroups[].backoffReason", "string", "why", false},
    {"leftAlone[].type", "string", "NodeGroupSetAside, NodeGroupKeepsNodes, ProviderAnswerUnusable", false},
    {"leftAlone[].name", "string", "the node group; \"\": the whole cluster", false},
    {"leftAlone[].message", "string", "why nothing is done about it", false},
    {"milliseconds", "number", "that planning took"},
    {"stopped.stage", "string", "the loop ended early, here", false},
    {"stopped.why", "string", "and why", false},
    {"coolDown", "string", "why scale-down waits", false},
    {"nextLoop.at", "string", "where pods are too young: when the loop comes that decides about them", false},
    {"nextLoop.scaleUp[].group", "string", "as in scaleUp", false},
    {"nextLoop.scaleUp[].from", "integer", "", false},
    {"nextLoop.scaleUp[].to", "integer", "", false},
    {"nextLoop.scaleUp[].pods[]", "string", "", false},
    {"nextLoop.pending[].pod", "string", "as in pending", false},
    {"nextLoop.pending[].reasons.*", "string", "", false},
    {"nextLoop.pending[].why", "string", "", false}};

inline constexpr base::JsonField kExplainPodJson[] = {
    {"pod", "string", "namespace/name"},
    {"node", "string", "that it is on, or null"},
    {"pending", "boolean", "it waits for a node"},
    {"why", "string", "where it is, or why it is nowhere"},
    {"groups[].group", "string", "a node group; none for a pod that has a node"},
    {"groups[].fits", "boolean", "the pod would fit on a new node of it"},
    {"groups[].why", "string", "which filter says no and how much is missing; why it may not grow"},
    {"groups[].size", "integer", "nodes wanted now"},
    {"groups[].max", "integer", "bound"},
    {"nodes[].node", "string", "a node that is there; none for a pod that has a node"},
    {"nodes[].fits", "boolean", "the pod would fit on it"},
    {"nodes[].why", "string", "which filter says no and how much is missing"},
    {"nodes[].devices.*.*[]", "string", "by claim and request, what the pod would get there: \"DRIVER/POOL/DEVICE\"", false},
    {"cluster", "string", "the member that it is in, where its hub was asked", false}};

inline constexpr base::JsonField kExplainNodeJson[] = {
    {"node", "string", "its name"},
    {"group", "string", "its node group, or null"},
    {"unneededSince", "string", "null: it is needed, or was not looked at"},
    {"why", "string", "why it stays, or when it goes"},
    {"cluster", "string", "the member that it is in, where its hub was asked", false}};

}  // namespace evenkeel::controllers::autoscaler
