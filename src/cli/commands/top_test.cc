#include "cli/commands/top.h"

#include <gtest/gtest.h>

#include "cli/clusters/fleet_tables.h"
#include "cli/commands/top_screen.h"
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
  EXPECT_EQ(shown.rows,
            (std::vector<std::vector<std::string>>{{"east", "general", "3", "2", "1", "0", "10", "0.5", "-", "-"}}));
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

const base::Time kNow = *base::ParseTime("2026-01-01T00:01:40Z");

/// The screen after these keys, without colours.
struct Session {
  FleetPicture picture = Picture();
  TopView view{};
  TerminalSize size{80, 10};
  bool open = true;

  Session& Press(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      const SortableTable table = TopTable(picture, view, kNow);
      SettleTop(table, size, view);
      open = open && PressKey(key, table, size, view);
    }
    SettleTop(TopTable(picture, view, kNow), size, view);
    return *this;
  }
  std::string Draw(bool colour = false) {
    SettleTop(TopTable(picture, view, kNow), size, view);
    return DrawTop(picture, view, "summary", kNow, size, colour);
  }
  std::vector<std::string> Screen() { return Lines(Draw()); }
};

TEST(TopTest, TheScreenIsAsLargeAsTheTerminal) {
  for (const TerminalSize size : {TerminalSize{80, 24}, TerminalSize{200, 50}, TerminalSize{20, 5}, TerminalSize{1, 1}}) {
    for (const std::vector<std::string>& keys :
         {std::vector<std::string>{}, {"j"}, {"e"}, {"?"}, {"/", "x"}, {"n", "\n"}, {"s", "e"}}) {
      Session session{.size = size};
      const auto lines = session.Press(keys).Screen();
      EXPECT_EQ(lines.size(), size.lines);
      for (const std::string& line : lines) EXPECT_EQ(line.size(), size.columns) << line;
    }
  }
}

TEST(TopTest, WhatServersSayStaysInItsLine) {
  Session session{.size = {200, 8}};
  session.picture.fleet.at("clusters").at("east").at("message") = "\x1b]0;x\a\n\n größer";
  const std::string screen = DrawTop(session.picture, {}, "\x1b[2J\nsummary", kNow, session.size, false);
  EXPECT_EQ(screen.find_first_of("\x1b\a"), std::string::npos);
  const auto lines = Lines(screen);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_TRUE(lines[1].starts_with(" [2J summary "));
  EXPECT_NE(lines[3].find("  ]0;x    größer "), std::string::npos) << lines[3];
  EXPECT_EQ(Columns(lines[3]), 200u);
  for (size_t columns = 0; columns < 120; ++columns) {
    for (const std::string& keys : {"", "e"}) {
      session.size = {columns, 8};
      session.view = {};
      if (!keys.empty()) session.Press({keys});
      for (const std::string& line : session.Screen()) EXPECT_EQ(Printable(line), line) << "cut in the middle of a letter";
    }
  }
}

TEST(TopTest, AtEightyColumnsTheImportantOnesAreThere) {
  Session session;
  for (auto& [name, cluster] : session.picture.fleet.at("clusters").as_object()) {
    cluster.at("owner") = "evenkeel-controller-5d8f7c9b4-abcde";
    cluster.at("message") = "a long message that takes what is left of the line and more";
  }
  const auto lines = session.Screen();
  for (const char* column : {"CLUSTER*", "HEALTH", "NODES", "PENDING", "CPU", "MEMORY", "MESSAGE"}) {
    EXPECT_NE(lines[2].find(column), std::string::npos) << column << ": " << lines[2];
  }
  EXPECT_EQ(lines[2].find("WEIGHT"), std::string::npos) << lines[2];
  EXPECT_NE(lines[0].find("columns more on a wider terminal"), std::string::npos) << lines[0];
  EXPECT_NE(lines[3].find("a long message"), std::string::npos) << lines[3];
  EXPECT_TRUE(lines.back().ends_with("q quit")) << "all keys have room";
  session.size.columns = 200;
  EXPECT_NE(session.Screen()[2].find("WEIGHT"), std::string::npos);
  // What it is sorted by is always there.
  session.size.columns = 80;
  EXPECT_NE(session.Press({">", ">", ">", ">", ">", ">", ">", ">"}).Screen()[2].find("WEIGHT*"), std::string::npos);
}

TEST(TopTest, TheCursorStaysOnItsRow) {
  Session session{.size = {60, 6}};
  auto lines = session.Screen();
  EXPECT_TRUE(lines[2].starts_with("  CLUSTER*  ")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with("> east "));
  EXPECT_TRUE(lines[4].starts_with("  north "));
  lines = session.Press({"j", "\x1b[B"}).Screen();
  EXPECT_TRUE(lines[3].starts_with("  north ")) << "the page follows the cursor";
  EXPECT_TRUE(lines[4].starts_with("> west "));
  // It is sorted anew, and a row above goes away.
  lines = session.Press({"r"}).Screen();
  EXPECT_TRUE(lines[3].starts_with("> west "));
  session.picture.fleet.at("clusters").as_object().erase("east");
  lines = session.Press({"r"}).Screen();
  EXPECT_TRUE(lines[4].starts_with("> west "));
  session.picture.fleet.at("clusters").as_object().erase("west");
  EXPECT_TRUE(session.Screen()[3].starts_with("> north "));
  EXPECT_TRUE(session.Press({"G", "\x1b[6~", "g"}).open);
  EXPECT_EQ(session.view.cursor, 0u);
}

TEST(TopTest, ATextFilters) {
  Session session;
  EXPECT_TRUE(session.Press({"/", "q", "\x7f", "W", "e"}).Screen().back().starts_with("filter: We_"));
  auto lines = session.Press({"\n"}).Screen();
  EXPECT_TRUE(lines[0].starts_with("evenkeel top clusters: 1 rows that contain \"We\"")) << lines[0];
  EXPECT_TRUE(lines[3].starts_with("> west "));
  EXPECT_TRUE(session.Press({"\x1b"}).Screen()[0].starts_with("evenkeel top clusters: 3 rows ")) << "Escape drops it";
  session.Press({"/", "\xc3", "\xa4", "\x7f", "\x1b"});
  EXPECT_EQ(session.view.filter, "");
  EXPECT_TRUE(session.open) << "letters of a filter are no keys";
}

TEST(TopTest, WhatIsUnderTheCursorIsExplained) {
  Session session{.size = {80, 24}};
  base::Ensure(session.picture.fleet, {"clusters", "east", "health"}) = "Degraded";
  base::Ensure(session.picture.fleet, {"clusters", "east", "message"}) = "1 node is not ready";
  session.picture.members["east"].as_object()["nodes"].as_object()["n2"] =
      JsonObject{{"state", "NotReady"}, {"since", "2026-01-01T00:00:00Z"}};
  session.picture.members["east"].as_object()["pending"] =
      JsonObject{{"default/web", JsonObject{{"message", ""}, {"reasons", JsonObject{{"general", "too little cpu"}}}}}};
  std::string screen = session.Press({"e"}).Draw();
  for (const char* part :
       {"evenkeel top: explain east", "Health: Degraded: 1 node is not ready", "Owner:  a, shard 1",
        "  - n2: NotReady, since 100s ago", "  - default/web: general: too little cpu", "evenkeel explain cluster east"}) {
    EXPECT_NE(screen.find(part), std::string::npos) << part << "\n" << screen;
  }
  EXPECT_EQ(session.Press({"\x1b"}).view.pane, TopView::Pane::kTable);
  screen = session.Press({"\n"}).Draw();
  EXPECT_NE(screen.find("evenkeel top nodes of east: 2 rows"), std::string::npos) << screen;
  screen = session.Press({"\n"}).Draw();
  EXPECT_NE(screen.find("evenkeel top: explain east n1"), std::string::npos) << screen;
  EXPECT_NE(screen.find("cpu: 2 of 4 requested"), std::string::npos) << screen;
  screen = session.Press({"\x1b", "\x1b", "s", "j", "e"}).Draw();
  EXPECT_NE(screen.find("silent: others take its clusters over"), std::string::npos) << screen;
  EXPECT_NE(screen.find("  - north"), std::string::npos) << screen;
  screen = session.Press({"\x1b", "\n"}).Draw();
  EXPECT_NE(screen.find("> north"), std::string::npos) << "the replica's clusters\n" << screen;
  // It is gone meanwhile.
  session.Press({"\x1b", "c", "e"}).picture.fleet.at("clusters").as_object().erase("east");
  EXPECT_NE(session.Draw().find("Cluster east is not there any more."), std::string::npos);
}

TEST(TopTest, ColoursSayHowWellItIsAndTakeNoRoom) {
  Session session;
  base::Ensure(session.picture.fleet, {"clusters", "west", "health"}) = "Unreachable";
  const std::string painted = session.Draw(true);
  EXPECT_NE(painted.find("\x1b[7m> east"), std::string::npos) << "the row under the cursor";
  EXPECT_NE(painted.find("\x1b[32mHealthy"), std::string::npos);
  EXPECT_NE(painted.find("\x1b[31mUnreachable"), std::string::npos);
  EXPECT_NE(painted.find("\x1b[33m88%"), std::string::npos) << painted;
  std::string plain;
  for (size_t at = 0; at < painted.size(); ++at) {
    if (painted[at] == '\x1b') {
      at = painted.find('m', at);
    } else {
      plain += painted[at];
    }
  }
  EXPECT_EQ(plain, session.Draw());
}

TEST(TopTest, KeysChangeTheView) {
  Session session{.size = {80, 6}};
  TopView& view = session.view;
  EXPECT_EQ(session.Press({"<"}).view.sort, ClusterTable(Picture()).columns.size() - 1);
  session.Press({"\x1b[C", ">", "r"});
  EXPECT_EQ(view.sort, 1u);
  EXPECT_TRUE(view.reverse);
  for (int i = 0; i < 5; ++i) session.Press({"\x1b[B"});
  EXPECT_EQ(view.cursor, 2u);
  session.Press({"b", "k"});
  EXPECT_EQ(view.cursor, 0u);
  session.Press({"n"});
  EXPECT_EQ(view.what, "nodes");
  EXPECT_EQ(view.sort, 0u);
  EXPECT_NE(session.Press({"?"}).Draw().find("evenkeel top: keys"), std::string::npos);
  EXPECT_FALSE(session.Press({"q"}).open);
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
