// Between what is seen of servers and what is true, or is still true when something is done.
#include "controllers/rollout/zookeeper/member/member_cache.h"
#include "controllers/rollout/zookeeper/member/member_world_testing.h"
#include "controllers/rollout/zookeeper/reading/render.h"

namespace evenkeel::controllers::rollout::zookeeper::member::member_doubt_test {
namespace {

using base::FindString;
using base::Json;
using base::JsonObject;
using testing::MemberZooKeeperTest;
using namespace std::chrono_literals;

TEST_F(MemberZooKeeperTest, OneThatStandsStillIsNotTakenForDeadButOneThatIsDeadIs) {
  Want(2, {1, 2, 3});
  world.running[3] = executor.clock().Monotonic();
  executor.RunFor(30s);
  // The voter of another cluster dies, and from then on there is no majority without both that are here.
  world.running.erase(3);
  executor.RunFor(30s);
  ASSERT_EQ(world.leader, 2);
  Want(2, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  world.cut_off = {1};
  executor.RunFor(1min);
  EXPECT_TRUE(world.replaced.empty());
  EXPECT_EQ(Condition("Progressing", "message"), "2 of 3 voters are in sync with server 2");
  // Its process hangs: it follows nobody any more, and Kubernetes hears nothing of it, either.
  world.running.erase(1);
  ASSERT_TRUE(executor.RunUntil([&] { return !world.replaced.empty(); }, 1min)) << base::ToText(Status());
  world.cut_off.clear();
  executor.RunFor(1min);
  EXPECT_EQ(world.replaced, std::vector<std::string>{"zk-0"}) << "the other one is half of what is left of the majority";
  EXPECT_EQ(Condition("Progressing", "message"), "2 of 3 voters are in sync with server 2");
}

TEST_F(MemberZooKeeperTest, OneThatIsNotReadyYetIsRememberedToHaveServed) {
  Want(2, {1, 2, 3});
  world.running[3] = executor.clock().Monotonic();
  executor.RunFor(30s);
  world.running.erase(3);
  executor.RunFor(30s);
  // As long as the kubelet has not asked it, or after it could not.
  world.seen_ready = [](int64_t) { return false; };
  executor.RunFor(5s);
  Want(2, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  world.cut_off = {1};
  executor.RunFor(3s);
  world.cut_off.clear();
  executor.RunFor(1min);
  EXPECT_TRUE(world.replaced.empty());
}

TEST_F(MemberZooKeeperTest, NoServerIsTakenInAgainWhileItsVolumeMayStillBeDeleted) {
  const std::string reclaims = R"({"spec": {"storage": {"reclaimPolicy": "Delete"}}})";
  Want(3, {1, 2, 3}, reclaims);
  Json claim = JsonObject{
      {"metadata", JsonObject{{"namespace", "data"}, {"name", "data-zk-2"}, {"labels", JsonObject{{kEnsembleLabel, "zk"}}}}}};
  api->Put(kube::resources::PersistentVolumeClaims(), claim);
  executor.RunFor(30s);
  ASSERT_EQ(world.members.size(), 3U);
  const auto servers = [&] { return base::FindInt(api->objects["statefulsets"].at("data/zk"), {"spec", "replicas"}); };
  client->FailNext("delete", base::Error(base::Code::kTimeout, "no answer within 1.8s"), 1000);
  Want(2, {1, 2}, reclaims);
  executor.RunFor(30s);
  ASSERT_EQ(servers(), 2);
  ASSERT_TRUE(api->objects["persistentvolumeclaims"].contains("data/data-zk-2"));
  Want(3, {1, 2, 3}, R"({"spec": {"storage": {"reclaimPolicy": "Delete"}, "rolloutRevision": "r2"}})");
  executor.RunFor(1min);
  EXPECT_EQ(servers(), 2);
  EXPECT_EQ(Condition("Progressing", "message"),
            "nobody has answered whether the volume of server 3 was deleted, and it may still be");
  executor.RunFor(2min);
  EXPECT_EQ(servers(), 3);
  EXPECT_EQ(world.members.size(), 3U);
}

TEST_F(MemberZooKeeperTest, ACopyThatWasLeftBehindBeforeItHadServersGoes) {
  const auto copy = [this](const std::string& more) {
    Want(0, {1, 2, 3}, more);
    Json object = api->objects["zookeepers"].at("data/zk");
    base::Ensure(object, {"metadata", "labels", kOwnerLabel}) = "zk";
    api->Put(ZooKeepers(), object);
  };
  const auto there = [this] { return api->objects["zookeepers"].contains("data/zk"); };
  const std::string managed =
      R"({"metadata": {"labels": {"karmada.io/managed": "true"}}, "spec": {"rolloutRevision": "pending"}})";
  const std::string left = R"({"spec": {"rolloutRevision": "pending"}})";
  copy(managed);
  executor.RunFor(2min);
  EXPECT_TRUE(there()) << "Karmada's";
  copy(R"({"spec": {"rolloutRevision": "r1.1"}})");
  executor.RunFor(2min);
  EXPECT_TRUE(there()) << "its hub has given it something";
  copy(left);
  executor.RunFor(20s);
  copy(managed);
  executor.RunFor(20s);
  copy(left);
  executor.RunFor(20s);
  EXPECT_TRUE(there()) << "not for so long at once";
  ASSERT_TRUE(executor.RunUntil([&] { return !there(); }, 1min));
  Want(0, {1, 2, 3}, left);
  executor.RunFor(2min);
  EXPECT_TRUE(there()) << "somebody's own, of no ensemble";
}

TEST_F(MemberZooKeeperTest, ACopyThatWasLeftBehindWithServersStays) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  Json object = api->objects["zookeepers"].at("data/zk");
  base::Ensure(object, {"metadata", "labels", kOwnerLabel}) = "zk";
  base::Ensure(object, {"spec", "rolloutRevision"}) = "pending";
  base::Ensure(object, {"spec", "replicas"}) = 0;
  api->Put(ZooKeepers(), object);
  world.cut_off = {1, 2, 3};
  executor.RunFor(2min);
  EXPECT_TRUE(api->objects["zookeepers"].contains("data/zk"));
  EXPECT_FALSE(api->objects["pods"].empty());
}

TEST_F(MemberZooKeeperTest, ASidecarThatDoesNotRunStopsNobody) {
  Want(2, {1, 2, 3});
  world.running[3] = executor.clock().Monotonic();
  executor.RunFor(30s);
  world.running.erase(3);
  for (const char* key : {"data/zk-0", "data/zk-1"}) {
    Json pod = api->objects["pods"].at(key);
    base::Ensure(pod, {"status", "containerStatuses"})
        .as_array()
        .push_back(JsonObject{{"name", "sidecar"}, {"state", JsonObject{{"waiting", JsonObject{}}}}});
    api->Put(kube::resources::Pods(), pod);
  }
  world.seen_ready = [](int64_t) { return false; };
  executor.RunFor(30s);
  Want(2, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(1min);
  EXPECT_TRUE(world.replaced.empty());
  EXPECT_EQ(Condition("Progressing", "message"), "2 of 3 voters are in sync with server 2");
}

TEST_F(MemberZooKeeperTest, APodThatHasChangedSinceItWasSeenIsLookedAtAgain) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  world.on_ask = [this, count = 0]() mutable {
    for (auto& [key, object] : std::map(api->objects["pods"])) {
      base::Ensure(object, {"metadata", "annotations", "count"}) = std::to_string(++count);
      api->Put(kube::resources::Pods(), object);
    }
  };
  executor.RunFor(10s);
  EXPECT_TRUE(world.replaced.empty());
  world.on_ask = nullptr;
  executor.RunFor(1min);
  EXPECT_EQ(world.replaced.size(), 3U);
  EXPECT_TRUE(Settled("r2")) << base::ToText(Status());
}

TEST_F(MemberZooKeeperTest, WhatTheServersSaidBeforeTheApiTookItsTimeIsAskedAgain) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2", "hold": true}})");
  executor.RunFor(30s);
  ASSERT_TRUE(world.replaced.empty());
  bool written = false;
  client->before_write = [&](std::string_view, const Json& object) {
    if (FindString(object, {"kind"}) != "ConfigMap") return;
    written = true;
    clock.ahead += 5s;
  };
  Want(3, {1, 2, 3, 9}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r3"}})");
  ASSERT_TRUE(executor.RunUntil([&] { return written; }, 10s));
  EXPECT_EQ(client->Count("delete pods"), 0);
  executor.RunFor(1min);
  EXPECT_EQ(client->Count("delete pods"), 3);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::member_doubt_test
