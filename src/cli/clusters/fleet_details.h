// What is known of one row of `top`: why a cluster, a node or a replica is as it is. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/clusters/live_fleet.h"

namespace evenkeel::cli {

/// Lines for people. `what`: "clusters", "nodes" or "shards"; `key`: as SortableTable::KeyOf has it. Of a cluster, its nodes
/// and pods are told when it is followed.
std::vector<std::string> FleetDetails(const FleetPicture& picture, const std::string& what, const std::vector<std::string>& key,
                                      base::Time now);

}  // namespace evenkeel::cli
