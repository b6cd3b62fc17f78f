// Values whose form in protocol buffers is not that of their type in JSON: amounts, instants, numbers or texts, raw JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "kube/schema/protobuf_wire.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube {

/// Makes such a value of its field; null: it is absent after all. `depth`: of the object or list that contains it. Returns what
/// is wrong with the bytes ("is no amount"), nothing when they are good.
std::string DecodeProtobufValue(const Schema& schema, const WireField& field, size_t depth, base::Json& out);

}  // namespace evenkeel::kube
