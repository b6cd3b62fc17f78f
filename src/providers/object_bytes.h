// Nodes and pods as Kubernetes writes them in protocol buffers (v1.Node#Marshal and v1.Pod#Marshal in Go), for gRPC services
// that take them as bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace evenkeel::providers {

/// As kube::EncodeProtobuf.
std::string EncodeNode(const base::Json& node);
std::string EncodePod(const base::Json& pod);

/// As kube::DecodeProtobuf, with apiVersion and kind. kBadRequest on one line: "v1.Node: status.capacity: ends in the middle of
/// a value".
base::Result<base::Json> DecodeNode(std::string_view bytes);
base::Result<base::Json> DecodePod(std::string_view bytes);

}  // namespace evenkeel::providers
