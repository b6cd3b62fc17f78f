// The distribution of a running fleet as anybody can read it from the hub's API: what `get shards` and `explain cluster` print.
// It asks the same functions as the controllers, with the replicas and claims that are there now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "controllers/distribution/sharding/options.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "controllers/distribution/sharding/shard_mapping.h"
#include "controllers/distribution/sharding/shard_plan.h"

namespace evenkeel::controllers::distribution {

struct FleetView {
  struct Row {
    std::string cluster, server, id, source;
    int64_t shard = -1;
    std::string owner;  ///< empty: nobody holds the shard (compatible), nobody says that it owns the cluster (coordinated)
    std::optional<base::Duration> heartbeat_age;
    bool skip_reconcile = false;
    // Coordinated mode.
    std::string planned;                ///< the replica that the plan names; another than the owner: a move is pending
    std::string standby;                ///< takes over when the owner is silent
    std::string detail;                 ///< why the planned replica does not own it yet, or what fails
    std::string api;                    ///< the member's ApiIdentity, where it is known
    std::optional<base::Time> since{};  ///< of the owner
    /// Since when its owner, or who is to own it, cannot reach it.
    std::optional<base::Time> unknown_since{};
    int64_t weight = 0;
    int64_t epoch = 0;  ///< of the plan that gave it to its replica
  };
  Options options;
  PublishedPlan published;  ///< coordinated mode
  ShardPlanInput input;
  ShardPlan plan;
  std::vector<ShardClaim> claims;
  std::string claims_error;  ///< why the claims cannot be read; empty when they can
  std::vector<Row> rows;     ///< in the order of the plan's assignments
  std::vector<Finding> findings;
};

/// Reads cluster Secrets, Karmada Clusters, Applications, and either the ShardPlan with the replicas' Leases and reports, or
/// the Deployment and the claims. Kinds that the hub does not serve count as empty.
/// @param mode    empty: coordinated where there is a ShardPlan and a replica that follows it.
/// @param method  compatible mode; empty: as the Deployment's container is told (arguments, environment), else
/// argocd-cmd-params-cm, else legacy.
base::Result<FleetView> ReadFleet(client::Client& hub, Options options, std::optional<Mode> mode, std::optional<Method> method,
                                  base::Time now);

struct ClusterExplanation {
  FleetView::Row row;
  std::vector<std::string> why;         ///< how the shard follows from the inputs, with the numbers
  std::vector<std::string> would_move;  ///< what would give it another owner
};

/// kNotFound lists the names there are. Found by name or server URL.
base::Result<ClusterExplanation> ExplainCluster(const FleetView& fleet, std::string_view cluster);

}  // namespace evenkeel::controllers::distribution
