#include "controllers/rollout/zookeeper/plan/safety.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::rollout::zookeeper::safety_test {
namespace {

/// An ensemble over m1, m2, ... in which all is well, and a record under way.
class SafetyTest : public ::testing::Test {
 protected:
  void Place(const std::vector<int64_t>& shares) {
    fleet_.members.clear();
    state_ = {};
    Shares placement;
    for (size_t i = 0; i < shares.size(); ++i) {
      const std::string name = "m" + std::to_string(i + 1);
      placement[name] = shares[i];
      state_.identities[name] = {static_cast<int64_t>(i), name};
      state_.rollout.clusters[name] = {"r1", "", 1, true};
    }
    spec_.shares = placement;
    for (const char* revision : {"r1", "r2"})
      state_.revisions[revision] = {revision, base::JsonObject{}, placement, {revision}};
    for (const auto& [name, share] : placement) SetWell(name);
    record_ = {};
    record_.revision = "r2";
    record_.base_revision = "r1";
    for (const auto& [name, share] : placement) record_.order.push_back(name);
    record_.pending = record_.order;
  }
  void SetWell(const std::string& name) {
    MemberReading& member = fleet_.members[name];
    member = {};
    member.applied = true;
    member.health = "Healthy";
    member.observed_revision = MarkOf(state_.rollout.clusters.at(name));
    member.says_replicas = true;
    member.replicas = member.ready = spec_.shares.at(name);
    for (const int64_t id : IdsOf(spec_.naming, state_.identities, name, member.ready))
      member.servers.push_back({id, id == 1 ? "leader" : "follower", true});
  }
  /// Processes answer, but none of them serves.
  void SetRunning(const std::string& name, const Ids& ids) {
    MemberReading& member = fleet_.members[name];
    member = {};
    member.applied = true;
    member.health = "Unhealthy";
    member.observed_revision = "r2";
    for (const int64_t id : ids) member.servers.push_back({id, "", true});
  }
  void SetDown(int64_t id) {
    for (auto& [name, member] : fleet_.members) {
      if (std::erase_if(member.servers, [&](const auto& server) { return server.id == id; }) == 0) continue;
      --member.ready;
      member.health = "Unhealthy";
    }
  }
  /// The record's next cluster has been given its revision.
  void Begin(const std::string& name) {
    std::erase(record_.pending, name);
    record_.deploying = {name};
    state_.rollout.clusters[name].Give("r2");
    SetWell(name);
  }
  ClusterFacts FactsOf(const std::string& name) const {
    const Passage passage{spec_, state_, fleet_, record_, first_ ? nullptr : state_.Find("r1"), state_.Find("r2")};
    return passage.FactsOf(name);
  }

  EnsembleSpec spec_;
  EnsembleState state_;
  FleetReading fleet_;
  Record record_;
  bool first_ = false;  ///< there is nothing before the record
};

TEST_F(SafetyTest, AClusterIsReadyWhenItSaysSoOfThisTurnAndTheEnsembleHasItsMajority) {
  Place({2, 2, 1});
  Begin("m2");
  ASSERT_TRUE(FactsOf("m2").ready) << FactsOf("m2").waits_for;
  const FleetReading well = fleet_;
  const auto waits = [&](const auto& change) {
    fleet_ = well;
    change(fleet_.members["m2"]);
    const ClusterFacts facts = FactsOf("m2");
    EXPECT_FALSE(facts.ready);
    return facts.waits_for;
  };
  const auto not_applied = [](MemberReading& member) {
    member.applied = false;
    member.message = "over quota";
  };
  EXPECT_EQ(waits(not_applied), "not applied: over quota");
  for (const char* other : {"r1", "r2", "r2.1", "pending", ""}) {
    EXPECT_EQ(waits([&](MemberReading& member) { member.observed_revision = other; }), "revision r2.2 not observed yet")
        << other;
  }
  EXPECT_EQ(waits([](MemberReading& member) { member.observed_revision.reset(); }), "revision r2.2 not observed yet");
  EXPECT_EQ(waits([](MemberReading& member) { member.health = "Unhealthy"; }), "its health is Unhealthy");
  EXPECT_EQ(waits([](MemberReading& member) { member.health.clear(); }), "its health is unknown");
  EXPECT_EQ(waits([](MemberReading& member) { member.ready = 1; }), "1 of 2 servers are ready");
  EXPECT_EQ(waits([](MemberReading& member) { member.ready = 3; }), "3 of 2 servers are ready");
  EXPECT_EQ(waits([](MemberReading& member) { member.replicas = 3; }), "it has 3 servers, but is to have 2");
  EXPECT_EQ(waits([](MemberReading& member) { member.servers[1].synced = false; }), "not all of its servers are in sync");
  EXPECT_EQ(waits([](MemberReading& member) { member.servers[1].mode.clear(); }), "not all of its servers are in sync");
  EXPECT_EQ(waits([](MemberReading& member) { member.servers[1].id = 13; }), "not all of its servers are in sync");
  EXPECT_EQ(waits([&](MemberReading&) { fleet_.members["m1"].servers[0].mode = "follower"; }), "not exactly one server leads");
  const auto others_away = [&](MemberReading&) {
    fleet_.members["m1"].reachable = false;
    fleet_.members["m3"].applied = false;
  };
  EXPECT_EQ(waits(others_away), "2 of 5 servers are ready, but a majority is 3");
  fleet_ = well;
  fleet_.members["m2"].reachable = false;
  EXPECT_FALSE(FactsOf("m2").ready) << "whatever it said last";
  EXPECT_FALSE(FactsOf("m2").reachable);
}

TEST_F(SafetyTest, AMemberThatDoesNotEchoIsBelievedOnlyWhereItHadNothingBefore) {
  Place({2, 2, 1});
  state_.rollout.clusters.erase("m2");
  Begin("m2");
  fleet_.members["m2"].observed_revision.reset();
  EXPECT_FALSE(FactsOf("m2").ready) << "another turn than the first, or something before";
  state_.rollout.clusters["m2"] = {"r2", "", 1, false};
  EXPECT_TRUE(FactsOf("m2").ready) << FactsOf("m2").waits_for;
  state_.rollout.clusters["m2"] = {"r2", "r1", 1, false};
  EXPECT_FALSE(FactsOf("m2").ready);
}

TEST_F(SafetyTest, UntilAMajorityHasBeenStartedServersOnlyHaveToRun) {
  Place({2, 2, 1});
  first_ = true;
  state_.rollout.clusters.clear();
  for (const char* name : {"m1", "m2", "m3"}) fleet_.members[name] = {};
  state_.rollout.clusters["m1"] = {"r2", "", 1, false};
  record_.pending = {"m2", "m3"};
  record_.deploying = {"m1"};
  SetRunning("m1", {1});
  EXPECT_EQ(FactsOf("m1").waits_for, "1 of 2 servers run");
  SetRunning("m1", {1, 2});
  EXPECT_TRUE(FactsOf("m1").ready) << "2 of 5 cannot serve, however long one waits";
  // With the second cluster a majority is there: from now on it has to serve.
  record_.completed = {"m1"};
  record_.deploying = {"m2"};
  record_.pending = {"m3"};
  state_.rollout.clusters["m2"] = {"r2", "", 1, false};
  SetRunning("m2", {11, 12});
  EXPECT_FALSE(FactsOf("m2").ready);
  for (const char* name : {"m1", "m2"}) SetWell(name);
  EXPECT_TRUE(FactsOf("m2").ready) << FactsOf("m2").waits_for;
}

struct BudgetCase {
  std::vector<int64_t> shares;
  std::vector<int64_t> down;  ///< ids: 1, 2 ... are in m1, whose turn it is, 11 ... in m2
  bool strict, degraded;      ///< whether m1 may begin
};

TEST_F(SafetyTest, ACarefulStepBeginsWhileAMajorityStaysAndNothingIsDownElsewhere) {
  for (const BudgetCase& row : {
           BudgetCase{{1, 1, 1}, {}, true, true},
           BudgetCase{{1, 1, 1}, {11}, false, false},
           BudgetCase{{1, 1, 1}, {1}, true, true},
           BudgetCase{{2, 1, 1}, {}, true, true},
           BudgetCase{{2, 1, 1}, {11}, false, false},
           BudgetCase{{2, 2, 1}, {}, true, true},
           BudgetCase{{2, 2, 1}, {21}, false, true},
           BudgetCase{{2, 2, 1}, {2}, true, true},
           BudgetCase{{2, 2, 1}, {11, 21}, false, false},
           BudgetCase{{3, 2, 2}, {21}, false, true},
       }) {
    Place(row.shares);
    for (const int64_t id : row.down) SetDown(id);
    for (const bool degraded : {false, true}) {
      spec_.allow_degraded = degraded;
      const ClusterFacts facts = FactsOf("m1");
      EXPECT_EQ(facts.gate.empty(), degraded ? row.degraded : row.strict)
          << Total(spec_.shares) << " voters, " << row.down.size() << " down, degraded " << degraded << ": " << facts.gate;
      EXPECT_EQ(facts.gate_reason, facts.gate.empty() ? "" : "QuorumBudgetExhausted");
    }
  }
}

TEST_F(SafetyTest, ServersOfAClusterThatCannotBeReachedOrSaysNothingAreDown) {
  for (const bool reachable : {false, true}) {
    Place({2, 2, 1});
    if (reachable) {
      fleet_.members["m3"].applied = false;
    } else {
      fleet_.members["m3"].reachable = false;
    }
    spec_.allow_degraded = false;
    EXPECT_EQ(FactsOf("m1").gate, "1 of 5 members are down outside of the cluster whose turn it is");
    spec_.allow_degraded = true;
    EXPECT_EQ(FactsOf("m1").gate, "");
    fleet_.members["m2"].reachable = false;
    EXPECT_NE(FactsOf("m1").gate, "") << "2 of 5 are left";
  }
}

TEST_F(SafetyTest, AsLongAsThereIsNoMajorityOnlyTheOrderCounts) {
  Place({2, 2, 1});
  first_ = true;
  state_.rollout.clusters.clear();
  for (const char* name : {"m1", "m2", "m3"}) fleet_.members[name] = {};
  for (const char* name : {"m1", "m2", "m3"}) EXPECT_EQ(FactsOf(name).gate, "") << name;
}

TEST_F(SafetyTest, InAFirstDeploymentWithALeaderNothingStopsThatWouldBeMissed) {
  Place({2, 2, 1});
  first_ = true;
  for (const char* name : {"m1", "m2", "m3"}) EXPECT_EQ(FactsOf(name).gate, "") << name;
  SetDown(21);
  EXPECT_EQ(FactsOf("m1").gate, "1 of 5 members are down outside of the cluster whose turn it is");
  EXPECT_EQ(FactsOf("m3").gate, "") << "what is down may restart";
  state_.rollout.clusters.erase("m3");
  EXPECT_EQ(FactsOf("m1").gate, "") << "4 of 5 run, and the fifth has not been started";
  SetDown(12);
  EXPECT_EQ(FactsOf("m3").gate, "") << "it brings what is missed";
  record_.completed = {"m1", "m2"};
  EXPECT_NE(FactsOf("m3").gate, "") << "something is wrong with what it is to get";
}

TEST_F(SafetyTest, AClusterWithServersThatAreDownMayGoBeforeOthersUnlessPeopleGaveTheOrder) {
  Place({2, 2, 1});
  EXPECT_FALSE(FactsOf("m3").can_mend);
  SetDown(21);
  EXPECT_TRUE(FactsOf("m3").can_mend);
  EXPECT_FALSE(FactsOf("m2").can_mend);
  spec_.order = {"m1", "m2", "m3"};
  EXPECT_FALSE(FactsOf("m3").can_mend);
  spec_.order.clear();
  state_.revisions["r2"].shares["m2"] = 3;
  EXPECT_FALSE(FactsOf("m3").can_mend) << "a voter comes";
}

TEST_F(SafetyTest, AClusterIsInFlightUntilItHasArrivedOrKnowsThatItIsHeld) {
  Place({2, 2, 1});
  EXPECT_FALSE(FactsOf("m2").in_flight);
  ClusterRevision& given = state_.rollout.clusters.at("m2");
  given.Give("another");
  EXPECT_TRUE(FactsOf("m2").in_flight);
  given.Hold();
  EXPECT_TRUE(FactsOf("m2").in_flight) << "it may not know yet";
  fleet_.members["m2"].observed_revision = MarkOf(given);
  EXPECT_FALSE(FactsOf("m2").in_flight);
  given.Give("another");
  EXPECT_TRUE(FactsOf("m2").in_flight);
  first_ = true;
  for (const char* name : {"m1", "m3"}) state_.rollout.clusters.erase(name);
  EXPECT_FALSE(FactsOf("m2").in_flight) << "there is no quorum yet, which could be lost";
}

TEST_F(SafetyTest, OnlyATemplateIsGoneBackFromAndOnlyItsClustersMayWait) {
  Place({2, 2, 1});
  Begin("m2");
  state_.revisions["r1"].servers = state_.revisions["r2"].servers;
  EXPECT_TRUE(FactsOf("m2").can_roll_back);
  EXPECT_TRUE(FactsOf("m3").can_wait);
  state_.revisions["r2"].shares["m2"] = 3;
  state_.revisions["r2"].servers = {"another list"};
  EXPECT_FALSE(FactsOf("m2").can_roll_back);
  EXPECT_FALSE(FactsOf("m3").can_wait);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::safety_test
