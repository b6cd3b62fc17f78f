#include "controllers/runtime/member.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::controllers::runtime::member_test {
namespace {

using namespace std::chrono_literals;
using base::Json;

class MemberTest : public ::testing::Test {
 protected:
  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  client::FakeClient* connection = nullptr;
  std::shared_ptr<client::Fence> fence = std::make_shared<client::Fence>(executor.clock(), 1);
  int changes = 0;

  std::unique_ptr<Member> Open(bool cut_off = false) {
    auto own = std::make_unique<client::FakeClient>(api);
    connection = own.get();
    connection->CutOff(cut_off);
    return std::make_unique<Member>("member", std::move(own), fence, executor, base::Random(1), [this] { ++changes; });
  }
  void PutPod(const std::string& name) {
    api->Put(kube::resources::Pods(), {{"metadata", {{"name", name}, {"namespace", "default"}}}, {"spec", {}}});
  }
};

TEST_F(MemberTest, FollowsNodesAndPods) {
  api->Put(kube::resources::Nodes(), {{"metadata", {{"name", "n1"}}}});
  PutPod("a");
  auto member = Open();
  EXPECT_FALSE(member->health().synced);
  executor.RunFor(1s);
  EXPECT_TRUE(member->health().synced);
  EXPECT_EQ(member->health().nodes, 1);
  EXPECT_EQ(member->health().pods, 1);
  EXPECT_EQ(member->health().error, "");
  PutPod("b");
  executor.RunFor(1s);
  EXPECT_EQ(member->health().pods, 2);
  EXPECT_EQ(changes, 1) << "counts alone are no change of health";
}

TEST_F(MemberTest, TellsWhenItCannotBeReachedAndWhenItCanAgain) {
  auto member = Open(true);
  executor.RunFor(2s);
  EXPECT_FALSE(member->health().synced);
  EXPECT_EQ(member->health().error, "connection refused");
  EXPECT_EQ(changes, 1);
  connection->CutOff(false);
  executor.RunFor(2min);
  EXPECT_TRUE(member->health().synced);
  EXPECT_EQ(member->health().error, "");
  EXPECT_GE(changes, 2);
  connection->CutOff(true);
  executor.RunFor(10s);
  EXPECT_TRUE(member->health().synced) << "the caches are still there";
  EXPECT_NE(member->health().error, "");
}

TEST_F(MemberTest, ClosesItsWatchesAndIsSilentAfterwards) {
  auto member = Open();
  executor.RunFor(1s);
  EXPECT_EQ(api->watchers.size(), 2u);
  const int before = changes;
  member.reset();
  EXPECT_TRUE(api->watchers.empty());
  PutPod("late");
  executor.RunFor(1h);
  EXPECT_EQ(changes, before);
}

TEST_F(MemberTest, WritesOfEveryKindNeedTheFence) {
  auto member = Open();
  auto elsewhere = std::make_shared<client::FakeApi>();
  const auto guarded = member->Guard(std::make_unique<client::FakeClient>(elsewhere));
  const Json map = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "m"}, {"namespace", "default"}}}};
  int calls = 0;
  const auto call = [&]() -> base::Status {
    ++calls;
    EXPECT_TRUE(fence->MayStillTakeEffect(0s));
    return base::Fail(base::Code::kTimeout, "no answer");
  };
  for (client::Client* client : {&member->client(), guarded.get()}) {
    EXPECT_EQ(client->Create(kube::resources::ConfigMaps(), map).error().code(), base::Code::kForbidden);
  }
  EXPECT_EQ(member->Write("size of g", call).error().message(),
            "size of g: not sent: the Lease kube-system/evenkeel-owner there is no longer held by this replica (epoch 1)");
  EXPECT_EQ(calls, 0);
  fence->Extend(executor.clock().Monotonic() + 1h);
  for (client::Client* client : {&member->client(), guarded.get()}) {
    EXPECT_TRUE(client->Create(kube::resources::ConfigMaps(), map));
  }
  EXPECT_FALSE(fence->MayStillTakeEffect(1h));
  EXPECT_EQ(member->Write("size of g", call).error().code(), base::Code::kTimeout);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(fence->MayStillTakeEffect(1h)) << "nobody knows whether it has been carried out";
}

TEST_F(MemberTest, MayEndBeforeItBegan) {
  Open().reset();
  executor.RunFor(1h);
  EXPECT_EQ(changes, 0);
  EXPECT_TRUE(api->watchers.empty());
}

}  // namespace
}  // namespace evenkeel::controllers::runtime::member_test
