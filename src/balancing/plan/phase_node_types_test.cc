// Balancing per node type in the phase machine.
#include <gtest/gtest.h>

#include "balancing/plan/phase_machine_testing.h"

namespace evenkeel::balancing::phase_node_types_test {
namespace {

using testing::PhaseMachineFixture;
using testing::Types;
class PhaseNodeTypesTest : public PhaseMachineFixture {};

TEST_F(PhaseNodeTypesTest, S11ANodeTypeBalancedAShortTimeAgoIsPausedWhileAnotherRuns) {
  settings.separate_balancing_strategy_per_node_type = settings.subclustering_enabled = true;
  settings.node_types["A"].min_load_balancing_interval = 100;
  all_types = {"A", "B", "C"};
  Imbalance();
  imbalance.node_types = {"A", "B"};
  state.last_balancing_of_node_type = {{"A", 450}};
  NoteLoadChange(state, 499);
  PhaseDecision decision = Decide(500);
  EXPECT_EQ(decision.phase, Phase::kQuickBalancing);
  EXPECT_EQ(decision.node_types, Types{"B"});
  EXPECT_EQ(decision.paused_node_types, Types{"A"});
  EXPECT_EQ(LastBalancing(state, "A"), 450);
  EXPECT_EQ(LastBalancing(state, "B"), 500);
  EXPECT_EQ(LastBalancing(state, "C"), kLongAgo) << "the phase did not run for it";
  imbalance.node_types = {"A"};
  settings.min_load_balancing_interval = 5;
  decision = Decide(549);
  EXPECT_EQ(decision.phase, Phase::kNoActionNeeded);
  EXPECT_EQ(WhyNot(decision, Stage::kBalancing), SkipReason::kNodeTypesPaused);
  EXPECT_EQ(state.last_balancing, 500) << "so that it runs as soon as the pause is over";
  decision = Decide(550);
  EXPECT_EQ(decision.phase, Phase::kBalancing) << "what changed before B was balanced is news to A";
  EXPECT_EQ(decision.node_types, Types{"A"});
  EXPECT_EQ(WhyNot(Decide(700), Stage::kBalancing), SkipReason::kNoChange);
}

TEST_F(PhaseNodeTypesTest, S12AnIntervalThatNobodySetPausesNoNodeType) {
  settings = Settings();
  settings.separate_balancing_strategy_per_node_type = settings.subclustering_enabled = true;
  all_types = {"A"};
  Imbalance();
  imbalance.node_types = {"A"};
  NoteLoadChange(state, -1);
  EXPECT_EQ(Run(0), Phase::kQuickBalancing);
  NoteLoadChange(state, 1);
  EXPECT_EQ(Run(5), Phase::kQuickBalancing);
  settings.min_load_balancing_interval = 7;
  NoteLoadChange(state, 6);
  EXPECT_EQ(Run(11), Phase::kNoActionNeeded);
  EXPECT_EQ(Run(12), Phase::kQuickBalancing);
}

TEST_F(PhaseNodeTypesTest, S11APausedNodeTypeNeedNotBeListed) {
  settings.separate_balancing_strategy_per_node_type = settings.subclustering_enabled = true;
  settings.node_types["A"].min_load_balancing_interval = 100;
  settings.node_types["B"].min_load_balancing_interval = 10;
  Imbalance();
  imbalance.node_types = {"A", "B"};
  state.last_balancing = 50;
  NoteLoadChange(state, 60);
  EXPECT_EQ(Decide(110).node_types, Types{"B"});
  EXPECT_EQ(LastBalancing(state, "A"), 50);
}

TEST_F(PhaseNodeTypesTest, LookingAtBalancedOrUnchangedNodeTypesDoesNotPauseThem) {
  settings.separate_balancing_strategy_per_node_type = settings.subclustering_enabled = true;
  settings.node_types["A"].min_load_balancing_interval = 1000;
  all_types = {"A"};
  EXPECT_EQ(WhyNot(Decide(500), Stage::kBalancing), SkipReason::kBalanced);
  Imbalance();
  imbalance.node_types = {"A"};
  NoteLoadChange(state, 501);
  EXPECT_EQ(Run(560), Phase::kQuickBalancing);
  state.last_balancing_of_node_type.clear();
  state.last_balancing = -1000;
  state.last_load_change = -1000;
  EXPECT_EQ(WhyNot(Decide(700), Stage::kBalancing), SkipReason::kNoChange);
  NoteLoadChange(state, 701);
  EXPECT_EQ(Run(760), Phase::kBalancing);
}

}  // namespace
}  // namespace evenkeel::balancing::phase_node_types_test
