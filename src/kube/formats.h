// The formats of texts that CRDs may ask for, as apiextensions checks them; others have no effect, as there.
#pragma once

#include <string_view>

namespace evenkeel::kube {

/// Whether a text has the format. Never fails on any text.
using FormatCheck = bool (*)(std::string_view text);

/// Null for a format that is not known. Dashes in the name do not matter ("datetime", "date-time").
FormatCheck FindFormat(std::string_view format);

}  // namespace evenkeel::kube
