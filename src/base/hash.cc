#include "base/hash.h"

#include <openssl/evp.h>

#include <bit>
#include <cstring>
#include <memory>

#include "base/result.h"

namespace evenkeel::base {
namespace {

struct DigestContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Fetching the algorithm and making a context cost more than hashing a short key.
EVP_MD_CTX* Blake2bContext() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "BLAKE2B-512", nullptr);
  EVENKEEL_CHECK(algorithm != nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, DigestContextDeleter> context(EVP_MD_CTX_new());
  EVENKEEL_CHECK(context != nullptr);
  EVENKEEL_CHECK(EVP_DigestInit_ex2(context.get(), algorithm, nullptr) == 1);
  return context.get();
}

constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> Base64Values() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 64; ++i) values[static_cast<uint8_t>(kBase64[i])] = static_cast<int8_t>(i);
  return values;
}

constexpr uint64_t kXxPrimes[] = {0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                                  0x27D4EB2F165667C5};

/// Little-endian, of which `bytes` has enough.
template <typename Number>
uint64_t ReadNumber(const char* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof(number));
  if constexpr (std::endian::native == std::endian::big) number = std::byteswap(number);
  return number;
}

uint64_t XxRound(uint64_t lane, uint64_t input) { return std::rotl(lane + input * kXxPrimes[1], 31) * kXxPrimes[0]; }

/// What is left after the last whole block of 32 bytes.
uint64_t XxTail(uint64_t hash, std::string_view rest) {
  const char* at = rest.data();
  size_t left = rest.size();
  for (; left >= 8; at += 8, left -= 8) {
    hash = std::rotl(hash ^ XxRound(0, ReadNumber<uint64_t>(at)), 27) * kXxPrimes[0] + kXxPrimes[3];
  }
  if (left >= 4) {
    hash = std::rotl(hash ^ ReadNumber<uint32_t>(at) * kXxPrimes[0], 23) * kXxPrimes[1] + kXxPrimes[2];
    at += 4;
    left -= 4;
  }
  for (; left > 0; ++at, --left) hash = std::rotl(hash ^ static_cast<uint8_t>(*at) * kXxPrimes[4], 11) * kXxPrimes[0];
  hash = (hash ^ hash >> 33) * kXxPrimes[1];
  hash = (hash ^ hash >> 29) * kXxPrimes[2];
  return hash ^ hash >> 32;
}

}  // namespace

uint64_t XxHash64(std::string_view bytes, uint64_t seed) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t hash = seed + kXxPrimes[4];
  if (left >= 32) {
    uint64_t lanes[] = {seed + kXxPrimes[0] + kXxPrimes[1], seed + kXxPrimes[1], seed, seed - kXxPrimes[0]};
    for (; left >= 32; at += 32, left -= 32) {
      for (size_t i = 0; i < 4; ++i) lanes[i] = XxRound(lanes[i], ReadNumber<uint64_t>(at + 8 * i));
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const uint64_t lane : lanes) hash = (hash ^ XxRound(0, lane)) * kXxPrimes[0] + kXxPrimes[3];
  }
  return XxTail(hash + bytes.size(), {at, left});
}

uint32_t Fnv1a32(std::string_view bytes) {
  uint32_t hash = 2166136261u;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

uint64_t Fnv1a64(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash;
}

std::array<uint8_t, 64> Blake2b512(std::string_view bytes) {
  EVP_MD_CTX* context = Blake2bContext();
  std::array<uint8_t, 64> digest;
  EVENKEEL_CHECK(EVP_DigestUpdate(context, bytes.data(), bytes.size()) == 1);
  EVENKEEL_CHECK(EVP_DigestFinal_ex(context, digest.data(), nullptr) == 1);
  return digest;
}

uint64_t Blake2b64(std::string_view bytes) {
  const std::array<uint8_t, 64> digest = Blake2b512(bytes);
  uint64_t number = 0;
  for (int i = 7; i >= 0; --i) number = number << 8 | digest[static_cast<size_t>(i)];
  return number;
}

std::string Base64Encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kBase64[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

bool Base64Decode(std::string_view text, std::string& bytes) {
  static constexpr std::array<int8_t, 256> kValues = Base64Values();
  bytes.clear();
  if (text.find_first_of("\r\n") != std::string_view::npos) {
    std::string joined(text);
    std::erase_if(joined, [](char c) { return c == '\r' || c == '\n'; });
    return Base64Decode(joined, bytes);
  }
  if (text.size() % 4 != 0) return false;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t padding = 0;
    if (i + 4 == text.size()) padding = text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const int8_t value = j >= 4 - padding ? int8_t{0} : kValues[static_cast<uint8_t>(text[i + j])];
      if (value < 0) return false;
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (size_t j = 0; j < 3 - padding; ++j) bytes += static_cast<char>(group >> (16 - 8 * j) & 255);
  }
  return true;
}

}  // namespace evenkeel::base
