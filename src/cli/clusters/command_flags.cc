#include "cli/clusters/command_flags.h"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>

#include "base/parse_number.h"

namespace evenkeel::cli {
namespace {

template <typename T>
CLI::Option* CheckNumber(CLI::Option* option, const std::string& what, const std::string& type, T min, T max) {
  const std::string bounds = fmt::format("from {} to {}", min, max);
  const auto check = [=](std::string& text) -> std::string {
    const auto number = base::ParseNumber<T>(text);
    // NaN is in no range.
    if (!number || !(*number >= min && *number <= max)) return fmt::format("\"{}\": give {} {}", text, what, bounds);
    // What reads it next takes 010 for 8.
    if constexpr (std::is_integral_v<T>) text = std::to_string(*number);
    return {};
  };
  return option->check(CLI::Validator(check, fmt::format("{} in [{} - {}]", type, min, max)));
}

}  // namespace

CLI::Option* IsWhole(CLI::Option* option, int64_t min, int64_t max) {
  return CheckNumber(option, "a whole number", "INT", min, max);
}

CLI::Option* IsNumber(CLI::Option* option, double min, double max) {
  return CheckNumber(option, "a number", "FLOAT", min, max);
}

CLI::Option* IsSeed(CLI::Option* option) {
  return CheckNumber(option, "a whole number", "UINT", uint64_t{0}, std::numeric_limits<uint64_t>::max());
}

CLI::Option* OneOf(CLI::Option* option, const std::vector<std::string>& values) {
  std::string type;
  for (const std::string& value : values) type += (type.empty() ? "" : "|") + value;
  return option->type_name(type)->check(CLI::IsMember(values).description(""));
}

CLI::Option* IsFile(CLI::Option* option) { return option->type_name(kFileType); }

void AddOutputFlag(CLI::App& command, std::string& output) {
  OneOf(command.add_option("-o,--output", output, "How to print it"), {"table", "json", "yaml"})->capture_default_str();
}

void AddFormFlag(CLI::App& command, std::string& output) {
  const auto check = [](const std::string& text) -> std::string {
    const auto parsed = GetOutput::Parse(text);
    return parsed ? "" : parsed.error().message();
  };
  command.add_option("-o,--output", output, "How to print it; as of kubectl")
      ->type_name("table|wide|name|json|yaml|jsonpath=|custom-columns=")
      ->check(CLI::Validator(check, ""))
      ->capture_default_str();
}

void AddGetFlags(CLI::App& command, GetOptions& options, const char* type) {
  command.add_option("name", options.names, "Only what has these names (default: all)")->type_name(type);
  AddFormFlag(command, options.output);
  command.add_flag("-w,--watch", options.watch, "Go on, and print what changes, until interrupted");
}

void AddFilenameFlag(CLI::App& command, std::vector<std::string>& files, const std::string& help) {
  IsFile(command.add_option("-f,--filename", files, help))->allow_extra_args(false);
}

void AddReportFlag(CLI::App& command, ReportOptions& report, const std::string& what) {
  IsFile(command.add_option("--report", report.file, "Write a page about " + what + ", with charts, into this HTML file"));
}

void AddKubeconfigFlags(CLI::App& command, HubOptions& options, const std::string& what) {
  IsFile(command.add_option("--kubeconfig", options.kubeconfig,
                            "How to reach " + what + " (default: $KUBECONFIG, $EVENKEEL_HOME/kubeconfig, ~/.kube/config)"));
  command.add_option("--context", options.context, "Context of the kubeconfig (default: its current one)")
      ->type_name(kContextType);
}

}  // namespace evenkeel::cli
