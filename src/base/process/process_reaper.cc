#include "base/process/process_reaper.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/input/file.h"
#include "base/process/process.h"
#include "base/process/process_child.h"

namespace evenkeel::base {
namespace {

// The first of these opens what is sent to be started: then come so many texts, each with its end: the program, the working
// directory, the arguments, the environment.
struct PlanHeader {
  size_t arguments = 0, variables = 0;
};

// From a supervisor to the program: the main process's pid first, its wait status last.
struct Report {
  enum Kind { kStarted, kEnded };
  int kind = kStarted;
  int value = 0;
};

// What goes with a request, in this order.
enum PassedFile { kPlanFile, kOutputFile, kErrorsFile, kFailureFile, kControlFile, kPassedFiles };

constexpr size_t kChildrenMax = 4096;

// The direct children of this process. Without allocation where the kernel lists them.
size_t Children(pid_t (&found)[kChildrenMax]) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
  static char text[kChildrenMax * 12];
  size_t count = 0;
  if (const int file = open(path, O_RDONLY | O_CLOEXEC); file >= 0) {
    size_t size = 0;
    for (ssize_t got; size + 1 < sizeof text && (got = read(file, text + size, sizeof text - 1 - size)) > 0;) {
      size += static_cast<size_t>(got);
    }
    close(file);
    text[size] = 0;
    for (char* at = text; count < kChildrenMax;) {
      char* end = at;
      const long pid = std::strtol(at, &end, 10);
      if (end == at) break;
      found[count++] = static_cast<pid_t>(pid);
      at = end;
    }
    return count;
  }
  // Kernels without such lists (CONFIG_PROC_CHILDREN): everybody is asked for its parent.
  DIR* const all = opendir("/proc");
  while (const dirent* entry = all == nullptr ? nullptr : readdir(all)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || count >= kChildrenMax) continue;
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    char line[512];
    const ssize_t got = read(file, line, sizeof line - 1);
    close(file);
    line[std::max<ssize_t>(got, 0)] = 0;
    // "PID (NAME) STATE PARENT ..."; the name may have anything in it.
    const char* const name_end = std::strrchr(line, ')');
    if (name_end != nullptr && std::strlen(name_end) > 4 && std::strtol(name_end + 4, nullptr, 10) == getpid()) {
      found[count++] = pid;
    }
  }
  if (all != nullptr) closedir(all);
  return count;
}

// Kills children, and those that become such as their parents die, until there are none. `main`: whose status is wanted.
void EndDescendants(pid_t main, int& main_status) {
  static pid_t children[kChildrenMax];
  for (;;) {
    const size_t count = Children(children);
    size_t killable = 0;
    for (size_t i = 0; i < count; ++i) killable += kill(children[i], SIGKILL) == 0;
    // Those that run as somebody else, by a program of his that may, are beyond reach.
    if (killable == 0 && count > 0) return;
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) return;
    if (ended == main) main_status = status;
  }
}

void IgnoreTerminal() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
}

// Told of children that ended by a file, so that one poll waits for everything.
int ChildSignals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

void DrainSignals(int file) {
  signalfd_siginfo info;
  while (read(file, &info, sizeof info) > 0) {
  }
}

// One main process and its descendants. In a process of its own, which never returns.
class Supervisor {
 public:
  explicit Supervisor(const int (&files)[kPassedFiles]) { std::copy_n(files, kPassedFiles, files_); }

  [[noreturn]] void Run() {
    prctl(PR_SET_NAME, "pod-reaper");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const int signals = ChildSignals();
    StartMain();
    for (const PassedFile file : {kPlanFile, kOutputFile, kErrorsFile, kFailureFile}) close(files_[file]);
    Send(Report::kStarted, main_);
    bool stop = false;
    while (!stop) {
      pollfd waits[2] = {{signals, POLLIN, 0}, {files_[kControlFile], POLLIN, 0}};
      poll(waits, 2, -1);
      DrainSignals(signals);
      stop = Reap() || Obey();
    }
    EndDescendants(main_, status_);
    Send(Report::kEnded, status_);
    _exit(0);
  }

 private:
  void StartMain() {
    struct stat info{};
    fstat(files_[kPlanFile], &info);
    const auto size = static_cast<size_t>(info.st_size);
    auto* const bytes = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, files_[kPlanFile], 0));
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (bytes == MAP_FAILED || input < 0) Fail();
    const auto* const header = reinterpret_cast<const PlanHeader*>(bytes);
    const size_t pointers_size = (header->arguments + header->variables + 2) * sizeof(char*);
    auto** const pointers =
        static_cast<char**>(mmap(nullptr, pointers_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (static_cast<void*>(pointers) == MAP_FAILED) Fail();
    char* at = bytes + sizeof(PlanHeader);
    const auto next = [&at] { return std::exchange(at, at + std::strlen(at) + 1); };
    const char* const program = next();
    const char* const working_dir = next();
    for (size_t i = 0; i < header->arguments; ++i) pointers[i] = next();
    char** const environment = pointers + header->arguments + 1;
    for (size_t i = 0; i < header->variables; ++i) environment[i] = next();
    const ChildPlan plan{
        program, pointers, environment, working_dir, input, files_[kOutputFile], files_[kErrorsFile], files_[kFailureFile],
        getpid()};
    main_ = fork();
    if (main_ == 0) RunChild(plan);
    if (main_ < 0) Fail();
    close(input);
  }

  [[noreturn]] void Fail() {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(files_[kFailureFile], &error, sizeof error);
    _exit(1);
  }

  // Whether the main process has ended.
  bool Reap() {
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != main_) continue;
      status_ = status;
      return true;
    }
    return false;
  }

  // Whether everything is to end: the main process has not, so its number is still its own.
  bool Obey() {
    for (;;) {
      int signal = 0;
      const ssize_t got = recv(files_[kControlFile], &signal, sizeof signal, MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno != EAGAIN;
      if (got != static_cast<ssize_t>(sizeof signal) || signal == SIGKILL) return true;
      kill(main_, signal);
    }
  }

  void Send(Report::Kind kind, int value) {
    const Report report{kind, value};
    while (send(files_[kControlFile], &report, sizeof report, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
  }

  int files_[kPassedFiles];
  pid_t main_ = -1;
  int status_ = 0;
};

// Receives one request. 0: the program is gone.
ssize_t Receive(int socket, int (&files)[kPassedFiles]) {
  char byte;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof files)];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got <= 0) return got;
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_len != CMSG_LEN(sizeof files)) {
    errno = EAGAIN;  // no file was left for it: the sender sees its ends close
    return -1;
  }
  std::memcpy(files, CMSG_DATA(head), sizeof files);
  return got;
}

// Forks the supervisors. In a process of its own, which never returns; `socket` is file 0.
class Nursery {
 public:
  [[noreturn]] void Run() {
    prctl(PR_SET_NAME, "pod-nursery");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const int signals = ChildSignals();
    for (;;) {
      pollfd waits[2] = {{signals, POLLIN, 0}, {0, POLLIN, 0}};
      poll(waits, 2, -1);
      DrainSignals(signals);
      Reap(WNOHANG);
      int files[kPassedFiles];
      const ssize_t got = Receive(0, files);
      if (got == 0) break;
      if (got < 0) continue;
      Fork(files);
      for (const int file : files) close(file);
    }
    // The supervisors have seen it, too.
    Reap(0);
    _exit(0);
  }

 private:
  void Fork(const int (&files)[kPassedFiles]) {
    errno = EAGAIN;
    const pid_t pid = count_ < std::size(supervisors_) ? fork() : -1;
    if (pid == 0) {
      close(0);
      Supervisor(files).Run();
    }
    if (pid > 0) {
      supervisors_[count_++] = pid;
      return;
    }
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(files[kFailureFile], &error, sizeof error);
  }

  void Reap(int options) {
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, options)) > 0 || (ended < 0 && errno == EINTR);) {
      if (ended < 0) continue;
      pid_t* const end = supervisors_ + count_;
      pid_t* const known = std::find(supervisors_, end, ended);
      if (known != end) *known = supervisors_[--count_];
      // Somebody killed a supervisor: its descendants have become children of this one.
      if (known == end || !WIFEXITED(status)) EndStrays();
    }
  }

  void EndStrays() {
    static pid_t children[kChildrenMax];
    const size_t count = Children(children);
    for (size_t i = 0; i < count; ++i) {
      pid_t* const end = supervisors_ + count_;
      if (std::find(supervisors_, end, children[i]) == end) kill(children[i], SIGKILL);
    }
  }

  pid_t supervisors_[32768];
  size_t count_ = 0;
};

std::string PlanText(const std::string& program, const std::string& working_dir, const std::vector<std::string>& command,
                     const std::vector<std::string>& environment) {
  const PlanHeader header{command.size(), environment.size()};
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  const auto add = [&text](const std::string& one) { text.append(one.c_str(), std::strlen(one.c_str()) + 1); };
  add(program);
  add(working_dir);
  for (const std::string& argument : command) add(argument);
  for (const std::string& variable : environment) add(variable);
  return text;
}

bool Send(int socket, const int (&files)[kPassedFiles]) {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof files)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof files);
  std::memcpy(CMSG_DATA(head), files, sizeof files);
  ssize_t sent;
  while ((sent = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return sent == 1;
}

}  // namespace

void SignalReaped(int control, int signal) {
  while (send(control, &signal, sizeof signal, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR) {
  }
}

std::optional<int> TakeReaped(int control) {
  for (;;) {
    Report report;
    const ssize_t got = recv(control, &report, sizeof report, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got != static_cast<ssize_t>(sizeof report)) return -1;
    if (report.kind == Report::kEnded) return report.value;
  }
}

Status ProcessReaper::Start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Fail(ProcessError("cannot open a socket", errno));
  pid_ = fork();
  if (pid_ == 0) {
    // A session of its own: Ctrl-C and the terminal's end must not take it away before its work.
    setsid();
    ResetSignals();
    IgnoreTerminal();
    dup2(ends[1], 0);
    CloseFrom(1);
    static Nursery nursery;
    nursery.Run();
  }
  const int error = errno;
  close(ends[1]);
  socket_ = ends[0];
  if (pid_ < 0) return Fail(ProcessError("cannot fork", error));
  return {};
}

ProcessReaper::~ProcessReaper() {
  if (socket_ >= 0) close(socket_);
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<ReapedProcess> ProcessReaper::Spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                                           const std::string& working_dir) {
  if (command.empty() || command.front().empty()) return Fail(Code::kInvalid, "there is no command to run");
  const std::string program = FindProgram(command.front(), environment, working_dir);
  if (program.empty())
    return Fail(Code::kNotFound, fmt::format("exec: \"{}\": executable file not found in $PATH", command.front()));
  FileSet files;
  int output[2], errors[2], failure[2], control[2];
  const int plan = memfd_create("plan", MFD_CLOEXEC);
  if (plan >= 0) files.Keep(plan);
  if (plan < 0 || !OpenPipe(files, output) || !OpenPipe(files, errors) || !OpenPipe(files, failure) ||
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
    return Fail(ProcessError("cannot open pipes for a process", errno));
  }
  for (const int end : control) files.Keep(end);
  EVENKEEL_TRY(WriteAll(plan, PlanText(program, working_dir, command, environment), "cannot write down what to start"));
  if (!Send(socket_, {plan, output[1], errors[1], failure[1], control[1]})) {
    return Fail(ProcessError("cannot reach the process that starts others", errno));
  }
  for (const int end : {failure[1], control[1]}) {
    close(end);
    files.Release(end);
  }
  int error = 0;
  ssize_t got;
  while ((got = read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got == static_cast<ssize_t>(sizeof error)) return Fail(ProcessError(fmt::format("exec: \"{}\"", program), error));
  Report report;
  while ((got = recv(control[0], &report, sizeof report, 0)) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(sizeof report) || report.kind != Report::kStarted) {
    return Fail(Code::kInternal, fmt::format("exec: \"{}\": the process that was to start it is gone", program));
  }
  for (const int end : {output[0], errors[0]}) fcntl(end, F_SETFL, O_NONBLOCK);
  for (const int end : {output[0], errors[0], control[0]}) files.Release(end);
  return ReapedProcess{report.value, {output[0], errors[0]}, control[0]};
}

}  // namespace evenkeel::base
