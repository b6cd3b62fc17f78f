// The tree of commands as values: what completions, the man page and the reference of flags are made from.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace evenkeel::cli {

struct FlagDescription {
  std::string name;                 ///< "--output"; of an argument that is no flag "scenario"
  std::string short_name;           ///< "-o"; "": there is none
  std::string value;                ///< what its value is called: "INT", "FILE"; "": it takes none
  std::vector<std::string> values;  ///< if there are only these
  std::string bounds;               ///< of a number: "[0 - 100]"
  std::string help;
  std::string default_text;  ///< "": none, or the help says it
  std::string section;       ///< of a long list of flags; "": none
  bool required = false;
  bool repeatable = false;
};

struct CommandDescription {
  std::string name;  ///< "shards"
  std::string path;  ///< "evenkeel get shards"
  std::string help;
  std::vector<FlagDescription> flags, arguments;
  std::vector<CommandDescription> commands;
};

CommandDescription Describe(const CLI::App& app);

}  // namespace evenkeel::cli
