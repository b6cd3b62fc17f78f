#include "embedded/access/account_token.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>

#include "base/hash.h"
#include "base/input/file.h"
#include "base/json.h"
#include "embedded/access/user_info.h"

namespace evenkeel::embedded::access {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr size_t kTokenBytesMax = 16 << 10;
constexpr int kScalarBytes = 32;  // of the curve's order
constexpr char kLegacyIssuer[] = "kubernetes/serviceaccount";
constexpr char kPrivateClaims[] = "kubernetes.io";
constexpr std::string_view kLegacyPrefix = "kubernetes.io/serviceaccount/";

using BufferHolder = std::unique_ptr<BIO, decltype(&BIO_free)>;
using KeyHolder = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using DigestHolder = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using SignatureHolder = std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)>;

std::string ToUrlBase64(std::string_view bytes) {
  std::string text = base::Base64Encode(bytes);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.resize(text.find_last_not_of('=') + 1);
  return text;
}

bool FromUrlBase64(std::string_view text, std::string& bytes) {
  if (text.find_first_of("+/=") != text.npos) return false;
  std::string padded(text);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  return base::Base64Decode(padded, bytes);
}

std::unexpected<base::Error> NotOurs() { return Fail(Code::kUnauthorized, "the token is not valid"); }

int64_t SecondsOf(base::Time time) { return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count(); }

base::Time TimeOf(int64_t seconds) {
  // Up to the year 2200: more nanoseconds than that are none.
  constexpr int64_t kSecondsMax = 7'258'118'400;
  return base::Time(std::chrono::seconds(std::clamp<int64_t>(seconds, 0, kSecondsMax)));
}

Json ClaimsOf(const AccountToken& token) {
  JsonObject claims{{"sub", ServiceAccountUser(token.ns, token.account)}};
  if (!token.secret.empty()) {
    const auto set = [&](std::string_view name, const std::string& value) {
      claims[std::string(kLegacyPrefix).append(name)] = value;
    };
    claims["iss"] = kLegacyIssuer;
    set("namespace", token.ns);
    set("secret.name", token.secret);
    set("secret.uid", token.secret_uid);
    set("service-account.name", token.account);
    set("service-account.uid", token.account_uid);
    return claims;
  }
  claims["iss"] = kTokenIssuer;
  claims["aud"] = JsonArray(token.audiences.begin(), token.audiences.end());
  claims["iat"] = SecondsOf(token.issued);
  claims["nbf"] = SecondsOf(token.issued);
  claims["exp"] = SecondsOf(token.expires);
  claims["jti"] = token.id;
  claims[kPrivateClaims] =
      JsonObject{{"namespace", token.ns}, {"serviceaccount", JsonObject{{"name", token.account}, {"uid", token.account_uid}}}};
  return claims;
}

std::string ClaimText(const Json& claims, std::initializer_list<std::string_view> path) {
  return std::string(base::FindString(claims, path));
}

AccountToken LegacyToken(const Json& claims) {
  const auto text = [&](std::string_view name) { return ClaimText(claims, {std::string(kLegacyPrefix).append(name)}); };
  return {.ns = text("namespace"),
          .account = text("service-account.name"),
          .account_uid = text("service-account.uid"),
          .secret = text("secret.name"),
          .secret_uid = text("secret.uid")};
}

AccountToken IssuedToken(const Json& claims) {
  AccountToken token{.ns = ClaimText(claims, {kPrivateClaims, "namespace"}),
                     .account = ClaimText(claims, {kPrivateClaims, "serviceaccount", "name"}),
                     .account_uid = ClaimText(claims, {kPrivateClaims, "serviceaccount", "uid"}),
                     .id = ClaimText(claims, {"jti"}),
                     .issued = TimeOf(base::FindInt(claims, {"nbf"})),
                     .expires = TimeOf(base::FindInt(claims, {"exp"}))};
  token.audiences = base::FindTexts(claims, {"aud"});
  return token;
}

/// r and s, one after the other, as they stand in a token; "" where OpenSSL cannot.
std::string RawSignature(const std::string& der) {
  const auto* data = reinterpret_cast<const unsigned char*>(der.data());
  const SignatureHolder parsed(d2i_ECDSA_SIG(nullptr, &data, static_cast<long>(der.size())), &ECDSA_SIG_free);
  if (parsed == nullptr) return "";
  std::string raw(2 * kScalarBytes, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(raw.data());
  const bool written = BN_bn2binpad(ECDSA_SIG_get0_r(parsed.get()), bytes, kScalarBytes) == kScalarBytes &&
                       BN_bn2binpad(ECDSA_SIG_get0_s(parsed.get()), bytes + kScalarBytes, kScalarBytes) == kScalarBytes;
  return written ? raw : "";
}

std::string DerSignature(const std::string& raw) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
  const SignatureHolder made(ECDSA_SIG_new(), &ECDSA_SIG_free);
  BIGNUM* r = BN_bin2bn(bytes, kScalarBytes, nullptr);
  BIGNUM* s = BN_bin2bn(bytes + kScalarBytes, kScalarBytes, nullptr);
  if (made == nullptr || ECDSA_SIG_set0(made.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return "";
  }
  unsigned char* out = nullptr;
  const int size = i2d_ECDSA_SIG(made.get(), &out);
  std::string der = size > 0 ? std::string(reinterpret_cast<char*>(out), static_cast<size_t>(size)) : "";
  OPENSSL_free(out);
  return der;
}

}  // namespace

struct TokenKey::Key {
  KeyHolder pair{nullptr, &EVP_PKEY_free};
};

base::Result<Jwt> ParseJwt(std::string_view token) {
  const auto wrong = [] { return Fail(Code::kBadRequest, "not a JSON Web Token"); };
  const size_t first = token.find('.'), last = token.rfind('.');
  if (token.size() > kTokenBytesMax || first == token.npos || token.find('.', first + 1) != last || first == last)
    return wrong();
  std::string header, claims;
  Jwt jwt;
  if (!FromUrlBase64(token.substr(0, first), header) || !FromUrlBase64(token.substr(first + 1, last - first - 1), claims) ||
      !FromUrlBase64(token.substr(last + 1), jwt.signature)) {
    return wrong();
  }
  EVENKEEL_ASSIGN(jwt.header, base::ParseJson(header, "token"));
  EVENKEEL_ASSIGN(jwt.claims, base::ParseJson(claims, "token"));
  if (!jwt.header.is_object() || !jwt.claims.is_object()) return wrong();
  jwt.signed_text = token.substr(0, last);
  return jwt;
}

base::Result<std::string> TokenKey::NewPem() {
  const KeyHolder pair(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const BufferHolder buffer(BIO_new(BIO_s_mem()), &BIO_free);
  if (pair == nullptr || buffer == nullptr ||
      PEM_write_bio_PrivateKey(buffer.get(), pair.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Fail(Code::kInternal, "make a key for tokens: OpenSSL failed");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(buffer.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

base::Result<TokenKey> TokenKey::FromPem(const std::string& pem) {
  const BufferHolder buffer(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  auto key = std::make_shared<Key>();
  key->pair.reset(PEM_read_bio_PrivateKey(buffer.get(), nullptr, no_passphrase, nullptr));
  char group[32] = {};
  size_t size = 0;
  if (key->pair == nullptr || EVP_PKEY_get_group_name(key->pair.get(), group, sizeof(group), &size) != 1 ||
      std::string_view(group) != "prime256v1") {
    return Fail(Code::kBadRequest, "it holds no private key of the curve P-256");
  }
  return TokenKey(std::move(key));
}

base::Result<TokenKey> TokenKey::LoadOrMake(const std::string& path) {
  auto pem = base::ReadFile(path);
  if (!pem && pem.error().code() == Code::kNotFound) {
    EVENKEEL_ASSIGN(pem, NewPem());
    EVENKEEL_TRY(base::WriteFile(path, *pem, 0600));
  }
  if (!pem) return Fail(pem.error());
  auto key = FromPem(*pem);
  if (!key) return Fail(key.error().Wrap(path));
  return key;
}

std::string TokenKey::Sign(const AccountToken& token) const {
  std::string text = ToUrlBase64(R"({"alg":"ES256"})") + "." + ToUrlBase64(base::ToText(ClaimsOf(token)));
  const DigestHolder digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  EVENKEEL_CHECK(EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_->pair.get()) == 1 &&
                 EVP_DigestSign(digest.get(), nullptr, &size, bytes, text.size()) == 1);
  std::string der(size, '\0');
  EVENKEEL_CHECK(EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(der.data()), &size, bytes, text.size()) == 1);
  der.resize(size);
  const std::string raw = RawSignature(der);
  EVENKEEL_CHECK(!raw.empty());
  return text + "." + ToUrlBase64(raw);
}

base::Result<AccountToken> TokenKey::Verify(std::string_view token, base::Time now) const {
  const auto jwt = ParseJwt(token);
  if (!jwt || jwt->signature.size() != 2 * kScalarBytes || base::FindString(jwt->header, {"alg"}) != "ES256") return NotOurs();
  const std::string der = DerSignature(jwt->signature);
  const DigestHolder digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_->pair.get()) != 1 ||
      EVP_DigestVerify(digest.get(), reinterpret_cast<const unsigned char*>(der.data()), der.size(),
                       reinterpret_cast<const unsigned char*>(jwt->signed_text.data()), jwt->signed_text.size()) != 1) {
    return NotOurs();
  }
  const std::string_view issuer = base::FindString(jwt->claims, {"iss"});
  if (issuer == kLegacyIssuer) return LegacyToken(jwt->claims);
  AccountToken issued = IssuedToken(jwt->claims);
  if (issuer != kTokenIssuer || issued.expires == base::Time() || !issued.HoldsAt(now)) return NotOurs();
  return issued;
}

}  // namespace evenkeel::embedded::access
