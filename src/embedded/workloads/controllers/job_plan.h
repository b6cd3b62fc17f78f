// What a Job does next. Pure. Finished pods carry the finalizer
// batch.kubernetes.io/job-tracking until they are counted in the status, so that a pod that somebody deletes is not forgotten.
// Follows: kubernetes@1.36 pkg/controller/job/job_controller.go
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "embedded/workloads/pods/pods.h"

namespace evenkeel::embedded::workloads {

inline constexpr const char* kJobFinalizer = "batch.kubernetes.io/job-tracking";

struct JobEvent {
  bool warning = false;
  std::string reason, message;
};

struct JobPlan {
  /// First: the status as it counts finished pods (in uncountedTerminatedPods); then `release` lose their finalizer; the next
  /// round moves the numbers and goes on.
  base::Json status;
  std::vector<PodPointer> release;
  /// Then: pods to make (completion index, or -1) and to delete.
  std::vector<int64_t> create;
  std::vector<PodPointer> remove;
  std::vector<JobEvent> events;
  std::optional<base::Duration> again;
  bool expired = false;  ///< ttlSecondsAfterFinished has passed: delete the job
};

JobPlan PlanJob(const base::Json& job, const std::vector<PodPointer>& pods, base::Time now);

/// A pod of the job; index -1 for jobs without indexes.
base::Json JobPodJson(const base::Json& job, int64_t index);
/// "1,3-5,7" and back.
std::set<int64_t> ParseIndexes(std::string_view text);
std::string FormatIndexes(const std::set<int64_t>& indexes);

}  // namespace evenkeel::embedded::workloads
