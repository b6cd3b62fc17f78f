// What server-side apply refuses before it merges anything: a config that is no typed value of its kind.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "kube/schema/schema.h"

namespace evenkeel::embedded::apiserver {

/// Fields that the schema does not declare, values of another type, items of keyed lists and sets without a key or with one
/// that was there before: in upstream's words, one text for each: `.spec.ports: duplicate entries for key [port=80]`.
std::vector<std::string> TypedErrors(const base::Json& config, const kube::Schema* schema);
/// As Go prints a value (%v): map[a:[1 2]]; `syntax`: as it would stand in a program (%#v).
std::string GoText(const base::Json& value, bool syntax = false);
/// As upstream tells of them: the only one, or all on lines of their own.
std::string JoinTypedErrors(const std::vector<std::string>& errors);

}  // namespace evenkeel::embedded::apiserver
