#include "cli/commands/clusters.h"

#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "client/fake_client_testing.h"
#include "controllers/distribution/sharding/account_token.h"

namespace evenkeel::cli::clusters_test {
namespace {

using namespace std::chrono_literals;
using base::Json;

constexpr base::Time kNow = base::Time{} + std::chrono::hours(500'000);

std::set<std::string> NamesOf(const MemberParts& parts) {
  std::set<std::string> names;
  for (const Json& object : MemberAccountObjects(parts)) {
    names.insert(std::string(base::FindString(object, {"kind"})) + " " + kube::KeyOf(object));
  }
  return names;
}

TEST(MemberAccountTest, ItHasRightsForWhatRunsThere) {
  const auto all = NamesOf({});
  EXPECT_TRUE(all.contains("ServiceAccount evenkeel/evenkeel-member"));
  EXPECT_TRUE(all.contains("Role evenkeel/evenkeel-member-token"));
  EXPECT_TRUE(all.contains("ClusterRole evenkeel-member-clusterapi"));
  EXPECT_TRUE(all.contains("ClusterRole evenkeel-member-zookeeper"));
  const auto kwok = NamesOf({.cloud_provider = "kwok", .zookeeper = false});
  EXPECT_TRUE(kwok.contains("ClusterRole evenkeel-member-kwok"));
  EXPECT_FALSE(kwok.contains("ClusterRole evenkeel-member-clusterapi"));
  EXPECT_FALSE(kwok.contains("ClusterRole evenkeel-member-zookeeper"));
}

TEST(MemberAccountTest, TheOnlyTokenItMakesIsItsOwn) {
  int rules = 0;
  for (const Json& object : MemberAccountObjects({})) {
    for (const Json& rule : base::FindArray(object, {"rules"})) {
      const std::string text = base::ToText(rule);
      if (!text.contains("token")) continue;
      ++rules;
      EXPECT_EQ(
          text,
          R"({"apiGroups":[""],"resources":["serviceaccounts/token"],"resourceNames":["evenkeel-member"],"verbs":["create"]})");
    }
  }
  EXPECT_EQ(rules, 1);
}

TEST(MemberAccountTest, WhatWasInstalledIsTakenAway) {
  client::FakeClient member;
  ASSERT_TRUE(InstallMemberAccount(member, {.cloud_provider = "kwok", .zookeeper = true}));
  EXPECT_FALSE(member.api().objects["clusterroles"].empty());
  const auto before = member.api().objects;
  ASSERT_TRUE(RevokeMemberTokens(member));
  EXPECT_NE(kube::UidOf(member.api().objects["serviceaccounts"].at("evenkeel/evenkeel-member")),
            kube::UidOf(before.at("serviceaccounts").at("evenkeel/evenkeel-member")))
      << "tokens end with the account that they were made for";
  ASSERT_TRUE(RemoveMemberAccount(member));
  for (const char* kind : {"serviceaccounts", "roles", "rolebindings", "clusterroles", "clusterrolebindings", "secrets"}) {
    EXPECT_TRUE(member.api().objects[kind].empty()) << kind;
  }
  EXPECT_FALSE(member.api().objects["customresourcedefinitions"].empty()) << "and with them all plans";
  EXPECT_TRUE(RemoveMemberAccount(member)) << "nothing is left to take away";
}

TEST(MemberAccountTest, WithoutTokenRequestASecretHasTheToken) {
  client::FakeClient member;
  for (const base::Code code : {base::Code::kForbidden, base::Code::kNotFound, base::Code::kMethodNotAllowed}) {
    member.api().objects["secrets"].clear();
    member.FailNext("post", base::Error(code, "no"));
    int waits = 0;
    const auto token = MakeMemberToken(member, 1h, [&]() -> base::Status {
      if (++waits < 3) return {};
      Json secret = member.api().objects["secrets"].at("evenkeel/evenkeel-member-token");
      base::Ensure(secret, {"data"}) = base::JsonObject{{"token", base::Base64Encode("filled")}};
      member.api().Put(kube::resources::Secrets(), secret);
      return {};
    });
    ASSERT_TRUE(token);
    EXPECT_EQ(token->token, "filled");
    EXPECT_FALSE(token->expires);
    EXPECT_EQ(waits, 3);
  }
  member.FailNext("post", base::Error(base::Code::kUnavailable, "away"));
  EXPECT_FALSE(MakeMemberToken(member, 1h, [] { return base::Status(); })) << "that is no reason for one without an end";
}

Json Secret(const std::string& config) {
  return {{"kind", "Secret"},
          {"metadata", {{"name", "east"}, {"namespace", "evenkeel"}}},
          {"data",
           {{"name", base::Base64Encode("east")},
            {"server", base::Base64Encode("https://user:password@east:6443")},
            {"config", base::Base64Encode(config)}}}};
}

TEST(ClustersTest, ARowSaysHowReplicasGetInAndUntilWhen) {
  using Row = std::vector<std::string>;
  const auto row = [](const Json& secret, base::Time now) { return ShowClusters({DescribeCluster(secret)}, now).rows.at(0); };
  EXPECT_EQ(row(Secret(R"({"bearerToken": "t"})"), kNow), (Row{"east", "https://east:6443", "token", "-", "-"}));
  EXPECT_EQ(row(Secret(R"({"username": "u", "password": "p"})"), kNow)[2], "password");
  EXPECT_EQ(row(Secret("{}"), kNow)[2], "none");
  EXPECT_EQ(row(Secret("{"), kNow)[2], "unreadable");
  Json renewed = Secret("{}");
  ASSERT_TRUE(controllers::distribution::PutToken(renewed, {"t", kNow + 30h}, "evenkeel", "evenkeel-member", kNow));
  const Row with_account = row(renewed, kNow + 21h);
  EXPECT_EQ(with_account[2], "token of evenkeel/evenkeel-member");
  EXPECT_EQ(with_account[3], base::FormatTime(kNow + 30h));
  EXPECT_EQ(with_account[4], base::FormatTime(kNow + 20h) + " (due)");
  EXPECT_EQ(row(renewed, kNow + 31h)[3], base::FormatTime(kNow + 30h) + " (over)");
}

TEST(ClustersTest, ProgramsGetTheSameWithoutSecrets) {
  Json renewed = Secret(R"({"bearerToken": "hush"})");
  ASSERT_TRUE(controllers::distribution::PutToken(renewed, {"hush", kNow + 30h}, "evenkeel", "evenkeel-member", kNow));
  EXPECT_EQ(
      base::ToText(ShowClusters({DescribeCluster(renewed)}, kNow).json),
      R"({"clusters":[{"cluster":"east","server":"https://east:6443","access":"token","account":"evenkeel/evenkeel-member",)"
      "\"expires\":\"" +
          base::FormatTime(kNow + 30h) + "\",\"renewal\":\"" + base::FormatTime(kNow + 20h) + "\"}]}");
}

}  // namespace
}  // namespace evenkeel::cli::clusters_test
