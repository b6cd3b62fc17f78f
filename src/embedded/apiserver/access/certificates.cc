#include "embedded/apiserver/access/certificates.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "base/input/file.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;
using namespace std::chrono_literals;
using KeyPointer = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using CertificatePointer = std::unique_ptr<X509, decltype(&X509_free)>;
using BufferPointer = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr base::Duration kDay = 24h;
constexpr base::Duration kBackdated = 1h;  // clocks of clients may be behind

enum class Purpose { kAuthority, kServer, kClient };

struct CertificateRequest {
  Purpose purpose = Purpose::kClient;
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> names;
  base::Time not_after;
};

std::unexpected<base::Error> OpenSslFailure(std::string_view doing) {
  const unsigned long code = ERR_get_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return Fail(Code::kInternal, fmt::format("{}: {}", doing, reason != nullptr ? reason : "OpenSSL failed"));
}

BufferPointer ReadBuffer(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

int NoPassphrase(char*, int, int, void*) { return 0; }

CertificatePointer ParseCertificate(const std::string& pem) {
  CertificatePointer certificate(PEM_read_bio_X509(ReadBuffer(pem).get(), nullptr, NoPassphrase, nullptr), &X509_free);
  ERR_clear_error();
  return certificate;
}

KeyPointer ParseKey(const std::string& pem) {
  KeyPointer key(PEM_read_bio_PrivateKey(ReadBuffer(pem).get(), nullptr, NoPassphrase, nullptr), &EVP_PKEY_free);
  ERR_clear_error();
  return key;
}

time_t Seconds(base::Time time) {
  return static_cast<time_t>(std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}

bool AddEntry(X509_NAME* name, const char* attribute, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, attribute, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

/// Built by hand rather than from OpenSSL's configuration syntax, in which a name with a comma would mean something else.
bool AddAlternativeNames(X509* certificate, const std::vector<std::string>& names) {
  if (names.empty()) return true;
  GENERAL_NAMES* list = GENERAL_NAMES_new();
  bool good = list != nullptr;
  for (const std::string& text : names) {
    unsigned char address[16];
    const int size = inet_pton(AF_INET, text.c_str(), address) == 1    ? 4
                     : inet_pton(AF_INET6, text.c_str(), address) == 1 ? 16
                                                                       : 0;
    GENERAL_NAME* name = GENERAL_NAME_new();
    if (size > 0) {
      ASN1_OCTET_STRING* value = ASN1_OCTET_STRING_new();
      good = good && ASN1_OCTET_STRING_set(value, address, size) == 1;
      GENERAL_NAME_set0_value(name, GEN_IPADD, value);
    } else {
      ASN1_IA5STRING* value = ASN1_IA5STRING_new();
      good = good && ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) == 1;
      GENERAL_NAME_set0_value(name, GEN_DNS, value);
    }
    good = good && sk_GENERAL_NAME_push(list, name) > 0;
  }
  good = good && X509_add1_ext_i2d(certificate, NID_subject_alt_name, list, 0, 0) == 1;
  GENERAL_NAMES_free(list);
  return good;
}

bool AddExtensions(X509* certificate, X509* issuer, const CertificateRequest& request) {
  if (request.purpose == Purpose::kAuthority) {
    return AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE") &&
           AddExtension(certificate, issuer, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign") &&
           AddExtension(certificate, issuer, NID_subject_key_identifier, "hash");
  }
  return AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         AddExtension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
         AddExtension(certificate, issuer, NID_ext_key_usage,
                      request.purpose == Purpose::kServer ? "serverAuth" : "clientAuth") &&
         AddExtension(certificate, issuer, NID_subject_key_identifier, "hash") &&
         AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid") &&
         AddAlternativeNames(certificate, request.names);
}

bool SetRandomSerial(X509* certificate) {
  // 159 random bits: positive in 20 octets, as RFC 5280 asks, and never given out twice.
  std::unique_ptr<BIGNUM, decltype(&BN_free)> serial(BN_new(), &BN_free);
  return serial != nullptr && BN_rand(serial.get(), 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetSubject(X509* certificate, const CertificateRequest& request) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  for (const std::string& organization : request.organizations) {
    if (!AddEntry(subject, "O", organization)) return false;
  }
  return AddEntry(subject, "CN", request.common_name);
}

base::Result<KeyPair> Encode(X509* certificate, EVP_PKEY* key) {
  BufferPointer certificate_text(BIO_new(BIO_s_mem()), &BIO_free);
  BufferPointer key_text(BIO_new(BIO_s_mem()), &BIO_free);
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpenSslFailure("cannot write a certificate as PEM");
  }
  return KeyPair{TextOf(certificate_text.get()), TextOf(key_text.get())};
}

/// `authority` null: signs itself.
base::Result<KeyPair> MakeCertificate(const KeyPair* authority, const CertificateRequest& request, base::Time now) {
  const std::string doing = fmt::format("cannot make a certificate for {}", request.common_name);
  KeyPointer key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  CertificatePointer certificate(X509_new(), &X509_free);
  if (key == nullptr || certificate == nullptr) return OpenSslFailure(doing);
  CertificatePointer issuer(nullptr, &X509_free);
  KeyPointer issuer_key(nullptr, &EVP_PKEY_free);
  if (authority != nullptr) {
    issuer = ParseCertificate(authority->certificate_pem);
    issuer_key = ParseKey(authority->private_key_pem);
    if (issuer == nullptr || issuer_key == nullptr)
      return Fail(Code::kBadRequest, doing + ": the authority's key pair is not PEM");
  }
  X509* signer = issuer != nullptr ? issuer.get() : certificate.get();
  EVP_PKEY* signing_key = issuer_key != nullptr ? issuer_key.get() : key.get();
  const bool made = X509_set_version(certificate.get(), X509_VERSION_3) == 1 && SetRandomSerial(certificate.get()) &&
                    ASN1_TIME_set(X509_getm_notBefore(certificate.get()), Seconds(now - kBackdated)) != nullptr &&
                    ASN1_TIME_set(X509_getm_notAfter(certificate.get()), Seconds(request.not_after)) != nullptr &&
                    X509_set_pubkey(certificate.get(), key.get()) == 1 && SetSubject(certificate.get(), request) &&
                    X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) == 1 &&
                    AddExtensions(certificate.get(), signer, request) &&
                    X509_sign(certificate.get(), signing_key, EVP_sha256()) > 0;
  if (!made) return OpenSslFailure(doing);
  return Encode(certificate.get(), key.get());
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

base::Status MakePrivateDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Fail(Code::kInternal, fmt::format("cannot make the directory {}: {}", directory, error.message()));
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  if (error) return Fail(Code::kInternal, fmt::format("cannot make the directory {} private: {}", directory, error.message()));
  return {};
}

bool ExpiresBefore(X509* certificate, base::Time time) {
  time_t limit = Seconds(time);
  return X509_cmp_time(X509_get0_notAfter(certificate), &limit) <= 0;
}

bool SignedBy(X509* certificate, const KeyPair& authority) {
  const CertificatePointer issuer = ParseCertificate(authority.certificate_pem);
  if (issuer == nullptr) return false;
  const bool good = X509_verify(certificate, X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace

base::Result<KeyPair> NewAuthority(const std::string& common_name, base::Time now) {
  return MakeCertificate(nullptr, {Purpose::kAuthority, common_name, {}, {}, now + 3650 * kDay}, now);
}

base::Result<KeyPair> NewServerCertificate(const KeyPair& authority, const std::string& common_name,
                                           const std::vector<std::string>& names, base::Time now) {
  return MakeCertificate(&authority, {Purpose::kServer, common_name, {}, names, now + 365 * kDay}, now);
}

base::Result<KeyPair> NewClientCertificate(const KeyPair& authority, const std::string& user,
                                           const std::vector<std::string>& groups, base::Time now) {
  return MakeCertificate(&authority, {Purpose::kClient, user, groups, {}, now + 365 * kDay}, now);
}

base::Result<KeyPair> LoadOrMake(const std::string& directory, const std::string& name, base::Time now,
                                 const std::function<base::Result<KeyPair>()>& make, const KeyPair* authority) {
  const std::string certificate_path = directory + "/" + name + ".crt";
  const std::string key_path = directory + "/" + name + ".key";
  // The key is written first: with one of the two missing, the other is what a crash in between has left.
  if (Exists(certificate_path) && Exists(key_path)) {
    KeyPair pair;
    EVENKEEL_ASSIGN(pair.certificate_pem, base::ReadFile(certificate_path));
    EVENKEEL_ASSIGN(pair.private_key_pem, base::ReadFile(key_path));
    const CertificatePointer certificate = ParseCertificate(pair.certificate_pem);
    const KeyPointer key = ParseKey(pair.private_key_pem);
    if (certificate == nullptr || key == nullptr || X509_check_private_key(certificate.get(), key.get()) != 1) {
      ERR_clear_error();
      const std::string& culprit = certificate == nullptr ? certificate_path : key_path;
      return Fail(Code::kBadRequest, fmt::format("{} is not what belongs there; remove {} and {} to have both made anew",
                                                 culprit, certificate_path, key_path));
    }
    const bool outdated = ExpiresBefore(certificate.get(), now + 30 * kDay);
    if (!outdated && (authority == nullptr || SignedBy(certificate.get(), *authority))) return pair;
  }
  EVENKEEL_TRY(MakePrivateDirectory(directory));
  EVENKEEL_ASSIGN(KeyPair made, make());
  std::error_code ignored;
  std::filesystem::remove(certificate_path, ignored);
  EVENKEEL_TRY(base::WriteFile(key_path, made.private_key_pem, 0600));
  EVENKEEL_TRY(base::WriteFile(certificate_path, made.certificate_pem, 0644));
  return made;
}

}  // namespace evenkeel::embedded::apiserver
