#include "cli/terminal/watch_rows.h"

#include <gtest/gtest.h>

#include <sstream>

namespace evenkeel::cli::watch_rows_test {
namespace {

Shown Clusters(std::vector<std::vector<std::string>> rows) {
  Shown shown;
  shown.header = {"CLUSTER", "OWNER", "SINCE"};
  shown.rows = std::move(rows);
  shown.passing = {2};
  base::JsonArray clusters;
  for (const auto& row : shown.rows)
    clusters.push_back(base::JsonObject{{"cluster", row[0]}, {"owner", row[1]}, {"age", row[2]}});
  shown.json = base::JsonObject{{"clusters", std::move(clusters)}};
  shown.clocks = {"age"};
  return shown;
}

class WatchRowsTest : public ::testing::Test {
 protected:
  std::string Show(RowWatch& watch, std::vector<std::vector<std::string>> rows) {
    out_.str("");
    watch.Show(Clusters(std::move(rows)));
    return out_.str();
  }
  std::ostringstream out_;
};

TEST_F(WatchRowsTest, FirstTheTableThenWhatHasChanged) {
  RowWatch watch(Format::kTable, out_);
  EXPECT_EQ(Show(watch, {{"east", "a", "1s"}, {"west", "b", "1s"}}),
            "CLUSTER   OWNER   SINCE\n"
            "east      a       1s\n"
            "west      b       1s\n");
  EXPECT_EQ(Show(watch, {{"east", "a", "2s"}, {"west", "b", "2s"}}), "") << "time goes by";
  EXPECT_EQ(Show(watch, {{"east", "b", "0s"}, {"west", "b", "3s"}}), "east      b       0s\n");
  EXPECT_EQ(Show(watch, {{"west", "b", "4s"}, {"north", "c", "4s"}}),
            "north     c       4s\n"
            "east      <gone>\n");
  EXPECT_EQ(Show(watch, {{"east", "b", "0s"}, {"north", "c", "5s"}, {"west", "b", "5s"}}), "east      b       0s\n");
}

TEST_F(WatchRowsTest, WhatServersSayIsALineOfText) {
  RowWatch watch(Format::kTable, out_);
  Show(watch, {{"east", "a", "1s"}});
  EXPECT_EQ(Show(watch, {{"east", "\x1b]0;x\a\n", "1s"}}), "east       ]0;x     1s\n");
}

TEST_F(WatchRowsTest, ProgramsGetTheWholeDocumentEachTime) {
  RowWatch watch(Format::kJson, out_);
  EXPECT_EQ(base::ToText(*base::ParseJson(Show(watch, {{"east", "a", "1s"}}), "first")),
            R"({"clusters":[{"cluster":"east","owner":"a","age":"1s"}]})");
  EXPECT_EQ(Show(watch, {{"east", "a", "2s"}}), "");
  EXPECT_EQ(base::ToText(*base::ParseJson(Show(watch, {{"east", "b", "3s"}}), "second")),
            R"({"clusters":[{"cluster":"east","owner":"b","age":"3s"}]})");
}

TEST_F(WatchRowsTest, DocumentsOfYamlAreSeparated) {
  RowWatch watch(Format::kYaml, out_);
  EXPECT_FALSE(Show(watch, {{"east", "a", "1s"}}).starts_with("---"));
  EXPECT_TRUE(Show(watch, {}).starts_with("---\n"));
}

}  // namespace
}  // namespace evenkeel::cli::watch_rows_test
