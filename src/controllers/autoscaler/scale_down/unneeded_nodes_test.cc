#include "controllers/autoscaler/scale_down/unneeded_nodes.h"

#include <gtest/gtest.h>

namespace evenkeel::controllers::autoscaler::unneeded_nodes_test {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string_view>;

constexpr base::Time kStart{1'734'225'184s};

TEST(UnneededNodesTest, V29ATimeIsKeptAsLongAsTheNodeStaysUnneeded) {
  UnneededNodes nodes;
  nodes.Update(Names{"n1", "n2", "n3"}, kStart);
  nodes.Update(Names{"n4", "n2"}, kStart + 1min);
  EXPECT_EQ(nodes.Since("n2"), kStart);
  EXPECT_EQ(nodes.Since("n4"), kStart + 1min);
  EXPECT_FALSE(nodes.Since("n1").has_value());
  nodes.Update(Names{"n2", "n1"}, kStart + 2min);
  EXPECT_EQ(nodes.Since("n2"), kStart) << "whatever the order";
  EXPECT_EQ(nodes.Since("n1"), kStart + 2min) << "dropped in between";
  EXPECT_EQ(nodes.size(), 2U);
}

TEST(UnneededNodesTest, ASeedDoesNotChangeATimeThatIsKnown) {
  UnneededNodes nodes;
  nodes.Update(Names{"n1"}, kStart);
  nodes.Seed("n1", kStart - 1h);
  nodes.Seed("n2", kStart - 1h);
  EXPECT_EQ(nodes.Since("n1"), kStart);
  nodes.Update(Names{"n1", "n2"}, kStart + 1s);
  EXPECT_EQ(nodes.Since("n2"), kStart - 1h);
}

TEST(UnneededNodesTest, TimesSurviveAsJson) {
  UnneededNodes nodes;
  nodes.Update(Names{"n1"}, kStart + 123456us);
  const base::Json written = nodes.ToJson();
  const auto read = UnneededNodes::Read(base::Field(&written, "state"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->all(), nodes.all());
  const base::Json soon = base::JsonObject{{"n7", "soon"}};
  const auto wrong = UnneededNodes::Read(base::Field(&soon, "state", "unneeded"));
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message(), "state: unneeded.n7: not an RFC 3339 time");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::unneeded_nodes_test
