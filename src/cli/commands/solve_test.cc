#include "cli/commands/solve.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/input/file.h"
#include "base/json.h"
#include "base/random.h"

namespace evenkeel::cli::solve_test {
namespace {

class SolveTest : public ::testing::Test {
 protected:
  SolveTest() {
    std::filesystem::create_directories(folder_);
    options.model = File("model", "1\n0 10\n2\n0 0 10 5 0 1\n0 1 10 5 1 0\n2\n0 0\n0 0\n2\n0 4 1\n1 3 1\n0\n1 1 1\n");
    options.initial = File("initial", "0 0\n");
    options.evaluations = 20'000;
  }
  ~SolveTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    EXPECT_TRUE(base::WriteFile(path, text));
    return path;
  }
  base::Json Solved() {
    std::ostringstream out;
    const base::Status status = SolveRoadef(options, out);
    EXPECT_TRUE(status) << (status ? "" : status.error().message());
    return base::ParseJson(out.str(), "output").value_or(base::Json());
  }
  base::Error Failed() {
    std::ostringstream out;
    const base::Status status = SolveRoadef(options, out);
    EXPECT_FALSE(status);
    return status ? base::Error(base::Code::kInternal, "") : status.error();
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("evenkeel-solve-" + std::to_string(base::EntropySeed()));
  SolveRoadefOptions options;
};

TEST_F(SolveTest, WritesASolutionThatItsOwnCheckConfirms) {
  options.output = (folder_ / "solution").string();
  const base::Json solved = Solved();
  EXPECT_EQ(base::FindInt(solved, {"initialCost"}), 20);
  EXPECT_EQ(base::FindInt(solved, {"cost"}), 3) << "one process moves: 1 for it, 1 for its service, 1 for the way";
  options.check = options.output;
  const base::Json checked = Solved();
  EXPECT_TRUE(base::FindBool(checked, {"valid"}));
  EXPECT_EQ(base::FindInt(checked, {"cost"}), 3);
  EXPECT_EQ(base::FindInt(checked, {"terms", "groupMoves"}), 1);
}

TEST_F(SolveTest, SaysWhatIsWrong) {
  options.check = File("solution", "0 0 0");
  EXPECT_EQ(Failed().message(), options.check + ":1: the end: there is more than that");
  options.check.clear();
  options.initial = (folder_ / "absent").string();
  EXPECT_EQ(Failed().code(), base::Code::kBadRequest);
  EXPECT_TRUE(Failed().message().contains(options.initial));
}

TEST_F(SolveTest, ASolutionThatBreaksARuleIsInfeasible) {
  options.model = File("tight", "1\n0 10\n2\n0 0 10 5 0 1\n0 1 6 5 1 0\n2\n0 0\n0 0\n2\n0 4 1\n1 3 1\n0\n1 1 1\n");
  options.check = File("solution", "1 1");
  const base::Error error = Failed();
  EXPECT_EQ(error.code(), base::Code::kInfeasible);
  EXPECT_EQ(error.message(), options.check + ": node 1, metric 0: 7 is more than the capacity of 6");
}

}  // namespace
}  // namespace evenkeel::cli::solve_test
