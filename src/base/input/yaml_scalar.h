// How YAML reads an unquoted scalar; shared by the reader and the writer, which quotes what would read as something else.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"

namespace evenkeel::base {

/// The value of an unquoted scalar: null, a boolean, a number, or the text itself as a string. Empty optional for infinities
/// and not-a-number, which JSON lacks.
std::optional<Json> ResolveYamlScalar(std::string_view text);

/// Whether a YAML 1.1 reader might take the unquoted text for a date or a base-60 number: read as a string here, but quoted
/// by us when writing.
bool LooksLikeYamlTimestampOrSexagesimal(std::string_view text);

}  // namespace evenkeel::base
