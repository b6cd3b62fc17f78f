#include "balancing/model/phase_state.h"

#include <gtest/gtest.h>

namespace evenkeel::balancing::phase_state_test {
namespace {

base::Result<PhaseState> ReadText(std::string_view text) {
  const auto json = base::ParseJson(text, "test");
  return PhaseState::Read(base::Field(&*json, "phase state"));
}

TEST(PhaseStateTest, SurvivesAsJson) {
  PhaseState state;
  state.last_placement = 1.5;
  state.last_constraint_check = 2;
  state.last_balancing = 3;
  state.last_state_change = 4;
  state.last_load_change = 5;
  state.last_node_up = 6;
  state.last_node_down = 7;
  state.last_balancing_of_node_type = {{"A", 8}, {"", 9}};
  state.placement_runs = 10;
  state.placement_with_move = true;
  state.balancing_runs = 11;
  state.slow_balancing = true;
  state.last_score = 0.25;
  const auto copy = ReadText(base::ToText(state.ToJson()));
  ASSERT_TRUE(copy.has_value()) << copy.error().message();
  EXPECT_EQ(*copy, state);
  EXPECT_EQ(*ReadText("{}"), PhaseState());
}

TEST(PhaseStateTest, NewsOfTheOtherDayDoNotTurnBackTime) {
  PhaseState state;
  NoteNodeUp(state, 10);
  NoteNodeUp(state, 9);
  NoteNodeDown(state, 8);
  NoteLoadChange(state, 7);
  NoteLoadChange(state, 6);
  EXPECT_EQ(state.last_node_up, 10);
  EXPECT_EQ(state.last_node_down, 8);
  EXPECT_EQ(state.last_state_change, 10);
  EXPECT_EQ(state.last_load_change, 7);
}

TEST(PhaseStateTest, RefusesWhatItCannotBe) {
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {"[]", "phase state: not an object"},
      {R"({"lastPlacement": "x"})", "phase state: lastPlacement: not a number"},
      {R"({"balancingRuns": -1})", "phase state: balancingRuns: not a whole number from 0 to 1000000000"},
      {R"({"slowBalancing": 1})", "phase state: slowBalancing: not true or false"},
      {R"({"lastBalancingOfNodeType": 1})", "phase state: lastBalancingOfNodeType: not an object"},
      {R"({"lastBalancingOfNodeType": {"A": "x"}})", "phase state: lastBalancingOfNodeType.A: not a number"}};
  for (const auto& [text, message] : wrong) {
    const auto state = ReadText(text);
    ASSERT_FALSE(state.has_value()) << text;
    EXPECT_EQ(state.error().message(), message);
  }
}

}  // namespace
}  // namespace evenkeel::balancing::phase_state_test
