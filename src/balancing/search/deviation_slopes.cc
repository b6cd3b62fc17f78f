#include "balancing/search/deviation_slopes.h"

#include <algorithm>
#include <cmath>

#include "balancing/measures/packing.h"

namespace evenkeel::balancing {
namespace {

constexpr double kNoWeight = 1e-7;

double FactorOf(const Settings& settings, std::string_view metric, Aim aim) {
  if (aim == Aim::kSpread) return 1;
  if (aim == Aim::kReserve) return 0;
  const double others = aim == Aim::kPack ? 1 : PackingWeightsOf(settings, metric, aim).others;
  return aim == Aim::kReserveAndSpread ? others : -others * settings.defragmentation_nodes_std_dev_factor;
}

// A root has no slope at 0: it is taken where loads differ by one somewhere.
double RootAtLeastOfOne(double root, double nodes, double sum, double one) {
  return std::max(root, std::sqrt(2 * nodes) * one / sum);
}

}  // namespace

DeviationSlopes::DeviationSlopes(const BalancingState& state)
    : state_(state),
      term_of_metric_(state.cluster().metrics.size(), kNoId),
      first_local_(state.cluster().services.size(), kNoId) {
  const Cluster& cluster = state.cluster();
  const Settings& settings = state.settings();
  for (const MetricId metric : state.group().metrics) {
    const std::string& name = cluster.metrics[metric].name;
    const Aim aim = AimOf(settings, name);
    complete_ = complete_ && aim == Aim::kSpread;
    term_of_metric_[metric] = static_cast<uint32_t>(terms_.size());
    Term& term = terms_.emplace_back();
    term.metric = metric;
    term.weight = GlobalWeight(settings, cluster.metrics[metric]) * FactorOf(settings, name, aim);
    total_weight_ += GlobalWeight(settings, cluster.metrics[metric]);
    const NodeSet& valid = state.arrangement().sets().Valid(metric);
    const bool by_percentage = ByPercentage(metric);
    for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
      const double scale = by_percentage && valid.test(node) ? 1 / static_cast<double>(*cluster.CapacityOf(node, metric)) : 1;
      term.scale.push_back(valid.test(node) ? scale : 0);
      term.nodes += valid.test(node) ? 1 : 0;
    }
    term.loads = state.arrangement().loads().Column(metric).data();
  }
  for (const ServiceId service : state.group().services) {
    if (state.arrangement().loads().Local(service) == nullptr) continue;
    ++local_domains_;
    first_local_[service] = static_cast<uint32_t>(local_.size());
    local_.resize(local_.size() + cluster.services[service].metrics.size());
  }
  Refresh();
}

bool DeviationSlopes::ByPercentage(MetricId metric) const {
  const Group<bool>& group = state_.settings().balancing_by_percentage;
  const auto found = group.find(state_.cluster().metrics[metric].name);
  if (found == group.end() || !found->second) return false;
  const NodeSets& sets = state_.arrangement().sets();
  return std::ranges::all_of(sets.all(), [&](NodeId node) {
    const int64_t* capacity = state_.cluster().CapacityOf(node, metric);
    return !sets.available().test(node) || (capacity != nullptr && *capacity > 0);
  });
}

void DeviationSlopes::Refresh() {
  for (Term& term : terms_) RefreshTerm(term);
  for (const ServiceId service : state_.group().services) {
    if (first_local_[service] != kNoId) RefreshLocal(service);
  }
}

void DeviationSlopes::RefreshTerm(Term& term) const {
  double sum = 0, largest_scale = 0;
  for (size_t node = 0; node < term.scale.size(); ++node) {
    sum += static_cast<double>(term.loads[node]) * term.scale[node];
    largest_scale = std::max(largest_scale, term.scale[node]);
  }
  term.of_squares = term.of_sum = term.average = term.share = term.least = term.least_of_square = 0;
  term.by_load.assign(term.scale.size(), 0);
  term.by_square.assign(term.scale.size(), 0);
  if (sum <= 0 || total_weight_ <= kNoWeight) return;
  term.average = sum / term.nodes;
  double variance = 0;
  for (size_t node = 0; node < term.scale.size(); ++node) {
    if (term.scale[node] == 0) continue;
    const double excess = static_cast<double>(term.loads[node]) * term.scale[node] - term.average;
    variance += excess * excess;
  }
  const double root = std::sqrt(term.nodes * variance) / sum;
  const double weight = (1 - state_.settings().local_domain_weight) * term.weight / total_weight_;
  const double slope = weight / (2 * std::max(least_root_, RootAtLeastOfOne(root, term.nodes, sum, largest_scale)));
  term.of_squares = slope * term.nodes / (sum * sum);
  term.of_sum = -slope * 2 * (root * root + 1) / sum;
  term.share = std::abs(weight) * root;
  for (NodeId node = 0; node < term.scale.size(); ++node) RefreshNode(term, node);
  term.least = std::ranges::min(term.by_load);
  term.least_of_square = std::ranges::min(term.by_square);
}

void DeviationSlopes::RefreshNode(Term& term, NodeId node) {
  const double scale = term.scale[node], load = static_cast<double>(term.loads[node]);
  term.by_load[node] = scale * (2 * term.of_squares * scale * load + term.of_sum);
  term.by_square[node] = scale * scale * term.of_squares;
}

void DeviationSlopes::RefreshNode(NodeId node) {
  for (Term& term : terms_) RefreshNode(term, node);
}

void DeviationSlopes::AddChanges(size_t term, double load, std::span<double> changes) const {
  const double square = load * load;
  const double* by_load = terms_[term].by_load.data();
  const double* by_square = terms_[term].by_square.data();
  for (size_t node = 0; node < changes.size(); ++node) changes[node] += load * by_load[node] + square * by_square[node];
}

void DeviationSlopes::RefreshLocal(ServiceId service) {
  const std::vector<ServiceMetric>& metrics = state_.cluster().services[service].metrics;
  const ServiceLoads& own = *state_.arrangement().loads().Local(service);
  double total = 0;
  for (const ServiceMetric& metric : metrics) total += metric.weight;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const LoadSums& sums = own.Sums(i);
    double& slope = local_[first_local_[service] + i];
    slope = 0;
    if (sums.sum <= 0 || total <= kNoWeight) continue;
    const double nodes = static_cast<double>(sums.nodes), sum = static_cast<double>(sums.sum);
    const std::string& name = state_.cluster().metrics[metrics[i].metric].name;
    const double weight = state_.settings().local_domain_weight / static_cast<double>(local_domains_) * metrics[i].weight /
                          total * FactorOf(state_.settings(), name, AimOf(state_.settings(), name));
    slope = weight / (2 * std::max(least_root_, RootAtLeastOfOne(NormStdDev(sums), nodes, sum, 1))) * nodes / (sum * sum);
  }
}

}  // namespace evenkeel::balancing
