#include <gtest/gtest.h>

#include <atomic>

#include "client/http/credential_plugins.h"
#include "client/http/http_client.h"
#include "embedded/apiserver/access/authentication.h"
#include "embedded/apiserver/http/http_testing.h"

namespace evenkeel::embedded::apiserver::http_credentials_test {
namespace {

using base::Code;
using client::NewHttpClient;
using testing::Eventually;
using testing::LambdaHandler;
using testing::TestCertificates;
using testing::TextResponse;
using testing::TlsClientConfig;
using testing::TlsServerOptions;

/// A plugin whose answers the test gives, at once.
class GivenAnswers final : public client::PluginRunner {
 public:
  void Run(base::ProcessCall, Done done) override {
    const size_t run = std::min(runs++, answers.size() - 1);
    base::ProcessOutcome outcome;
    outcome.output = base::ToText(base::JsonObject{
        {"kind", "ExecCredential"}, {"apiVersion", "client.authentication.k8s.io/v1"}, {"status", answers.at(run)}});
    done(std::move(outcome));
  }
  std::vector<std::string> Environment() const override { return {}; }
  std::string Find(const std::string& command) const override { return "/bin/" + command; }

  std::vector<base::JsonObject> answers;
  size_t runs = 0;
};

/// A server that knows alice's certificate and two tokens, and says who asks.
class PluginClientTest : public ::testing::Test {
 protected:
  PluginClientTest() {
    auto runner = std::make_unique<GivenAnswers>();
    runner_ = runner.get();
    options_.plugins = std::make_shared<client::CredentialPlugins>(std::move(runner), base::SystemClock(), base::Random(1),
                                                                   std::vector<std::string>());
    authenticator_.AddToken("first", {"ann", {}});
    authenticator_.AddToken("second", {"bob", {}});
    server_ = HttpServer::Start(TlsServerOptions(), authenticating_).value();
    config_ = TlsClientConfig(server_->port());
    client::ExecConfig exec;
    exec.command = "plugin";
    exec.api_version = "client.authentication.k8s.io/v1";
    config_.exec = std::make_shared<const client::ExecConfig>(exec);
  }
  std::unique_ptr<client::Client> NewClient() { return NewHttpClient(config_, options_).value(); }
  static std::string WhoAsks(client::Client& client) {
    const auto answer = client.GetRaw("/api");
    return answer ? *answer : answer.error().message();
  }

  Authenticator authenticator_;
  std::atomic<int> asked_ = 0;
  LambdaHandler handler_{[this](HttpRequest request, std::unique_ptr<Responder> responder) {
    ++asked_;
    responder->Send(TextResponse(200, request.user.name));
  }};
  AuthenticatingHandler authenticating_{authenticator_, handler_};
  std::unique_ptr<HttpServer> server_;
  client::ConnectionConfig config_;
  client::HttpClientOptions options_;
  GivenAnswers* runner_ = nullptr;
};

TEST_F(PluginClientTest, AllConnectionsShareOneAnswer) {
  runner_->answers = {{{"token", "first"}}};
  const auto one = NewClient(), two = NewClient();
  EXPECT_EQ(runner_->runs, 0U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(WhoAsks(*one), "ann");
    EXPECT_EQ(WhoAsks(*two), "ann");
  }
  EXPECT_EQ(runner_->runs, 1U);
}

TEST_F(PluginClientTest, AfterA401ItAsksOnceMoreAsSomebodyElse) {
  runner_->answers = {{{"token", "revoked"}}, {{"token", "second"}}};
  const auto client = NewClient();
  EXPECT_EQ(WhoAsks(*client), "bob");
  EXPECT_EQ(runner_->runs, 2U);
  EXPECT_EQ(asked_, 1);
}

TEST_F(PluginClientTest, WhatMustNotBeAskedTwiceIsRightTheNextTime) {
  runner_->answers = {{{"token", "revoked"}}, {{"token", "second"}}};
  const auto client = NewClient();
  const kube::Resource& pods = kube::resources::Pods();
  const auto first = client->Post(pods, "n", "p", "binding", base::JsonObject());
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code(), Code::kUnauthorized);
  EXPECT_EQ(WhoAsks(*client), "bob");
  EXPECT_EQ(runner_->runs, 2U);
}

TEST_F(PluginClientTest, AServerThatRefusesThemAllIsAskedTwice) {
  runner_->answers = {{{"token", "revoked"}}};
  const auto client = NewClient();
  EXPECT_EQ(WhoAsks(*client), "Unauthorized");
  EXPECT_EQ(WhoAsks(*client), "Unauthorized");
  EXPECT_EQ(runner_->runs, 2U) << "the second refusal follows too soon for another run";
}

TEST_F(PluginClientTest, WatchesAreRenewedAlike) {
  runner_->answers = {{{"token", "revoked"}}, {{"token", "second"}}};
  const auto client = NewClient();
  const auto watch = client->NewWatch(kube::resources::Pods(), {}, [](const auto&) {});
  ASSERT_TRUE(watch) << watch.error().message();
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(runner_->runs, 2U);
}

TEST_F(PluginClientTest, ShowsACertificateAndAnotherOneOnAnotherConnection) {
  const base::Time now = base::SystemClock().Now();
  const TestCertificates& certificates = TestCertificates::Get();
  const KeyPair carol = NewClientCertificate(certificates.authority, "carol", {}, now).value();
  const auto status = [](const KeyPair& pair, const std::string& until) {
    return base::JsonObject{{"clientCertificateData", pair.certificate_pem},
                            {"clientKeyData", pair.private_key_pem},
                            {"expirationTimestamp", until}};
  };
  runner_->answers = {status(certificates.alice, base::FormatTime(now + std::chrono::seconds(3))),
                      status(carol, base::FormatTime(now + std::chrono::hours(1)))};
  const auto client = NewClient();
  EXPECT_EQ(WhoAsks(*client), "alice");
  EXPECT_EQ(WhoAsks(*client), "alice");
  EXPECT_TRUE(Eventually([&] { return WhoAsks(*client) == "carol"; }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(WhoAsks(*client), "carol");
  EXPECT_EQ(runner_->runs, 2U);
}

TEST_F(PluginClientTest, SaysWhatIsWrongWithAnAnswer) {
  runner_->answers = {{{"clientCertificateData", "no certificate"}, {"clientKeyData", "no key"}}};
  const std::string said = WhoAsks(*NewClient());
  EXPECT_NE(said.find("getting credentials: cannot set up TLS"), std::string::npos) << said;
  client::ExecConfig of_secret = *config_.exec;
  of_secret.from_secret = true;
  config_.exec = std::make_shared<const client::ExecConfig>(of_secret);
  EXPECT_EQ(NewHttpClient(config_, options_).error().code(), Code::kForbidden);
  EXPECT_EQ(NewHttpClient(config_).error().code(), Code::kForbidden);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::http_credentials_test
