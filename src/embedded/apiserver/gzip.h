// Compression of large answers. Source: kubernetes@1.36:staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
#pragma once

#include <vector>

#include "embedded/apiserver/http.h"

namespace evenkeel::embedded::apiserver {

/// Answers of more bytes than this are worth it.
inline constexpr size_t kGzipBytesMin = 128 << 10;

/// Compresses the chunks, together one gzip file of level 1, where they are large; false: they are as they were. About 10 ms
/// for a megabyte.
bool CompressLarge(std::vector<Chunk>& chunks);

}  // namespace evenkeel::embedded::apiserver
