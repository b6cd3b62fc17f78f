#include "controllers/autoscaler/facts/budget_tracker.h"

#include <algorithm>
#include <map>

namespace evenkeel::controllers::autoscaler {

using scheduling::ClassId;
using scheduling::PodId;

BudgetTracker::BudgetTracker(const ClusterView& view) : view_(view) {
  if (view.budgets == nullptr) return;
  for (const Budget& budget : *view.budgets) {
    by_namespace_[budget.ns].push_back(static_cast<uint32_t>(remaining_.size()));
    remaining_.push_back(std::max<int64_t>(0, budget.allowed));
  }
}

std::span<const uint32_t> BudgetTracker::Matching(ClassId pod_class) {
  if (remaining_.empty()) return {};
  if (by_class_.size() <= pod_class) by_class_.resize(std::max<size_t>(view_.snapshot->classes().slots(), pod_class + 1));
  Known& known = by_class_[pod_class];
  if (known.known) return known.budgets;
  known.known = true;
  const scheduling::PodClass& of_pods = view_.snapshot->classes()[pod_class];
  const auto here = by_namespace_.find(of_pods.ns);
  if (here == by_namespace_.end()) return {};
  for (const uint32_t budget : here->second) {
    if ((*view_.budgets)[budget].selector.Matches(*of_pods.labels)) known.budgets.push_back(budget);
  }
  return known.budgets;
}

uint32_t BudgetTracker::UsedUp(ClassId pod_class) {
  for (const uint32_t budget : Matching(pod_class)) {
    if (remaining_[budget] < 1) return budget;
  }
  return scheduling::kNone;
}

BudgetTracker::Answer BudgetTracker::CanRemove(std::span<const PodId> pods) {
  Answer answer;
  if (remaining_.empty()) return answer;
  std::map<uint32_t, int64_t> wanted;
  for (const PodId pod : pods) {
    for (const uint32_t budget : Matching(view_.snapshot->ClassOf(pod))) ++wanted[budget];
  }
  for (const auto& [budget, count] : wanted) {
    if (remaining_[budget] < 1) return {false, false};
    if (remaining_[budget] < count) answer.in_parallel = false;
  }
  return answer;
}

void BudgetTracker::Remove(std::span<const PodId> pods) {
  if (remaining_.empty()) return;
  for (const PodId pod : pods) {
    for (const uint32_t budget : Matching(view_.snapshot->ClassOf(pod))) {
      remaining_[budget] = std::max<int64_t>(0, remaining_[budget] - 1);
    }
  }
}

}  // namespace evenkeel::controllers::autoscaler
