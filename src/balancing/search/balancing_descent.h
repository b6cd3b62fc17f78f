// The descent of the balancing search: again and again the single step (a shift, or an exchange of roles) that lowers the
// energy most, until none lowers it.
//
// Replicas wait in a queue ordered by what their best step promised when they were last looked at; the first is looked at again
// and its step made when that is still better than what the next one promises. A look goes over the target nodes
// (balancing_targets.h): in small groups each step's energy is computed, in others that of the one with the best slope.
// O(targets * metrics) per look.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "balancing/search/balancing_state.h"
#include "balancing/search/balancing_targets.h"
#include "balancing/search/deviation_slopes.h"
#include "base/random.h"

namespace evenkeel::balancing {

/// So many looks at slopes cost as much as one at an energy.
inline constexpr int64_t kSlopesPerStep = 64;

/// Steps that may still be looked at.
struct SearchBudget {
  int64_t limit = 0, spent = 0;
  bool over() const { return spent >= limit; }
};

/// Whether an energy is lower by more than rounding.
bool IsLower(double energy, double than);

class BalancingDescent {
 public:
  /// All outlive this.
  BalancingDescent(BalancingState& state, DeviationSlopes& slopes, base::Random& random, SearchBudget& budget);

  /// Answers how many steps were made.
  int64_t Run();
  /// The same, but what counts are the slopes alone, which are smooth where the deviation is not.
  int64_t RunSmoothly();

 private:
  struct Candidate {
    double slope = 0;   // by how much the deviation rises
    double energy = 0;  // after it
    BalancingStep step;
  };
  struct LoadOfTerm {
    uint32_t term;
    uint32_t local;  // kNoId without a local domain
    uint32_t index;  // among the service's metrics
    double load;
  };
  using Queue = std::priority_queue<std::pair<double, uint32_t>>;

  int64_t Pass();
  /// What the best step of the replica gains, in units of deviation; fills best_. Where slopes decide that is a guess, and
  /// constraints are not asked.
  double Promise(ReplicaId replica);
  /// The same, exactly; best_ has the step, which may be made, unless there is none.
  double Gain(ReplicaId replica);
  bool Make(const BalancingStep& step);
  void Refresh();
  void LookAt(ReplicaId replica);
  void LookAtShifts(ReplicaId replica);
  void LookAtSwaps(ReplicaId replica);
  void LookAtSwap(ReplicaId primary, ReplicaId secondary);
  void Offer(const BalancingStep& step, double slope);
  void OfferExactly(const BalancingStep& step);
  /// What a slope has to be below for a shift to be among the best, even one that takes the dearest movement back.
  double worst() const { return (best_.size() == keep_ ? best_.back().slope : 0) + price_ * largest_cost_; }
  void CollectOwn(ServiceId service);
  void CollectRises(ServiceId service, double leaving);
  void RowOf(ReplicaId replica);

  BalancingState& state_;
  DeviationSlopes& slopes_;
  SearchBudget& budget_;
  BalancingTargets targets_;
  bool exact_ = false, smooth_ = false, allowed_only_ = false;
  size_t nodes_ = 0;
  size_t keep_ = 1;  // of promising steps
  double price_ = 0, largest_cost_ = 0, per_deviation_ = 1;
  std::vector<Candidate> best_;
  std::vector<LoadOfTerm> row_;
  ServiceId own_service_ = kNoId;  // whose loads are in own_
  std::vector<double> own_;        // by metric of the service, then node
  std::vector<double> rises_;      // by node
  int64_t looked_ = 0, steps_until_refresh_ = 0;
};

}  // namespace evenkeel::balancing
