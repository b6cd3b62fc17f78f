#include "cli/terminal/output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/input/yaml.h"
#include "cli/terminal/printable.h"

namespace evenkeel::cli {

base::Result<Format> ParseFormat(const std::string& name) {
  if (name.empty() || name == "table") return Format::kTable;
  if (name == "json") return Format::kJson;
  if (name == "yaml") return Format::kYaml;
  return base::Fail(base::Code::kBadRequest, "output format \"" + name + "\" is not known: use table, json or yaml");
}

void PrintTable(std::ostream& out, const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(header.size());
  Widen(header, widths);
  for (const auto& row : rows) Widen(row, widths);
  PrintRow(out, header, widths);
  for (const auto& row : rows) PrintRow(out, row, widths);
}

void Widen(const std::vector<std::string>& cells, std::vector<size_t>& widths) {
  for (size_t i = 0; i < cells.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], Columns(Printable(cells[i])));
}

void PrintRow(std::ostream& out, const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  constexpr size_t kGap = 3;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string text = Printable(cells[i]);
    out << text;
    if (i + 1 == cells.size()) break;
    const size_t taken = Columns(text), width = i < widths.size() ? widths[i] : 0;
    out << std::string(std::max(width, taken) - taken + kGap, ' ');
  }
  out << '\n';
}

void PrintValue(std::ostream& out, Format format, const base::Json& value) {
  out << (format == Format::kYaml ? base::ToYaml(value) : base::ToPrettyText(value) + "\n");
}

void PrintWarning(std::string_view warning) { std::cerr << "evenkeel: warning: " << Printable(warning) << '\n'; }

base::Status FlushOutput(std::ostream& out) {
  if (out.flush()) return {};
  // The other end of a pipe was closed, as by head.
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return {};
  return base::Fail(base::Code::kInternal, "standard output: not all could be written: is the disk full?");
}

}  // namespace evenkeel::cli
