#include "cli/tree/command_help.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/json.h"
#include "cli/terminal/output.h"
#include "cli/tree/help.h"
#include "cli/tree/mistake.h"
#include "embedded/apiserver/http/http_handler.h"

namespace evenkeel::cli {
namespace {

base::Status PrintHelp(const CommandDescription& root, const std::vector<std::string>& words, std::ostream& out) {
  const CommandDescription& command = CommandOf(root, words);
  std::string path = root.path;
  for (const std::string& word : words) path += " " + word;
  if (command.path != path) return base::Fail(base::Code::kBadRequest, FindMistake(root, words));
  out << HelpText(root, command, false);
  return {};
}

base::Status PrintVersion(const std::string& version, const std::string& output, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(output));
  const std::string api = embedded::apiserver::ApiHandlerOptions().git_version;
  if (format == Format::kTable) {
    out << "evenkeel " << version << "\nserves the API of Kubernetes " << api << '\n';
  } else {
    PrintValue(out, format, base::JsonObject{{"version", version}, {"kubernetes", api}});
  }
  return {};
}

}  // namespace

void AddHelp(CLI::App& app, const std::string& version, HelpOptions& options, Action& action) {
  CLI::App* help = app.add_subcommand("help", "Say what a command does, with examples and its flags");
  help->add_option("command", options.command, "The words of a command (default: the program itself)")->type_name("COMMAND");
  help->callback([&] { action = [&] { return PrintHelp(Describe(app), options.command, std::cout); }; });
  CLI::App* command = app.add_subcommand("version", "Print the version of the program");
  AddOutputFlag(*command, options.output);
  command->callback([version, &options, &action] {
    action = [version, &options] { return PrintVersion(version, options.output, std::cout); };
  });
}

}  // namespace evenkeel::cli
