// Values of flags that are made of parts. Each answers what it read, or one line that says what is wrong with the text;
// whoever knows the flag puts its name in front.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// "a,b": texts without the spaces around them; empty ones are left out.
std::vector<std::string> SplitList(std::string_view text);

/// --cores-total, --memory-total: "min:max".
base::Result<ResourceRange> ParseRange(std::string_view text);
/// --gpu-total: "type:min:max"; the type may contain colons.
base::Result<std::pair<std::string, ResourceRange>> ParseGpuRange(std::string_view text);
/// --drain-priority-config: "priority:seconds,..."; answers rising priorities.
base::Result<std::vector<std::pair<int64_t, int64_t>>> ParseDrainPriorities(std::string_view text);
/// --expander: known names, each once, "random" only as the last.
base::Result<std::vector<std::string>> ParseExpanders(std::string_view text);

}  // namespace evenkeel::controllers::autoscaler
