#include "cli/tree/mistake.h"

#include <algorithm>
#include <vector>

#include "base/input/nearest_name.h"
#include "cli/terminal/shared_flags.h"
#include "cli/tree/command_place.h"

namespace evenkeel::cli {
namespace {

using Kind = CommandPlace::Word::Kind;

std::string InQuotes(const std::string& word) { return "\"" + word + "\""; }

/// "; did you mean NAME?", or else ": there are A, B" when there are few.
std::string Hint(const std::string& word, const std::vector<std::string_view>& names, const std::string& there_are) {
  const std::string nearest = base::NearestNameHint(word, names);
  if (!nearest.empty()) return nearest;
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list.empty() || there_are.empty() ? "" : ": " + there_are + " " + list;
}

std::vector<std::string_view> NamesOf(const std::vector<CommandDescription>& commands) {
  std::vector<std::string_view> names;
  for (const CommandDescription& command : commands) names.push_back(command.name);
  return names;
}

std::string UnknownFlag(const CommandPlace& place, const std::string& word) {
  std::vector<std::string_view> names;
  for (const CommandDescription* command : place.path()) {
    for (const FlagDescription& flag : command->flags) names.push_back(flag.name);
  }
  return InQuotes(word) + ": " + place.command().path + " has no such flag" + Hint(word, names, "");
}

/// "": the value is one of those that there are, or there may be any.
std::string UnknownValue(const FlagDescription& flag, const std::string& value) {
  const auto fits = [&value](const std::string& each) { return each.ends_with('=') ? value.starts_with(each) : value == each; };
  if (flag.values.empty() || std::ranges::any_of(flag.values, fits)) return "";
  const std::vector<std::string_view> values(flag.values.begin(), flag.values.end());
  return flag.name + " " + InQuotes(value) + " is not known" + Hint(value, values, "there are");
}

/// "evenkeel get shards" for "shards"; "": no command below has such a name, or one here has.
std::string CommandElsewhere(const CommandDescription& root, const std::string& word) {
  if (!base::NearestName(word, NamesOf(root.commands)).empty()) return "";
  std::vector<std::string_view> names;
  std::vector<const CommandDescription*> commands;
  for (const CommandDescription& command : root.commands) {
    for (const CommandDescription& child : command.commands) {
      names.push_back(child.name);
      commands.push_back(&child);
    }
  }
  const std::string_view nearest = base::NearestName(word, names);
  if (nearest.empty()) return "";
  // What many ask about is got more often than it is planned.
  for (const CommandDescription* command : commands) {
    if (command->name == nearest && command->path == root.path + " get " + command->name) return command->path;
  }
  return (*std::ranges::find(commands, nearest, &CommandDescription::name))->path;
}

std::string UnexpectedWord(const CommandPlace& place, const std::string& word) {
  const CommandDescription& command = place.command();
  if (!command.commands.empty()) {
    const std::string elsewhere = place.path().size() == 1 ? CommandElsewhere(command, word) : "";
    if (!elsewhere.empty())
      return InQuotes(word) + ": " + command.path + " has no such command; did you mean " + elsewhere + "?";
    return InQuotes(word) + ": " + command.path + " has no such command" + Hint(word, NamesOf(command.commands), "there are");
  }
  return InQuotes(word) + " is one word too many: " + command.path +
         (command.arguments.empty() ? " takes flags alone" : " takes no more than " + std::to_string(command.arguments.size()));
}

}  // namespace

std::string FindMistake(const CommandDescription& root, std::span<const std::string> words) {
  CommandPlace place(root);
  for (const std::string& each : words) {
    const CommandPlace::Word word = place.Read(each);
    if (word.kind == Kind::kUnknownFlag) return UnknownFlag(place, word.text);
    if (word.kind == Kind::kArgument && word.flag == nullptr) return UnexpectedWord(place, word.text);
    if ((word.kind == Kind::kArgument || word.kind == Kind::kValue) && word.flag != nullptr) {
      const std::string mistake = UnknownValue(*word.flag, word.text);
      if (!mistake.empty()) return mistake;
    }
  }
  return "";
}

std::string FindMissing(const CommandDescription& root, std::span<const std::string> words) {
  CommandPlace place(root);
  for (const std::string& word : words) place.Read(word);
  const CommandDescription& command = place.command();
  if (place.awaited() != nullptr) return place.awaited()->name + " needs a value";
  if (const FlagDescription* next = place.NextArgument();
      next != nullptr && next->required && place.arguments().size() < command.arguments.size()) {
    return command.path + " needs the " + next->name + ": " + next->help;
  }
  for (const FlagDescription& flag : command.flags) {
    if (flag.required && !place.IsGiven(flag.name)) return command.path + " needs " + flag.name + ": " + flag.help;
  }
  // Some that have commands below them do something themselves.
  const bool stands_for_others = !command.commands.empty() && std::ranges::all_of(command.flags, IsHelp);
  if (stands_for_others || place.path().size() == 1) {
    return command.path + " needs a command" + Hint("", NamesOf(command.commands), "one of");
  }
  return "";
}

const CommandDescription& CommandOf(const CommandDescription& root, std::span<const std::string> words) {
  CommandPlace place(root);
  for (const std::string& word : words) place.Read(word);
  return place.command();
}

}  // namespace evenkeel::cli
