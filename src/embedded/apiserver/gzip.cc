#include "embedded/apiserver/gzip.h"

#include <zlib.h>

#include "base/result.h"

namespace evenkeel::embedded::apiserver {

bool CompressLarge(std::vector<Chunk>& chunks) {
  size_t size = 0;
  for (const Chunk& chunk : chunks) size += chunk->size();
  if (size <= kGzipBytesMin) return false;
  constexpr int kLevel = 1, kGzipWindow = MAX_WBITS + 16, kMemoryLevel = 8;
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) return false;
  std::vector<Chunk> compressed;
  std::string out;
  bool good = true;
  for (size_t i = 0; good && i < chunks.size(); ++i) {
    const std::string& in = *chunks[i];
    const bool last = i + 1 == chunks.size();
    if (in.empty() && !last) continue;
    constexpr size_t kFlushBytes = 64;
    out.resize(deflateBound(&stream, in.size()) + kFlushBytes);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
    good = stream.avail_in == 0 && result == (last ? Z_STREAM_END : Z_OK);
    compressed.push_back(std::make_shared<const std::string>(out, 0, out.size() - stream.avail_out));
  }
  deflateEnd(&stream);
  if (good) chunks = std::move(compressed);
  return good;
}

}  // namespace evenkeel::embedded::apiserver
