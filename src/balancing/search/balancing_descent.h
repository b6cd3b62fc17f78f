// The descent of the balancing search: again and again the single step (a shift, or an exchange of roles) that lowers the
// energy most, until none lowers it.
//
// Source nodes wait in a queue ordered by what their best step gained when they were last looked at; that of the first is
// looked at again and made when it is still better than what the next one promises. A look at a node goes over all its
// replicas and the target nodes (balancing_targets.h): in small groups each step's energy is computed, in large ones only that
// of the few with the best slopes. O(replicas of a node * targets * metrics) per look.
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
inline constexpr int64_t kSlopesPerStep = 32;

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

 private:
  struct Candidate {
    double slope = 0;   // by how much the deviation rises
    double energy = 0;  // after it
    BalancingStep step;
  };
  struct LoadOfTerm {
    uint32_t term;
    uint32_t local;  // kNoId without a local domain
    double load;
  };
  using Queue = std::priority_queue<std::pair<double, uint32_t>>;

  int64_t Pass();
  void MakeNextBest(NodeId node, double gain, int64_t& made);
  bool MakeAndNote(const BalancingStep& step);
  /// Fills best_, the best first.
  void LookAt(NodeId node);
  void LookAtAll(NodeId node);
  /// Of the promising steps those that may be made.
  void KeepAllowed();
  void LookAtShifts(ReplicaId replica, NodeId node);
  void LookAtSwaps(ReplicaId replica);
  void LookAtSwap(ReplicaId primary, ReplicaId secondary);
  void Offer(const BalancingStep& step, double slope);
  void OfferExactly(const BalancingStep& step);
  void CollectOwn(NodeId node);
  void RowOf(ReplicaId replica);

  BalancingState& state_;
  DeviationSlopes& slopes_;
  SearchBudget& budget_;
  BalancingTargets targets_;
  bool exact_ = false, allowed_only_ = false;
  std::vector<NodeId> sources_;
  std::vector<Candidate> best_;
  std::vector<LoadOfTerm> row_;
  std::vector<double> own_;  // by local metric: what services have on the node that is looked at
  std::vector<uint32_t> own_touched_;
  int64_t looked_ = 0, steps_until_refresh_ = 0;
};

}  // namespace evenkeel::balancing
