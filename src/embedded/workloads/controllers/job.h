// Job, and the deletion of finished jobs after their time to live: the thin half around PlanJob.
#pragma once

#include "embedded/workloads/controllers/job_plan.h"
#include "embedded/workloads/pods/expectations.h"
#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

class JobController final : public Reconciler {
 public:
  explicit JobController(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Result<Again> ReleaseOrphans(const std::string& key);
  base::Status ReleasePod(const kube::Pod& pod);
  base::Status Carry(const kube::Object& job, const JobPlan& plan);

  Expectations expectations_;
};

}  // namespace evenkeel::embedded::workloads
