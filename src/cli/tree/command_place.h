// Where the words of a command line lead: for completions and for mistakes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/command_description.h"

namespace evenkeel::cli {

/// Reads words as the command line reads them, and passes over what is wrong.
class CommandPlace {
 public:
  struct Word {
    enum class Kind { kCommand, kArgument, kFlag, kValue, kUnknownFlag, kDashes };
    Kind kind = Kind::kArgument;
    const FlagDescription* flag = nullptr;  ///< the flag, or that whose value it is; null: there is none
    std::string text{};                     ///< the argument, the value, or the flag as it was written
  };

  /// `root` outlives it.
  explicit CommandPlace(const CommandDescription& root) : path_{&root} {}

  Word Read(const std::string& word);

  const CommandDescription& command() const { return *path_.back(); }
  /// From the root to the command.
  const std::vector<const CommandDescription*>& path() const { return path_; }
  /// The flag whose value comes next; null: none does.
  const FlagDescription* awaited() const { return awaited_; }
  /// What the next word is that is no flag and no command; null: nothing may stand there.
  const FlagDescription* NextArgument() const;
  /// Arguments that were given, of those that are no flags.
  const std::vector<std::string>& arguments() const { return arguments_; }
  /// After --.
  bool only_arguments() const { return only_arguments_; }
  bool IsGiven(const std::string& flag) const { return given_.contains(flag); }
  /// The last value of the flag; "": none.
  std::string Value(const std::string& flag) const;
  /// Of this command or of those above, by either name; null: there is none.
  const FlagDescription* FindFlag(std::string_view name) const;

 private:
  Word ReadFlag(const std::string& word);
  Word Note(const FlagDescription& flag, const std::string& value);

  std::vector<const CommandDescription*> path_;
  const FlagDescription* awaited_ = nullptr;
  std::vector<std::string> arguments_;
  bool only_arguments_ = false;
  std::map<std::string, std::string> given_;  ///< flags, with their last values
};

}  // namespace evenkeel::cli
