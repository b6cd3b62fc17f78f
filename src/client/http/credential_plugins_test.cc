#include "client/http/credential_plugins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/executor.h"

namespace evenkeel::client::credential_plugins_test {
namespace {

using namespace std::chrono_literals;
using base::Code;
using End = base::ProcessOutcome::End;

constexpr base::Time kStart{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};

/// Answers after a time of its own; what it is asked to run is written down.
class FakeRunner final : public PluginRunner {
 public:
  explicit FakeRunner(base::VirtualExecutor& executor) : executor_(executor), strand_(executor.NewStrand("plugins")) {}

  void Run(base::ProcessCall call, Done done) override {
    calls.push_back(std::move(call));
    auto timer = std::make_shared<base::Timer>();
    *timer = strand_->PostAfter(takes, [this, timer, done = std::move(done)] { done(answer(executor_.clock().Now())); });
  }
  std::vector<std::string> Environment() const override { return {"PATH=/bin", "HOME=/root", "A=outer"}; }
  std::string Find(const std::string& command) const override {
    if (command.find('/') != std::string::npos) return command;
    return std::ranges::find(installed, command) != installed.end() ? "/bin/" + command : "";
  }

  std::vector<std::string> installed = {"aws", "other"};
  base::Duration takes = 2s;
  std::function<base::Result<base::ProcessOutcome>(base::Time now)> answer;
  std::vector<base::ProcessCall> calls;

 private:
  base::VirtualExecutor& executor_;
  const std::shared_ptr<base::Strand> strand_;
};

base::ProcessOutcome Token(const std::string& token, std::optional<base::Time> expires) {
  const std::string until = expires ? R"(,"expirationTimestamp":")" + base::FormatTime(*expires) + '"' : "";
  return {.output = R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":")" + token +
                    '"' + until + "}}",
          .errors = ""};
}

class CredentialPluginsTest : public ::testing::Test {
 protected:
  CredentialPluginsTest() {
    auto runner = std::make_unique<FakeRunner>(executor_);
    runner_ = runner.get();
    runner_->answer = [this](base::Time now) -> base::Result<base::ProcessOutcome> {
      return Token(fmt::format("t{}", ++answers_), life_ ? std::optional(now + *life_) : std::nullopt);
    };
    plugins_ = std::make_unique<CredentialPlugins>(std::move(runner), executor_.clock(), base::Random(7),
                                                   std::vector<std::string>{"aws", "/opt/plugin"});
    config_.command = "aws";
    config_.api_version = "client.authentication.k8s.io/v1";
  }

  /// Fails every run from now on with this exit code and complaint.
  void Break(const std::string& complaint) {
    runner_->answer = [complaint](base::Time) -> base::Result<base::ProcessOutcome> {
      return base::ProcessOutcome{.end = End::kExited, .code = 255, .output = "", .errors = complaint};
    };
  }
  std::string Seen(PluginSession& session) {
    const PluginSession::Look look = session.Now();
    return look.credential != nullptr ? look.credential->token : look.error != nullptr ? look.error->message() : "pending";
  }
  /// Looks each `step` for `length`; how often what was seen changed.
  void LookFor(PluginSession& session, base::Duration length, base::Duration step) {
    for (base::Duration past{}; past < length; past += step) {
      executor_.RunFor(step);
      seen_.push_back(Seen(session));
    }
  }

  base::VirtualExecutor executor_{kStart};
  FakeRunner* runner_ = nullptr;
  int answers_ = 0;
  std::optional<base::Duration> life_ = 14min;
  std::unique_ptr<CredentialPlugins> plugins_;
  ExecConfig config_;
  std::vector<std::string> seen_;
};

TEST_F(CredentialPluginsTest, ManyShareOneRunAndItsAnswer) {
  const auto one = plugins_->Open(config_).value();
  const auto two = plugins_->Open(config_).value();
  EXPECT_EQ(one, two);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Seen(*one), "pending");
  executor_.RunFor(1s);
  EXPECT_EQ(Seen(*two), "pending");
  executor_.RunFor(1s);
  EXPECT_EQ(Seen(*one), "t1");
  EXPECT_EQ(Seen(*two), "t1");
  EXPECT_EQ(runner_->calls.size(), 1U);
  config_.args = {"--cluster-name", "b"};
  EXPECT_EQ(Seen(*plugins_->Open(config_).value()), "pending");
  EXPECT_EQ(runner_->calls.size(), 2U);
}

TEST_F(CredentialPluginsTest, RunsThePluginOfOurPathWithoutAShell) {
  config_.args = {"$(id)", "a b"};
  config_.env = {{"PATH", "/evil"}, {"A", "first"}, {"A", "inner"}, {"KUBERNETES_EXEC_INFO", "forged"}};
  static_cast<void>(Seen(*plugins_->Open(config_).value()));
  const base::ProcessCall& call = runner_->calls.at(0);
  EXPECT_EQ(call.command, (std::vector<std::string>{"/bin/aws", "$(id)", "a b"}));
  EXPECT_EQ(call.environment,
            (std::vector<std::string>{"A=inner", "HOME=/root", "KUBERNETES_EXEC_INFO=" + ExecInfo(config_), "PATH=/evil"}));
  EXPECT_EQ(call.timeout, base::Duration(60s));
  EXPECT_EQ(call.output_bytes_max, size_t{1} << 20);
}

TEST_F(CredentialPluginsTest, RenewsBeforeTheEndWhileTheOldOneServes) {
  const auto session = plugins_->Open(config_).value();
  Seen(*session);
  executor_.RunFor(2s);
  LookFor(*session, 1h, 1s);
  // 14 minutes each, renewed after 10.5 to 11.9.
  EXPECT_GE(answers_, 5);
  EXPECT_LE(answers_, 6);
  EXPECT_EQ(std::ranges::count(seen_, "pending"), 0);
  EXPECT_EQ(seen_.back(), fmt::format("t{}", answers_));
  EXPECT_TRUE(std::ranges::is_sorted(seen_));
}

TEST_F(CredentialPluginsTest, WithoutAnEndItHoldsUntilItIsRefused) {
  life_ = std::nullopt;
  const auto session = plugins_->Open(config_).value();
  Seen(*session);
  executor_.RunFor(2s);
  LookFor(*session, 24h, 1min);
  EXPECT_EQ(answers_, 1);
  const uint64_t serial = session->Now().credential->serial;
  EXPECT_TRUE(session->Rejected(serial));
  EXPECT_EQ(Seen(*session), "pending");
  // Others that were refused with the same one ask for no other run.
  EXPECT_TRUE(session->Rejected(serial));
  executor_.RunFor(2s);
  EXPECT_EQ(Seen(*session), "t2");
  EXPECT_TRUE(session->Rejected(serial)) << "there is another one by now";
  EXPECT_EQ(Seen(*session), "t2");
  EXPECT_EQ(runner_->calls.size(), 2U);
}

TEST_F(CredentialPluginsTest, ServersThatRefuseAllItsAnswersDoNotKeepItRunning) {
  runner_->takes = 0s;
  const auto session = plugins_->Open(config_).value();
  Seen(*session);
  for (int second = 0; second < 3600; ++second) {
    executor_.RunFor(1s);
    if (const auto look = session->Now(); look.credential != nullptr) session->Rejected(look.credential->serial);
  }
  EXPECT_GE(answers_, 10);
  EXPECT_LE(answers_, 30);
}

TEST_F(CredentialPluginsTest, KeepsTheOldOneWhileItLivesAndSaysWhyAfterwards) {
  const auto session = plugins_->Open(config_).value();
  Seen(*session);
  executor_.RunFor(2s);
  Break("no network, token=abc");
  LookFor(*session, 13min, 1s);
  EXPECT_EQ(std::ranges::count(seen_, "t1"), static_cast<int64_t>(seen_.size()));
  LookFor(*session, 2min, 1s);
  EXPECT_EQ(seen_.back(), "getting credentials: exec: executable aws failed with exit code 255: no network, token=<redacted>");
  // It was tried again all the time, but ever more seldom.
  EXPECT_GE(runner_->calls.size(), 6U);
  EXPECT_LE(runner_->calls.size(), 12U);
}

TEST_F(CredentialPluginsTest, FailuresAreToldAndTriedAgain) {
  Break("");
  const auto session = plugins_->Open(config_).value();
  EXPECT_EQ(Seen(*session), "pending");
  executor_.RunFor(2s);
  const std::string failure = "getting credentials: exec: executable aws failed with exit code 255";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Seen(*session), failure);
  EXPECT_EQ(runner_->calls.size(), 1U);
  const auto outcome = [&](End end, int code) {
    runner_->answer = [=](base::Time) -> base::Result<base::ProcessOutcome> {
      return base::ProcessOutcome{.end = end, .code = code, .output = "", .errors = ""};
    };
    executor_.RunFor(10min);
    Seen(*session);
    executor_.RunFor(2s);
    return Seen(*session);
  };
  EXPECT_EQ(outcome(End::kTimedOut, 0), "getting credentials: exec: executable aws did not end within 1m0s");
  EXPECT_EQ(outcome(End::kSignal, 9), "getting credentials: exec: executable aws was ended by signal 9");
  EXPECT_EQ(outcome(End::kTooMuchOutput, 0), "getting credentials: exec: executable aws wrote more than 1048576 bytes");
  EXPECT_EQ(outcome(End::kExited, 0), "getting credentials: decoding stdout: it is no ExecCredential in JSON or YAML");
}

TEST_F(CredentialPluginsTest, AMissingPluginIsNamedWithItsHint) {
  config_.command = "kubelogin";
  config_.install_hint = "get it\nfrom\x1b here";
  const auto session = plugins_->Open(config_).value();
  EXPECT_EQ(
      Seen(*session),
      "getting credentials: exec: executable kubelogin not found: it is the credential plugin of this cluster and has to be "
      "installed where evenkeel runs: get it fromU+001B here");
  runner_->installed.emplace_back("kubelogin");
  executor_.RunFor(2s);
  Seen(*session);
  executor_.RunFor(2s);
  EXPECT_EQ(Seen(*session), "t1") << "it was installed meanwhile";
}

TEST_F(CredentialPluginsTest, AnswersThatHaveExpiredAlreadyServeForAMoment) {
  life_ = -1h;
  runner_->takes = 0s;
  const auto session = plugins_->Open(config_).value();
  Seen(*session);
  executor_.RunUntilIdle();
  EXPECT_EQ(Seen(*session), "t1");
  for (int tenths = 0; tenths < 36'000; ++tenths) {
    executor_.RunFor(100ms);
    Seen(*session);
  }
  EXPECT_GE(answers_, 10);
  EXPECT_LE(answers_, 30);
}

TEST_F(CredentialPluginsTest, SecretsMayOnlyNameWhatIsAllowed) {
  config_.from_secret = true;
  const auto allowed = [&](const std::string& command) {
    config_.command = command;
    const auto session = plugins_->Open(config_);
    EXPECT_TRUE(session || session.error().code() == Code::kForbidden);
    return session.has_value();
  };
  EXPECT_TRUE(allowed("aws"));
  EXPECT_TRUE(allowed("/bin/aws")) << "what the name means";
  EXPECT_TRUE(allowed("/opt/plugin"));
  for (const char* other :
       {"other", "/tmp/aws", "./aws", "bin/aws", "/bin/../bin/aws", "plugin", "/opt/plugin/", "AWS", "aws ", ""})
    EXPECT_FALSE(allowed(other)) << other;
  config_.command = "other";
  EXPECT_EQ(
      plugins_->Open(config_).error().message(),
      "plugin \"other\" not allowed: a Secret may only name those of --exec-plugins; add it there if you trust whoever writes "
      "cluster Secrets with it");
  config_.from_secret = false;
  EXPECT_TRUE(plugins_->Open(config_)) << "a kubeconfig's owner may run anything";
  EXPECT_TRUE(runner_->calls.empty());
}

TEST(AllowedPluginsTest, AreNamesAndCleanPaths) {
  EXPECT_EQ(ParseAllowedPlugins("aws,/opt/x").value(), (std::vector<std::string>{"aws", "/opt/x"}));
  EXPECT_TRUE(ParseAllowedPlugins("")->empty());
  for (const char* bad : {"./aws", "a/b", "/opt/../x", "/opt/", "..", "aws,,x", "//x"}) {
    EXPECT_FALSE(ParseAllowedPlugins(bad)) << bad;
  }
}

TEST(PluginSessionTest, ThreadsWaitForOneRunOfARealProgram) {
  const auto runner = NewProcessRunner();
  ExecConfig config;
  config.command = "/bin/sh";
  config.args = {"-c",
                 "sleep 0.3; echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":"
                 "{\"token\":\"'$$'\"}}'"};
  config.api_version = "client.authentication.k8s.io/v1";
  const auto session = std::make_shared<PluginSession>(config, *runner, base::SystemClock(), base::Random(1));
  EXPECT_EQ(session->Await(base::SystemClock().Monotonic()).error().code(), Code::kTimeout);
  std::vector<std::string> tokens(8);
  std::vector<std::thread> threads;
  for (std::string& token : tokens) {
    threads.emplace_back([&] { token = session->Await(base::SystemClock().Monotonic() + 60s).value()->token; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(tokens.front(), "");
  for (const std::string& token : tokens) EXPECT_EQ(token, tokens.front());
}

TEST(PluginSessionTest, ARunnerThatGoesTakesItsPluginsWithIt) {
  auto runner = NewProcessRunner();
  runner->Run({.command = {"/bin/sleep", "1000"}, .environment = {}},
              [](const auto& outcome) { EXPECT_EQ(outcome->end, End::kStopped); });
  const base::Instant before = base::SystemClock().Monotonic();
  runner.reset();
  EXPECT_LT(base::SystemClock().Monotonic() - before, base::Duration(60s));
}

}  // namespace
}  // namespace evenkeel::client::credential_plugins_test
