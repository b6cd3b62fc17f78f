// Devices of nodes that are made from a template. Beside what a v1 Node has, a template has `resourceSlices`: what drivers will
// publish of each node, a list of specs of ResourceSlices without a node. Pool and its generation and count may be left out:
// then the pool has the node's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/input/field.h"
#include "base/json.h"

namespace evenkeel::controllers::autoscaler {

/// kBadRequest names what the API would refuse of the list, where there is one.
base::Status CheckTemplateSlices(const base::Field& slices);
/// The ResourceSlices of a node of this name, as drivers write them first: complete but for the owner and what the API adds.
/// Slices of one driver have one pool unless they name others.
std::vector<base::Json> SlicesOfTemplate(const base::Json& template_node, std::string_view node);

}  // namespace evenkeel::controllers::autoscaler
