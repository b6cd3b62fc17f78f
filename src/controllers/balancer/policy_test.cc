#include "controllers/balancer/policy.h"

#include "balancing/plan/phase_machine.h"
#include "controllers/balancer/objects_testing.h"

namespace evenkeel::controllers::balancer::policy_test {
namespace {

using balancing::MoveCost;
using balancing::Settings;

using base::JsonObject;
using testing::PolicyOf;
using namespace std::chrono_literals;

std::string Refusal(std::string_view spec) {
  const auto policy =
      ParsePolicy(JsonObject{{"metadata", JsonObject{{"name", "p"}}}, {"spec", *base::ParseJson(spec, "test")}});
  return policy ? "" : policy.error().message();
}

TEST(PolicyTest, AnEmptySpecBalancesCpuAndMemoryByRequests) {
  for (const char* object : {R"({"metadata": {"name": "p"}})", R"({"metadata": {"name": "p"}, "spec": {}})"}) {
    const auto policy = ParsePolicy(*base::ParseJson(object, "test"));
    ASSERT_TRUE(policy.has_value());
    ASSERT_EQ(policy->metrics.size(), 2u);
    EXPECT_EQ(policy->metrics[0].name, "cpu");
    EXPECT_EQ(policy->metrics[1].resource, "memory");
    EXPECT_EQ(policy->metrics[0].source, LoadSource::kRequests);
    EXPECT_EQ(policy->excluded_namespaces, std::vector<std::string>{"kube-system"});
    EXPECT_FALSE(policy->dry_run);
    EXPECT_TRUE(policy->rules.node_affinity && policy->rules.pod_affinity && policy->rules.topology_spread);
    EXPECT_FALSE(policy->rules.node_taints);
    const Settings settings = SettingsOf(*policy, {1, 1});
    EXPECT_EQ(BalancingThreshold(settings, "cpu"), 1.5);
    EXPECT_EQ(ActivityThreshold(settings, "cpu"), 500);
    EXPECT_EQ(IntervalsOf(settings).balancing, 60);
    EXPECT_FALSE(PerNodeType(settings));
  }
}

TEST(PolicyTest, ReadsEverything) {
  const Policy policy = PolicyOf(R"({
    "metrics": [
      {"name": "cores", "source": "Usage", "resource": "cpu", "weight": 0.3, "balancingThreshold": 2, "activityThreshold": "1500m", "nodeBuffer": 0.1},
      {"name": "sessions", "source": "Annotation", "activityThreshold": 40}],
    "nodeTypeLabel": "pool",
    "nodeTypes": [{"name": "gpu", "balancingInterval": "5m", "metrics": [{"name": "cores", "balancingThreshold": 3, "activityThreshold": 2}]}],
    "intervals": {"balancing": "30s", "constraintCheck": "5s", "afterNewNode": "1m", "afterNodeDown": "90s"},
    "throttles": {"window": "5m", "movements": 7, "movementsPerPod": 2, "maxShare": 0.5, "inFlight": 3},
    "moveCosts": [{"selector": {"matchLabels": {"tier": "db"}}, "cost": "VeryHigh"}, {"cost": "Low"}],
    "exclude": {"namespaces": ["a"], "podSelector": {"matchLabels": {"pin": "yes"}}, "namespaceSelector": {"matchLabels": {"quiet": "yes"}}},
    "windows": [{"days": ["Sat"], "from": "22:00", "to": "06:00", "timeZone": "Europe/Berlin"}, {}],
    "rules": {"nodeAffinity": false, "podAffinity": false, "topologySpread": false, "nodeTaints": true},
    "faultDomainKeys": ["rack"], "dryRun": true})");
  EXPECT_FALSE(policy.rules.node_affinity || policy.rules.pod_affinity || policy.rules.topology_spread);
  EXPECT_TRUE(policy.rules.node_taints);
  ASSERT_EQ(policy.windows.size(), 2u);
  EXPECT_EQ(policy.windows[0].from, 22h);
  EXPECT_EQ(policy.windows[0].zone, "Europe/Berlin");
  const Settings settings = SettingsOf(policy, {1, 10});
  EXPECT_EQ(ActivityThreshold(settings, "cores"), 1500) << "cpu counts in milli-cores";
  EXPECT_EQ(ActivityThreshold(settings, "sessions"), 4) << "scaled as the loads are";
  EXPECT_EQ(settings.node_buffer_percentage.at("cores"), 0.1);
  EXPECT_TRUE(PerNodeType(settings));
  EXPECT_EQ(BalancingThreshold(settings, "cores", "gpu"), 3);
  EXPECT_EQ(ActivityThreshold(settings, "cores", "gpu"), 2000);
  EXPECT_EQ(BalancingThreshold(settings, "cores", "other"), 2);
  EXPECT_EQ(MinLoadBalancingInterval(settings, "gpu"), 300);
  EXPECT_EQ(settings.global_movement_throttle_threshold_for_balancing, 7);
  EXPECT_EQ(settings.movement_per_partition_throttle_threshold, 2);
  EXPECT_EQ(settings.max_percentage_to_move, 0.5);
  EXPECT_EQ(settings.balancing_delay_after_node_down, 90);
  EXPECT_EQ(policy.in_flight, 3);
  EXPECT_EQ(policy.CostOf({{"tier", "db"}}), MoveCost::kVeryHigh);
  EXPECT_EQ(policy.CostOf({{"tier", "web"}}), MoveCost::kLow);
  EXPECT_EQ(PolicyOf("{}").CostOf({}), MoveCost::kMedium);
  EXPECT_TRUE(policy.UsesUsage());
  EXPECT_TRUE(policy.dry_run);
  EXPECT_TRUE(policy.metrics[1].resource.empty());
}

TEST(PolicyTest, RefusesInOneLineThatSaysWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"metrics": [{"name": "cpu"}, {"name": "x", "weight": -1}]})",
       "spec.metrics[1].weight: not a number from 0 to 1000000"},
      {R"({"metrics": [{"name": "cpu"}, {"name": "cpu"}]})", "spec.metrics[1].name: another metric is called \"cpu\""},
      {R"({"metrics": [{}]})", "spec.metrics[0].name: missing"},
      {R"({"metrics": [{"name": "Count"}]})", "spec.metrics[0].name: \"Count\" counts replicas; choose another name"},
      {R"({"metrics": [{"name": "cpu", "source": "Guess"}]})",
       "spec.metrics[0].source: \"Guess\" is not Requests, Usage or Annotation"},
      {R"({"metrics": [{"name": "cpu", "balancingThreshold": 0.5}]})",
       "spec.metrics[0].balancingThreshold: 0.5 is between 0 (never) and 1 (always)"},
      {R"({"metrics": [{"name": "cpu", "nodeBuffer": 1.5}]})", "spec.metrics[0].nodeBuffer: not a number from 0 to 1"},
      {R"({"metrics": [{"name": "cpu", "activityThreshold": "-1"}]})", "spec.metrics[0].activityThreshold: less than 0"},
      {R"({"metrics": {}})", "spec.metrics: not a list"},
      {R"({"nodeTypes": [{"name": "a"}]})", "spec.nodeTypes[0]: needs spec.nodeTypeLabel, which says what a node's type is"},
      {R"({"nodeTypeLabel": "l", "nodeTypes": [{"name": "a", "metrics": [{"name": "gpu"}]}]})",
       "spec.nodeTypes[0].metrics[0].name: there is no metric \"gpu\""},
      {R"({"intervals": {"balancing": "soon"}})", "spec.intervals.balancing: not a duration such as 10m or 1h30m"},
      {R"({"throttles": {"inFlight": 0}})", "spec.throttles.inFlight: not a whole number from 1 to 1000000"},
      {R"({"throttles": {"movements": 1.5}})", "spec.throttles.movements: not a whole number from 0 to 1000000"},
      {R"({"throttles": {"maxShare": "all"}})", "spec.throttles.maxShare: not a number from 0 to 1"},
      {R"({"dryRun": "yes"})", "spec.dryRun: not true or false"},
      {R"({"windows": [{"from": "noon"}]})", "spec.windows[0].from: \"noon\" is no time from 00:00 to 24:00"},
      {R"({"rules": {"nodeTaints": 1}})", "spec.rules.nodeTaints: not true or false"},
      {"[]", "spec: not an object"}};
  for (const auto& [spec, message] : cases) EXPECT_EQ(Refusal(spec), message) << spec;
  EXPECT_TRUE(
      Refusal(R"({"moveCosts": [{"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}, "cost": "Low"}]})")
          .starts_with("spec.moveCosts[0].selector: "));
}

}  // namespace
}  // namespace evenkeel::controllers::balancer::policy_test
