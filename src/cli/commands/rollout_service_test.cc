#include "cli/commands/rollout_service.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/input/file.h"
#include "client/http/http_client.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/http/http_testing.h"
#include "embedded/store/memory_store.h"

namespace evenkeel::cli::rollout_service_test {
namespace {

namespace apiserver = embedded::apiserver;

class RolloutServiceTest : public ::testing::Test {
 protected:
  RolloutServiceTest() : directory_(::testing::TempDir() + "evenkeel-rollout-service-" + std::to_string(getpid())) {
    std::filesystem::create_directories(directory_);
    options_.address = "127.0.0.1";
    options_.certificate_file = directory_ + "/tls.crt";
    options_.key_file = directory_ + "/tls.key";
  }
  ~RolloutServiceTest() override { std::filesystem::remove_all(directory_); }

  /// Writes a certificate of a new authority, whose own is the result.
  std::string WriteCertificate() {
    const base::Time now = base::SystemClock().Now();
    const apiserver::KeyPair authority = apiserver::NewAuthority("test-ca", now).value();
    const apiserver::KeyPair pair = apiserver::NewServerCertificate(authority, "webhooks", {"127.0.0.1"}, now).value();
    EXPECT_TRUE(base::WriteFile(options_.key_file, pair.private_key_pem, 0600));
    EXPECT_TRUE(base::WriteFile(options_.certificate_file, pair.certificate_pem, 0600));
    return authority.certificate_pem;
  }

  /// Whether who trusts the authority reaches the webhooks.
  bool Reaches(const std::string& authority_pem) const {
    client::ConnectionConfig connection;
    connection.server = "https://127.0.0.1:" + std::to_string(options_.port);
    connection.ca_pem = authority_pem;
    return apiserver::testing::RawConnection(connection).open();
  }

  /// On a port that was free a moment ago.
  std::unique_ptr<RolloutService> Start() {
    for (int attempt = 0; attempt < 10; ++attempt) {
      apiserver::testing::LambdaHandler nothing([](apiserver::HttpRequest, std::unique_ptr<apiserver::Responder>) {});
      options_.port = apiserver::HttpServer::Start({}, nothing).value()->port();
      auto service = StartRolloutService(options_, *hub_, executor_, base::Random(1), metrics_, "default", "127.0.0.1");
      if (service) return *std::move(service);
    }
    return nullptr;
  }

  const std::string directory_;
  base::VirtualExecutor executor_{base::SystemClock().Now()};
  std::unique_ptr<embedded::store::Store> store_ = embedded::store::NewMemoryStore();
  apiserver::Api api_{{.name = "hub", .store = store_.get(), .clock = &executor_.clock()}};
  std::unique_ptr<client::Client> hub_ = apiserver::NewInProcessClient(api_, {.name = "test", .groups = {}});
  base::MetricRegistry metrics_;
  RolloutRunOptions options_;
};

TEST_F(RolloutServiceTest, ReadsItsCertificateAgainWhileItRuns) {
  ASSERT_TRUE(api_.Start());
  const std::string before = WriteCertificate();
  const auto service = Start();
  ASSERT_NE(service, nullptr);
  EXPECT_TRUE(Reaches(before));
  const std::string after = WriteCertificate();
  EXPECT_FALSE(Reaches(after)) << "nobody has looked yet";
  executor_.RunFor(base::Duration(std::chrono::minutes(2)));
  EXPECT_TRUE(Reaches(after));
  EXPECT_FALSE(Reaches(before));

  // Half of a renewal is no certificate: the one before stays.
  ASSERT_TRUE(base::WriteFile(options_.certificate_file, "not yet", 0600));
  executor_.RunFor(base::Duration(std::chrono::minutes(2)));
  EXPECT_TRUE(Reaches(after));
}

}  // namespace
}  // namespace evenkeel::cli::rollout_service_test
