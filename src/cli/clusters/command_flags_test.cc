#include "cli/clusters/command_flags.h"

#include <gtest/gtest.h>

#include "cli/terminal/command_description.h"
#include "cli/tree/command_tree.h"

namespace evenkeel::cli::command_flags_test {
namespace {

struct Answer {
  int status = 0;
  std::string errors;
};

Answer Run(CommandTree& tree, const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"evenkeel"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStderr();
  Answer answer;
  answer.status = tree.Run(static_cast<int>(argv.size()), argv.data());
  answer.errors = ::testing::internal::GetCapturedStderr();
  return answer;
}

void ExpectRefused(CommandTree& tree, const std::vector<std::string>& arguments, const std::string& part) {
  const Answer answer = Run(tree, arguments);
  EXPECT_EQ(answer.status, 2) << answer.errors;
  EXPECT_TRUE(answer.errors.contains(part)) << answer.errors;
  EXPECT_EQ(std::ranges::count(answer.errors, '\n'), 1) << answer.errors;
}

void RefuseWrongNumbers(CommandTree& tree, const CommandDescription& command, std::vector<std::string> path, int& numbers) {
  for (const FlagDescription& flag : command.flags) {
    if (flag.value != "INT" && flag.value != "UINT" && flag.value != "FLOAT") continue;
    ++numbers;
    EXPECT_FALSE(flag.bounds.empty()) << command.path << " " << flag.name;
    for (const char* wrong : {"nan", "inf", "1e999", "-99999999999999999999", "99999999999999999999", "0x10", "1,5", "1_0", "",
                              " 1", "1 ", "true"}) {
      std::vector<std::string> arguments = path;
      arguments.push_back(flag.name);
      arguments.emplace_back(wrong);
      ExpectRefused(tree, arguments, flag.name + ": \"" + wrong + "\": give a ");
    }
  }
  for (const CommandDescription& child : command.commands) {
    path.push_back(child.name);
    RefuseWrongNumbers(tree, child, path, numbers);
    path.pop_back();
  }
}

TEST(CommandFlagsTest, EveryNumberHasBoundsAndIsWrittenInOneWay) {
  int numbers = 0;
  CommandTree tree("1.2.3");
  RefuseWrongNumbers(tree, Describe(tree.app()), {}, numbers);
  EXPECT_GT(numbers, 20);
}

TEST(CommandFlagsTest, ArgumentsAreUtf8) {
  CommandTree tree("1.2.3");
  ExpectRefused(tree, {"explain", "service", "a\xff"}, "argument 3 is not UTF-8");
  ExpectRefused(tree, {"plan", "balance", "-f", "\xc3.yaml"}, "argument 4 is not UTF-8");
}

}  // namespace
}  // namespace evenkeel::cli::command_flags_test
