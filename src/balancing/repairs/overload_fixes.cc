#include "balancing/repairs/overload_fixes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

namespace evenkeel::balancing {
namespace {

constexpr size_t kOptionsCompared = 16;
constexpr size_t kTargetsOfParents = 16;
constexpr size_t kOptionsWithRoom = 6;
constexpr size_t kNodesWithRoom = 12;
constexpr int64_t kMovesForRoom = 2;
constexpr double kImpossible = std::numeric_limits<double>::infinity();

// So many of them, over the whole range.
template <typename T>
std::vector<T> Sample(std::vector<T> all, size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (size_t i = 0; i < most; ++i) some.push_back(std::move(all[i * (all.size() - 1) / (most - 1)]));
  return some;
}

}  // namespace

OverloadFixer::OverloadFixer(Mover& mover, const Constraints& constraints, const Overload& overload, bool make_room,
                             double most_cost)
    : mover_(mover),
      journal_(mover.journal()),
      arrangement_(journal_.arrangement()),
      constraints_(constraints),
      overload_(overload),
      make_room_(make_room),
      most_cost_(most_cost) {}

double OverloadFixer::CostOf(const Option& option) const {
  return option.other != kNoId ? journal_.CostOfSwapping() : journal_.CostOfMoving(option.replica);
}

std::vector<double> OverloadFixer::Costs() const {
  std::set<double> costs;
  for (const Option& option : FindOptions(FindExcess())) costs.insert(CostOf(option));
  return {costs.begin(), costs.end()};
}

int64_t OverloadFixer::AmountOf(MetricId metric) const {
  if (overload_.application == kNoId) return arrangement_.UsedOf(metric, overload_.node);
  const std::vector<ApplicationMetric>& metrics = arrangement_.cluster().applications[overload_.application].metrics;
  const auto found = std::ranges::find(metrics, metric, &ApplicationMetric::metric);
  return arrangement_.LoadOnNode(overload_.application, static_cast<size_t>(found - metrics.begin()), overload_.node);
}

std::vector<OverloadFixer::Excess> OverloadFixer::FindExcess() const {
  std::vector<Excess> excess;
  for (const Overload::Limit& limit : overload_.limits) {
    const int64_t amount = AmountOf(limit.metric) - limit.limit;
    if (amount > 0) excess.push_back({limit.metric, amount});
  }
  return excess;
}

bool OverloadFixer::Fixed() const { return FindExcess().empty(); }

void OverloadFixer::AddOption(std::vector<Option>& options, const std::vector<Excess>& excess, ReplicaId replica,
                              ReplicaId other) const {
  if (stuck_.contains({replica, other})) return;
  const std::vector<ServiceMetric>& metrics = arrangement_.cluster().services[arrangement_.ServiceOf(replica)].metrics;
  const std::span<const int64_t> goes = arrangement_.LoadsOf(replica);
  Option option{.replica = replica, .other = other, .relief = {}};
  for (const auto& [metric, amount] : excess) {
    const auto found = std::ranges::find(metrics, metric, &ServiceMetric::metric);
    int64_t relief = 0;
    if (found != metrics.end()) {
      const size_t index = static_cast<size_t>(found - metrics.begin());
      relief = goes[index] - (other == kNoId ? 0 : arrangement_.LoadsIfSwapped(replica, other)[index]);
    }
    if (relief < 0) return;
    option.relief.push_back(std::min(relief, amount));
    option.share += static_cast<double>(option.relief.back()) / static_cast<double>(amount);
  }
  if (option.share > 0) options.push_back(std::move(option));
}

std::vector<OverloadFixer::Option> OverloadFixer::FindOptions(const std::vector<Excess>& excess) const {
  std::vector<Option> options;
  for (const ReplicaId replica : arrangement_.On(overload_.node)) {
    if (!mover_.Movable(constraints_, replica)) continue;
    const ServiceId service = arrangement_.ServiceOf(replica);
    if (overload_.application != kNoId && arrangement_.cluster().services[service].application != overload_.application)
      continue;
    AddOption(options, excess, replica, kNoId);
    const Role role = arrangement_.RoleOf(replica);
    if (role != Role::kPrimary && role != Role::kSecondary) continue;
    arrangement_.ForEachOf(arrangement_.PartitionOf(replica), [&](ReplicaId other) {
      const Role other_role = arrangement_.RoleOf(other);
      const bool exchange = role == Role::kPrimary ? other_role == Role::kSecondary : other_role == Role::kPrimary;
      if (exchange && mover_.Movable(constraints_, other)) AddOption(options, excess, replica, other);
    });
  }
  std::erase_if(options, [this](const Option& option) { return CostOf(option) > most_cost_; });
  const auto last_resort = [this](const Option& option) {
    return option.other == kNoId && journal_.IsLastResort(option.replica);
  };
  if (!std::ranges::all_of(options, last_resort)) std::erase_if(options, last_resort);
  std::ranges::sort(options, [](const Option& a, const Option& b) {
    return std::tuple(-a.share, a.replica, a.other) < std::tuple(-b.share, b.replica, b.other);
  });
  return options;
}

// Those after which as few more movements as now are enough: the largest of the others make up for the rest. The largest of
// them when all together are not enough.
std::vector<OverloadFixer::Option> OverloadFixer::Sufficient(std::vector<Option> options,
                                                             const std::vector<Excess>& excess) const {
  std::set<ReplicaId> replicas;
  for (const Option& option : options) replicas.insert(option.replica);
  size_t needed = 0;
  std::vector<std::vector<int64_t>> sums(excess.size());  // of the largest reliefs
  for (size_t i = 0; i < excess.size(); ++i) {
    std::map<ReplicaId, int64_t> of_replica;
    for (const Option& option : options) {
      int64_t& relief = of_replica[option.replica];
      relief = std::max(relief, option.relief[i]);
    }
    std::vector<int64_t> reliefs;
    for (const auto& [replica, relief] : of_replica) reliefs.push_back(relief);
    std::ranges::sort(reliefs, std::greater<>());
    sums[i].push_back(0);
    for (const int64_t relief : reliefs) sums[i].push_back(sums[i].back() + relief);
    if (sums[i].back() < excess[i].amount) {
      if (options.size() > kOptionsCompared) options.resize(kOptionsCompared);
      return options;
    }
    const auto enough = std::ranges::lower_bound(sums[i], excess[i].amount);
    needed = std::max(needed, static_cast<size_t>(enough - sums[i].begin()));
  }
  std::vector<Option> sufficient;
  for (const Option& option : options) {
    bool enough = true;
    for (size_t i = 0; i < excess.size(); ++i) enough &= excess[i].amount - option.relief[i] <= sums[i][needed - 1];
    if (enough) sufficient.push_back(option);
  }
  return sufficient.empty() ? options : sufficient;
}

double OverloadFixer::EnergyOf(const Option& option, NodeId& target) {
  const double cost = journal_.cost() + CostOf(option);
  if (option.other != kNoId) {
    const bool leads = arrangement_.RoleOf(option.replica) == Role::kPrimary;
    const ReplicaId primary = leads ? option.replica : option.other, secondary = leads ? option.other : option.replica;
    const auto obstacle = constraints_.SwapObstacle(primary, secondary);
    if (obstacle && obstacle != Constraint::kAffinity) return kImpossible;
    const auto changes = arrangement_.ChangesOfSwap(primary, secondary);
    return journal_.EnergyOf(journal_.score().AverageDeviationAfter(arrangement_.ServiceOf(primary), changes), cost);
  }
  const std::vector<Target> targets = mover_.finder().Best(constraints_, option.replica, arrangement_.RoleOf(option.replica));
  if (targets.empty()) return kImpossible;
  target = targets[0].node;
  return journal_.EnergyOf(targets[0].deviation, cost);
}

bool OverloadFixer::TakeBest(std::vector<Option> options) {
  struct Rated {
    double energy;
    const Option* option;
    NodeId target;
  };
  std::vector<Rated> rated;
  options = Sample(std::move(options), kOptionsCompared);
  for (const Option& option : options) {
    NodeId target = kNoId;
    const double energy = EnergyOf(option, target);
    if (energy == kImpossible) {
      stuck_.insert({option.replica, option.other});
    } else {
      rated.push_back({energy, &option, target});
    }
  }
  std::ranges::sort(rated, {}, [](const Rated& one) { return std::tuple(one.energy, one.option->replica, one.option->other); });
  const size_t mark = journal_.Mark();
  const double before = Total();
  for (const Rated& best : rated) {
    // What follows may put back as much as went.
    if (Take(*best.option, best.target) && Total() < before) return true;
    journal_.UndoTo(mark);
    stuck_.insert({best.option->replica, best.option->other});
  }
  return false;
}

bool OverloadFixer::Take(const Option& option, NodeId target) {
  const Role role = arrangement_.RoleOf(option.replica);
  if (option.other != kNoId) {
    const bool leads = role == Role::kPrimary;
    return mover_.TrySwap(constraints_, leads ? option.replica : option.other, leads ? option.other : option.replica);
  }
  if (mover_.TryMove(constraints_, option.replica, target)) return true;
  if (mover_.FollowersOf(arrangement_.ServiceOf(option.replica)).empty()) return false;
  // Those that follow it may fit somewhere else.
  for (const Target& other : mover_.finder().Best(constraints_, option.replica, role, kTargetsOfParents)) {
    if (mover_.TryMove(constraints_, option.replica, other.node)) return true;
  }
  return false;
}

double OverloadFixer::Total() const {
  double total = 0;
  for (const Overload::Limit& limit : overload_.limits) {
    const int64_t excess = std::max<int64_t>(0, AmountOf(limit.metric) - limit.limit);
    total += static_cast<double>(excess) / static_cast<double>(std::max<int64_t>(1, limit.limit));
  }
  return total;
}

bool OverloadFixer::TakeOne(const std::vector<Option>& options) {
  const Settings& settings = arrangement_.settings();
  if (settings.enable_preferred_swap_solution_in_constraint_check && settings.prefer_existing_replica_locations) {
    std::vector<Option> swaps;
    std::ranges::copy_if(options, std::back_inserter(swaps), [](const Option& option) { return option.other != kNoId; });
    if (!swaps.empty() && TakeBest(std::move(swaps))) return true;
  }
  return TakeBest(options);
}

bool OverloadFixer::TakeWithRoom(const std::vector<Option>& options) {
  const size_t mark = journal_.Mark();
  for (const Option& option : options) {
    if (option.other != kNoId) continue;
    const Role role = arrangement_.RoleOf(option.replica);
    for (const NodeId node : mover_.Crowded(constraints_, option.replica, role, kNodesWithRoom)) {
      if (mover_.MakeRoom(constraints_, option.replica, node, role, kMovesForRoom, 2) &&
          arrangement_.NodeOf(option.replica) == overload_.node && mover_.TryMove(constraints_, option.replica, node)) {
        return true;
      }
      journal_.UndoTo(mark);
    }
  }
  return false;
}

void OverloadFixer::Fix() {
  while (mover_.slots_left() > 0) {
    const std::vector<Excess> excess = FindExcess();
    if (excess.empty()) return;
    const std::vector<Option> options = FindOptions(excess);
    if (!options.empty()) {
      TakeOne(Sufficient(options, excess));
      continue;
    }
    if (!make_room_) return;
    const std::set<std::pair<ReplicaId, ReplicaId>> stuck = std::exchange(stuck_, {});
    std::vector<Option> again = Sufficient(FindOptions(excess), excess);
    again = Sample(std::move(again), kOptionsWithRoom);
    const bool taken = TakeWithRoom(again);
    stuck_ = stuck;
    if (!taken) return;
  }
}

}  // namespace evenkeel::balancing
