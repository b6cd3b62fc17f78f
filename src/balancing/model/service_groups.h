// Which services have to be balanced together. Metrics are connected by the services that report several of them, by affinity
// (a child follows its parent) and by application groups with limits; what hangs together is one group, with its own phases,
// search and statistics: an imbalance never moves a service of another group. Groups are worked out anew from the services that
// are there, so they merge and split by themselves; what each group remembers follows its services.
#pragma once

#include <string>
#include <vector>

#include "balancing/model/cluster.h"
#include "balancing/model/phase_state.h"

namespace evenkeel::balancing {

struct ServiceGroup {
  std::vector<ServiceId> services;  ///< by name
  std::vector<MetricId> metrics;    ///< that these services report, by name
};

struct ServiceGroups {
  std::vector<ServiceGroup> groups;        ///< by the name of the first service
  std::vector<uint32_t> group_of_service;  ///< indexes in `groups`
  std::vector<uint32_t> group_of_metric;   ///< kNoId: no service reports it
};

/// O(services * metrics of each), and sorting the names.
ServiceGroups GroupServices(const Cluster& cluster);

/// What a group remembers from one state of the cluster to the next, when ids may be others.
struct GroupPhase {
  std::vector<std::string> services;  ///< names, ascending
  PhaseState phase;
};

/// One for each of `groups`, in their order. A group takes what the groups remember that its services were in before: of
/// several MergePhases, of one a copy (so both parts of a split have it). Groups of new services begin with a state change
/// `now`.
std::vector<GroupPhase> Regroup(const std::vector<GroupPhase>& before, const Cluster& cluster, const ServiceGroups& groups,
                                double now);

}  // namespace evenkeel::balancing
