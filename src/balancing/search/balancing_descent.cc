#include "balancing/search/balancing_descent.h"

#include <algorithm>
#include <cmath>

#include "solver/promises.h"

namespace evenkeel::balancing {
namespace {

// Up to so many replicas times nodes every step's energy is computed; more where slopes do not tell everything.
constexpr size_t kExactSteps = 20'000;
constexpr size_t kExactStepsWithoutSlopes = 400'000;
constexpr size_t kPromising = 4;  // of each replica: steps whose constraints are looked at
// Of many replicas times nodes not every look can be exact: one that gains such a share of what the next one promised does not
// wait for it.
constexpr double kAsGoodAsTheNext = 0.6;
constexpr int64_t kStepsPerRefresh = 64;  // of slopes, at least
constexpr size_t kFewSteps = 10;          // a pass with less than one for so many nodes is the last one
constexpr size_t kFewStepsOfSmallGroup = 100;
constexpr uint64_t kLooksPerSample = 16;

}  // namespace

bool IsLower(double energy, double than) { return energy < than - 1e-11 * std::abs(than); }

BalancingDescent::BalancingDescent(BalancingState& state, DeviationSlopes& slopes, base::Random& random, SearchBudget& budget)
    : state_(state), slopes_(slopes), budget_(budget), targets_(state, slopes, random) {
  nodes_ = state.arrangement().sets().available().count();
  const size_t steps = state.eligible().size() * nodes_;
  exact_ = steps <= (slopes.complete() ? kExactSteps : kExactStepsWithoutSlopes);
  rises_.resize(state.cluster().nodes.size());
}

// By node what the deviation rises by when the replica of row_ comes there; by `leaving` where there is nothing.
void BalancingDescent::CollectRises(ServiceId service, double leaving) {
  std::ranges::fill(rises_, leaving);
  for (const LoadOfTerm& load : row_) slopes_.AddChanges(load.term, load.load, rises_);
  if (slopes_.LocalOf(service) == kNoId) return;
  more_.clear();
  for (const LoadOfTerm& load : row_) more_.push_back(slopes_.LocalMore(load.local, load.load));
  state_.arrangement().loads().Local(service)->ForEachRow([&](NodeId node, const int64_t* row) {
    for (size_t i = 0; i < row_.size(); ++i) rises_[node] += more_[i] * static_cast<double>(row[row_[i].index]);
  });
}

void BalancingDescent::RowOf(ReplicaId replica) {
  const Arrangement& arrangement = state_.arrangement();
  const ServiceId service = arrangement.ServiceOf(replica);
  const std::vector<ServiceMetric>& metrics = state_.cluster().services[service].metrics;
  const std::span<const int64_t> loads = arrangement.LoadsOf(replica);
  const uint32_t local = slopes_.LocalOf(service);
  row_.clear();
  for (uint32_t i = 0; i < loads.size(); ++i) {
    if (loads[i] == 0) continue;
    row_.push_back({slopes_.TermOf(metrics[i].metric), local == kNoId ? kNoId : local + i, i, static_cast<double>(loads[i])});
  }
}

void BalancingDescent::OfferExactly(const BalancingStep& step) {
  ++budget_.spent;
  const double energy = state_.EnergyAfter(step);
  if (!IsLower(energy, best_.empty() ? state_.energy() : best_.front().energy) || !state_.Allows(step)) return;
  best_.assign(1, {0, energy, step});
}

void BalancingDescent::Offer(const BalancingStep& step, double slope) {
  slope += price_ * state_.CostOf(step);
  if (slope >= 0 || (best_.size() == keep_ && slope >= best_.back().slope)) return;
  if (allowed_only_ && !state_.Allows(step)) return;
  if (best_.size() == keep_) best_.pop_back();
  const auto place = std::ranges::upper_bound(best_, slope, {}, &Candidate::slope);
  best_.insert(place, {slope, 0, step});
}

void BalancingDescent::LookAtShifts(ReplicaId replica) {
  const ServiceId service = state_.arrangement().ServiceOf(replica);
  const NodeId node = state_.arrangement().NodeOf(replica);
  const std::span<const NodeId> targets = targets_.For(service, node);
  if (exact_) {
    for (const NodeId target : targets) {
      if (target != node) OfferExactly({replica, target, kNoId});
    }
    return;
  }
  RowOf(replica);
  const bool local = slopes_.LocalOf(service) != kNoId, sampled = targets_.IsSampled(service, node);
  const int64_t* here = local ? state_.arrangement().loads().Local(service)->RowAt(node) : nullptr;
  double leaving = 0, least = 0;  // with what it adds to the service on a node that has nothing of it
  for (const LoadOfTerm& load : row_) {
    leaving += slopes_.Change(load.term, node, -load.load);
    least += slopes_.LeastChange(load.term, load.load);
    if (!local) continue;
    leaving += slopes_.LocalChange(load.local, 0, load.load);
    if (here != nullptr) leaving += slopes_.LocalChange(load.local, static_cast<double>(here[load.index]), -load.load);
  }
  ++looked_;
  // Away from where it was at first a movement is paid for, and on the way there one is taken back.
  const double cost = price_ * CostOfMove(state_.settings(), state_.cluster().replicas[replica].move_cost);
  const double least_cost = node == state_.HomeOf(replica) ? cost : -cost;
  const auto worst = [&] { return (best_.size() == keep_ ? best_.back().slope : 0) - least_cost; };
  // Mostly nothing is to be gained, which needs no look at nodes.
  if (slopes_.complete() && leaving + least >= worst()) return;
  looked_ += static_cast<int64_t>(targets.size());
  double limit = worst();
  const auto offer = [&](NodeId target, double slope) {
    if (slope >= limit || target == node) return;
    Offer({replica, target, kNoId}, slope);
    limit = worst();
  };
  if (!sampled) {
    CollectRises(service, leaving);
    for (const NodeId target : targets) offer(target, rises_[target]);
    return;
  }
  for (const NodeId target : targets) {
    // What the service has on one of very many nodes is not looked up: mostly nothing.
    double slope = leaving;
    for (const LoadOfTerm& load : row_) slope += slopes_.Change(load.term, target, load.load);
    offer(target, slope);
  }
}

void BalancingDescent::LookAtSwap(ReplicaId primary, ReplicaId secondary) {
  if (!state_.Eligible(primary) || !state_.Eligible(secondary)) return;
  const BalancingStep step{primary, kNoId, secondary};
  if (exact_) return OfferExactly(step);
  const Arrangement& arrangement = state_.arrangement();
  const ServiceId service = arrangement.ServiceOf(primary);
  const std::vector<ServiceMetric>& metrics = state_.cluster().services[service].metrics;
  const uint32_t local = slopes_.LocalOf(service);
  double slope = 0;
  for (const auto& [node, removed, added] : arrangement.ChangesOfSwap(primary, secondary)) {
    const int64_t* own = local == kNoId ? nullptr : arrangement.loads().Local(service)->RowAt(node);
    for (uint32_t i = 0; i < metrics.size(); ++i) {
      if (added[i] == removed[i]) continue;
      const double more = static_cast<double>(added[i] - removed[i]);
      slope += slopes_.Change(slopes_.TermOf(metrics[i].metric), node, more);
      if (own != nullptr) slope += slopes_.LocalChange(local + i, static_cast<double>(own[i]), more);
    }
  }
  ++looked_;
  Offer(step, slope);
}

void BalancingDescent::LookAtSwaps(ReplicaId replica) {
  const Arrangement& arrangement = state_.arrangement();
  if (arrangement.RoleOf(replica) != Role::kPrimary) return;
  arrangement.ForEachOf(arrangement.PartitionOf(replica), [&](ReplicaId other) {
    if (arrangement.RoleOf(other) == Role::kSecondary) LookAtSwap(replica, other);
  });
}

void BalancingDescent::LookAt(ReplicaId replica) {
  best_.clear();
  looked_ = 0;
  LookAtSwaps(replica);
  if (!state_.swaps_only()) LookAtShifts(replica);
  budget_.spent += exact_ ? 0 : 1 + looked_ / kSlopesPerStep;
}

double BalancingDescent::Promise(ReplicaId replica) {
  if (promises_++ % kLooksPerSample == 0) targets_.NewSample();
  if (exact_) return Gain(replica);
  keep_ = 1;
  LookAt(replica);
  return best_.empty() ? 0 : -best_.front().slope;
}

double BalancingDescent::Gain(ReplicaId replica) {
  const double now = state_.energy();
  if (!exact_) {
    targets_.NewSample();
    // Slopes are cheaper than constraints, so that these are asked of the most promising steps only, unless they forbid them
    // all.
    keep_ = kPromising;
    LookAt(replica);
    const bool more = best_.size() == keep_;
    std::erase_if(best_, [&](const Candidate& candidate) { return !state_.Allows(candidate.step); });
    if (best_.empty() && more) {
      allowed_only_ = true;
      LookAt(replica);
      allowed_only_ = false;
    }
    if (smooth_) return best_.empty() ? 0 : -best_.front().slope;
    for (Candidate& candidate : best_) {
      ++budget_.spent;
      candidate.energy = state_.EnergyAfter(candidate.step);
    }
    std::ranges::stable_sort(best_, {}, &Candidate::energy);
  } else {
    LookAt(replica);
  }
  return best_.empty() || !IsLower(best_.front().energy, now) ? 0 : (now - best_.front().energy) / per_deviation_;
}

bool BalancingDescent::TakeBest() {
  const BalancingStep step = best_.front().step;
  const NodeId from = state_.arrangement().NodeOf(step.replica);
  if (!state_.Make(step)) return false;
  slopes_.RefreshNode(from);
  slopes_.RefreshNode(step.to == kNoId ? state_.arrangement().NodeOf(step.other) : step.to);
  targets_.NoteStep();
  if (--steps_until_refresh_ <= 0) Refresh();
  return true;
}

void BalancingDescent::Refresh() {
  slopes_.Refresh();
  price_ = state_.PriceOfMovement();
  per_deviation_ = state_.EnergyOfDeviation();
  steps_until_refresh_ = std::max(kStepsPerRefresh, static_cast<int64_t>(nodes_ / 8));
}

int64_t BalancingDescent::RunSmoothly() {
  exact_ = false;
  smooth_ = true;
  return Run();
}

int64_t BalancingDescent::Run() {
  Refresh();
  const double enough = exact_ || state_.slots() != INT64_MAX ? 1 - 1e-9 : kAsGoodAsTheNext;
  int64_t all = 0;
  while (!budget_.over()) {
    promises_ = 0;
    // All replicas, since one that came to a node may go on from there.
    const int64_t made = solver::DescendOnce(*this, state_.eligible(), enough);
    all += made;
    // The last few steps of a large group are not worth looking at everything once more.
    if (made <= static_cast<int64_t>(nodes_ / (exact_ ? kFewStepsOfSmallGroup : kFewSteps))) break;
  }
  return all;
}

}  // namespace evenkeel::balancing
