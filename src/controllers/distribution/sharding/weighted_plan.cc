#include "controllers/distribution/sharding/weighted_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace evenkeel::controllers::distribution {
namespace {

using Wide = __int128;

constexpr int64_t kPpm = 1'000'000;
constexpr int64_t kGreatestWeight = 1'000'000'000'000;
constexpr size_t kNobody = SIZE_MAX;

/// Decisions are made in integers: they are the same on every machine.
int64_t Ppm(double value, double low) {
  return std::llround((value >= low ? std::min(value, 1000.0) : low) * static_cast<double>(kPpm));
}

/// ppm x total / shards, rounded down or up.
int64_t ShareOf(int64_t total, size_t shards, int64_t ppm, bool up = false) {
  const Wide divisor = static_cast<Wide>(shards) * kPpm;
  return static_cast<int64_t>((static_cast<Wide>(total) * ppm + (up ? divisor - 1 : 0)) / divisor);
}

/// A cluster of the input. Shards are indices into PlanInput::shards.
struct RankedCluster {
  int64_t weight = 1;
  uint64_t name = 0;  ///< see Rank
  size_t index = 0;
  bool is_new = false;
  size_t now = kNobody;  ///< nobody too when that shard is leaving
  size_t standby = kNobody;
  size_t pin = kNobody;
};

/// The input in the order of decisions: a cluster is known by its rank from here on, a shard by its place among `shards`.
struct PlanInput {
  std::vector<int64_t> shards;   ///< numbers of those that do not leave, ascending
  std::vector<int64_t> leaving;  ///< ascending
  std::vector<RankedCluster> clusters;
  std::vector<bool> was_empty;  ///< per shard
  int64_t total = 0;
  int64_t bound = 0;  ///< ppm
  int64_t limit = 0;  ///< greatest load within the bound
  int64_t gain = 1;   ///< least gain of a move
  int64_t level = 0;  ///< see FairLevel
  int64_t low = 0;    ///< a shard below it is filled
  size_t hot = 0;     ///< so many of the first clusters alone exceed the limit
};

size_t Find(const std::vector<int64_t>& shards, int64_t shard) {
  const auto found = std::ranges::lower_bound(shards, shard);
  return found != shards.end() && *found == shard ? static_cast<size_t>(found - shards.begin()) : kNobody;
}

/// Heaviest first, ties by server. Fleets have few different weights and long names that begin alike, so the bytes behind the
/// common beginning are compared as one number first.
std::vector<RankedCluster> Rank(std::span<const WeightedCluster> clusters) {
  std::string_view common = clusters.empty() ? std::string_view() : clusters[0].server;
  for (const WeightedCluster& cluster : clusters) {
    const auto differing = std::ranges::mismatch(common, cluster.server).in1;
    common = common.substr(0, static_cast<size_t>(differing - common.begin()));
  }
  std::vector<RankedCluster> ranked(clusters.size());
  for (size_t i = 0; i < clusters.size(); ++i) {
    const std::string& server = clusters[i].server;
    ranked[i].index = i;
    ranked[i].weight = std::clamp<int64_t>(clusters[i].weight, 1, kGreatestWeight);
    for (size_t at = common.size(); at < common.size() + sizeof(RankedCluster::name); ++at) {
      ranked[i].name = ranked[i].name << 8 | (at < server.size() ? static_cast<uint8_t>(server[at]) : 0);
    }
  }
  std::ranges::sort(ranked, [&](const RankedCluster& a, const RankedCluster& b) {
    if (a.weight != b.weight) return a.weight > b.weight;
    if (a.name != b.name) return a.name < b.name;
    const int order = clusters[a.index].server.compare(clusters[b.index].server);
    return order != 0 ? order < 0 : a.index < b.index;
  });
  return ranked;
}

/// The least loaded shard, ties by number: a tournament, so that any load may change.
class LeastLoaded {
 public:
  /// @param without  is never the answer.
  explicit LeastLoaded(const std::vector<int64_t>& loads, size_t without = kNobody)
      : loads_(loads), leaves_(std::bit_ceil(loads.size())), winners_(2 * leaves_, kNobody) {
    if (without != kNobody) loads_[without] = INT64_MAX;
    for (size_t i = 0; i < loads.size(); ++i) winners_[leaves_ + i] = i;
    for (size_t node = leaves_ - 1; node > 0; --node) Play(node);
  }
  size_t Top() const { return winners_[1]; }
  int64_t Load(size_t shard) const { return loads_[shard]; }
  const std::vector<int64_t>& loads() const { return loads_; }
  void Add(size_t shard, int64_t weight) {
    loads_[shard] += weight;
    for (size_t node = (leaves_ + shard) / 2; node > 0; node /= 2) Play(node);
  }

 private:
  void Play(size_t node) {
    const size_t left = winners_[2 * node], right = winners_[2 * node + 1];
    winners_[node] = right == kNobody || Load(left) <= Load(right) ? left : right;
  }

  std::vector<int64_t> loads_;
  size_t leaves_;
  std::vector<size_t> winners_;  ///< node 1 is the root, the children of n are 2n and 2n+1
};

/// What a shard would carry if the load were as even as the clusters allow that no other shard can share: pinned ones, and hot
/// ones, each of which fills a shard. Where they are now does not matter. Rounded up.
int64_t FairLevel(const PlanInput& input) {
  std::vector<int64_t> forced(input.shards.size(), 0);
  for (const RankedCluster& cluster : input.clusters) {
    if (cluster.pin != kNobody) forced[cluster.pin] += cluster.weight;
  }
  LeastLoaded least(forced);
  for (size_t rank = 0; rank < input.hot; ++rank) {
    if (input.clusters[rank].pin == kNobody) least.Add(least.Top(), input.clusters[rank].weight);
  }
  forced = least.loads();
  std::ranges::sort(forced, std::greater());
  int64_t rest = input.total;
  auto shards = static_cast<int64_t>(forced.size());
  for (int64_t load : forced) {
    if (load <= rest / shards) break;
    rest -= load;
    --shards;
  }
  return (rest + shards - 1) / shards;
}

PlanInput ReadInput(std::span<const WeightedShard> shards, std::span<const WeightedCluster> clusters,
                    const WeightedOptions& options) {
  PlanInput input;
  for (const WeightedShard& shard : shards) {
    if (shard.shard >= 0 && shard.leaving) input.leaving.push_back(shard.shard);
  }
  std::ranges::sort(input.leaving);
  for (const WeightedShard& shard : shards) {
    if (shard.shard >= 0 && Find(input.leaving, shard.shard) == kNobody) input.shards.push_back(shard.shard);
  }
  std::ranges::sort(input.shards);
  const auto doubled = std::ranges::unique(input.shards);
  input.shards.erase(doubled.begin(), doubled.end());
  if (input.shards.empty()) return input;

  input.clusters = Rank(clusters);
  input.was_empty.assign(input.shards.size(), true);
  for (RankedCluster& cluster : input.clusters) {
    const WeightedCluster& given = clusters[cluster.index];
    cluster.is_new = given.shard < 0;
    cluster.now = Find(input.shards, given.shard);
    cluster.standby = Find(input.shards, given.standby);
    if (given.pinned) cluster.pin = Find(input.shards, *given.pinned);
    if (cluster.now != kNobody) input.was_empty[cluster.now] = false;
    input.total += cluster.weight;
  }
  const size_t count = input.shards.size();
  input.bound = Ppm(options.bound, 1);
  input.limit = ShareOf(input.total, count, input.bound);
  input.gain = std::max<int64_t>(ShareOf(input.total, count, Ppm(options.gain_min, 0), true), 1);
  while (input.hot < input.clusters.size() && input.clusters[input.hot].weight > input.limit) ++input.hot;
  input.level = FairLevel(input);
  input.low = ShareOf(input.level, 1, std::max<int64_t>(2 * kPpm - input.bound, 0));
  return input;
}

struct Placement {
  std::vector<size_t> owner;    ///< by rank
  std::vector<bool> necessary;  ///< by rank: does not stay where it is, whatever the balance
  std::vector<int64_t> loads;   ///< per shard
};

/// What stays stays, pins are honoured, the rest goes to its standby or to the least loaded.
Placement Place(const PlanInput& input) {
  Placement placement;
  placement.owner.assign(input.clusters.size(), kNobody);
  placement.necessary.assign(input.clusters.size(), false);
  placement.loads.assign(input.shards.size(), 0);
  for (size_t rank = 0; rank < input.clusters.size(); ++rank) {
    const RankedCluster& cluster = input.clusters[rank];
    const size_t owner = cluster.pin != kNobody ? cluster.pin : cluster.now;
    placement.owner[rank] = owner;
    placement.necessary[rank] = owner == kNobody || owner != cluster.now;
    if (owner != kNobody) placement.loads[owner] += cluster.weight;
  }
  LeastLoaded least(placement.loads);
  for (size_t rank = 0; rank < input.clusters.size(); ++rank) {
    if (placement.owner[rank] != kNobody) continue;
    const RankedCluster& cluster = input.clusters[rank];
    const bool to_standby = cluster.standby != kNobody && least.Load(cluster.standby) + cluster.weight <= input.limit;
    placement.owner[rank] = to_standby ? cluster.standby : least.Top();
    least.Add(placement.owner[rank], cluster.weight);
  }
  placement.loads = least.loads();
  return placement;
}

/// One improvement: a cluster goes over, or two change places.
struct BalanceStep {
  size_t from = kNobody, to = kNobody;
  size_t cluster = kNobody;   ///< rank, from -> to
  size_t returned = kNobody;  ///< rank, to -> from; kNobody: none
};

struct BalanceLimits {
  int64_t weight = INT64_MAX;
  int64_t moves = INT64_MAX;
  bool fill_low = false;  ///< whether shards are filled that had clusters but carry little
};

class Balancer {
 public:
  Balancer(const PlanInput& input, Placement& placement) : input_(input), placement_(placement) {
    for (size_t shard = 0; shard < placement.loads.size(); ++shard) {
      by_load_.emplace(placement.loads[shard], shard);
    }
  }

  /// What may move from now on: the clusters that have to move anyway, or all of them; never pinned ones.
  void Offer(bool all) {
    offered_.assign(placement_.loads.size(), {});
    for (size_t rank = 0; rank < input_.clusters.size(); ++rank) {
      if (input_.clusters[rank].pin != kNobody || !(all || placement_.necessary[rank])) continue;
      offered_[placement_.owner[rank]].push_back(rank);
    }
  }

  /// Makes steps until none helps or the next one exceeds a limit.
  void Run(const BalanceLimits& limits) {
    limits_ = limits;
    stuck_.assign(placement_.loads.size(), false);
    while (true) {
      std::optional<BalanceStep> step = LowerHighest();
      if (!step) step = FillEmptiest();
      if (!step || !Fits(*step)) return;
      limits_.moves -= MovesOf(*step);
      limits_.weight -= WeightOf(*step);
      Apply(*step);
    }
  }

  const std::vector<WeightedMove>& moves() const { return moves_; }

 private:
  int64_t Weight(size_t rank) const { return input_.clusters[rank].weight; }
  int64_t Load(size_t shard) const { return placement_.loads[shard]; }
  bool Free(size_t rank) const { return placement_.necessary[rank]; }

  std::optional<BalanceStep> LowerHighest() {
    for (auto at = by_load_.rbegin(); at != by_load_.rend() && at->first > input_.limit; ++at) {
      const auto [load, from] = *at;
      if (stuck_[from]) continue;
      const auto [least, to] = *by_load_.begin();
      // Not beyond the bound there, enough for the bound here, and where possible both at the level.
      const int64_t wanted = std::max(Surplus(load, least), std::min(load - input_.limit, input_.limit - least));
      if (auto step = Move(from, to, wanted)) return step;
      // Where one move is left, it is for others.
      if (auto step = Swap(from); step && Fits(*step)) return step;
      stuck_[from] = true;
    }
    return std::nullopt;
  }

  /// From the fullest that can spare a cluster; where none can, from the one that is left with most.
  std::optional<BalanceStep> FillEmptiest() const {
    for (const auto& [least, to] : by_load_) {
      if (least >= input_.level) break;
      const bool low = limits_.fill_low && least < input_.low;
      if (!low && !input_.was_empty[to]) continue;
      std::optional<BalanceStep> best;
      int64_t best_left = -1;
      for (auto at = by_load_.rbegin(); at != by_load_.rend() && at->first - least > input_.gain; ++at) {
        const auto step = Move(at->second, to, Surplus(at->first, least));
        if (!step || at->first - Weight(step->cluster) <= best_left) continue;
        best = step;
        best_left = at->first - Weight(step->cluster);
        if (best_left >= input_.level - input_.gain) break;
      }
      if (best) return best;
    }
    return std::nullopt;
  }

  /// How much one shard should give the other: no more than leaves it just below the level, nor than the other lacks.
  int64_t Surplus(int64_t load, int64_t least) const {
    const int64_t spare = load - (input_.level - input_.gain);
    return spare > 0 ? std::min(spare, input_.level - least) : (load - least) / 2;
  }

  /// The cluster with the weight nearest to the wanted one that gains enough. A heavier one only where it can be spared or
  /// there is no lighter one.
  std::optional<BalanceStep> Move(size_t from, size_t to, int64_t wanted) const {
    const std::vector<size_t>& offered = offered_[from];
    const int64_t most = Load(from) - Load(to) - input_.gain;
    if (offered.empty() || Weight(offered.back()) > most) return std::nullopt;
    wanted = std::clamp<int64_t>(wanted, 1, most);
    auto chosen = std::ranges::partition_point(offered, [&](size_t rank) { return Weight(rank) > wanted; });
    if (chosen != offered.begin()) {
      const int64_t heavier = Weight(*std::prev(chosen));
      const bool affordable = heavier <= most && Load(from) - heavier >= input_.level - input_.gain;
      if (chosen == offered.end() || (affordable && heavier - wanted < wanted - Weight(*chosen))) --chosen;
    }
    return BalanceStep{.from = from, .to = to, .cluster = *chosen};
  }

  /// The swap that leaves the greater of both loads least.
  std::optional<BalanceStep> Swap(size_t from) const {
    std::optional<BalanceStep> best;
    int64_t best_load = Load(from);
    const int64_t gain = std::min(input_.gain, Load(from) - input_.limit);
    for (const auto& [load, to] : by_load_) {
      const int64_t most = Load(from) - load - input_.gain;
      if (most < gain) break;
      const int64_t wanted = std::clamp((Load(from) - load) / 2, gain, most);
      const std::vector<size_t>& theirs = offered_[to];
      for (size_t cluster : offered_[from]) {
        const auto lighter =
            std::ranges::partition_point(theirs, [&](size_t rank) { return Weight(rank) > Weight(cluster) - wanted; });
        for (auto at : {lighter == theirs.begin() ? theirs.end() : std::prev(lighter), lighter}) {
          if (at == theirs.end()) continue;
          const int64_t given = Weight(cluster) - Weight(*at);
          const int64_t greater = std::max(Load(from) - given, load + given);
          if (given < gain || given > most || greater >= best_load) continue;
          best_load = greater;
          best = BalanceStep{.from = from, .to = to, .cluster = cluster, .returned = *at};
        }
      }
    }
    return best;
  }

  bool Fits(const BalanceStep& step) const { return MovesOf(step) <= limits_.moves && WeightOf(step) <= limits_.weight; }

  int64_t MovesOf(const BalanceStep& step) const {
    return (Free(step.cluster) ? 0 : 1) + (step.returned == kNobody || Free(step.returned) ? 0 : 1);
  }

  int64_t WeightOf(const BalanceStep& step) const {
    const bool returned_free = step.returned == kNobody || Free(step.returned);
    return std::max(Free(step.cluster) ? 0 : Weight(step.cluster), returned_free ? 0 : Weight(step.returned));
  }

  void Apply(const BalanceStep& step) {
    const int64_t load_from = Load(step.from), load_to = Load(step.to);
    Transfer(step.cluster, step.from, step.to, load_from, load_to);
    if (step.returned != kNobody) Transfer(step.returned, step.to, step.from, load_to, load_from);
  }

  void Transfer(size_t rank, size_t from, size_t to, int64_t load_from, int64_t load_to) {
    std::vector<size_t>& source = offered_[from];
    source.erase(std::ranges::lower_bound(source, rank));
    AddLoad(from, -Weight(rank));
    AddLoad(to, Weight(rank));
    placement_.owner[rank] = to;
    if (Free(rank)) {
      std::vector<size_t>& target = offered_[to];
      target.insert(std::ranges::lower_bound(target, rank), rank);
      return;
    }
    moves_.push_back({input_.clusters[rank].index, input_.shards[from], input_.shards[to], WeightedMove::Reason::kBalance,
                      load_from, load_to});
  }

  void AddLoad(size_t shard, int64_t weight) {
    int64_t& load = placement_.loads[shard];
    by_load_.erase({load, shard});
    load += weight;
    by_load_.emplace(load, shard);
  }

  const PlanInput& input_;
  Placement& placement_;
  std::set<std::pair<int64_t, size_t>> by_load_;
  std::vector<std::vector<size_t>> offered_;  ///< per shard, ranks ascending: heaviest first
  std::vector<bool> stuck_;                   ///< shards over the bound that no step helped in this run
  BalanceLimits limits_;
  std::vector<WeightedMove> moves_;
};

/// Gives `moves` for balance within the limits of this plan and makes them in `placement`.
/// @return  how many more there would be without the limits.
int64_t Balance(const PlanInput& input, const WeightedOptions& options, Placement& placement,
                std::vector<WeightedMove>& moves) {
  Placement beyond = placement;
  Balancer balancer(input, beyond);
  const bool quiet = std::ranges::none_of(placement.necessary, std::identity());
  if (!quiet) {
    balancer.Offer(false);
    balancer.Run({});
  }
  BalanceLimits limits{.weight = input.clusters.empty() ? 0 : input.clusters[0].weight,
                       .moves = std::max<int64_t>(options.moves_max, 0)};
  BalanceLimits low = limits;
  low.fill_low = true;
  for (const RankedCluster& cluster : input.clusters) {
    if (cluster.is_new) limits.weight += cluster.weight;
  }
  for (size_t shard = 0; shard < input.shards.size(); ++shard) {
    if (input.was_empty[shard]) limits.weight += input.level;
    low.weight += std::max<int64_t>(input.low - placement.loads[shard], 0);
  }
  balancer.Offer(true);
  balancer.Run(limits);
  if (quiet && balancer.moves().empty()) balancer.Run(low);
  placement = beyond;
  moves = balancer.moves();
  balancer.Run({.fill_low = true});
  return static_cast<int64_t>(balancer.moves().size() - moves.size());
}

WeightedMove::Reason ReasonOf(const PlanInput& input, const WeightedCluster& cluster, size_t now) {
  if (cluster.shard < 0) return WeightedMove::Reason::kNew;
  if (now != kNobody) return WeightedMove::Reason::kPinned;
  return Find(input.leaving, cluster.shard) == kNobody ? WeightedMove::Reason::kOwnerGone : WeightedMove::Reason::kLeaving;
}

/// Who takes over, by rank. One shard at a time is taken for lost: the others carry theirs and what they stand by for.
std::vector<size_t> Standbys(const PlanInput& input, const Placement& placement) {
  const size_t count = input.shards.size();
  std::vector<size_t> standby(input.clusters.size(), kNobody);
  if (count < 2) return standby;
  std::vector<std::vector<size_t>> owned(count);
  for (size_t rank = 0; rank < input.clusters.size(); ++rank) owned[placement.owner[rank]].push_back(rank);
  const int64_t limit = ShareOf(input.total, count - 1, input.bound);
  for (size_t lost = 0; lost < count; ++lost) {
    LeastLoaded least(placement.loads, lost);
    for (size_t rank : owned[lost]) {
      const RankedCluster& cluster = input.clusters[rank];
      size_t next = cluster.standby;
      const bool usable = next != kNobody && next != lost;
      if (!usable || least.Load(next) > std::max(least.Load(least.Top()), limit - cluster.weight)) next = least.Top();
      standby[rank] = next;
      least.Add(next, cluster.weight);
    }
  }
  return standby;
}

}  // namespace

WeightedPlan PlanWeighted(std::span<const WeightedShard> shards, std::span<const WeightedCluster> clusters,
                          const WeightedOptions& options) {
  WeightedPlan plan;
  plan.shard.assign(clusters.size(), -1);
  plan.standby.assign(clusters.size(), -1);
  plan.loads.assign(shards.size(), 0);
  const PlanInput input = ReadInput(shards, clusters, options);
  if (input.shards.empty()) return plan;

  Placement placement = Place(input);
  std::vector<WeightedMove> balance;
  plan.waiting = Balance(input, options, placement, balance);
  const std::vector<size_t> standby = Standbys(input, placement);
  for (size_t rank = 0; rank < input.clusters.size(); ++rank) {
    const RankedCluster& cluster = input.clusters[rank];
    const WeightedCluster& given = clusters[cluster.index];
    const int64_t owner = input.shards[placement.owner[rank]];
    plan.shard[cluster.index] = owner;
    plan.standby[cluster.index] = standby[rank] == kNobody ? -1 : input.shards[standby[rank]];
    if (rank < input.hot) plan.hot.push_back(cluster.index);
    if (!placement.necessary[rank]) continue;
    const int64_t from = std::max<int64_t>(given.shard, -1);
    plan.moves.push_back({.cluster = cluster.index, .from = from, .to = owner, .reason = ReasonOf(input, given, cluster.now)});
  }
  plan.moves.insert(plan.moves.end(), balance.begin(), balance.end());
  for (size_t i = 0; i < shards.size(); ++i) {
    const size_t shard = Find(input.shards, shards[i].shard);
    if (shard != kNobody) plan.loads[i] = placement.loads[shard];
  }
  plan.mean = static_cast<double>(input.total) / static_cast<double>(input.shards.size());
  if (input.total > 0) plan.imbalance = static_cast<double>(std::ranges::max(placement.loads)) / plan.mean;
  return plan;
}

bool WeightDiffers(int64_t before, int64_t measured) {
  constexpr double kFactor = 1.5;
  const auto [less, more] = std::minmax(before, measured);
  return static_cast<double>(more) > kFactor * static_cast<double>(less);
}

int64_t MeasuredWeight(const MeasuredLoad& load) {
  constexpr int64_t kCluster = 20, kNode = 10, kBusyPermille = 2;
  // Each part is far beyond what exists, and the sum within 64 bits.
  const auto part = [](int64_t count) { return std::clamp<int64_t>(count, 0, kGreatestWeight); };
  if (!load.reachable) return kCluster;
  const int64_t weight = kCluster + part(load.pods) + kNode * part(load.nodes) + kBusyPermille * part(load.busy_permille);
  int64_t unit = 1;
  while (weight / unit >= 100) unit *= 10;
  return (weight + unit / 2) / unit * unit;
}

}  // namespace evenkeel::controllers::distribution
