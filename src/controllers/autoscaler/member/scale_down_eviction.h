// In which order the pods of a node are evicted, and how long each may take to end.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/scaledown/actuation/priority.go
#pragma once

#include <span>

#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// --drain-priority-config, `ranges` rising by priority, at least one: the position of the range whose pods are evicted
/// together and which a pod belongs to: the highest that does not begin above its priority; for one below all ranges the first.
size_t DrainRangeOf(std::span<const std::pair<int64_t, int64_t>> ranges, int64_t priority);

/// What a pod gets: its own grace time, but no more than `most`.
int64_t EvictionGrace(const PodFacts& pod, int64_t most);

/// Whether a daemon pod is evicted before its node goes: its annotation decides, otherwise the flags.
bool EvictsDaemon(const PodFacts& pod, const Options& options, bool empty_node);

}  // namespace evenkeel::controllers::autoscaler
