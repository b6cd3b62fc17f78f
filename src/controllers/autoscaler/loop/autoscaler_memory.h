// The part of an autoscaler's memory that is as large as the cluster: nodes that could not be removed, places that pods were
// found to have, what nodes of each group were like. All of it is found out again when it is lost, but not at once the same.
#pragma once

#include "base/json.h"
#include "controllers/autoscaler/facts/cluster_objects.h"
#include "controllers/autoscaler/loop/autoscaler_state.h"

namespace evenkeel::controllers::autoscaler {

/// {"unremovable", "hints", "moves", "podMoves", "templates"}, without those that are empty.
base::JsonObject MemoryToJson(const AutoscalerState& state, const ClusterObjects& objects);
/// After the nodes and pods have been told of. kBadRequest names what cannot be read.
base::Status RestoreMemory(const base::Json& json, AutoscalerState& state, ClusterObjects& objects);
/// Another number than before whenever MemoryToJson would answer something else (but for times of templates). O(1).
uint64_t MemoryChanges(const AutoscalerState& state, const ClusterObjects& objects);

}  // namespace evenkeel::controllers::autoscaler
