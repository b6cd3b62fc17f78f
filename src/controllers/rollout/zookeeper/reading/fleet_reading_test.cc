#include "controllers/rollout/zookeeper/reading/fleet_reading.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"

namespace evenkeel::controllers::rollout::zookeeper::fleet_reading_test {
namespace {

using base::Json;
using base::JsonArray;

Json FromYaml(const std::string& text) {
  auto parsed = base::ParseYamlDocument(text, "test");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message());
  return parsed ? *parsed : Json();
}

constexpr const char* kBinding = R"(
kind: ResourceBinding
metadata: {name: zk-zookeeper, namespace: data, generation: 4}
spec:
  resource: {kind: ZooKeeper, name: zk, uid: the-uid}
  replicas: 5
  clusters: [{name: m1, replicas: 2}, {name: m2, replicas: 2}, {name: m3, replicas: 1}]
status:
  schedulerObservedGeneration: 4
  conditions: [{type: Scheduled, status: "True", reason: Success}]
)";

/// A ResourceBinding that can be believed, the template that it is of, and a placement that wants the same.
class ScheduleReadingTest : public ::testing::Test {
 protected:
  ScheduleReadingTest() { spec_.shares = {{"m1", 2}, {"m2", 2}, {"m3", 1}}; }

  Json& Clusters() { return base::Ensure(binding_, {"spec", "clusters"}); }
  Schedule Read() const {
    FleetObjects objects;
    objects.zookeeper = &zookeeper_;
    if (!binding_.is_null()) objects.binding = &binding_;
    return ReadSchedule(spec_, objects);
  }

  EnsembleSpec spec_;
  Json zookeeper_ = FromYaml("{kind: ZooKeeper, metadata: {name: zk, namespace: data, uid: the-uid}}");
  Json binding_ = FromYaml(kBinding);
};

TEST_F(ScheduleReadingTest, ThatIsOfThisTemplateAndAddsUpIsBelieved) {
  const Schedule schedule = Read();
  EXPECT_TRUE(schedule.valid()) << schedule.message;
  EXPECT_EQ(schedule.shares, spec_.shares);
}

TEST_F(ScheduleReadingTest, OfAnEarlierGenerationIsNot) {
  base::Ensure(binding_, {"status", "schedulerObservedGeneration"}) = 3;
  EXPECT_EQ(Read().reason, "ScheduleOutdated");
  EXPECT_EQ(Read().message, "the scheduler has seen generation 3 of 4");
}

TEST_F(ScheduleReadingTest, OfATemplateThatWasThereBeforeIsNot) {
  base::Ensure(zookeeper_, {"metadata", "uid"}) = "another";
  EXPECT_EQ(Read().reason, "ScheduleOutdated");
}

TEST_F(ScheduleReadingTest, WithoutTheConditionScheduledIsNot) {
  base::Ensure(binding_, {"status", "conditions"}) =
      FromYaml("[{type: Scheduled, status: 'False', reason: NoClusterFit}, {type: FullyApplied, status: 'True'}]");
  EXPECT_EQ(Read().reason, "NotScheduled");
  EXPECT_EQ(Read().message, "the ResourceBinding is not scheduled: NoClusterFit");
  base::Ensure(binding_, {"status", "conditions"}) = JsonArray{};
  EXPECT_EQ(Read().reason, "NotScheduled");
}

TEST_F(ScheduleReadingTest, WithoutReplicasMeansThatNobodyInterpretsTheKind) {
  Clusters() = FromYaml("[{name: m1}, {name: m2}, {name: m3}]");
  base::Ensure(binding_, {"spec", "replicas"}) = 0;
  EXPECT_EQ(Read().reason, "NotAWorkload");
}

TEST_F(ScheduleReadingTest, ThatDoesNotAddUpIsNot) {
  Clusters() = FromYaml("[{name: m1, replicas: 2}, {name: m2, replicas: 2}]");
  EXPECT_EQ(Read().reason, "ScheduleIncomplete");
  EXPECT_EQ(Read().message, "the schedule places 4 of 5 replicas");
}

TEST_F(ScheduleReadingTest, OfAnotherPlacementIsNot) {
  Clusters() = FromYaml("[{name: m1, replicas: 3}, {name: m2, replicas: 1}, {name: m3, replicas: 1}]");
  EXPECT_EQ(Read().reason, "ScheduleDiffers");
  EXPECT_EQ(Read().message, "the schedule gives m1 3 replicas, spec.placement 2");
  Clusters() = FromYaml("[{name: m1, replicas: 2}, {name: m2, replicas: 2}, {name: m9, replicas: 1}]");
  EXPECT_EQ(Read().message, "the schedule gives m3 0 replicas, spec.placement 1");
}

TEST_F(ScheduleReadingTest, MayHaveClustersThatAreBeingEmptied) {
  Clusters() = FromYaml("[{name: m1, replicas: 2}, {name: m2, replicas: 2}, {name: m3, replicas: 1}, {name: m4, replicas: 1}]");
  base::Ensure(binding_, {"spec", "replicas"}) = 6;
  EXPECT_TRUE(Read().valid()) << Read().message;
}

TEST_F(ScheduleReadingTest, ThatIsNotThereYetIsNot) {
  binding_ = nullptr;
  EXPECT_EQ(Read().reason, "ResourceBindingMissing");
  EXPECT_EQ(ReadSchedule(spec_, {}).reason, "ZooKeeperMissing");
}

/// What is read of the clusters m1 and m2.
FleetReading Reading(const std::string& statuses, const std::vector<std::string>& clusters = {}) {
  const Json binding = FromYaml("{status: {aggregatedStatus: " + statuses + "}}");
  std::vector<Json> objects;
  for (const std::string& cluster : clusters) objects.push_back(FromYaml(cluster));
  FleetObjects fleet;
  fleet.binding = &binding;
  for (const Json& object : objects) fleet.clusters.push_back(&object);
  return ReadFleet(fleet, {"m1", "m2"});
}

TEST(FleetReadingTest, AClusterIsReachableWhileKarmadaSaysThatItIsReady) {
  const std::string m1 = "{metadata: {name: m1}, status: {conditions: [{type: Ready, status: 'True'}]}}";
  for (const char* status : {"'False'", "Unknown"}) {
    const std::string m2 = "{metadata: {name: m2}, status: {conditions: [{type: Ready, status: " + std::string(status) + "}]}}";
    const FleetReading fleet = Reading("[]", {m1, m2});
    EXPECT_TRUE(fleet.Of("m1").reachable);
    EXPECT_FALSE(fleet.Of("m2").reachable) << status;
    EXPECT_TRUE(fleet.unknown.empty());
  }
  EXPECT_FALSE(Reading("[]", {m1, "{metadata: {name: m2}}"}).Of("m2").reachable) << "it has not been asked yet";
  EXPECT_EQ(Reading("[]", {m1}).unknown, (std::set<std::string>{"m2"}));
  EXPECT_TRUE(Reading("[]").Of("m1").reachable) << "no Clusters are given";
  EXPECT_FALSE(Reading("[]").Of("m9").reachable) << "nobody asked for it";
}

TEST(FleetReadingTest, AServerIsReadyThatLeadsOrFollowsInSync) {
  const FleetReading fleet =
      Reading(R"([{clusterName: m1, applied: true, health: Healthy, status: {replicas: 5, readyReplicas: 5,
      members: [{id: 1, mode: Leader}, {id: 2, mode: follower}, {id: 3, mode: follower, synced: false}, {id: 4, mode: ''},
                {id: 5, mode: observer}]}}])");
  EXPECT_EQ(ReadyIds(fleet.Of("m1"), {1, 2, 3, 4, 5, 6}), (Ids{1, 2}));
  EXPECT_EQ(ReadyIds(fleet.Of("m1"), {2}), (Ids{2})) << "of those that are asked for";
  EXPECT_EQ(FindLeader(fleet)->id, 1);
}

TEST(FleetReadingTest, WhatWasNotAppliedOrCannotBeReachedIsNotReady) {
  const std::string status = "status: {readyReplicas: 2, members: [{id: 1, mode: leader}, {id: 2, mode: follower}]}";
  const FleetReading fleet = Reading("[{clusterName: m1, applied: false, appliedMessage: why, health: Unknown, " + status +
                                         "}, {clusterName: m2, applied: true, " + status + "}]",
                                     {"{metadata: {name: m1}, status: {conditions: [{type: Ready, status: 'True'}]}}",
                                      "{metadata: {name: m2}, status: {conditions: [{type: Ready, status: 'False'}]}}"});
  EXPECT_TRUE(ReadyIds(fleet.Of("m1"), {1, 2}).empty());
  EXPECT_EQ(fleet.Of("m1").message, "why");
  EXPECT_TRUE(ReadyIds(fleet.Of("m2"), {1, 2}).empty());
  EXPECT_FALSE(FindLeader(fleet));
}

TEST(FleetReadingTest, AMemberThatOnlyCountsIsTakenAtItsWord) {
  const FleetReading fleet = Reading("[{clusterName: m1, applied: true, status: {readyReplicas: 2}}]");
  EXPECT_EQ(ReadyIds(fleet.Of("m1"), {11, 12, 13}), (Ids{11, 12}));
  EXPECT_FALSE(fleet.Of("m1").observed_revision);
  EXPECT_FALSE(fleet.Of("m1").says_replicas);
}

TEST(FleetReadingTest, TwoLeadersAreNone) {
  const FleetReading fleet = Reading(R"([{clusterName: m1, applied: true, status: {members: [{id: 1, mode: leader}]}},
                                         {clusterName: m2, applied: true, status: {members: [{id: 11, mode: leader}]}}])");
  EXPECT_FALSE(FindLeader(fleet));
}

TEST(FleetReadingTest, IllFormedReportsCountAsNothing) {
  for (const char* status : {"none", "[1]", "{readyReplicas: many, members: 3}", "{members: [5, {mode: leader}]}"}) {
    const FleetReading fleet = Reading("[{clusterName: m1, applied: true, status: " + std::string(status) + "}]");
    EXPECT_TRUE(ReadyIds(fleet.Of("m1"), {1, 2}).empty()) << status;
  }
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::fleet_reading_test
