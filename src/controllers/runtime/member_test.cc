#include "controllers/runtime/member.h"

#include <gtest/gtest.h>

#include "client/fake_client.h"

namespace evenkeel::controllers::runtime {
namespace {

using namespace std::chrono_literals;

class MemberTest : public ::testing::Test {
 protected:
  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  client::FakeClient* connection = nullptr;
  int changes = 0;

  std::unique_ptr<Member> Open(bool cut_off = false) {
    auto own = std::make_unique<client::FakeClient>(api);
    connection = own.get();
    connection->CutOff(cut_off);
    return std::make_unique<Member>("member", std::move(own), executor, base::Random(1), [this] { ++changes; });
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

TEST_F(MemberTest, MayEndBeforeItBegan) {
  Open().reset();
  executor.RunFor(1h);
  EXPECT_EQ(changes, 0);
  EXPECT_TRUE(api->watchers.empty());
}

}  // namespace
}  // namespace evenkeel::controllers::runtime
