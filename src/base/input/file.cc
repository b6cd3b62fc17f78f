#include "base/input/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace evenkeel::base {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

std::unexpected<Error> SystemError(const std::string& doing, int number) {
  Code code = Code::kInternal;
  if (number == ENOENT || number == ENOTDIR) code = Code::kNotFound;
  if (number == EACCES || number == EPERM || number == EROFS) code = Code::kForbidden;
  return Fail(code, doing + ": " + std::strerror(number));
}

Status WriteTemporary(const std::string& path, std::string_view content, unsigned mode, const std::string& doing) {
  const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0) return SystemError(doing, errno);
  // Not through open, whose mode the process's umask would cut.
  if (::fchmod(fd.get(), mode) != 0) return SystemError(doing, errno);
  EVENKEEL_TRY(WriteAll(fd.get(), content, doing));
  if (::fsync(fd.get()) != 0) return SystemError(doing, errno);
  return {};
}

}  // namespace

Status WriteAll(int fd, std::string_view content, const std::string& doing) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(doing, errno);
    content.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<std::string> ReadFile(const std::string& path, size_t bytes_max) {
  const bool standard_input = path == "-";
  const std::string doing = "reading " + (standard_input ? std::string("standard input") : path);
  const FileDescriptor fd(standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError(doing, errno);
  std::string content;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(doing, errno);
    if (count == 0) return content;
    if (content.size() + static_cast<size_t>(count) > bytes_max) {
      return Fail(Code::kTooLarge, doing + ": it is larger than " + std::to_string(bytes_max) + " bytes");
    }
    content.append(buffer, static_cast<size_t>(count));
  }
}

Status WriteFile(const std::string& path, std::string_view content, unsigned mode) {
  static std::atomic<uint64_t> counter{0};
  const std::string doing = "writing " + path;
  // A device or a pipe, /dev/null or /dev/stdout, is written to: a file in its place would be the end of it.
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (fd.get() < 0) return SystemError(doing, errno);
    return WriteAll(fd.get(), content, doing);
  }
  const std::string temporary = path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(++counter);
  if (auto written = WriteTemporary(temporary, content, mode, doing); !written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::unlink(temporary.c_str());
    return SystemError(doing, number);
  }
  // The rename itself survives a power cut only once the directory is on disk.
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const FileDescriptor directory(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) return SystemError(doing, errno);
  return {};
}

}  // namespace evenkeel::base
