#include "dashboard/access/token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <spdlog/fmt/fmt.h>

#include <array>

#include "base/hash.h"
#include "base/input/file.h"

namespace evenkeel::dashboard {
namespace {

constexpr size_t kTokenMin = 16;
constexpr size_t kTokenFileMax = 4096;
/// What a query has as it is (RFC 3986, unreserved).
constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
/// What else a token may have: base64 and what the header Authorization takes.
constexpr std::string_view kMore = "+/=";

}  // namespace

std::string NewToken() {
  std::array<unsigned char, 32> bytes{};
  EVENKEEL_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool SameToken(std::string_view given, std::string_view expected) {
  // Hashes are of one length, whatever was given.
  const auto a = base::Blake2b512(given), b = base::Blake2b512(expected);
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0 && !expected.empty();
}

base::Result<std::string> ReadOrMakeToken(const std::string& path) {
  auto text = base::ReadFile(path, kTokenFileMax);
  if (!text && text.error().code() == base::Code::kNotFound) {
    std::string token = NewToken();
    EVENKEEL_TRY(base::WriteFile(path, token + "\n", 0600));
    return token;
  }
  if (!text) return base::Fail(text.error());
  std::string token = text->substr(0, text->find_first_of("\r\n"));
  const bool plain = token.find_first_not_of(std::string(kUnreserved) + std::string(kMore)) == token.npos;
  if (token.size() < kTokenMin || !plain) {
    return base::Fail(base::Code::kBadRequest,
                      fmt::format("{}: the first line is to be a token of at least {} letters and digits", path, kTokenMin));
  }
  return token;
}

std::string LoginPath(std::string_view token) {
  std::string path = "login?token=";
  for (const char c : token) {
    path += kUnreserved.contains(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path;
}

}  // namespace evenkeel::dashboard
