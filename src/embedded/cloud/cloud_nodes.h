// What the nodes of groups are like. Pure.
#pragma once

#include <string>

#include "base/json.h"
#include "embedded/cloud/group_state.h"
#include "embedded/nodeagent/node_objects.h"

namespace evenkeel::embedded::cloud {

/// Addresses of the pods of one of the cloud's nodes. Each cluster has 1024 ranges for simulated pods (in 100.64.0.0/10) that
/// no other of the first 16 has; process pods share 240 small ones.
std::string PodRange(int cluster_index, int slot);
std::string LoopbackRange(int cluster_index, int loopback_octet, int slot);
inline constexpr int kSlots = 1024;

/// A node that has never been there: as the group's template says.
nodeagent::NodeConfig NewNode(const std::string& group, const InstanceRecord& record, const base::Json& template_node);
/// One that was there before, as its Node says: changes of the template are for new nodes.
nodeagent::NodeConfig KnownNode(const InstanceRecord& record, const base::Json& node);
/// What drivers publish of a node. It follows the template also where the node runs.
std::vector<base::Json> DevicesOf(const InstanceRecord& record, const base::Json& template_node);

}  // namespace evenkeel::embedded::cloud
