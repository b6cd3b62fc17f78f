#include "cli/tree/typed_flags.h"

#include <gtest/gtest.h>

#include "cli/terminal/command_description.h"
#include "cli/tree/command_tree.h"

namespace evenkeel::cli::typed_flags_test {
namespace {

using Words = std::vector<std::string>;

Words Name(const Words& words) {
  const CommandTree tree("test");
  return NameTypedFlags([&] { return Describe(tree.app()); }, words);
}

TEST(TypedFlagsTest, AnyNumberOfDashesAndUnderscoresWillDo) {
  EXPECT_EQ(Name({"run", "-v=4", "--v=4", "-v", "4"}), (Words{"run", "--v=4", "--v=4", "--v", "4"}));
  EXPECT_EQ(Name({"plan", "scale", "-scan-interval=5s", "--max_nodes_total=5", "-scale_down_enabled"}),
            (Words{"plan", "scale", "--scan-interval=5s", "--max-nodes-total=5", "--scale-down-enabled"}));
  EXPECT_EQ(Name({"run", "-nodes=1:3:a"}), (Words{"run", "--nodes=1:3:a"})) << "not -n";
  EXPECT_EQ(Name({"run", "--alsologtostderr", "--log_backtrace_at=a.go:1", "-vmodule=x=2"}),
            (Words{"run", "--alsologtostderr", "--log-backtrace-at=a.go:1", "--vmodule=x=2"}));
}

TEST(TypedFlagsTest, WhatIsNoneOfThemStays) {
  for (const Words& words : {Words{"run", "-n", "-v=4"}, Words{"run", "--max_node_total=5"}, Words{"run", "-scan_intervall"},
                             Words{"get", "shards", "-v=4"}, Words{"plan", "scale", "-f", "-nodes", "-ojson", "--", "-v=4"},
                             Words{"run", "-", "--", ""}, Words{}}) {
    EXPECT_EQ(Name(words), words);
  }
}

}  // namespace
}  // namespace evenkeel::cli::typed_flags_test
