// What the tests of the phase machine have in common: questions that answer from fields.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "balancing/plan/phase_machine.h"

namespace evenkeel::balancing::testing {

using Types = std::vector<std::string>;

// The settings of the original's scheduler tests: placement and constraint check whenever asked, balancing once a minute.
inline Settings SchedulerSettings() {
  Settings settings;
  settings.min_placement_interval = 0;
  settings.min_constraint_check_interval = 0;
  settings.min_load_balancing_interval = 60;
  settings.plb_action_retry_times = 1;
  settings.max_percentage_to_move = 1;
  settings.max_percentage_to_move_for_placement = 1;
  return settings;
}

class PhaseMachineFixture : public ::testing::Test {
 protected:
  PhaseDecision Decide(double at) {
    now = at;
    PhaseInput input;
    input.now = at;
    input.runtime = runtime;
    input.in_application_upgrade = in_upgrade;
    input.replicas = {replicas, replicas};
    input.node_types = all_types;
    input.throttles = &throttles;
    input.questions.has_movable_replica = [this] { return movable; };
    input.questions.placement_needed = [this] { return placement; };
    input.questions.violations = [this] { return violations; };
    input.questions.imbalance = [this] { return imbalance; };
    input.questions.score = [this] { return score; };
    return ChoosePhase(settings, input, state);
  }
  Phase Run(double at) { return Decide(at).phase; }
  static SkipReason WhyNot(const PhaseDecision& decision, Stage stage) {
    for (const PhaseSkip& skip : decision.skipped) {
      if (skip.stage == stage) return skip.reason;
    }
    ADD_FAILURE() << Name(stage) << " was not skipped";
    return SkipReason::kAnotherRan;
  }
  void Imbalance() { imbalance.balanced = false; }
  // All three stages are looked at, and balancing runs, at 0; at 1 all are due and constraints are violated.
  void BalanceWithEqualIntervals() {
    settings.min_placement_interval = settings.min_constraint_check_interval = 1;
    settings.min_load_balancing_interval = 1;
    Imbalance();
    NoteLoadChange(state, -1);
    ASSERT_EQ(Run(0), Phase::kQuickBalancing);
    violations = Violations::kSome;
    NoteLoadChange(state, 1);
  }
  void Move(Movement::Phase phase, int count, double at) {
    for (int i = 0; i < count; ++i) throttles.Record(settings, phase, "p" + std::to_string(i), at);
  }

  Settings settings = SchedulerSettings();
  PhaseState state;
  MovementThrottles throttles;
  RuntimeSwitches runtime;
  Types all_types;
  ImbalanceAnswer imbalance;
  Violations violations = Violations::kNone;
  bool movable = true, placement = false, in_upgrade = false;
  int64_t replicas = 100;
  double score = 1, now = 0;
};

}  // namespace evenkeel::balancing::testing
