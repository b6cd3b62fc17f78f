#include "cli/commands/simulate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "base/input/file.h"
#include "base/json.h"

namespace evenkeel::cli::simulate_test {
namespace {

std::string ScenarioFile(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  EXPECT_TRUE(base::WriteFile(path, text));
  return path;
}

constexpr char kSmall[] = "name: small\nmembers: 2\nreplicas: 2\nduration: 20s\nheal: 5m\nquiet: 10s\n";

TEST(SimulateTest, SeedsAreARangeOrACount) {
  EXPECT_EQ(ParseSeeds("7..9")->first, 7u);
  EXPECT_EQ(ParseSeeds("7..9")->last, 9u);
  EXPECT_EQ(ParseSeeds("200")->first, 1u);
  EXPECT_EQ(ParseSeeds("200")->last, 200u);
  for (const char* wrong : {"", "0", "-1", "9..7", "1..", "..2", "a", "1..2x", "0..99999999"}) {
    const auto parsed = ParseSeeds(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code(), base::Code::kBadRequest);
  }
}

TEST(SimulateTest, OneSeedGivesASummaryAndATimeline) {
  SimulateOptions options{.scenario = ScenarioFile("small.yaml", kSmall), .seed = 3, .output = "json"};
  options.timeline = ::testing::TempDir() + "timeline.csv";
  options.report.file = ::testing::TempDir() + "simulate.html";
  std::ostringstream out;
  const auto ran = Simulate(options, out);
  ASSERT_TRUE(ran) << ran.error().message();
  const auto summary = base::ParseJson(out.str(), "summary");
  ASSERT_TRUE(summary);
  EXPECT_EQ(base::FindInt(*summary, {"seed"}), 3);
  EXPECT_GT(base::FindInt(*summary, {"writes", "hub create leases"}), 0);
  EXPECT_TRUE(base::FindArray(*summary, {"violations"}).empty());
  const auto csv = base::ReadFile(options.timeline);
  ASSERT_TRUE(csv);
  EXPECT_TRUE(csv->starts_with("seconds,party,event,detail\n")) << *csv;
  EXPECT_NE(csv->find(",member-1,owner,"), std::string::npos) << *csv;
  const auto page = base::ReadFile(options.report.file);
  ASSERT_TRUE(page);
  EXPECT_NE(page->find(R"("title":"small")"), std::string::npos);
}

TEST(SimulateTest, ManySeedsAreSummedUp) {
  std::ostringstream out;
  const auto ran = Simulate({.scenario = ScenarioFile("small.yaml", kSmall), .seeds = "3..6", .output = "json"}, out);
  ASSERT_TRUE(ran) << ran.error().message();
  const auto summary = base::ParseJson(out.str(), "summary");
  ASSERT_TRUE(summary);
  EXPECT_EQ(base::FindInt(*summary, {"seeds"}), 4);
  EXPECT_EQ(base::FindInt(*summary, {"failedSeeds"}, -1), 0);
}

TEST(SimulateTest, AFailureSaysHowToRepeatItInOneLine) {
  // No fleet converges in a second.
  const std::string file = ScenarioFile("impossible.yaml", "name: impossible\nmembers: 2\nduration: 1s\nheal: 1s\n");
  for (const SimulateOptions& options : {SimulateOptions{.scenario = file, .seed = 5}, {.scenario = file, .seeds = "5..6"}}) {
    std::ostringstream out;
    const auto ran = Simulate(options, out);
    ASSERT_FALSE(ran);
    EXPECT_EQ(base::ExitStatus(ran.error().code()), 1);
    EXPECT_EQ(ran.error().message().find('\n'), std::string::npos);
    EXPECT_TRUE(ran.error().message().ends_with("repeat with: evenkeel simulate " + file + " --seed 5"))
        << ran.error().message();
  }
}

TEST(SimulateTest, TheLastLineIsTheVerdict) {
  const std::string file = ScenarioFile("small.yaml", kSmall);
  const auto last = [](const std::string& text) { return text.substr(text.rfind('\n', text.size() - 2) + 1); };
  std::ostringstream one, many, broken;
  ASSERT_TRUE(Simulate({.scenario = file, .seed = 3}, one));
  EXPECT_TRUE(std::regex_match(last(one.str()),
                               std::regex("held: 1 seed, \\d+ faults, [1-9]\\d+ checks: no checker found anything wrong; "
                                          "see it again: evenkeel simulate \\S+ --seed 3 --verbose\n")))
      << last(one.str());
  ASSERT_TRUE(Simulate({.scenario = file, .seeds = "3..4"}, many));
  EXPECT_TRUE(last(many.str()).starts_with("held: 2 seeds, ")) << last(many.str());
  const std::string impossible = ScenarioFile("impossible.yaml", "name: impossible\nmembers: 2\nduration: 1s\nheal: 1s\n");
  ASSERT_FALSE(Simulate({.scenario = impossible, .seeds = "5..6"}, broken));
  EXPECT_TRUE(last(broken.str()).starts_with("broken: 2 seeds, ")) << last(broken.str());
  EXPECT_TRUE(last(broken.str())
                  .ends_with(": 2 of them failed; see it again: evenkeel simulate " + impossible + " --seed 5 --verbose\n"))
      << last(broken.str());
}

TEST(SimulateTest, ATraceIsReplayedFromItsFolder) {
  const std::string folder = ::testing::TempDir() + "trace";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(
      base::WriteFile(folder + "/openb_node_list_all_node.csv", "sn,cpu_milli,memory_mib,gpu,model\na,8000,16384,0,\n"));
  ASSERT_TRUE(base::WriteFile(folder + "/openb_pod_list_default.csv",
                              "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
                              "scheduled_time\nt,1000,1024,0,0,,LS,Running,60,3660,60\n"));
  const std::string file = ScenarioFile("trace.yaml", "name: trace\ntrace: {kind: openb, path: " + folder + "}\n");
  std::ostringstream named, given;
  SimulateOptions options{.scenario = file, .output = "json"};
  options.timeline = ::testing::TempDir() + "trace.csv";
  options.report.file = ::testing::TempDir() + "trace.html";
  ASSERT_TRUE(Simulate(options, named));
  ASSERT_TRUE(Simulate(
      {.scenario = ScenarioFile("small.yaml", kSmall), .output = "json", .trace = "openb", .trace_dir = folder}, given));
  for (const std::string& text : {named.str(), given.str()}) {
    const auto summary = base::ParseJson(text, "summary");
    ASSERT_TRUE(summary);
    EXPECT_EQ(base::FindInt(*summary, {"placed"}), 1);
    EXPECT_EQ(base::FindInt(*summary, {"nodes", "made"}), 1);
    EXPECT_GT(base::FindInt(*summary, {"loops", "count"}), 3);
  }
  const auto csv = base::ReadFile(options.timeline);
  ASSERT_TRUE(csv);
  EXPECT_NE(csv->find("cpu-8c-16g-1,joined,"), std::string::npos) << *csv;
  const auto page = base::ReadFile(options.report.file);
  ASSERT_TRUE(page);
  EXPECT_NE(page->find(R"("cpu-8c-16g-1":[)"), std::string::npos) << "the node is in a frame";
}

TEST(SimulateTest, WrongUsageIsRefusedBeforeAnythingRuns) {
  const std::string file = ScenarioFile("small.yaml", kSmall);
  std::ostringstream out;
  for (const SimulateOptions& options : {SimulateOptions{.scenario = "/nowhere.yaml"},
                                         {.scenario = file, .seed = 1, .seeds = "2"},
                                         {.scenario = file, .seeds = "2", .timeline = "x.csv"},
                                         {.scenario = file, .seeds = "2", .report = {.file = "x.html"}},
                                         {.scenario = file, .report = {.file = "/nowhere/x.html"}},
                                         {.scenario = file, .trace = "openb"},
                                         {.scenario = file, .trace = "openb", .trace_dir = "/nowhere"},
                                         {.scenario = file, .trace = "other", .trace_dir = "/nowhere"},
                                         {.scenario = file, .seeds = "2", .trace = "openb", .trace_dir = "/nowhere"},
                                         {.scenario = file, .trace_dir = "/nowhere"},
                                         {.scenario = file, .output = "xml"}}) {
    const auto ran = Simulate(options, out);
    ASSERT_FALSE(ran);
    EXPECT_EQ(base::ExitStatus(ran.error().code()), 2) << ran.error().message();
  }
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace evenkeel::cli::simulate_test
