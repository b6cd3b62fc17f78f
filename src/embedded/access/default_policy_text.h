// The text of default_policy.text, compiled in.
#pragma once

namespace evenkeel::embedded::access {

extern const char* const kDefaultPolicyText;

}  // namespace evenkeel::embedded::access
