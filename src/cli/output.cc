#include "cli/output.h"

#include "base/yaml.h"

namespace evenkeel::cli {

base::Result<Format> ParseFormat(const std::string& name) {
  if (name.empty() || name == "table") return Format::kTable;
  if (name == "json") return Format::kJson;
  if (name == "yaml") return Format::kYaml;
  return base::Fail(base::Code::kBadRequest, "output format \"" + name + "\" is not known: use table, json or yaml");
}

void PrintTable(std::ostream& out, const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::string& cell : header) widths.push_back(cell.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  auto print = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      out << row[i];
      if (i + 1 < row.size()) out << std::string(widths[i] - row[i].size() + 3, ' ');
    }
    out << '\n';
  };
  print(header);
  for (const auto& row : rows) print(row);
}

void PrintValue(std::ostream& out, Format format, const base::Json& value) {
  out << (format == Format::kYaml ? base::ToYaml(value) : base::ToPrettyText(value) + "\n");
}

}  // namespace evenkeel::cli
