// What `plan balance`, `get loads` and `explain service` print for people, from what they tell programs.
#pragma once

#include <ostream>

#include "base/json.h"

namespace evenkeel::cli {

void PrintBalancePlan(std::ostream& out, const base::Json& plan);
void PrintLoads(std::ostream& out, const base::Json& loads);
void PrintServiceExplanation(std::ostream& out, const base::Json& explanation);

}  // namespace evenkeel::cli
