#include "cli/terminal/output.h"

#include <gtest/gtest.h>

#include <sstream>

namespace evenkeel::cli::output_test {
namespace {

TEST(OutputTest, TablesHaveColumnsAsWideAsTheirWidestCell) {
  std::ostringstream out;
  PrintTable(out, {"NAME", "SHARD"}, {{"a", "0"}, {"longer-name", "12"}});
  EXPECT_EQ(out.str(), "NAME          SHARD\na             0\nlonger-name   12\n");
}

TEST(OutputTest, WhatServersSayNeitherCommandsTheTerminalNorBreaksTheTable) {
  std::ostringstream out;
  PrintTable(out, {"NAME", "MESSAGE", "SHARD"}, {{"größer", "\x1b]0;x\a\n", "0"}, {"b", "longer than that", "12"}});
  EXPECT_EQ(out.str(),
            "NAME     MESSAGE            SHARD\n"
            "größer    ]0;x              0\n"
            "b        longer than that   12\n");
}

TEST(OutputTest, ProgramsGetJsonOrYaml) {
  std::ostringstream out;
  PrintValue(out, Format::kYaml, base::JsonObject{{"b", 1}, {"a", "x"}});
  EXPECT_EQ(out.str(), "a: x\nb: 1\n");
  EXPECT_EQ(*ParseFormat("json"), Format::kJson);
  EXPECT_EQ(*ParseFormat(""), Format::kTable);
  EXPECT_EQ(ParseFormat("xml").error().code(), base::Code::kBadRequest);
}

}  // namespace
}  // namespace evenkeel::cli::output_test
