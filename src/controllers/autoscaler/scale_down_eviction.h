// In which order the pods of a node are evicted, and how long each may take to end.
#pragma once

#include <span>
#include <vector>

#include "controllers/autoscaler/cluster_view.h"
#include "controllers/autoscaler/options.h"

namespace evenkeel::controllers::autoscaler {

/// Pods that are evicted together; the next group follows when these are gone.
struct EvictionGroup {
  int64_t priority = 0;       ///< lowest priority of pods in it
  int64_t grace_seconds = 0;  ///< the most that any pod of it gets
  std::vector<scheduling::PodId> pods;
};

/// --drain-priority-config, `ranges` rising by priority: a pod belongs to the highest range that does not begin above its
/// priority (absent: 0), one below all ranges to the first. All ranges are answered, also those without pods.
std::vector<EvictionGroup> GroupByPriority(std::span<const std::pair<int64_t, int64_t>> ranges,
                                           const std::deque<PodFacts>& facts, std::span<const scheduling::PodId> pods);

/// What a pod gets: its own grace time, but no more than `most`.
int64_t EvictionGrace(const PodFacts& pod, int64_t most);

/// Whether a daemon pod is evicted before its node goes: its annotation decides, otherwise the flags.
bool EvictsDaemon(const PodFacts& pod, const Options& options, bool empty_node);

}  // namespace evenkeel::controllers::autoscaler
