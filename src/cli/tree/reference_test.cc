#include "cli/tree/reference.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/terminal/shared_flags.h"
#include "cli/tree/command_tree.h"

namespace evenkeel::cli::reference_test {
namespace {

const CommandDescription& Root() {
  static const CommandTree tree("1.2.3");
  static const CommandDescription root = Describe(tree.app());
  return root;
}

void ForEachCommand(const CommandDescription& command, const auto& visit) {
  visit(command);
  for (const CommandDescription& child : command.commands) ForEachCommand(child, visit);
}

TEST(ReferenceTest, TheTreeIsDescribedAsItIs) {
  int commands = 0;
  ForEachCommand(Root(), [&](const CommandDescription& command) {
    ++commands;
    EXPECT_FALSE(command.help.empty()) << command.path;
    for (const FlagDescription& flag : command.flags) EXPECT_FALSE(flag.help.empty()) << command.path << " " << flag.name;
    if (command.path == "evenkeel up") {
      const FlagDescription& members = command.flags.at(2);
      EXPECT_EQ(members.name, "--members");
      EXPECT_EQ(members.value, "INT");
      EXPECT_EQ(members.bounds, "[0 - 100]");
      EXPECT_EQ(members.default_text, "3");
    }
  });
  EXPECT_GT(commands, 20);
}

TEST(ReferenceTest, EveryFlagIsInTheManPageAndInTheReference) {
  const std::string page = ManualPage(Root(), "1.2.3"), reference = FlagsReference(Root());
  ForEachCommand(Root(), [&](const CommandDescription& command) {
    EXPECT_TRUE(reference.contains("## " + command.path + "\n")) << command.path;
    for (const FlagDescription& flag : command.flags) {
      if (IsHelp(flag)) continue;
      EXPECT_TRUE(reference.contains("`" + flag.name + "`")) << flag.name;
      std::string escaped;
      for (const char c : flag.name) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_TRUE(page.contains("\\fB" + escaped + "\\fR")) << flag.name;
    }
  });
}

TEST(ReferenceTest, SentencesEndOnce) {
  EXPECT_FALSE(FlagsReference(Root()).contains("keel.."));
  EXPECT_EQ(Sentence("Show it"), "Show it.");
  EXPECT_EQ(Sentence("Show it."), "Show it.");
}

TEST(ReferenceTest, CellsOfMarkdownKeepTheirBars) {
  EXPECT_EQ(MarkdownHeader({"a", "b"}), "| a | b |\n|---|---|\n");
  EXPECT_EQ(MarkdownRow({"x|y", "", "z"}), "| x\\|y | | z |\n");
}

TEST(ReferenceTest, EveryPageCanBePrinted) {
  for (const std::string& name : ReferenceNames()) {
    std::ostringstream out;
    ASSERT_TRUE(PrintReference(name, Root(), "1.2.3", out)) << name;
    EXPECT_GT(out.str().size(), 1000u) << name;
  }
  std::ostringstream out;
  EXPECT_EQ(PrintReference("weather", Root(), "1.2.3", out).error().code(), base::Code::kBadRequest);
}

}  // namespace
}  // namespace evenkeel::cli::reference_test
