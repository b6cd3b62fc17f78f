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

void PrintShown(std::ostream& out, Format format, const Shown& shown) {
  format == Format::kTable ? PrintTable(out, shown.header, shown.rows) : PrintValue(out, format, shown.json);
}

void RowWatch::Show(const Shown& shown) {
  const bool first = std::exchange(first_, false);
  if (format_ != Format::kTable) {
    Json lasting = shown.json;
    EraseClocks(lasting, shown.clocks);
    if (!first && lasting == document_) return;
    if (format_ == Format::kYaml && !first) out_ << "---\n";
    PrintValue(out_, format_, shown.json);
    document_ = std::move(lasting);
    return;
  }
  widths_.resize(std::max(widths_.size(), shown.header.size()));
  if (first) {
    Widen(shown.header, widths_);
    for (const std::vector<std::string>& row : shown.rows) Widen(row, widths_);
    PrintRow(out_, shown.header, widths_);
  }
  std::map<std::vector<std::string>, std::vector<std::string>> rows;
  for (const std::vector<std::string>& row : shown.rows) {
    const std::vector<std::string> key(row.begin(), row.begin() + static_cast<ptrdiff_t>(std::min(shown.keys, row.size())));
    std::vector<std::string> lasting = row;
    for (const size_t column : shown.passing) lasting.at(column).clear();
    const auto before = rows_.find(key);
    if (before == rows_.end() || before->second != lasting) PrintRow(out_, row, widths_);
    rows[key] = std::move(lasting);
  }
  for (const auto& [key, row] : rows_) {
    if (rows.contains(key)) continue;
    std::vector<std::string> gone = key;
    gone.emplace_back("<gone>");
    PrintRow(out_, gone, widths_);
  }
  rows_ = std::move(rows);
}

}  // namespace evenkeel::cli
