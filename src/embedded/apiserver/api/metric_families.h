// What metrics.h counts, for the documentation.
#pragma once

#include <vector>

#include "base/metric_family.h"

namespace evenkeel::embedded::apiserver {

std::vector<base::MetricFamily> MetricFamilies();

}  // namespace evenkeel::embedded::apiserver
