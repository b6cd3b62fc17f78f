#include "cli/tree/command_place.h"

#include <algorithm>
#include <utility>

namespace evenkeel::cli {

CommandPlace::Word CommandPlace::Read(const std::string& word) {
  if (const FlagDescription* flag = std::exchange(awaited_, nullptr)) return Note(*flag, word);
  if (!only_arguments_ && word == "--") {
    only_arguments_ = true;
    return {.kind = Word::Kind::kDashes, .text = word};
  }
  if (!only_arguments_ && word.size() >= 2 && word.front() == '-') return ReadFlag(word);
  const auto found = std::ranges::find(command().commands, word, &CommandDescription::name);
  if (!only_arguments_ && found != command().commands.end()) {
    path_.push_back(&*found);
    return {.kind = Word::Kind::kCommand, .text = word};
  }
  const FlagDescription* argument = NextArgument();
  arguments_.push_back(word);
  return {.kind = Word::Kind::kArgument, .flag = argument, .text = word};
}

const FlagDescription* CommandPlace::NextArgument() const {
  const std::vector<FlagDescription>& all = command().arguments;
  if (arguments_.size() < all.size()) return &all[arguments_.size()];
  return !all.empty() && all.back().repeatable ? &all.back() : nullptr;
}

std::string CommandPlace::Value(const std::string& flag) const {
  const auto found = given_.find(flag);
  return found == given_.end() ? "" : found->second;
}

const FlagDescription* CommandPlace::FindFlag(std::string_view name) const {
  for (auto each = path_.rbegin(); each != path_.rend(); ++each) {
    for (const FlagDescription& flag : (*each)->flags) {
      if (flag.name == name || (!flag.short_name.empty() && flag.short_name == name)) return &flag;
    }
  }
  return nullptr;
}

CommandPlace::Word CommandPlace::ReadFlag(const std::string& word) {
  const bool is_long = word.starts_with("--");
  const size_t equals = is_long ? word.find('=') : std::string::npos;
  // -wo json: flags without a value, and then one that may have its value in the same word.
  for (size_t at = 1; !is_long && at < word.size(); ++at) {
    const FlagDescription* flag = FindFlag(std::string("-") + word[at]);
    if (flag == nullptr) return {.kind = Word::Kind::kUnknownFlag, .text = word};
    given_[flag->name];
    if (!flag->value.empty() && at + 1 < word.size()) return Note(*flag, word.substr(at + 1));
    if (!flag->value.empty()) awaited_ = flag;
    if (at + 1 == word.size()) return {.kind = Word::Kind::kFlag, .flag = flag, .text = word};
  }
  const FlagDescription* flag = FindFlag(std::string_view(word).substr(0, equals));
  if (flag == nullptr) return {.kind = Word::Kind::kUnknownFlag, .text = word.substr(0, equals)};
  given_[flag->name];
  if (equals != std::string::npos) return Note(*flag, word.substr(equals + 1));
  if (!flag->value.empty()) awaited_ = flag;
  return {.kind = Word::Kind::kFlag, .flag = flag, .text = word};
}

CommandPlace::Word CommandPlace::Note(const FlagDescription& flag, const std::string& value) {
  given_[flag.name] = value;
  return {.kind = Word::Kind::kValue, .flag = &flag, .text = value};
}

}  // namespace evenkeel::cli
