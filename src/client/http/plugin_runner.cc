#include <unistd.h>

#include <atomic>

#include "base/executor.h"
#include "client/http/credential_plugins.h"

namespace evenkeel::client {
namespace {

constexpr int kPluginsAtOnce = 8;

class ProcessRunner final : public PluginRunner {
 public:
  ~ProcessRunner() override { stopping_ = true; }

  void Run(base::ProcessCall call, Done done) override {
    // Each run has a strand of its own, so that none waits for another while a thread is free. It goes with its task.
    std::shared_ptr<base::Strand> strand = executor_->NewStrand("credential-plugin");
    strand->Post([this, strand, call = std::move(call), done = std::move(done)] {
      done(base::RunProcess(call, [this] { return stopping_.load(); }));
    });
  }

  std::vector<std::string> Environment() const override {
    std::vector<std::string> variables;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) variables.emplace_back(*variable);
    return variables;
  }

  std::string Find(const std::string& command) const override {
    std::string program = base::FindProgram(command, Environment(), ".");
    // What a relative PATH would find depends on where this process was started.
    return command.find('/') != std::string::npos || program.starts_with('/') ? program : "";
  }

 private:
  std::atomic<bool> stopping_ = false;
  // Destroyed first: it waits for the runs, which look at the flag.
  const std::unique_ptr<base::Executor> executor_ = base::NewThreadPool(kPluginsAtOnce);
};

}  // namespace

std::unique_ptr<PluginRunner> NewProcessRunner() { return std::make_unique<ProcessRunner>(); }

}  // namespace evenkeel::client
