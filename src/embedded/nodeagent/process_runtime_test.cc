#include "embedded/nodeagent/process_runtime.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/input/file.h"
#include "embedded/nodeagent/container_log.h"
#include "embedded/nodeagent/process_supervisor.h"

namespace evenkeel::embedded::nodeagent::process_runtime_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

bool WaitUntil(const std::function<bool()>& done, base::Duration limit = 60s) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

// Alive and not a zombie.
bool IsAlive(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string number, name, state;
  return static_cast<bool>(file >> number >> name >> state) && state != "Z";
}

class ProcessRuntimeTest : public ::testing::Test {
 protected:
  ProcessRuntimeTest() : executor_(base::NewThreadPool(4)), strand_(executor_->NewStrand("agent")) {
    dir_ = (fs::temp_directory_path() / fmt::format("evenkeel-process-{}-{}", getpid(), counter_++)).string();
    auto runtime = NewProcessRuntime(
        {.state_dir = dir_, .executor = executor_.get(), .program = "/bin/echo", .extra_env = {}, .log_rotate_bytes = 4096});
    EXPECT_TRUE(runtime) << runtime.error().message();
    runtime_ = *std::move(runtime);
    pod_ = {"shop", "web-0", "uid-1", "n1", "127.10.9.2", "127.0.0.1"};
  }
  ~ProcessRuntimeTest() override {
    container_.reset();
    strand_->Close();
    runtime_.reset();
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  base::Status Run(const std::string& script, int attempt = 0, std::vector<Mount> mounts = {}) {
    ContainerStart start;
    start.pod = pod_;
    start.container = "main";
    start.attempt = attempt;
    start.env = runtime_->BaseEnvironment(pod_);
    start.env.emplace_back("GREETING", "hello");
    start.command = {"/bin/sh", "-c", script};
    start.mounts = std::move(mounts);
    exit_.reset();
    auto running = runtime_->Start(start, strand_, [this](const ContainerExit& exit) {
      const std::lock_guard lock(mutex_);
      exit_ = exit;
    });
    if (!running) return base::Fail(running.error());
    container_ = *std::move(running);
    return {};
  }
  std::optional<ContainerExit> Exit() {
    const std::lock_guard lock(mutex_);
    return exit_;
  }
  bool Ended() {
    return WaitUntil([this] { return Exit().has_value(); });
  }
  std::string Log(int attempt = 0) { return *ReadContainerLog(runtime_->LogPath("uid-1", "main", attempt), {}); }
  pid_t Pid() const { return static_cast<pid_t>(std::stoi(container_->id().substr(std::string("process://").size()))); }
  ProbeResult Probe(const ProbeAction& action, base::Duration timeout) {
    std::optional<ProbeResult> result;
    container_->Probe(action, timeout, [&](const ProbeResult& answer) {
      const std::lock_guard lock(mutex_);
      result = answer;
    });
    EXPECT_TRUE(WaitUntil([&] {
      const std::lock_guard lock(mutex_);
      return result.has_value();
    }));
    return *result;
  }

  static inline int counter_ = 0;
  std::string dir_;
  std::unique_ptr<base::Executor> executor_;
  std::shared_ptr<base::Strand> strand_;
  std::unique_ptr<ContainerRuntime> runtime_;
  PodIdentity pod_;
  std::mutex mutex_;
  std::optional<ContainerExit> exit_;
  std::unique_ptr<RunningContainer> container_;
};

TEST_F(ProcessRuntimeTest, RunsAProgramWithItsEnvironmentAndKeepsItsOutput) {
  ASSERT_TRUE(Run("echo $GREETING $HOSTNAME; echo oops >&2; printf 'no end'; evenkeel is echo >&2; exit 7"));
  ASSERT_TRUE(Ended());
  EXPECT_EQ(Exit()->exit_code, 7);
  EXPECT_EQ(Exit()->signal, 0);
  const std::string log = Log();
  EXPECT_NE(log.find("hello web-0\n"), std::string::npos);
  EXPECT_NE(log.find("oops\n"), std::string::npos);
  EXPECT_NE(log.find("no end\n"), std::string::npos);
  EXPECT_NE(log.find("is echo\n"), std::string::npos) << log;
}

TEST_F(ProcessRuntimeTest, StartsItAloneWithoutOurFiles) {
  ASSERT_TRUE(Run("ls -l /proc/self/fd | grep -c pipe; cat; ps -o pid=,pgid=,sid= -p $$ 2>/dev/null || true"));
  ASSERT_TRUE(Ended());
  // Its own output and ls' pipe to grep; nothing of ours is inherited, and reading its input ends at once.
  EXPECT_TRUE(Log().starts_with("2\n")) << Log();
  ASSERT_TRUE(Run("exec sleep 60", 1));
  EXPECT_EQ(getpgid(Pid()), Pid());
  EXPECT_EQ(getsid(Pid()), Pid());
}

TEST_F(ProcessRuntimeTest, SaysWhyAProgramCannotStart) {
  ContainerStart start;
  start.pod = pod_;
  start.container = "main";
  start.env = runtime_->BaseEnvironment(pod_);
  start.command = {"no-such-program-here"};
  const auto missing = runtime_->Start(start, strand_, [](const ContainerExit&) {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(), "exec: \"no-such-program-here\": executable file not found in $PATH");
  const std::string plain = dir_ + "/plain";
  ASSERT_TRUE(base::WriteFile(plain, "text"));
  start.command = {plain};
  const auto denied = runtime_->Start(start, strand_, [](const ContainerExit&) {});
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code(), base::Code::kForbidden) << denied.error().message();
}

TEST_F(ProcessRuntimeTest, TermIsForTheProgramAndKillForAllOfIt) {
  ASSERT_TRUE(Run("trap 'echo ignored' TERM; echo up; while true; do sleep 0.1; done"));
  ASSERT_TRUE(WaitUntil([this] { return Log().find("up") != std::string::npos; }));
  container_->Signal(SIGTERM);
  ASSERT_TRUE(WaitUntil([this] { return Log().find("ignored") != std::string::npos; }));
  EXPECT_FALSE(Exit().has_value());
  container_->Signal(SIGKILL);
  ASSERT_TRUE(Ended());
  EXPECT_EQ(Exit()->exit_code, 137);
  EXPECT_EQ(Exit()->signal, SIGKILL);
}

TEST_F(ProcessRuntimeTest, WhatAProgramLeavesBehindEndsWithItAndNoZombieStays) {
  ASSERT_TRUE(Run("sleep 300 & echo $!; sleep 0.2"));
  const pid_t leader = Pid();
  ASSERT_TRUE(Ended());
  const pid_t child = static_cast<pid_t>(std::stoi(Log()));
  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(child); }));
  EXPECT_FALSE(fs::exists(fmt::format("/proc/{}", leader)));
}

TEST_F(ProcessRuntimeTest, DestroyingTheContainerKillsItWithoutACallback) {
  ASSERT_TRUE(Run("sleep 300 & sleep 300"));
  const pid_t pid = Pid();
  EXPECT_TRUE(IsAlive(pid));
  container_.reset();
  EXPECT_TRUE(WaitUntil([&] { return !fs::exists(fmt::format("/proc/{}", pid)); }));
  EXPECT_FALSE(Exit().has_value());
}

TEST_F(ProcessRuntimeTest, VolumesAreFilesThatFollowTheirSource) {
  Volume config;
  config.name = "config";
  config.files = {{"app.conf", "v1", 0644}, {"old", "x", 0644}};
  Volume data;
  data.name = "data";
  data.kind = Volume::Kind::kClaim;
  data.claim = "data-web-0";
  ASSERT_TRUE(runtime_->SyncVolumes(pod_, {config, data}));
  const std::vector<Mount> mounts = {
      {"config", "/etc/app", ""}, {"config", "/opt/one.conf", "app.conf"}, {"data", "/var/data", ""}};
  const std::string script =
      "cat $EVENKEEL_POD_ROOT/etc/app/app.conf $EVENKEEL_POD_ROOT/opt/one.conf; pwd; echo kept > "
      "$EVENKEEL_POD_ROOT/var/data/f";
  ASSERT_TRUE(Run(script, 0, mounts));
  ASSERT_TRUE(Ended());
  EXPECT_TRUE(Log().starts_with("v1v1" + dir_ + "/pods/uid-1/root\n")) << Log();
  config.files = {{"app.conf", "v2", 0644}};
  ASSERT_TRUE(runtime_->SyncVolumes(pod_, {config, data}));
  EXPECT_EQ(*base::ReadFile(dir_ + "/pods/uid-1/root/etc/app/app.conf"), "v2");
  EXPECT_EQ(*base::ReadFile(dir_ + "/pods/uid-1/root/opt/one.conf"), "v2");
  EXPECT_FALSE(fs::exists(dir_ + "/pods/uid-1/root/etc/app/old"));
  runtime_->RemovePod(pod_);
  EXPECT_FALSE(fs::exists(dir_ + "/pods/uid-1"));
  EXPECT_EQ(*base::ReadFile(dir_ + "/claims/shop/data-web-0/f"), "kept\n");
}

TEST_F(ProcessRuntimeTest, ProbesRunInsideAndTimeOut) {
  ASSERT_TRUE(Run("exec sleep 60"));
  ProbeAction action;
  action.kind = ProbeAction::Kind::kExec;
  action.command = {"/bin/sh", "-c", "test \"$GREETING\" = hello"};
  EXPECT_TRUE(Probe(action, 60s).success);
  action.command = {"/bin/sh", "-c", "echo not well; exit 3"};
  EXPECT_EQ(Probe(action, 60s).message, "not well\n");
  action.command = {"/bin/sh", "-c", "sleep 60"};
  const ProbeResult late = Probe(action, 100ms);
  EXPECT_FALSE(late.success);
  EXPECT_EQ(late.message, "command timed out after 100ms");
  action.kind = ProbeAction::Kind::kTcp;
  action.host = "127.0.0.1";
  action.port = 1;
  EXPECT_NE(Probe(action, 1s).message.find("refused"), std::string::npos);
}

TEST_F(ProcessRuntimeTest, LogsRotateAndThePreviousAttemptStays) {
  ASSERT_TRUE(Run("i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done"));
  ASSERT_TRUE(Ended());
  EXPECT_TRUE(fs::exists(runtime_->LogPath("uid-1", "main", 0) + ".1"));
  LogView view;
  view.tail_lines = 2;
  EXPECT_EQ(*ReadContainerLog(runtime_->LogPath("uid-1", "main", 0), view), "line 298\nline 299\n");
  ASSERT_TRUE(Run("echo second", 1));
  ASSERT_TRUE(Ended());
  EXPECT_TRUE(fs::exists(runtime_->LogPath("uid-1", "main", 0)));
  ASSERT_TRUE(Run("echo third", 2));
  ASSERT_TRUE(Ended());
  EXPECT_FALSE(fs::exists(runtime_->LogPath("uid-1", "main", 0)));
  EXPECT_EQ(Log(1), "second\n");
}

TEST(ProcessSupervisorTest, NothingSurvivesAParentThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    auto supervisor = ProcessSupervisor::Create();
    ProcessSpec spec;
    spec.command = {"/bin/sh", "-c", "setsid sleep 300 & echo $!; wait"};
    spec.environment = {"PATH=/bin:/usr/bin"};
    spec.working_dir = "/";
    spec.output = [&](int, std::string_view bytes) {
      [[maybe_unused]] const auto n = write(ends[1], bytes.data(), bytes.size());
    };
    const auto pid = (*supervisor)->Start(std::move(spec));
    const std::string line = fmt::format("{}\n", *pid);
    [[maybe_unused]] const auto n = write(ends[1], line.data(), line.size());
    pause();
    _exit(0);
  }
  std::string text;
  char buffer[64];
  while (std::ranges::count(text, '\n') < 2) {
    const ssize_t got = read(ends[0], buffer, sizeof buffer);
    ASSERT_GT(got, 0);
    text.append(buffer, static_cast<size_t>(got));
  }
  const pid_t first = static_cast<pid_t>(std::stoi(text)), second = static_cast<pid_t>(std::stoi(text.substr(text.find('\n'))));
  EXPECT_TRUE(IsAlive(first));
  EXPECT_TRUE(IsAlive(second));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(first) && !IsAlive(second); }));
  close(ends[0]);
  close(ends[1]);
}

// Starts a program that sets itself apart as daemons do, with nothing left of its environment, and says its number.
constexpr const char* kDaemonize = "env -i setsid /bin/sh -c '(setsid /bin/sh -c \"echo \\$\\$; exec sleep 300\" &)'; ";

class DaemonTest : public ::testing::Test {
 protected:
  // The daemon's number, once it has been told.
  pid_t Start(const std::string& then) {
    ProcessSpec spec;
    spec.command = {"/bin/sh", "-c", kDaemonize + then};
    spec.environment = {"PATH=/bin:/usr/bin"};
    spec.working_dir = "/";
    spec.output = [this](int, std::string_view bytes) {
      const std::lock_guard lock(mutex_);
      text_ += bytes;
    };
    spec.exited = [this](ProcessExit) { ended_ = true; };
    pid_ = (*supervisor_)->Start(std::move(spec)).value();
    EXPECT_TRUE(WaitUntil([&] {
      const std::lock_guard lock(mutex_);
      return text_.ends_with('\n');
    }));
    const std::lock_guard lock(mutex_);
    return static_cast<pid_t>(std::stoi(text_));
  }

  std::mutex mutex_;
  std::string text_;
  std::atomic<bool> ended_ = false;
  pid_t pid_ = -1;
  base::Result<std::unique_ptr<ProcessSupervisor>> supervisor_ = ProcessSupervisor::Create();
};

TEST_F(DaemonTest, EndsWithTheProcessThatStartedIt) {
  const pid_t daemon = Start("sleep 0.3; exit 3");
  EXPECT_TRUE(IsAlive(daemon));
  EXPECT_TRUE(WaitUntil([&] { return ended_.load(); }));
  EXPECT_FALSE(IsAlive(daemon)) << "before anybody hears of the end";
}

TEST_F(DaemonTest, EndsWithThePodAndWithTheProgram) {
  const pid_t first = Start("sleep 300");
  (*supervisor_)->Abandon(pid_);
  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(first); }));
  text_.clear();
  const pid_t second = Start("sleep 300");
  supervisor_ = base::Fail(base::Code::kInternal, "gone");
  EXPECT_FALSE(IsAlive(second));
}

TEST_F(DaemonTest, EndsWhenItsSupervisorIsKilled) {
  const pid_t daemon = Start("sleep 300");
  const std::string stat = *base::ReadFile(fmt::format("/proc/{}/stat", pid_));
  const pid_t parent = static_cast<pid_t>(std::stoi(stat.substr(stat.rfind(')') + 4)));
  ASSERT_NE(parent, getpid());
  kill(parent, SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(daemon) && ended_.load(); }));
}

TEST_F(DaemonTest, HearsOtherSignalsNot) {
  const pid_t daemon = Start("trap 'echo term; sleep 0.2; exit 0' TERM; while :; do sleep 0.05; done");
  (*supervisor_)->Signal(pid_, SIGTERM);
  EXPECT_TRUE(WaitUntil([&] {
    const std::lock_guard lock(mutex_);
    return text_.ends_with("term\n");
  }));
  EXPECT_TRUE(IsAlive(daemon));
  EXPECT_TRUE(WaitUntil([&] { return ended_.load(); }));
  EXPECT_FALSE(IsAlive(daemon));
}

TEST(ContainerLogTest, ShowsTimesSinceAndLimits) {
  const std::string text =
      "2025-01-01T00:00:00.000000Z stdout F one\n2025-01-01T00:00:01.000000Z stdout P tw\n"
      "2025-01-01T00:00:01.000000Z stdout F o\nbroken\n2025-01-01T00:00:02.000000Z stderr F three\n";
  EXPECT_EQ(RenderLog(text, {}), "one\ntwo\nthree\n");
  LogView view;
  view.tail_lines = 2;
  EXPECT_EQ(RenderLog(text, view), "two\nthree\n");
  view.tail_lines = 0;
  EXPECT_EQ(RenderLog(text, view), "");
  view = {};
  view.since = *base::ParseTime("2025-01-01T00:00:02Z");
  view.timestamps = true;
  EXPECT_EQ(RenderLog(text, view), "2025-01-01T00:00:02.000000Z three\n");
  view = {};
  view.limit_bytes = 5;
  EXPECT_EQ(RenderLog(text, view), "one\nt");
}

}  // namespace
}  // namespace evenkeel::embedded::nodeagent::process_runtime_test
