// Single steps of the balancing search (shifts, exchanges of roles) as a model of the solver's descent (solver/promises.h),
// which goes from one to the next until none lowers the energy.
//
// A look at a replica goes over the target nodes (balancing_targets.h): in small groups each step's energy is computed, in
// others that of the ones with the best slopes. O(targets * metrics) per look.
#pragma once

#include <cstdint>
#include <span>
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

  // See solver::Descendable, in units of deviation. Where slopes decide, a promise is a guess, and constraints are not asked.
  double Promise(ReplicaId replica);
  double Gain(ReplicaId replica);
  bool TakeBest();
  bool Over() const { return budget_.over(); }

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
  void Refresh();
  void LookAt(ReplicaId replica);
  void LookAtShifts(ReplicaId replica);
  void LookAtSwaps(ReplicaId replica);
  void LookAtSwap(ReplicaId primary, ReplicaId secondary);
  void Offer(const BalancingStep& step, double slope);
  void OfferExactly(const BalancingStep& step);
  void CollectRises(ServiceId service, double leaving);
  void RowOf(ReplicaId replica);

  BalancingState& state_;
  DeviationSlopes& slopes_;
  SearchBudget& budget_;
  BalancingTargets targets_;
  bool exact_ = false, smooth_ = false, allowed_only_ = false;
  size_t nodes_ = 0;
  size_t keep_ = 1;  // of promising steps
  double price_ = 0, per_deviation_ = 1;
  std::vector<Candidate> best_;
  std::vector<LoadOfTerm> row_;
  std::vector<double> rises_;  // by node
  std::vector<double> more_;   // by load of row_: the rise for each unit that the service has on a node
  int64_t looked_ = 0, steps_until_refresh_ = 0;
  uint64_t promises_ = 0;
};

}  // namespace evenkeel::balancing
