#include "cli/tree/completion.h"

#include <set>

#include "cli/clusters/command_flags.h"
#include "cli/clusters/hub.h"
#include "cli/terminal/printable.h"
#include "cli/tree/command_place.h"
#include "client/http/kubeconfig.h"

namespace evenkeel::cli {
namespace {

void CompleteValue(const FlagDescription& flag, const std::string& prefix, const std::string& begun, Completion& completion) {
  for (const std::string& value : flag.values) {
    if (value.starts_with(begun)) completion.candidates.push_back({prefix + value, ""});
  }
  if (flag.value == kFileType) completion.rest = Completion::Rest::kFiles;
  if (flag.value == kDirectoryType) completion.rest = Completion::Rest::kDirectories;
  if (flag.value == kContextType) completion.rest = Completion::Rest::kContexts;
  static const std::set<std::string> kNamed{kClusterType, kNodeType, kPodType, kRolloutType, kNodeGroupType};
  if (kNamed.contains(flag.value)) completion.rest = Completion::Rest::kNames;
  completion.type = flag.value;
  completion.prefix = prefix;
  completion.begun = begun;
}

void CompleteFlag(const CommandPlace& place, const std::string& begun, Completion& completion) {
  std::set<std::string> offered;
  for (auto command = place.path().rbegin(); command != place.path().rend(); ++command) {
    for (const FlagDescription& flag : (*command)->flags) {
      if (!flag.name.starts_with(begun) || (place.IsGiven(flag.name) && !flag.repeatable)) continue;
      if (offered.insert(flag.name).second) completion.candidates.push_back({flag.name, flag.help});
    }
  }
}

}  // namespace

Completion Complete(const CommandDescription& root, std::span<const std::string> words) {
  Completion completion;
  CommandPlace place(root);
  const std::string last = words.empty() ? "" : words.back();
  for (size_t i = 0; i + 1 < words.size(); ++i) place.Read(words[i]);
  completion.where = {.kubeconfig = place.Value("--kubeconfig"),
                      .context = place.Value("--context"),
                      .ns = place.Value("--namespace"),
                      .cluster = place.Value("--cluster")};
  if (place.awaited() != nullptr) {
    CompleteValue(*place.awaited(), "", last, completion);
    return completion;
  }
  if (!place.only_arguments() && last.starts_with('-')) {
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
  if (const FlagDescription* argument = place.NextArgument()) CompleteValue(*argument, "", last, completion);
  return completion;
}

void PrintCompletion(const CommandDescription& root, std::span<const std::string> words, const NameSource& names,
                     std::ostream& out) {
  Completion completion = Complete(root, words);
  std::vector<std::string> found;
  if (completion.rest == Completion::Rest::kContexts) {
    // Who completes cannot be told what is wrong with the file; the command will say it.
    HubOptions hub;
    hub.kubeconfig = completion.where.kubeconfig;
    found = client::KubeconfigContexts(KubeconfigPath(hub)).value_or(std::vector<std::string>());
  }
  if (completion.rest == Completion::Rest::kNames) found = names(completion.type, completion.where);
  for (const std::string& name : found) {
    if (name.starts_with(completion.begun)) completion.candidates.push_back({Printable(completion.prefix + name), ""});
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
    case Completion::Rest::kNames:
      out << ":4\n";
      break;
  }
}

}  // namespace evenkeel::cli
