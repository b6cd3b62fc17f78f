// Which old value a new one is to be compared with, so that what was wrong before and did not change is let pass (KEP-4008).
#pragma once

#include "base/json.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube {

/// The old value of a key; null when there was none.
const base::Json* OldValueOf(const base::Json* old, std::string_view key);
/// The old item of what is item `index` now. Lists of type map: the one with the same keys. Null in other lists, which are
/// atomic, and in sets.
const base::Json* OldItemOf(const base::Json* old, const base::JsonArray& now, size_t index, const Schema& list);
/// Whether nothing has changed: lists of type map may have another order.
bool SameAsBefore(const base::Json& now, const base::Json& old, const Schema& schema);

}  // namespace evenkeel::kube
