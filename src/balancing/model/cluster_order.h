// One order for equal clusters. Planners break ties by id, and ids follow the order of the input; a cluster whose things are in
// the order of their names gives the same plan however it was written down.
#pragma once

#include "balancing/model/cluster.h"

namespace evenkeel::balancing {

/// Node types, metrics, nodes, service types, applications, services and partitions by name (bytes), metrics of a service by
/// name, replicas of a partition by node; all ids and rows of loads follow. O(n log n).
void SortByName(Cluster& cluster);

}  // namespace evenkeel::balancing
