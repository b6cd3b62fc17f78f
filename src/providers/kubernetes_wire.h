// Nodes and pods as Kubernetes writes them in protocol buffers (v1.Node#Marshal and v1.Pod#Marshal in Go), for gRPC services
// that take them as bytes. The shapes come from the compiled-in schemas, the field numbers from a table
// (kubernetes_wire_fields.cc). What has no number there is left out: managed fields, and the sources of volumes that only
// clouds' former in-tree drivers know.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace evenkeel::providers {

/// Values of the wrong type are left out: objects come from an API server, which has checked them. Equal objects give equal
/// bytes. Linear in the object.
std::string EncodeNode(const base::Json& node);
std::string EncodePod(const base::Json& pod);

/// With apiVersion and kind. kBadRequest names the field: "v1.Node: status.capacity: ends in the middle of a value". Fields
/// without a number in the table are passed over.
base::Result<base::Json> DecodeNode(std::string_view bytes);
base::Result<base::Json> DecodePod(std::string_view bytes);

/// "MESSAGE NUMBER=FIELD ..." per line, where a field within a message that JSON does not show is NUMBER.NUMBER=FIELD.
extern const std::string_view kKubernetesFieldNumbers;

}  // namespace evenkeel::providers
