#include "balancing/measures/deviation.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>

namespace evenkeel::balancing {
namespace {

// Below this all products are exact in a double, and figures agree to the last digit with those that Service Fabric prints.
constexpr WideLoad kExactInDouble = WideLoad{1} << 53;
constexpr double kNoTotalWeight = 1e-7;
constexpr double kScoreShift = 0.001;

double Scaled(WideLoad value) { return static_cast<double>(value); }

int64_t Difference(const NodeChange& change, size_t metric_index) {
  return (change.added.empty() ? 0 : change.added[metric_index]) - (change.removed.empty() ? 0 : change.removed[metric_index]);
}

}  // namespace

double NormStdDev(double nodes, double sum, double squares) {
  if (sum == 0) return 0;
  return std::sqrt(std::max(0.0, nodes * squares / (sum * sum) - 1));
}

double NormStdDev(const LoadSums& sums) {
  if (sums.sum == 0) return 0;
  const WideLoad square_of_sum = static_cast<WideLoad>(sums.sum) * static_cast<WideLoad>(sums.sum);
  const WideLoad nodes = static_cast<WideLoad>(sums.nodes);
  WideLoad product = 0;
  const bool too_wide = __builtin_mul_overflow(nodes, sums.squares, &product);
  if (too_wide || product < kExactInDouble) {
    return NormStdDev(static_cast<double>(sums.nodes), static_cast<double>(sums.sum), Scaled(sums.squares));
  }
  // The difference of large products that are nearly equal, without losing what it consists of.
  const WideLoad difference = product > square_of_sum ? product - square_of_sum : 0;
  return std::sqrt(Scaled(difference) / Scaled(square_of_sum));
}

double CostOfMove(const Settings& settings, MoveCost level) {
  return settings.use_move_cost_reports ? static_cast<double>(CostValue(settings, level)) : 1;
}

double CostOfSwap(const Settings& settings) { return settings.use_move_cost_reports ? settings.swap_cost : 1; }

double Energy(const Settings& settings, double average_deviation, double cost, int64_t replicas) {
  if (settings.ignore_cost_in_scoring || replicas == 0) return average_deviation;
  const double shifted = average_deviation + kScoreShift;
  const double all = static_cast<double>(replicas) + static_cast<double>(settings.move_cost_offset);
  return shifted * ((shifted < 0 ? -cost : cost) + all);
}

bool ByPercentage(const Cluster& cluster, const Settings& settings, const NodeSets& sets, MetricId metric) {
  const auto found = settings.balancing_by_percentage.find(cluster.metrics[metric].name);
  if (found == settings.balancing_by_percentage.end() || !found->second) return false;
  return std::ranges::all_of(sets.all(), [&](NodeId node) {
    const int64_t* capacity = cluster.CapacityOf(node, metric);
    return !sets.available().test(node) || (capacity != nullptr && *capacity > 0);
  });
}

std::array<NodeChange, 2> MoveChanges(NodeId from, NodeId to, std::span<const int64_t> loads) {
  return {NodeChange{from, loads, {}}, NodeChange{to, {}, loads}};
}

GroupScore::GroupScore(const Cluster& cluster, const Settings& settings, const NodeSets& sets, const NodeLoads& loads,
                       const ServiceGroup& group)
    : cluster_(cluster),
      settings_(settings),
      sets_(sets),
      loads_(loads),
      term_of_metric_(cluster.metrics.size(), kNoId),
      local_scores_(cluster.services.size()) {
  for (const MetricId metric : group.metrics) {
    term_of_metric_[metric] = static_cast<uint32_t>(terms_.size());
    Term& term = terms_.emplace_back();
    term.metric = metric;
    term.weight = GlobalWeight(settings, cluster.metrics[metric]);
    term.aim = AimOf(settings, cluster.metrics[metric].name);
    term.by_percentage = ByPercentage(cluster, settings, sets, metric);
    Refresh(term);
    total_weight_ += term.weight;
    weighted_sum_ += term.weight * term.score;
  }
  for (const ServiceId service : group.services) {
    if (loads.Local(service) == nullptr) continue;
    ++local_domains_;
    local_scores_[service] = LocalScoreAfter(service, {});
    local_sum_ += local_scores_[service];
  }
}

double GroupScore::Average(double weighted_sum, double local_sum) const {
  const double global = total_weight_ <= kNoTotalWeight ? 0 : weighted_sum / total_weight_;
  const double local = local_sum / static_cast<double>(std::max<int64_t>(local_domains_, 1));
  return settings_.local_domain_weight * local + (1 - settings_.local_domain_weight) * global;
}

double GroupScore::Deviation(MetricId metric) const { return TermOf(metric).weight * TermOf(metric).spread; }

void GroupScore::Refresh(Term& term) const {
  if (term.by_percentage) {
    term.shares = {};
    const NodeSet& valid = sets_.Valid(term.metric);
    for (const NodeId node : sets_.all()) {
      if (!valid.test(node)) continue;
      const double share =
          static_cast<double>(loads_.Of(term.metric, node)) / static_cast<double>(*cluster_.CapacityOf(node, term.metric));
      term.shares.nodes += 1;
      term.shares.sum += share;
      term.shares.squares += share * share;
    }
  }
  if (term.aim == Aim::kPack || term.aim == Aim::kReserveAndPack) RefreshDomains(term);
  term.spread = SpreadAfter(term, {});
  term.score = ScoreAfter(term, {});
}

void GroupScore::RefreshDomains(Term& term) const {
  const auto refresh = [&](const LeafDomains& tree, DomainLoads& domains) {
    domains = {};
    if (!tree.binding) return;
    domains.leaves.assign(tree.count, -1);
    const NodeSet& valid = sets_.Valid(term.metric);
    for (const NodeId node : sets_.all()) {
      if (!valid.test(node)) continue;
      int64_t& leaf = domains.leaves[tree.of_node[node]];
      leaf = std::max<int64_t>(leaf, 0) + loads_.Of(term.metric, node);
    }
    for (const int64_t load : domains.leaves) {
      if (load < 0) continue;
      ++domains.sums.nodes;
      domains.sums.Replace(0, load);
    }
  };
  refresh(sets_.fault_domains(), term.fault_domains);
  refresh(sets_.upgrade_domains(), term.upgrade_domains);
}

double GroupScore::SpreadAfter(const Term& term, Deltas deltas) const {
  const NodeSet& valid = sets_.Valid(term.metric);
  if (!term.by_percentage) {
    LoadSums sums = loads_.Summary(term.metric).sums;
    for (const NodeDelta& delta : deltas) {
      const int64_t before = loads_.Of(term.metric, delta.node);
      if (valid.test(delta.node)) sums.Replace(before, before + delta.difference);
    }
    return NormStdDev(sums);
  }
  RealSums sums = term.shares;
  for (const NodeDelta& delta : deltas) {
    if (!valid.test(delta.node)) continue;
    const double capacity = static_cast<double>(*cluster_.CapacityOf(delta.node, term.metric));
    const int64_t load = loads_.Of(term.metric, delta.node);
    const double before = static_cast<double>(load) / capacity;
    const double after = static_cast<double>(load + delta.difference) / capacity;
    sums.sum += after - before;
    sums.squares += after * after - before * before;
  }
  return NormStdDev(sums.nodes, sums.sum, sums.squares);
}

double GroupScore::DomainSpreadAfter(const LeafDomains& tree, const DomainLoads& loads, const Term& term, Deltas deltas) const {
  if (!tree.binding) return 0;
  LoadSums sums = loads.sums;
  std::vector<std::pair<uint32_t, int64_t>> changed;  // leaf and its load by now
  for (const NodeDelta& delta : deltas) {
    if (!sets_.Valid(term.metric).test(delta.node)) continue;
    const uint32_t leaf = tree.of_node[delta.node];
    auto found = std::ranges::find(changed, leaf, &std::pair<uint32_t, int64_t>::first);
    if (found == changed.end()) found = changed.insert(found, {leaf, loads.leaves[leaf]});
    sums.Replace(found->second, found->second + delta.difference);
    found->second += delta.difference;
  }
  return NormStdDev(sums);
}

double GroupScore::PackedAfter(const Term& term, double spread, Deltas deltas) const {
  return settings_.defragmentation_nodes_std_dev_factor * (1 - spread) +
         settings_.defragmentation_fds_std_dev_factor *
             DomainSpreadAfter(sets_.fault_domains(), term.fault_domains, term, deltas) +
         settings_.defragmentation_uds_std_dev_factor *
             DomainSpreadAfter(sets_.upgrade_domains(), term.upgrade_domains, term, deltas);
}

// How far the nodes that are nearest to it are from being empty; 0 when as many are empty as should be.
double GroupScore::FreeAfter(const Term& term, Deltas deltas) const {
  const Emptiness emptiness(cluster_, settings_, term.metric, term.aim);
  std::vector<double> occupied;
  for (const NodeId node : sets_.all()) {
    if (!sets_.Valid(term.metric).test(node)) continue;
    int64_t load = loads_.Of(term.metric, node);
    for (const NodeDelta& delta : deltas) load += delta.node == node ? delta.difference : 0;
    occupied.push_back(emptiness.Occupied(node, load));
  }
  const int64_t target = emptiness.Target(static_cast<int64_t>(occupied.size())).value_or(0);
  std::ranges::nth_element(occupied, occupied.begin() + target);
  std::sort(occupied.begin(), occupied.begin() + target);
  double free = 2 * static_cast<double>(target);
  for (int64_t i = 0; i < target; ++i) {
    const double share = occupied[static_cast<size_t>(i)];
    free -= (1 - share) * (1 - share) + (share < 1e-7 ? 1 : 0);
  }
  return free;
}

double GroupScore::ScoreAfter(const Term& term, Deltas deltas) const {
  const double spread = SpreadAfter(term, deltas);
  if (term.aim == Aim::kSpread) return spread;
  if (term.aim == Aim::kPack) return PackedAfter(term, spread, deltas);
  const PackingWeights weights = PackingWeightsOf(settings_, cluster_.metrics[term.metric].name, term.aim);
  double score = weights.empty * FreeAfter(term, deltas);
  if (term.aim == Aim::kReserveAndSpread) score += weights.others * spread;
  if (term.aim == Aim::kReserveAndPack) score += weights.others * PackedAfter(term, spread, deltas);
  return score;
}

double GroupScore::LocalScoreAfter(ServiceId service, std::span<const NodeChange> changes) const {
  const ServiceLoads& own = *loads_.Local(service);
  const std::vector<ServiceMetric>& metrics = cluster_.services[service].metrics;
  double weighted = 0, total = 0;
  boost::container::small_vector<std::pair<const NodeChange*, const int64_t*>, 4> rows;  // null: nothing there yet
  for (const NodeChange& change : changes) {
    if (sets_.ValidForService(service).test(change.node)) rows.emplace_back(&change, own.RowAt(change.node));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    LoadSums sums = own.Sums(i);
    for (const auto& [change, row] : rows) {
      const int64_t before = row == nullptr ? 0 : row[i];
      sums.Replace(before, before + Difference(*change, i));
    }
    const Term& term = TermOf(metrics[i].metric);
    double score = NormStdDev(sums);
    if (term.aim == Aim::kPack || term.aim == Aim::kReserveAndPack) {
      score = settings_.defragmentation_nodes_std_dev_factor * (1 - score);
    }
    if (IsScoped(term.aim)) {
      const double others = PackingWeightsOf(settings_, cluster_.metrics[term.metric].name, term.aim).others;
      score *= term.aim == Aim::kReserve ? 0 : others;
    }
    weighted += metrics[i].weight * score;
    total += metrics[i].weight;
  }
  return total <= kNoTotalWeight ? 0 : weighted / total;
}

double GroupScore::AverageDeviationAfter(ServiceId service, std::span<const NodeChange> changes) const {
  double weighted_sum = weighted_sum_, local_sum = local_sum_;
  const std::vector<ServiceMetric>& metrics = cluster_.services[service].metrics;
  boost::container::small_vector<NodeDelta, 4> deltas(changes.size());
  for (size_t i = 0; i < metrics.size(); ++i) {
    const Term& term = TermOf(metrics[i].metric);
    for (size_t j = 0; j < changes.size(); ++j) deltas[j] = {changes[j].node, Difference(changes[j], i)};
    weighted_sum += term.weight * (ScoreAfter(term, {deltas.data(), deltas.size()}) - term.score);
  }
  if (loads_.Local(service) != nullptr) local_sum += LocalScoreAfter(service, changes) - local_scores_[service];
  return Average(weighted_sum, local_sum);
}

void GroupScore::Resum() {
  weighted_sum_ = local_sum_ = 0;
  for (const Term& term : terms_) weighted_sum_ += term.weight * term.score;
  for (const double score : local_scores_) local_sum_ += score;
}

void GroupScore::Update(ServiceId service) {
  for (const ServiceMetric& metric : cluster_.services[service].metrics) {
    Term& term = TermOf(metric.metric);
    const double before = term.score;
    Refresh(term);
    weighted_sum_ += term.weight * (term.score - before);
  }
  if (loads_.Local(service) == nullptr) return;
  const double before = local_scores_[service];
  local_scores_[service] = LocalScoreAfter(service, {});
  local_sum_ += local_scores_[service] - before;
}

}  // namespace evenkeel::balancing
