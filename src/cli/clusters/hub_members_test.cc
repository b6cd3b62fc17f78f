#include "cli/clusters/hub_members.h"

#include <gtest/gtest.h>

#include <mutex>

#include "base/hash.h"
#include "client/fake_client_testing.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "kube/karmada.h"

namespace evenkeel::cli::hub_members_test {
namespace {

using base::Json;

const std::string kShardPlans = controllers::distribution::ShardPlans().ApiVersion() + " shardplans";

void AddSecret(client::FakeClient& hub, const std::string& name, const std::string& server, const std::string& args = "") {
  Json secret = {
      {"metadata", {{"name", name}, {"namespace", "evenkeel"}, {"labels", {{"argocd.argoproj.io/secret-type", "cluster"}}}}}};
  const auto encoded = [](const std::string& text) { return base::Base64Encode(text); };
  secret.as_object()["data"] = {{"name", encoded(name)}, {"server", encoded(server)}, {"config", encoded("{}")}};
  if (!args.empty()) base::Ensure(secret, {"metadata", "annotations"}) = {{"evenkeel.dev/autoscaler-args", args}};
  hub.api().Put(kube::resources::Secrets(), std::move(secret));
}

Members MembersOf(client::FakeClient& hub) {
  auto members = ReadMembers(hub, "evenkeel");
  EXPECT_TRUE(members) << (members ? "" : members.error().message());
  return members ? *std::move(members) : Members();
}

TEST(HubMembersTest, MembersAreThoseOfTheSecretsByName) {
  client::FakeClient hub;
  AddSecret(hub, "west", "https://west:6443");
  AddSecret(hub, "east", "https://east:6443/", "--expander=price");
  hub.api().Put(kube::resources::Secrets(), {{"metadata", {{"name", "other"}, {"namespace", "evenkeel"}}}});
  const Members members = MembersOf(hub);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].label(), "east");
  EXPECT_EQ(members[0].autoscaler_args, "--expander=price");
  EXPECT_EQ((*FindMember(members, "west"))->server, "https://west:6443");
  EXPECT_EQ((*FindMember(members, "https://east:6443"))->name, "east");
  const auto none = FindMember(members, "north");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), base::Code::kNotFound);
  EXPECT_EQ(none.error().message(), "there is no cluster north: there are east, west");
}

TEST(HubMembersTest, KarmadaConnectsWithSecretsOfItsOwnNamespace) {
  client::FakeClient hub;
  hub.api().Put(
      kube::karmada::Clusters(),
      {{"metadata", {{"name", "south"}}},
       {"spec",
        {{"apiEndpoint", "https://south:6443"}, {"secretRef", {{"namespace", "karmada-cluster"}, {"name", "south"}}}}}});
  hub.api().Put(kube::resources::Secrets(), {{"metadata", {{"name", "south"}, {"namespace", "karmada-cluster"}}},
                                             {"data", {{"token", base::Base64Encode("token-of-south")}}}});
  const Members members = MembersOf(hub);
  ASSERT_EQ(members.size(), 1u);
  ASSERT_TRUE(members[0].connection) << members[0].connection.error().message();
  EXPECT_EQ(members[0].connection->token, "token-of-south");
}

TEST(HubMembersTest, OneNameOfTwoClustersIsNoChoice) {
  Members members(2);
  members[0].name = members[1].name = "twin";
  members[0].server = "https://a";
  members[1].server = "https://b";
  members[0].unique_name = "twin (https://a)";
  members[1].unique_name = "twin (https://b)";
  EXPECT_EQ(FindMember(members, "twin").error().code(), base::Code::kBadRequest);
  EXPECT_EQ((*FindMember(members, "twin (https://b)"))->server, "https://b");
}

TEST(HubMembersTest, AnApiWithoutMembersAndShardPlansIsNoHub) {
  HubOptions options;
  options.kubeconfig = "/none";
  client::FakeClient hub;
  EXPECT_TRUE(CheckIsHub(hub, options)) << "it serves ShardPlans, so it is one without members";
  client::FakeClient member;
  member.unserved = {kShardPlans};
  const base::Status no_hub = CheckIsHub(member, options);
  ASSERT_FALSE(no_hub);
  EXPECT_EQ(base::ExitStatus(no_hub.error().code()), 1);
  EXPECT_NE(no_hub.error().message().find("is no hub"), std::string::npos) << no_hub.error().message();
  EXPECT_EQ(no_hub.error().message().find('\n'), std::string::npos);
  AddSecret(member, "east", "https://east:6443");
  EXPECT_TRUE(CheckIsHub(member, options)) << "Argo CD's, before anything of ours is installed";
  client::FakeClient closed;
  closed.unserved = {kShardPlans};
  closed.FailNext("list", base::Error(base::Code::kForbidden, "secrets is forbidden"));
  EXPECT_TRUE(CheckIsHub(closed, options)) << "who may not look cannot tell";
}

class LookingTest : public ::testing::Test {
 protected:
  LookingTest() : members_(3) {
    for (size_t i = 0; i < members_.size(); ++i) members_[i].name = "member-" + std::to_string(i + 1);
  }

  /// Members that have pod default/web.
  base::Result<std::string> Choose(const std::set<std::string>& having, const std::set<std::string>& silent = {}) {
    const Wanted wanted{kube::resources::Pods(), "default", "web", "pod default/web"};
    const auto connect =
        [&](const controllers::distribution::Cluster& member) -> base::Result<std::unique_ptr<client::Client>> {
      if (silent.contains(member.name)) return base::Fail(base::Code::kUnavailable, "connection refused");
      auto client = std::make_unique<client::FakeClient>();
      if (having.contains(member.name)) {
        client->api().Put(kube::resources::Pods(), {{"metadata", {{"name", "web"}, {"namespace", "default"}}}});
      }
      return client;
    };
    return ChooseSighting(LookInMembers(members_, connect, wanted), wanted, members_.size());
  }

  Members members_;
};

TEST_F(LookingTest, TheOneThatHasItIsTheAnswer) {
  EXPECT_EQ(*Choose({"member-2"}), "member-2");
  EXPECT_EQ(*Choose({"member-3"}, {"member-1"}), "member-3");
  EXPECT_EQ(*Choose({}), "");
}

TEST_F(LookingTest, SeveralAreListedAndOneHasToBeChosen) {
  const auto several = Choose({"member-1", "member-3"});
  ASSERT_FALSE(several);
  EXPECT_EQ(base::ExitStatus(several.error().code()), 2);
  EXPECT_EQ(several.error().message(), "pod default/web is in member-1, member-3: choose one with --cluster");
}

TEST_F(LookingTest, WhoHasNotAnsweredIsNamedWhereNobodyHasIt) {
  const auto none = Choose({}, {"member-1"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(),
            "pod default/web is in none of the 2 members that have answered; no answer from member-1 (connection refused)");
}

}  // namespace
}  // namespace evenkeel::cli::hub_members_test
