#include "cli/tree/completion.h"

#include <algorithm>
#include <set>

#include "cli/clusters/command_flags.h"
#include "cli/clusters/hub.h"
#include "client/http/kubeconfig.h"

namespace evenkeel::cli {
namespace {

/// The words before the one to complete, read as the command line reads them, but for what is wrong.
struct Place {
  std::vector<const CommandDescription*> path;  ///< from the root to the command
  const FlagDescription* awaited = nullptr;     ///< whose value comes next
  size_t arguments = 0;                         ///< that were given, of those that are no flags
  bool only_arguments = false;                  ///< after --
  std::set<std::string> given;                  ///< flags
  std::string kubeconfig;

  const CommandDescription& command() const { return *path.back(); }

  const FlagDescription* FindFlag(std::string_view name) const {
    for (const CommandDescription* each : path) {
      for (const FlagDescription& flag : each->flags) {
        if (flag.name == name || (!flag.short_name.empty() && flag.short_name == name)) return &flag;
      }
    }
    return nullptr;
  }

  void Read(const std::string& word) {
    if (const FlagDescription* flag = std::exchange(awaited, nullptr)) return Note(*flag, word);
    if (only_arguments || word.size() < 2 || word.front() != '-') return ReadName(word);
    if (word == "--") {
      only_arguments = true;
      return;
    }
    const size_t equals = word.find('=');
    const FlagDescription* flag = FindFlag(std::string_view(word).substr(0, equals));
    if (flag == nullptr) return;
    given.insert(flag->name);
    if (equals != std::string::npos) return Note(*flag, word.substr(equals + 1));
    if (!flag->value.empty()) awaited = flag;
  }

 private:
  void Note(const FlagDescription& flag, const std::string& value) {
    if (flag.name == "--kubeconfig") kubeconfig = value;
  }

  void ReadName(const std::string& word) {
    const auto found = std::ranges::find(command().commands, word, &CommandDescription::name);
    if (!only_arguments && found != command().commands.end()) {
      path.push_back(&*found);
    } else {
      ++arguments;
    }
  }
};

void CompleteValue(const FlagDescription& flag, const std::string& prefix, const std::string& begun, Completion& completion) {
  for (const std::string& value : flag.values) {
    if (value.starts_with(begun)) completion.candidates.push_back({prefix + value, ""});
  }
  if (flag.value == kFileType) completion.rest = Completion::Rest::kFiles;
  if (flag.value == kDirectoryType) completion.rest = Completion::Rest::kDirectories;
  if (flag.value == kContextType) completion.rest = Completion::Rest::kContexts;
}

void CompleteFlag(const Place& place, const std::string& begun, Completion& completion) {
  std::set<std::string> offered;
  for (auto command = place.path.rbegin(); command != place.path.rend(); ++command) {
    for (const FlagDescription& flag : (*command)->flags) {
      if (!flag.name.starts_with(begun) || (place.given.contains(flag.name) && !flag.repeatable)) continue;
      if (offered.insert(flag.name).second) completion.candidates.push_back({flag.name, flag.help});
    }
  }
}

}  // namespace

Completion Complete(const CommandDescription& root, std::span<const std::string> words) {
  Completion completion;
  Place place;
  place.path = {&root};
  const std::string last = words.empty() ? "" : words.back();
  for (size_t i = 0; i + 1 < words.size(); ++i) place.Read(words[i]);
  completion.kubeconfig = place.kubeconfig;
  if (place.awaited != nullptr) {
    CompleteValue(*place.awaited, "", last, completion);
    return completion;
  }
  if (!place.only_arguments && last.starts_with('-')) {
    const size_t equals = last.find('=');
    if (equals == std::string::npos) {
      CompleteFlag(place, last, completion);
    } else if (const FlagDescription* flag = place.FindFlag(std::string_view(last).substr(0, equals))) {
      CompleteValue(*flag, last.substr(0, equals + 1), last.substr(equals + 1), completion);
    }
    return completion;
  }
  for (const CommandDescription& command : place.command().commands) {
    if (command.name.starts_with(last)) completion.candidates.push_back({command.name, command.help});
  }
  if (place.arguments < place.command().arguments.size()) {
    CompleteValue(place.command().arguments[place.arguments], "", last, completion);
  }
  return completion;
}

void PrintCompletion(const CommandDescription& root, std::span<const std::string> words, std::ostream& out) {
  Completion completion = Complete(root, words);
  if (completion.rest == Completion::Rest::kContexts) {
    const std::string& last = words.back();
    const size_t begin = last.starts_with("--") ? last.find('=') + 1 : 0;
    // Who completes cannot be told what is wrong with the file; the command will say it.
    HubOptions hub;
    hub.kubeconfig = completion.kubeconfig;
    const auto contexts = client::KubeconfigContexts(KubeconfigPath(hub));
    for (const std::string& context : contexts.value_or(std::vector<std::string>())) {
      if (context.starts_with(last.substr(begin))) completion.candidates.push_back({last.substr(0, begin) + context, ""});
    }
  }
  for (const Candidate& candidate : completion.candidates) {
    out << candidate.text << (candidate.help.empty() ? "" : "\t") << candidate.help << '\n';
  }
  switch (completion.rest) {
    case Completion::Rest::kFiles:
      out << ":0\n";
      break;
    case Completion::Rest::kDirectories:
      out << ":16\n";
      break;
    case Completion::Rest::kNothing:
    case Completion::Rest::kContexts:
      out << ":4\n";
      break;
  }
}

}  // namespace evenkeel::cli
