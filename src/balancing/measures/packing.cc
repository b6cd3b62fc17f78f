#include "balancing/measures/packing.h"

#include <algorithm>
#include <cmath>

namespace evenkeel::balancing {
namespace {

template <typename T>
std::optional<T> PackingSetting(const Group<T>& group, std::string_view metric) {
  const auto found = group.find(metric);
  return found == group.end() ? std::nullopt : std::optional<T>(found->second);
}

// Values of PlacementStrategy.
enum Strategy : int64_t { kStrategyReserveAndSpread = 1, kStrategyReserve = 2, kStrategyReserveAndPack = 3, kStrategyPack = 4 };

}  // namespace

Aim AimOf(const Settings& settings, std::string_view metric) {
  if (!PackingSetting(settings.defragmentation_metrics, metric).value_or(false)) return Aim::kSpread;
  if (!PackingSetting(settings.defragmentation_scoped_algorithm_enabled, metric).value_or(false)) return Aim::kPack;
  switch (PackingSetting(settings.placement_strategy, metric).value_or(0)) {
    case kStrategyReserveAndSpread:
      return Aim::kReserveAndSpread;
    case kStrategyReserve:
      return Aim::kReserve;
    case kStrategyReserveAndPack:
      return Aim::kReserveAndPack;
    case kStrategyPack:
      return Aim::kPack;
    default:
      // No strategy is given: the weights tell.
      return PackingWeightsOf(settings, metric, Aim::kReserveAndSpread).others > 0 ? Aim::kReserveAndSpread : Aim::kReserve;
  }
}

PackingWeights PackingWeightsOf(const Settings& settings, std::string_view metric, Aim aim) {
  PackingWeights weights;
  const double usual = aim == Aim::kReserve ? 1 : 0.999;
  weights.empty = PackingSetting(settings.defragmentation_empty_node_weight, metric).value_or(usual);
  weights.others = PackingSetting(settings.defragmentation_non_empty_node_weight, metric).value_or(1 - weights.empty);
  return weights;
}

Emptiness::Emptiness(const Cluster& cluster, const Settings& settings, MetricId metric, Aim aim)
    : cluster_(cluster), metric_(metric), aim_(aim) {
  const std::string& name = cluster.metrics[metric].name;
  target_ = PackingSetting(settings.defragmentation_empty_nodes_threshold, name);
  if (target_ && *target_ < 0) target_.reset();
  if (aim == Aim::kPack) {
    most_ = ActivityThreshold(settings, name);
    return;
  }
  most_ = PackingSetting(settings.metric_empty_node_thresholds, name).value_or(0);
  reservation_ = PackingSetting(settings.reserved_load_per_node, name);
  if (reservation_ && *reservation_ > 0) return;
  reservation_.reset();
  for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
    const int64_t* capacity = cluster.CapacityOf(node, metric);
    if (capacity != nullptr) reservation_ = std::max(reservation_.value_or(0), *capacity);
  }
  if (reservation_) reservation_ = std::max<int64_t>(*reservation_ - most_, 0);
}

double Emptiness::Occupied(NodeId node, int64_t load) const {
  if (!reservation_) return load <= most_ ? 0 : 1;
  const int64_t* capacity = cluster_.CapacityOf(node, metric_);
  if (capacity == nullptr) return 0;
  if (*capacity < *reservation_) return 1;
  const int64_t free = *capacity - *reservation_;
  if (load <= free) return 0;
  return *reservation_ == 0 ? 1 : std::min(1.0, static_cast<double>(load - free) / static_cast<double>(*reservation_));
}

std::optional<int64_t> Emptiness::Target(int64_t nodes) const {
  if (!target_) return IsScoped(aim_) ? std::optional<int64_t>(0) : std::nullopt;
  // Below 1 it is a share; one that stands for a whole number must not lose it to the last bit of a double.
  if (*target_ < 1) return static_cast<int64_t>(std::floor(*target_ * static_cast<double>(nodes) + 1e-9));
  return *target_ >= static_cast<double>(nodes) ? nodes : static_cast<int64_t>(*target_);
}

bool SpreadOverDomains(const LeafDomains& domains, std::span<const NodeId> nodes, std::span<const NodeId> empty_nodes,
                       int64_t target) {
  std::vector<int64_t> empties(domains.count, -1);
  for (const NodeId node : nodes) empties[domains.of_node[node]] = 0;
  for (const NodeId node : empty_nodes) ++empties[domains.of_node[node]];
  const int64_t leaves = std::ranges::count_if(empties, [](int64_t count) { return count >= 0; });
  if (leaves == 0) return true;
  int64_t with_more = 0;
  for (const int64_t count : empties) {
    if (count < 0) continue;
    if (count < target / leaves) return false;
    if (count > target / leaves) ++with_more;
  }
  return with_more >= target % leaves;
}

}  // namespace evenkeel::balancing
