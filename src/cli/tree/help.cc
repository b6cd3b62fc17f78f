#include "cli/tree/help.h"

#include <algorithm>
#include <array>
#include <set>

#include "cli/terminal/shared_flags.h"
#include "cli/tree/reference.h"

namespace evenkeel::cli {
namespace {

/// Where the text about a flag or a command begins.
constexpr size_t kTextColumn = 30;

constexpr const char* kOtherFlags = "Flags";

/// By the beginning of a flag's name. What is not here stands under "Flags".
constexpr std::array<std::pair<std::string_view, const char*>, 24> kGroups{{{"--kubeconfig", "Where to ask"},
                                                                            {"--context", "Where to ask"},
                                                                            {"--namespace", "Where to ask"},
                                                                            {"--controller-name", "Where to ask"},
                                                                            {"--cluster", "Where to ask"},
                                                                            {"--filename", "Where to ask"},
                                                                            {"--manifest", "Where to ask"},
                                                                            {"--output", "Output"},
                                                                            {"--watch", "Output"},
                                                                            {"--report", "Output"},
                                                                            {"--once", "Output"},
                                                                            {"--sort", "Output"},
                                                                            {"--reverse", "Output"},
                                                                            {"--filter", "Output"},
                                                                            {"--timeline", "Output"},
                                                                            {"--verbose", "Output"},
                                                                            {"--sharding-", "Distribution"},
                                                                            {"--max-moves", "Distribution"},
                                                                            {"--dynamic-", "Distribution"},
                                                                            {"--in-cluster", "Distribution"},
                                                                            {"--quirks", "Distribution"},
                                                                            {"--dashboard", "Dashboard"},
                                                                            {"--metrics-", "Metrics"},
                                                                            {"--audit-log-", "Audit log"}}};

/// What few people need; also all flags of a section.
bool IsRare(const FlagDescription& flag) {
  static const std::set<std::string_view> kRare{"--controller-name",
                                                "--quirks",
                                                "--in-cluster",
                                                "--exec-plugins",
                                                "--dynamic-cluster-distribution-enabled",
                                                "--webhook-address",
                                                "--webhook-port",
                                                "--webhook-url",
                                                "--webhook-ca-file",
                                                "--tls-cert-file",
                                                "--tls-private-key-file",
                                                "--dashboard-host",
                                                "--dashboard-read-token-file",
                                                "--karmada-habits",
                                                "--autoscaler-args",
                                                "--audit-log-maxsize",
                                                "--audit-log-maxbackup",
                                                "--evaluations"};
  return !flag.required && (!flag.section.empty() || kRare.contains(flag.name));
}

std::string GroupOf(const FlagDescription& flag) {
  if (!flag.section.empty()) return flag.section;
  for (const auto& [prefix, group] : kGroups) {
    if (flag.name.starts_with(prefix)) return group;
  }
  return kOtherFlags;
}

/// `label` at the margin and the text beside it, or below it where it is long.
void AppendItem(const std::string& label, const std::string& text, std::string& out) {
  std::string line = "  " + label;
  if (line.size() + 2 > kTextColumn) {
    out += line + "\n";
    line.clear();
  }
  line.resize(std::max(line.size(), kTextColumn), ' ');
  const std::string margin(kTextColumn, ' ');
  bool begun = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (begun && line.size() + 1 + end - begin > kHelpColumns) {
      out += line + "\n";
      line = margin;
      begun = false;
    }
    line += (begun ? " " : "") + text.substr(begin, end - begin);
    begun = true;
    begin = end + 1;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

void AppendFlag(const FlagDescription& flag, std::string& out) {
  // Short ones stand below each other.
  std::string label =
      flag.name.starts_with('-') ? (flag.short_name.empty() ? "    " : flag.short_name + ", ") + flag.name : Upper(flag.name);
  std::string text = flag.help;
  std::string choice;
  for (const std::string& value : flag.values)
    choice += (choice.empty() ? "" : ", ") + value + (value.ends_with('=') ? "..." : "");
  if (!choice.empty()) text += ": " + choice;
  const bool is_named = flag.name.starts_with('-') && !flag.value.empty();
  if (is_named) label += flag.values.empty() ? " " + flag.value : " WORD";
  if (flag.required) text += " (required)";
  if (flag.repeatable && !text.contains("repeatable")) text += " (repeatable)";
  if (!flag.default_text.empty()) text += " (default " + flag.default_text + ")";
  AppendItem(label, text, out);
}

std::string Usage(const CommandDescription& command) {
  std::string usage = command.path;
  if (!command.commands.empty()) usage += std::ranges::all_of(command.flags, IsHelp) ? " COMMAND" : " [COMMAND]";
  for (const FlagDescription& argument : command.arguments) {
    const std::string name = Upper(argument.name) + (argument.repeatable ? "..." : "");
    usage += argument.required ? " " + name : " [" + name + "]";
  }
  return usage + " [flags]";
}

void AppendExamples(const CommandDescription& command, std::string& out) {
  const std::vector<Example> examples = ExamplesOf(command.path);
  if (examples.empty()) return;
  out += "\nExamples:\n";
  size_t width = 0;
  for (const Example& example : examples) width = std::max(width, example.line.size());
  for (const Example& example : examples) {
    std::string line = example.line;
    if (!example.what.empty()) {
      // Below each other, if there is room.
      const bool fits = 2 + width + 3 + 2 + example.what.size() <= kHelpColumns;
      line.resize(fits ? width : line.size(), ' ');
      line += "   # " + example.what;
    }
    out += "  " + line + "\n";
  }
}

}  // namespace

std::string HelpText(const CommandDescription& root, const CommandDescription& command, bool all) {
  std::string out = Sentence(command.help) + "\n\nUsage: " + Usage(command) + "\n";
  AppendExamples(command, out);
  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const CommandDescription& each : command.commands) AppendItem(each.name, each.help, out);
  if (!command.arguments.empty()) out += "\nArguments:\n";
  for (const FlagDescription& argument : command.arguments) AppendFlag(argument, out);
  // In the order in which groups first come.
  std::vector<std::pair<std::string, std::vector<const FlagDescription*>>> groups;
  size_t rare = 0;
  for (const FlagDescription& flag : command.flags) {
    if (IsHelp(flag)) continue;
    if (!all && IsRare(flag)) {
      ++rare;
      continue;
    }
    const std::string group = GroupOf(flag);
    auto found = std::ranges::find(groups, group, [](const auto& each) { return each.first; });
    if (found == groups.end()) found = groups.insert(groups.end(), {group, {}});
    found->second.push_back(&flag);
  }
  for (const auto& [group, flags] : groups) {
    out += "\n" + group + ":\n";
    for (const FlagDescription* flag : flags) AppendFlag(*flag, out);
  }
  if (all && command.path != root.path) {
    out += "\nOf every command:\n";
    for (const FlagDescription& flag : root.flags) {
      if (!IsHelp(flag) && flag.name != "--version") AppendFlag(flag, out);
    }
  }
  out += "\n";
  if (!command.commands.empty())
    out += "More about a command: evenkeel help" + command.path.substr(root.path.size()) + " COMMAND\n";
  if (rare > 0) out += std::to_string(rare) + " flags that are rarely needed: " + command.path + " --help-all\n";
  if (command.commands.empty() && rare == 0) out += "Flags of every command: " + command.path + " --help-all\n";
  return out;
}

}  // namespace evenkeel::cli
