#include "embedded/apiserver/access/rotating_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

constexpr size_t kChunkBytes = 256 << 10;

std::unexpected<base::Error> SystemError(const std::string& doing, int number) {
  return Fail(Code::kInternal, doing + ": " + std::strerror(number));
}

// "2006-01-02T15-04-05.000".
std::string Stamp(base::Time now) {
  std::string text = base::FormatMicroTime(now).substr(0, 23);
  std::ranges::replace(text, ':', '-');
  return text;
}

bool IsStamp(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00-00-00.000";
  return text.size() == kShape.size() && std::ranges::equal(text, kShape, [](char letter, char shape) {
           return shape == '0' ? letter >= '0' && letter <= '9' : letter == shape;
         });
}

}  // namespace

RotatingFile::RotatingFile(std::string path, int64_t bytes_max, int backups_max)
    : path_(std::move(path)), bytes_max_(bytes_max), backups_max_(backups_max) {}

RotatingFile::~RotatingFile() { Close(); }

void RotatingFile::Close() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
  fd_ = -1;
}

base::Status RotatingFile::Open() {
  if (fd_ >= 0) return {};
  if (path_ == "-") {
    fd_ = STDOUT_FILENO;
    regular_ = false;
    return {};
  }
  const std::string doing = "opening " + path_;
  if (const auto parent = std::filesystem::path(path_).parent_path(); !parent.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(parent, failed);
    if (failed) return Fail(Code::kInternal, doing + ": " + failed.message());
  }
  // Not blocking: a pipe that nobody reads is an error instead of a wait.
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return SystemError(doing, errno);
  struct stat info{};
  if (::fstat(fd, &info) != 0) {
    const int number = errno;
    ::close(fd);
    return SystemError(doing, number);
  }
  fd_ = fd;
  regular_ = S_ISREG(info.st_mode);
  size_ = regular_ ? info.st_size : 0;
  return {};
}

base::Status RotatingFile::Write(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int number = errno;
      // Half a line would spoil the next one too. Where this fails as well there is nothing left to try.
      if (regular_ && rest.size() < text.size() && ::ftruncate(fd_, size_) != 0) Close();
      return SystemError("writing " + path_, number);
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  size_ += static_cast<int64_t>(text.size());
  return {};
}

base::Status RotatingFile::Rotate(base::Time now) {
  const std::filesystem::path path(path_);
  std::filesystem::path backup;
  std::error_code failed;
  do {
    backup = path.parent_path() / (path.stem().string() + "-" + Stamp(now) + path.extension().string());
    now += std::chrono::milliseconds(1);
  } while (std::filesystem::exists(backup, failed));
  Close();
  if (std::rename(path_.c_str(), backup.c_str()) != 0 && errno != ENOENT)
    return SystemError("moving " + path_ + " aside", errno);
  RemoveOldBackups();
  return Open();
}

// What cannot be removed is in nobody's way but the disk's: the next rotation tries again.
void RotatingFile::RemoveOldBackups() const {
  if (backups_max_ <= 0) return;
  const std::filesystem::path path(path_);
  const std::string prefix = path.stem().string() + "-", extension = path.extension().string();
  std::vector<std::string> backups;
  std::error_code failed;
  const std::filesystem::path parent = path.parent_path().empty() ? "." : path.parent_path();
  for (std::filesystem::directory_iterator entry(parent, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.size() < prefix.size() + extension.size() || !name.starts_with(prefix) || !name.ends_with(extension)) continue;
    const std::string_view stamp = std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - extension.size());
    if (IsStamp(stamp)) backups.push_back(entry->path().string());
  }
  std::ranges::sort(backups, std::greater());
  for (size_t i = static_cast<size_t>(backups_max_); i < backups.size(); ++i) std::filesystem::remove(backups[i], failed);
}

std::optional<RotatingFile::Lost> RotatingFile::Append(std::span<const std::string> lines, base::Time now) {
  size_t written = 0;
  const auto run = [&]() -> base::Status {
    EVENKEEL_TRY(Open());
    std::string chunk;
    size_t chunk_lines = 0;
    const auto flush = [&]() -> base::Status {
      EVENKEEL_TRY(Write(chunk));
      written += std::exchange(chunk_lines, 0);
      chunk.clear();
      return {};
    };
    for (const std::string& line : lines) {
      const int64_t size = size_ + static_cast<int64_t>(chunk.size());
      const bool full = regular_ && size > 0 && size + static_cast<int64_t>(line.size()) > bytes_max_;
      if (full || chunk.size() >= kChunkBytes) EVENKEEL_TRY(flush());
      if (full) EVENKEEL_TRY(Rotate(now));
      chunk += line;
      ++chunk_lines;
    }
    return flush();
  };
  auto status = run();
  if (status) return std::nullopt;
  Close();
  return Lost{lines.size() - written, std::move(status).error()};
}

}  // namespace evenkeel::embedded::apiserver
