// All that Cluster API has, at one moment, as node groups: who belongs to whom. No network.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "providers/cluster_api_objects.h"

namespace evenkeel::providers {

/// What the management cluster lists. Of kinds that are not served: nothing.
struct ClusterApiLists {
  std::vector<base::Json> deployments, sets, pools, machines;
};

struct ClusterApiInventory {
  /// Where a group is, for writing to it.
  struct Place {
    std::string kind, ns, name;
    int64_t min_size = 0, max_size = 0;
  };
  struct MachinePlace {
    std::string ns, name;
    std::string group;  ///< id; "": of no group that is scaled
    std::string uid{};  ///< of the Machine; "" until it has been read by itself
  };

  NodeGroups groups;
  std::map<std::string, Place, std::less<>> places;                  ///< by group
  std::map<std::string, MachinePlace, std::less<>> machine_of_id;    ///< by provider id, also of machines without node
  std::map<std::string, MachinePlace, std::less<>> machine_of_node;  ///< by node name
  std::map<std::string, std::string, std::less<>> pool_of_id;        ///< MachinePools: group by provider id
};

/// The infrastructure template of a group; null: there is none.
using InfrastructureOf = std::function<const base::Json*(const ClusterApiGroup& group)>;

/// Objects that are wrong are warned of and left out.
ClusterApiInventory TakeInventory(const ClusterApiLists& lists, std::span<const base::Json> nodes,
                                  const ClusterApiOptions& options, const InfrastructureOf& infrastructure, Warnings& warnings);

}  // namespace evenkeel::providers
