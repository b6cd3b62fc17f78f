#include "embedded/nodeagent/process_supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>

#include "base/process/process_reaper.h"

namespace evenkeel::embedded::nodeagent {
namespace {

struct SupervisedProcess {
  ProcessSpec spec;
  int output[2] = {-1, -1};
  int control = -1;  ///< base::ReapedProcess::control
};

struct StartCall {
  ProcessSpec spec;
  std::promise<base::Result<pid_t>> done;
};

}  // namespace

struct ProcessSupervisor::State {
  std::mutex mutex;  ///< over `calls`, `processes` as a map and `stopping`; the thread alone uses a process's files
  std::deque<StartCall> calls;
  std::map<pid_t, std::shared_ptr<SupervisedProcess>> processes;
  bool stopping = false;
  /// Held by the thread while it runs callbacks of one process, so that Abandon can wait for them.
  std::mutex callbacks;
  base::ProcessReaper reaper;
  int wake = -1;
  std::thread thread;

  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake, &one, sizeof one);
  }

  void Run() {
    for (;;) {
      if (!TakeCalls()) break;
      WaitForWork();
      std::vector<std::pair<pid_t, std::shared_ptr<SupervisedProcess>>> all;
      {
        const std::lock_guard lock(mutex);
        all.assign(processes.begin(), processes.end());
      }
      for (auto& [pid, process] : all) {
        Drain(*process);
        Reap(pid, *process);
      }
    }
    EndAll();
  }

  bool TakeCalls() {
    for (;;) {
      StartCall call;
      {
        const std::lock_guard lock(mutex);
        if (stopping) {
          for (StartCall& dropped : calls)
            dropped.done.set_value(base::Fail(base::Code::kCancelled, "the runtime is stopping"));
          calls.clear();
          return false;
        }
        if (calls.empty()) return true;
        call = std::move(calls.front());
        calls.pop_front();
      }
      call.done.set_value(StartOne(std::move(call.spec)));
    }
  }

  base::Result<pid_t> StartOne(ProcessSpec spec) {
    EVENKEEL_ASSIGN(const base::ReapedProcess spawned, reaper.Spawn(spec.command, spec.environment, spec.working_dir));
    auto process = std::make_shared<SupervisedProcess>();
    process->spec = std::move(spec);
    std::copy_n(spawned.output, 2, process->output);
    process->control = spawned.control;
    const std::lock_guard lock(mutex);
    processes[spawned.pid] = std::move(process);
    return spawned.pid;
  }

  void WaitForWork() {
    std::vector<pollfd> files{{wake, POLLIN, 0}};
    {
      const std::lock_guard lock(mutex);
      for (const auto& [pid, process] : processes) {
        for (const int file : process->output) {
          if (file >= 0) files.push_back({file, POLLIN, 0});
        }
        files.push_back({process->control, POLLIN, 0});
      }
    }
    poll(files.data(), files.size(), -1);
    uint64_t drained;
    while (read(wake, &drained, sizeof drained) > 0) {
    }
  }

  void Drain(SupervisedProcess& process) {
    char buffer[64 << 10];
    for (int stream = 1; stream <= 2; ++stream) {
      int& file = process.output[stream - 1];
      // A bound per turn: one that writes without end must not keep the others waiting.
      for (int turn = 0; file >= 0 && turn < 16; ++turn) {
        const ssize_t got = read(file, buffer, sizeof buffer);
        if (got > 0) {
          const std::lock_guard lock(callbacks);
          if (process.spec.output) process.spec.output(stream, {buffer, static_cast<size_t>(got)});
          continue;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) break;
        close(file);
        file = -1;
      }
    }
  }

  void Reap(pid_t pid, SupervisedProcess& process) {
    const std::optional<int> ended = base::TakeReaped(process.control);
    if (!ended) return;
    Drain(process);
    // Over both, so that Abandon either still finds the process or waits for its last callback.
    const std::lock_guard callbacks_lock(callbacks);
    {
      const std::lock_guard lock(mutex);
      processes.erase(pid);
    }
    CloseFiles(process);
    // Nobody can tell how it ended when its supervisor was killed, and it with that.
    const int status = *ended < 0 ? SIGKILL : *ended;
    ProcessExit exit;
    if (WIFSIGNALED(status)) exit.signal = WTERMSIG(status);
    exit.exit_code = exit.signal != 0 ? 128 + exit.signal : WEXITSTATUS(status);
    if (process.spec.exited) process.spec.exited(exit);
  }

  static void CloseFiles(SupervisedProcess& process) {
    for (int* file : {&process.output[0], &process.output[1], &process.control}) {
      if (*file >= 0) close(std::exchange(*file, -1));
    }
  }

  // Their end is waited for by the reaper's destructor.
  void EndAll() {
    const std::lock_guard lock(mutex);
    for (auto& [pid, process] : processes) CloseFiles(*process);
    processes.clear();
  }
};

ProcessSupervisor::ProcessSupervisor(std::unique_ptr<State> state) : state_(std::move(state)) {}

base::Result<std::unique_ptr<ProcessSupervisor>> ProcessSupervisor::Create() {
  auto state = std::make_unique<State>();
  EVENKEEL_TRY(state->reaper.Start());
  state->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state->wake < 0) return base::Fail(base::Code::kInternal, "cannot make an eventfd for the process runtime");
  state->thread = std::thread([raw = state.get()] { raw->Run(); });
  return std::unique_ptr<ProcessSupervisor>(new ProcessSupervisor(std::move(state)));
}

ProcessSupervisor::~ProcessSupervisor() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->Wake();
  state_->thread.join();
  close(state_->wake);
}

base::Result<pid_t> ProcessSupervisor::Start(ProcessSpec spec) {
  StartCall call{std::move(spec), {}};
  std::future<base::Result<pid_t>> done = call.done.get_future();
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return base::Fail(base::Code::kCancelled, "the runtime is stopping");
    state_->calls.push_back(std::move(call));
  }
  state_->Wake();
  return done.get();
}

void ProcessSupervisor::Signal(pid_t pid, int signal) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->processes.find(pid);
  if (found != state_->processes.end()) base::SignalReaped(found->second->control, signal);
}

void ProcessSupervisor::Abandon(pid_t pid) {
  std::shared_ptr<SupervisedProcess> process;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->processes.find(pid);
    if (found != state_->processes.end()) process = found->second;
    if (process) base::SignalReaped(process->control, SIGKILL);
  }
  const std::lock_guard lock(state_->callbacks);
  if (!process) return;
  process->spec.output = nullptr;
  process->spec.exited = nullptr;
}

}  // namespace evenkeel::embedded::nodeagent
