// StatefulSet: the thin half around PlanStatefulSet.
#pragma once

#include "embedded/workloads/controllers/stateful_set_plan.h"
#include "embedded/workloads/pods/reconciler.h"
#include "embedded/workloads/pods/revisions.h"

namespace evenkeel::embedded::workloads {

class StatefulSetController final : public Reconciler {
 public:
  explicit StatefulSetController(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Status Carry(const kube::Object& set, const StatefulSetPlan& plan, const Revision& current, const Revision& update);
  base::Status CreatePod(const kube::Object& set, int64_t ordinal, const Revision& revision);

  Expectations expectations_;
};

}  // namespace evenkeel::embedded::workloads
