#include "controllers/runtime/member_feed.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"
#include "scheduling/reservations.h"

namespace evenkeel::controllers::runtime::member_feed_test {
namespace {

using namespace std::chrono_literals;

const ReadKind kBudgets{
    .resource = *kube::FindBuiltIn("policy", "v1", "poddisruptionbudgets"), .ns = "", .field_selector = "", .older = [] {
      kube::Resource older = *kube::FindBuiltIn("policy", "v1", "poddisruptionbudgets");
      older.version = "v1beta1";
      return older;
    }()};

struct Listener final : scheduling::ClusterListener {
  void AfterChange(const scheduling::ObjectEvent& event) override {
    log.push_back(std::string(event.kind) + " " + event.key + (event.object == nullptr ? " gone" : ""));
    if (event.object != nullptr) EXPECT_EQ(base::FindString(*event.object, {"kind"}), event.kind);
  }
  std::vector<std::string> log;
};

class MemberFeedTest : public ::testing::Test {
 protected:
  void Begin() {
    feed.mirror().AddListener(listener);
    strand->Post([this] { feed.Start(); });
    executor.RunFor(1s);
  }
  void Define(bool established = true) {
    api->Put(kube::resources::CustomResourceDefinitions(),
             {{"metadata", {{"name", scheduling::kPlanDefinition}}},
              {"status", {{"conditions", {{{"type", "Established"}, {"status", established ? "True" : "False"}}}}}}});
  }

  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  client::FakeClient client{api};
  std::shared_ptr<base::Strand> strand = executor.NewStrand("member");
  Listener listener;
  MemberFeed feed{client, strand, executor.clock(), base::Random(1)};
};

TEST_F(MemberFeedTest, WatchesOnceWhatSeveralAskFor) {
  feed.Read(SnapshotReadKinds());
  feed.Read({&kBudgets, 1});
  feed.Read(SnapshotReadKinds());
  feed.ReadPlans();
  feed.ReadPlans();
  feed.Read({&kBudgets, 1});
  Begin();
  EXPECT_EQ(api->watchers.size(), SnapshotReadKinds().size() + 2) << "budgets and the definition of plans";
}

TEST_F(MemberFeedTest, TellsOfObjectsWithTheirKind) {
  feed.Read(SnapshotReadKinds());
  api->Put(kube::resources::Nodes(), {{"metadata", {{"name", "n1"}, {"uid", "u"}}}});
  Begin();
  EXPECT_EQ(listener.log, std::vector<std::string>{"Node n1"});
  EXPECT_EQ(feed.Missing(SnapshotReadKinds()), "");
  EXPECT_EQ(feed.UidOf(SnapshotReadKinds().front(), "n1"), "u");
  EXPECT_EQ(feed.UidOf(SnapshotReadKinds().front(), "n2"), "");
  EXPECT_EQ(feed.Count(SnapshotReadKinds().front()), 1U);
  api->Remove(kube::resources::Nodes(), "n1");
  executor.RunFor(1s);
  EXPECT_EQ(listener.log.back(), "Node n1 gone");
}

TEST_F(MemberFeedTest, SaysWhatIsMissingAndWhy) {
  feed.Read(SnapshotReadKinds());
  feed.ReadPlans();
  client.CutOff(true);
  Begin();
  EXPECT_TRUE(
      feed.Missing(SnapshotReadKinds()).starts_with("Node (connection refused), PersistentVolume (connection refused)"));
  EXPECT_EQ(feed.MissingPlans(), "CustomResourceDefinition (connection refused)");
  client.CutOff(false);
  executor.RunFor(2min);
  EXPECT_EQ(feed.Missing(SnapshotReadKinds()), "");
  EXPECT_EQ(feed.MissingPlans(), "");
}

TEST_F(MemberFeedTest, ARoleThatDoesNotNameDevicesStopsNobody) {
  std::vector<ReadKind> devices = SnapshotReadKinds();
  std::erase_if(devices, [](const ReadKind& kind) { return kind.resource.group != "resource.k8s.io"; });
  ASSERT_EQ(devices.size(), 4U);
  const ReadKind nodes{.resource = kube::resources::Nodes()};
  feed.Read(devices);
  feed.Read({&nodes, 1});
  client.FailNext("list", base::Error(base::Code::kForbidden, "not yours"), 1000);
  Begin();
  EXPECT_EQ(feed.Missing(devices), "");
  EXPECT_EQ(feed.Missing({&nodes, 1}), "Node (not yours)");
}

TEST_F(MemberFeedTest, PlansAreReadAsLongAsTheirKindIsThere) {
  feed.ReadPlans();
  api->Put(scheduling::BalancingPlans(), {{"metadata", {{"name", "a"}}}});
  Begin();
  EXPECT_EQ(feed.plans(), nullptr);
  EXPECT_EQ(feed.MissingPlans(), "") << "without the kind there are none";
  Define(false);
  executor.RunFor(1s);
  EXPECT_EQ(feed.plans(), nullptr);
  Define();
  executor.RunFor(1s);
  ASSERT_NE(feed.plans(), nullptr);
  EXPECT_EQ(feed.MissingPlans(), "");
  EXPECT_EQ(feed.plans()->items().size(), 1U);
  EXPECT_EQ(listener.log.back(), "BalancingPlan a");
  api->Remove(kube::resources::CustomResourceDefinitions(), scheduling::kPlanDefinition);
  executor.RunFor(1s);
  EXPECT_EQ(feed.plans(), nullptr);
  EXPECT_EQ(std::ranges::count(listener.log, "BalancingPlan a gone"), 1);
}

TEST_F(MemberFeedTest, WhoMayNotReadTheDefinitionSeesPlansAllTheSame) {
  feed.ReadPlans();
  api->Put(scheduling::BalancingPlans(), {{"metadata", {{"name", "a"}}}});
  client.FailNext("list", base::Error(base::Code::kForbidden, "not yours"), 3);
  Begin();
  EXPECT_EQ(feed.MissingPlans(), "BalancingPlan");
  executor.RunFor(2min);
  EXPECT_EQ(feed.MissingPlans(), "");
  ASSERT_NE(feed.plans(), nullptr);
  EXPECT_EQ(feed.plans()->items().size(), 1U);
}

}  // namespace
}  // namespace evenkeel::controllers::runtime::member_feed_test
