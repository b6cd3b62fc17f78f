// Variables of the environment, for those who are configured by them.
#pragma once

#include <functional>
#include <string>

namespace evenkeel::providers {

/// The value of a variable; "" where it is not set.
using Environment = std::function<std::string(const char* name)>;

}  // namespace evenkeel::providers
