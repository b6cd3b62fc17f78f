#include "embedded/fleet/api_endpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/input/file.h"
#include "base/json.h"
#include "client/http/http_client.h"
#include "embedded/federation/hub/cluster_registry.h"
#include "embedded/federation/policies/definitions.h"
#include "embedded/fleet/hub_objects.h"
#include "embedded/fleet/store_location.h"
#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::fleet::api_endpoint_test {
namespace {

class ApiEndpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "evenkeel-endpoint-" + std::to_string(getpid());
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  base::Result<Credentials> Load() { return Credentials::LoadOrMake(directory_, base::SystemClock().Now()); }
  base::Result<std::unique_ptr<ApiEndpoint>> Serve(const Credentials& credentials, int port = 0, int fallback_port = -1,
                                                   const std::string& token_file = "") {
    if (!api_) {
      apiserver::ApiOptions options;
      options.name = "test";
      options.store = store_.get();
      options.clock = &executor_->clock();
      api_.emplace(options);
      EXPECT_TRUE(api_->Start());
    }
    ApiEndpointOptions options;
    options.name = "test";
    options.port = port;
    options.fallback_port = fallback_port;
    options.token_file = token_file;
    return ApiEndpoint::Start(options, *api_, credentials, *executor_);
  }

  std::string directory_;
  const std::unique_ptr<base::Executor> executor_ = base::NewThreadPool(2);
  const std::unique_ptr<store::Store> store_ = store::NewMemoryStore();
  std::optional<apiserver::Api> api_;
};

TEST_F(ApiEndpointTest, CredentialsAreMadeOnceAndKeptSecret) {
  const auto first = Load();
  ASSERT_TRUE(first) << first.error().message();
  const auto second = Load();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->authority().certificate_pem, first->authority().certificate_pem);
  for (const char* name : {"ca.key", "admin.key"}) {
    struct stat info{};
    ASSERT_EQ(stat((directory_ + "/" + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(ApiEndpointTest, WhoHasACertificateOrATokenReachesTheApiOverTls) {
  const auto credentials = Load();
  ASSERT_TRUE(credentials);
  ASSERT_TRUE(base::WriteFile(directory_ + "/tokens.csv", "secret,ann,ann,system:masters\n", 0600));
  const auto endpoint = Serve(*credentials, 0, -1, directory_ + "/tokens.csv");
  ASSERT_TRUE(endpoint) << endpoint.error().message();
  const std::string url = (*endpoint)->url();
  for (const auto& connection : {credentials->AdminConnection(url), credentials->TokenConnection(url, "secret")}) {
    const auto client = client::NewHttpClient(connection);
    ASSERT_TRUE(client);
    const auto ns = (*client)->Get(kube::resources::Namespaces(), "", "default");
    EXPECT_TRUE(ns) << ns.error().message();
  }
  const auto client = client::NewHttpClient(credentials->TokenConnection(url, "guess"));
  ASSERT_TRUE(client);
  EXPECT_EQ((*client)->Get(kube::resources::Namespaces(), "", "default").error().code(), base::Code::kUnauthorized);

  EXPECT_FALSE(Serve(*credentials, (*endpoint)->port()));
  EXPECT_TRUE(Serve(*credentials, (*endpoint)->port(), 0));
}

TEST_F(ApiEndpointTest, CertificatesAreRenewedWhileItRuns) {
  auto credentials = Load();
  ASSERT_TRUE(credentials);
  const auto endpoint = Serve(*credentials);
  ASSERT_TRUE(endpoint) << endpoint.error().message();
  const auto get = [](client::Client& client) { return client.Get(kube::resources::Namespaces(), "", "default"); };
  const auto early = client::NewHttpClient(credentials->AdminConnection((*endpoint)->url()));
  EXPECT_TRUE(get(**early));

  const base::Time now = base::SystemClock().Now();
  const std::string admin = credentials->admin().certificate_pem;
  EXPECT_TRUE((*endpoint)->Renew(*credentials, now + 300 * std::chrono::days(1)));
  EXPECT_EQ(credentials->Renew(now + 300 * std::chrono::days(1)).value(), false);
  EXPECT_TRUE(get(**client::NewHttpClient(credentials->AdminConnection((*endpoint)->url()))));

  // 29 days are left of a year.
  EXPECT_TRUE((*endpoint)->Renew(*credentials, now + 336 * std::chrono::days(1)));
  EXPECT_EQ(credentials->Renew(now + 336 * std::chrono::days(1)).value(), true);
  EXPECT_NE(credentials->admin().certificate_pem, admin);
  EXPECT_EQ(Load()->admin().certificate_pem, credentials->admin().certificate_pem);
  const auto today = get(**client::NewHttpClient(credentials->TokenConnection((*endpoint)->url(), "any")));
  ASSERT_FALSE(today) << "a certificate of next year";
  EXPECT_NE(today.error().message().find("not yet valid"), std::string::npos) << today.error().message();
  EXPECT_TRUE(get(**early)) << "a connection from before goes on";
}

TEST(CertificateRenewalTest, LooksEveryHourAndTriesAgain) {
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::vector<base::Time> looks;
  const base::Time begin = executor.clock().Now();
  CertificateRenewal renewal(executor, [&](base::Time now) -> base::Status {
    looks.push_back(now);
    return base::Fail(base::Code::kInternal, "no space left on device");
  });
  executor.RunFor(base::Duration(std::chrono::minutes(150)));
  EXPECT_EQ(looks, (std::vector{begin + std::chrono::hours(1), begin + std::chrono::hours(2)}));
}

TEST(StoreSpecTest, NamesTheChoices) {
  EXPECT_TRUE(OpenStore("memory"));
  for (const char* spec : {"", "sqlite:", "etcd://", "floppy:A"}) {
    const auto store = OpenStore(spec);
    ASSERT_FALSE(store) << spec;
    EXPECT_EQ(store.error().code(), base::Code::kBadRequest);
    EXPECT_NE(store.error().message().find("sqlite:PATH"), std::string::npos);
  }
}

TEST(HubObjectsTest, TheApiAcceptsThem) {
  const auto executor = base::NewThreadPool(1);
  const auto store = store::NewMemoryStore();
  apiserver::ApiOptions options;
  options.store = store.get();
  options.clock = &executor->clock();
  apiserver::Api api(options);
  ASSERT_TRUE(api.Start());
  const auto client = apiserver::NewInProcessClient(api, {"admin", {kMasters}});
  const auto& resources = kube::resources::Namespaces();
  ASSERT_TRUE(client->Create(resources, kube::NewObject(resources, "", kNamespace)));
  const auto installed = federation::InstallDefinitions(*client);
  EXPECT_TRUE(installed) << installed.error().message();
  ASSERT_TRUE(client->Create(resources, kube::NewObject(resources, "", kKarmadaNamespace)));
  base::Json secret = ClusterSecret("member-1", "https://127.0.0.1:1", "t", "ca");
  EXPECT_TRUE(client->Create(kube::resources::Secrets(), KarmadaSecret(secret, "another", "ca")));
  const auto created = client->Create(kube::resources::Secrets(), secret);
  ASSERT_TRUE(created);
  EXPECT_EQ(base::FindString(federation::ClusterOfSecret(*created), {"spec", "secretRef", "namespace"}), kKarmadaNamespace);
  EXPECT_TRUE(client->Create(kube::resources::Secrets(), KubeconfigSecret("apiVersion: v1")));
  EXPECT_TRUE(client->Create(kube::resources::Deployments(), ControllerDeployment(3, "legacy")));
}

}  // namespace
}  // namespace evenkeel::embedded::fleet::api_endpoint_test
