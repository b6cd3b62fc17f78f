#include "solver/roadef.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/input/file.h"
#include "solver/verify.h"

namespace evenkeel::solver::roadef_test {
namespace {

// Two resources, the second transient; three machines, of which the last two are alike; two services; three processes.
constexpr char kModel[] = R"(2
0 100
1 10
3
0 0 30 400 16 80 0 1 4
0 1 10 240 8 160 1 0 3
0 1 15 100 12 80 4 3 0
2
2 0
1 1 0
3
0 12 10 1000
0 10 20 100
1 6 200 1
1
0 1 20
10
1 10 100
)";
constexpr char kInitial[] = "0 1 0\n";

base::Result<RoadefInstance> Read(const std::string& model, const std::string& initial = kInitial) {
  return ReadRoadef(model, "model", initial, "initial");
}
std::string Error(const std::string& model, const std::string& initial = kInitial) {
  const auto read = Read(model, initial);
  return read ? "" : read.error().message();
}
std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.find(what), what.size(), with);
}

TEST(RoadefTest, ReadsAModel) {
  const auto read = Read(kModel);
  ASSERT_TRUE(read) << read.error().message();
  const Problem& problem = read->problem;
  EXPECT_EQ(problem.nodes(), 3);
  EXPECT_EQ(problem.objects(), 3);
  EXPECT_EQ(problem.transient, (std::vector<bool>{false, true}));
  EXPECT_EQ(problem.groups[0].min_spread, 2);
  EXPECT_EQ(problem.groups[1].depends_on, std::vector<GroupId>{0});
  EXPECT_EQ(problem.initial, (std::vector<NodeId>{0, 1, 0}));
  EXPECT_EQ(problem.hinges[2].term, "balance 0");
  const Verdict verdict = Verify(problem, problem.initial);
  EXPECT_TRUE(verdict.valid());
  // Loads: 100 * (18 - 16) + 100 * (10 - 8) + 10 * (210 - 80); balance: 20 * 15 - 100 of machine 2 and 20 * 12 - 190 of machine
  // 0.
  EXPECT_EQ(verdict.cost, 200 + 200 + 1300 + 2000 + 500);
}

TEST(RoadefTest, SortsProcessesByServiceAndWritesThemInTheirOwnOrder) {
  const auto read = Read(Replaced(kModel, "0 12 10 1000\n0 10 20 100\n1 6", "0 12 10 1000\n1 10 20 100\n0 6"), "0 0 1");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->process_of, (std::vector<int32_t>{0, 2, 1}));
  EXPECT_EQ(read->problem.load(1, 1), 200);
  EXPECT_EQ(WriteRoadefAssignment(*read, std::vector<NodeId>{0, 1, 2}), "0 2 1\n");
  EXPECT_EQ(*ReadRoadefAssignment(*read, "0 2 1", "f"), (std::vector<NodeId>{0, 1, 2}));
}

TEST(RoadefTest, TakesMachinesThatAreAlikeForOneClass) {
  const auto classes = [](const std::string& model) {
    const auto read = Read(model);
    EXPECT_TRUE(read);
    const Problem& problem = read->problem;
    std::vector<int64_t> distances;
    for (NodeId from = 0; from < 3; ++from) {
      for (NodeId to = 0; to < 3; ++to) {
        if (from != to) distances.push_back(problem.node_move_cost(problem.node_class[from], problem.node_class[to]));
      }
    }
    return std::pair{problem.node_move_cost.rows(), distances};
  };
  EXPECT_EQ(classes(kModel), (std::pair{int64_t{3}, std::vector<int64_t>{1, 4, 1, 3, 4, 3}}));
  const std::string alike =
      Replaced(Replaced(kModel, "0 1 4\n", "0 2 2\n"), "1 0 3\n0 1 15 100 12 80 4 3 0", "2 0 5\n0 1 15 100 12 80 2 5 0");
  EXPECT_EQ(classes(alike), (std::pair{int64_t{2}, std::vector<int64_t>{2, 2, 2, 5, 2, 5}}));
}

TEST(RoadefTest, SaysWhereAFileIsWrong) {
  EXPECT_EQ(Error("2\n0 100\nx"), "model:3: whether a resource is transient: \"x\" is not a whole number");
  EXPECT_EQ(Error("2\n2 100"), "model:2: whether a resource is transient: 2 is not between 0 and 1");
  EXPECT_EQ(Error("2\n0"), "model:2: weight of a resource's load: the file ends here");
  EXPECT_EQ(Error(Replaced(kModel, "1 6 200 1\n", "2 6 200 1\n")), "model:14: service of a process: 2 is not between 0 and 1");
  EXPECT_EQ(Error(std::string(kModel) + "7"), "model:19: the end: there is more than that");
  EXPECT_EQ(Error(kModel, "0 1"), "initial:1: machine of process 2: the file ends here");
  EXPECT_EQ(Error(kModel, "0 1 3"), "initial:1: machine of process 2: 3 is not between 0 and 2");
  EXPECT_EQ(Error(kModel, "0 0 0"), "initial: breaks a rule of model: group 0: two of its objects are on node 0");
  EXPECT_EQ(Error(Replaced(kModel, "0 12 10 1000", "0 12 10 99999999999999")),
            "model:12: cost of moving a process: 99999999999999 is not between 0 and 1099511627776");
}

/// Initial costs and bounds as the challenge's teams have published them.
TEST(RoadefTest, CostsWhatWasPublished) {
  const char* folder = std::getenv("EVENKEEL_ROADEF");
  if (folder == nullptr) GTEST_SKIP() << "EVENKEEL_ROADEF does not name a folder with the challenge's instances";
  const auto text = [&](const std::string& name) {
    const auto read = base::ReadFile((std::filesystem::path(folder) / name).string());
    return read ? *read : std::string();
  };
  for (const std::string name : {"a1_1", "a1_2", "a1_4", "a2_2", "a2_4", "a2_5", "b_01"}) {
    const auto instance = Read(text("model_" + name + ".txt"), text("assignment_" + name + ".txt"));
    ASSERT_TRUE(instance) << name << ": " << instance.error().message();
    EXPECT_EQ(Verify(instance->problem, instance->problem.initial).cost, std::stoll(text("original_cost_" + name + ".txt")));
    EXPECT_EQ(LowerBound(instance->problem), std::stoll(text("lb_" + name + ".txt")));
  }
}

}  // namespace
}  // namespace evenkeel::solver::roadef_test
