// Instances that never became nodes of this member, but have become nodes of another one.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "providers/provider.h"

namespace evenkeel::controllers::autoscaler {

/// Nodes of the fleet's other members.
struct NodesElsewhere {
  base::Result<std::map<std::string, std::string>> member_of;  ///< by spec.providerID
  bool now = true;  ///< asked for this loop; otherwise what is not in there may be a node meanwhile
};

/// Sets a group aside that has instances among these nodes; keeps its nodes where that is not known for sure. False: neither.
bool LeaveNodesElsewhere(providers::NodeGroup& group, const NodesElsewhere& elsewhere);

}  // namespace evenkeel::controllers::autoscaler
