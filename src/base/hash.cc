#include "base/hash.h"

#include <openssl/evp.h>

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

}  // namespace

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
