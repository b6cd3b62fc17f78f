#include "controllers/autoscaler/scale_down_eviction.h"

#include <algorithm>

namespace evenkeel::controllers::autoscaler {

std::vector<EvictionGroup> GroupByPriority(std::span<const std::pair<int64_t, int64_t>> ranges,
                                           const std::deque<PodFacts>& facts, std::span<const scheduling::PodId> pods) {
  std::vector<EvictionGroup> groups;
  for (const auto& [priority, grace] : ranges) groups.push_back({priority, grace, {}});
  if (groups.empty()) return groups;
  for (const scheduling::PodId pod : pods) {
    const int64_t priority = facts[pod].priority.value_or(0);
    const auto above = std::upper_bound(groups.begin(), groups.end(), priority,
                                        [](int64_t value, const EvictionGroup& group) { return value < group.priority; });
    (above == groups.begin() ? above : above - 1)->pods.push_back(pod);
  }
  return groups;
}

int64_t EvictionGrace(const PodFacts& pod, int64_t most) { return std::min(pod.grace_seconds, most); }

bool EvictsDaemon(const PodFacts& pod, const Options& options, bool empty_node) {
  if (pod.ds_eviction == "true") return true;
  if (pod.ds_eviction == "false") return false;
  return empty_node ? options.daemonset_eviction_for_empty_nodes : options.daemonset_eviction_for_occupied_nodes;
}

}  // namespace evenkeel::controllers::autoscaler
