#include "base/process/process.h"

#include "base/process/process_child.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace evenkeel::base {
namespace {

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

}  // namespace evenkeel::base
