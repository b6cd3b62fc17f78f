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
  for (const auto& row : shown.rows) shown.names.push_back(row[0]);
  shown.kind = "cluster";
  shown.items = "clusters";
  shown.json = base::JsonObject{{"clusters", std::move(clusters)}};
  shown.clocks = {"age"};
  return shown;
}

GetOutput Output(const char* form) { return GetOutput::Parse(form).value(); }

class WatchRowsTest : public ::testing::Test {
 protected:
  std::string Show(RowWatch& watch, std::vector<std::vector<std::string>> rows) {
    out_.str("");
    EXPECT_TRUE(watch.Show(Clusters(std::move(rows))));
    return out_.str();
  }
  std::ostringstream out_;
};

TEST_F(WatchRowsTest, FirstTheTableThenWhatHasChanged) {
  RowWatch watch(Output("table"), {}, out_);
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
  RowWatch watch(Output("table"), {}, out_);
  Show(watch, {{"east", "a", "1s"}});
  EXPECT_EQ(Show(watch, {{"east", "\x1b]0;x\a\n", "1s"}}), "east       ]0;x     1s\n");
}

TEST_F(WatchRowsTest, ProgramsGetTheWholeDocumentEachTime) {
  RowWatch watch(Output("json"), {}, out_);
  EXPECT_EQ(base::ToText(*base::ParseJson(Show(watch, {{"east", "a", "1s"}}), "first")),
            R"({"clusters":[{"cluster":"east","owner":"a","age":"1s"}]})");
  EXPECT_EQ(Show(watch, {{"east", "a", "2s"}}), "");
  EXPECT_EQ(base::ToText(*base::ParseJson(Show(watch, {{"east", "b", "3s"}}), "second")),
            R"({"clusters":[{"cluster":"east","owner":"b","age":"3s"}]})");
}

TEST_F(WatchRowsTest, DocumentsOfYamlAreSeparated) {
  RowWatch watch(Output("yaml"), {}, out_);
  EXPECT_FALSE(Show(watch, {{"east", "a", "1s"}}).starts_with("---"));
  EXPECT_TRUE(Show(watch, {}).starts_with("---\n"));
}

TEST_F(WatchRowsTest, OnlyTheRowsThatWereAskedForAreFollowed) {
  RowWatch watch(Output("table"), {"west"}, out_);
  EXPECT_EQ(Show(watch, {{"east", "a", "1s"}, {"west", "b", "1s"}}), "CLUSTER   OWNER   SINCE\nwest      b       1s\n");
  EXPECT_EQ(Show(watch, {{"east", "b", "1s"}, {"west", "b", "1s"}}), "");
  EXPECT_EQ(Show(watch, {{"east", "b", "1s"}}), "west      <gone>\n") << "and the watch goes on";
  EXPECT_EQ(Show(watch, {{"east", "b", "1s"}, {"west", "c", "1s"}}), "west      c       1s\n");
  RowWatch absent(Output("table"), {"north"}, out_);
  EXPECT_EQ(absent.Show(Clusters({})).error().code(), base::Code::kNotFound);
}

TEST_F(WatchRowsTest, NamesColumnsAndTemplatesAreFollowedAsWell) {
  RowWatch names(Output("name"), {}, out_);
  EXPECT_EQ(Show(names, {{"west", "a", "1s"}, {"east", "a", "1s"}}), "cluster/east\ncluster/west\n");
  EXPECT_EQ(Show(names, {{"east", "b", "1s"}}), "cluster/west   <gone>\n");
  RowWatch columns(Output("custom-columns=OWNER:.owner"), {}, out_);
  EXPECT_EQ(Show(columns, {{"east", "a", "1s"}}), "OWNER\na\n");
  EXPECT_EQ(Show(columns, {{"east", "a", "2s"}}), "");
  EXPECT_EQ(Show(columns, {{"east", "b", "2s"}}), "b\n");
  RowWatch text(Output("jsonpath={.clusters[*].owner}"), {}, out_);
  EXPECT_EQ(Show(text, {{"east", "a", "1s"}}), "a\n");
  EXPECT_EQ(Show(text, {{"north", "a", "1s"}}), "") << "what the template prints is the same";
  EXPECT_EQ(Show(text, {{"north", "b", "1s"}}), "b\n");
}

}  // namespace
}  // namespace evenkeel::cli::watch_rows_test
