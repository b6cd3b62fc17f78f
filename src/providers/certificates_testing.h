// Certificates for tests of TLS: an authority of one test, and what it signs for 127.0.0.1 and localhost.
#pragma once

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace evenkeel::providers::testing {

struct SignedPem {
  std::string certificate, key;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name) : name_(name), key_(EVP_EC_gen("P-256"), &EVP_PKEY_free) {
    pem_ = Sign(name_, key_.get(), true);
  }
  const std::string& pem() const { return pem_; }

  SignedPem Issue(const std::string& common_name) const {
    const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    BIO* text = BIO_new(BIO_s_mem());
    EVENKEEL_CHECK(PEM_write_bio_PrivateKey(text, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
    return {Sign(common_name, key.get(), false), Take(text)};
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

  static std::string Take(BIO* text) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(text, &data);
    std::string taken(data, static_cast<size_t>(size));
    BIO_free(text);
    return taken;
  }
  static void Extend(X509* certificate, int nid, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    EVENKEEL_CHECK(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
  }
  static void SetName(X509_NAME* name, const std::string& text) {
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                               static_cast<int>(text.size()), -1, 0);
  }

  std::string Sign(const std::string& common_name, EVP_PKEY* key, bool authority) const {
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate),
                     static_cast<long>(std::hash<std::string>()(common_name) & 0xFFFFFF) + 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 24 * 3600);
    SetName(X509_get_subject_name(certificate), common_name);
    SetName(X509_get_issuer_name(certificate), name_);
    X509_set_pubkey(certificate, key);
    Extend(certificate, NID_basic_constraints, authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (!authority) {
      Extend(certificate, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
      Extend(certificate, NID_ext_key_usage, "serverAuth,clientAuth");
    }
    EVENKEEL_CHECK(X509_sign(certificate, key_.get(), EVP_sha256()) > 0);
    BIO* text = BIO_new(BIO_s_mem());
    EVENKEEL_CHECK(PEM_write_bio_X509(text, certificate) == 1);
    X509_free(certificate);
    return Take(text);
  }

  const std::string name_;
  const Key key_;
  std::string pem_;
};

}  // namespace evenkeel::providers::testing
