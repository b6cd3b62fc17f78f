// `evenkeel docs`: the man page and the reference pages (docs/reference), made from what the program itself goes by: the tree
// of commands, and the tables of metrics, events, JSON keys and settings that stand beside the code that goes by them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/command_description.h"

namespace evenkeel::cli {

/// What there is to print: "man", "flags" ...
const std::vector<std::string>& ReferenceNames();
/// "man" is roff (man(7)), the others are Markdown. `version`: of the program.
base::Status PrintReference(const std::string& name, const CommandDescription& root, const std::string& version,
                            std::ostream& out);

std::string ManualPage(const CommandDescription& root, const std::string& version);
std::string FlagsReference(const CommandDescription& root);
std::string MetricsReference();
std::string EventsReference();
std::string JsonReference();
std::string SettingsReference();

/// A row of a Markdown table. Bars in the cells are escaped.
std::string MarkdownRow(const std::vector<std::string>& cells);
/// The first lines of a Markdown table.
std::string MarkdownHeader(const std::vector<std::string>& cells);
/// With a full stop at its end.
std::string Sentence(const std::string& text);
/// What every page of the reference begins with. `text`: a sentence or more; `name` as in ReferenceNames.
std::string ReferenceTitle(const std::string& title, const std::string& name, const std::string& text);

}  // namespace evenkeel::cli
