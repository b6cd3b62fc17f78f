// Amounts and times as messages and tables say them: in the metric's own unit, and no more exactly than people read.
#pragma once

#include <string>

#include "balancing/model/cluster.h"

namespace evenkeel::balancing {

/// "1.5" of 1,500 milli-cores, "6Gi" of so many bytes; of a metric without a unit the number itself.
std::string AmountText(const Metric& metric, int64_t amount);

/// "5.9s", "45s", "2m30s".
std::string SecondsText(double seconds);

}  // namespace evenkeel::balancing
