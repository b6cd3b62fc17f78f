// What PodDisruptionBudgets still allow while a plan is made: each removal that is planned takes from them, so that a loop
// never plans more disruptions than the budgets had left when it began.
#pragma once

#include <span>
#include <vector>

#include "controllers/autoscaler/facts/cluster_view.h"

namespace evenkeel::controllers::autoscaler {

class BudgetTracker {
 public:
  /// What a set of pods would take.
  struct Answer {
    bool allowed = true;      ///< no budget concerned is used up
    bool in_parallel = true;  ///< every budget concerned allows all of them at once
  };

  /// The view must outlive the tracker, and its classes and budgets must not change meanwhile.
  explicit BudgetTracker(const ClusterView& view);

  /// Indices (into ClusterView::budgets) of the budgets that select pods of the class. O(budgets of the namespace) the first
  /// time, then O(1).
  std::span<const uint32_t> Matching(scheduling::ClassId pod_class);
  /// The first budget that selects the class and allows nothing more; kNone when there is none.
  uint32_t UsedUp(scheduling::ClassId pod_class);
  Answer CanRemove(std::span<const scheduling::PodId> pods);
  /// Takes one per pod and budget; what a budget does not have is not owed later: it stays at 0.
  void Remove(std::span<const scheduling::PodId> pods);
  int64_t Remaining(uint32_t budget) const { return remaining_[budget]; }

 private:
  const ClusterView& view_;
  std::vector<int64_t> remaining_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> by_namespace_;
  struct Known {
    bool known = false;
    std::vector<uint32_t> budgets;
  };
  std::vector<Known> by_class_;
};

}  // namespace evenkeel::controllers::autoscaler
