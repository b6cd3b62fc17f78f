// Texts that both parts of the Distributor use.
#pragma once

namespace evenkeel::controllers::distribution {

inline constexpr char kOwnerMetric[] = "evenkeel_cluster_owner";
inline constexpr char kOwnerHelp[] = "1 for each cluster that this replica looks after";
inline constexpr char kHeartbeatLost[] = "the heartbeat could not be written";

}  // namespace evenkeel::controllers::distribution
