#include "sim/run/scenario.h"

#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/run/faults.h"
#include "sim/world/fault_kinds.h"

namespace evenkeel::sim::scenario_test {
namespace {

using namespace std::chrono_literals;

TEST(ScenarioTest, ReadsEveryField) {
  const auto scenario = ParseScenario(R"(
name: everything
members: 7
nodes: {min: 1, max: 2}
replicas: {min: 2, max: 5, start: 3}
mode: compatible
controllers: [writer]
duration: 90s
heal: 1m
quiet: 10s
faults: [partition, clock-skew]
rates: {replica-crash: 30s, lost-answer: 0.25}
checkers: [one-writer, quiet]
options: {lease: 20s, margin: 4s, replica-lease: 6s, moves-per-minute: 0, handover: 1500ms}
)",
                                      "s.yaml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  EXPECT_EQ(scenario->name, "everything");
  EXPECT_EQ(scenario->members, 7);
  EXPECT_EQ(scenario->nodes_min, 1);
  EXPECT_EQ(scenario->nodes_max, 2);
  EXPECT_EQ(scenario->replicas_min, 2);
  EXPECT_EQ(scenario->replicas_max, 5);
  EXPECT_EQ(scenario->replicas_start, 3);
  EXPECT_EQ(scenario->mode, controllers::distribution::Mode::kCompatible);
  EXPECT_EQ(scenario->duration, 90s);
  EXPECT_EQ(scenario->heal, 1min);
  EXPECT_EQ(scenario->quiet, 10s);
  EXPECT_EQ(scenario->faults, (std::set<std::string>{"partition", "clock-skew", "replica-crash", "lost-answer"}));
  EXPECT_EQ(scenario->rates.at("replica-crash"), 30);
  EXPECT_EQ(scenario->rates.at("lost-answer"), 0.25);
  EXPECT_EQ(scenario->checkers, (std::set<std::string>{"one-writer", "quiet"}));
  EXPECT_EQ(scenario->options.lease, 20s);
  EXPECT_EQ(scenario->options.margin, 4s);
  EXPECT_EQ(scenario->options.replica_lease, 6s);
  EXPECT_EQ(scenario->options.moves_per_minute, 0);
  EXPECT_EQ(scenario->options.handover, 1500ms);
}

TEST(ScenarioTest, ReadsNodeGroupsWorkloadsAndTraces) {
  const auto scenario = ParseScenario(R"(
name: elastic
controllers: [autoscaler]
autoscaler: {scan-interval: 5s, max-nodes-total: 7}
nodeGroups:
- {name: small, shape: {cpu: 2, memory: 8Gi, pods: 20}, min: 1, max: 5, price: 0.5, provisionDelay: 7s, deleteDelay: 3s,
   quota: 4, failCreations: 0.25, neverRegister: 0.5, devices: 3}
- {name: plain}
workload: {deployments: 2, replicas: {min: 1, max: 4}, cpu: [250m, 1], memory: [1Gi], period: 20s, jobs: true, devices: 0.25, budgets: 0.5,
           stubborn: 1}
trace: {kind: openb, path: folder, provisionDelay: 2m, deleteDelay: 1s}
)",
                                      "s.yaml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  ASSERT_EQ(scenario->autoscaler.size(), 2u);
  ASSERT_EQ(scenario->node_groups.size(), 2u);
  const NodeGroupScenario& small = scenario->node_groups[0];
  EXPECT_EQ(small.name, "small");
  EXPECT_EQ(small.cpu, "2");
  EXPECT_EQ(small.memory, "8Gi");
  EXPECT_EQ(small.pods, 20);
  EXPECT_EQ(small.min, 1);
  EXPECT_EQ(small.max, 5);
  EXPECT_EQ(small.price, 0.5);
  EXPECT_EQ(small.provision_delay, 7s);
  EXPECT_EQ(small.delete_delay, 3s);
  EXPECT_EQ(small.quota, 4);
  EXPECT_EQ(small.fail_creations, 0.25);
  EXPECT_EQ(small.never_register, 0.5);
  EXPECT_FALSE(scenario->node_groups[1].quota);
  EXPECT_EQ(scenario->workload.deployments, 2);
  EXPECT_EQ(scenario->workload.replicas_min, 1);
  EXPECT_EQ(scenario->workload.replicas_max, 4);
  EXPECT_EQ(scenario->workload.cpu, (std::vector<std::string>{"250m", "1"}));
  EXPECT_EQ(scenario->workload.period, 20s);
  EXPECT_TRUE(scenario->workload.jobs);
  EXPECT_EQ(scenario->workload.budgets, 0.5);
  EXPECT_EQ(scenario->workload.stubborn, 1);
  EXPECT_EQ(scenario->workload.devices, 0.25);
  ASSERT_TRUE(scenario->trace);
  EXPECT_EQ(scenario->trace->path, "folder");
  EXPECT_EQ(scenario->trace->provision_delay, 2min);
  EXPECT_EQ(scenario->trace->delete_delay, 1s);
}

TEST(ScenarioTest, ReadsLoadsZonesAndEvents) {
  const auto scenario = ParseScenario(R"(
name: day
nodeGroups: [{name: spot}, {name: general, zone: zone-a}]
workload: {load: {0s: 0.25, 6h: 1}}
ensemble: {period: 0s}
events:
- {at: 1h30m, kind: quota, group: spot, nodes: 2, for: 10m}
- {at: 2h, kind: zone-outage, zone: zone-a}
- {at: 3h, kind: upgrade}
)",
                                      "s.yaml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  EXPECT_EQ(scenario->node_groups[0].zone, "");
  EXPECT_EQ(scenario->node_groups[1].zone, "zone-a");
  EXPECT_EQ(scenario->workload.load, (std::map<base::Duration, double>{{0s, 0.25}, {6h, 1}}));
  EXPECT_EQ(scenario->ensemble->period, 0s);
  ASSERT_EQ(scenario->events.size(), 3U);
  EXPECT_EQ(scenario->events[0].kind, EventScenario::Kind::kQuota);
  EXPECT_EQ(scenario->events[0].at, 90min);
  EXPECT_EQ(scenario->events[0].group, "spot");
  EXPECT_EQ(scenario->events[0].nodes, 2);
  EXPECT_EQ(scenario->events[0].lasts, 10min);
  EXPECT_EQ(scenario->events[1].kind, EventScenario::Kind::kZoneOutage);
  EXPECT_EQ(scenario->events[1].zone, "zone-a");
  EXPECT_EQ(scenario->events[1].lasts, 30min);
  EXPECT_EQ(scenario->events[2].kind, EventScenario::Kind::kUpgrade);
}

TEST(ScenarioTest, HasDefaultsForAllButTheName) {
  const auto scenario = ParseScenario("name: x\nfaults: all\noptions: hostile\nreplicas: 4\nnodes: 2\n", "s.yaml");
  ASSERT_TRUE(scenario) << scenario.error().message();
  EXPECT_EQ(scenario->faults.size(), FaultKinds().size());
  EXPECT_EQ(scenario->checkers.size(), CheckerNames().size());
  EXPECT_EQ(scenario->replicas_min, 4);
  EXPECT_EQ(scenario->replicas_max, 4);
  EXPECT_EQ(scenario->nodes_max, 2);
  EXPECT_TRUE(scenario->options.hostile);
}

TEST(ScenarioTest, EveryMistakeIsOneLineThatNamesTheField) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"members: 3", "name: missing"},
      {"name: 7", "name: not a text"},
      {"name: x\nmember: 3", "\"member\" is not known"},
      {"name: x\n\"a\\nb\": 3", "\"a b\" is not known"},
      {"name: x\noptions: {\"a\\nb\": 3}", "options: \"a b\" is not known"},
      {"name: x\nautoscaler: {\"a\\nb\": 3}", "autoscaler.a b: there is no such flag"},
      {"name: x\nmembers: 0", "members: not a whole number from 1 to 1000"},
      {"name: x\nmembers: 1.5", "members: not a whole number"},
      {"name: x\nmembers: 99999999999999999999", "members: not a whole number"},
      {"name: x\nmembers: three", "members: not a whole number"},
      {"name: x\nnodes: {min: 2, max: 1}", "nodes: max is less than min"},
      {"name: x\nnodes: {least: 2}", "nodes: \"least\" is not known"},
      {"name: x\nreplicas: {min: 3, max: 5, start: 9}", "replicas.start: not a number from min to max"},
      {"name: x\nreplicas: {min: 0}", "replicas.min: not a whole number"},
      {"name: x\nmode: fast", "mode: \"fast\" is not coordinated or compatible"},
      {"name: x\ncontrollers: all", "controllers: not a list of names"},
      {"name: x\ncontrollers: [reader]", "controllers: \"reader\" is not one of autoscaler, balancer, scheduler, writer"},
      {"name: x\nduration: 5", "duration: not a duration"},
      {"name: x\nduration: 0s", "duration: not a duration from 1s"},
      {"name: x\nfaults: none", "faults: not a list of names, nor all"},
      {"name: x\nfaults: [fire]", "faults: \"fire\" is not one of api-error, "},
      {"name: x\nfaults: [scale, scale]", "faults: \"scale\" is there twice"},
      {"name: x\nrates: [scale]", "rates: not an object"},
      {"name: x\nrates: {scale: 7}", "rates.scale: not a duration"},
      {"name: x\nrates: {stall: 2}", "rates.stall: not a number from 0 to 1"},
      {"name: x\nrates: {stall: 1s}", "rates.stall: not a number from 0 to 1"},
      {"name: x\nrates: {latency: 1s}", "rates.latency: it is on or off"},
      {"name: x\nrates: {fire: 1s}", "rates: \"fire\" is not known"},
      {"name: x\ncheckers: [luck]", "checkers: \"luck\" is not one of"},
      {"name: x\noptions: friendly", "options: not hostile, default, or single options"},
      {"name: x\noptions: {leese: 3s}", "options: \"leese\" is not known"},
      {"name: x\noptions: {lease: 1s}", "options.lease: not a duration from 2s"},
      {"name: x\nautoscaler: {scan-intervall: 5s}", "autoscaler.scan-intervall: there is no such flag"},
      {"name: x\nautoscaler: {scan-interval: soon}", "scan-interval"},
      {"name: x\nautoscaler: {expander: \"a\\nb\"}", "\"a b\""},
      {"name: x\nautoscaler: {compat: \"a\\nb\"}", "\"a b\""},
      {"name: x\nautoscaler: [scan-interval]", "autoscaler: not an object"},
      {"name: x\nnodeGroups: {name: g}", "nodeGroups: not a list of node groups"},
      {"name: x\nnodeGroups: [{max: 3}]", "nodeGroups[0].name: missing"},
      {"name: x\nnodeGroups: [{name: g}, {name: g}]", "nodeGroups[1].name: it is there twice"},
      {"name: x\nnodeGroups: [{name: g, min: 3, max: 2}]", "nodeGroups[0]: max is less than min"},
      {"name: x\nnodeGroups: [{name: g, shape: {cpu: many}}]", "nodeGroups[0].shape.cpu: not an amount"},
      {"name: x\nnodeGroups: [{name: g, shape: {cpu: 0}}]", "nodeGroups[0].shape.cpu: not an amount"},
      {"name: x\nnodeGroups: [{name: g, price: -1}]", "nodeGroups[0].price: not a number"},
      {"name: x\nnodeGroups: [{name: g, neverRegister: 2}]", "nodeGroups[0].neverRegister: not a number from 0 to 1"},
      {"name: x\nnodeGroups: [{name: g, size: 2}]", "nodeGroups[0]: \"size\" is not known"},
      {"name: x\nworkload: {replicas: {min: 3, max: 2}}", "workload.replicas: max is less than min"},
      {"name: x\nworkload: {cpu: []}", "workload.cpu: an empty list"},
      {"name: x\nworkload: {jobs: 3}", "workload.jobs: not true or false"},
      {"name: x\nworkload: {devices: 2}", "workload.devices: not a number from 0 to 1"},
      {"name: x\nnodeGroups: [{name: a, devices: 65}]", "nodeGroups[0].devices: not a whole number from 0 to 64"},
      {"name: x\nworkload: {pods: 3}", "workload: \"pods\" is not known"},
      {"name: x\nworkload: {load: 3}", "workload.load: not an object"},
      {"name: x\nworkload: {load: {soon: 1}}", "workload.load.soon: not a time from 0s to 24h"},
      {"name: x\nworkload: {load: {1h: 2}}", "workload.load.1h: not a number from 0 to 1"},
      {"name: x\nevents: {at: 1h}", "events: not a list of events"},
      {"name: x\nevents: [{kind: fire}]", "events[0].kind: \"fire\" is not quota, upgrade or zone-outage"},
      {"name: x\nevents: [{kind: upgrade}]", "events[0].kind: there is no ensemble"},
      {"name: x\nevents: [{kind: zone-outage}]", "events[0].zone: missing"},
      {"name: x\nevents: [{kind: quota, group: g}]", "events[0].group: there is no such node group"},
      {"name: x\nensemble: {}\nevents: [{kind: upgrade, zone: a}]", "events[0]: \"zone\" is not known"},
      {"name: x\nbalancing: {movements: 0}", "balancing.movements: not a whole number from 1 to 1000000"},
      {"name: x\nbalancing: {threshold: 0.5}", "balancing.threshold: not a number of at least 1"},
      {"name: x\nbalancing: {window: 5}", "balancing.window: not a duration"},
      {"name: x\nbalancing: {pods: 3}", "balancing: \"pods\" is not known"},
      {"name: x\ntrace: {kind: other}", "trace.kind: \"other\" is not one of openb"},
      {"name: x\ntrace: {kind: openb, size: 1}", "trace: \"size\" is not known"},
      {"[]", "not an object"},
      {"name: x\nname: y", "s.yaml:2:"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto scenario = ParseScenario(text, "s.yaml");
    ASSERT_FALSE(scenario) << text;
    EXPECT_EQ(scenario.error().code(), base::Code::kBadRequest);
    EXPECT_NE(scenario.error().message().find(expected), std::string::npos) << scenario.error().message();
    EXPECT_TRUE(scenario.error().message().starts_with("s.yaml:")) << scenario.error().message();
    EXPECT_EQ(scenario.error().message().find('\n'), std::string::npos);
  }
}

TEST(FaultsTest, ASeedDrawsItsOwnOnesWithinTheirRanges) {
  Scenario scenario;
  for (const FaultKind& kind : FaultKinds()) scenario.faults.emplace(kind.name);
  scenario.rates["scale"] = 77;
  std::map<std::string, int> on;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto drawn = DrawFaults(scenario, base::Random(seed));
    EXPECT_EQ(drawn, DrawFaults(scenario, base::Random(seed)));
    EXPECT_EQ(drawn.at("scale"), 77);
    for (const auto& [name, rate] : drawn) {
      ++on[name];
      const FaultKind& kind = *FindFaultKind(name);
      if (kind.rate == FaultKind::Rate::kAlways || name == "scale") continue;
      EXPECT_GE(rate, kind.low * 0.999);
      EXPECT_LE(rate, kind.high * 1.001);
    }
  }
  for (const FaultKind& kind : FaultKinds()) {
    if (kind.name == "scale") continue;
    const bool own_share = kind.rate == FaultKind::Rate::kAlways && kind.low > 0;
    const double expected = own_share ? 100 * kind.low : 200.0 / 3;
    EXPECT_NEAR(on[std::string(kind.name)], expected, 25) << kind.name;
  }
}

}  // namespace
}  // namespace evenkeel::sim::scenario_test
