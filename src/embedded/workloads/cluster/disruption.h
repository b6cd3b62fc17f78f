// PodDisruptionBudget: how many pods may be disturbed now. Evictions count against the status that is written here.
// Follows: kubernetes@1.36 pkg/controller/disruption/disruption.go
#pragma once

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

/// What the controllers of a budget's pods want in sum, for percentages and maxUnavailable.
struct ExpectedPods {
  int64_t count = 0;
  std::string error;  ///< why it cannot be known; empty: it is known
};

/// The status; `again` (if not null) gets the time until an entry of disruptedPods expires (2 minutes after it was made). Pure.
base::Json BudgetStatus(const base::Json& budget, const std::vector<PodPointer>& pods, const ExpectedPods& expected,
                        base::Time now, Again* again);

class DisruptionController final : public Reconciler {
 public:
  explicit DisruptionController(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  ExpectedPods Expected(const std::vector<PodPointer>& pods);
  void EnqueueNamespace(const std::string& ns, const PodPointer& before, const PodPointer& after);
};

}  // namespace evenkeel::embedded::workloads
