#include "cli/commands/top.h"

#include <gtest/gtest.h>

#include "cli/terminal/printable.h"

namespace evenkeel::cli::top_test {
namespace {

using base::Json;
using base::JsonObject;

Json Cluster(const char* owner, int64_t nodes, int64_t pods, double cpu) {
  return JsonObject{{"owner", owner},
                    {"health", "Healthy"},
                    {"weight", 20},
                    {"shard", 1},
                    {"nodes", JsonObject{{"ready", nodes}, {"total", nodes}}},
                    {"pods", JsonObject{{"running", pods}, {"pending", 1}, {"total", pods + 1}}},
                    {"load", JsonObject{{"cpu", cpu}, {"memory", 0.25}}},
                    {"message", ""}};
}

FleetPicture Picture() {
  FleetPicture picture;
  picture.fleet = JsonObject{
      {"hub", JsonObject{{"name", "https://hub"}, {"reachable", true}}},
      {"plan", JsonObject{{"epoch", 7}, {"leader", "a"}}},
      {"replicas",
       JsonObject{{"a", JsonObject{{"shard", 0}, {"alive", true}, {"clusters", 2}, {"since", "2026-01-01T00:00:00Z"}}},
                  {"b", JsonObject{{"shard", 1}, {"alive", false}, {"clusters", 1}, {"since", nullptr}}}}},
      {"clusters",
       JsonObject{
           {"east", Cluster("a", 3, 10, 0.5)}, {"north", Cluster("b", 30, 9, 0.875)}, {"west", Cluster("a", 4, 8, 0.75)}}}};
  picture.members["east"] =
      JsonObject{{"owner", "a"},
                 {"nodes", JsonObject{{"n1", JsonObject{{"state", "Ready"},
                                                        {"group", "general"},
                                                        {"pods", 4},
                                                        {"load", JsonObject{{"cpu", 0.5}, {"memory", 0.1}}},
                                                        {"requested", JsonObject{{"cpu", "2"}, {"memory", "1Gi"}}},
                                                        {"allocatable", JsonObject{{"cpu", "4"}, {"memory", "10Gi"}}}}}}},
                 {"groups", JsonObject{{"general", JsonObject{{"target", 3},
                                                              {"ready", 2},
                                                              {"upcoming", 1},
                                                              {"min", 0},
                                                              {"max", 10},
                                                              {"pricePerHour", 0.5},
                                                              {"backoffUntil", nullptr}}}}}};
  picture.complete = true;
  return picture;
}

std::vector<std::string> FirstCells(const SortableTable& table) {
  std::vector<std::string> cells;
  for (const auto& row : table.Texts()) cells.push_back(row.front());
  return cells;
}

TEST(TopTest, NumbersAreSortedAsNumbersFromTheGreatestDown) {
  SortableTable table = ClusterTable(Picture());
  EXPECT_EQ(FirstCells(table), (std::vector<std::string>{"east", "north", "west"}));
  table.Sort(*table.FindColumn("nodes"), false);
  EXPECT_EQ(FirstCells(table), (std::vector<std::string>{"north", "west", "east"}));
  table.Sort(*table.FindColumn("CPU"), true);
  EXPECT_EQ(FirstCells(table), (std::vector<std::string>{"east", "west", "north"}));
  EXPECT_EQ(table.FindColumn("colour").error().code(), base::Code::kBadRequest);
}

TEST(TopTest, ClustersShowOwnerNodesPodsAndLoad) {
  EXPECT_EQ(ClusterTable(Picture()).Texts().front(),
            (std::vector<std::string>{"east", "a", "Healthy", "3/3", "10/11", "1", "50%", "25%", "20", "1", "-"}));
}

TEST(TopTest, NodesAreThoseOfTheMembersThatAreFollowed) {
  EXPECT_EQ(NodeTable(Picture()).Texts(), (std::vector<std::vector<std::string>>{{"east", "n1", "a", "Ready", "general", "4",
                                                                                  "50%", "10%", "2 of 4", "1Gi of 10Gi"}}));
}

TEST(TopTest, ShardsSumUpWhatTheyOwn) {
  const auto now = *base::ParseTime("2026-01-01T00:01:40Z");
  EXPECT_EQ(ShardTable(Picture(), now).Texts(),
            (std::vector<std::vector<std::string>>{{"a", "0", "alive, leads", "100s", "2", "7/7", "18/20", "2", "-"},
                                                   {"b", "1", "silent", "-", "1", "30/30", "9/10", "1", "-"}}));
}

TEST(TopTest, TheSummaryAddsUp) {
  EXPECT_EQ(FleetSummary(Picture()), "3 clusters, 0 not healthy; 37 of 37 nodes ready; 27 of 30 pods run, 3 wait; plan 7");
}

TEST(TopTest, NodeGroupsAreForTablesAndPrograms) {
  const Shown shown = ShowNodeGroups(Picture());
  EXPECT_EQ(shown.rows, (std::vector<std::vector<std::string>>{{"east", "general", "3", "2", "1", "0", "10", "0.5", "-", "-"}}));
  EXPECT_EQ(base::ToText(shown.json),
            R"({"nodeGroups":[{"cluster":"east","name":"general","target":3,"ready":2,"upcoming":1,"min":0,"max":10,)"
            R"("pricePerHour":0.5,"backoffUntil":null,"backoffReason":null}]})");
}

std::vector<std::string> Lines(const std::string& screen) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < screen.size(); begin = screen.find('\n', begin) + 1) {
    lines.push_back(screen.substr(begin, screen.find('\n', begin) - begin));
  }
  return lines;
}

TEST(TopTest, TheScreenIsAsLargeAsTheTerminal) {
  const SortableTable table = ClusterTable(Picture());
  for (const TerminalSize size : {TerminalSize{80, 24}, TerminalSize{200, 50}, TerminalSize{20, 5}, TerminalSize{1, 1}}) {
    const auto lines = Lines(DrawTop(table, {}, "summary", size));
    EXPECT_EQ(lines.size(), size.lines);
    for (const std::string& line : lines) EXPECT_EQ(line.size(), size.columns);
  }
}

TEST(TopTest, WhatServersSayStaysInItsLine) {
  FleetPicture picture = Picture();
  picture.fleet.at("clusters").at("east").at("message") = "\x1b]0;x\a\n\n größer";
  const std::string screen = DrawTop(ClusterTable(picture), {}, "\x1b[2J\nsummary", {200, 8});
  EXPECT_EQ(screen.find_first_of("\x1b\a"), std::string::npos);
  const auto lines = Lines(screen);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_TRUE(lines[1].starts_with(" [2J summary "));
  EXPECT_NE(lines[3].find("  ]0;x    größer "), std::string::npos) << lines[3];
  EXPECT_EQ(Columns(lines[3]), 200u);
  for (size_t columns = 0; columns < 120; ++columns) {
    for (const std::string& line : Lines(DrawTop(ClusterTable(picture), {}, "größer", {columns, 8}))) {
      EXPECT_EQ(Printable(line), line) << "cut in the middle of a letter";
    }
  }
}

TEST(TopTest, TheScreenShowsTheSortColumnAndThePageThatWasScrolledTo) {
  const SortableTable table = ClusterTable(Picture());
  auto lines = Lines(DrawTop(table, {}, "all is well", {60, 6}));
  EXPECT_TRUE(lines[1].starts_with("all is well"));
  EXPECT_TRUE(lines[2].starts_with("CLUSTER*  OWNER"));
  EXPECT_TRUE(lines[3].starts_with("east "));
  EXPECT_TRUE(lines[4].starts_with("north "));
  EXPECT_TRUE(lines[5].starts_with("c clusters"));
  lines = Lines(DrawTop(table, {.skip = 100}, "", {60, 6}));
  EXPECT_TRUE(lines[4].starts_with("west ")) << "the last page is full";
}

TEST(TopTest, KeysChangeTheView) {
  const SortableTable table = ClusterTable(Picture());
  TopView view;
  EXPECT_TRUE(PressKey("<", table, 2, view));
  EXPECT_EQ(view.sort, table.columns.size() - 1);
  PressKey("\x1b[C", table, 2, view);
  PressKey(">", table, 2, view);
  PressKey("r", table, 2, view);
  EXPECT_EQ(view.sort, 1u);
  EXPECT_TRUE(view.reverse);
  for (int i = 0; i < 5; ++i) PressKey("\x1b[B", table, 2, view);
  EXPECT_EQ(view.skip, 2u);
  PressKey("b", table, 2, view);
  PressKey("k", table, 2, view);
  EXPECT_EQ(view.skip, 0u);
  PressKey("n", table, 2, view);
  EXPECT_EQ(view.what, "nodes");
  EXPECT_EQ(view.sort, 0u);
  EXPECT_FALSE(PressKey("q", table, 2, view));
}

TEST(TopTest, KeysThatComeTogetherAreAllPressed) {
  std::string typed = "\x1b[B\x1b[B\x1b[B>\x1b[5~\x1bOAq\x1b[1;";
  EXPECT_EQ(TakeKeys(typed), (std::vector<std::string>{"\x1b[B", "\x1b[B", "\x1b[B", ">", "\x1b[5~", "\x1bOA", "q"}));
  EXPECT_EQ(typed, "\x1b[1;") << "the rest of it is still to come";
  typed += "5Cj";
  EXPECT_EQ(TakeKeys(typed), (std::vector<std::string>{"\x1b[1;5C", "j"}));
  typed = "\x1bq";
  EXPECT_EQ(TakeKeys(typed), (std::vector<std::string>{"\x1b", "q"})) << "Escape is a key, too";
  EXPECT_EQ(typed, "");
}

TEST(TopTest, WhatCannotBeReachedIsUnknownAndNotAsItWas) {
  FleetPicture picture = Picture();
  base::Ensure(picture.fleet, {"clusters", "north", "unknownSince"}) = "2026-01-01T00:00:00Z";
  base::Ensure(picture.members["east"], {"unknownSince"}) = "2026-01-01T00:00:00Z";
  const std::vector<std::string> north = ClusterTable(picture).Texts().at(1);
  EXPECT_EQ(std::vector<std::string>(north.begin() + 3, north.begin() + 8), std::vector<std::string>(5, "-"));
  EXPECT_EQ(NodeTable(picture).Texts().at(0).at(3), "Unknown");
  EXPECT_EQ(FleetSummary(picture),
            "3 clusters, 0 not healthy; 7 of 7 nodes ready; 18 of 20 pods run, 2 wait; 1 unknown; plan 7");
}

TEST(TopTest, MembersOfWhichNotAllIsShownAreNamed) {
  FleetPicture picture = Picture();
  picture.members["north"] = JsonObject{{"health", "Unreachable"}, {"message", "nodes: connection refused"}};
  const std::map<std::string, std::string> missing{
      {"north", "nodes: connection refused: what is shown of it may be old or missing"},
      {"west", "it has not answered in time: nothing of it is shown"}};
  EXPECT_EQ(MissingMembers(picture, ""), missing);
  EXPECT_TRUE(MissingMembers(picture, "east").empty());
  picture.refused["west"] = "there is no member west";
  EXPECT_EQ(MissingMembers(picture, "west").at("west"), "there is no member west: nothing of it is shown");
}

TEST(TopTest, APictureThatCannotBeHadSaysWhy) {
  EXPECT_EQ(CheckPicture({}, "").error().code(), base::Code::kUnavailable);
  EXPECT_TRUE(CheckPicture(Picture(), "east"));
  const auto unknown = CheckPicture(Picture(), "south");
  EXPECT_EQ(unknown.error().code(), base::Code::kNotFound);
  EXPECT_EQ(unknown.error().message(), "there is no cluster south: there are east, north, west");
}

}  // namespace
}  // namespace evenkeel::cli::top_test
