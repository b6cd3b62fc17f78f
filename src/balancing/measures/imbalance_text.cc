#include <spdlog/fmt/fmt.h>

#include "balancing/measures/imbalance.h"
#include "balancing/model/amount_text.h"

namespace evenkeel::balancing {
namespace {

/// "5 on n0"; of a share "5 of 8 on n0".
std::string LoadText(const Cluster& cluster, const MetricBalance& balance, bool largest) {
  const Metric& metric = cluster.metrics[balance.metric];
  const int64_t capacity = largest ? balance.max_capacity : balance.min_capacity;
  const std::string of = capacity == 0 ? "" : " of " + AmountText(metric, capacity);
  return AmountText(metric, largest ? balance.max : balance.min) + of + " on " +
         cluster.nodes[largest ? balance.max_node : balance.min_node].name;
}

// "ratio 2.5 (5 on n0, 2 on n3)".
std::string RatioText(const Cluster& cluster, const MetricBalance& balance) {
  return fmt::format("ratio {:.6g} ({}, {})", balance.ratio, LoadText(cluster, balance, true),
                     LoadText(cluster, balance, false));
}

std::string EmptyNodesText(const MetricBalance& balance) {
  return fmt::format("{} of {} wanted nodes are empty", balance.empty_nodes, balance.wanted_empty_nodes);
}

}  // namespace

std::string Text(const Cluster& cluster, const MetricBalance& balance) {
  const auto name = [&](NodeId node) -> const std::string& { return cluster.nodes[node].name; };
  const auto amount = [&](int64_t load) { return AmountText(cluster.metrics[balance.metric], load); };
  switch (balance.reason) {
    case BalanceReason::kNoWeight:
      return "the metric has no weight";
    case BalanceReason::kThresholdOff:
      return "its balancing threshold is 0";
    case BalanceReason::kNoNode:
      return "every node is down, deactivated or not for the services that report it";
    case BalanceReason::kDifferenceOfOne:
      if (balance.max_capacity != 0 && balance.max_node == balance.min_node) {
        return "all nodes are as full as each other: " + LoadText(cluster, balance, true);
      }
      if (balance.max_capacity != 0) {
        return fmt::format("{} and {} are shares that differ by no more than a load of 1", LoadText(cluster, balance, true),
                           LoadText(cluster, balance, false));
      }
      if (balance.max == balance.min) return fmt::format("all loads are {}", amount(balance.max));
      return fmt::format("the loads {} and {} differ by no more than 1", amount(balance.max), amount(balance.min));
    case BalanceReason::kNotActive:
      return fmt::format("no load is above the activity threshold {}", amount(balance.activity_threshold));
    case BalanceReason::kWithinThreshold:
      // Of node types, whose ratios may count in whole numbers.
      if (balance.ratio >= balance.threshold && balance.compared != balance.ratio) {
        return fmt::format("{} counts as {:.6g} in whole numbers, which is not above the threshold {:.6g}",
                           RatioText(cluster, balance), balance.compared, balance.threshold);
      }
      return fmt::format("{} is not above the threshold {:.6g}", RatioText(cluster, balance), balance.threshold);
    case BalanceReason::kEnoughEmptyNodes:
      return EmptyNodesText(balance);
    case BalanceReason::kPacked:
      return fmt::format("in every domain the ratio is above the threshold {:.6g}: it is packed enough", balance.threshold);
    case BalanceReason::kNothingToPack:
      return balance.max == 0 ? "there is no load to pack" : "every node is a domain of its own, where nothing can be packed";
    case BalanceReason::kAboveThreshold:
      // Inclusive comparisons.
      return fmt::format("{} {} the threshold {:.6g}", RatioText(cluster, balance),
                         balance.ratio > balance.threshold ? "is above" : "has reached", balance.threshold);
    case BalanceReason::kEmptyNode:
      return fmt::format("{} has no load while {} has {}", name(balance.min_node), name(balance.max_node), amount(balance.max));
    case BalanceReason::kTooFewEmptyNodes:
      return EmptyNodesText(balance);
    case BalanceReason::kUnevenEmptyNodes:
      return EmptyNodesText(balance) + ", but not spread over fault and upgrade domains";
    case BalanceReason::kNotPacked:
      return fmt::format("{} is not above the threshold {:.6g}: it can be packed more", RatioText(cluster, balance),
                         balance.threshold);
  }
  return "";
}

}  // namespace evenkeel::balancing
