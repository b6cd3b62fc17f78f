// What the distribution counts, in both modes.
#pragma once

#include "base/metric_family.h"

namespace evenkeel::controllers::distribution::metrics {

using base::MetricFamily;
using base::MetricType;

inline constexpr MetricFamily kHealthy{"evenkeel_distribution_healthy", MetricType::kGauge,
                                       "What /healthz says: whether this replica holds its claim on the hub"};
inline constexpr MetricFamily kClusterOwner{
    "evenkeel_cluster_owner", MetricType::kGauge,
    "1 for each cluster that this replica may write to: the sum over all replicas must be 1", "cluster owner server shard"};
inline constexpr MetricFamily kMoves{"evenkeel_distribution_moves_total", MetricType::kCounter,
                                     "Clusters that this replica has won"};
inline constexpr MetricFamily kClusters{"evenkeel_distribution_clusters", MetricType::kGauge, "Clusters of the fleet"};
inline constexpr MetricFamily kShard{"evenkeel_distribution_shard", MetricType::kGauge,
                                     "Shard held by this replica, -1 for none"};
inline constexpr MetricFamily kDisagreeing{"evenkeel_distribution_disagreeing_replicas", MetricType::kGauge,
                                           "Other replicas that have been told something else than this one: must be 0"};
inline constexpr MetricFamily kClusterOwners{
    "evenkeel_distribution_cluster_owners", MetricType::kGauge,
    "Replicas that own each cluster: must be 1. Of all clusters, as the leader sees it; in compatible mode of those that this "
    "replica is to own, and of those whose shard nobody claims",
    "cluster server"};
// Coordinated mode.
inline constexpr MetricFamily kEpoch{"evenkeel_distribution_epoch", MetricType::kGauge,
                                     "Epoch of the plan that this replica has applied"};
inline constexpr MetricFamily kLeader{"evenkeel_distribution_leader", MetricType::kGauge,
                                      "1 while this replica writes the plans"};
inline constexpr MetricFamily kImbalance{"evenkeel_distribution_imbalance_ratio", MetricType::kGauge,
                                         "Greatest load of a replica relative to the mean, in the plan"};
inline constexpr MetricFamily kEpochLag{"evenkeel_distribution_epoch_lag", MetricType::kGauge,
                                        "Plans that each replica is behind the newest one", "replica"};
inline constexpr MetricFamily kPlannedMoves{"evenkeel_distribution_planned_moves_total", MetricType::kCounter,
                                            "Clusters that plans of this replica have given to another"};
// Compatible mode.
inline constexpr MetricFamily kReplicas{"evenkeel_distribution_replicas", MetricType::kGauge,
                                        "Replicas that the shards are computed for"};
inline constexpr MetricFamily kHeartbeatAge{"evenkeel_distribution_heartbeat_age_seconds", MetricType::kGauge,
                                            "Age of each shard's last heartbeat", "owner shard"};
inline constexpr MetricFamily kHeartbeatFailures{"evenkeel_distribution_heartbeat_failures_total", MetricType::kCounter,
                                                 "Heartbeats that could not be written"};
inline constexpr MetricFamily kClaimConflicts{"evenkeel_distribution_claim_conflicts_total", MetricType::kCounter,
                                              "Claims that another replica's write got in the way of"};

inline constexpr MetricFamily kAll[] = {kHealthy,       kClusterOwner, kMoves,     kClusters,      kShard,
                                        kEpoch,         kLeader,       kImbalance, kClusterOwners, kEpochLag,
                                        kDisagreeing,   kPlannedMoves, kReplicas,  kHeartbeatAge,  kHeartbeatFailures,
                                        kClaimConflicts};

}  // namespace evenkeel::controllers::distribution::metrics
