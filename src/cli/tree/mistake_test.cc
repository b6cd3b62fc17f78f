#include "cli/tree/mistake.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "cli/tree/command_tree.h"
#include "cli/tree/help.h"

namespace evenkeel::cli::mistake_test {
namespace {

using Words = std::vector<std::string>;

const CommandDescription& Root() {
  static const CommandTree tree("1.2.3");
  static const CommandDescription root = Describe(tree.app());
  return root;
}

Words WordsOf(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string Mistake(const std::string& line) { return FindMistake(Root(), WordsOf(line)); }

std::string Missing(const std::string& line) { return FindMissing(Root(), WordsOf(line)); }

void ForEachCommand(const CommandDescription& command, const auto& visit) {
  visit(command);
  for (const CommandDescription& child : command.commands) ForEachCommand(child, visit);
}

TEST(MistakeTest, TheWordIsNamedWithTheNearestThatThereIs) {
  EXPECT_EQ(Mistake("gte shards"), "\"gte\": evenkeel has no such command; did you mean get?");
  EXPECT_EQ(Mistake("get shrads"), "\"shrads\": evenkeel get has no such command; did you mean shards?");
  EXPECT_EQ(Mistake("get weather"),
            "\"weather\": evenkeel get has no such command: there are shards, rollouts, nodegroups, loads");
  EXPECT_EQ(Mistake("get shards --wacth"), "\"--wacth\": evenkeel get shards has no such flag; did you mean --watch?");
  EXPECT_EQ(Mistake("get shards --log-levle=info"),
            "\"--log-levle\": evenkeel get shards has no such flag; did you mean --log-level?");
  EXPECT_EQ(Mistake("plan shards -o jsn"), "--output \"jsn\" is not known; did you mean json?");
  EXPECT_EQ(Mistake("plan shards -ojsn"), "--output \"jsn\" is not known; did you mean json?");
  EXPECT_EQ(Mistake("top nodse"), "what \"nodse\" is not known; did you mean nodes?");
  EXPECT_EQ(Mistake("get shards -z"), "\"-z\": evenkeel get shards has no such flag");
}

TEST(MistakeTest, AWordThatIsACommandElsewhereIsFoundThere) {
  EXPECT_EQ(Mistake("shards"), "\"shards\": evenkeel has no such command; did you mean evenkeel get shards?");
  EXPECT_EQ(Mistake("nodegroup"), "\"nodegroup\": evenkeel has no such command; did you mean evenkeel get nodegroups?");
}

TEST(MistakeTest, WhatIsMissingOrTooMuchIsNamed) {
  EXPECT_EQ(Missing("get"), "evenkeel get needs a command: one of shards, rollouts, nodegroups, loads");
  EXPECT_EQ(Missing("explain node"), "evenkeel explain node needs the name: Name of the node");
  EXPECT_EQ(Mistake("plan scale now"), "\"now\" is one word too many: evenkeel plan scale takes flags alone");
  EXPECT_EQ(Mistake("explain node a b"), "\"b\" is one word too many: evenkeel explain node takes no more than 1");
  EXPECT_EQ(Missing("up --members"), "--members needs a value");
}

TEST(MistakeTest, WhatIsInOrderIsNoMistake) {
  for (const char* line : {"get shards east west -wo json", "get shards -o jsonpath={.a}", "up --members 3", "apiserver",
                           "help get shards", "apiserver verify a.db", "top -- nodes"}) {
    EXPECT_EQ(Mistake(line) + Missing(line), "") << line;
  }
}

TEST(HelpTest, EveryCommandHasTwoExamplesThatCanBeRead) {
  ForEachCommand(Root(), [](const CommandDescription& command) {
    const std::vector<Example> examples = ExamplesOf(command.path);
    EXPECT_EQ(examples.size(), 2u) << command.path;
    for (const Example& example : examples) {
      Words words = WordsOf(example.line);
      ASSERT_FALSE(words.empty());
      EXPECT_EQ(words.front(), "evenkeel");
      words.erase(words.begin());
      EXPECT_TRUE(CommandOf(Root(), words).path.starts_with(command.path)) << example.line;
      // Read, and nothing run.
      CommandTree tree("1.2.3");
      std::ranges::reverse(words);
      EXPECT_NO_THROW(const_cast<CLI::App&>(tree.app()).parse(words)) << example.line;
    }
  });
}

TEST(HelpTest, AScreenIsEnoughAndAllFlagsAreToBeHad) {
  ForEachCommand(Root(), [](const CommandDescription& command) {
    const std::string text = HelpText(Root(), command, false), all = HelpText(Root(), command, true);
    EXPECT_LE(std::ranges::count(text, '\n'), static_cast<ptrdiff_t>(kHelpLinesMax)) << command.path;
    EXPECT_TRUE(text.contains("\nExamples:\n")) << command.path;
    EXPECT_TRUE(text.contains("--help-all") || !command.commands.empty()) << command.path;
    for (const FlagDescription& flag : command.flags) {
      if (flag.name.starts_with("--help")) continue;
      EXPECT_TRUE(all.contains(flag.name)) << command.path << " " << flag.name;
      EXPECT_TRUE(!flag.required || text.contains(flag.name)) << command.path << " " << flag.name;
    }
    for (const CommandDescription& child : command.commands)
      EXPECT_TRUE(text.contains("\n  " + child.name + " ")) << child.path;
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      EXPECT_LE(end - begin, kHelpColumns) << text.substr(begin, end - begin);
    }
  });
}

TEST(HelpTest, FlagsStandInGroups) {
  const std::string text = HelpText(Root(), CommandOf(Root(), Words{"get", "shards"}), false);
  EXPECT_LT(text.find("\nWhere to ask:\n"), text.find("--kubeconfig"));
  EXPECT_LT(text.find("\nOutput:\n"), text.find("--watch"));
  EXPECT_FALSE(text.contains("--quirks")) << "few people need it";
  EXPECT_TRUE(HelpText(Root(), CommandOf(Root(), Words{"run"}), true).contains("--scale-down-unneeded-time"));
}

}  // namespace
}  // namespace evenkeel::cli::mistake_test
