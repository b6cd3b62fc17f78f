#include "embedded/apiserver/access/certificates.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/input/yaml.h"

namespace evenkeel::embedded::apiserver::certificates_test {
namespace {

using namespace std::chrono_literals;
using base::Code;
using CertificateView = std::unique_ptr<X509, decltype(&X509_free)>;

base::Time TestNow() { return base::ParseTime("2024-12-15T01:00:00Z").value(); }

CertificateView ReadCertificate(const KeyPair& pair) {
  std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pair.certificate_pem.data(), -1), &BIO_free);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free};
}

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() {
    char name[] = "/tmp/evenkeel-certificates-XXXXXX";
    directory_ = std::string(mkdtemp(name)) + "/pki";
  }
  ~CertificatesTest() override { std::filesystem::remove_all(std::filesystem::path(directory_).parent_path()); }

  base::Result<KeyPair> Load(base::Time now, const KeyPair* authority = nullptr) {
    return LoadOrMake(
        directory_, "ca", now,
        [&] {
          ++made_;
          return authority != nullptr ? NewServerCertificate(*authority, "s", {"localhost"}, now) : NewAuthority("ca", now);
        },
        authority);
  }
  unsigned Mode(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }

  std::string directory_;
  int made_ = 0;
};

TEST_F(CertificatesTest, SignWhatVerifies) {
  const KeyPair authority = NewAuthority("the-ca", TestNow()).value();
  const KeyPair server =
      NewServerCertificate(authority, "server", {"localhost", "127.0.0.1", "::1", "*.example.com"}, TestNow()).value();
  const KeyPair client = NewClientCertificate(authority, "alice", {"g1", "g2"}, TestNow()).value();
  const CertificateView root = ReadCertificate(authority), leaf = ReadCertificate(server), user = ReadCertificate(client);
  EXPECT_EQ(X509_verify(leaf.get(), X509_get0_pubkey(root.get())), 1);
  EXPECT_EQ(X509_verify(user.get(), X509_get0_pubkey(root.get())), 1);
  EXPECT_EQ(X509_check_ca(root.get()), 1);
  EXPECT_EQ(X509_check_ca(leaf.get()), 0);
  EXPECT_EQ(X509_check_host(leaf.get(), "a.example.com", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.2", 0), 0);
  EXPECT_EQ(X509_check_purpose(leaf.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_check_purpose(leaf.get(), X509_PURPOSE_SSL_CLIENT, 0), 0);
  EXPECT_EQ(X509_check_purpose(user.get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
  EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(leaf.get())), 256);
}

TEST_F(CertificatesTest, AreMadeOnceAndKeptPrivate) {
  const KeyPair first = Load(TestNow()).value();
  const KeyPair second = Load(TestNow() + base::Duration(24h)).value();
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(first.certificate_pem, second.certificate_pem);
  EXPECT_EQ(first.private_key_pem, second.private_key_pem);
  EXPECT_EQ(Mode(directory_), 0700u);
  EXPECT_EQ(Mode(directory_ + "/ca.key"), 0600u);
  EXPECT_EQ(Mode(directory_ + "/ca.crt"), 0644u);
}

TEST_F(CertificatesTest, AreMadeAnewAMonthBeforeTheyExpire) {
  const KeyPair authority = NewAuthority("ca", TestNow()).value();
  ASSERT_TRUE(Load(TestNow(), &authority));
  ASSERT_TRUE(Load(TestNow() + base::Duration(334 * 24h), &authority));
  EXPECT_EQ(made_, 1);
  ASSERT_TRUE(Load(TestNow() + base::Duration(336 * 24h), &authority));
  EXPECT_EQ(made_, 2);
}

TEST_F(CertificatesTest, AreMadeAnewForAnotherAuthority) {
  const KeyPair one = NewAuthority("ca", TestNow()).value(), two = NewAuthority("ca", TestNow()).value();
  const KeyPair before = Load(TestNow(), &one).value();
  const KeyPair after = Load(TestNow(), &two).value();
  EXPECT_EQ(made_, 2);
  EXPECT_NE(before.certificate_pem, after.certificate_pem);
}

TEST_F(CertificatesTest, AreMadeAnewWhenOneFileIsMissing) {
  ASSERT_TRUE(Load(TestNow()));
  std::filesystem::remove(directory_ + "/ca.crt");
  ASSERT_TRUE(Load(TestNow()));
  EXPECT_EQ(made_, 2);
}

TEST_F(CertificatesTest, SayWhichFileIsBroken) {
  const KeyPair pair = Load(TestNow()).value();
  std::ofstream(directory_ + "/ca.crt") << "nonsense";
  base::Result<KeyPair> broken = Load(TestNow());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code(), Code::kBadRequest);
  EXPECT_TRUE(broken.error().message().starts_with(directory_ + "/ca.crt is not")) << broken.error().message();
  std::ofstream(directory_ + "/ca.crt") << pair.certificate_pem;
  std::ofstream(directory_ + "/ca.key") << NewAuthority("other", TestNow())->private_key_pem;
  broken = Load(TestNow());
  ASSERT_FALSE(broken);
  EXPECT_TRUE(broken.error().message().starts_with(directory_ + "/ca.key is not")) << broken.error().message();
  EXPECT_EQ(made_, 1);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::certificates_test
