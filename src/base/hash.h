#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::base {

/// FNV-1a, 32 bit, over the bytes (offset basis 2166136261, prime 16777619).
uint32_t Fnv1a32(std::string_view bytes);
/// FNV-1a, 64 bit.
uint64_t Fnv1a64(std::string_view bytes);
/// XXH64: notices damage, about 10 GB/s; no defence against anybody who means to deceive.
uint64_t XxHash64(std::string_view bytes, uint64_t seed = 0);
/// BLAKE2b-512, unkeyed (OpenSSL). Thread-safe.
std::array<uint8_t, 64> Blake2b512(std::string_view bytes);
/// First 8 bytes of BLAKE2b-512 as a little-endian number. About 0.3 us for short keys: the context is reused per thread.
uint64_t Blake2b64(std::string_view bytes);

std::string Base64Encode(std::string_view bytes);
/// Standard alphabet with padding; line breaks (CR, LF) anywhere are skipped, as Go and so Kubernetes do. False on anything
/// else.
bool Base64Decode(std::string_view text, std::string& bytes);

}  // namespace evenkeel::base
