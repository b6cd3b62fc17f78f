// How commands answer: tables for people, JSON and YAML for programs.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::cli {

enum class Format { kTable, kJson, kYaml };

/// kBadRequest names the choices.
base::Result<Format> ParseFormat(const std::string& name);

/// Columns as wide as their widest cell, three spaces between, as kubectl prints. Cells are printed as Printable makes them.
void PrintTable(std::ostream& out, const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
/// Makes the columns as wide as the cells need. Cells beyond the last width do not count.
void Widen(const std::vector<std::string>& cells, std::vector<size_t>& widths);
/// One line of a table.
void PrintRow(std::ostream& out, const std::vector<std::string>& cells, const std::vector<size_t>& widths);
/// JSON or YAML; not for kTable.
void PrintValue(std::ostream& out, Format format, const base::Json& value);
/// A line on standard error: what is printed on standard output stays readable for programs.
void PrintWarning(std::string_view warning);
/// kInternal: not all of what was printed has been written, as on a full disk. That nobody reads any more is no failure.
base::Status FlushOutput(std::ostream& out);

}  // namespace evenkeel::cli
