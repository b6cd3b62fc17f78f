#include "embedded/nodeagent/process_runtime.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "embedded/nodeagent/container_log.h"
#include "embedded/nodeagent/network_probe.h"
#include "embedded/nodeagent/pod_directory.h"
#include "embedded/nodeagent/process_supervisor.h"

namespace evenkeel::embedded::nodeagent {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Fail;

constexpr size_t kProbeOutputMax = 10 << 10;

std::string ProgramDirectory(const std::string& state_dir) { return state_dir + "/bin"; }

// One command that is run inside a container: a probe or a hook. Shared by the caller, the timer and the supervisor's
// callbacks.
struct ExecRun {
  std::mutex mutex;
  bool done = false;
  std::string output;
  base::Timer timer;
};

class ProcessContainer final : public RunningContainer {
 public:
  ProcessContainer(std::shared_ptr<ProcessSupervisor> supervisor, base::Executor& executor,
                   std::shared_ptr<base::Strand> strand, std::string name)
      : supervisor_(std::move(supervisor)), executor_(executor), strand_(std::move(strand)), name_(std::move(name)) {}

  ~ProcessContainer() override {
    // First: the process may end, and be reaped, while Abandon still waits to take its callback away.
    alive_.reset();
    for (const auto& [pid, run] : execs_) supervisor_->Abandon(pid);
    if (pid_ > 0) supervisor_->Abandon(pid_);
  }

  base::Status Run(ProcessSpec spec, std::shared_ptr<ContainerLogWriter> log, std::function<void(ContainerExit)> exited) {
    environment_ = spec.environment;
    working_dir_ = spec.working_dir;
    spec.output = [log](int stream, std::string_view bytes) { log->Append(stream, bytes); };
    spec.exited = [log, strand = strand_, alive = std::weak_ptr(alive_), exited = std::move(exited)](ProcessExit end) {
      ContainerExit exit;
      exit.exit_code = end.exit_code;
      exit.signal = end.signal;
      // The last line may have no end: it is written out before anybody hears of the exit.
      log->Finish();
      strand->Post([alive, exited, exit] {
        if (!alive.expired()) exited(exit);
      });
    };
    EVENKEEL_ASSIGN(pid_, supervisor_->Start(std::move(spec)));
    return {};
  }

  std::string id() const override { return fmt::format("process://{}", pid_); }
  void Signal(int signal) override { supervisor_->Signal(pid_, signal); }

  void Probe(const ProbeAction& action, base::Duration timeout, std::function<void(ProbeResult)> done) override {
    auto answer = [strand = strand_, alive = std::weak_ptr(alive_), done = std::move(done)](ProbeResult result) {
      strand->Post([alive, done, result = std::move(result)] {
        if (!alive.expired()) done(result);
      });
    };
    if (action.kind == ProbeAction::Kind::kExec) return Exec(action, timeout, std::move(answer));
    if (!probe_strand_) probe_strand_ = executor_.NewStrand("probe " + name_);
    // The task keeps its strand, so that destroying the container does not wait for a probe under way; its answer finds nobody.
    probe_strand_->Post([keep = probe_strand_, action, timeout, answer = std::move(answer)] {
      answer(action.kind == ProbeAction::Kind::kHttp ? ProbeHttp(action, timeout) : ProbeTcp(action, timeout));
    });
  }

 private:
  void Exec(const ProbeAction& action, base::Duration timeout, std::function<void(ProbeResult)> answer) {
    auto run = std::make_shared<ExecRun>();
    ProcessSpec spec;
    spec.command = action.command;
    spec.environment = environment_;
    spec.working_dir = working_dir_;
    spec.output = [run](int, std::string_view bytes) {
      const std::lock_guard lock(run->mutex);
      run->output.append(bytes.substr(0, kProbeOutputMax - std::min(kProbeOutputMax, run->output.size())));
    };
    spec.exited = [run, answer](ProcessExit end) {
      const std::lock_guard lock(run->mutex);
      if (std::exchange(run->done, true)) return;
      std::string message = run->output;
      if (message.empty() && end.exit_code != 0) message = fmt::format("command exited with status {}", end.exit_code);
      answer({end.exit_code == 0, std::move(message)});
    };
    auto pid = supervisor_->Start(std::move(spec));
    if (!pid) return answer({false, pid.error().message()});
    std::erase_if(execs_, [](const auto& entry) {
      const std::lock_guard lock(entry.second->mutex);
      return entry.second->done;
    });
    execs_.emplace_back(*pid, run);
    auto timer = strand_->PostAfter(timeout, [run, answer, supervisor = supervisor_, pid = *pid, timeout] {
      {
        const std::lock_guard lock(run->mutex);
        if (std::exchange(run->done, true)) return;
      }
      supervisor->Signal(pid, SIGKILL);
      answer({false, fmt::format("command timed out after {}", base::FormatDuration(timeout))});
    });
    const std::lock_guard lock(run->mutex);
    if (!run->done) run->timer = std::move(timer);
  }

  const std::shared_ptr<ProcessSupervisor> supervisor_;
  base::Executor& executor_;
  const std::shared_ptr<base::Strand> strand_;
  const std::string name_;
  std::shared_ptr<base::Strand> probe_strand_;
  std::vector<std::string> environment_;
  std::string working_dir_;
  pid_t pid_ = -1;
  std::vector<std::pair<pid_t, std::shared_ptr<ExecRun>>> execs_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class ProcessRuntime final : public ContainerRuntime {
 public:
  ProcessRuntime(ProcessRuntimeOptions options, std::shared_ptr<ProcessSupervisor> supervisor)
      : options_(std::move(options)), supervisor_(std::move(supervisor)) {}

  std::string_view name() const override { return "process"; }
  bool NeedsConfiguration() const override { return true; }
  bool NeedsCommand() const override { return true; }
  bool UsesLoopback() const override { return true; }

  Environment BaseEnvironment(const PodIdentity& pod) const override {
    const char* path = std::getenv("PATH");
    const char* home = std::getenv("HOME");
    Environment environment = {
        {"PATH", ProgramDirectory(options_.state_dir) + ":" + (path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin")},
        {"HOSTNAME", pod.name},
        {"HOME", home != nullptr ? home : "/"},
        {"EVENKEEL_POD_ROOT", Directory(pod.uid).Root()},
    };
    environment.insert(environment.end(), options_.extra_env.begin(), options_.extra_env.end());
    return environment;
  }

  base::Result<std::unique_ptr<RunningContainer>> Start(const ContainerStart& start, std::shared_ptr<base::Strand> strand,
                                                        std::function<void(ContainerExit)> exited) override {
    const PodDirectory directory = Directory(start.pod.uid);
    EVENKEEL_TRY(directory.LinkMounts(start.mounts));
    EVENKEEL_TRY(directory.PrepareLogs(start.container, start.attempt));
    ProcessSpec spec;
    spec.command = start.command;
    EVENKEEL_ASSIGN(spec.working_dir, directory.WorkingDirectory(start.working_dir));
    std::map<std::string, std::string> last;
    for (const auto& [name, value] : start.env) last[name] = value;
    for (const auto& [name, value] : last) spec.environment.push_back(name + "=" + value);
    const std::string log_path = directory.LogPath(start.container, start.attempt);
    auto log = std::make_shared<ContainerLogWriter>(log_path, base::SystemClock(), options_.log_rotate_bytes);
    auto container = std::make_unique<ProcessContainer>(supervisor_, *options_.executor, std::move(strand),
                                                        start.pod.Key() + "/" + start.container);
    EVENKEEL_TRY(container->Run(std::move(spec), std::move(log), std::move(exited)));
    return container;
  }

  base::Status SyncVolumes(const PodIdentity& pod, const std::vector<Volume>& volumes) override {
    return Directory(pod.uid).SyncVolumes(pod.ns, volumes);
  }
  std::string LogPath(std::string_view uid, std::string_view container, int attempt) const override {
    return Directory(std::string(uid)).LogPath(container, attempt);
  }
  void RemovePod(const PodIdentity& pod) override { Directory(pod.uid).Remove(); }
  void RetainPods(const std::set<std::string>& uids) override {
    std::error_code error;
    std::vector<std::string> stale;
    for (fs::directory_iterator entry(options_.state_dir + "/pods", error), end; !error && entry != end;
         entry.increment(error)) {
      if (!uids.contains(entry->path().filename().string())) stale.push_back(entry->path().filename().string());
    }
    for (const std::string& uid : stale) Directory(uid).Remove();
  }

 private:
  PodDirectory Directory(const std::string& uid) const { return {options_.state_dir, uid}; }

  const ProcessRuntimeOptions options_;
  const std::shared_ptr<ProcessSupervisor> supervisor_;
};

/// Pods call this program by its own name, whatever its file is called.
base::Status LinkProgram(const ProcessRuntimeOptions& options) {
  const fs::path link = fs::path(ProgramDirectory(options.state_dir)) / "evenkeel";
  std::error_code error;
  fs::create_directories(link.parent_path(), error);
  if (!error) fs::remove(link, error);
  if (!error) fs::create_symlink(options.program, link, error);
  if (error) return Fail(Code::kInternal, fmt::format("cannot make {}: {}", link.string(), error.message()));
  return {};
}

}  // namespace

base::Result<std::unique_ptr<ContainerRuntime>> NewProcessRuntime(ProcessRuntimeOptions options) {
  std::error_code error;
  fs::create_directories(options.state_dir + "/pods", error);
  if (error) {
    return Fail(error == std::errc::permission_denied ? Code::kForbidden : Code::kInternal,
                fmt::format("cannot make {}/pods: {}", options.state_dir, error.message()));
  }
  // Processes start in other directories, so what they are told about has to be absolute.
  options.state_dir = fs::absolute(options.state_dir).lexically_normal().string();
  while (options.state_dir.size() > 1 && options.state_dir.ends_with('/')) options.state_dir.pop_back();
  if (options.program.empty()) {
    options.program = fs::read_symlink("/proc/self/exe", error).string();
    if (error) return Fail(Code::kInternal, "cannot find the own program (/proc/self/exe): " + error.message());
  }
  EVENKEEL_TRY(LinkProgram(options));
  EVENKEEL_ASSIGN(std::unique_ptr<ProcessSupervisor> supervisor, ProcessSupervisor::Create());
  return std::make_unique<ProcessRuntime>(std::move(options), std::move(supervisor));
}

}  // namespace evenkeel::embedded::nodeagent
