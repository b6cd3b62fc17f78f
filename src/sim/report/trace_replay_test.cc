#include "sim/report/trace_replay.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/input/file.h"
#include "base/json.h"

namespace evenkeel::sim::trace_replay_test {
namespace {

using namespace std::chrono_literals;

std::string Folder(const std::string& name, const std::string& nodes, const std::string& tasks) {
  const std::string folder = ::testing::TempDir() + name;
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(base::WriteFile(folder + "/openb_node_list_all_node.csv", "sn,cpu_milli,memory_mib,gpu,model\n" + nodes));
  EXPECT_TRUE(base::WriteFile(folder + "/openb_pod_list_default.csv",
                              "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
                              "scheduled_time\n" +
                                  tasks));
  return folder;
}

/// Tasks of 4 cores each, which arrive at `from` and leave at `to`.
std::vector<TraceTask> Tasks(int count, base::Duration from, base::Duration to, int64_t milli_gpus = 0) {
  std::vector<TraceTask> tasks;
  for (int i = 0; i < count; ++i) {
    tasks.push_back({.name = "task-" + std::to_string(from / 1s) + "-" + std::to_string(i),
                     .milli_cores = 4000,
                     .mebibytes = 4096,
                     .milli_gpus = milli_gpus,
                     .models = {},
                     .arrives = from,
                     .leaves = to});
  }
  return tasks;
}

TraceShape Shape(const std::string& name, int64_t nodes, int64_t gpus = 0) {
  return {
      .name = name, .model = gpus > 0 ? "T4" : "", .milli_cores = 16'000, .mebibytes = 65'536, .gpus = gpus, .nodes = nodes};
}

ReplayOptions Options() {
  ReplayOptions options;
  options.scenario = "test";
  options.kind = "openb";
  options.cloud.provision_delay = 30s;
  options.cloud.delete_delay = 10s;
  return options;
}

ReplayReport Replayed(const Trace& trace, const ReplayOptions& options = Options()) {
  auto report = ReplayTrace(trace, options);
  EXPECT_TRUE(report) << report.error().message();
  return report.value_or(ReplayReport{});
}

TEST(TraceTest, EqualNodesAreOneShapeAndTasksAreInTheOrderOfTheirArrival) {
  const auto trace = ReadTrace("openb", Folder("good", "a,8000,16384,0,\nb,8000,16384,0,\nc,96000,393216,8,V100M32\n",
                                               "late,1000,1024,0,0,,LS,Running,50,60,50\n"
                                               "early,2000,2048,1,460,T4|P100,BE,Pending,5,600,\n"));
  ASSERT_TRUE(trace) << trace.error().message();
  ASSERT_EQ(trace->shapes.size(), 2u);
  EXPECT_EQ(trace->shapes[0].name, "cpu-8c-16g");
  EXPECT_EQ(trace->shapes[0].nodes, 2);
  EXPECT_EQ(trace->shapes[1].name, "v100m32x8-96c-384g");
  EXPECT_EQ(trace->nodes(), 3);
  ASSERT_EQ(trace->tasks.size(), 2u);
  EXPECT_EQ(trace->tasks[0].name, "early");
  EXPECT_EQ(trace->tasks[0].milli_gpus, 460);
  EXPECT_EQ(trace->tasks[0].models, (std::vector<std::string>{"T4", "P100"}));
  EXPECT_EQ(trace->tasks[0].leaves, 600s);
}

TEST(TraceTest, WhatCannotBeReadIsOneLineThatNamesThePlace) {
  const std::string good = "a,8000,16384,0,\n", task = "t,1000,1024,0,0,,LS,Running,5,6,5\n";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {::testing::TempDir() + "nowhere", "--trace-dir"},
      {"", "--trace-dir"},
      {Folder("empty", "", task), "there is no row"},
      {Folder("short", "a,8000\n", task), "openb_node_list_all_node.csv:2: 2 columns where the first line names 5"},
      {Folder("number", "a,many,1,0,\n", task), ":2: cpu_milli: \"many\" is not a number"},
      {Folder("huge", good, "t,99999999999999999999,1,0,0,,LS,Running,5,6,5\n"), "is not a number"},
      {Folder("backwards", good, "t,1,1,0,0,,LS,Running,5,4,5\n"), "deletion_time: 4 is not after 5"},
  };
  for (const auto& [folder, expected] : mistakes) {
    const auto trace = ReadTrace("openb", folder);
    ASSERT_FALSE(trace) << expected;
    EXPECT_EQ(trace.error().code(), base::Code::kBadRequest);
    EXPECT_NE(trace.error().message().find(expected), std::string::npos) << trace.error().message();
    EXPECT_EQ(trace.error().message().find('\n'), std::string::npos);
  }
  EXPECT_FALSE(ReadTrace("other", ::testing::TempDir()));
}

TEST(TraceReplayTest, NodesComeForTasksAndGoAfterThem) {
  // Eight tasks fill two nodes; ten minutes after they have left and the nodes have had their delays, these are gone.
  Trace trace{{Shape("cpu", 10)}, Tasks(8, 0s, 1h)};
  const auto last = Tasks(1, 4h, 5h);
  trace.tasks.insert(trace.tasks.end(), last.begin(), last.end());
  const ReplayReport report = Replayed(trace);
  EXPECT_EQ(report.placed, 9);
  EXPECT_EQ(report.nodes_max, 2u);
  EXPECT_EQ(report.nodes_made, 3);
  EXPECT_EQ(report.evictions, 0);
  EXPECT_LE(report.pending.back(), 45s) << "provision delay and a loop";
  EXPECT_GE(report.pending.front(), 24s);
  EXPECT_GT(report.hours.nodes, 2.9);
  EXPECT_LT(report.hours.nodes, 3.6);
  EXPECT_DOUBLE_EQ(report.hours_static.nodes, 50);
  EXPECT_EQ(report.nodes_static, 10);
}

TEST(TraceReplayTest, AnUnderusedNodeIsDrainedWhenItsTasksFitElsewhere) {
  // Both nodes have one task left after a while: one of the two moves.
  Trace trace{{Shape("cpu", 10)}, Tasks(8, 0s, 4h)};
  for (int i = 0; i < 8; ++i) {
    if (i % 4 != 0) trace.tasks[static_cast<size_t>(i)].leaves = 1h;
  }
  const ReplayReport report = Replayed(trace);
  EXPECT_EQ(report.evictions, 1);
  EXPECT_EQ(report.placed, 8);
  EXPECT_LT(report.hours.nodes, 6);
}

TEST(TraceReplayTest, TasksShareGpusAndGoOnlyWhereThereAreAny) {
  const ReplayReport report = Replayed({{Shape("cpu", 10), Shape("gpu", 10, 1)}, Tasks(4, 0s, 1h, 500)});
  EXPECT_EQ(report.placed, 4);
  EXPECT_EQ(report.nodes_max, 2u) << "two halves of a GPU each";
  EXPECT_EQ(report.hours.by_shape.count("cpu"), 0u);
}

TEST(TraceReplayTest, WhatFitsNowhereLeavesWaiting) {
  std::vector<TraceTask> tasks = Tasks(8, 0s, 1h);
  tasks[3].milli_cores = 64'000;
  const ReplayReport full = Replayed({{Shape("cpu", 1)}, tasks});
  EXPECT_EQ(full.placed, 4) << "one node is all there is";
  EXPECT_EQ(full.tasks, 8);
  EXPECT_EQ(full.waiting_max, 8);
}

TEST(TraceReplayTest, TheSameSeedGivesTheSameReport) {
  Trace trace{{Shape("cpu", 10), Shape("gpu", 10, 2)}, {}};
  base::Random random(7);
  for (int i = 0; i < 60; ++i) {
    const base::Duration at = i * 1min;
    const auto next = Tasks(1, at, at + random.Between(base::Duration(10s), 2h), i % 3 == 0 ? 700 : 0);
    trace.tasks.insert(trace.tasks.end(), next.begin(), next.end());
  }
  ReplayOptions options = Options();
  options.autoscaler.expander = {"random"};
  options.timeline = true;
  options.seed = 3;
  const ReplayReport first = Replayed(trace, options), again = Replayed(trace, options);
  EXPECT_EQ(base::ToText(ToJson(first)), base::ToText(ToJson(again)));
  EXPECT_EQ(TimelineCsv(first.timeline), TimelineCsv(again.timeline));
  options.seed = 4;
  EXPECT_NE(TimelineCsv(Replayed(trace, options).timeline), TimelineCsv(first.timeline));
}

TEST(TraceReplayTest, LoopsThatArePassedOverWouldHaveChangedNothing) {
  Trace trace{{Shape("cpu", 10), Shape("gpu", 10, 2)}, {}};
  base::Random random(11);
  base::Duration at{};
  for (int i = 0; i < 150; ++i) {
    at += std::chrono::seconds(random.Between(int64_t{1}, int64_t{600}));
    const auto life = std::chrono::seconds(random.Between(int64_t{30}, int64_t{10'000}));
    const auto next = Tasks(1, at, at + life, i % 3 == 0 ? 700 : 0);
    trace.tasks.insert(trace.tasks.end(), next.begin(), next.end());
  }
  ReplayOptions options = Options();
  options.timeline = true;
  const ReplayReport some = Replayed(trace, options);
  options.every_loop = true;
  const ReplayReport all = Replayed(trace, options);
  EXPECT_GT(all.loops, 3 * some.loops);
  EXPECT_GT(all.evictions, 0);
  EXPECT_EQ(TimelineCsv(some.timeline), TimelineCsv(all.timeline));
}

TEST(TraceReplayTest, UnknownExpandersAreRefused) {
  ReplayOptions options = Options();
  options.autoscaler.expander = {"luck"};
  const auto report = ReplayTrace({{Shape("cpu", 1)}, Tasks(1, 0s, 1h)}, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), base::Code::kBadRequest);
}

}  // namespace
}  // namespace evenkeel::sim::trace_replay_test
