// The status of a Deployment: counts and the conditions Available, Progressing and ReplicaFailure in upstream's words, which
// `kubectl rollout status` and `kubectl wait` read. Pure.
// Follows: kubernetes@1.36 pkg/controller/deployment/progress.go
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace evenkeel::embedded::workloads {

/// The numbers of spec and strategy, resolved.
struct DeploymentNumbers {
  int64_t replicas = 1;
  int64_t max_surge = 0;
  int64_t max_unavailable = 0;
  std::optional<int64_t> deadline_seconds;  ///< progressDeadlineSeconds; nullopt: none
};
DeploymentNumbers NumbersOf(const base::Json& deployment);

void MarkPaused(base::Json& status, const DeploymentNumbers& numbers, bool paused, base::Time now);
void MarkFound(base::Json& status, const DeploymentNumbers& numbers, std::string_view replica_set, base::Time now);
void MarkCreated(base::Json& status, const DeploymentNumbers& numbers, std::string_view replica_set, base::Time now);
/// The new ReplicaSet could not be made.
void MarkFailedCreate(base::Json& status, const DeploymentNumbers& numbers, std::string_view message, base::Time now);

void CountReplicas(base::JsonObject& status, const base::Json& deployment, const std::vector<base::Json>& sets,
                   std::optional<size_t> newest, const DeploymentNumbers& numbers);
bool RolloutComplete(const base::Json& deployment, const base::JsonObject& status, const DeploymentNumbers& numbers);
void MarkAvailable(base::JsonObject& status, const base::Json& deployment, const DeploymentNumbers& numbers, base::Time now);
/// Progressing and ReplicaFailure, from the counts in `status` and those that the deployment had.
void MarkProgress(base::JsonObject& status, const base::Json& deployment, const std::vector<base::Json>& sets,
                  std::optional<size_t> newest, const DeploymentNumbers& numbers, std::string_view replica_set, base::Time now);
/// How long until the rollout has taken too long; nullopt when it is over or has no deadline.
std::optional<base::Duration> UntilDeadline(const base::JsonObject& status, const base::Json& deployment,
                                            const DeploymentNumbers& numbers, base::Time now);

}  // namespace evenkeel::embedded::workloads
