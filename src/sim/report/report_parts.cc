#include "sim/report/report_parts.h"

#include <spdlog/fmt/fmt.h>

namespace evenkeel::sim {

using base::Json;
using base::JsonArray;
using base::JsonObject;

JsonObject ReportHead(std::string_view kind, std::string_view title, std::string_view subtitle) {
  return {{"kind", kind}, {"title", title}, {"subtitle", subtitle}};
}

Json ReportFact(std::string_view name, std::string_view value) { return JsonArray{Json(name), Json(value)}; }

void PutMoves(JsonObject& data, JsonArray moves, size_t total) {
  if (moves.size() < total) {
    data.at("facts").as_array().push_back(
        ReportFact("Moves in the table", fmt::format("the first {} of {}", moves.size(), total)));
  }
  data["moves"] = std::move(moves);
  data["movesTotal"] = static_cast<int64_t>(total);
}

void ReportTables::Add(const std::string& title, const std::vector<std::string>& columns, JsonArray rows) {
  if (rows.empty()) return;
  std::string shown = title;
  if (rows.size() > kReportRowsMax) {
    shown += fmt::format(" (the first {} of {})", kReportRowsMax, rows.size());
    rows.resize(kReportRowsMax);
  }
  tables_.push_back(
      JsonObject{{"title", shown}, {"columns", JsonArray(columns.begin(), columns.end())}, {"rows", std::move(rows)}});
}

}  // namespace evenkeel::sim
