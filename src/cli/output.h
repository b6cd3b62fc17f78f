// How commands answer: tables for people, JSON and YAML for programs.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"

namespace evenkeel::cli {

enum class Format { kTable, kJson, kYaml };

/// kBadRequest names the choices.
base::Result<Format> ParseFormat(const std::string& name);

/// Columns as wide as their widest cell, three spaces between, as kubectl prints.
void PrintTable(std::ostream& out, const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
/// JSON or YAML; not for kTable.
void PrintValue(std::ostream& out, Format format, const base::Json& value);

}  // namespace evenkeel::cli
