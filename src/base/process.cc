#include "base/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace evenkeel::base {
namespace {

// What the child needs, laid out before the fork: between fork and exec only system calls are safe.
struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* working_dir;
  int input, output, errors;
  int failure;  ///< where errno goes when something fails
  pid_t parent;
};

void CloseFrom(int first) {
  if (close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  for (int file = first; file < 65536; ++file) close(file);
}

void ResetSignals() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  const auto fail = [&plan] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(plan.failure, &error, sizeof error);
    _exit(127);
  };
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (getppid() != plan.parent) _exit(127);
  setsid();
  if (dup2(plan.input, 0) < 0 || dup2(plan.output, 1) < 0 || dup2(plan.errors, 2) < 0) fail();
  if (chdir(plan.working_dir) != 0) fail();
  // The failure pipe is closed by a successful exec, everything else now.
  if (plan.failure != 3) dup2(plan.failure, 3);
  fcntl(3, F_SETFD, FD_CLOEXEC);
  CloseFrom(4);
  ResetSignals();
  execve(plan.program, plan.arguments, plan.environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(3, &error, sizeof error);
  _exit(127);
}

bool IsProgram(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

class FileSet {
 public:
  ~FileSet() {
    for (const int file : files_) close(file);
  }
  int Keep(int file) {
    files_.push_back(file);
    return file;
  }
  void Release(int file) { std::erase(files_, file); }

 private:
  std::vector<int> files_;
};

bool OpenPipe(FileSet& files, int (&ends)[2]) {
  // Above the standard files: the child's dup2 must not overwrite an end before it is used.
  int raw[2];
  if (pipe2(raw, O_CLOEXEC) != 0) return false;
  for (int i = 0; i < 2; ++i) {
    ends[i] = raw[i] > 9 ? raw[i] : fcntl(raw[i], F_DUPFD_CLOEXEC, 10);
    if (ends[i] != raw[i]) close(raw[i]);
  }
  if (ends[0] >= 0) files.Keep(ends[0]);
  if (ends[1] >= 0) files.Keep(ends[1]);
  return ends[0] >= 0 && ends[1] >= 0;
}

Error ProcessError(std::string_view doing, int error) {
  const Code code = error == ENOENT ? Code::kNotFound : error == EACCES || error == EPERM ? Code::kForbidden : Code::kInternal;
  return {code, fmt::format("{}: {}", doing, std::strerror(error))};
}

// Kept apart from the function that prepares, so that the child, which shares the parent's memory until exec, changes none of
// its variables.
[[gnu::noinline]] pid_t ForkChild(const ChildPlan& plan) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions): posix_spawn sets no PDEATHSIG
  if (pid == 0) RunChild(plan);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

}  // namespace

std::string FindProgram(const std::string& name, const std::vector<std::string>& environment, const std::string& working_dir) {
  if (name.find('/') != std::string::npos) return name.front() == '/' ? name : working_dir + "/" + name;
  for (const std::string& variable : environment) {
    if (!variable.starts_with("PATH=")) continue;
    std::string_view path = std::string_view(variable).substr(5);
    while (!path.empty()) {
      const size_t colon = std::min(path.find(':'), path.size());
      const std::string candidate = std::string(path.substr(0, colon)) + "/" + name;
      if (colon > 0 && IsProgram(candidate)) return candidate;
      path.remove_prefix(std::min(colon + 1, path.size()));
    }
  }
  return "";
}

Result<SpawnedProcess> SpawnProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                                    const std::string& working_dir) {
  if (command.empty() || command.front().empty()) return Fail(Code::kInvalid, "there is no command to run");
  const std::string program = FindProgram(command.front(), environment, working_dir);
  if (program.empty())
    return Fail(Code::kNotFound, fmt::format("exec: \"{}\": executable file not found in $PATH", command.front()));
  FileSet files;
  int output[2], errors[2], failure[2];
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input >= 0) files.Keep(input);
  if (input < 0 || !OpenPipe(files, output) || !OpenPipe(files, errors) || !OpenPipe(files, failure)) {
    return Fail(ProcessError("cannot open pipes for a process", errno));
  }
  const std::vector<char*> arguments = Pointers(command), variables = Pointers(environment);
  const ChildPlan plan{program.c_str(), arguments.data(), variables.data(), working_dir.c_str(), input, output[1],
                       errors[1],       failure[1],       getpid()};
  const pid_t pid = ForkChild(plan);
  if (pid < 0) return Fail(ProcessError("cannot fork", errno));
  close(failure[1]);
  files.Release(failure[1]);
  int error = 0;
  ssize_t got;
  while ((got = read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got == static_cast<ssize_t>(sizeof error)) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return Fail(ProcessError(fmt::format("exec: \"{}\"", program), error));
  }
  for (const int end : {output[0], errors[0]}) {
    fcntl(end, F_SETFL, O_NONBLOCK);
    files.Release(end);
  }
  return SpawnedProcess{pid, {output[0], errors[0]}};
}

Status GroupGuard::Start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(ProcessError("cannot open a pipe", errno));
  pid_ = fork();
  if (pid_ < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return Fail(ProcessError("cannot fork", error));
  }
  if (pid_ > 0) {
    close(ends[0]);
    pipe_ = ends[1];
    return {};
  }
  // A session of its own: Ctrl-C and the terminal's end must not take the guard away before its work.
  setsid();
  ResetSignals();
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  dup2(ends[0], 0);
  CloseFrom(1);
  prctl(PR_SET_NAME, "evenkeel-guard");
  static pid_t groups[4096];
  size_t count = 0;
  for (pid_t message;;) {
    const ssize_t got = read(0, &message, sizeof message);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof message)) break;
    if (message > 0 && count < 4096) groups[count++] = message;
    for (size_t i = 0; message < 0 && i < count; ++i) {
      if (groups[i] == -message) groups[i--] = groups[--count];
    }
  }
  for (size_t i = 0; i < count; ++i) kill(-groups[i], SIGKILL);
  _exit(0);
}

GroupGuard::~GroupGuard() {
  if (pipe_ < 0) return;
  close(pipe_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void GroupGuard::Tell(pid_t message) {
  while (pipe_ >= 0 && write(pipe_, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

}  // namespace evenkeel::base
