// The file beside a SQLite store by which one process owns it, and which remembers how far its revisions have been told to
// anybody.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::store {

/// `path`.lock. Its content is the mark: a revision that was durable when it was written, with a checksum. The mark is written
/// after each commit and without a sync of its own, so it may be behind the store (power loss), but a store behind its mark has
/// lost what was acknowledged.
class StoreLock {
 public:
  /// kUnavailable where another process has it, or the directory cannot be written to.
  static base::Result<std::unique_ptr<StoreLock>> Take(const std::string& path);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

  /// 0 where there is none, or it cannot be read.
  Revision mark() const { return mark_; }
  /// About a microsecond; a lower one changes nothing.
  base::Status RaiseMark(Revision revision);
  void Sync();

 private:
  StoreLock(std::string path, int file) : path_(std::move(path)), file_(file) {}
  void ReadMark();

  const std::string path_;
  const int file_;
  Revision mark_ = 0;
};

}  // namespace evenkeel::embedded::store
