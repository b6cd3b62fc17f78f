// A whole distribution as a plan that can be printed: what `evenkeel plan shards` answers. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controllers/distribution/sharding/sharding.h"

namespace evenkeel::controllers::distribution {

struct PlannedCluster {
  std::string cluster, server, id;
  int64_t shard = -1;
};

struct PlannedShard {
  int64_t shard = 0;
  int64_t clusters = 0;
  int64_t weight = 0;  ///< weighted: of its clusters; else their applications, or without any applications, their number
};

struct PlannedMove {
  std::string cluster;
  int64_t from = -1, to = -1;
};

struct ShardPlan {
  std::string method;  ///< "weighted", or Argo CD's name of it
  int64_t replicas = 0;
  std::vector<PlannedCluster> assignments;  ///< in the order of the id, then of the server
  std::vector<PlannedShard> shards;         ///< 0..replicas-1, and others that clusters are pinned to
  std::vector<PlannedMove> moves;           ///< clusters of `current` that are elsewhere now, in the order of the assignments
};

struct ShardPlanInput {
  std::vector<Cluster> clusters;
  AppCounts apps;
  std::map<std::string, int64_t, std::less<>> weights;  ///< measured, by server, where known
};

/// Takes cluster Secrets, Karmada Clusters (with the Secrets they name), Applications and argocd-cm (cluster.inClusterEnabled)
/// out of objects of any kind. Secrets without the cluster label are only looked at where a Karmada Cluster names them and no
/// cluster Secret has its server. `missing_secrets_told`: one that is not among the objects is a finding, since they are all
/// that there is.
ShardPlanInput ReadShardPlanInput(std::span<const base::Json> objects, bool in_cluster, bool applications_by_bare_name,
                                  std::vector<Finding>& findings, bool missing_secrets_told = true);

/// @param current  an earlier plan as JSON (or {}), for the moves.
ShardPlan PlanShards(const ShardPlanInput& input, const ShardingOptions& options, const base::Json& current,
                     std::vector<Finding>& findings);

/// The weighted method of coordinated mode: a cluster's weight is its annotation's, else the measured one, else the number of
/// its applications, or without any applications 1. `current` is kept as far as it is good.
/// @param shards  numbers, rising; they need not be dense.
ShardPlan PlanWeightedShards(const ShardPlanInput& input, std::span<const int64_t> shards, const base::Json& current,
                             std::vector<Finding>& findings);

/// {"method","replicas","assignments","shards","moves"}: stable keys that other programs rely on.
base::Json ToJson(const ShardPlan& plan);

}  // namespace evenkeel::controllers::distribution
