// The text of default_policy.text, compiled in.
#pragma once

#include <string_view>

namespace evenkeel::embedded::access {

extern const std::string_view kDefaultPolicyText;

}  // namespace evenkeel::embedded::access
