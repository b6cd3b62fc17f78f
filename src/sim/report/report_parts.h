// Parts that the pages of runs and of plans have in common (dashboard/page/src/report/data.ts).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::sim {

/// More rows than these are cut off, and the page says so: they belong into -o json or the timeline.
inline constexpr size_t kReportRowsMax = 2'000;

/// What the page begins with. `kind`: the command.
base::JsonObject ReportHead(std::string_view kind, std::string_view title, std::string_view subtitle);
/// One of the numbers at its top.
base::Json ReportFact(std::string_view name, std::string_view value);
/// The page's moves, of which `moves` are the first, at most kReportRowsMax; how many there are is "movesTotal", and a fact
/// where they are not all there. After the facts.
void PutMoves(base::JsonObject& data, base::JsonArray moves, size_t total);

/// Tables without rows are left out.
class ReportTables {
 public:
  void Add(const std::string& title, const std::vector<std::string>& columns, base::JsonArray rows);
  base::JsonArray Take() { return std::move(tables_); }

 private:
  base::JsonArray tables_;
};

}  // namespace evenkeel::sim
