#include <filesystem>
#include <fstream>

#include "dashboard/history/recorder.h"
#include "dashboard/server_testing.h"

namespace evenkeel::dashboard::history_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class HistoryTest : public ServerTest {
 protected:
  HistoryTest() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~HistoryTest() override { std::filesystem::remove_all(folder); }

  void PutEvent(const std::string& name, base::Time time) {
    Json event = Parsed(R"({"reason": "ScaleDown", "message": "gone", "source": {"component": "cluster-autoscaler"},
                            "involvedObject": {"kind": "Node", "name": "n1"}})");
    base::Ensure(event, {"metadata", "name"}) = name;
    base::Ensure(event, {"metadata", "namespace"}) = "default";
    base::Ensure(event, {"lastTimestamp"}) = base::FormatTime(time);
    members["member-1"]->Put(kube::resources::Events(), event);
  }
  static HistoryRequest Since(base::Time from, const std::string& cluster = "") {
    return {.cluster = cluster, .from = from, .to = kStart + 240h};
  }

  const std::string folder = ::testing::TempDir() + "/evenkeel-history-" + std::to_string(::getpid());
  const std::string path = folder + "/history";
};

TEST_F(HistoryTest, WhatApisForgetIsKept) {
  HistoryFile file(path);
  {
    Recorder recorder(*feed, file, executor);
    PutEvent("early", kStart);
    executor.RunFor(1min);
    members["member-1"]->Remove(kube::resources::Events(), "default/early");
    executor.RunFor(10min);
    PutEvent("late", kStart + 10min);
    executor.RunFor(1min);
  }
  const Json all = file.Read(Since(kStart - 1h)).value();
  EXPECT_EQ(base::FindObject(all, {"events"}).size(), 2U) << "each once: " << base::ToText(all);
  EXPECT_TRUE(base::FindArray(all, {"points"}).empty()) << "points are of one member";
  const Json one = file.Read(Since(kStart - 1h, "member-1")).value();
  EXPECT_GE(base::FindArray(one, {"points"}).size(), 3U) << base::ToText(one);
  EXPECT_EQ(base::FindInt(base::FindArray(one, {"points"}).front().at(1), {"nodes"}), 1);
  EXPECT_EQ(base::FindObject(file.Read(Since(kStart + 5min)).value(), {"events"}).size(), 1U);
  EXPECT_TRUE(base::FindObject(file.Read(Since(kStart - 1h, "member-2")).value(), {"events"}).empty());
}

TEST_F(HistoryTest, TheFileIsBoundedAndTheOldestGoes) {
  HistoryFile file(path, 4000);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(file.Append({HistoryFile::PointLine(kStart + i * 1min, "member-1", JsonObject{{"nodes", i}})}));
  }
  EXPECT_LE(std::filesystem::file_size(path) + std::filesystem::file_size(path + ".1"), 4000U);
  const Json read = file.Read(Since(kStart, "member-1")).value();
  const JsonArray points = base::FindArray(read, {"points"});
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(base::FindInt(points.back().at(1), {"nodes"}), 199);
  EXPECT_NE(base::FindString(read, {"since"}), base::FormatTime(kStart));
}

TEST_F(HistoryTest, WhatIsDamagedIsPassedOver) {
  std::ofstream(path)
      << "nonsense\n2026-01-01T00:00:00Z\n2024-12-15T01:13:04Z event a {\n2024-12-15T01:13:04Z point member-1 {\"no";
  HistoryFile file(path);
  ASSERT_TRUE(file.Append({HistoryFile::EventLine(kStart, "an id with % and spaces", JsonObject{{"cluster", "hub"}})}));
  const Json read = file.Read(Since(kStart - 1h)).value();
  ASSERT_EQ(base::FindObject(read, {"events"}).size(), 1U) << base::ToText(read);
  EXPECT_EQ(base::FindObject(read, {"events"}).begin()->key(), "an id with % and spaces");
}

TEST_F(HistoryTest, ADiskThatTakesNothingIsSaid) {
  HistoryFile file(folder + "/no/such/folder/history");
  EXPECT_FALSE(file.Append({HistoryFile::PointLine(kStart, "member-1", JsonObject{})}));
  EXPECT_TRUE(file.Read(Since(kStart))) << "there is nothing";
}

TEST_F(HistoryTest, ItIsAskedByTime) {
  const auto without = Ask("GET", "/api/history?from=2024-12-15T00:00:00Z", Bearer(kReader));
  EXPECT_EQ(without->status, 200);
  EXPECT_FALSE(base::FindBool(Parsed(without->body), {"kept"}, true)) << "the page says so";
  history = std::make_shared<HistoryFile>(path);
  ASSERT_TRUE(history->Append({HistoryFile::EventLine(kStart, "e", JsonObject{{"cluster", "hub"}})}));
  Start(kReader);
  const Json kept = Parsed(Ask("GET", "/api/history?from=2024-12-15T00:00:00Z", Bearer(kReader))->body);
  EXPECT_TRUE(base::FindBool(kept, {"kept"}));
  EXPECT_EQ(base::FindObject(kept, {"events"}).size(), 1U) << base::ToText(kept);
  for (const char* bad :
       {"", "from=yesterday", "from=2024-12-15T00:00:00Z&to=2024-12-14T00:00:00Z", "from=2024-12-15T00:00:00Z&cluster=a/b"}) {
    EXPECT_EQ(Ask("GET", std::string("/api/history?") + bad, Bearer(kReader))->status, 400) << bad;
  }
  EXPECT_EQ(Ask("GET", "/api/history?from=2024-12-15T00:00:00Z")->status, 401);
}

}  // namespace
}  // namespace evenkeel::dashboard::history_test
