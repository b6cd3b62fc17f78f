// Container logs on disk, in the form that container runtimes write for the kubelet: "TIME stdout|stderr F|P TEXT" per line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::embedded::nodeagent {

/// Appends what one attempt of a container writes. A file that reaches `rotate_bytes` is renamed to PATH.1 (replacing an older
/// one) and begun anew. Not thread-safe. Failures to write are swallowed: a full disk must not stop a container.
class ContainerLogWriter {
 public:
  ContainerLogWriter(std::string path, base::Clock& clock, int64_t rotate_bytes = 10 << 20);
  ~ContainerLogWriter();
  ContainerLogWriter(const ContainerLogWriter&) = delete;
  ContainerLogWriter& operator=(const ContainerLogWriter&) = delete;

  /// `stream` is 1 (stdout) or 2 (stderr). Lines longer than 16 KiB are cut into partial ones.
  void Append(int stream, std::string_view bytes);
  /// Writes what has no end of line yet.
  void Finish();

 private:
  void WriteLine(int stream, std::string_view text, bool full);
  void Open();

  const std::string path_;
  base::Clock& clock_;
  const int64_t rotate_bytes_;
  int file_ = -1;
  int64_t size_ = 0;
  std::string open_[2];  ///< what has come of the line that each stream is writing
};

struct LogView {
  bool timestamps = false;
  std::optional<int64_t> tail_lines, limit_bytes;
  std::optional<base::Time> since;
};

/// Turns lines of such a file into what `kubectl logs` shows; lines that are not of the form are left out.
std::string RenderLog(std::string_view text, const LogView& view);
/// The log at `path` with what was rotated away from it. Empty when there is no file.
base::Result<std::string> ReadContainerLog(const std::string& path, const LogView& view);

}  // namespace evenkeel::embedded::nodeagent
