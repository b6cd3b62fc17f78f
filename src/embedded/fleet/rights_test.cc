#include "embedded/fleet/rights.h"

#include <gtest/gtest.h>

#include "embedded/access/account_token.h"
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/access/account_tokens.h"
#include "embedded/fleet/hub_objects.h"
#include "embedded/store/memory_store.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::embedded::fleet::rights_test {
namespace {

using namespace std::chrono_literals;

// A member whose API knows accounts.
class RightsTest : public ::testing::Test {
 protected:
  void Start(const std::string& key_pem) {
    ClusterOptions options;
    options.name = "member-1";
    options.index = 1;
    options.nodes = 1;
    options.default_policy = true;
    options.account_key = *access::TokenKey::FromPem(key_pem);
    options.account_ca_pem = "a certificate";
    cluster_ = std::make_unique<Cluster>(options, store::NewMemoryStore(), executor_, base::Random(11));
    const auto started = cluster_->Start();
    ASSERT_TRUE(started) << started.error().message();
    executor_.RunFor(1s);
  }
  std::string GrantAndRead(const Rights& rights) {
    const auto granted = Grant(*cluster_, rights);
    EXPECT_TRUE(granted) << granted.error().message();
    executor_.RunFor(1s);
    return TokenOf(*cluster_, rights).value_or("");
  }
  bool May(const std::string& token, const access::Attributes& attributes) {
    const auto owner = cluster_->api().access().tokens()->FindOwner(token);
    return owner && cluster_->api().access().authorizer().Authorize(owner->user, attributes).allowed;
  }

  base::VirtualExecutor executor_{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<Cluster> cluster_;
};

const access::Attributes kListPods{.verb = "list", .resource = "pods", .ns = "default"};
const access::Attributes kListSecrets{.verb = "list", .resource = "secrets", .ns = kNamespace};
const access::Attributes kSecretsElsewhere{.verb = "list", .resource = "secrets", .ns = "default"};
const access::Attributes kGroups{.verb = "update", .group = "evenkeel.dev", .resource = "nodegroups", .name = "general"};

TEST_F(RightsTest, EveryClusterHasTheClassesOfSystemPods) {
  Start(*access::TokenKey::NewPem());
  apiserver::Api& api = cluster_->api();
  apiserver::Call call{.served = api.resources().Find("scheduling.k8s.io", "v1", "priorityclasses"),
                       .ns = "",
                       .name = "system-node-critical",
                       .subresource = "",
                       .user = {},
                       .field_manager = ""};
  const auto found = api.Get(call);
  ASSERT_TRUE(found) << found.error().message();
  const auto object = apiserver::DecodeObject(*call.served, *found);
  ASSERT_TRUE(object);
  EXPECT_EQ(base::FindInt(*object, {"value"}), 2'000'001'000);
  EXPECT_EQ(base::FindString(*object, {"preemptionPolicy"}), "PreemptLowerPriority");
}

TEST_F(RightsTest, AnAccountHasWhatDeployGivesItAndNoMore) {
  Start(*access::TokenKey::NewPem());
  const std::string member = GrantAndRead(MemberRights()), hub = GrantAndRead(HubRights());
  const auto ns = cluster_->client().Get(kube::resources::Namespaces(), "", kNamespace);
  ASSERT_TRUE(ns);
  EXPECT_EQ(base::FindString(*ns, {"metadata", "labels", kube::karmada::kSkipPropagation}), "true");
  EXPECT_TRUE(May(member, kListPods));
  EXPECT_TRUE(May(member, kGroups));
  EXPECT_FALSE(May(hub, kListPods));
  EXPECT_TRUE(May(hub, kListSecrets));
  EXPECT_FALSE(May(hub, kSecretsElsewhere));
  const auto owner = cluster_->api().access().tokens()->FindOwner(hub);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->user.name, "system:serviceaccount:evenkeel:evenkeel-controller");
}

TEST_F(RightsTest, PeopleOnTheDashboardHaveTheRolesOfDeploy) {
  Start(*access::TokenKey::NewPem());
  GrantAndRead(HubRights());
  const auto may = [this](const std::string& group, const std::string& verb, const std::string& resource) {
    const access::UserInfo user{.name = "somebody", .groups = {"system:authenticated", group}};
    const access::Attributes what{.verb = verb, .group = "dashboard.evenkeel.dev", .resource = resource, .name = "member-1"};
    return cluster_->api().access().authorizer().Authorize(user, what).allowed;
  };
  for (const char* group : {"evenkeel:dashboard-viewers", "evenkeel:dashboard-admins"}) {
    EXPECT_TRUE(may(group, "get", "members")) << group;
    EXPECT_TRUE(may(group, "logs", "members")) << group;
  }
  for (const char* verb : {"cordon", "drain", "scale", "approve"}) {
    EXPECT_FALSE(may("evenkeel:dashboard-viewers", verb, "members")) << verb;
    EXPECT_TRUE(may("evenkeel:dashboard-admins", verb, "members")) << verb;
    EXPECT_FALSE(may("people", verb, "members")) << verb;
  }
  EXPECT_FALSE(may("evenkeel:dashboard-viewers", "delete", "sessions"));
  EXPECT_TRUE(may("evenkeel:dashboard-admins", "delete", "sessions"));
  EXPECT_FALSE(may("people", "get", "members"));
}

TEST_F(RightsTest, GrantingAgainRestoresRightsAndKeepsTheToken) {
  Start(*access::TokenKey::NewPem());
  const std::string token = GrantAndRead(MemberRights());
  const kube::Resource& roles = *kube::FindBuiltInKind("rbac.authorization.k8s.io/v1", "ClusterRole");
  ASSERT_TRUE(cluster_->client().Delete(roles, "", "evenkeel-member"));
  executor_.RunFor(1s);
  EXPECT_FALSE(May(token, kListPods));
  EXPECT_EQ(GrantAndRead(MemberRights()), token);
  EXPECT_TRUE(May(token, kListPods));
}

TEST_F(RightsTest, ATokenThatIsNotAcceptedIsMadeAnew) {
  Start(*access::TokenKey::NewPem());
  const std::string token = GrantAndRead(MemberRights());
  // As after somebody has removed the keys: the Secret has a token that another key signed.
  const auto stranger = access::TokenKey::FromPem(*access::TokenKey::NewPem());
  const std::string foreign = stranger->Sign({.ns = kNamespace, .account = "evenkeel-member", .account_uid = "u"});
  ASSERT_TRUE(cluster_->client().Patch(kube::resources::Secrets(), kNamespace, MemberRights().token_secret,
                                       client::PatchType::kMerge,
                                       base::JsonObject{{"stringData", base::JsonObject{{"token", foreign}}}}));
  executor_.RunFor(1s);
  ASSERT_EQ(TokenOf(*cluster_, MemberRights()).value(), foreign);
  const std::string anew = GrantAndRead(MemberRights());
  EXPECT_NE(anew, foreign);
  EXPECT_TRUE(May(anew, kListPods));
  EXPECT_FALSE(May(token, kListPods)) << "its Secret is gone";
}

TEST_F(RightsTest, NobodyWhoDeletesTheAccountIsLeftWithAToken) {
  Start(*access::TokenKey::NewPem());
  const std::string token = GrantAndRead(MemberRights());
  EXPECT_TRUE(May(token, kListPods));
  ASSERT_TRUE(cluster_->client().Delete(kube::resources::ServiceAccounts(), kNamespace, "evenkeel-member"));
  executor_.RunFor(1s);
  EXPECT_FALSE(May(token, kListPods)) << "although its signature was found right before";
  EXPECT_TRUE(May(GrantAndRead(MemberRights()), kListPods));
}

}  // namespace
}  // namespace evenkeel::embedded::fleet::rights_test
