// The coordinated part of fleet_view.h: the plan, who is alive, who owns what and why.
#pragma once

#include "controllers/distribution/distributor/fleet_view.h"

namespace evenkeel::controllers::distribution {

/// Reads the ShardPlan into `fleet`. False when there is none, or no replica has a Lease: then nobody follows it.
base::Result<bool> ReadCoordination(client::Client& hub, FleetView& fleet);
/// Fills plan and rows from the plan, the Leases and the reports. The clusters have been read.
base::Status ReadCoordinatedRows(client::Client& hub, base::Time now, FleetView& fleet);
ClusterExplanation ExplainCoordinated(const FleetView& fleet, const Cluster& cluster, ClusterExplanation explanation);

}  // namespace evenkeel::controllers::distribution
