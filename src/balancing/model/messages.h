// What messages about other people's files are made of: names shown in one line, and lists of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/input/nearest_name.h"
#include "base/utf8.h"

namespace evenkeel::balancing {

using base::EditDistance;
using base::NearestName;
using base::NearestNameHint;
using base::OneLine;

/// "a, b or c".
std::string JoinedWithOr(std::span<const std::string_view> names);

}  // namespace evenkeel::balancing
