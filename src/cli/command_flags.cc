#include "cli/command_flags.h"

#include <CLI/CLI.hpp>

namespace evenkeel::cli {

CLI::Option* OneOf(CLI::Option* option, const std::vector<std::string>& values) {
  std::string type;
  for (const std::string& value : values) type += (type.empty() ? "" : "|") + value;
  return option->type_name(type)->check(CLI::IsMember(values).description(""));
}

CLI::Option* IsFile(CLI::Option* option) { return option->type_name(kFileType); }

void AddOutputFlag(CLI::App& command, std::string& output) {
  OneOf(command.add_option("-o,--output", output, "How to print it"), {"table", "json", "yaml"})->capture_default_str();
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
