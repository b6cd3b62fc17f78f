#include "balancing/input/text_position.h"

#include <gtest/gtest.h>

namespace evenkeel::balancing::text_position_test {
namespace {

std::string At(std::string_view text, TextSyntax syntax, const ValuePath& path) {
  const auto position = Locate(text, syntax, path);
  return position ? std::to_string(position->line) + ":" + std::to_string(position->column) : "";
}

const ValuePath kSecondName = {std::string("list"), size_t{1}, std::string("name")};

TEST(TextPositionTest, OffsetsBecomeLinesAndColumns) {
  const LineIndex lines("ab\n\ncd");
  EXPECT_EQ(lines.At(0).line, 1u);
  EXPECT_EQ(lines.At(2).column, 3u);
  EXPECT_EQ(lines.At(3).line, 2u);
  EXPECT_EQ(lines.At(5).line, 3u);
  EXPECT_EQ(lines.At(5).column, 2u);
}

TEST(TextPositionTest, ValuesOfJsonAreFoundByTheirPath) {
  constexpr std::string_view kJson = "{\"other\": [\"]\\\"}\", {}],\n \"list\": [{\"name\": 1},\n  {\"x\": [], \"name\": 2}]}";
  EXPECT_EQ(At(kJson, TextSyntax::kJson, {}), "1:1");
  EXPECT_EQ(At(kJson, TextSyntax::kJson, kSecondName), "3:21");
  EXPECT_EQ(At(kJson, TextSyntax::kJson, {std::string("list"), size_t{2}}), "");
  EXPECT_EQ(At(kJson, TextSyntax::kJson, {std::string("none")}), "");
}

TEST(TextPositionTest, ValuesOfYamlAreFoundByTheirPath) {
  constexpr std::string_view kYaml = "other: [a, {b: c}]\nlist:\n- &x {name: 1}\n- x: []\n  name: 2\n- *x\n";
  EXPECT_EQ(At(kYaml, TextSyntax::kYaml, kSecondName), "5:9");
  EXPECT_EQ(At(kYaml, TextSyntax::kYaml, {std::string("list"), size_t{2}}), "6:3");
  EXPECT_EQ(At(kYaml, TextSyntax::kYaml, {std::string("list"), size_t{2}, std::string("name")}), "") << "behind an alias";
  EXPECT_EQ(At(kYaml, TextSyntax::kYaml, {std::string("other"), size_t{1}, std::string("b")}), "1:16");
}

TEST(TextPositionTest, SpotsOfJsonFollowItsStructure) {
  constexpr std::string_view kJson = R"({"a": [1, "x"], "b": {"c": null}})";
  const JsonSpot root = JsonSpots(kJson);
  ASSERT_EQ(root.children.size(), 2u);
  ASSERT_EQ(root.children[0].children.size(), 2u);
  EXPECT_EQ(kJson[root.children[0].children[0].offset], '1');
  EXPECT_EQ(kJson.substr(root.children[1].children[0].offset, 4), "null");
}

}  // namespace
}  // namespace evenkeel::balancing::text_position_test
