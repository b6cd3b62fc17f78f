#include "cli/tree/reference.h"

namespace evenkeel::cli {

const std::vector<std::string>& ReferenceNames() {
  static const std::vector<std::string> kNames{"man", "flags", "metrics", "events", "json", "settings"};
  return kNames;
}

base::Status PrintReference(const std::string& name, const CommandDescription& root, const std::string& version,
                            std::ostream& out) {
  if (name == "man") {
    out << ManualPage(root, version);
  } else if (name == "flags") {
    out << FlagsReference(root);
  } else if (name == "metrics") {
    out << MetricsReference();
  } else if (name == "events") {
    out << EventsReference();
  } else if (name == "json") {
    out << JsonReference();
  } else if (name == "settings") {
    out << SettingsReference();
  } else {
    return base::Fail(base::Code::kBadRequest, "docs: there is no page " + name);
  }
  return {};
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    row += ' ';
    for (const char c : cell) row += c == '|' ? std::string("\\|") : std::string(1, c);
    row += cell.empty() ? "|" : " |";
  }
  return row + "\n";
}

std::string MarkdownHeader(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return MarkdownRow(cells) + rule + "\n";
}

std::string Sentence(const std::string& text) { return text + (text.ends_with('.') ? "" : "."); }

std::string ReferenceTitle(const std::string& title, const std::string& name, const std::string& text) {
  return "# " + title + "\n\nMade by `evenkeel docs " + name + "`. " + text + "\n";
}

}  // namespace evenkeel::cli
