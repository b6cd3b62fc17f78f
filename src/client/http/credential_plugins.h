// What credential plugins have answered, kept and renewed for all clients of a process: those with the same plugin share one
// answer and one run of it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/process.h"
#include "base/random.h"
#include "base/time.h"
#include "client/http/exec_credential.h"

namespace evenkeel::client {

/// Runs programs somewhere else: nobody waits inside it.
class PluginRunner {
 public:
  using Done = std::function<void(base::Result<base::ProcessOutcome>)>;
  virtual ~PluginRunner() = default;
  /// `done` is called once, on any thread, also from within; not after the runner has been destroyed.
  virtual void Run(base::ProcessCall call, Done done) = 0;
  /// The environment of this process, "NAME=VALUE".
  virtual std::vector<std::string> Environment() const = 0;
  /// The program that a name means in PATH, absolute; a path is itself. "": there is none.
  virtual std::string Find(const std::string& command) const = 0;
};
/// Real processes, at most eight at a time. Its destructor kills those that run.
std::unique_ptr<PluginRunner> NewProcessRunner();

/// One answer of a plugin. Never reaches a log.
struct PluginCredential {
  std::string token, certificate_pem, key_pem;
  uint64_t serial = 0;  ///< another one for each run
};

/// The answers of one plugin over time. Thread-safe.
/// An answer serves until it expires; it is renewed at 75 to 85 % of its life, two minutes before its end at the latest, while
/// it still serves. A failed run is tried again after a second, doubled up to five minutes, as is one whose answers servers
/// refuse.
class PluginSession : public std::enable_shared_from_this<PluginSession> {
 public:
  /// The references must outlive it.
  PluginSession(ExecConfig config, PluginRunner& runner, base::Clock& clock, base::Random random);

  /// One look, which begins a run where one is due. Both null: a run is under way, and there is nothing to use meanwhile.
  struct Look {
    std::shared_ptr<const PluginCredential> credential;
    std::shared_ptr<const base::Error> error;
  };
  Look Now();
  /// Waits for a run that is under way, until `deadline` (kTimeout).
  base::Result<std::shared_ptr<const PluginCredential>> Await(base::Instant deadline);
  /// A server answered 401 to the credential with that serial. Whether asking again may give another one.
  bool Rejected(uint64_t serial);

 private:
  Look LookLocked(base::Instant now, base::Time wall) const;
  bool IsRunDue(base::Instant now, base::Time wall) const;
  void StartRun();
  void Finish(base::Result<base::ProcessOutcome> outcome);
  base::Result<ExecAnswer> ReadOutcome(const base::Result<base::ProcessOutcome>& outcome) const;
  void Keep(ExecAnswer answer, base::Instant now, base::Time wall);
  base::Duration BackOff(int times);
  base::ProcessCall MakeCall() const;
  std::string NotFound() const;

  const ExecConfig config_;
  PluginRunner& runner_;
  base::Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  base::Random random_;
  uint64_t serial_ = 0;
  uint64_t runs_ended_ = 0;
  bool running_ = false;
  std::shared_ptr<const PluginCredential> current_;
  bool refused_ = false;  ///< current_, by a server
  base::Time usable_until_ = base::Time::max(), renew_at_ = base::Time::max();
  base::Instant obtained_{}, run_not_before_{}, refuse_not_before_{};
  int failures_ = 0, refusals_ = 0, expired_answers_ = 0;
  std::shared_ptr<const base::Error> error_;
};

/// All plugins of a process. Thread-safe.
class CredentialPlugins {
 public:
  /// Real processes, and none that a Secret names: for commands that people run.
  static const std::shared_ptr<CredentialPlugins>& OfProcess();

  /// `allowed_in_secrets`: names that are looked up in PATH, or paths.
  CredentialPlugins(std::unique_ptr<PluginRunner> runner, base::Clock& clock, base::Random random,
                    std::vector<std::string> allowed_in_secrets);

  /// kForbidden: a Secret names a command that is not allowed there. Runs nothing yet.
  base::Result<std::shared_ptr<PluginSession>> Open(const ExecConfig& config);

 private:
  bool IsAllowed(const std::string& command) const;

  const std::unique_ptr<PluginRunner> runner_;
  base::Clock& clock_;
  const base::Random random_;
  const std::vector<std::string> allowed_in_secrets_;
  struct Entry {
    std::shared_ptr<PluginSession> session;
    base::Instant opened;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> sessions_;
};

/// The items of --exec-plugins, separated by commas; kBadRequest for one that is neither a name nor a clean absolute path.
base::Result<std::vector<std::string>> ParseAllowedPlugins(std::string_view text);

}  // namespace evenkeel::client
