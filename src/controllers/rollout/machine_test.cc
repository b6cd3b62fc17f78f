#include "controllers/rollout/machine.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::rollout::machine_test {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

const base::Time kStart{std::chrono::seconds(1'767'225'600)};

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() {
    situation_.now = kStart;
    Want("r1");
    for (const char* name : {"a", "b", "c"}) situation_.clusters[name] = {.waits_for = "0 of 2", .progress = "0"};
  }

  void Want(const std::string& revision) {
    Target target;
    target.revision = revision;
    target.order = {"a", "b", "c"};
    situation_.target = target;
  }
  Action Tick(base::Duration later = 1s) {
    situation_.now += later;
    Step step = Advance(state_, situation_);
    state_ = step.state;
    reason_ = step.reason;
    EXPECT_EQ(CheckRecord(Last()), "");
    return step.action;
  }
  /// r1 is everywhere.
  void RollOut() {
    for (auto& [name, facts] : situation_.clusters) facts.ready = true;
    while (Tick() != Action::kNone) continue;
    EXPECT_EQ(Last().status, RecordStatus::kReady);
    for (auto& [name, facts] : situation_.clusters) facts.ready = false;
  }
  Record& Last() { return state_.records.back(); }

  Situation situation_;
  State state_;
  std::string reason_;
};

TEST_F(MachineTest, OneClusterAfterTheOther) {
  EXPECT_EQ(Tick(), Action::kAppended);
  EXPECT_EQ(Last().pending, (Names{"a", "b", "c"}));
  EXPECT_TRUE(state_.clusters.empty());
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(Last().deploying, (Names{"a"}));
  EXPECT_EQ(state_.clusters.at("a").revision, "r1");
  EXPECT_EQ(Tick(), Action::kNone);
  EXPECT_EQ(reason_, "WaitingForCluster");
  situation_.clusters["a"].ready = true;
  EXPECT_EQ(Tick(), Action::kCompleted);
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(Last().deploying, (Names{"b"}));
  EXPECT_EQ(state_.clusters.size(), 2u);
}

TEST_F(MachineTest, FinishesOnlyWhenTheWholeIsHealthy) {
  RollOut();
  Want("r2");
  for (auto& [name, facts] : situation_.clusters) facts.ready = true;
  situation_.unhealthy = "no leader";
  for (int i = 0; i < 7; ++i) EXPECT_NE(Tick(), Action::kNone);
  EXPECT_EQ(Tick(), Action::kNone);
  EXPECT_EQ(reason_, "WaitingForQuorum");
  situation_.unhealthy.clear();
  EXPECT_EQ(Tick(), Action::kFinished);
  EXPECT_EQ(state_.records.size(), 2u);
  EXPECT_EQ(Tick(), Action::kNone);
}

TEST_F(MachineTest, AClosedGateHoldsTheNextCluster) {
  Tick();
  situation_.clusters["a"].gate = "1 of 3 members is down";
  situation_.clusters["a"].gate_reason = "QuorumBudgetExhausted";
  EXPECT_EQ(Tick(), Action::kNone);
  EXPECT_EQ(reason_, "QuorumBudgetExhausted");
}

TEST_F(MachineTest, TheDeadlinePausesAndProgressStartsItAnew) {
  Tick();
  Tick();
  EXPECT_EQ(Tick(9min), Action::kNone);
  situation_.clusters["a"].progress = "1";
  situation_.clusters["a"].advance = {0, 1};
  EXPECT_EQ(Tick(), Action::kProgressed);
  EXPECT_EQ(Last().progress, "1");
  EXPECT_EQ(Tick(9min), Action::kNone);
  EXPECT_EQ(Tick(1min), Action::kPaused);
  EXPECT_EQ(reason_, kDeadlineExceeded);
  EXPECT_EQ(Last().deploying, (Names{"a"}));
  EXPECT_EQ(Tick(24h), Action::kNone);
  situation_.clusters["a"].ready = true;
  EXPECT_EQ(Tick(), Action::kResumed);
  EXPECT_EQ(Tick(), Action::kCompleted);
}

TEST_F(MachineTest, GoingToAndFroIsNoProgress) {
  situation_.clusters["a"].advance = {0, 0};
  Tick();
  Tick();
  int progressed = 0, ticks = 0;
  for (Action action = Action::kNone; action != Action::kPaused && ticks < 100; ++ticks) {
    situation_.clusters["a"].advance = {0, ticks % 2 == 0 ? 1 : 2};
    situation_.clusters["a"].progress = std::to_string(ticks % 2);
    action = Tick(1min);
    progressed += action == Action::kProgressed;
  }
  EXPECT_EQ(progressed, 2) << "the first time that each was reached";
  EXPECT_EQ(ticks, 12);
  EXPECT_EQ(reason_, kDeadlineExceeded);
}

TEST_F(MachineTest, WhatPassedByAnotherClockDoesNotCount) {
  Tick();
  Tick();
  situation_.now += 1h;
  situation_.watched_since = situation_.now;
  EXPECT_EQ(Tick(), Action::kNone) << "who looks now may be an hour ahead of who began";
  EXPECT_EQ(Tick(9min), Action::kNone);
  EXPECT_EQ(Tick(1min), Action::kPaused);
}

TEST_F(MachineTest, TimesFromTheFutureCountFromWhenTheyAreFirstSeen) {
  Tick();
  situation_.now += 4h;
  Tick();
  ASSERT_EQ(Last().deploying, (Names{"a"}));
  situation_.now -= 4h;
  EXPECT_EQ(Tick(), Action::kProgressed) << "who began was four hours ahead of who looks now";
  EXPECT_EQ(Tick(9min), Action::kNone);
  EXPECT_EQ(Tick(1min), Action::kPaused);
}

TEST_F(MachineTest, WhoeverWaitsForAClusterBehindItGoesBehindThatOne) {
  Tick();
  Tick();
  ASSERT_EQ(Last().deploying, (Names{"a"}));
  situation_.clusters["a"] = {
      .waits_for = "2 of 3 are in sync", .progress = "0", .can_wait = true, .can_mend = true, .in_flight = true};
  situation_.clusters["c"] = {.can_wait = true, .can_mend = true};
  EXPECT_EQ(Tick(10min), Action::kPaused) << "its own servers are down: nobody knows that they wait for others";
  situation_.clusters["a"].can_mend = false;
  EXPECT_EQ(Tick(), Action::kBroughtForward);
  EXPECT_EQ(Last().order, (Names{"c", "a", "b"}));
  EXPECT_EQ(Last().pending, (Names{"c", "a", "b"}));
  EXPECT_EQ(Last().status, RecordStatus::kDeploying);
  EXPECT_EQ(Tick(), Action::kHeld);
  situation_.clusters["a"].in_flight = false;
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(Last().deploying, (Names{"c"}));
  situation_.clusters["a"].can_mend = true;
  EXPECT_EQ(Tick(10min), Action::kPaused) << "c itself is down";
  situation_.clusters["c"].ready = true;
  EXPECT_EQ(Tick(), Action::kResumed);
  EXPECT_EQ(Tick(), Action::kCompleted);
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(state_.clusters.at("a"), (ClusterRevision{"r1", "", 3, false}));
}

TEST_F(MachineTest, BeforeItsDeadlineNobodyGoesBehindAnother) {
  Tick();
  Tick();
  situation_.clusters["a"] = {.progress = "0", .can_wait = true};
  situation_.clusters["c"] = {.can_wait = true, .can_mend = true};
  EXPECT_EQ(Tick(9min), Action::kNone);
  EXPECT_EQ(Tick(1min), Action::kBroughtForward);
}

TEST_F(MachineTest, AnUnreachableClusterPausesAndStopsTheClock) {
  Tick();
  Tick();
  situation_.clusters["a"].reachable = false;
  EXPECT_EQ(Tick(), Action::kPaused);
  EXPECT_EQ(reason_, kClusterUnreachable);
  EXPECT_EQ(Tick(24h), Action::kNone);
  situation_.clusters["a"].reachable = true;
  EXPECT_EQ(Tick(), Action::kResumed);
  EXPECT_EQ(Tick(9min), Action::kNone);
}

TEST_F(MachineTest, AnUnreachableClusterGoesToTheEndWhereThePolicySaysSoAndItMayWait) {
  Tick();
  situation_.clusters["a"].reachable = false;
  EXPECT_EQ(Tick(), Action::kNone);
  situation_.policy.skip_unreachable = true;
  EXPECT_EQ(Tick(), Action::kNone) << "it may not wait";
  situation_.clusters["a"].can_wait = true;
  EXPECT_EQ(Tick(), Action::kPostponed);
  EXPECT_EQ(Last().order, (Names{"b", "c", "a"}));
  for (const char* name : {"b", "c"}) {
    EXPECT_EQ(Tick(), Action::kStarted);
    EXPECT_EQ(Last().deploying, (Names{name}));
    situation_.clusters[name].ready = true;
    EXPECT_EQ(Tick(), Action::kCompleted);
  }
  EXPECT_EQ(Tick(), Action::kNone);
  EXPECT_EQ(reason_, kClusterUnreachable) << "the others have it; nobody is left to go before it";
  situation_.clusters["a"] = {.ready = true};
  EXPECT_EQ(Tick(), Action::kStarted);
}

TEST_F(MachineTest, AClusterThatMayBeWhatTheOthersWaitForGoesBeforeThem) {
  Tick();
  for (auto& [name, facts] : situation_.clusters) facts.gate = "c is down";
  situation_.clusters["c"].gate.clear();
  EXPECT_EQ(Tick(), Action::kNone);
  situation_.clusters["c"].can_mend = true;
  EXPECT_EQ(Tick(), Action::kNone) << "a may not wait";
  situation_.clusters["a"].can_wait = true;
  situation_.clusters["c"].reachable = false;
  EXPECT_EQ(Tick(), Action::kNone) << "c cannot be reached";
  situation_.clusters["c"].reachable = true;
  EXPECT_EQ(Tick(), Action::kBroughtForward);
  EXPECT_EQ(Last().order, (Names{"c", "a", "b"}));
  EXPECT_EQ(Last().pending, (Names{"c", "a", "b"}));
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(Last().deploying, (Names{"c"}));
}

TEST_F(MachineTest, ClustersThatAreOnTheirWayStopBeforeAnotherGoesFirst) {
  Tick();
  Tick();
  ASSERT_EQ(Last().deploying, (Names{"a"}));
  Want("r2");
  Tick();
  ASSERT_EQ(Last().pending, (Names{"a", "b", "c"}));
  situation_.clusters["a"] = {.gate = "c is down", .can_wait = true, .in_flight = true};
  situation_.clusters["c"] = {.can_wait = true, .can_mend = true};
  EXPECT_EQ(Tick(), Action::kBroughtForward);
  EXPECT_EQ(Tick(), Action::kHeld);
  EXPECT_EQ(state_.clusters.at("a"), (ClusterRevision{"r1", "", 2, false, true}));
  EXPECT_EQ(Tick(), Action::kNone) << "it may not know yet";
  situation_.clusters["a"].in_flight = false;
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(Last().deploying, (Names{"c"}));
  situation_.clusters["c"].ready = true;
  EXPECT_EQ(Tick(), Action::kCompleted);
  situation_.clusters["a"] = {};
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(state_.clusters.at("a"), (ClusterRevision{"r2", "", 3, false})) << "its turn has come";
}

TEST_F(MachineTest, AClusterOfWhichNobodyHearsHoldsUpOthersUnlessItMayBeSkipped) {
  Tick();
  Tick();
  Want("r2");
  Tick();
  situation_.clusters["a"] = {.reachable = false, .can_wait = true, .in_flight = true};
  situation_.policy.skip_unreachable = true;
  for (const char* name : {"b", "c"}) situation_.clusters[name].can_wait = true;
  EXPECT_EQ(Tick(), Action::kPostponed);
  situation_.policy.skip_unreachable = false;
  EXPECT_EQ(Tick(), Action::kHeld);
  EXPECT_EQ(Tick(), Action::kNone);
  situation_.policy.skip_unreachable = true;
  EXPECT_EQ(Tick(), Action::kStarted);
}

TEST_F(MachineTest, RollsOneClusterBackAndLeavesTheOthers) {
  RollOut();
  situation_.policy.on_failure = OnFailure::kRollback;
  for (auto& [name, facts] : situation_.clusters) facts.can_roll_back = true;
  Want("r2");
  Tick();
  Tick();
  situation_.clusters["a"].ready = true;
  Tick();
  Tick();
  EXPECT_EQ(Last().deploying, (Names{"b"}));
  EXPECT_EQ(Tick(10min), Action::kRollingBack);
  EXPECT_EQ(state_.clusters.at("a").revision, "r2");
  EXPECT_EQ(state_.clusters.at("b"), (ClusterRevision{"r1", "", 3, false})) << "going back is a turn, too";
  EXPECT_EQ(Tick(), Action::kNone);
  situation_.clusters["b"].ready = true;
  EXPECT_EQ(Tick(), Action::kFailed);
  EXPECT_EQ(Last().pending, (Names{"b", "c"}));
  EXPECT_EQ(Tick(), Action::kNone) << "until something else is wanted";
  Want("r3");
  EXPECT_EQ(Tick(), Action::kSuperseded);
  EXPECT_EQ(Last().order, (Names{"b", "a", "c"}));
}

TEST_F(MachineTest, GoesBackOnlyToWhatTheClusterWasReadyAt) {
  RollOut();
  situation_.policy.on_failure = OnFailure::kRollback;
  for (auto& [name, facts] : situation_.clusters) facts.can_roll_back = true;
  // Withdrawn before the cluster was ready at it: going back to it would be no help.
  for (const char* revision : {"r2", "r1"}) {
    Want(revision);
    Tick();
    EXPECT_EQ(Tick(), Action::kStarted);
  }
  EXPECT_EQ(Tick(10min), Action::kPaused);
  EXPECT_EQ(state_.clusters.at("a").revision, "r1");
  // Replaced before the cluster was ready at it: the one before that is gone back to.
  situation_.clusters["a"].ready = true;
  while (Last().status != RecordStatus::kReady) {
    for (auto& [name, facts] : situation_.clusters) facts.ready = true;
    ASSERT_NE(Tick(), Action::kNone);
  }
  for (auto& [name, facts] : situation_.clusters) facts.ready = false;
  for (const char* revision : {"r2", "r3"}) {
    Want(revision);
    Tick();
    EXPECT_EQ(Tick(), Action::kStarted);
  }
  EXPECT_EQ(Tick(10min), Action::kRollingBack);
  EXPECT_EQ(state_.clusters.at("a").revision, "r1");
}

TEST_F(MachineTest, EveryOtherRevisionIsAnotherTurnAlsoOneThatTheClusterHadBefore) {
  RollOut();
  EXPECT_EQ(state_.clusters.at("a"), (ClusterRevision{"r1", "", 1, true}));
  Want("r2");
  Tick();
  Tick();
  EXPECT_EQ(state_.clusters.at("a"), (ClusterRevision{"r2", "r1", 2, false}));
  Want("r1");
  EXPECT_EQ(Tick(), Action::kSuperseded);
  EXPECT_EQ(state_.clusters.at("a").turn, 2) << "it has not been given anything yet";
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(state_.clusters.at("a"), (ClusterRevision{"r1", "", 3, false})) << "r2 was withdrawn before anybody was well at it";
  situation_.clusters["a"].ready = true;
  Tick();
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(state_.clusters.at("b"), (ClusterRevision{"r1", "", 1, true})) << "it never had another one";
  state_.clusters["c"] = {"r2", "", kMaxTurn, true};
  situation_.clusters["b"].ready = true;
  Tick();
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(state_.clusters.at("c"), (ClusterRevision{"r1", "r2", 1, false}));
}

TEST_F(MachineTest, ThereIsNothingToRollBackToAtFirst) {
  situation_.policy.on_failure = OnFailure::kRollback;
  for (auto& [name, facts] : situation_.clusters) facts.can_roll_back = true;
  Tick();
  Tick();
  EXPECT_EQ(Tick(10min), Action::kPaused);
}

TEST_F(MachineTest, AFixSupersedesWithTheBrokenClusterFirst) {
  RollOut();
  Want("r2");
  Tick();
  Tick();
  situation_.clusters["a"].ready = true;
  Tick();
  Tick();
  EXPECT_EQ(Tick(10min), Action::kPaused);
  Want("r3");
  EXPECT_EQ(Tick(), Action::kSuperseded);
  EXPECT_EQ(state_.records[1].status, RecordStatus::kSuperseded);
  EXPECT_EQ(Last().order, (Names{"b", "a", "c"}));
  EXPECT_EQ(Tick(), Action::kStarted);
  EXPECT_EQ(state_.clusters.at("b"), (ClusterRevision{"r3", "r1", 3, false})) << "it was never well at r2";
}

TEST_F(MachineTest, WhoeverIsInTheMiddleOfAChangeStaysFirstHoweverOftenThatIsSuperseded) {
  RollOut();
  Want("r2");
  Tick();
  Tick();
  situation_.clusters["a"].ready = true;
  Tick();
  Tick();
  EXPECT_EQ(Last().deploying, (Names{"b"}));
  for (const char* revision : {"r3", "r4"}) {
    Want(revision);
    // Of another schedule, whose order would be another one.
    situation_.target->schedule_hash = revision;
    EXPECT_EQ(Tick(), Action::kSuperseded);
    EXPECT_EQ(Last().order, (Names{"b", "a", "c"})) << revision;
  }
}

TEST_F(MachineTest, TheForemostGoBeforeTheOneThatWasDeploying) {
  Tick();
  Tick();
  EXPECT_EQ(Last().deploying, (Names{"a"}));
  Want("r2");
  situation_.target->foremost = {"c"};
  EXPECT_EQ(Tick(), Action::kSuperseded);
  EXPECT_EQ(Last().order, (Names{"c", "a", "b"}));
}

TEST_F(MachineTest, PausedByTheUserNothingBegins) {
  situation_.policy.paused = true;
  Step step = Advance(state_, situation_);
  EXPECT_EQ(step.action, Action::kNone);
  EXPECT_EQ(step.reason, kPausedByUser);
  situation_.policy.paused = false;
  Tick();
  situation_.policy.paused = true;
  EXPECT_EQ(Tick(), Action::kPaused);
  Want("r2");
  EXPECT_EQ(Tick(), Action::kNone) << "a pause goes before everything";
  Want("r1");
  situation_.policy.paused = false;
  EXPECT_EQ(Tick(), Action::kResumed);
}

TEST_F(MachineTest, OfSeveralThingsThatAreDueTheFirstIsTaken) {
  RollOut();
  situation_.policy.on_failure = OnFailure::kRollback;
  for (auto& [name, facts] : situation_.clusters) facts.can_roll_back = true;
  Want("r2");
  Tick();
  Tick();
  // Everything at once: a pause, another wish, a cluster that is ready and past its deadline, and one that may begin.
  situation_.now += 1h;
  situation_.policy.paused = true;
  situation_.clusters["a"].ready = true;
  Want("r3");
  const auto due = [&] { return Advance(state_, situation_).action; };
  EXPECT_EQ(due(), Action::kPaused);
  situation_.policy.paused = false;
  EXPECT_EQ(due(), Action::kSuperseded);
  Want("r2");
  EXPECT_EQ(due(), Action::kCompleted) << "ready before its deadline is looked at";
  situation_.clusters["a"].reachable = false;
  EXPECT_EQ(due(), Action::kPaused) << "what it said last does not count";
  situation_.clusters["a"] = {.waits_for = "0 of 2", .progress = "0", .can_roll_back = true};
  EXPECT_EQ(due(), Action::kRollingBack);
  situation_.policy.on_failure = OnFailure::kPause;
  EXPECT_EQ(due(), Action::kPaused);
  situation_.policy.progress_deadline = 2h;
  EXPECT_EQ(due(), Action::kNone) << "b waits for a";
  situation_.clusters["a"].ready = true;
  Tick();
  EXPECT_EQ(due(), Action::kStarted);
}

TEST_F(MachineTest, AFailedRecordRestsUntilSomethingElseIsWanted) {
  RollOut();
  Want("r2");
  Tick();
  Tick();
  Last().status = RecordStatus::kFailed;
  Last().pending.insert(Last().pending.begin(), Last().deploying.front());
  Last().deploying.clear();
  for (auto& [name, facts] : situation_.clusters) facts.ready = true;
  EXPECT_EQ(Tick(24h), Action::kNone);
  situation_.policy.paused = true;
  Want("r3");
  EXPECT_EQ(Tick(), Action::kNone) << "paused";
  situation_.policy.paused = false;
  EXPECT_EQ(Tick(), Action::kSuperseded);
}

TEST_F(MachineTest, WithoutATargetNothingBeginsAndWhatIsUnderWayGoesOn) {
  situation_.target.reset();
  situation_.no_target_reason = "ScheduleOutdated";
  Step step = Advance(state_, situation_);
  EXPECT_EQ(step.action, Action::kNone);
  EXPECT_EQ(step.reason, "ScheduleOutdated");
  Want("r1");
  Tick();
  situation_.target.reset();
  EXPECT_EQ(Tick(), Action::kStarted);
  situation_.clusters["a"].ready = true;
  EXPECT_EQ(Tick(), Action::kCompleted);
}

TEST_F(MachineTest, HistoryIsTrimmedFromItsOldEnd) {
  situation_.policy.history_limit = 2;
  RollOut();
  Record old = Last();
  old.revision = "r0";
  state_.records.insert(state_.records.begin(), 4, old);
  EXPECT_EQ(Tick(), Action::kTrimmed);
  EXPECT_EQ(state_.records.size(), 2u);
  EXPECT_EQ(Last().revision, "r1");
  EXPECT_EQ(Tick(), Action::kNone);
}

TEST_F(MachineTest, RecordsWithoutARevisionAreComparedByGenerations) {
  RollOut();
  Last().revision.clear();
  Last().observed_generations = {{"zookeeper", 1}};
  situation_.target->generations = {{"zookeeper", 1}};
  EXPECT_EQ(Tick(), Action::kNone);
  situation_.target->generations = {{"zookeeper", 2}};
  EXPECT_EQ(Tick(), Action::kAppended);
  EXPECT_EQ(state_.records[0].status, RecordStatus::kReady);
}

TEST_F(MachineTest, AnotherUidIsAnotherTarget) {
  RollOut();
  Last().uid = "one";
  situation_.target->uid = "two";
  EXPECT_EQ(Tick(), Action::kAppended);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::machine_test
