#include "balancing/measures/imbalance.h"

#include <algorithm>
#include <limits>

#include "balancing/measures/deviation.h"

namespace evenkeel::balancing {
namespace {

double RatioOf(int64_t max, int64_t min) {
  if (min > 0) return static_cast<double>(max) / static_cast<double>(min);
  return max > 0 ? std::numeric_limits<double>::infinity() : 1;
}

void TakeExtremes(MetricBalance& balance, const LoadSummary& summary) {
  balance.max = summary.max;
  balance.min = summary.min;
  balance.max_node = summary.max_node;
  balance.min_node = summary.min_node;
  balance.ratio = RatioOf(summary.max, summary.min);
}

/// Of loads by capacity, exactly.
WideLoad Product(int64_t load, int64_t capacity) { return static_cast<WideLoad>(load) * static_cast<WideLoad>(capacity); }

/// Whether the fullest node would be no fuller than the emptiest with a load of 1 less.
bool DiffersByOne(const MetricBalance& balance) {
  if (balance.max_capacity == 0) return balance.max - balance.min <= 1;
  const auto one = static_cast<WideLoad>(balance.min_capacity);
  return Product(balance.max, balance.min_capacity) <= Product(balance.min, balance.max_capacity) + one;
}

}  // namespace

/// One group's test.
class BalanceTest {
 public:
  BalanceTest(const Cluster& cluster, const Settings& settings, const NodeSets& sets, const NodeLoads& loads)
      : cluster_(cluster), settings_(settings), sets_(sets), loads_(loads) {
    result_.per_node_type_ = PerNodeType(settings);
  }

  GroupBalance Check(const ServiceGroup& group);

 private:
  // What is tested: a metric's nodes, all or of one type.
  struct Scope {
    MetricId metric;
    NodeTypeId node_type;
  };

  MetricBalance NewBalance(const Scope& scope) const;
  const LoadSummary& SummaryOf(const Scope& scope) const {
    return scope.node_type == kNoId ? loads_.Summary(scope.metric) : loads_.Summary(scope.metric, scope.node_type);
  }
  std::span<const NodeId> NodesOf(NodeTypeId type) const { return type == kNoId ? sets_.all() : sets_.OfType(type); }

  /// Whether shares are compared, and then the fullest and the emptiest node.
  bool TakeShares(MetricBalance& balance, const Scope& scope) const;
  void CheckMetric(const Scope& scope);
  void CheckService(ServiceId service, NodeTypeId node_type);
  // The rule for spread metrics; a metric's activity is that of all its services.
  BalanceReason Spread(MetricBalance& balance, int64_t nodes, int64_t largest_of_metric) const;
  void Defragmented(MetricBalance& balance, const Scope& scope) const;
  void PackedInDomains(MetricBalance& balance, const Scope& scope, std::span<const NodeId> nodes) const;

  const Cluster& cluster_;
  const Settings& settings_;
  const NodeSets& sets_;
  const NodeLoads& loads_;
  GroupBalance result_;
};

MetricBalance BalanceTest::NewBalance(const Scope& scope) const {
  const std::string& metric = cluster_.metrics[scope.metric].name;
  MetricBalance balance{.metric = scope.metric, .node_type = scope.node_type};
  balance.aim = AimOf(settings_, metric);
  if (scope.node_type == kNoId) {
    balance.threshold = BalancingThreshold(settings_, metric);
    balance.activity_threshold = ActivityThreshold(settings_, metric);
  } else {
    const std::string& type = cluster_.node_types[scope.node_type];
    balance.threshold = BalancingThreshold(settings_, metric, type);
    balance.activity_threshold = ActivityThreshold(settings_, metric, type);
  }
  return balance;
}

BalanceReason BalanceTest::Spread(MetricBalance& balance, int64_t nodes, int64_t largest_of_metric) const {
  if (nodes == 0) return BalanceReason::kNoNode;
  if (DiffersByOne(balance)) return BalanceReason::kDifferenceOfOne;
  if (largest_of_metric <= balance.activity_threshold) return BalanceReason::kNotActive;
  if (balance.min == 0) return BalanceReason::kEmptyNode;
  const BalancingMode mode = result_.per_node_type_ ? BalancingMode::kNodeType : BalancingMode::kCluster;
  // Shares are no whole numbers.
  balance.compared = balance.max_capacity != 0 ? balance.ratio : ComparedRatio(settings_, mode, balance.max, balance.min);
  const bool within = balance.threshold > 1 && !ExceedsThreshold(settings_, mode, balance.compared, balance.threshold);
  return within ? BalanceReason::kWithinThreshold : BalanceReason::kAboveThreshold;
}

void BalanceTest::PackedInDomains(MetricBalance& balance, const Scope& scope, std::span<const NodeId> nodes) const {
  const bool has_domains = sets_.fault_domains().binding || sets_.upgrade_domains().binding;
  balance.reason = has_domains && balance.max > 0 ? BalanceReason::kPacked : BalanceReason::kNothingToPack;
  if (balance.reason == BalanceReason::kNothingToPack) return;
  for (const LeafDomains* tree : {&sets_.fault_domains(), &sets_.upgrade_domains()}) {
    if (!tree->binding) continue;
    std::vector<LoadSummary> leaves(tree->count);
    for (const NodeId node : nodes) leaves[tree->of_node[node]].Add(node, loads_.Of(scope.metric, node));
    for (const LoadSummary& leaf : leaves) {
      if (leaf.sums.nodes < 2 || leaf.min == 0 || RatioOf(leaf.max, leaf.min) > balance.threshold) continue;
      TakeExtremes(balance, leaf);
      balance.reason = BalanceReason::kNotPacked;
      return;
    }
  }
  if (balance.threshold == 1) balance.reason = BalanceReason::kNotPacked;
}

void BalanceTest::Defragmented(MetricBalance& balance, const Scope& scope) const {
  std::vector<NodeId> nodes, empty;
  const Emptiness emptiness(cluster_, settings_, scope.metric, balance.aim);
  LoadSummary others;
  for (const NodeId node : NodesOf(scope.node_type)) {
    if (!sets_.Valid(scope.metric).test(node)) continue;
    const int64_t load = loads_.Of(scope.metric, node);
    nodes.push_back(node);
    if (emptiness.IsEmpty(node, load)) {
      empty.push_back(node);
    } else {
      others.Add(node, load);
    }
  }
  const std::optional<int64_t> target = emptiness.Target(static_cast<int64_t>(nodes.size()));
  if (nodes.empty()) {
    balance.reason = BalanceReason::kNoNode;
    return;
  }
  if (!target) return PackedInDomains(balance, scope, nodes);
  const std::string& metric = cluster_.metrics[scope.metric].name;
  balance.empty_nodes = static_cast<int64_t>(empty.size());
  balance.wanted_empty_nodes = *target;
  const auto policy = settings_.defragmentation_empty_node_distribution_policy.find(metric);
  const bool anywhere = policy != settings_.defragmentation_empty_node_distribution_policy.end() && policy->second == 1;
  if (balance.empty_nodes < *target) {
    balance.reason = BalanceReason::kTooFewEmptyNodes;
  } else if (!anywhere && (!SpreadOverDomains(sets_.fault_domains(), nodes, empty, *target) ||
                           !SpreadOverDomains(sets_.upgrade_domains(), nodes, empty, *target))) {
    balance.reason = BalanceReason::kUnevenEmptyNodes;
  } else if (balance.aim != Aim::kReserveAndSpread || PackingWeightsOf(settings_, metric, balance.aim).others <= 0) {
    balance.reason = BalanceReason::kEnoughEmptyNodes;
  } else {
    TakeExtremes(balance, others);
    balance.reason = Spread(balance, others.sums.nodes, others.max);
  }
}

bool BalanceTest::TakeShares(MetricBalance& balance, const Scope& scope) const {
  if (!settings_.thresholds_by_percentage || !ByPercentage(cluster_, settings_, sets_, scope.metric)) return false;
  bool any = false, differ = false;
  for (const NodeId node : NodesOf(scope.node_type)) {
    if (!sets_.Valid(scope.metric).test(node)) continue;
    const int64_t load = loads_.Of(scope.metric, node), capacity = *cluster_.CapacityOf(node, scope.metric);
    differ |= any && capacity != balance.max_capacity;
    if (!any || Product(load, balance.max_capacity) > Product(balance.max, capacity)) {
      balance.max = load;
      balance.max_node = node;
      balance.max_capacity = capacity;
    }
    if (!any || Product(load, balance.min_capacity) < Product(balance.min, capacity)) {
      balance.min = load;
      balance.min_node = node;
      balance.min_capacity = capacity;
    }
    any = true;
  }
  if (!differ) {
    balance.max_capacity = balance.min_capacity = 0;
    return false;
  }
  const auto share = [](int64_t load, int64_t capacity) { return static_cast<double>(load) / static_cast<double>(capacity); };
  balance.ratio = RatioOf(balance.max, balance.min);
  if (balance.min > 0) balance.ratio = share(balance.max, balance.max_capacity) / share(balance.min, balance.min_capacity);
  return true;
}

void BalanceTest::CheckMetric(const Scope& scope) {
  const LoadSummary& summary = SummaryOf(scope);
  if (scope.node_type != kNoId && summary.sums.nodes == 0) return;
  MetricBalance balance = NewBalance(scope);
  if (!TakeShares(balance, scope)) TakeExtremes(balance, summary);
  if (GlobalWeight(settings_, cluster_.metrics[scope.metric]) <= 0) {
    balance.reason = BalanceReason::kNoWeight;
  } else if (balance.threshold <= 0) {
    balance.reason = BalanceReason::kThresholdOff;
  } else if (balance.aim == Aim::kSpread) {
    balance.reason = Spread(balance, summary.sums.nodes, summary.max);
  } else {
    Defragmented(balance, scope);
  }
  if (!balance.balanced()) result_.imbalanced_metrics_.emplace(scope.metric, scope.node_type);
  result_.metrics.push_back(balance);
}

void BalanceTest::CheckService(ServiceId id, NodeTypeId node_type) {
  const ServiceLoads* own = loads_.Local(id);
  if (own == nullptr) return;
  const std::vector<ServiceMetric>& metrics = cluster_.services[id].metrics;
  const std::vector<LoadSummary> summaries = own->Summaries(NodesOf(node_type));
  for (size_t i = 0; i < metrics.size(); ++i) {
    const Scope scope{metrics[i].metric, node_type};
    MetricBalance balance = NewBalance(scope);
    if (metrics[i].weight <= 0 || balance.aim != Aim::kSpread) continue;
    balance.service = id;
    balance.threshold = settings_.local_balancing_threshold;
    TakeExtremes(balance, summaries[i]);
    balance.reason = Spread(balance, summaries[i].sums.nodes, SummaryOf(scope).max);
    if (balance.balanced()) continue;
    result_.imbalanced_services_.emplace(id, node_type);
    result_.local.push_back(balance);
  }
}

GroupBalance BalanceTest::Check(const ServiceGroup& group) {
  std::vector<NodeTypeId> scopes = {kNoId};
  if (result_.per_node_type_) {
    scopes.clear();
    for (NodeTypeId type = 0; type < cluster_.node_types.size(); ++type) scopes.push_back(type);
  }
  for (const MetricId metric : group.metrics) {
    for (const NodeTypeId type : scopes) CheckMetric({metric, type});
  }
  if (settings_.local_balancing_threshold > 0) {
    for (const ServiceId service : group.services) {
      for (const NodeTypeId type : scopes) CheckService(service, type);
    }
  }
  return std::move(result_);
}

bool IsBalanced(BalanceReason reason) { return reason < BalanceReason::kAboveThreshold; }

std::vector<NodeTypeId> GroupBalance::ImbalancedNodeTypes() const {
  std::set<NodeTypeId> types;
  if (per_node_type_) {
    for (const auto& [metric, type] : imbalanced_metrics_) types.insert(type);
    for (const auto& [service, type] : imbalanced_services_) types.insert(type);
  }
  return {types.begin(), types.end()};
}

bool GroupBalance::MayMove(const Cluster& cluster, ServiceId service, NodeTypeId node_type) const {
  const NodeTypeId scope = per_node_type_ ? node_type : kNoId;
  return imbalanced_services_.contains({service, scope}) ||
         std::ranges::any_of(cluster.services[service].metrics,
                             [&](const ServiceMetric& metric) { return imbalanced_metrics_.contains({metric.metric, scope}); });
}

GroupBalance CheckBalance(const Cluster& cluster, const Settings& settings, const NodeSets& sets, const NodeLoads& loads,
                          const ServiceGroup& group) {
  return BalanceTest(cluster, settings, sets, loads).Check(group);
}

}  // namespace evenkeel::balancing
