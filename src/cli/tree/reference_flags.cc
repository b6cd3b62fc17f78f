#include <algorithm>
#include <set>

#include "cli/terminal/shared_flags.h"
#include "cli/tree/reference.h"

namespace evenkeel::cli {
namespace {

std::string Marked(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string ValueText(const FlagDescription& flag) {
  std::string text;
  for (const std::string& value : flag.values) text += (text.empty() ? "" : ", ") + Marked(value);
  if (!text.empty()) return text;
  return flag.value + (flag.bounds.empty() ? "" : " in " + flag.bounds);
}

std::string HelpText(const FlagDescription& flag) {
  std::string help = flag.help;
  if (flag.required) help += " (required)";
  if (flag.repeatable && !help.contains("repeatable")) help += " (repeatable)";
  // An angle bracket would begin an HTML tag.
  for (size_t at = 0; (at = help.find('<', at)) != std::string::npos; at += 4) help.replace(at, 1, "&lt;");
  return help;
}

std::string FlagsTable(const std::vector<FlagDescription>& arguments, const std::vector<FlagDescription>& flags) {
  std::string text = MarkdownHeader({"flag", "value", "default", "what"});
  for (const FlagDescription& argument : arguments) {
    text += MarkdownRow({Marked(argument.name), ValueText(argument), "", HelpText(argument)});
  }
  for (const FlagDescription& flag : flags) {
    const std::string names = (flag.short_name.empty() ? "" : Marked(flag.short_name) + ", ") + Marked(flag.name);
    text += MarkdownRow({names, ValueText(flag), Marked(flag.default_text), HelpText(flag)});
  }
  return text;
}

void AppendCommandTable(const CommandDescription& command, std::string& text) {
  std::vector<FlagDescription> own;
  bool autoscaler = false;
  for (const FlagDescription& flag : command.flags) {
    if (IsHelp(flag)) continue;
    if (flag.section.empty()) {
      own.push_back(flag);
    } else {
      autoscaler = true;
    }
  }
  text += "\n## " + command.path + "\n\n" + Sentence(command.help) + "\n";
  if (!own.empty() || !command.arguments.empty()) text += "\n" + FlagsTable(command.arguments, own);
  if (autoscaler) text += "\nAnd [the autoscaler's](#flags-of-the-autoscaler).\n";
  for (const CommandDescription& child : command.commands) AppendCommandTable(child, text);
}

}  // namespace

bool IsHelp(const FlagDescription& flag) { return flag.name == "--help" || flag.name == "--help-all"; }

std::vector<FlagDescription> SectionedFlags(const CommandDescription& command) {
  std::vector<FlagDescription> flags;
  std::set<std::string> names;
  auto add = [&](const FlagDescription& flag) {
    if (!flag.section.empty() && names.insert(flag.name).second) flags.push_back(flag);
  };
  std::ranges::for_each(command.flags, add);
  for (const CommandDescription& child : command.commands) std::ranges::for_each(SectionedFlags(child), add);
  std::ranges::stable_sort(flags, {}, [](const FlagDescription& flag) { return flag.section; });
  return flags;
}

std::string FlagsReference(const CommandDescription& root) {
  std::string text = ReferenceTitle("Commands and flags", "flags",
                                    "Flags of `evenkeel` itself go with every command, and each command has `--help`.");
  std::string commands;
  AppendCommandTable(root, commands);
  text += commands;
  text +=
      "\n## Flags of the autoscaler\n\nThey keep cluster-autoscaler's names, units and defaults "
      "([AUTOSCALER](../AUTOSCALER.md)).\n";
  std::string section;
  std::vector<FlagDescription> together;
  auto close = [&] {
    if (!together.empty()) text += "\n### " + section + "\n\n" + FlagsTable({}, together);
    together.clear();
  };
  for (const FlagDescription& flag : SectionedFlags(root)) {
    if (flag.section != section) close();
    section = flag.section;
    together.push_back(flag);
  }
  close();
  return text;
}

}  // namespace evenkeel::cli
