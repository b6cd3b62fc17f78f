#include "embedded/apiserver/http/gzip.h"

#include <zlib.h>

#include <array>

#include "base/result.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr int kLevel = 1, kGzipWindow = MAX_WBITS + 16, kMemoryLevel = 8;

Bytef* BytesOf(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}  // zlib only reads it

}  // namespace

bool CompressLarge(std::vector<Chunk>& chunks) {
  size_t size = 0;
  for (const Chunk& chunk : chunks) size += chunk->size();
  if (size <= kGzipBytesMin) return false;
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
    stream.next_in = BytesOf(in);
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

struct GzipWriter::Stream {
  z_stream z{};
};

GzipWriter::GzipWriter() : stream_(std::make_unique<Stream>()) {
  EVENKEEL_CHECK(deflateInit2(&stream_->z, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK);
}

GzipWriter::~GzipWriter() { deflateEnd(&stream_->z); }

void GzipWriter::Deflate(std::string_view piece, int flush) {
  z_stream& z = stream_->z;
  z.next_in = BytesOf(piece);
  z.avail_in = static_cast<uInt>(piece.size());
  do {
    std::array<char, 1 << 14> buffer;
    z.next_out = reinterpret_cast<Bytef*>(buffer.data());
    z.avail_out = buffer.size();
    deflate(&z, flush);
    out_.append(buffer.data(), buffer.size() - z.avail_out);
  } while (z.avail_out == 0);
}

void GzipWriter::Append(std::string_view piece) { Deflate(piece, Z_NO_FLUSH); }

std::string GzipWriter::Finish() {
  Deflate("", Z_FINISH);
  out_.shrink_to_fit();
  return std::move(out_);
}

std::vector<Chunk> Decompress(const std::string& gzip) {
  z_stream z{};
  EVENKEEL_CHECK(inflateInit2(&z, kGzipWindow) == Z_OK);
  z.next_in = BytesOf(gzip);
  z.avail_in = static_cast<uInt>(gzip.size());
  std::vector<Chunk> chunks;
  for (int result = Z_OK; result == Z_OK;) {
    std::string out(kAnswerChunkBytes, '\0');
    z.next_out = BytesOf(out);
    z.avail_out = static_cast<uInt>(out.size());
    result = inflate(&z, Z_NO_FLUSH);
    out.resize(out.size() - z.avail_out);
    chunks.push_back(std::make_shared<const std::string>(std::move(out)));
  }
  inflateEnd(&z);
  return chunks;
}

}  // namespace evenkeel::embedded::apiserver
