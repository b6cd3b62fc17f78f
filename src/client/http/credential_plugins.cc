#include "client/http/credential_plugins.h"

#include <algorithm>
#include <filesystem>

#include "base/utf8.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;
using base::Result;
using End = base::ProcessOutcome::End;

constexpr base::Duration kPluginTimeout = std::chrono::seconds(60);
constexpr size_t kPluginOutputMax = 1 << 20;
constexpr base::Duration kBackOffFirst = std::chrono::seconds(1), kBackOffMax = std::chrono::minutes(5);
/// An answer that was taken for so long has shown that servers take it: the next refusal is a new one.
constexpr base::Duration kGoodFor = std::chrono::minutes(10);
/// A member that is connected to anew finds its answer again.
constexpr base::Duration kKeptUnused = std::chrono::minutes(30);

std::string HintText(std::string_view hint) {
  constexpr size_t kHintMax = 1000;
  std::string shown;
  for (const char c : hint.substr(0, kHintMax)) {
    if (c == '\n' || c == '\t' || c == '\r') {
      shown += ' ';
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      shown += fmt::format("U+{:04X}", static_cast<unsigned char>(c));
    } else {
      shown += c;
    }
  }
  return shown;
}

/// The last value of a name counts, as in Go's os/exec.
std::vector<std::string> MergeEnvironment(std::vector<std::string> variables) {
  std::map<std::string, std::string> merged;
  for (std::string& variable : variables) {
    std::string name = variable.substr(0, variable.find('='));
    merged.insert_or_assign(std::move(name), std::move(variable));
  }
  std::vector<std::string> environment;
  environment.reserve(merged.size());
  for (auto& [name, variable] : merged) environment.push_back(std::move(variable));
  return environment;
}

}  // namespace

PluginSession::PluginSession(ExecConfig config, PluginRunner& runner, base::Clock& clock, base::Random random)
    : config_(std::move(config)), runner_(runner), clock_(clock), random_(random) {}

bool PluginSession::IsRunDue(base::Instant now, base::Time wall) const {
  if (running_ || now < run_not_before_) return false;
  return current_ == nullptr || refused_ || wall >= std::min(renew_at_, usable_until_);
}

PluginSession::Look PluginSession::LookLocked(base::Instant now, base::Time wall) const {
  const bool serves = current_ != nullptr && !refused_ && wall < usable_until_;
  if (serves) return {current_, nullptr};
  if (running_ || error_ == nullptr || now >= run_not_before_) return {};
  return {nullptr, error_};
}

PluginSession::Look PluginSession::Now() {
  {
    const std::lock_guard lock(mutex_);
    if (!IsRunDue(clock_.Monotonic(), clock_.Now())) return LookLocked(clock_.Monotonic(), clock_.Now());
    running_ = true;
  }
  StartRun();
  const std::lock_guard lock(mutex_);
  return LookLocked(clock_.Monotonic(), clock_.Now());
}

Result<std::shared_ptr<const PluginCredential>> PluginSession::Await(base::Instant deadline) {
  while (true) {
    uint64_t ended = 0;
    {
      const std::lock_guard lock(mutex_);
      ended = runs_ended_;
    }
    const Look look = Now();
    if (look.credential != nullptr) return look.credential;
    if (look.error != nullptr) return Fail(*look.error);
    std::unique_lock lock(mutex_);
    const auto time = std::chrono::time_point_cast<std::chrono::steady_clock::duration>(deadline);
    if (!changed_.wait_until(lock, time, [&] { return runs_ended_ != ended; })) {
      return Fail(Code::kTimeout,
                  fmt::format("getting credentials: exec: executable {} has not answered yet", base::OneLine(config_.command)));
    }
  }
}

bool PluginSession::Rejected(uint64_t serial) {
  const std::lock_guard lock(mutex_);
  if (current_ == nullptr || current_->serial != serial || refused_) return true;
  const base::Instant now = clock_.Monotonic();
  if (now < refuse_not_before_) return false;
  if (now - obtained_ > kGoodFor) refusals_ = 0;
  refuse_not_before_ = now + BackOff(refusals_++);
  refused_ = true;
  return true;
}

base::Duration PluginSession::BackOff(int times) {
  base::Duration wait = kBackOffFirst;
  for (int i = 0; i < times && wait < kBackOffMax; ++i) wait *= 2;
  wait = std::min(wait, kBackOffMax);
  return random_.Between(wait * 3 / 4, wait);
}

base::ProcessCall PluginSession::MakeCall() const {
  base::ProcessCall call;
  // Looked up in our own PATH, not in one that the configuration gives the plugin.
  call.command = {runner_.Find(config_.command)};
  call.command.insert(call.command.end(), config_.args.begin(), config_.args.end());
  std::vector<std::string> environment = runner_.Environment();
  for (const auto& [name, value] : config_.env) environment.push_back(name + "=" + value);
  environment.push_back("KUBERNETES_EXEC_INFO=" + ExecInfo(config_));
  call.environment = MergeEnvironment(std::move(environment));
  call.timeout = kPluginTimeout;
  call.output_bytes_max = kPluginOutputMax;
  return call;
}

void PluginSession::StartRun() {
  base::ProcessCall call = MakeCall();
  if (call.command.front().empty()) return Finish(Fail(Code::kNotFound, ""));
  runner_.Run(std::move(call), [weak = weak_from_this()](Result<base::ProcessOutcome> outcome) {
    if (const auto self = weak.lock()) self->Finish(std::move(outcome));
  });
}

std::string PluginSession::NotFound() const {
  std::string text = fmt::format(
      "exec: executable {} not found: it is the credential plugin of this cluster and has to be "
      "installed where evenkeel runs",
      base::OneLine(config_.command));
  return config_.install_hint.empty() ? text : text + ": " + HintText(config_.install_hint);
}

Result<ExecAnswer> PluginSession::ReadOutcome(const Result<base::ProcessOutcome>& outcome) const {
  const std::string program = base::OneLine(config_.command);
  if (!outcome) {
    if (outcome.error().code() == Code::kNotFound) return Fail(Code::kUnavailable, NotFound());
    return Fail(Code::kUnavailable, fmt::format("exec: executable {} cannot be run: {}", program, outcome.error().message()));
  }
  if (outcome->end == End::kExited && outcome->code == 0) return ParseExecAnswer(outcome->output, config_.api_version);
  std::string how;
  switch (outcome->end) {
    case End::kExited:
      how = fmt::format("failed with exit code {}", outcome->code);
      break;
    case End::kSignal:
      how = fmt::format("was ended by signal {}", outcome->code);
      break;
    case End::kTimedOut:
      how = fmt::format("did not end within {}", base::FormatDuration(kPluginTimeout));
      break;
    case End::kTooMuchOutput:
      how = fmt::format("wrote more than {} bytes", kPluginOutputMax);
      break;
    case End::kStopped:
      how = "was stopped with evenkeel";
      break;
  }
  const std::string said = RedactedErrors(outcome->errors, config_);
  return Fail(Code::kUnavailable, fmt::format("exec: executable {} {}{}{}", program, how, said.empty() ? "" : ": ", said));
}

void PluginSession::Keep(ExecAnswer answer, base::Instant now, base::Time wall) {
  auto credential = std::make_shared<PluginCredential>();
  credential->token = std::move(answer.token);
  credential->certificate_pem = std::move(answer.certificate_pem);
  credential->key_pem = std::move(answer.key_pem);
  credential->serial = ++serial_;
  current_ = std::move(credential);
  obtained_ = now;
  refused_ = false;
  usable_until_ = renew_at_ = base::Time::max();
  if (!answer.expires) return;
  const base::Duration life = *answer.expires - wall;
  if (life <= base::Duration::zero()) {
    // Our clock or the plugin's is wrong; servers judge by theirs. Running it for each request would help nobody.
    usable_until_ = wall + BackOff(expired_answers_++);
    return;
  }
  expired_answers_ = 0;
  usable_until_ = *answer.expires;
  constexpr base::Duration kAtTheLatest = std::chrono::minutes(2);
  const base::Duration drawn = random_.Between(life / 100 * 75, life / 100 * 85);
  renew_at_ = wall + (life > 2 * kAtTheLatest ? std::min(drawn, life - kAtTheLatest) : drawn);
}

void PluginSession::Finish(Result<base::ProcessOutcome> outcome) {
  Result<ExecAnswer> answer = ReadOutcome(outcome);
  {
    const std::lock_guard lock(mutex_);
    const base::Instant now = clock_.Monotonic();
    running_ = false;
    ++runs_ended_;
    if (answer) {
      Keep(*std::move(answer), now, clock_.Now());
      failures_ = 0;
      run_not_before_ = now;
      error_ = nullptr;
    } else {
      run_not_before_ = now + BackOff(failures_++);
      error_ = std::make_shared<const base::Error>(answer.error().Wrap("getting credentials"));
    }
  }
  changed_.notify_all();
}

const std::shared_ptr<CredentialPlugins>& CredentialPlugins::OfProcess() {
  // Never destroyed: clients may live until the process ends.
  static const auto* const plugins = new std::shared_ptr<CredentialPlugins>(std::make_shared<CredentialPlugins>(
      NewProcessRunner(), base::SystemClock(), base::Random(base::EntropySeed()), std::vector<std::string>()));
  return *plugins;
}

CredentialPlugins::CredentialPlugins(std::unique_ptr<PluginRunner> runner, base::Clock& clock, base::Random random,
                                     std::vector<std::string> allowed_in_secrets)
    : runner_(std::move(runner)), clock_(clock), random_(random), allowed_in_secrets_(std::move(allowed_in_secrets)) {}

bool CredentialPlugins::IsAllowed(const std::string& command) const {
  const std::string program = runner_->Find(command);
  return std::ranges::any_of(allowed_in_secrets_, [&](const std::string& entry) {
    return entry == command || (!program.empty() && (entry == program || runner_->Find(entry) == program));
  });
}

Result<std::shared_ptr<PluginSession>> CredentialPlugins::Open(const ExecConfig& config) {
  if (config.from_secret && !IsAllowed(config.command)) {
    const std::string command = base::OneLine(config.command);
    if (allowed_in_secrets_.empty()) {
      return Fail(Code::kForbidden,
                  fmt::format("plugin \"{}\" not allowed: credential plugins that a Secret names are run only "
                              "by `evenkeel run`, as its --exec-plugins says",
                              command));
    }
    return Fail(Code::kForbidden,
                fmt::format("plugin \"{}\" not allowed: a Secret may only name those of --exec-plugins; add it "
                            "there if you trust whoever writes cluster Secrets with it",
                            command));
  }
  const std::string key = config.Key();
  const base::Instant now = clock_.Monotonic();
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& each) {
    return each.first != key && each.second.session.use_count() == 1 && now - each.second.opened > kKeptUnused;
  });
  Entry& entry = sessions_[key];
  entry.opened = now;
  if (entry.session == nullptr) {
    entry.session = std::make_shared<PluginSession>(config, *runner_, clock_, random_.Fork(key));
  }
  return entry.session;
}

Result<std::vector<std::string>> ParseAllowedPlugins(std::string_view text) {
  std::vector<std::string> allowed;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string entry(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const bool path = entry.starts_with('/') && !entry.starts_with("//") && !entry.ends_with('/') &&
                      std::filesystem::path(entry).lexically_normal() == entry;
    const bool name = entry.find('/') == std::string::npos && !entry.empty() && entry != "." && entry != "..";
    if (!path && !name) {
      return Fail(Code::kBadRequest, fmt::format("--exec-plugins: \"{}\" is neither the name of a program nor a clean path",
                                                 base::OneLine(entry)));
    }
    allowed.push_back(entry);
  }
  return allowed;
}

}  // namespace evenkeel::client
