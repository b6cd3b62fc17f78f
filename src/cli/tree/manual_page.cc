#include <algorithm>

#include "cli/terminal/shared_flags.h"
#include "cli/tree/reference.h"

namespace evenkeel::cli {
namespace {

/// A hyphen-minus that stays one, backslashes, and lines that must not begin a request.
std::string Roff(const std::string& text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Quoted(const std::string& text) {
  std::string out;
  for (const char c : Roff(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return "\"" + out + "\"";
}

void AppendFlagText(const FlagDescription& flag, std::string& text) {
  text += ".TP\n\\fB";
  if (!flag.short_name.empty()) text += Roff(flag.short_name) + "\\fR, \\fB";
  text += Roff(flag.name) + "\\fR";
  if (!flag.value.empty()) text += " \\fI" + Roff(flag.value) + "\\fR";
  std::string help = flag.help;
  if (flag.required) help += " (required)";
  if (flag.repeatable && !help.contains("repeatable")) help += " (repeatable)";
  if (!flag.bounds.empty()) help += " " + flag.bounds;
  if (!flag.default_text.empty()) help += " (default " + flag.default_text + ")";
  text += "\n" + Roff(Sentence(help)) + "\n";
}

void AppendCommandText(const CommandDescription& command, std::string& text) {
  // A command that only stands for those below it has no flags but --help.
  if (command.commands.empty() || !std::ranges::all_of(command.flags, IsHelp)) {
    std::string arguments;
    for (const FlagDescription& argument : command.arguments) arguments += " " + argument.name;
    text += ".SS " + Quoted(command.path + arguments) + "\n" + Roff(Sentence(command.help)) + "\n";
    bool autoscaler = false;
    for (const FlagDescription& argument : command.arguments) AppendFlagText(argument, text);
    for (const FlagDescription& flag : command.flags) {
      if (!flag.section.empty()) autoscaler = true;
      if (flag.section.empty() && !IsHelp(flag)) AppendFlagText(flag, text);
    }
    if (autoscaler) text += ".PP\nAnd the\n.BR \"FLAGS OF THE AUTOSCALER\" .\n";
  }
  for (const CommandDescription& child : command.commands) AppendCommandText(child, text);
}

constexpr const char* kEnvironment = R"(.SH ENVIRONMENT
.TP
.B EVENKEEL_HOME
Where the embedded fleet keeps data, certificates and its kubeconfig (default \fI~/.evenkeel\fR).
.TP
.B KUBECONFIG
How to reach the hub, as for kubectl.
.SH FILES
.TP
.I $EVENKEEL_HOME/kubeconfig
Contexts \fBhub\fR and one for each member of the embedded fleet.
.SH "EXIT STATUS"
.TP
.B 0
Done.
.TP
.B 1
Failed; one line on standard error says what, where and what to do.
.TP
.B 2
Bad usage or input.
.TP
.B 3
Infeasible.
.SH "SEE ALSO"
.BR kubectl (1)
)";

}  // namespace

std::string ManualPage(const CommandDescription& root, const std::string& version) {
  std::string text = ".TH EVENKEEL 1 \"\" " + Quoted("evenkeel " + version) + " \"User Commands\"\n.ad l\n.nh\n";
  text += ".SH NAME\nevenkeel \\- keep a fleet of Kubernetes clusters on an even keel\n";
  text += ".SH SYNOPSIS\n.B evenkeel\n.I command\n.RI [ flags ]\n.br\n.B kubectl evenkeel\n.I command\n.RI [ flags ]\n";
  text += ".SH DESCRIPTION\n";
  text +=
      "Every cluster of a fleet has exactly one owner, the nodes that its pods need, an even load on them, and changes that "
      "reach it in a safe order.\n";
  text +=
      "The program runs the controllers that see to it, brings an embedded fleet to try them on, and answers what they would "
      "do and why.\n";
  text += ".SH FLAGS\nThey go with every command.\n";
  for (const FlagDescription& flag : root.flags) AppendFlagText(flag, text);
  text += ".SH COMMANDS\n";
  for (const CommandDescription& command : root.commands) AppendCommandText(command, text);
  text += ".SH \"FLAGS OF THE AUTOSCALER\"\nThey keep the names, units and defaults of cluster\\-autoscaler.\n";
  std::string section;
  for (const FlagDescription& flag : SectionedFlags(root)) {
    if (flag.section != section) text += ".SS " + Quoted(flag.section) + "\n";
    section = flag.section;
    AppendFlagText(flag, text);
  }
  return text + kEnvironment;
}

}  // namespace evenkeel::cli
