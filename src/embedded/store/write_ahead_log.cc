#include "embedded/store/write_ahead_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;

constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr uint32_t kLogMagic = 0x377f0682;  // the lowest bit: checksums are of big-endian words
constexpr uint32_t kPageBytesMax = 65'536;

uint32_t ReadBig(const char* at) {
  uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(at[i]);
  return number;
}

void WriteBig(char* at, uint32_t number) {
  for (int i = 3; i >= 0; --i, number >>= 8) at[i] = static_cast<char>(number);
}

/// The running checksum of header and frames.
struct LogSum {
  uint32_t a = 0, b = 0;
  bool operator==(const LogSum&) const = default;

  void Add(const char* bytes, size_t count, bool big) {
    for (size_t i = 0; i + 8 <= count; i += 8) {
      uint32_t x = ReadBig(bytes + i), y = ReadBig(bytes + i + 4);
      if (!big) {
        x = __builtin_bswap32(x);
        y = __builtin_bswap32(y);
      }
      a += x + b;
      b += y + a;
    }
  }
  static LogSum At(const char* bytes) { return {ReadBig(bytes), ReadBig(bytes + 4)}; }
  void Put(char* bytes) const {
    WriteBig(bytes, a);
    WriteBig(bytes + 4, b);
  }
};

struct LogHeader {
  bool big = false;
  uint32_t page_bytes = 0;
  std::array<char, 8> salts{};
  LogSum sum;
};

std::optional<LogHeader> ReadLogHeader(const char* bytes) {
  LogHeader header;
  const uint32_t magic = ReadBig(bytes);
  header.big = magic & 1;
  header.page_bytes = ReadBig(bytes + 8);
  header.sum.Add(bytes, 24, header.big);
  std::memcpy(header.salts.data(), bytes + 16, 8);
  const uint32_t page = header.page_bytes;
  if ((magic & ~1u) != kLogMagic || page < 512 || page > kPageBytesMax || (page & (page - 1)) != 0) return std::nullopt;
  if (header.sum != LogSum::At(bytes + 24)) return std::nullopt;
  return header;
}

/// A file that is closed, however this ends.
class LogFile {
 public:
  LogFile(const std::string& path, int flags) : file_(open(path.c_str(), flags | O_CLOEXEC)) {}
  ~LogFile() {
    if (file_ >= 0) close(file_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  bool is_open() const { return file_ >= 0; }
  uint64_t size() const {
    struct stat info{};
    return fstat(file_, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
  }
  bool Read(uint64_t offset, char* bytes, size_t count) const {
    return pread(file_, bytes, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
  }
  bool Write(uint64_t offset, const char* bytes, size_t count) const {
    return pwrite(file_, bytes, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
  }
  bool Sync() const { return fdatasync(file_) == 0; }

 private:
  const int file_;
};

}  // namespace

LogScan ScanLog(uint64_t size, const LogBytes& read) {
  LogScan scan;
  std::array<char, kHeaderBytes> first{};
  if (size <= kHeaderBytes || !read(0, first.data(), first.size())) return scan;
  const std::optional<LogHeader> header = ReadLogHeader(first.data());
  if (!header) {
    // A header is synced before frames follow it, so a torn one stands alone.
    scan.damaged = size >= kHeaderBytes + kFrameHeaderBytes + 512;
    return scan;
  }
  std::vector<char> frame(kFrameHeaderBytes + header->page_bytes);
  LogSum before = header->sum;
  bool broken = false, commit_behind = false;
  for (uint64_t at = kHeaderBytes; at + frame.size() <= size; at += frame.size()) {
    if (!read(at, frame.data(), frame.size())) break;
    const bool ours = std::memcmp(frame.data() + 8, header->salts.data(), 8) == 0;
    LogSum sum = before;
    sum.Add(frame.data(), 8, header->big);
    sum.Add(frame.data() + kFrameHeaderBytes, header->page_bytes, header->big);
    const LogSum stored = LogSum::At(frame.data() + 16);
    const bool whole = ours && sum == stored;
    if (whole && !broken) ++scan.frames;
    if (!whole) broken = true;
    if (whole && commit_behind) scan.damaged = true;
    if (broken && ours && ReadBig(frame.data() + 4) != 0) commit_behind = true;
    before = stored;
  }
  return scan;
}

base::Result<LogScan> ScanLogOf(const std::string& path) {
  const LogFile file(path + "-wal", O_RDONLY);
  if (!file.is_open()) {
    if (errno == ENOENT) return LogScan{};
    return Fail(Code::kUnavailable, "cannot open " + path + "-wal: " + std::strerror(errno));
  }
  bool failed = false;
  const LogScan scan = ScanLog(file.size(), [&](uint64_t offset, char* bytes, size_t count) {
    const bool read = file.Read(offset, bytes, count);
    failed |= !read;
    return read;
  });
  if (failed) return Fail(Code::kInternal, "cannot read " + path + "-wal: " + std::strerror(errno));
  return scan;
}

base::Status ResealLogOf(const std::string& path) {
  const LogFile file(path + "-wal", O_RDWR), database(path, O_RDONLY);
  const auto fail = [&] { return Fail(Code::kInternal, "cannot mend " + path + "-wal: " + std::strerror(errno)); };
  std::array<char, kHeaderBytes> header{};
  std::array<char, 2> page_size{};
  if (!file.is_open() || !database.is_open() || !database.Read(16, page_size.data(), 2)) return fail();
  // Of the database and not of the log, whose header may be what is damaged. 1 means 65,536.
  const uint32_t stated = static_cast<uint32_t>(static_cast<uint8_t>(page_size[0])) << 8 | static_cast<uint8_t>(page_size[1]);
  const uint32_t page_bytes = stated == 1 ? kPageBytesMax : stated;
  if (page_bytes < 512) return Fail(Code::kInvalid, "cannot mend " + path + "-wal: the database's page size is damaged");
  std::vector<char> frame(kFrameHeaderBytes + page_bytes);
  const auto offset_of = [&](uint64_t index) { return kHeaderBytes + index * frame.size(); };
  const uint64_t count = file.size() < kHeaderBytes ? 0 : (file.size() - kHeaderBytes) / frame.size();
  if (count == 0) return {};
  if (!file.Read(0, header.data(), header.size())) return fail();
  // Which generation of the log this is: its header says so, or the first frame where that is damaged.
  std::string salt;
  if (const auto read = ReadLogHeader(header.data())) {
    salt.assign(read->salts.data(), 8);
  } else {
    if (!file.Read(offset_of(0), frame.data(), kFrameHeaderBytes)) return fail();
    salt.assign(frame.data() + 8, 8);
  }
  uint64_t used = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!file.Read(offset_of(i), frame.data(), kFrameHeaderBytes)) return fail();
    if (std::memcmp(frame.data() + 8, salt.data(), 8) == 0) used = i + 1;
  }
  WriteBig(header.data(), kLogMagic);
  WriteBig(header.data() + 4, 3'007'000);
  WriteBig(header.data() + 8, page_bytes);
  std::memcpy(header.data() + 16, salt.data(), 8);
  LogSum sum;
  sum.Add(header.data(), 24, false);
  sum.Put(header.data() + 24);
  if (!file.Write(0, header.data(), header.size())) return fail();
  for (uint64_t i = 0; i < used; ++i) {
    if (!file.Read(offset_of(i), frame.data(), frame.size())) return fail();
    std::memcpy(frame.data() + 8, salt.data(), 8);
    sum.Add(frame.data(), 8, false);
    sum.Add(frame.data() + kFrameHeaderBytes, page_bytes, false);
    sum.Put(frame.data() + 16);
    if (!file.Write(offset_of(i), frame.data(), kFrameHeaderBytes)) return fail();
  }
  return file.Sync() ? base::Status() : fail();
}

}  // namespace evenkeel::embedded::store
