#include "controllers/autoscaler/member/scale_down_eviction.h"

#include <algorithm>

namespace evenkeel::controllers::autoscaler {

size_t DrainRangeOf(std::span<const std::pair<int64_t, int64_t>> ranges, int64_t priority) {
  const auto above = std::ranges::upper_bound(ranges, priority, {}, [](const auto& range) { return range.first; });
  return above == ranges.begin() ? 0 : static_cast<size_t>(above - ranges.begin()) - 1;
}

int64_t EvictionGrace(const PodFacts& pod, int64_t most) { return std::min(pod.grace_seconds, most); }

bool EvictsDaemon(const PodFacts& pod, const Options& options, bool empty_node) {
  if (pod.ds_eviction == "true") return true;
  if (pod.ds_eviction == "false") return false;
  return empty_node ? options.daemonset_eviction_for_empty_nodes : options.daemonset_eviction_for_occupied_nodes;
}

}  // namespace evenkeel::controllers::autoscaler
