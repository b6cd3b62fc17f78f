// What each kind does to an object on its way in, beside defaults and validation: which half of it a request may change, what
// the server fills in. Pure functions; the clock and what is random come in.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "embedded/apiserver/definitions/resource_table.h"

namespace evenkeel::embedded::apiserver {

/// metadata of a new object: uid, creationTimestamp, generation; what only the server sets is taken out.
void FillNewMetadata(const Served& served, base::Json& object, std::string_view uid, base::Time now);
/// Kind-specific part of a create, after defaults.
void PrepareForCreate(const Served& served, base::Json& object, base::Time now);
/// A request to the main endpoint: status (and what the server owns of metadata) stays as in `old`; generation counts.
void PrepareForUpdate(const Served& served, base::Json& object, const base::Json& old, base::Time now);
/// A request to the status subresource: everything else stays as in `old`, but for metadata what the kind lets it change.
void PrepareForStatusUpdate(const Served& served, base::Json& object, const base::Json& old);
/// Restores what no request may change: name, namespace, uid, creationTimestamp, deletion.
void KeepServerMetadata(base::Json& object, const base::Json& old);
/// "Guaranteed", "Burstable" or "BestEffort".
std::string_view QosClass(const base::Json& pod);

}  // namespace evenkeel::embedded::apiserver
