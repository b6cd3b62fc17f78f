// `evenkeel completion bash|zsh|fish`: what shells ask. Their scripts are short and the same for every version: they ask the
// program itself (`evenkeel __complete WORD...`), as kubectl's do and as kubectl asks its plugins.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/clusters/names_of_fleet.h"
#include "cli/terminal/command_description.h"

namespace evenkeel::cli {

struct Candidate {
  std::string text, help;
  bool operator==(const Candidate&) const = default;
};

struct Completion {
  enum class Rest {
    kNothing,
    kFiles,
    kDirectories,
    kContexts,  ///< of the kubeconfig
    kNames,     ///< of what there is in the fleet
  };
  std::vector<Candidate> candidates;
  Rest rest = Rest::kNothing;  ///< what may stand there besides the candidates
  std::string type;            ///< kNames: of what
  std::string prefix, begun;   ///< kNames, kContexts: what stands before the name in the word, and what there is of it
  NamesPlace where;            ///< as the words before say
};

/// `words`: those after the program's name; the last is the one to complete, and may be empty. Pure.
Completion Complete(const CommandDescription& root, std::span<const std::string> words);

/// What `__complete` prints, as cobra's programs do: a candidate per line with its help after a tab, then ":0" for file names,
/// ":16" for directories, ":4" for neither. Reads the contexts of the kubeconfig, or asks `names`, if they are wanted.
void PrintCompletion(const CommandDescription& root, std::span<const std::string> words, const NameSource& names,
                     std::ostream& out);

/// The script that makes `shell` ask. kBadRequest names the shells that there are.
base::Result<std::string> CompletionScript(const std::string& shell);

}  // namespace evenkeel::cli
