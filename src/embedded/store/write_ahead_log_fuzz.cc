// Any bytes as a write-ahead log: scanning ends, counts no more frames than there are, and what has been resealed is not
// damaged.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "embedded/store/write_ahead_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::embedded::store;
  const std::string_view log(reinterpret_cast<const char*>(data), size);
  const LogScan scan = ScanLog(size, [&](uint64_t offset, char* bytes, size_t count) {
    EVENKEEL_CHECK(offset <= size);
    if (count > size - offset) return false;
    std::memcpy(bytes, log.data() + offset, count);
    return true;
  });
  EVENKEEL_CHECK(scan.frames >= 0 && static_cast<uint64_t>(scan.frames) <= size / 512);
  // A database of pages of 512 bytes, as far as its header says that.
  static const std::string path = [] {
    std::string directory = "/tmp/evenkeel-log-fuzz-XXXXXX";
    EVENKEEL_CHECK(mkdtemp(directory.data()) != nullptr);
    static std::string removed = directory;
    std::atexit([] {
      for (const char* name : {"/db", "/db-wal"}) unlink((removed + name).c_str());
      rmdir(removed.c_str());
    });
    std::ofstream(directory + "/db", std::ios::binary) << std::string(16, '\0') << std::string("\x02\0", 2);
    return directory + "/db";
  }();
  std::ofstream(path + "-wal", std::ios::binary | std::ios::trunc) << log;
  if (!ResealLogOf(path)) return 0;
  const auto again = ScanLogOf(path);
  EVENKEEL_CHECK(again.has_value() && !again->damaged);
  return 0;
}
