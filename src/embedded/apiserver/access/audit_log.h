// Writes as lines of a file: one audit.k8s.io/v1 Event per line, level Metadata, stage ResponseComplete. Unlike
// kube-apiserver's log it has no reads; and requests that are refused before they are understood as a write of some resource
// (no such path, not authenticated, too large) leave no line.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/executor.h"
#include "embedded/apiserver/access/audit.h"
#include "embedded/apiserver/access/rotating_file.h"

namespace evenkeel::embedded::apiserver {

/// The record as one line of JSON, with the newline. Valid UTF-8 whatever was sent.
std::string AuditLine(const AuditRecord& record);

struct AuditLogOptions {
  std::string path;               ///< "-": standard output
  int64_t bytes_max = 100 << 20;  ///< of the file before it is moved aside
  int backups_max = 0;            ///< how many moved ones are kept; 0: all
  size_t waiting_max = 20'000;    ///< records not written yet, beyond which more are lost
};

/// A strand writes, many lines at a time; Record only queues. Lines have the order of the records. What cannot be written (the
/// disk is full, the file cannot be opened) or waits too long is lost: one warning when that begins and one note, with the
/// number of lines, when it is over; requests do not notice.
class AuditLog final : public AuditSink {
 public:
  /// Opens the file, so that a wrong path is known at once. The executor must outlive it.
  static base::Result<std::unique_ptr<AuditLog>> Open(AuditLogOptions options, base::Executor& executor);
  /// Writes what waits. Nobody may call Record any more.
  ~AuditLog() override;

  void Record(const AuditRecord& record) override;
  /// Lines lost so far.
  uint64_t lost() const;

 private:
  AuditLog(AuditLogOptions options, base::Executor& executor);
  void WriteWaiting();

  const AuditLogOptions options_;
  base::Clock& clock_;
  const std::shared_ptr<base::Strand> strand_;
  RotatingFile file_;         // the strand's
  bool losing_ = false;       // the strand's: the warning has been given
  uint64_t lost_before_ = 0;  // the strand's: when it was given

  mutable std::mutex mutex_;
  std::vector<AuditRecord> waiting_;
  bool scheduled_ = false;
  uint64_t lost_ = 0;
};

}  // namespace evenkeel::embedded::apiserver
