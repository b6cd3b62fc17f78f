#include <gtest/gtest.h>

#include "balancing/model/cluster_testing.h"
#include "balancing/plan/plan.h"

namespace evenkeel::balancing::planner_memory_test {
namespace {

using testing::ClusterBuilder;

Cluster TwoGroups() {
  ClusterBuilder builder;
  builder.Node();
  builder.Loads("a", "M1", {1});
  builder.Loads("b", "M2", {1});
  builder.cluster().history.last_balancing = 7;
  builder.cluster().history.movements = {{.at = 3, .partition = 0}};
  return builder.cluster();
}

TEST(PlannerMemoryTest, BeginsWithTheHistoryInEveryGroup) {
  const PlannerMemory memory = MemoryOf({}, TwoGroups(), 100);
  ASSERT_EQ(memory.groups.size(), 2u);
  for (const GroupPhase& group : memory.groups) EXPECT_EQ(group.phase.last_balancing, 7);
  EXPECT_EQ(memory.groups[1].services, std::vector<std::string>{"b"});
  EXPECT_EQ(memory.throttles.Allowed({}, Movement::Phase::kBalancing, 2, 10).remaining, 999);
}

TEST(PlannerMemoryTest, GoesThroughJson) {
  PlannerMemory memory = MemoryOf({}, TwoGroups(), 100);
  memory.groups[1].phase.slow_balancing = true;
  const auto read = PlannerMemory::FromJson(memory.ToJson());
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->groups.size(), 2u);
  EXPECT_EQ(read->groups[1].phase, memory.groups[1].phase);
  EXPECT_EQ(read->groups[0].services, memory.groups[0].services);
  EXPECT_EQ(read->throttles, memory.throttles);
}

TEST(PlannerMemoryTest, RefusesWhatItDidNotWrite) {
  const auto error = [](std::string_view text) {
    const auto memory = PlannerMemory::FromJson(base::ParseJson(text, "t").value());
    return memory ? "" : memory.error().message();
  };
  EXPECT_EQ(error("[]"), "planner memory: not an object");
  EXPECT_EQ(error(R"({"groups": 1})"), "planner memory: groups: not a list");
  EXPECT_EQ(error(R"({"groups": [{}]})"), "planner memory: groups[0].phase: missing");
  EXPECT_EQ(error(R"({"groups": [{"services": [1], "phase": {}}]})"), "planner memory: groups[0].services[0]: not a text");
  EXPECT_EQ(error(R"({"groups": [{"phase": {"lastBalancing": "x"}}]})"),
            "planner memory: groups[0].phase.lastBalancing: not a number");
  EXPECT_NE(error(R"({"throttles": 3})"), "");
}

TEST(PlannerMemoryTest, NotesWhatTheClusterSaysHasChanged) {
  PlannerMemory memory = MemoryOf({}, TwoGroups(), 100);
  memory.groups[0].phase.placement_runs = 2;
  History history;
  history.last_balancing = 90;
  history.last_load_change = 80;
  NoteChanges(memory, history);
  EXPECT_EQ(memory.groups[0].phase.last_balancing, 7) << "what the planner did it knows better";
  EXPECT_EQ(memory.groups[0].phase.last_load_change, 80);
  EXPECT_EQ(memory.groups[0].phase.placement_runs, 2);
  history.last_node_down = 85;
  NoteChanges(memory, history);
  EXPECT_EQ(memory.groups[0].phase.last_node_down, 85);
  EXPECT_EQ(memory.groups[0].phase.last_state_change, 85);
  EXPECT_EQ(memory.groups[0].phase.placement_runs, 0) << "the next placement is one without moves again";
  NoteChanges(memory, {});
  EXPECT_EQ(memory.groups[0].phase.last_state_change, 85);
}

}  // namespace
}  // namespace evenkeel::balancing::planner_memory_test
