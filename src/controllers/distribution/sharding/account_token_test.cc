#include "controllers/distribution/sharding/account_token.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "controllers/distribution/sharding/cluster.h"

namespace evenkeel::controllers::distribution::account_token_test {
namespace {

using namespace std::chrono_literals;
using base::Json;

constexpr base::Time kNow = base::Time{} + std::chrono::hours(500'000);

Json Secret(const std::string& config) {
  return {{"kind", "Secret"},
          {"metadata",
           {{"name", "east"},
            {"namespace", "evenkeel"},
            {"labels", {{"argocd.argoproj.io/secret-type", "cluster"}}},
            {"annotations", {{"evenkeel.dev/weight", "7"}}}}},
          {"data",
           {{"name", base::Base64Encode("east")},
            {"server", base::Base64Encode("https://east:6443")},
            {"config", base::Base64Encode(config)}}}};
}

TEST(AccountTokenTest, ANewTokenTakesThePlaceOfTheOld) {
  Json secret = Secret(R"({"bearerToken": "old", "tlsClientConfig": {"insecure": true}, "other": [1]})");
  ASSERT_TRUE(PutToken(secret, {"new", kNow + 30h}, "evenkeel", "evenkeel-member", kNow));
  std::vector<Finding> findings;
  const auto cluster = ClusterFromSecret(secret, findings);
  ASSERT_TRUE(cluster.has_value());
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(cluster->connection->token, "new");
  EXPECT_TRUE(cluster->connection->insecure_skip_tls_verify);
  EXPECT_EQ(cluster->weight, 7) << "what is none of the token stays";
  std::string config;
  ASSERT_TRUE(base::Base64Decode(base::FindString(secret, {"data", "config"}), config));
  EXPECT_TRUE(config.contains("\"other\":[1]"));
  const auto token = AccountTokenOf(secret);
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(token->ns + "/" + token->account, "evenkeel/evenkeel-member");
  EXPECT_EQ(token->lifetime(), 30h);
  EXPECT_EQ(token->renewal(), kNow + 20h);
  EXPECT_EQ(base::FindString(secret, {"metadata", "labels", "evenkeel.dev/token"}), "renewed");
}

TEST(AccountTokenTest, AConfigThatCannotBeReadIsNotQuoted) {
  for (const char* config : {"password: secret", "[1]", ""}) {
    Json secret = Secret(config);
    const auto put = PutToken(secret, {"new", kNow + 1h}, "n", "a", kNow);
    ASSERT_FALSE(put) << config;
    EXPECT_EQ(put.error().message(), "Secret evenkeel/east: data.config is no JSON object: make the Secret anew");
    EXPECT_FALSE(AccountTokenOf(secret));
  }
}

TEST(AccountTokenTest, WhatTheAnnotationsDoNotSayIsNotRenewed) {
  Json whole = Secret("{}");
  ASSERT_TRUE(PutToken(whole, {"new", kNow + 1h}, "n", "a", kNow));
  ASSERT_TRUE(AccountTokenOf(whole));
  for (const std::string_view annotation : {kTokenAccountAnnotation, kTokenIssuedAnnotation, kTokenExpiresAnnotation}) {
    for (const char* wrong : {"", "a", "/", "2020-01-01", "9999-01-01T00:00:00Z"}) {
      Json secret = whole;
      base::Ensure(secret, {"metadata", "annotations", annotation}) = wrong;
      EXPECT_FALSE(AccountTokenOf(secret)) << annotation << " " << wrong;
    }
  }
  EXPECT_FALSE(AccountTokenOf(Json()));
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::account_token_test
