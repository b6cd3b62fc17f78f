// For tests: a disk below SQLite that can lose its power, as a VFS that stands before the machine's own.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"

namespace evenkeel::embedded::store {

/// While it lives every database that is opened goes through it. Databases and logs are followed: what has been written to
/// each, and what of it has been synced. Names of files are durable at once.
class FaultyDisk {
 public:
  FaultyDisk() {
    Instance() = this;
    real_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.zName = "faulty";
    vfs_.xOpen = &FaultyDisk::Open;
    vfs_.xDelete = [](sqlite3_vfs*, const char* name, int sync) {
      FaultyDisk& disk = *Instance();
      std::lock_guard lock(disk.mutex_);
      if (disk.dead_) return SQLITE_IOERR_DELETE;
      disk.images_.erase(name);
      return disk.real_->xDelete(disk.real_, name, sync);
    };
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~FaultyDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
    Instance() = nullptr;
  }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  /// The power fails at so many writes or syncs from now: they and all later ones are errors.
  void CutAfter(int operations) {
    std::lock_guard lock(mutex_);
    left_ = operations;
  }
  bool is_dead() const {
    std::lock_guard lock(mutex_);
    return dead_;
  }
  /// Writes and syncs are errors (EIO) as long as this is set; those that were refused are not there.
  void FailWrites(bool fail) { failing_ = fail; }
  /// The power comes back, once everything is closed: of what was not synced each piece of 512 bytes is there or not.
  void PowerOn(base::Random& random) {
    std::lock_guard lock(mutex_);
    for (auto& [path, image] : images_) {
      std::string bytes = image.durable;
      for (const Change& change : image.pending) {
        if (change.truncates) {
          if (random.Below(2) == 0) bytes.resize(change.offset);
          continue;
        }
        for (size_t at = 0; at < change.bytes.size(); at += kSector) {
          if (random.Below(3) == 0) continue;
          const size_t count = std::min(kSector, change.bytes.size() - at), offset = change.offset + at;
          if (bytes.size() < offset + count) bytes.resize(offset + count);
          bytes.replace(offset, count, change.bytes, at, count);
        }
      }
      image = {bytes, {}};
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
      std::remove((path + "-shm").c_str());
    }
    dead_ = false;
    left_ = -1;
  }

 private:
  static constexpr size_t kSector = 512;
  struct Change {
    size_t offset = 0;
    std::string bytes;
    bool truncates = false;
  };
  struct Image {
    std::string durable;
    std::vector<Change> pending;
  };
  struct File {
    sqlite3_file base;
    const char* path;  // of a followed file; null otherwise
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    const sqlite3_io_methods& methods() { return *real()->pMethods; }
  };

  static FaultyDisk*& Instance() {
    static FaultyDisk* instance = nullptr;
    return instance;
  }
  static File& Of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }

  static int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
    FaultyDisk& disk = *Instance();
    File& opened = Of(file);
    opened.base.pMethods = nullptr;
    const int result = disk.real_->xOpen(disk.real_, name, opened.real(), flags, flags_out);
    if (result != SQLITE_OK) return result;
    const bool followed = name != nullptr && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0;
    opened.path = followed ? name : nullptr;
    opened.base.pMethods = &disk.Methods();
    if (!followed) return SQLITE_OK;
    std::lock_guard lock(disk.mutex_);
    if (disk.images_.contains(name)) return SQLITE_OK;
    std::ifstream stream(name, std::ios::binary);
    disk.images_[name].durable.assign(std::istreambuf_iterator<char>(stream), {});
    return SQLITE_OK;
  }

  /// Whether a write or a sync may be carried out. With mutex_ held.
  bool Takes() {
    if (left_ > 0) --left_;
    if (left_ == 0) dead_ = true;
    return !dead_ && !failing_;
  }
  int Apply(File& file, Change change, int (*carry_out)(File&, const Change&)) {
    std::lock_guard lock(mutex_);
    if (!Takes()) return SQLITE_IOERR_WRITE;
    const int result = carry_out(file, change);
    if (result == SQLITE_OK && file.path != nullptr) images_[file.path].pending.push_back(std::move(change));
    return result;
  }
  int Sync(File& file, int flags) {
    std::lock_guard lock(mutex_);
    if (!Takes()) return SQLITE_IOERR_FSYNC;
    if (file.path != nullptr) {
      Image& image = images_[file.path];
      for (const Change& change : image.pending) {
        if (change.truncates || image.durable.size() < change.offset + change.bytes.size()) {
          image.durable.resize(change.offset + change.bytes.size());
        }
        image.durable.replace(change.offset, change.bytes.size(), change.bytes);
      }
      image.pending.clear();
    }
    return file.methods().xSync(file.real(), flags);
  }

  static sqlite3_io_methods& Methods() {
    static sqlite3_io_methods methods{
        2,
        [](sqlite3_file* f) { return Of(f).methods().xClose(Of(f).real()); },
        [](sqlite3_file* f, void* to, int count, sqlite3_int64 offset) {
          return Of(f).methods().xRead(Of(f).real(), to, count, offset);
        },
        [](sqlite3_file* f, const void* from, int count, sqlite3_int64 offset) {
          return Instance()->Apply(
              Of(f),
              {static_cast<size_t>(offset), std::string(static_cast<const char*>(from), static_cast<size_t>(count)), false},
              [](File& file, const Change& c) {
                return file.methods().xWrite(file.real(), c.bytes.data(), static_cast<int>(c.bytes.size()),
                                             static_cast<sqlite3_int64>(c.offset));
              });
        },
        [](sqlite3_file* f, sqlite3_int64 size) {
          return Instance()->Apply(Of(f), {static_cast<size_t>(size), "", true}, [](File& file, const Change& c) {
            return file.methods().xTruncate(file.real(), static_cast<sqlite3_int64>(c.offset));
          });
        },
        [](sqlite3_file* f, int flags) { return Instance()->Sync(Of(f), flags); },
        [](sqlite3_file* f, sqlite3_int64* size) { return Of(f).methods().xFileSize(Of(f).real(), size); },
        [](sqlite3_file* f, int level) { return Of(f).methods().xLock(Of(f).real(), level); },
        [](sqlite3_file* f, int level) { return Of(f).methods().xUnlock(Of(f).real(), level); },
        [](sqlite3_file* f, int* out) { return Of(f).methods().xCheckReservedLock(Of(f).real(), out); },
        [](sqlite3_file* f, int op, void* argument) { return Of(f).methods().xFileControl(Of(f).real(), op, argument); },
        [](sqlite3_file* f) { return Of(f).methods().xSectorSize(Of(f).real()); },
        [](sqlite3_file* f) { return Of(f).methods().xDeviceCharacteristics(Of(f).real()); },
        [](sqlite3_file* f, int page, int size, int extend, void volatile** at) {
          return Of(f).methods().xShmMap(Of(f).real(), page, size, extend, at);
        },
        [](sqlite3_file* f, int offset, int n, int flags) { return Of(f).methods().xShmLock(Of(f).real(), offset, n, flags); },
        [](sqlite3_file* f) { Of(f).methods().xShmBarrier(Of(f).real()); },
        [](sqlite3_file* f, int remove) { return Of(f).methods().xShmUnmap(Of(f).real(), remove); },
        nullptr,
        nullptr};
    return methods;
  }

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  mutable std::mutex mutex_;
  std::map<std::string, Image> images_;
  int left_ = -1;
  bool dead_ = false;
  std::atomic<bool> failing_ = false;
};

}  // namespace evenkeel::embedded::store
