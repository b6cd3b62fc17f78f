#include "controllers/rollout/zookeeper/member/member_zookeeper.h"

#include "controllers/rollout/zookeeper/member/member_world_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::member::member_zookeeper_test {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;
using testing::MemberZooKeeperTest;
using namespace std::chrono_literals;

TEST_F(MemberZooKeeperTest, AnEnsembleForms) {
  executor.RunFor(10s);
  EXPECT_TRUE(api->objects["customresourcedefinitions"].contains("zookeepers.evenkeel.dev"));
  EXPECT_EQ(client->Count("list configmaps"), 0) << "nothing else is watched without a ZooKeeper";
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  EXPECT_TRUE(Settled("r")) << base::ToText(Status());
  EXPECT_TRUE(api->objects["secrets"].contains("data/zk-admin"));
  EXPECT_TRUE(api->objects["services"].contains("data/zk-headless"));
  EXPECT_TRUE(api->objects["poddisruptionbudgets"].contains("data/zk"));
  EXPECT_EQ(FindInt(Status(), {"leaderID"}), 3);
  EXPECT_TRUE(world.replaced.empty());
  const int written = client->Count("update");
  executor.RunFor(10min);
  EXPECT_LE(client->Count("update"), written + 21) << "positions in the log are told twice a minute";
}

TEST_F(MemberZooKeeperTest, AChangeReplacesOneAfterTheOtherTheLeaderLast) {
  Want(5, {1, 2, 3, 4, 5});
  executor.RunFor(30s);
  ASSERT_EQ(world.leader, 5);
  Want(5, {1, 2, 3, 4, 5}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(5s);
  EXPECT_EQ(FindString(Status(), {"observedRevision"}), "r");
  executor.RunFor(2min);
  EXPECT_TRUE(Settled("r2")) << base::ToText(Status());
  EXPECT_EQ(world.replaced, (std::vector<std::string>{"zk-3", "zk-2", "zk-1", "zk-0", "zk-4"}));
  EXPECT_GE(world.lowest_margin, 1) << "four of five served at any time";
}

TEST_F(MemberZooKeeperTest, WhatIsMadeDifferentlyWithinARevisionWaitsForTheNext) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  ASSERT_TRUE(Settled("r"));
  // As by a newer program.
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}}})");
  executor.RunFor(5min);
  EXPECT_TRUE(world.replaced.empty());
  EXPECT_TRUE(Settled("r"));
  EXPECT_EQ(FindInt(Status(), {"updatedReplicas"}), 0);
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(2min);
  EXPECT_EQ(world.replaced.size(), 3U);
  EXPECT_TRUE(Settled("r2"));
}

TEST_F(MemberZooKeeperTest, ACopyWithoutItsOverrideStopsNobody) {
  const std::string copy = R"("metadata": {"labels": {"evenkeel.dev/multiclusterzookeeper": "zk"}})";
  Want(3, {1, 2, 3}, "{" + copy + "}");
  executor.RunFor(30s);
  ASSERT_TRUE(Settled("r"));
  // What Karmada makes of the bare template when the interpreter gives it no replicas, and when nobody does.
  for (const char* replicas : {"0", "5"}) {
    Want(0, {},
         "{" + copy + R"(, "spec": {"replicas": )" + replicas +
             R"(, "image": {"tag": "3.9"}, "servers": null, "myidOffset": null, "rolloutRevision": null}})");
    executor.RunFor(10min);
    EXPECT_EQ(world.running.size(), 3U) << replicas;
    EXPECT_TRUE(world.replaced.empty()) << replicas;
    EXPECT_EQ(Condition("Ready", "reason"), "OverrideMissing");
    EXPECT_NE(Condition("Ready", "message").find("OverridePolicy"), std::string::npos);
    EXPECT_EQ(FindString(Status(), {"observedRevision"}), "r");
  }
  Want(3, {1, 2, 3}, "{" + copy + "}");
  executor.RunFor(10s);
  EXPECT_TRUE(Settled("r"));
  EXPECT_TRUE(world.replaced.empty());
}

TEST_F(MemberZooKeeperTest, ACopyHasNoServersOnlyWhereItsRevisionSaysSo) {
  const std::string copy = R"({"metadata": {"labels": {"evenkeel.dev/multiclusterzookeeper": "zk"}})";
  Want(2, {1, 2}, copy + "}");
  executor.RunFor(30s);
  ASSERT_TRUE(Settled("r"));
  // Somebody's other override.
  Want(0, {1, 2}, copy + "}");
  executor.RunFor(10min);
  EXPECT_EQ(world.running.size(), 2U);
  EXPECT_NE(Condition("Ready", "message").find("does another override set it?"), std::string::npos);
  Want(0, {11, 12}, copy + R"(, "spec": {"rolloutRevision": "r2"}})");
  executor.RunFor(1min);
  EXPECT_EQ(world.running.size(), 0U);
  EXPECT_TRUE(Settled("r2"));
}

TEST_F(MemberZooKeeperTest, MetricsSayHowItIsAndWhatHasHappened) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  EXPECT_EQ(Metric("evenkeel_zookeeper_servers"), 3);
  EXPECT_EQ(Metric("evenkeel_zookeeper_ready_servers"), 3);
  EXPECT_EQ(Metric("evenkeel_zookeeper_quorum_healthy"), 1);
  EXPECT_EQ(Metric("evenkeel_zookeeper_progressing"), 0);
  EXPECT_EQ(Metric("evenkeel_zookeeper_replacements_total"), 0);
  Want(4, {1, 2, 3, 4}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(5s);
  EXPECT_EQ(Metric("evenkeel_zookeeper_progressing"), 1);
  executor.RunFor(2min);
  EXPECT_EQ(Metric("evenkeel_zookeeper_replacements_total"), 3);
  EXPECT_EQ(Metric("evenkeel_zookeeper_member_changes_total"), 1);
  EXPECT_EQ(Metric("evenkeel_zookeeper_updated_servers"), 4);
  Want(4, {1, 2}, "{}");
  executor.RunFor(10s);
  EXPECT_EQ(Metric("evenkeel_zookeeper_valid"), 0);
  api->Remove(ZooKeepers(), "data/zk");
  executor.RunFor(10s);
  EXPECT_EQ(Metric("evenkeel_zookeeper_servers"), -1) << "it is gone, and so is what was told of it";
}

TEST_F(MemberZooKeeperTest, AnOlderMemberGetsTheBudgetThatItKnows) {
  Own({"policy/v1 poddisruptionbudgets"});
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  EXPECT_TRUE(Settled("r")) << base::ToText(Status());
  EXPECT_EQ(FindString(api->objects["poddisruptionbudgets"].at("data/zk"), {"apiVersion"}), "policy/v1beta1");
  // The member is brought up to date, step by step.
  client->unserved = {};
  executor.RunFor(1min);
  EXPECT_TRUE(Settled("r"));
  client->unserved = {"policy/v1beta1 poddisruptionbudgets"};
  api->EndWatches(base::Error(base::Code::kUnavailable, "restarted"), client);
  api->Remove(kube::resources::PodDisruptionBudgets(), "data/zk");
  executor.RunFor(1min);
  EXPECT_EQ(FindString(api->objects["poddisruptionbudgets"].at("data/zk"), {"apiVersion"}), "policy/v1");
}

TEST_F(MemberZooKeeperTest, AnotherReplicaGoesOn) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(3s);
  EXPECT_FALSE(Settled("r2"));
  Own();
  executor.RunFor(1min);
  EXPECT_TRUE(Settled("r2"));
  EXPECT_EQ(world.replaced, (std::vector<std::string>{"zk-1", "zk-0", "zk-2"}));
}

TEST_F(MemberZooKeeperTest, AServerThatDoesNotStartIsTheOnlyOne) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  world.broken = [](int64_t) { return true; };
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "bad"}, "rolloutRevision": "bad"}})");
  executor.RunFor(2min);
  EXPECT_EQ(world.replaced, std::vector<std::string>{"zk-1"});
  EXPECT_EQ(world.ServingVoters(), 2);
  EXPECT_EQ(FindString(Status(), {"observedRevision"}), "r");
  EXPECT_EQ(Condition("Progressing", "message"), "pod zk-1 has been replaced and does not serve yet");
  world.broken = nullptr;
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "good"}, "rolloutRevision": "good"}})");
  executor.RunFor(2min);
  EXPECT_TRUE(Settled("good"));
  EXPECT_EQ(world.replaced[1], "zk-1") << "what is down already goes first";
}

TEST_F(MemberZooKeeperTest, ServersComeAndGoOneByOne) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  Want(5, {1, 2, 3, 4, 5}, R"({"spec": {"rolloutRevision": "five"}})");
  executor.RunFor(1min);
  EXPECT_TRUE(Settled("five")) << base::ToText(Status());
  Want(3, {1, 2, 3}, R"({"spec": {"rolloutRevision": "three"}})");
  executor.RunFor(1min);
  EXPECT_TRUE(Settled("three")) << base::ToText(Status());
  EXPECT_EQ(world.changes, (std::vector<std::string>{"+4", "+5", "-5", "-4"}));
  EXPECT_TRUE(world.replaced.empty()) << "nobody restarts";
}

TEST_F(MemberZooKeeperTest, ARefusedChangeOfTheMembersIsTriedAgain) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  world.refuse = base::Error(base::Code::kUnavailable, "no quorum of the new members");
  Want(4, {1, 2, 3, 4}, R"({"spec": {"rolloutRevision": "four"}})");
  executor.RunFor(1min);
  EXPECT_FALSE(Settled("four"));
  EXPECT_EQ(Condition("Progressing", "message"), "server 4 is taken in");
  world.refuse.reset();
  executor.RunFor(10s);
  EXPECT_TRUE(Settled("four"));
}

TEST_F(MemberZooKeeperTest, WithoutAnAnswerFromAVoterNothingIsStopped) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  world.cut_off = {1};
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(1min);
  // The one that is not heard of goes first, for it may be down; nobody else before it is back.
  EXPECT_EQ(world.replaced, std::vector<std::string>{"zk-0"});
  world.cut_off.clear();
  executor.RunFor(1min);
  EXPECT_EQ(world.replaced.size(), 3U);
}

TEST_F(MemberZooKeeperTest, OneThatFallsSilentElsewhereIsTheLeadersToJudgeOnceItMustHaveNoticed) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  for (const int64_t id : {4, 5}) {
    world.running[id] = executor.clock().Monotonic();
    world.members.push_back(*ParseServerLine(testing::LineOf(id)));
  }
  executor.RunFor(10s);
  // As if it stood still: the leader goes on counting it for a while.
  world.cut_off = {4};
  Want(3, {1, 2, 3, 4, 5}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(10s);
  EXPECT_TRUE(world.replaced.empty());
  EXPECT_EQ(Condition("Progressing", "message"), "server 4 does not answer, and its leader may not know yet");
  executor.RunFor(1min);
  EXPECT_EQ(world.replaced.size(), 3U) << "the leader counts it still, so it is only out of reach from here";
}

TEST_F(MemberZooKeeperTest, ALeaderWhoIsNotWantedAnyMoreIsFoundAgainAfterARestart) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  world.running[11] = executor.clock().Monotonic();
  world.members.push_back(*ParseServerLine(testing::LineOf(11)));
  world.leader = 11;
  Own();
  Want(3, {1, 2, 3}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(1min);
  EXPECT_TRUE(Settled("r2")) << base::ToText(Status());
  EXPECT_EQ(FindInt(Status(), {"leaderID"}), 11);
}

TEST_F(MemberZooKeeperTest, AnotherReplicaAsksAServerElsewhereBeforeItIsLetGo) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  world.running[4] = executor.clock().Monotonic();
  world.members.push_back(*ParseServerLine(testing::LineOf(4)));
  executor.RunFor(10s);
  // Only the list that was agreed on names it now.
  Want(3, {1, 2, 3}, R"({"spec": {"leaving": [4]}})");
  Own();
  executor.RunFor(1min);
  EXPECT_TRUE(world.changes.empty()) << "it serves: its own cluster lets it go";
  // For a moment it looks for a leader.
  world.running[4] = executor.clock().Monotonic();
  executor.RunFor(1min);
  EXPECT_TRUE(world.changes.empty());
  world.cut_off = {4};
  executor.RunFor(1min);
  EXPECT_EQ(world.changes, std::vector<std::string>{"-4"});
}

TEST_F(MemberZooKeeperTest, AShutFenceHoldsEverything) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  fence->Close();
  Want(4, {1, 2, 3, 4}, R"({"spec": {"image": {"tag": "3.9"}, "rolloutRevision": "r2"}})");
  executor.RunFor(1min);
  EXPECT_TRUE(world.replaced.empty());
  EXPECT_TRUE(world.changes.empty());
  EXPECT_EQ(FindInt(api->objects["statefulsets"].at("data/zk"), {"spec", "replicas"}), 3);
}

TEST_F(MemberZooKeeperTest, AnObjectThatIsRefusedIsToldOf) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  client->unserved = {"apps/v1 statefulsets"};
  Want(3, {1, 2, 3}, R"({"spec": {"podTemplate": {"spec": {"runtimeClassName": "b"}}, "rolloutRevision": "b"}})");
  executor.RunFor(10s);
  EXPECT_EQ(Condition("Progressing", "status"), "False");
  EXPECT_EQ(Condition("Progressing", "reason"), "ObjectRefused");
  EXPECT_EQ(Condition("Progressing", "message").substr(0, 21), "StatefulSet data/zk: ");
  EXPECT_EQ(FindString(Status(), {"observedRevision"}), "r");
}

TEST_F(MemberZooKeeperTest, AnObjectOfSomebodyElseIsLeftAloneAndToldOf) {
  Json service = *base::ParseJson(R"({"apiVersion": "v1", "kind": "Service", "spec": {"clusterIP": "10.0.0.1"},
      "metadata": {"name": "zk-headless", "namespace": "data"}})",
                                  "test");
  api->Put(kube::resources::Services(), service);
  Want(3, {1, 2, 3});
  executor.RunFor(10s);
  EXPECT_EQ(Condition("Progressing", "reason"), "ObjectRefused");
  EXPECT_EQ(Condition("Progressing", "message"),
            "Service data/zk-headless: it is there and not of this ZooKeeper: remove it, or give it the label "
            "evenkeel.dev/zookeeper=zk");
  EXPECT_EQ(FindString(api->objects["services"].at("data/zk-headless"), {"spec", "clusterIP"}), "10.0.0.1");
  base::Ensure(service, {"metadata", "labels", kEnsembleLabel}) = "zk";
  api->Put(kube::resources::Services(), service);
  executor.RunFor(1min);
  EXPECT_TRUE(Settled("r")) << base::ToText(Status());
}

TEST_F(MemberZooKeeperTest, AnInvalidSpecChangesNothing) {
  Want(3, {1, 2, 3});
  executor.RunFor(30s);
  Want(3, {1, 2});
  executor.RunFor(1min);
  EXPECT_EQ(Condition("Valid", "message"), "spec.servers: there is no server.3, which is replica 2 here");
  EXPECT_EQ(FindInt(api->objects["statefulsets"].at("data/zk"), {"spec", "replicas"}), 3);
  EXPECT_EQ(FindInt(Status(), {"observedGeneration"}), 2);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::member_zookeeper_test
