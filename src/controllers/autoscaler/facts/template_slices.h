// Devices of nodes that are made from a template. Beside what a v1 Node has, a template has `resourceSlices`: what drivers will
// publish of each node, a list of specs of ResourceSlices without a node. Pool and its generation and count may be left out:
// then the pool has the node's name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/input/field.h"
#include "base/json.h"
#include "scheduling/devices/device_pools.h"

namespace evenkeel::controllers::autoscaler {

/// More than drivers publish of one node.
inline constexpr size_t kNodeSlicesMax = 64;

/// kBadRequest names what the API would refuse of the list, where there is one.
base::Status CheckTemplateSlices(const base::Field& slices);
/// The ResourceSlices of a node of this name, as drivers write them first: complete but for the owner and what the API adds.
/// Slices of one driver have one pool unless they name others.
std::vector<base::Json> SlicesOfTemplate(const base::Json& template_node, std::string_view node);

/// Of each driver, how many pools a node has that are complete: what a new node is waited for.
using DevicePools = std::map<std::string, int64_t, std::less<>>;
DevicePools CompletePools(const scheduling::NodeSlices& slices);
/// The same of what the template says, without decoding devices.
DevicePools PoolsOfTemplate(const base::Json& template_node);
/// The drivers, sorted: "a.org,b.org".
std::string DriverNames(const DevicePools& pools);
/// `there` has of each driver at least as many as `wanted`.
bool HasPools(const DevicePools& there, const DevicePools& wanted);

}  // namespace evenkeel::controllers::autoscaler
