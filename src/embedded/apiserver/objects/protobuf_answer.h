// Objects that lie in the store as JSON, for clients that want protocol buffers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/definitions/stored.h"
#include "embedded/apiserver/objects/protobuf_cache.h"
#include "embedded/apiserver/requests/http.h"
#include "kube/schema/schema.h"

namespace evenkeel::embedded::apiserver {

/// The object of a JSON text, in its envelope. kInternal for what is no object of a kind that is compiled in.
base::Result<std::string> ProtobufEnvelopeOf(std::string_view json_text);

/// A list: `metadata` as in JSON, then the objects. `partial`: only the metadata of each, as meta.k8s.io/`partial`; empty: the
/// objects themselves, of `cache` where it is not null. kInternal when one cannot be read.
base::Result<std::vector<Chunk>> ProtobufList(const Served& served, const std::vector<Stored>& items,
                                              const base::Json& metadata, std::string_view partial, ProtobufCache* cache);

/// One event of a watch as a frame; `object` is in its envelope.
std::string ProtobufEventFrame(std::string_view type, std::string_view object);

/// The object of a request's body in protocol buffers, with apiVersion and kind. What it does not say of itself is
/// `api_version` and `kind`. kBadRequest. `storage`: as for base::ParseJson.
base::Result<base::Json> ParseProtobufBody(std::string_view body, std::string_view api_version, std::string_view kind,
                                           boost::json::storage_ptr storage);

}  // namespace evenkeel::embedded::apiserver
