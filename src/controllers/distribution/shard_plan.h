// A whole distribution as a plan that can be printed: what `evenkeel plan shards` answers. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controllers/distribution/sharding.h"

namespace evenkeel::controllers::distribution {

struct PlannedCluster {
  std::string cluster, server, id;
  int64_t shard = -1;
};

struct PlannedShard {
  int64_t shard = 0;
  int64_t clusters = 0;
  int64_t weight = 0;  ///< applications of its clusters; without any applications, its clusters
};

struct PlannedMove {
  std::string cluster;
  int64_t from = -1, to = -1;
};

struct ShardPlan {
  Method method = Method::kLegacy;
  int64_t replicas = 0;
  std::vector<PlannedCluster> assignments;  ///< in the order of the id, then of the server
  std::vector<PlannedShard> shards;         ///< 0..replicas-1, and others that clusters are pinned to
  std::vector<PlannedMove> moves;           ///< clusters of `current` that are elsewhere now, in the order of the assignments
};

struct ShardPlanInput {
  std::vector<Cluster> clusters;
  AppCounts apps;
};

/// Takes cluster Secrets, Karmada Clusters (with the Secrets they name), Applications and argocd-cm (cluster.inClusterEnabled)
/// out of objects of any kind. Secrets without the cluster label are only looked at where a Karmada Cluster names them.
ShardPlanInput ReadShardPlanInput(std::span<const base::Json> objects, bool in_cluster, bool applications_by_bare_name,
                                  std::vector<Finding>& findings);

/// @param current  an earlier plan as JSON (or {}), for the moves.
ShardPlan PlanShards(const ShardPlanInput& input, const ShardingOptions& options, const base::Json& current,
                     std::vector<Finding>& findings);

/// {"method","replicas","assignments","shards","moves"}: stable keys that other programs rely on.
base::Json ToJson(const ShardPlan& plan);

}  // namespace evenkeel::controllers::distribution
