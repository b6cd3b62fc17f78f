#include "balancing/search/target_finder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace evenkeel::balancing {
namespace {

// So many of the best ranked nodes are looked at exactly. Ranks leave out what a service's own replicas carry, so with few
// nodes all of them are.
constexpr size_t kShortList = 8;
constexpr size_t kCompareAll = 64;
// Of more nodes only some are ranked: the best of each metric and of all together, found anew after so many questions. A
// question leads to one step at most, so of those that were best for a metric at least half still are.
constexpr size_t kVeryManyNodes = 4096;
constexpr size_t kBestOfMetric = 512;
constexpr int64_t kQuestionsToTheSame = 256;
constexpr size_t kMetricsWithBest = 5;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Ranked {
  double rank;
  NodeTie tie;
  NodeId node;
};

bool ComesBefore(const Ranked& a, const Ranked& b) { return a.rank < b.rank || (a.rank == b.rank && a.tie < b.tie); }

// Keeps the `keep` smallest, in order.
void Keep(std::vector<Ranked>& best, size_t keep, const Ranked& ranked) {
  if (best.size() == keep) {
    if (!ComesBefore(ranked, best.back())) return;
    best.pop_back();
  }
  size_t place = best.size();
  best.push_back(ranked);
  for (; place > 0 && ComesBefore(ranked, best[place - 1]); --place) best[place] = best[place - 1];
  best[place] = ranked;
}

}  // namespace

TargetFinder::TargetFinder(const StepJournal& journal, uint64_t seed)
    : journal_(journal),
      arrangement_(journal.arrangement()),
      ties_(arrangement_, journal.group(), seed),
      metrics_(arrangement_.cluster().metrics.size()),
      rank_(arrangement_.cluster().nodes.size()) {
  const Cluster& cluster = arrangement_.cluster();
  const Settings& settings = arrangement_.settings();
  for (const MetricId metric : journal.group().metrics) {
    MetricTerms& terms = metrics_[metric];
    const std::string& name = cluster.metrics[metric].name;
    terms.weight = GlobalWeight(settings, cluster.metrics[metric]);
    terms.aim = AimOf(settings, name);
    double sum = 0;
    bool all_limited = true;
    terms.capacity.reserve(cluster.nodes.size());
    for (const NodeId node : arrangement_.sets().all()) {
      const int64_t* capacity = cluster.CapacityOf(node, metric);
      terms.capacity.push_back(capacity == nullptr ? kInfinite : static_cast<double>(*capacity));
      if (!arrangement_.sets().available().test(node)) continue;
      all_limited &= capacity != nullptr && *capacity > 0;
      sum += terms.capacity.back();
    }
    const auto by_percentage = settings.balancing_by_percentage.find(name);
    terms.by_percentage = by_percentage != settings.balancing_by_percentage.end() && by_percentage->second && all_limited;
    terms.average_capacity = sum / static_cast<double>(std::max<size_t>(1, arrangement_.sets().available().count()));
  }
}

TargetFinder::Candidates& TargetFinder::CandidatesOf(ServiceId service) {
  const NodeSet& valid = arrangement_.sets().ValidForService(service);
  const auto [found, added] = candidates_.try_emplace(&valid);
  Candidates& candidates = found->second;
  if (added) {
    for (size_t node = valid.find_first(); node != NodeSet::npos; node = valid.find_next(node)) {
      candidates.all.push_back(static_cast<NodeId>(node));
    }
  }
  if (candidates.all.size() > kVeryManyNodes && (added || ++candidates.questions > kQuestionsToTheSame)) FindFew(candidates);
  return candidates;
}

void TargetFinder::FindFew(Candidates& candidates) {
  candidates.questions = 0;
  candidates.few.clear();
  std::vector<NodeId> order;
  const auto take_best = [&](const std::vector<double>& ranks) {
    order = candidates.all;
    const auto end = order.begin() + static_cast<ptrdiff_t>(kBestOfMetric);
    std::ranges::nth_element(order, end, {}, [&](NodeId node) { return std::pair(ranks[node], node); });
    candidates.few.insert(candidates.few.end(), order.begin(), end);
  };
  std::vector<double> together(rank_.size());
  size_t lists = 0;
  for (const MetricId metric : journal_.group().metrics) {
    const int64_t sum = arrangement_.loads().Summary(metric).sums.sum;
    std::ranges::fill(rank_, 0.0);
    RankMetric(metric, std::max<int64_t>(1, sum / std::max<int64_t>(1, arrangement_.replica_count())), false, {});
    if (metrics_[metric].weight != 0 && lists++ < kMetricsWithBest) take_best(rank_);
    for (size_t node = 0; node < rank_.size(); ++node) together[node] += rank_[node];
  }
  take_best(together);
  // What loads nothing goes where there is least of everything.
  for (size_t node = 0; node < rank_.size(); ++node) {
    together[node] = static_cast<double>(arrangement_.On(static_cast<NodeId>(node)).size());
  }
  take_best(together);
  std::ranges::sort(candidates.few);
  candidates.few.erase(std::unique(candidates.few.begin(), candidates.few.end()), candidates.few.end());
}

// With x on a node and l to come, the metric's sum of squares grows by 2xl + l^2, and with it, to the first order, the
// deviation s by n / (2 S^2 s) of that.
void TargetFinder::RankMetric(MetricId metric, int64_t load, bool limited, std::span<const NodeId> nodes) {
  if (load == 0) return;
  const MetricTerms& terms = metrics_[metric];
  const LoadSums& sums = arrangement_.loads().Summary(metric).sums;
  const double l = static_cast<double>(load), n = static_cast<double>(sums.nodes);
  const double total = std::max(static_cast<double>(sums.sum), l);
  const double deviation = NormStdDev(sums);
  const double spread = std::sqrt(deviation * deviation + n * l * l / (total * total));
  double factor = n == 0 ? 0 : terms.weight * l * n / (total * total * spread);
  if (terms.aim != Aim::kSpread) factor = -factor;
  const std::span<const int64_t> column = arrangement_.loads().Column(metric);
  const double* capacity = terms.capacity.data();
  double* rank = rank_.data();
  const auto for_each = [&](auto&& add) {
    if (nodes.empty()) {
      for (size_t i = 0, all = rank_.size(); i < all; ++i) add(i);
    } else {
      for (const NodeId node : nodes) add(node);
    }
  };
  if (terms.by_percentage) {
    const double average = terms.average_capacity;
    for_each([&](size_t i) {
      const double relative = average / capacity[i];
      rank[i] += factor * relative * relative * (static_cast<double>(column[i]) + l / 2);
    });
  } else {
    for_each([&](size_t i) { rank[i] += factor * static_cast<double>(column[i]); });
  }
  if (limited) for_each([&](size_t i) { rank[i] += static_cast<double>(column[i]) + l > capacity[i] ? kInfinite : 0; });
}

// Nodes without room rank last at once; not where reservations, upgrades or stand-by replicas make that a question for the
// constraints.
void TargetFinder::Rank(const Constraints& constraints, ReplicaId replica, Role role, std::span<const NodeId> nodes) {
  const Service& service = arrangement_.cluster().services[arrangement_.ServiceOf(replica)];
  const int64_t priority = PriorityOf(arrangement_.settings(), Constraint::kCapacity);
  const Partition& partition = arrangement_.cluster().partitions[arrangement_.PartitionOf(replica)];
  const bool stands_by = std::ranges::any_of(arrangement_.cluster().ReplicasOf(partition),
                                             [](const Replica& other) { return other.role == Role::kStandBy; });
  const bool limited = !stands_by && priority >= 0 && priority <= constraints.options().max_priority &&
                       service.application == kNoId && !partition.Has(kPartitionInUpgrade);
  if (nodes.empty()) std::ranges::fill(rank_, 0.0);
  for (const NodeId node : nodes) rank_[node] = 0;
  const std::span<const int64_t> loads = arrangement_.LoadsOf(replica, role);
  for (size_t i = 0; i < loads.size(); ++i) RankMetric(service.metrics[i].metric, loads[i], limited, nodes);
}

std::optional<Constraint> TargetFinder::Obstacle(const Constraints& constraints, ReplicaId replica, NodeId to,
                                                 Role role) const {
  ++evaluations_;
  const std::optional<Constraint> obstacle = constraints.Obstacle(replica, to, role);
  const bool leads = constraints.affinity().IsParent(arrangement_.ServiceOf(replica));
  return leads && obstacle == Constraint::kAffinity ? std::nullopt : obstacle;
}

double TargetFinder::DeviationWith(ReplicaId replica, NodeId to, Role role) const {
  const ServiceId service = arrangement_.ServiceOf(replica);
  if (arrangement_.NodeOf(replica) != kNoId) {
    return journal_.score().AverageDeviationAfter(service, arrangement_.ChangesOfMove(replica, to));
  }
  return journal_.score().AverageDeviationAfter(service, std::array{arrangement_.ChangeOfPlacing(replica, to, role)});
}

void TargetFinder::Consider(const Constraints& constraints, ReplicaId replica, Role role, NodeId node,
                            std::vector<Target>& found) const {
  if (Obstacle(constraints, replica, node, role)) return;
  found.push_back({node, DeviationWith(replica, node, role), ties_.Of(node, role)});
}

// Asks for obstacles only where a node would be among the best.
void TargetFinder::ScanAll(const Constraints& constraints, ReplicaId replica, Role role, size_t keep, const Accept& accept,
                           std::vector<Target>& found) {
  std::vector<Ranked> best;
  for (const NodeId node : candidates_.at(&arrangement_.sets().ValidForService(arrangement_.ServiceOf(replica))).all) {
    if (node == arrangement_.NodeOf(replica) || rank_[node] == kInfinite) continue;
    if (best.size() == keep && rank_[node] > best.back().rank) continue;
    const Ranked ranked{rank_[node], ties_.Of(node, role), node};
    if (best.size() == keep && !ComesBefore(ranked, best.back())) continue;
    if ((accept && !accept(node)) || Obstacle(constraints, replica, node, role)) continue;
    Keep(best, keep, ranked);
  }
  for (const Ranked& ranked : best) {
    found.push_back({ranked.node, DeviationWith(replica, ranked.node, role), ranked.tie});
  }
}

bool TargetFinder::ConsiderBest(const Constraints& constraints, ReplicaId replica, Role role, std::span<const NodeId> nodes,
                                size_t keep, const Accept& accept, std::vector<Target>& found) const {
  const NodeId from = arrangement_.NodeOf(replica);
  std::vector<Ranked> best;
  best.reserve(keep + 1);
  for (const NodeId node : nodes) {
    if (node == from || rank_[node] == kInfinite) continue;
    if (best.size() == keep) {
      const Ranked& last = best.back();
      const bool fuller = static_cast<int64_t>(arrangement_.On(node).size()) > last.tie.replicas;
      if (rank_[node] > last.rank || (rank_[node] == last.rank && fuller)) continue;
    }
    if (!accept || accept(node)) Keep(best, keep, {rank_[node], ties_.Of(node, role), node});
  }
  for (const Ranked& ranked : best) Consider(constraints, replica, role, ranked.node, found);
  return best.size() == keep;
}

std::vector<Target> TargetFinder::Best(const Constraints& constraints, ReplicaId replica, Role role, size_t most,
                                       const Accept& accept) {
  const Candidates& candidates = CandidatesOf(arrangement_.ServiceOf(replica));
  const size_t keep = std::max(candidates.all.size() <= kCompareAll ? kCompareAll : kShortList, most);
  std::vector<Target> found;
  if (!candidates.few.empty()) {
    Rank(constraints, replica, role, candidates.few);
    ConsiderBest(constraints, replica, role, candidates.few, keep, accept, found);
  }
  if (found.size() < most) {
    found.clear();
    Rank(constraints, replica, role, {});
    const bool were_more = ConsiderBest(constraints, replica, role, candidates.all, keep, accept, found);
    if (found.size() < most && were_more && candidates.all.size() > kCompareAll) {
      found.clear();
      ScanAll(constraints, replica, role, keep, accept, found);
    }
  }
  std::ranges::sort(found, {}, [](const Target& target) { return std::tie(target.deviation, target.tie); });
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace evenkeel::balancing
