// A file that lines are appended to and that is moved aside when it has grown: for logs that must not fill a disk. Names and
// rules are those of the log files of kube-apiserver.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::embedded::apiserver {

/// Thread-compatible.
class RotatingFile {
 public:
  /// @param path  its directory is made if need be; "-" is standard output. What is no regular file is never moved.
  /// @param bytes_max  a line that would make the file larger goes into a new one
  /// @param backups_max  moved files to keep: NAME-2006-01-02T15-04-05.000.EXT, the newest; 0: all
  RotatingFile(std::string path, int64_t bytes_max, int backups_max);
  ~RotatingFile();
  RotatingFile(const RotatingFile&) = delete;
  RotatingFile& operator=(const RotatingFile&) = delete;

  /// Makes it ready to append to, if it is not already.
  base::Status Open();

  struct Lost {
    size_t lines = 0;
    base::Error why;
  };
  /// Appends the lines, which end with a newline each, in this order. After an error the rest of them is lost, no part of a
  /// line is left in the file, and the next call opens it again. Blocks for the disk.
  /// @param now  for the name of a file that is moved
  std::optional<Lost> Append(std::span<const std::string> lines, base::Time now);

 private:
  base::Status Write(const std::string& text);
  base::Status Rotate(base::Time now);
  void RemoveOldBackups() const;
  void Close();

  const std::string path_;
  const int64_t bytes_max_;
  const int backups_max_;
  int fd_ = -1;
  bool regular_ = false;
  int64_t size_ = 0;
};

}  // namespace evenkeel::embedded::apiserver
