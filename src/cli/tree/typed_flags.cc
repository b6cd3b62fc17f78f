#include "cli/tree/typed_flags.h"

#include <algorithm>

#include "cli/tree/command_place.h"
#include "controllers/autoscaler/options/flags.h"

namespace evenkeel::cli {
namespace {

/// The flag's name with two dashes and the value; "" where it is none of the autoscaler's flags, or is called so already.
std::string Named(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return "";
  const size_t equals = std::min(word.find('='), word.size());
  const std::string_view typed = std::string_view(word).substr(0, equals);
  const controllers::autoscaler::Flag* flag = controllers::autoscaler::FindTypedFlag(typed.substr(word[1] == '-' ? 2 : 1));
  const std::string name = flag == nullptr ? "" : "--" + flag->name;
  return flag == nullptr || name == typed ? "" : name + word.substr(equals);
}

bool Takes(const CommandPlace& place, const std::string& named) {
  return !place.only_arguments() && place.awaited() == nullptr && place.FindFlag(named.substr(0, named.find('='))) != nullptr;
}

}  // namespace

std::vector<std::string> NameTypedFlags(const std::function<CommandDescription()>& describe,
                                        std::span<const std::string> words) {
  std::vector<std::string> named(words.begin(), words.end());
  if (std::ranges::none_of(words, [](const std::string& word) { return !Named(word).empty(); })) return named;
  const CommandDescription root = describe();
  CommandPlace place(root);
  for (std::string& word : named) {
    if (std::string name = Named(word); !name.empty() && Takes(place, name)) word = std::move(name);
    place.Read(word);
  }
  return named;
}

}  // namespace evenkeel::cli
