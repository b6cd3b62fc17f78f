// What `solve roadef` prints.
#pragma once

#include "base/json_field.h"

namespace evenkeel::cli {

inline constexpr base::JsonField kSolveRoadefJson[] = {
    {"valid", "boolean", "whether no rule is broken"},
    {"cost", "integer", "of the solution"},
    {"lowerBound", "integer", "that no solution is below"},
    {"initialCost", "integer", "of the assignment given"},
    {"terms.*", "integer", "what the cost is the sum of"},
    {"violations[]", "string", "which rules are broken, with --check"},
    {"progress[].milliseconds", "integer", "from the beginning; without --check", false},
    {"progress[].cost", "integer", "that was reached then", false},
    {"evaluations", "integer", "steps that were looked at; without --check", false},
    {"cutByClock", "boolean", "whether -t ended the search: the machine's speed counts then; without --check", false},
    {"milliseconds", "integer", "that it took; without --check", false}};

}  // namespace evenkeel::cli
