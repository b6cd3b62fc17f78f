#include "embedded/store/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/hash.h"

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;

constexpr std::string_view kMarkMagic = "EVKLMARK";
constexpr size_t kMarkBytes = 24;  // the word, the revision and the checksum of both, little-endian

void PutNumber(std::string& bytes, uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(number >> shift);
}

std::string EncodeMark(Revision revision) {
  std::string bytes(kMarkMagic);
  PutNumber(bytes, static_cast<uint64_t>(revision));
  PutNumber(bytes, base::XxHash64(bytes));
  return bytes;
}

}  // namespace

base::Result<std::unique_ptr<StoreLock>> StoreLock::Take(const std::string& path) {
  const std::string lock_path = path + ".lock";
  // Close-on-exec: a child process must not keep the lock after this process has ended.
  const int file = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return Fail(Code::kUnavailable, "cannot open " + lock_path + ": " + std::strerror(errno) + ": check the directory");
  }
  std::unique_ptr<StoreLock> lock(new StoreLock(lock_path, file));
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Fail(Code::kUnavailable, "store " + path + " is in use by another process: stop that one or use another file");
    }
    return Fail(Code::kUnavailable, "cannot lock " + lock_path + ": " + std::strerror(errno));
  }
  lock->ReadMark();
  return lock;
}

StoreLock::~StoreLock() { close(file_); }

void StoreLock::ReadMark() {
  std::array<char, kMarkBytes> bytes{};
  if (pread(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return;
  uint64_t revision = 0;
  for (size_t i = 0; i < 8; ++i) revision |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[kMarkMagic.size() + i])) << 8 * i;
  const bool whole = std::string_view(bytes.data(), bytes.size()) == EncodeMark(static_cast<Revision>(revision));
  if (whole) mark_ = std::max<Revision>(static_cast<Revision>(revision), 0);
}

base::Status StoreLock::RaiseMark(Revision revision) {
  if (revision <= mark_) return {};
  const std::string bytes = EncodeMark(revision);
  if (pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Fail(Code::kInternal, "cannot write " + path_ + ": " + std::strerror(errno));
  }
  mark_ = revision;
  return {};
}

void StoreLock::Sync() { fdatasync(file_); }

}  // namespace evenkeel::embedded::store
