#include "balancing/plan/phase_machine.h"

#include <gtest/gtest.h>

#include <functional>

#include "balancing/plan/phase_machine_testing.h"

namespace evenkeel::balancing::phase_machine_test {
namespace {

using testing::PhaseMachineFixture;
using testing::SchedulerSettings;
class PhaseMachineTest : public PhaseMachineFixture {};

TEST_F(PhaseMachineTest, T01NothingToDoIsNoActionEachTime) {
  for (const double at : {0.0, 1.0, 100.0, 100.0}) {
    const PhaseDecision decision = Decide(at);
    EXPECT_EQ(decision.phase, Phase::kNoActionNeeded);
    EXPECT_EQ(decision.skipped.size(), 3u);
    EXPECT_EQ(WhyNot(decision, Stage::kPlacement), SkipReason::kNotNeeded);
    EXPECT_EQ(WhyNot(decision, Stage::kConstraintCheck), SkipReason::kNotNeeded);
  }
}

TEST_F(PhaseMachineTest, NothingIsDueBetweenTwoLooksAtTheState) {
  settings.plb_refresh_gap = 2;
  placement = true;
  EXPECT_EQ(Run(10), Phase::kPlacement);
  const PhaseDecision early = Decide(11.5);
  EXPECT_EQ(early.phase, Phase::kNoActionNeeded);
  for (const Stage stage : {Stage::kPlacement, Stage::kConstraintCheck, Stage::kBalancing}) {
    EXPECT_EQ(WhyNot(early, stage), SkipReason::kNotRefreshed);
  }
  EXPECT_EQ(early.skipped[0].text, "the state is looked at again in 0.5s (PLBRefreshGap)");
  EXPECT_EQ(NextStage(settings, state), 12);
  EXPECT_NE(Run(12), Phase::kNoActionNeeded) << "a look that found nothing due did not count";
  EXPECT_EQ(WhyNot(Decide(3), Stage::kPlacement), SkipReason::kNotDue) << "the clock was set back";
  settings.plb_refresh_gap = std::nullopt;
  EXPECT_EQ(WhyNot(Decide(3.1), Stage::kPlacement), SkipReason::kNotDue);
}

TEST_F(PhaseMachineTest, T02PlacementEscalatesToMovesOnceUnlessMovesAreThrottled) {
  placement = true;
  EXPECT_EQ(Run(0), Phase::kPlacement);
  EXPECT_EQ(Run(1), Phase::kPlacementWithMove);
  EXPECT_EQ(Run(2), Phase::kPlacement);
  const std::function<void()> limits[] = {[&] { settings.global_movement_throttle_threshold = 11; },
                                          [&] { settings.global_movement_throttle_threshold_percentage = 0.1; },
                                          [&] { settings.global_movement_throttle_threshold_for_placement = 11; },
                                          [&] { settings.global_movement_throttle_threshold_percentage_for_placement = 0.1; },
                                          [&] { settings.max_percentage_to_move_for_placement = 0; }};
  Move(Movement::Phase::kPlacement, 11, 2);
  double at = 3;
  for (const auto& limit : limits) {
    settings = SchedulerSettings();
    limit();
    EXPECT_EQ(Run(at++), Phase::kPlacement);
    EXPECT_EQ(Run(at++), Phase::kPlacement);
  }
  settings = SchedulerSettings();
  EXPECT_EQ(Run(at++), Phase::kPlacementWithMove);
  EXPECT_EQ(Run(at++), Phase::kPlacement);
  placement = false;
  EXPECT_EQ(Run(at++), Phase::kNoActionNeeded);
  placement = true;
  EXPECT_EQ(Run(at++), Phase::kPlacement);
}

TEST_F(PhaseMachineTest, T02ThreePlacementsComeBeforeOneWithMovesByDefault) {
  settings.plb_action_retry_times = 3;
  settings.max_percentage_to_move_for_placement = 0.1;
  placement = true;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) {
      const PhaseDecision plain = Decide(10 * round + i);
      EXPECT_EQ(plain.phase, Phase::kPlacement);
      EXPECT_EQ(plain.movement_slots, 0);
    }
    const PhaseDecision with_move = Decide(10 * round + 3);
    EXPECT_EQ(with_move.phase, Phase::kPlacementWithMove);
    EXPECT_EQ(with_move.movement_slots, 10) << "a tenth of the replicas";
  }
  EXPECT_EQ(Run(20), Phase::kPlacement);
  EXPECT_EQ(Run(21), Phase::kPlacement);
  NoteStateChange(state, 21.5);
  EXPECT_EQ(Run(22), Phase::kPlacement) << "a state change begins anew";
  EXPECT_EQ(Run(23), Phase::kPlacement);
  EXPECT_EQ(Run(24), Phase::kPlacement);
  EXPECT_EQ(Run(25), Phase::kPlacementWithMove);
}

TEST_F(PhaseMachineTest, PlacementNeverEscalatesWhereExistingReplicasStay) {
  settings.move_existing_replica_for_placement = false;
  placement = true;
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Run(i), Phase::kPlacement);
}

TEST_F(PhaseMachineTest, T04ConstraintCheckKeepsItsIntervalAndNeedsAMovableReplica) {
  settings.min_constraint_check_interval = 5;
  violations = Violations::kSome;
  EXPECT_EQ(Run(0), Phase::kConstraintCheck);
  EXPECT_EQ(Run(1), Phase::kNoActionNeeded);
  const PhaseDecision early = Decide(4.9);
  EXPECT_EQ(early.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhyNot(early, Stage::kConstraintCheck), SkipReason::kNotDue);
  EXPECT_EQ(Run(5), Phase::kConstraintCheck);
  movable = false;
  const PhaseDecision stuck = Decide(10);
  EXPECT_EQ(stuck.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhyNot(stuck, Stage::kConstraintCheck), SkipReason::kNothingMovable);
}

TEST_F(PhaseMachineTest, T05BalancingAlternatesAndIsNotRetriedWithoutAChange) {
  Imbalance();
  NoteLoadChange(state, -1);
  EXPECT_EQ(Run(0), Phase::kQuickBalancing);
  EXPECT_EQ(Run(59), Phase::kNoActionNeeded);
  NoteLoadChange(state, 59.5);
  EXPECT_EQ(Run(60), Phase::kBalancing);
  const PhaseDecision unchanged = Decide(120);
  EXPECT_EQ(unchanged.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhyNot(unchanged, Stage::kBalancing), SkipReason::kNoChange);
  EXPECT_EQ(state.last_balancing, 120) << "a throttle of small changes counts as balancing";
  NoteLoadChange(state, 120);
  NoteStateChange(state, 120);
  EXPECT_EQ(Run(180), Phase::kNoActionNeeded) << "what changed at that very instant was seen";
  NoteLoadChange(state, 200);
  EXPECT_EQ(Run(240), Phase::kQuickBalancing);
  NoteNodeUp(state, 250);
  const PhaseDecision delayed = Decide(300);
  EXPECT_EQ(delayed.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhyNot(delayed, Stage::kBalancing), SkipReason::kNodeChange);
  EXPECT_EQ(state.last_balancing, 240) << "a node change leaves it overdue";
  EXPECT_EQ(Run(369.9), Phase::kNoActionNeeded);
  EXPECT_EQ(Run(370), Phase::kBalancing) << "120 seconds after the node, without waiting for the interval";
}

TEST_F(PhaseMachineTest, T05ThreeQuickRunsAndThreeSlowOnesByDefault) {
  settings.plb_action_retry_times = 3;
  Imbalance();
  for (int i = 0; i < 12; ++i) {
    NoteLoadChange(state, 60 * i);
    EXPECT_EQ(Run(60 * i + 1), i % 6 < 3 ? Phase::kQuickBalancing : Phase::kBalancing) << i;
  }
  for (const double at : {801.0, 861.0, 921.0, 981.0}) {
    NoteLoadChange(state, at - 1);
    EXPECT_EQ(Run(at), at < 981 ? Phase::kQuickBalancing : Phase::kBalancing);
  }
  imbalance.balanced = true;
  EXPECT_EQ(WhyNot(Decide(1041), Stage::kBalancing), SkipReason::kBalanced);
  Imbalance();
  for (int i = 0; i < 3; ++i) {
    NoteLoadChange(state, 1100 + 60 * i);
    EXPECT_EQ(Run(1101 + 60 * i), Phase::kQuickBalancing) << "being balanced begins anew";
  }
}

TEST_F(PhaseMachineTest, T06ASmallRiseOfTheScoreDoesNotBalanceAfterMereLoadChanges) {
  settings.avg_std_dev_delta_throttle_threshold = 0.01;
  Imbalance();
  NoteLoadChange(state, -1);
  EXPECT_EQ(Run(0), Phase::kQuickBalancing) << "no score is known yet";
  NoteScore(state, 0.1);
  NoteLoadChange(state, 10);
  score = 0.1 * 1.01 + 1e-5;
  EXPECT_EQ(Run(60), Phase::kBalancing);
  NoteScore(state, 0.1);
  NoteLoadChange(state, 70);
  score = 0.1 * 1.01 - 1e-5;
  const PhaseDecision small = Decide(120);
  EXPECT_EQ(small.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhyNot(small, Stage::kBalancing), SkipReason::kSmallChange);
  NoteStateChange(state, 130);
  EXPECT_EQ(Run(180), Phase::kQuickBalancing);
  NoteScore(state, 0.1);
  NoteNodeUp(state, 200);
  EXPECT_EQ(Run(240), Phase::kNoActionNeeded);
}

TEST_F(PhaseMachineTest, T07WithoutThatThresholdALoadChangeSuffices) {
  Imbalance();
  NoteLoadChange(state, -1);
  EXPECT_EQ(Run(0), Phase::kQuickBalancing);
  NoteScore(state, 0.1);
  NoteLoadChange(state, 1);
  score = 0.05;
  EXPECT_EQ(Run(60), Phase::kBalancing);
}

TEST_F(PhaseMachineTest, T08TooManyMovementsStopBalancingUntilTheWindowHasPassed) {
  settings.global_movement_throttle_threshold = 10;
  settings.plb_action_retry_times = 1;
  Imbalance();
  NoteLoadChange(state, -1);
  EXPECT_EQ(Run(0), Phase::kQuickBalancing);
  Move(Movement::Phase::kBalancing, 10, 0);
  NoteStateChange(state, 1);
  const PhaseDecision throttled = Decide(60);
  EXPECT_EQ(throttled.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(throttled.movement_slots, 0);
  EXPECT_EQ(WhyNot(throttled, Stage::kBalancing), SkipReason::kMovementThrottle);
  EXPECT_EQ(state.last_balancing, 0);
  const PhaseDecision later = Decide(600);
  EXPECT_EQ(later.phase, Phase::kBalancing);
  EXPECT_EQ(later.movement_slots, 10);
}

TEST_F(PhaseMachineTest, TooManyThrottledPartitionsStopBalancing) {
  Imbalance();
  imbalance.partitions = 10;
  imbalance.throttled_partitions = 6;
  EXPECT_EQ(WhyNot(Decide(0), Stage::kBalancing), SkipReason::kPartitionsThrottled);
  EXPECT_EQ(state.last_balancing, kLongAgo);
  imbalance.throttled_partitions = 5;
  EXPECT_EQ(Run(1), Phase::kQuickBalancing) << "half of them is not too many";
}

TEST_F(PhaseMachineTest, T10BalancingDisabledByTheClusterLeavesTheOtherPhases) {
  runtime.balancing_enabled = false;
  Imbalance();
  violations = Violations::kSome;
  EXPECT_EQ(Run(0), Phase::kConstraintCheck);
  placement = true;
  EXPECT_EQ(Run(1), Phase::kPlacement);
  placement = false;
  EXPECT_EQ(Run(2), Phase::kConstraintCheck);
}

TEST_F(PhaseMachineTest, T11AnInterruptedRunIsFollowedByTheNextVariant) {
  Imbalance();
  NoteLoadChange(state, -1);
  EXPECT_EQ(Run(0), Phase::kQuickBalancing);
  NoteStateChange(state, 3);
  EXPECT_EQ(Run(60), Phase::kBalancing);
  EXPECT_EQ(Run(120), Phase::kNoActionNeeded);
}

TEST_F(PhaseMachineTest, T12NoPhaseRunsBeforeItsInterval) {
  settings.min_placement_interval = 1.01;
  settings.min_constraint_check_interval = 5;
  EXPECT_EQ(Run(0), Phase::kNoActionNeeded);
  placement = true;
  violations = Violations::kSome;
  EXPECT_EQ(Run(1), Phase::kNoActionNeeded);
  EXPECT_EQ(Run(1.01), Phase::kPlacement);
  placement = false;
  EXPECT_EQ(Run(4.99), Phase::kNoActionNeeded);
  EXPECT_EQ(Run(5), Phase::kConstraintCheck);
}

TEST_F(PhaseMachineTest, T13BalancingWaitsAfterANewNode) {
  settings.balancing_delay_after_new_node = 10;
  settings.min_load_balancing_interval = 5;
  Imbalance();
  NoteNodeUp(state, 0);
  EXPECT_EQ(Run(6), Phase::kNoActionNeeded);
  EXPECT_EQ(Run(12), Phase::kQuickBalancing);
}

TEST_F(PhaseMachineTest, T14BalancingWaitsAfterANodeWentDown) {
  settings.balancing_delay_after_node_down = 10;
  settings.min_load_balancing_interval = 5;
  Imbalance();
  NoteNodeDown(state, 0);
  const PhaseDecision waiting = Decide(6);
  EXPECT_EQ(waiting.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(waiting.skipped.back().text, "a node went down 6s ago; it waits 10s");
  EXPECT_EQ(Run(12), Phase::kQuickBalancing);
}

TEST_F(PhaseMachineTest, T15BalancingRunsWhenTheClusterEnablesItAgain) {
  runtime.balancing_enabled = false;
  Imbalance();
  EXPECT_EQ(WhyNot(Decide(0), Stage::kBalancing), SkipReason::kDisabled);
  runtime.balancing_enabled = true;
  EXPECT_EQ(Run(1), Phase::kQuickBalancing);
}

TEST_F(PhaseMachineTest, T16PlacementComesFirstWhenAllAreDueAtOnce) {
  BalanceWithEqualIntervals();
  placement = true;
  const PhaseDecision decision = Decide(1);
  EXPECT_EQ(decision.phase, Phase::kPlacement);
  EXPECT_EQ(WhyNot(decision, Stage::kConstraintCheck), SkipReason::kAnotherRan);
  EXPECT_EQ(WhyNot(decision, Stage::kBalancing), SkipReason::kAnotherRan);
}

TEST_F(PhaseMachineTest, T17ConstraintCheckComesBeforeBalancing) {
  BalanceWithEqualIntervals();
  const PhaseDecision decision = Decide(1);
  EXPECT_EQ(decision.phase, Phase::kConstraintCheck);
  EXPECT_EQ(decision.movement_slots, kUnlimited);
  EXPECT_EQ(Run(1.5), Phase::kBalancing) << "which has been overdue since 1";
}

TEST_F(PhaseMachineTest, S13NodesThatFailWithinOneRefreshGapAreHandledAtOnce) {
  settings = Settings();
  EXPECT_EQ(Run(10), Phase::kNoActionNeeded);
  for (const double at : {10.1, 10.2, 10.3}) NoteNodeDown(state, at);
  placement = true;
  EXPECT_EQ(Run(12), Phase::kPlacement) << "one run for all of them";
  placement = false;
  EXPECT_EQ(Run(14), Phase::kNoActionNeeded);
  EXPECT_EQ(state.last_node_down, 10.3);
}

TEST_F(PhaseMachineTest, S14PlacementRunsBeforeBalancingAndOneAtATime) {
  settings = Settings();
  placement = true;
  Imbalance();
  const PhaseDecision decision = Decide(100);
  EXPECT_EQ(decision.phase, Phase::kPlacement);
  EXPECT_EQ(WhyNot(decision, Stage::kBalancing), SkipReason::kAnotherRan);
  placement = false;
  EXPECT_EQ(Run(101), Phase::kQuickBalancing);
}

TEST_F(PhaseMachineTest, TheLongestOverdueStageIsAskedFirst) {
  settings.min_placement_interval = 10;
  settings.min_constraint_check_interval = 2;
  placement = true;
  violations = Violations::kSome;
  state.last_placement = 0;
  state.last_constraint_check = 7;
  EXPECT_EQ(Run(11), Phase::kConstraintCheck) << "due at 9, placement at 10";
  EXPECT_EQ(Run(11), Phase::kPlacement);
}

TEST_F(PhaseMachineTest, ConstraintCheckIsLightAfterNodesCameOrWent) {
  NoteNodeDown(state, 0);
  violations = Violations::kLightOnly;
  PhaseDecision decision = Decide(119);
  EXPECT_EQ(decision.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhyNot(decision, Stage::kConstraintCheck), SkipReason::kOnlyLight);
  EXPECT_FALSE(decision.light);
  violations = Violations::kSome;
  decision = Decide(119);
  EXPECT_EQ(decision.phase, Phase::kConstraintCheck);
  EXPECT_TRUE(decision.light);
  violations = Violations::kLightOnly;
  decision = Decide(120);
  EXPECT_EQ(decision.phase, Phase::kConstraintCheck);
  EXPECT_FALSE(decision.light);
  NoteNodeUp(state, 120);
  EXPECT_EQ(Run(239), Phase::kNoActionNeeded);
  EXPECT_EQ(Run(240), Phase::kConstraintCheck);
}

TEST_F(PhaseMachineTest, APlacementAfterAStateChangeIsPlainAlsoInAHistory) {
  placement = true;
  state.placement_with_move = true;
  state.last_placement = state.last_state_change = 5;
  EXPECT_EQ(Run(6), Phase::kPlacementWithMove);
  state.placement_with_move = true;
  state.last_state_change = 7;
  EXPECT_EQ(Run(8), Phase::kPlacement);
}

TEST_F(PhaseMachineTest, B37BalancingPausesDuringApplicationUpgradesOnlyWhereItIsSet) {
  Imbalance();
  in_upgrade = true;
  settings.allow_balancing_during_application_upgrade = false;
  EXPECT_EQ(WhyNot(Decide(0), Stage::kBalancing), SkipReason::kDisabled);
  settings.allow_balancing_during_application_upgrade = true;
  EXPECT_EQ(Run(1), Phase::kQuickBalancing);
}

TEST_F(PhaseMachineTest, SettingsSwitchPhasesOff) {
  Imbalance();
  violations = Violations::kSome;
  settings.load_balancing_enabled = settings.constraint_check_enabled = false;
  const PhaseDecision decision = Decide(0);
  EXPECT_EQ(WhyNot(decision, Stage::kBalancing), SkipReason::kDisabled);
  EXPECT_EQ(WhyNot(decision, Stage::kConstraintCheck), SkipReason::kDisabled);
  settings = SchedulerSettings();
  violations = Violations::kNone;
  settings.max_percentage_to_move = 0;
  EXPECT_EQ(WhyNot(Decide(0), Stage::kBalancing), SkipReason::kNothingMayMove);
}

TEST_F(PhaseMachineTest, BalancingOfAClusterWithoutHistoryRuns) {
  Imbalance();
  state = PhaseStateOf(History());
  EXPECT_EQ(Run(0), Phase::kQuickBalancing);
}

TEST_F(PhaseMachineTest, AsksNothingWhoseAnswerDoesNotMatter) {
  int asked = 0;
  PhaseInput input;
  input.replicas = {1, 1};
  input.questions.placement_needed = [] { return true; };
  input.questions.has_movable_replica = [&] { return ++asked > 0; };
  input.questions.violations = [&] { return ++asked, Violations::kSome; };
  input.questions.imbalance = [&] { return ++asked, ImbalanceAnswer(); };
  input.questions.score = [&] { return ++asked, 1.0; };
  EXPECT_EQ(ChoosePhase(settings, input, state).phase, Phase::kPlacement);
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace evenkeel::balancing::phase_machine_test
