// The command line as one tree: what main runs, and what completions, the man page and the reference are made from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace evenkeel::cli {

class CommandTree {
 public:
  /// `version`: of the program.
  explicit CommandTree(const std::string& version);
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  const CLI::App& app() const;
  /// Reads the arguments and runs the command that they choose. Errors are one line on standard error. The exit status: 0 done,
  /// 1 failed, 2 bad usage or input, 3 infeasible.
  int Run(int argc, const char* const* argv);

 private:
  base::Status RunWords(int argc, const char* const* argv, const std::vector<std::string>& words);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace evenkeel::cli
