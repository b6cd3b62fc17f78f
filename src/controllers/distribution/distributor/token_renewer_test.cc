#include "controllers/distribution/distributor/token_renewer.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"
#include "controllers/distribution/sharding/account_token.h"
#include "controllers/distribution/sharding/cluster.h"

namespace evenkeel::controllers::distribution::token_renewer_test {
namespace {

using namespace std::chrono_literals;
using base::Json;

/// A member's API that gives its account tokens.
class TokenGiver final : public client::ForwardingClient {
 public:
  TokenGiver(client::Client& to, base::Clock& clock, base::Duration longest, int& given)
      : ForwardingClient(to), clock_(clock), longest_(longest), given_(given) {}
  client::Result<Json> Post(const kube::Resource& resource, std::string_view ns, std::string_view name,
                            std::string_view subresource, const Json& body) override {
    EVENKEEL_TRY(ForwardingClient::Post(resource, ns, name, subresource, body));
    const base::Duration wanted = std::chrono::seconds(base::FindInt(body, {"spec", "expirationSeconds"}));
    return Json{{"status",
                 {{"token", "token-" + std::to_string(++given_)},
                  {"expirationTimestamp", base::FormatTime(clock_.Now() + std::min(wanted, longest_))}}}};
  }

 private:
  base::Clock& clock_;
  const base::Duration longest_;
  int& given_;
};

class TokenRenewerTest : public ::testing::Test {
 protected:
  base::VirtualExecutor executor{base::Time{} + 500'000h};
  client::FakeClient hub;
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  client::FakeClient connection{api};
  std::shared_ptr<client::Fence> fence = std::make_shared<client::Fence>(executor.clock(), 1);
  base::Duration longest = 10'000h;
  int given = 0;
  std::unique_ptr<runtime::Member> member;

  void PutSecret(const std::string& name, base::Duration lifetime) {
    Json secret = {
        {"metadata",
         {{"name", "secret-" + name}, {"namespace", "evenkeel"}, {"labels", {{"argocd.argoproj.io/secret-type", "cluster"}}}}},
        {"stringData", {{"name", name}, {"server", "https://" + name}}}};
    const base::Time now = executor.clock().Now();
    ASSERT_TRUE(PutToken(secret, {"first", now + lifetime}, "evenkeel", "evenkeel-member", now));
    hub.api().Put(kube::resources::Secrets(), secret);
  }
  void Own(const std::string& name = "east") {
    fence->Extend(executor.clock().Monotonic() + 10'000h);
    member = std::make_unique<runtime::Member>(
        name, std::make_unique<TokenGiver>(connection, executor.clock(), longest, given), fence, executor, base::Random(1),
        [] {}, std::vector{NewTokenRenewer({hub, "evenkeel", executor.clock(), base::Random(2)})});
  }
  std::string Token(const std::string& name = "east") {
    std::vector<Finding> findings;
    return ClusterFromSecret(hub.api().objects["secrets"].at("evenkeel/secret-" + name), findings)->connection->token;
  }
};

TEST_F(TokenRenewerTest, ItIsRenewedBeforeItEndsAndAgain) {
  PutSecret("east", 30h);
  PutSecret("west", 30h);
  Own();
  executor.RunFor(19h);
  EXPECT_EQ(Token(), "first");
  executor.RunFor(2h);
  EXPECT_EQ(Token(), "token-1");
  EXPECT_EQ(Token("west"), "first") << "its owner is another";
  executor.RunFor(18h);
  EXPECT_EQ(given, 1);
  executor.RunFor(3h);
  EXPECT_EQ(Token(), "token-2");
  EXPECT_EQ(connection.Count("post serviceaccounts evenkeel/evenkeel-member token"), 2);
}

TEST_F(TokenRenewerTest, AShorterLifeThanAskedForIsKeptTo) {
  longest = 3h;
  PutSecret("east", 30h);
  Own();
  executor.RunFor(27h);
  EXPECT_EQ(given, 4) << "at 20, 22, 24 and 26 h";
}

TEST_F(TokenRenewerTest, WhatFailsIsTriedAgain) {
  PutSecret("east", 3h);
  Own();
  connection.FailNext("post", base::Error(base::Code::kForbidden, "no"), 5);
  hub.FailNext("update", base::Error(base::Code::kConflict, "another"), 2);
  executor.RunFor(2h + 5min);
  EXPECT_EQ(given, 3);
  EXPECT_EQ(Token(), "token-3") << "only what is written counts";
}

TEST_F(TokenRenewerTest, NobodyButTheOwnerRenewsIt) {
  PutSecret("east", 3h);
  Own();
  fence->Close();
  executor.RunFor(4h);
  EXPECT_EQ(Token(), "first");
  EXPECT_EQ(hub.Count("update"), 0);
}

TEST_F(TokenRenewerTest, OthersSecretsAreLeftAlone) {
  PutSecret("east", 3h);
  auto& secret = hub.api().objects["secrets"].at("evenkeel/secret-east");
  secret.as_object()["metadata"].as_object().erase("annotations");
  Own();
  executor.RunFor(10h);
  EXPECT_EQ(given, 0);
  EXPECT_LE(hub.Count("list secrets"), 11) << "once an hour";
}

TEST_F(TokenRenewerTest, AMemberWhoseNameOthersHaveIsFoundByItsServer) {
  PutSecret("east", 3h);
  Own("east at https://east");
  executor.RunFor(2h + 5min);
  EXPECT_EQ(Token(), "token-1");
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::token_renewer_test
