// What drivers of devices do, simulated: publishes what a node has as ResourceSlices, complete and owned by the Node. When the
// devices change, all slices of the pool are written anew with the next generation. What somebody else changes in a slice (a
// taint on a device that is to be broken) stays until then.
// Follows: kubernetes@1.36 staging/src/k8s.io/dynamic-resource-allocation/resourceslice/resourceslicecontroller.go
#pragma once

#include <string>
#include <vector>

#include "client/client.h"

namespace evenkeel::embedded::nodeagent {

/// Writes what differs from what is there. `slices`: ResourceSlices of the node, of generation 1 and without an owner; those
/// that it published before and that are not among them go.
base::Status PublishDevices(client::Client& client, const std::string& node, const std::string& node_uid,
                            const std::vector<base::Json>& slices);

}  // namespace evenkeel::embedded::nodeagent
