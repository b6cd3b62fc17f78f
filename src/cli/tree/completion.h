// `evenkeel completion bash|zsh|fish`: what shells ask. Their scripts are short and the same for every version: they ask the
// program itself (`evenkeel __complete WORD...`), as kubectl's do and as kubectl asks its plugins.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
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
  };
  std::vector<Candidate> candidates;
  Rest rest = Rest::kNothing;  ///< what may stand there besides the candidates
  std::string kubeconfig;      ///< that the words before name; "": none
};

/// `words`: those after the program's name; the last is the one to complete, and may be empty. Pure.
Completion Complete(const CommandDescription& root, std::span<const std::string> words);

/// What `__complete` prints, as cobra's programs do: a candidate per line with its help after a tab, then ":0" for file names,
/// ":16" for directories, ":4" for neither. Reads the contexts of the kubeconfig if they are asked for.
void PrintCompletion(const CommandDescription& root, std::span<const std::string> words, std::ostream& out);

/// The script that makes `shell` ask. kBadRequest names the shells that there are.
base::Result<std::string> CompletionScript(const std::string& shell);

}  // namespace evenkeel::cli
