// Compression of large answers. Source: kubernetes@1.36:staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/requests/http.h"

namespace evenkeel::embedded::apiserver {

/// Answers of more bytes than this are worth it.
inline constexpr size_t kGzipBytesMin = 128 << 10;

/// Compresses the chunks, together one gzip file of level 1, where they are large; false: they are as they were. About 10 ms
/// for a megabyte.
bool CompressLarge(std::vector<Chunk>& chunks);

/// Compresses what comes piece by piece, at level 1.
class GzipWriter {
 public:
  GzipWriter();
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void Append(std::string_view piece);
  /// The whole file. Once.
  std::string Finish();

 private:
  void Deflate(std::string_view piece, int flush);

  struct Stream;
  std::unique_ptr<Stream> stream_;
  std::string out_;
};

/// What GzipWriter was given, in pieces of kAnswerChunkBytes.
std::vector<Chunk> Decompress(const std::string& gzip);

}  // namespace evenkeel::embedded::apiserver
