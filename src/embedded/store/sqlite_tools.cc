#include "embedded/store/sqlite_tools.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "embedded/store/sqlite_file.h"
#include "embedded/store/write_ahead_log.h"

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;
using RowSink = std::function<base::Status(SqliteRow, bool damaged)>;

constexpr size_t kCopyBytes = 8 << 20;

base::Error SystemError(const std::string& doing) { return {Code::kUnavailable, doing + ": " + std::strerror(errno)}; }

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void RemoveStore(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) unlink((path + suffix).c_str());
}

base::Status SyncPath(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Fail(SystemError("cannot open " + path));
  const bool synced = fsync(file) == 0;
  close(file);
  return synced ? base::Status() : Fail(SystemError("cannot sync " + path));
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

base::Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return Fail(SystemError("cannot rename " + from + " to " + to));
  return SyncPath(FolderOf(to));
}

base::Result<SqliteHandle> OpenExisting(const std::string& path) {
  if (!Exists(path)) return Fail(Code::kNotFound, "there is no store " + path);
  const bool had_log = Exists(path + "-wal");
  EVENKEEL_ASSIGN(SqliteHandle database, SqliteHandle::Open(path));
  // An empty log that comes from reading goes again; one that was there stays.
  if (!had_log) database.AllowCheckpointOnClose();
  EVENKEEL_ASSIGN(const int layout, LayoutOf(database));
  if (layout == kSqliteLayout) return database;
  return Fail(Code::kInvalid, "store " + path +
                                  (layout == 0 ? " is empty"
                                               : " has layout " + std::to_string(layout) +
                                                     ", without checksums: start it once, which brings it to layout " +
                                                     std::to_string(kSqliteLayout)));
}

/// As SqliteFile::Load, of a store that a server may have: its log is looked into, and its mark believed, only where none has.
base::Result<SqliteSurvey> Survey(const std::string& path, const RowSink& sink) {
  if (!Exists(path)) return Fail(Code::kNotFound, "there is no store " + path);
  const auto lock = Exists(path + ".lock") ? StoreLock::Take(path) : base::Result<std::unique_ptr<StoreLock>>(nullptr);
  LogScan log;
  if (lock) {
    EVENKEEL_ASSIGN(log, ScanLogOf(path));
  }
  EVENKEEL_ASSIGN(const SqliteHandle database, OpenExisting(path));
  EVENKEEL_ASSIGN(SqliteSurvey survey, SurveyStore(database, sink));
  survey.CompareWith(log.damaged, lock && *lock ? (*lock)->mark() : 0);
  if (const auto pages = database.CheckPages(); !pages && survey.whole()) {
    survey.Add({SqliteDamage::Kind::kStructure, 0, "", "its pages are damaged, though all rows are there"});
  }
  return survey;
}

/// Writes rows to a new store, many per transaction.
class StoreWriter {
 public:
  static base::Result<std::unique_ptr<StoreWriter>> Create(const std::string& path) {
    RemoveStore(path);
    auto writer = std::make_unique<StoreWriter>();
    EVENKEEL_ASSIGN(writer->file_, SqliteFile::Open(path, 0));
    EVENKEEL_TRY(writer->file_->StartWriting({}));
    return writer;
  }
  base::Status Add(SqliteRow row) {
    bytes_ += row.key.size() + (row.value ? row.value->size() : 0) + 64;
    rows_.push_back(std::move(row));
    return bytes_ < kCopyBytes ? base::Status() : Flush();
  }
  /// Everything up to `compacted` is history that is not told any more, and the next revision is above `revision`. Closes the
  /// file, and its lock goes.
  base::Status Finish(Revision compacted, Revision revision) {
    EVENKEEL_TRY(Flush());
    EVENKEEL_TRY(file_->Write({{}, {}, compacted, revision}));
    const std::string path = file_->path();
    file_.reset();
    {
      // One file without a log can be read anywhere, also where nothing can be written.
      EVENKEEL_ASSIGN(SqliteHandle database, SqliteHandle::Open(path));
      database.AllowCheckpointOnClose();
      EVENKEEL_TRY(database.Execute("PRAGMA journal_mode=DELETE"));
    }
    unlink((path + ".lock").c_str());
    return SyncPath(path);
  }

 private:
  base::Status Flush() {
    if (rows_.empty()) return {};
    EVENKEEL_TRY(file_->Write({rows_, {}, 0, 0}));
    rows_.clear();
    bytes_ = 0;
    return {};
  }
  std::unique_ptr<SqliteFile> file_;
  std::vector<SqliteRow> rows_;
  size_t bytes_ = 0;
};

/// Copies all rows; kInvalid, and no copy, when anything is damaged. `go_on` says from what was found where the copy goes on:
/// {compacted, revision}.
base::Result<SqliteSurvey> CopyRows(const std::string& from, const std::string& to,
                                    const std::function<std::pair<Revision, Revision>(const SqliteSurvey&)>& go_on) {
  const auto copy = [&]() -> base::Result<SqliteSurvey> {
    EVENKEEL_ASSIGN(const auto writer, StoreWriter::Create(to));
    EVENKEEL_ASSIGN(SqliteSurvey survey, Survey(from, [&](SqliteRow row, bool) { return writer->Add(std::move(row)); }));
    if (!survey.whole()) return Fail(Code::kInvalid, survey.Summary(from));
    const auto [compacted, revision] = go_on(survey);
    EVENKEEL_TRY(writer->Finish(compacted, revision));
    return survey;
  };
  auto survey = copy();
  if (!survey) RemoveStore(to);
  return survey;
}

base::Status CopyFile(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
  if (error) return Fail(Code::kUnavailable, "cannot copy " + from + " to " + to + ": " + error.message());
  return SyncPath(to);
}

std::string FreeName(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; Exists(name) || Exists(name + "-wal"); ++i) name = wanted + "-" + std::to_string(i);
  return name;
}

/// The keys of which the newest row is damaged.
class SetBack {
 public:
  void See(const SqliteRow& row, bool damaged) {
    if (damaged) {
      lost_.insert(row.key);
      return;
    }
    lost_.erase(row.key);
    newest_[row.key] = row.value ? row.revision : 0;
  }
  std::vector<std::pair<std::string, Revision>> All() const {
    std::vector<std::pair<std::string, Revision>> all;
    for (const std::string& key : lost_) {
      const auto older = newest_.find(key);
      all.emplace_back(key, older == newest_.end() ? 0 : older->second);
    }
    return all;
  }

 private:
  std::set<std::string> lost_;
  std::map<std::string, Revision> newest_;  // of the whole ones; 0: a deletion
};

/// A backup as one of our layout: itself, or a copy at `work` that has been brought to it.
base::Result<std::string> OfOurLayout(const std::string& backup, const std::string& work) {
  if (!Exists(backup)) return Fail(Code::kNotFound, "there is no backup " + backup);
  {
    const bool had_log = Exists(backup + "-wal");
    EVENKEEL_ASSIGN(SqliteHandle database, SqliteHandle::Open(backup));
    if (!had_log) database.AllowCheckpointOnClose();
    EVENKEEL_ASSIGN(const int layout, LayoutOf(database));
    if (layout == 0 || layout == kSqliteLayout) return backup;
  }
  RemoveStore(work);
  EVENKEEL_TRY(CopyFile(backup, work));
  if (Exists(backup + "-wal")) EVENKEEL_TRY(CopyFile(backup + "-wal", work + "-wal"));
  EVENKEEL_ASSIGN(const SqliteHandle database, SqliteHandle::Open(work));
  EVENKEEL_TRY(UpgradeLayout(database));
  return work;
}

}  // namespace

base::Result<SqliteSurvey> VerifyStore(const std::string& path) {
  return Survey(path, [](SqliteRow, bool) { return base::Status(); });
}

base::Result<StoreCopy> BackUpStore(const std::string& path, const std::string& target) {
  if (Exists(target)) return Fail(Code::kAlreadyExists, target + " exists: name a file that does not");
  const std::string part = target + ".part";
  StoreCopy copy;
  EVENKEEL_ASSIGN(copy.found, CopyRows(path, part, [](const SqliteSurvey& survey) {
                    return std::pair(survey.state.compacted, survey.state.revision);
                  }));
  copy.revision = copy.found.state.revision;
  EVENKEEL_TRY(Rename(part, target));
  return copy;
}

base::Result<StoreCopy> RestoreStore(const std::string& backup, const std::string& path, bool overwrite) {
  EVENKEEL_ASSIGN(const auto lock, StoreLock::Take(path));
  if (Exists(path) && !overwrite) {
    return Fail(Code::kAlreadyExists, "there is a store " + path + ": --overwrite replaces it, or move it away");
  }
  Revision told = lock->mark();
  if (told == 0 && Exists(path)) {
    // A store of layout 1 has no mark.
    const auto database = SqliteHandle::Open(path);
    const auto last = database ? database->QueryNumber("SELECT max(revision) FROM kv") : base::Result<int64_t>(0);
    told = last.value_or(0);
  }
  const std::string part = path + ".restoring", work = path + ".upgrading";
  StoreCopy copy;
  const auto copied = [&]() -> base::Result<SqliteSurvey> {
    EVENKEEL_ASSIGN(const std::string source, OfOurLayout(backup, work));
    return CopyRows(source, part, [&](const SqliteSurvey& survey) {
      copy.revision = told > 0 ? std::max(told, survey.state.revision) + 1 : survey.state.revision + kRestoreGap;
      return std::pair(copy.revision, copy.revision);
    });
  }();
  RemoveStore(work);
  if (!copied) return Fail(copied.error());
  copy.found = *copied;
  for (const char* suffix : {"-wal", "-shm"}) unlink((path + suffix).c_str());
  EVENKEEL_TRY(Rename(part, path));
  EVENKEEL_TRY(lock->RaiseMark(copy.revision));
  lock->Sync();
  return copy;
}

base::Result<StoreCopy> RepairStore(const std::string& path) {
  StoreCopy copy;
  if (!Exists(path)) return Fail(Code::kNotFound, "there is no store " + path);
  {
    EVENKEEL_ASSIGN(copy.found, VerifyStore(path));
    copy.revision = copy.found.state.revision;
    if (copy.found.whole()) return copy;
  }
  EVENKEEL_ASSIGN(const auto lock, StoreLock::Take(path));
  const std::string work = path + ".repairing", part = path + ".repaired";
  RemoveStore(work);
  EVENKEEL_TRY(CopyFile(path, work));
  if (Exists(path + "-wal")) {
    EVENKEEL_TRY(CopyFile(path + "-wal", work + "-wal"));
    // What stands behind the damage counts, too.
    EVENKEEL_ASSIGN(const LogScan log, ScanLogOf(path));
    if (log.damaged) EVENKEEL_TRY(ResealLogOf(work));
  }
  SetBack set_back;
  const auto copied = [&]() -> base::Result<SqliteSurvey> {
    EVENKEEL_ASSIGN(const auto writer, StoreWriter::Create(part));
    EVENKEEL_ASSIGN(SqliteSurvey survey, Survey(work, [&](SqliteRow row, bool damaged) {
                      set_back.See(row, damaged);
                      return damaged ? base::Status() : writer->Add(std::move(row));
                    }));
    copy.revision = std::max(lock->mark(), survey.state.revision) + 1;
    EVENKEEL_TRY(writer->Finish(copy.revision, copy.revision));
    return survey;
  }();
  RemoveStore(work);
  if (!copied) {
    RemoveStore(part);
    return Fail(copied.error());
  }
  copy.found = *copied;
  copy.found.CompareWith(false, lock->mark());
  copy.set_back = set_back.All();
  copy.kept_as = FreeName(path + ".damaged");
  // The damaged one is there under both names until the rename, so that no moment is without a store.
  if (Exists(path + "-wal")) EVENKEEL_TRY(CopyFile(path + "-wal", copy.kept_as + "-wal"));
  if (link(path.c_str(), copy.kept_as.c_str()) != 0) return Fail(SystemError("cannot keep " + path + " as " + copy.kept_as));
  for (const char* suffix : {"-wal", "-shm"}) unlink((path + suffix).c_str());
  EVENKEEL_TRY(Rename(part, path));
  EVENKEEL_TRY(lock->RaiseMark(copy.revision));
  lock->Sync();
  return copy;
}

}  // namespace evenkeel::embedded::store
