#include "cli/terminal/command_description.h"

#include <CLI/CLI.hpp>

namespace evenkeel::cli {
namespace {

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

FlagDescription DescribeOption(const CLI::Option& option) {
  FlagDescription flag;
  if (option.get_positional()) {
    flag.name = option.get_name();
  } else {
    flag.name = "--" + option.get_lnames().front();
    if (!option.get_snames().empty()) flag.short_name = "-" + option.get_snames().front();
  }
  flag.help = option.get_description();
  flag.required = option.get_required();
  if (const std::string& group = option.get_group(); group != "Options") flag.section = group;
  if (option.get_items_expected_max() == 0) return flag;
  // "INT:INT in [0 - 100]": the type, then what a check says of it.
  const std::string type = option.get_type_name();
  const size_t colon = type.find(':');
  flag.value = type.substr(0, colon);
  if (const size_t in = type.find(" in ", std::min(colon, type.size())); in != std::string::npos) {
    flag.bounds = type.substr(in + 4);
  }
  if (flag.value.contains('|')) flag.values = Split(flag.value, '|');
  flag.default_text = option.get_default_str();
  if (flag.default_text == "\"\"" || flag.default_text == "[]") flag.default_text.clear();
  // A list is added to when it is given again.
  flag.repeatable = option.get_items_expected_max() > 1 || flag.value == "list" || flag.value.ends_with("repeatable");
  return flag;
}

CommandDescription DescribeCommand(const CLI::App& app, const std::string& parents) {
  CommandDescription command;
  command.name = app.get_name();
  command.path = parents + command.name;
  command.help = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? command.arguments : command.flags).push_back(DescribeOption(*option));
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(DescribeCommand(*child, command.path + " "));
  }
  return command;
}

}  // namespace

CommandDescription Describe(const CLI::App& app) { return DescribeCommand(app, ""); }

}  // namespace evenkeel::cli
