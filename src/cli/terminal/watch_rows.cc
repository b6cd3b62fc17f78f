#include "cli/terminal/watch_rows.h"

#include <algorithm>

namespace evenkeel::cli {
namespace {

using base::Json;

void EraseClocks(Json& value, const std::set<std::string>& clocks) {
  if (value.is_array()) {
    for (Json& item : value.get_array()) EraseClocks(item, clocks);
  } else if (value.is_object()) {
    for (const std::string& clock : clocks) value.get_object().erase(clock);
    for (auto& [key, item] : value.get_object()) EraseClocks(item, clocks);
  }
}

}  // namespace

base::Status RowWatch::Show(const Shown& shown) {
  const bool first = std::exchange(first_, false);
  EVENKEEL_ASSIGN(const Shown arranged, output_.Arrange(shown, names_, first));
  const bool is_rows =
      output_.IsTable() || output_.form() == GetOutput::Form::kName || output_.form() == GetOutput::Form::kColumns;
  if (!is_rows) return ShowDocument(arranged, first);
  ShowRows(arranged, first);
  return {};
}

base::Status RowWatch::ShowDocument(const Shown& arranged, bool first) {
  Json lasting = arranged.json;
  EraseClocks(lasting, arranged.clocks);
  if (!first && lasting == document_) return {};
  const Json before = std::exchange(document_, std::move(lasting));
  EVENKEEL_ASSIGN(const std::string text, output_.Document(arranged.json));
  if (output_.form() == GetOutput::Form::kTemplate && !first) {
    // What has changed need not be what the template prints.
    EVENKEEL_ASSIGN(const std::string then, output_.Document(before));
    EVENKEEL_ASSIGN(const std::string now, output_.Document(document_));
    if (then == now) return {};
  }
  if (output_.form() == GetOutput::Form::kYaml && !first) out_ << "---\n";
  out_ << text;
  return {};
}

void RowWatch::ShowRows(const Shown& arranged, bool first) {
  widths_.resize(std::max(widths_.size(), arranged.header.size()));
  if (first) {
    Widen(arranged.header, widths_);
    for (const std::vector<std::string>& row : arranged.rows) Widen(row, widths_);
    if (!arranged.header.empty()) PrintRow(out_, arranged.header, widths_);
  }
  std::map<std::string, Row> rows;
  for (size_t i = 0; i < arranged.rows.size(); ++i) {
    const std::vector<std::string>& row = arranged.rows[i];
    Row kept{.keys = {row.begin(), row.begin() + static_cast<ptrdiff_t>(std::min(arranged.keys, row.size()))}, .lasting = row};
    if (kept.keys.empty()) kept.keys = {arranged.names[i]};
    for (const size_t column : arranged.passing) kept.lasting.at(column).clear();
    const auto before = rows_.find(arranged.names[i]);
    if (before == rows_.end() || before->second.lasting != kept.lasting) PrintRow(out_, row, widths_);
    rows[arranged.names[i]] = std::move(kept);
  }
  for (const auto& [name, row] : rows_) {
    if (rows.contains(name)) continue;
    std::vector<std::string> gone = row.keys;
    gone.emplace_back("<gone>");
    PrintRow(out_, gone, widths_);
  }
  rows_ = std::move(rows);
}

}  // namespace evenkeel::cli
