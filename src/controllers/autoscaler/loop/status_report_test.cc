#include "controllers/autoscaler/loop/status_report.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"
#include "controllers/autoscaler/facts/fleet_testing.h"

namespace evenkeel::controllers::autoscaler::status_report_test {
namespace {

using testing::Fleet;
using testing::kStart;
using namespace std::chrono_literals;

TEST(TruncateTest, CutsLongTextAndSaysSo) {
  EXPECT_EQ(Truncate("short", 5), "short");
  EXPECT_EQ(Truncate("this is too long", 14), "thi<truncated>");
  EXPECT_EQ(Truncate("this is too long", 11), "<truncated>");
  EXPECT_EQ(Truncate("this is too long", 4), "this");
  EXPECT_EQ(Truncate(std::string(490, 'x') + "\u20ac\u20ac\u20ac\u20ac", 500).size(), 500u);
  EXPECT_EQ(Truncate("xx\u20ac and so on, and so on", 14), "xx<truncated>") << "no half of a character";
}

TEST(FormatStatusTimeTest, FractionWithoutTrailingZeros) {
  EXPECT_EQ(FormatStatusTime(kStart), "2024-12-15 01:13:04 +0000 UTC");
  EXPECT_EQ(FormatStatusTime(kStart + 90'873'080ns), "2024-12-15 01:13:04.09087308 +0000 UTC");
}

/// One group of each kind: healthy with candidates, and backed off.
StatusReport Sample(StatusReporter& reporter, Fleet& fleet, ClusterState& state) {
  state.Update(fleet.view);
  return reporter.Report(fleet.view, state, {{{"ng1", 2}}, fleet.view.now.Read() - 1s});
}

void Fill(Fleet& fleet, ClusterState& state) {
  fleet.Group("ng1", 1, 5, 3);
  fleet.Group("ng2", 0, 4, 1);
  fleet.Nodes("ng1", 2);
  fleet.Node("ng1-gone", "ng1").to_be_deleted = kStart;
  fleet.Node("n2", "ng2", false).resource_unready = true;
  state.RegisterFailedScaleUp("ng2", {providers::Instance::ErrorClass::kOutOfResources, "QUOTA", "limit: 8 # cpus"}, kStart);
}

TEST(StatusReportTest, YamlHasUpstreamsFieldsInUpstreamsOrder) {
  Fleet fleet;
  ClusterState state{Options{}};
  Fill(fleet, state);
  StatusReporter reporter;
  const std::string yaml = Sample(reporter, fleet, state).ToYaml();
  EXPECT_EQ(yaml, R"(time: 2024-12-15 01:13:04 +0000 UTC
autoscalerStatus: Running
clusterWide:
  health:
    status: Healthy
    nodeCounts:
      registered:
        total: 4
        ready: 2
        notStarted: 0
        suspended: 0
        beingDeleted: 1
        unready:
          total: 1
          resourceUnready: 1
      longUnregistered: 0
      unregistered: 0
    lastProbeTime: "2024-12-15T01:13:04Z"
    lastTransitionTime: "2024-12-15T01:13:04Z"
  scaleUp:
    status: NoActivity
    lastProbeTime: "2024-12-15T01:13:04Z"
    lastTransitionTime: "2024-12-15T01:13:04Z"
  scaleDown:
    status: CandidatesPresent
    candidates: 2
    lastProbeTime: "2024-12-15T01:13:03Z"
    lastTransitionTime: "2024-12-15T01:13:03Z"
nodeGroups:
- name: ng1
  health:
    status: Healthy
    nodeCounts:
      registered:
        total: 3
        ready: 2
        notStarted: 0
        suspended: 0
        beingDeleted: 1
        unready:
          total: 0
          resourceUnready: 0
      longUnregistered: 0
      unregistered: 0
    cloudProviderTarget: 3
    minSize: 1
    maxSize: 5
    lastProbeTime: "2024-12-15T01:13:04Z"
    lastTransitionTime: "2024-12-15T01:13:04Z"
  scaleUp:
    status: NoActivity
    lastProbeTime: "2024-12-15T01:13:04Z"
    lastTransitionTime: "2024-12-15T01:13:04Z"
  scaleDown:
    status: CandidatesPresent
    candidates: 2
    lastProbeTime: "2024-12-15T01:13:03Z"
    lastTransitionTime: "2024-12-15T01:13:03Z"
- name: ng2
  health:
    status: Healthy
    nodeCounts:
      registered:
        total: 1
        ready: 0
        notStarted: 0
        suspended: 0
        unready:
          total: 1
          resourceUnready: 1
      longUnregistered: 0
      unregistered: 0
    cloudProviderTarget: 1
    minSize: 0
    maxSize: 4
    lastProbeTime: "2024-12-15T01:13:04Z"
    lastTransitionTime: "2024-12-15T01:13:04Z"
  scaleUp:
    status: Backoff
    backoffInfo:
      errorCode: QUOTA
      errorMessage: 'limit: 8 # cpus'
    lastProbeTime: "2024-12-15T01:13:04Z"
    lastTransitionTime: "2024-12-15T01:13:04Z"
  scaleDown:
    status: NoCandidates
    lastProbeTime: "2024-12-15T01:13:03Z"
    lastTransitionTime: "2024-12-15T01:13:03Z"
)");
  const auto read = base::ParseYamlDocument(yaml, "status");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(base::FindArray(*read, {"nodeGroups"}).size(), 2u);
}

TEST(StatusReportTest, TextOf126HasItsLines) {
  Fleet fleet;
  ClusterState state{Options{}};
  Fill(fleet, state);
  StatusReporter reporter;
  const std::string text = Sample(reporter, fleet, state).Body(Compat::k1_26);
  EXPECT_TRUE(text.starts_with(R"(Cluster-autoscaler status at 2024-12-15 01:13:04 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=2 unready=1 (resourceUnready=1) notStarted=0 longNotStarted=0 registered=4 longUnregistered=0)
               LastProbeTime:      2024-12-15 01:13:04 +0000 UTC
               LastTransitionTime: 2024-12-15 01:13:04 +0000 UTC
  ScaleUp:     NoActivity (ready=2 registered=4)
               LastProbeTime:      2024-12-15 01:13:04 +0000 UTC
               LastTransitionTime: 2024-12-15 01:13:04 +0000 UTC
  ScaleDown:   CandidatesPresent (candidates=2)
               LastProbeTime:      2024-12-15 01:13:03 +0000 UTC
               LastTransitionTime: 2024-12-15 01:13:03 +0000 UTC

NodeGroups:
  Name:        ng1
  Health:      Healthy (ready=2 unready=0 (resourceUnready=0) notStarted=0 longNotStarted=0 registered=3 longUnregistered=0 cloudProviderTarget=3 (minSize=1, maxSize=5))
)")) << text;
  EXPECT_NE(text.find("  ScaleUp:     Backoff (ready=0 cloudProviderTarget=1)\n"), std::string::npos);
}

TEST(StatusReportTest, TransitionTimesChangeOnlyWithTheStatusAlsoAfterARestart) {
  Fleet fleet;
  ClusterState state{Options{}};
  Fill(fleet, state);
  StatusReporter first;
  Sample(first, fleet, state);
  auto second = StatusReporter::FromJson(first.ToJson());
  ASSERT_TRUE(second.has_value());
  fleet.view.now = kStart + 6min;
  const StatusReport report = Sample(*second, fleet, state);
  EXPECT_EQ(report.health.probed, kStart + 6min);
  EXPECT_EQ(report.health.changed, kStart);
  EXPECT_EQ(report.scale_down.changed, kStart - 1s);
  EXPECT_EQ(report.groups[1].scale_up.status, "NoActivity") << "the back-off is over";
  EXPECT_EQ(report.groups[1].scale_up.changed, kStart + 6min);
}

TEST(StatusReportTest, ErrorMessagesAreCut) {
  Fleet fleet;
  fleet.Group("ng1", 0, 4, 0);
  ClusterState state{Options{}};
  state.RegisterFailedScaleUp("ng1", {providers::Instance::ErrorClass::kOther, "X", std::string(600, 'm')}, kStart);
  StatusReporter reporter;
  const StatusReport report = Sample(reporter, fleet, state);
  EXPECT_EQ(report.groups[0].scale_up.error_message, std::string(489, 'm') + "<truncated>");
}

TEST(StatusReportTest, WhatIsLeftAloneIsToldWithSinceWhen) {
  Fleet fleet;
  ClusterState state{Options{}};
  state.Update(fleet.view);
  StatusReporter reporter;
  std::vector<LeftAlone> left = {{"ProviderAnswerUnusable", "", "first"}, {"ProviderAnswerUnusable", "", "second"}};
  reporter.Report(fleet.view, state, {}, left);
  fleet.view.now = fleet.view.now.Read() + 1min;
  left.push_back({"NodeGroupSetAside", "a", "third"});
  const StatusReport report = reporter.Report(fleet.view, state, {}, left);
  ASSERT_EQ(report.notices.size(), 3U);
  EXPECT_EQ(report.notices[0].changed, kStart);
  EXPECT_EQ(report.notices[1].changed, kStart);
  EXPECT_EQ(report.notices[2].changed, kStart + 1min);
  EXPECT_TRUE(
      report.ToYaml().ends_with("- type: NodeGroupSetAside\n  name: a\n  message: third\n"
                                "  lastTransitionTime: \"2024-12-15T01:14:04Z\"\n"))
      << report.ToYaml();
}

TEST(StatusReportTest, InitializingSaysWhy) {
  const StatusReport report = StatusReporter().Initializing("Cluster has no nodes.", {}, kStart);
  EXPECT_EQ(report.ToYaml(),
            "time: 2024-12-15 01:13:04 +0000 UTC\nautoscalerStatus: Initializing\nmessage: Cluster has no nodes.\n");
  EXPECT_EQ(report.ToText(), "Cluster-autoscaler status at 2024-12-15 01:13:04 +0000 UTC:\nCluster has no nodes.\n");
}

TEST(StatusReportTest, AReportOfThousandsOfGroupsFitsIntoAConfigMap) {
  StatusReport report;
  report.health.status = "Healthy";
  for (int i = 0; i < 2000; ++i) {
    StatusReport::Group group;
    group.name = fmt::format("pool-{:04}-of-a-long-name", i);
    group.health.status = i == 1999 ? "Unhealthy" : "Healthy";
    group.scale_up.status = i == 1000 ? "InProgress" : "NoActivity";
    group.scale_down.status = "NoCandidates";
    report.groups.push_back(std::move(group));
  }
  ASSERT_GT(report.ToYaml().size(), 1u << 20);
  for (const Compat compat : {Compat::k1_37, Compat::k1_26}) {
    const std::string body = report.Body(compat, 768 << 10);
    EXPECT_LE(body.size(), 768u << 10);
    EXPECT_GT(body.size(), 640u << 10) << "as many as there is room for";
    EXPECT_TRUE(body.contains("of 2000 node groups are left out: they have no room here")) << body.substr(0, 200);
    for (const char* name : {"pool-0000", "pool-1000", "pool-1999"}) EXPECT_TRUE(body.contains(name)) << name;
    EXPECT_FALSE(body.contains("pool-1998"));
    EXPECT_LT(body.find("pool-1000"), body.find("pool-1999"));
  }
  report.groups.resize(100);
  EXPECT_EQ(report.Body(Compat::k1_37, 768 << 10), report.ToYaml());
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::status_report_test
