#include "cli/clusters/plan_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/input/file.h"
#include "base/input/yaml.h"
#include "cli/commands/balance.h"
#include "cli/commands/scale.h"

namespace evenkeel::cli::plan_report_test {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;

Json Parsed(const std::string& text) {
  auto parsed = base::ParseYamlDocument(text, "test");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed.value_or(Json());
}

const Json* Series(const Json& data, std::string_view title) {
  for (const Json& series : FindArray(data, {"series"})) {
    if (FindString(series, {"title"}) == title) return &series;
  }
  return nullptr;
}

/// "now: [1,2] planned: [2,1]"; "" when there is no such chart.
std::string Values(const Json& data, std::string_view title) {
  std::string text;
  const Json* series = Series(data, title);
  if (series == nullptr) return text;
  for (const Json& line : FindArray(*series, {"lines"})) {
    text += (text.empty() ? "" : " ") + std::string(FindString(line, {"name"})) + ":";
    for (const Json& value : FindArray(line, {"values"})) text += " " + std::to_string(value.to_number<double>()).substr(0, 4);
  }
  return text;
}

std::string Rows(const Json& data, std::string_view title) {
  for (const Json& table : FindArray(data, {"tables"})) {
    if (FindString(table, {"title"}) == title) return base::ToText(table.at("rows"));
  }
  return "";
}

/// What a page that was written shows.
Json DataIn(const std::string& file) {
  const auto page = base::ReadFile(file);
  EXPECT_TRUE(page);
  const std::string begin = R"(<script type="application/json" id="report-data">)";
  const size_t from = page->find(begin) + begin.size();
  auto data = base::ParseJson(page->substr(from, page->find("</script>", from) - from), file);
  EXPECT_TRUE(data) << data.error().message();
  return data.value_or(Json());
}

TEST(PlanReportTest, ShardsAreComparedWithThePlanBefore) {
  const Json before = Parsed(R"({shards: [{shard: 0, clusters: 3, weight: 30}, {shard: 1, clusters: 0, weight: 0}]})");
  const Json plan =
      Parsed(R"({method: weighted, replicas: 2, assignments: [{cluster: a, server: "https://a", id: "1", shard: 0}],
    shards: [{shard: 0, clusters: 2, weight: 20}, {shard: 1, clusters: 1, weight: 10}], moves: [{cluster: c, from: 0, to: 1}]})");
  const Json data = ShardsReport(plan, before);
  EXPECT_EQ(Values(data, "Weight by shard"), "now: 30.0 0.00 planned: 20.0 10.0");
  EXPECT_EQ(Values(data, "Clusters by shard"), "now: 3.00 0.00 planned: 2.00 1.00");
  EXPECT_EQ(base::ToText(Series(data, "Weight by shard")->at("names")), R"(["shard 0","shard 1"])");
  EXPECT_EQ(FindString(*Series(data, "Clusters by shard"), {"unit"}), "clusters");
  EXPECT_EQ(FindString(*Series(data, "Weight by shard"), {"unit"}), "weight");
  EXPECT_TRUE(base::ToText(data.at("facts")).contains("30 of 30 weight")) << base::ToText(data.at("facts"));
  EXPECT_TRUE(base::ToText(data.at("facts")).contains("20 of 30 weight")) << base::ToText(data.at("facts"));
  EXPECT_EQ(FindString(data.at("moves").at(0), {"object"}), "c");
  EXPECT_EQ(FindString(data.at("moves").at(0), {"to"}), "shard 1");
  EXPECT_EQ(Rows(data, "Clusters"), R"([["a",0,"https://a"]])");
  EXPECT_EQ(Values(ShardsReport(plan, base::JsonObject{}), "Weight by shard"), "planned: 20.0 10.0")
      << "nothing to compare with";
}

TEST(PlanReportTest, MovesThatDoNotFitAreCounted) {
  base::JsonArray moves;
  for (int i = 0; i < 2'005; ++i) {
    moves.push_back(base::JsonObject{{"cluster", "c" + std::to_string(i)}, {"from", 0}, {"to", 1}});
  }
  const Json data = ShardsReport(base::JsonObject{{"moves", std::move(moves)}}, base::JsonObject{});
  EXPECT_EQ(FindArray(data, {"moves"}).size(), 2'000u);
  EXPECT_EQ(base::FindInt(data, {"movesTotal"}), 2'005);
  EXPECT_TRUE(base::ToText(data.at("facts")).contains("the first 2000 of 2005")) << base::ToText(data.at("facts"));
}

TEST(PlanReportTest, ScaleSaysWhyPodsStayPendingAndNodesStay) {
  const std::string file = ::testing::TempDir() + "scale-report.yaml", report = ::testing::TempDir() + "scale-report.html";
  ASSERT_TRUE(base::WriteFile(file, R"(apiVersion: evenkeel.dev/v1alpha1
kind: NodeGroup
metadata: {name: general}
spec:
  minSize: 0
  maxSize: 5
  targetSize: 0
  template: {status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: fits, namespace: default, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
---
apiVersion: v1
kind: Pod
metadata: {name: huge, namespace: default, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {containers: [{name: c, resources: {requests: {cpu: "30"}}}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
)"));
  ScaleOptions options;
  options.files = {file};
  options.now = "2026-01-01T01:00:00Z";
  options.output = "json";
  options.report = {.file = report, .command = "evenkeel plan scale"};
  std::ostringstream out;
  const auto planned = PlanScale(options, out);
  ASSERT_TRUE(planned) << planned.error().message();
  const Json data = DataIn(report);
  EXPECT_EQ(Values(data, "Nodes by group"), "ready: 0.00 planned: 1.00");
  EXPECT_EQ(Rows(data, "Scale up"), R"([["general",0,1,"default/fits"]])");
  EXPECT_TRUE(Rows(data, "Pods that stay pending").starts_with(R"([["default/huge","general",)"))
      << Rows(data, "Pods that stay pending");
  EXPECT_EQ(FindString(data, {"command"}), "evenkeel plan scale");
  EXPECT_TRUE(base::ParseJson(out.str(), "plan")) << "what is printed stays as it is";
}

TEST(PlanReportTest, BalanceShowsTheLoadsOfTheNodesBeforeAndAfter) {
  const std::string file = ::testing::TempDir() + "balance-report.yaml", report = ::testing::TempDir() + "balance-report.html";
  std::string state = R"(nodes:
- {name: n0, nodeType: A, capacities: {Memory: 100}}
- {name: n1, nodeType: A, capacities: {Memory: 100}}
services:
- {name: web, metrics: [{name: Memory, weight: High, load: 10}]}
partitions:
)";
  for (int i = 0; i < 4; ++i) state += "- {name: web/" + std::to_string(i) + ", service: web, replicas: [{node: n0}]}\n";
  ASSERT_TRUE(base::WriteFile(file, state));
  BalanceOptions options;
  options.files = {file};
  options.now = 0;
  options.output = "json";
  options.report = {.file = report};
  std::ostringstream out;
  const auto planned = PlanBalance(options, out);
  ASSERT_TRUE(planned) << planned.error().message();
  const Json data = DataIn(report);
  EXPECT_EQ(Values(data, "Memory by node"), "now: 0.40 0.00 planned: 0.20 0.20");
  EXPECT_EQ(FindString(*Series(data, "Memory by node"), {"unit"}), "share");
  ASSERT_EQ(FindArray(data, {"moves"}).size(), 2u);
  for (const Json& move : FindArray(data, {"moves"})) {
    EXPECT_EQ(FindString(move, {"to"}), "n1");
    EXPECT_NE(FindString(move, {"reason"}), "");
    EXPECT_TRUE(move.at("gain").is_number());
  }
}

TEST(PlanReportTest, ARolloutHasItsStepsInOrder) {
  const Json plan =
      Parsed(R"({reason: Deploying, message: waits for a, apply: [{kind: ResourceBinding, metadata: {name: zk}}], delete: [],
    status: {phase: Deploying, clusters: [{name: a, replicas: 3, revision: r2}, {name: b, replicas: 2, revision: r1}],
             records: [{currentState: {completed: [c], deploying: [a], pending: [b]}}]}})");
  const Json data = RolloutReport(plan);
  EXPECT_EQ(Rows(data, "Steps of the rollout"), R"([[1,"c","completed"],[2,"a","deploying"],[3,"b","pending"]])");
  EXPECT_EQ(Rows(data, "Next"), R"([["apply","ResourceBinding","zk"]])");
  EXPECT_EQ(Rows(data, "Clusters"), R"([["a",3,"r2"],["b",2,"r1"]])");
  EXPECT_EQ(FindString(data, {"subtitle"}), "waits for a");
}

TEST(PlanReportTest, OnlyTheHighestAreDrawnOfMany) {
  Json plan = Parsed("{health: {status: Healthy}}");
  base::JsonArray groups;
  for (int i = 0; i < 100; ++i) {
    groups.push_back(base::JsonObject{{"name", "g" + std::to_string(i)}, {"ready", i}, {"target", 0}});
  }
  plan.as_object()["nodeGroups"] = std::move(groups);
  const Json data = ScaleReport(plan);
  const Json& series = data.at("series").at(0);
  EXPECT_EQ(FindString(series, {"title"}), "Nodes by group (the highest 40 of 100)");
  EXPECT_EQ(series.at("names").at(0).as_string(), "g99");
  EXPECT_EQ(FindArray(series, {"names"}).size(), 40u);
}

}  // namespace
}  // namespace evenkeel::cli::plan_report_test
