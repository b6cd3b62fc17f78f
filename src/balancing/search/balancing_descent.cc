#include "balancing/search/balancing_descent.h"

#include <algorithm>
#include <cmath>

namespace evenkeel::balancing {
namespace {

// Up to so many replicas times nodes every step's energy is computed; more where slopes do not tell everything.
constexpr size_t kExactSteps = 20'000;
constexpr size_t kExactStepsWithoutSlopes = 400'000;
constexpr size_t kPromising = 16;  // of each node: steps whose constraints are looked at
constexpr size_t kBest = 6;        // and of these so many whose energy is computed
// What saves looks in large groups: steps of one look that gain such a share of its best one are made at once, too; and a node
// that gains such a share of what the next one promised does not wait for it.
constexpr double kNearlyAsGood = 0.7;
constexpr double kAsGoodAsTheNext = 0.6;
constexpr int64_t kStepsPerRefresh = 64;  // of slopes, at least
constexpr size_t kFewSteps = 10;          // a pass with less than one for so many nodes is the last one
constexpr size_t kFewStepsOfSmallGroup = 100;

}  // namespace

bool IsLower(double energy, double than) { return energy < than - 1e-11 * std::abs(than); }

BalancingDescent::BalancingDescent(BalancingState& state, DeviationSlopes& slopes, base::Random& random, SearchBudget& budget)
    : state_(state), slopes_(slopes), budget_(budget), targets_(state, slopes, random), own_(slopes.locals()) {
  const size_t steps = state.eligible().size() * static_cast<size_t>(state.arrangement().sets().available().count());
  exact_ = steps <= (slopes.complete() ? kExactSteps : kExactStepsWithoutSlopes);
  // A replica that came to a node may go on from there.
  for (const NodeId node : state.arrangement().sets().all()) {
    if (state.arrangement().sets().available().test(node)) sources_.push_back(node);
  }
}

void BalancingDescent::CollectOwn(NodeId node) {
  for (const uint32_t local : own_touched_) own_[local] = 0;
  own_touched_.clear();
  const Arrangement& arrangement = state_.arrangement();
  for (const ReplicaId replica : arrangement.On(node)) {
    const uint32_t local = slopes_.LocalOf(arrangement.ServiceOf(replica));
    if (local == kNoId) continue;
    const std::span<const int64_t> loads = arrangement.LoadsOf(replica);
    for (uint32_t i = 0; i < loads.size(); ++i) {
      if (own_[local + i] == 0) own_touched_.push_back(local + i);
      own_[local + i] += static_cast<double>(loads[i]);
    }
  }
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
    row_.push_back({slopes_.TermOf(metrics[i].metric), local == kNoId ? kNoId : local + i, static_cast<double>(loads[i])});
  }
}

void BalancingDescent::OfferExactly(const BalancingStep& step) {
  ++budget_.spent;
  const double energy = state_.EnergyAfter(step);
  if (!IsLower(energy, best_.empty() ? state_.energy() : best_.front().energy) || !state_.Allows(step)) return;
  best_.assign(1, {0, energy, step});
}

void BalancingDescent::Offer(const BalancingStep& step, double slope) {
  ++looked_;
  if (best_.size() == kPromising && slope >= best_.back().slope) return;
  if (allowed_only_ && !state_.Allows(step)) return;
  if (best_.size() == kPromising) best_.pop_back();
  const auto place = std::ranges::upper_bound(best_, slope, {}, &Candidate::slope);
  best_.insert(place, {slope, 0, step});
}

void BalancingDescent::LookAtShifts(ReplicaId replica, NodeId node) {
  const std::span<const NodeId> targets = targets_.For(state_.arrangement().ServiceOf(replica), node);
  if (exact_) {
    for (const NodeId target : targets) {
      if (target != node) OfferExactly({replica, target, kNoId});
    }
    return;
  }
  RowOf(replica);
  double leaving = 0;
  for (const LoadOfTerm& load : row_) {
    leaving += slopes_.Change(load.term, node, -load.load);
    if (load.local == kNoId) continue;
    // What the service has on the target is not looked up here: mostly nothing.
    leaving += slopes_.LocalChange(load.local, own_[load.local], -load.load) + slopes_.LocalChange(load.local, 0, load.load);
  }
  for (const NodeId target : targets) {
    if (target == node) continue;
    double slope = leaving;
    for (const LoadOfTerm& load : row_) slope += slopes_.Change(load.term, target, load.load);
    if (best_.size() < kPromising || slope < best_.back().slope) Offer({replica, target, kNoId}, slope);
  }
  looked_ += static_cast<int64_t>(targets.size());
}

void BalancingDescent::LookAtSwap(ReplicaId primary, ReplicaId secondary) {
  if (!state_.Eligible(primary) || !state_.Eligible(secondary)) return;
  const BalancingStep step{primary, kNoId, secondary};
  if (exact_) return OfferExactly(step);
  const Arrangement& arrangement = state_.arrangement();
  const std::vector<ServiceMetric>& metrics = state_.cluster().services[arrangement.ServiceOf(primary)].metrics;
  const NodeId from = arrangement.NodeOf(primary);
  const uint32_t local = slopes_.LocalOf(arrangement.ServiceOf(primary));
  double slope = 0;
  for (const auto& [node, removed, added] : arrangement.ChangesOfSwap(primary, secondary)) {
    for (uint32_t i = 0; i < metrics.size(); ++i) {
      const double more = static_cast<double>(added[i] - removed[i]);
      slope += slopes_.Change(slopes_.TermOf(metrics[i].metric), node, more);
      if (local == kNoId) continue;
      // What the service has on other nodes is not looked up here: mostly this replica.
      slope += slopes_.LocalChange(local + i, node == from ? own_[local + i] : static_cast<double>(removed[i]), more);
    }
  }
  Offer(step, slope);
}

void BalancingDescent::LookAtSwaps(ReplicaId replica) {
  const Arrangement& arrangement = state_.arrangement();
  if (arrangement.RoleOf(replica) != Role::kPrimary) return;
  arrangement.ForEachOf(arrangement.PartitionOf(replica), [&](ReplicaId other) {
    if (arrangement.RoleOf(other) == Role::kSecondary) LookAtSwap(replica, other);
  });
}

void BalancingDescent::LookAtAll(NodeId node) {
  best_.clear();
  looked_ = 0;
  for (const ReplicaId replica : state_.arrangement().On(node)) {
    if (!state_.arrangement().IsNew(replica) && state_.Eligible(replica)) LookAtSwaps(replica);
  }
  for (const ReplicaId replica : state_.arrangement().On(node)) {
    if (state_.swaps_only() || state_.arrangement().IsNew(replica) || !state_.Eligible(replica)) continue;
    LookAtShifts(replica, node);
  }
  budget_.spent += looked_ / kSlopesPerStep;
}

void BalancingDescent::LookAt(NodeId node) {
  targets_.NewSample();
  if (exact_) return LookAtAll(node);
  CollectOwn(node);
  // Slopes are cheaper than constraints, so that these are asked of the most promising steps only, unless they forbid them all.
  allowed_only_ = false;
  LookAtAll(node);
  const bool more = best_.size() == kPromising;
  KeepAllowed();
  if (best_.empty() && more) {
    allowed_only_ = true;
    LookAtAll(node);
    KeepAllowed();
  }
  for (Candidate& candidate : best_) {
    ++budget_.spent;
    candidate.energy = state_.EnergyAfter(candidate.step);
  }
  std::ranges::stable_sort(best_, {}, &Candidate::energy);
}

void BalancingDescent::KeepAllowed() {
  size_t kept = 0;
  for (size_t i = 0; i < best_.size() && kept < kBest; ++i) {
    if (allowed_only_ || state_.Allows(best_[i].step)) best_[kept++] = best_[i];
  }
  best_.resize(kept);
}

bool BalancingDescent::MakeAndNote(const BalancingStep& step) {
  if (!state_.Make(step)) return false;
  targets_.NoteStep();
  if (--steps_until_refresh_ <= 0) {
    slopes_.Refresh();
    steps_until_refresh_ = std::max(kStepsPerRefresh, static_cast<int64_t>(sources_.size() / 8));
  }
  return true;
}

// Others of the same look that are nearly as good as the one that was made: in large groups this saves most of the looks.
void BalancingDescent::MakeNextBest(NodeId node, double gain, int64_t& made) {
  if (exact_ || state_.slots() != INT64_MAX) return;
  const std::vector<Candidate> others(best_.begin() + 1, best_.end());
  for (const Candidate& other : others) {
    if (state_.arrangement().NodeOf(other.step.replica) != node || !state_.Allows(other.step)) continue;
    ++budget_.spent;
    const double energy = state_.energy();
    if (energy - state_.EnergyAfter(other.step) < kNearlyAsGood * gain) continue;
    made += MakeAndNote(other.step) ? 1 : 0;
  }
}

int64_t BalancingDescent::Pass() {
  Queue queue;
  const auto add = [&](NodeId node, double gain) { queue.emplace(gain, UINT32_MAX - node); };
  for (const NodeId node : sources_) {
    if (budget_.over()) return 0;
    LookAt(node);
    if (!best_.empty() && IsLower(best_.front().energy, state_.energy())) add(node, state_.energy() - best_.front().energy);
  }
  int64_t made = 0;
  const double enough = exact_ || state_.slots() != INT64_MAX ? 1 - 1e-9 : kAsGoodAsTheNext;
  while (!queue.empty() && !budget_.over()) {
    const NodeId node = UINT32_MAX - queue.top().second;
    queue.pop();
    LookAt(node);
    if (best_.empty() || !IsLower(best_.front().energy, state_.energy())) continue;
    const double gain = state_.energy() - best_.front().energy;
    if (!queue.empty() && gain < queue.top().first * enough) {
      add(node, gain);
      continue;
    }
    const BalancingStep step = best_.front().step;
    if (!MakeAndNote(step)) continue;
    ++made;
    MakeNextBest(node, gain, made);
    add(node, gain);
  }
  return made;
}

int64_t BalancingDescent::Run() {
  slopes_.Refresh();
  int64_t all = 0;
  while (!budget_.over()) {
    const int64_t made = Pass();
    all += made;
    // The last few steps of a large group are not worth looking at everything once more.
    if (made <= static_cast<int64_t>(sources_.size() / (exact_ ? kFewStepsOfSmallGroup : kFewSteps))) break;
  }
  return all;
}

}  // namespace evenkeel::balancing
