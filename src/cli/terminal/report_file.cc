#include "cli/terminal/report_file.h"

#include <filesystem>
#include <string_view>

#include "base/input/file.h"
#include "base/json.h"
#include "dashboard/page_assets.h"

namespace evenkeel::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";

std::string ShellQuoted(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kUnquoted) == word.npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + '\'';
}

}  // namespace

std::string CommandText(int argc, const char* const* argv) {
  std::string text = "evenkeel";
  for (int i = 1; i < argc; ++i) text += ' ' + ShellQuoted(argv[i]);
  return text;
}

base::Status CheckReport(const ReportOptions& report) {
  if (report.file.empty()) return {};
  const auto refuse = [&](const std::string& why) {
    return base::Fail(base::Code::kBadRequest, "--report " + report.file + ": " + why);
  };
  std::error_code error;
  if (report.file == "-" || fs::is_directory(report.file, error)) return refuse("name a file");
  const fs::path directory = fs::path(report.file).parent_path();
  if (!directory.empty() && !fs::is_directory(directory, error)) {
    return refuse("there is no directory " + directory.string() + ": make it first");
  }
  return {};
}

base::Status WriteReport(const ReportOptions& report, base::JsonObject data, base::Time now) {
  data["command"] = report.command;
  data["generated"] = base::FormatTime(now);
  if (auto written = base::WriteFile(report.file, dashboard::ReportPage(std::move(data))); !written) {
    return base::Fail(written.error().Wrap("--report"));
  }
  return {};
}

}  // namespace evenkeel::cli
