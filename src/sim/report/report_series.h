// Lines of a report's charts, and sums over time, from samples of the fleet.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "sim/world/fleet_samples.h"

namespace evenkeel::sim {

/// Nodes, pods, cost, load and its spread, owners, voters: what there is anything to say about.
base::JsonArray ReportSeries(const FleetSamples& samples);

struct GroupHours {
  double node_hours = 0;
  double cost = 0;  ///< by the price of each cluster at the time; 0 without
};
/// By node group ("" without), all clusters together, between the first and the last sample.
std::map<std::string, GroupHours> HoursOfGroups(const FleetSamples& samples);

}  // namespace evenkeel::sim
