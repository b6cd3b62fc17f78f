#include "controllers/autoscaler/options/flags.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/options/flag_values.h"

namespace evenkeel::controllers::autoscaler::flags_test {
namespace {

using namespace std::chrono_literals;

base::Result<AppliedFlags> Apply(std::vector<FlagValue> values) { return ApplyFlags(values); }
std::string Error(std::vector<FlagValue> values) {
  const auto applied = ApplyFlags(values);
  return applied ? "" : applied.error().message();
}

TEST(FlagsTest, EveryFlagAcceptsItsOwnDefaultAndThenNothingChanges) {
  std::set<std::string> names;
  for (const Flag& flag : Flags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name << " is there twice";
    EXPECT_FALSE(flag.help.empty()) << flag.name;
    EXPECT_EQ(FindFlag(flag.name), &flag);
    if (flag.default_text.empty()) continue;
    const auto applied = Apply({{flag.name, flag.default_text}});
    ASSERT_TRUE(applied.has_value()) << applied.error().message();
    EXPECT_TRUE(applied->warnings.empty()) << flag.name;
  }
  EXPECT_EQ(FindFlag("no-such"), nullptr);
  EXPECT_EQ(Error({{"no-such", "1"}}), "--no-such: no such flag");
}

TEST(FlagsTest, DefaultsAreUpstreams) {
  const std::vector<std::pair<const char*, const char*>> defaults = {{"scan-interval", "10s"},
                                                                     {"max-node-provision-time", "15m"},
                                                                     {"node-info-cache-expire-time", "87600h"},
                                                                     {"cores-total", "0:320000"},
                                                                     {"expander", "least-waste"},
                                                                     {"scale-down-utilization-threshold", "0.5"},
                                                                     {"memory-difference-ratio", "0.015"},
                                                                     {"cordon-node-before-terminating", "true"},
                                                                     {"max-drain-parallelism", "1"},
                                                                     {"blocking-system-pod-distruption-timeout", "1h"},
                                                                     {"scale-down-delay-after-delete", "0s"},
                                                                     {"namespace", "kube-system"},
                                                                     {"expendable-pods-priority-cutoff", "-10"}};
  for (const auto& [name, text] : defaults) EXPECT_EQ(FindFlag(name)->default_text, text) << name;
  EXPECT_EQ(FindFlag("expander")->default_text_1_26, "random");
  EXPECT_EQ(FindFlag("cordon-node-before-terminating")->default_text_1_26, "false");
  EXPECT_EQ(FindFlag("frequent-loops-enabled")->default_text_1_26, "false");
}

TEST(FlagsTest, CompatSetsDefaultsWhereverItStands) {
  const auto applied = Apply({{"scale-down-unneeded-time", "1m"}, {"expander", "price,random"}, {"compat", "1.26"}});
  ASSERT_TRUE(applied.has_value());
  EXPECT_EQ(applied->options.compat, Compat::k1_26);
  EXPECT_EQ(applied->options.scale_down_unneeded_time, 1min);
  EXPECT_EQ(applied->options.expander, (std::vector<std::string>{"price", "random"}));
  EXPECT_FALSE(applied->options.cordon_node_before_terminating);
  EXPECT_EQ(applied->options.max_groups_per_loop, 1);
  EXPECT_EQ(Apply({})->options.max_groups_per_loop, 4);
  EXPECT_EQ(Apply({{"compat", "1.37"}})->options.max_groups_per_loop, 1);
  EXPECT_TRUE(Apply({})->options.learn_devices);
  EXPECT_FALSE(Apply({{"compat", "1.37"}})->options.learn_devices);
  EXPECT_EQ(Apply({{"compat", "1.26"}})->options.expander, std::vector<std::string>{"random"});
  EXPECT_FALSE(Apply({})->options.negative_namespaces_match_all);
  EXPECT_FALSE(Apply({{"compat", "1.26"}})->options.negative_namespaces_match_all);
  EXPECT_TRUE(Apply({{"compat", "1.37"}})->options.negative_namespaces_match_all);
  EXPECT_FALSE(
      Apply({{"negative-namespace-selectors-match-all", "false"}, {"compat", "1.37"}})->options.negative_namespaces_match_all);
  EXPECT_EQ(Error({{"compat", "2"}}), "--compat: \"2\": the versions whose rules are known are 1.37 and 1.26");
}

/// What cluster-autoscaler 1.37 takes, with the flags of its libraries.
constexpr const char* kUpstreamsFlags = R"(
add-dir-header address allowed-scheduler-names alsologtostderr async-node-groups aws-use-static-instance-list
balance-similar-node-groups balancing-ignore-label balancing-label blocking-system-pod-distruption-timeout
bulk-mig-instances-listing-enabled bypassed-scheduler-names capacity-buffer-controller-enabled
capacity-buffer-pod-dry-run-enabled capacity-buffer-pod-injection-enabled capacity-quotas-enabled
check-capacity-batch-processing check-capacity-processor-instance check-capacity-provisioning-request-batch-timebox
check-capacity-provisioning-request-max-batch-size cloud-config cloud-provider cluster-name cluster-snapshot-parallelism
clusterapi-cloud-config-authoritative cordon-node-before-terminating cores-total daemonset-eviction-for-empty-nodes
daemonset-eviction-for-occupied-nodes debugging-snapshot-enabled drain-priority-config
dynamic-node-delete-delay-after-taint-enabled emit-per-nodegroup-metrics enable-csi-node-aware-scheduling
enable-dynamic-resource-allocation enable-graceful-degradation enable-proactive-scaleup enable-provisioning-requests
enforce-node-group-min-size estimator expander expendable-pods-priority-cutoff fastpath-binpacking-enabled feature-gates
force-delete-failed-nodes force-delete-unregistered-nodes force-ds frequent-loops-enabled gce-concurrent-refreshes
gce-mig-instances-min-refresh-wait-time gpu-total grpc-expander-cert grpc-expander-url ignore-daemonsets-utilization
ignore-mirror-pods-utilization ignore-taint initial-node-group-backoff-duration kube-api-content-type kube-client-burst
kube-client-qps kubeconfig kubernetes leader-elect leader-elect-lease-duration leader-elect-renew-deadline
leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period
log-backtrace-at log-dir log-file log-file-max-size log-flush-frequency log-json-info-buffer-size log-json-split-stream
log-text-info-buffer-size log-text-split-stream logging-format logtostderr max-allocatable-difference-ratio
max-binpacking-time max-bulk-soft-taint-count max-bulk-soft-taint-time max-drain-parallelism max-failing-time
max-free-difference-ratio max-graceful-termination-sec max-inactivity max-node-group-backoff-duration
max-node-provision-time max-node-skip-eval-time-tracker-enabled max-node-startup-time max-nodegroup-binpacking-duration
max-nodes-per-scaleup max-nodes-total max-pod-eviction-time max-scale-down-parallelism max-startup-time
max-total-unready-percentage memory-difference-ratio memory-total min-replica-count namespace new-pod-scale-up-delay
node-delete-delay-after-taint node-deletion-batcher-interval node-deletion-candidate-ttl node-deletion-delay-timeout
node-group-auto-discovery node-group-backoff-reset-timeout node-info-cache-expire-time
node-removal-latency-tracking-enabled nodes ok-total-unready-count one-output parallel-scale-up
pending-pods-batching-timeout pod-injection-limit predicate-parallelism profiling
provisioning-request-initial-backoff-time provisioning-request-max-backoff-cache-size
provisioning-request-max-backoff-time record-duplicated-events regional salvo-scale-up salvo-scale-up-budget
scale-down-candidates-pool-min-count scale-down-candidates-pool-ratio scale-down-delay-after-add
scale-down-delay-after-delete scale-down-delay-after-failure scale-down-delay-type-local scale-down-enabled
scale-down-gpu-utilization-threshold scale-down-non-empty-candidates-count scale-down-simulation-timeout
scale-down-unneeded-time scale-down-unready-enabled scale-down-unready-time scale-down-utilization-threshold
scale-from-unschedulable scale-up-from-zero scaleup-simulation-for-skipped-node-groups-enabled scan-interval
scheduler-config-file scheduler-verbosity skip-headers skip-log-headers skip-nodes-with-custom-controller-pods
skip-nodes-with-local-storage skip-nodes-with-system-pods startup-taint startup-taint-prefix status-config-map-name
status-taint stderrthreshold unremovable-node-recheck-timeout user-agent v vmodule write-status-configmap
)";
/// Those of other versions, and our own.
constexpr const char* kFurtherFlags = R"(
capacity-buffer-ready-replicas-enabled gce-expander-ephemeral-storage-support max-autoprovisioned-node-group-count
max-empty-bulk-delete node-autoprovisioning-enabled parallel-drain
all-or-nothing compat consolidate ignore-other-autoscalers max-groups-per-loop negative-namespace-selectors-match-all
)";

TEST(FlagsTest, NamesAreUpstreamsAndFewMore) {
  std::set<std::string> known, ours;
  for (const char* list : {kUpstreamsFlags, kFurtherFlags}) {
    std::istringstream words(list);
    for (std::string name; words >> name;) EXPECT_TRUE(known.insert(name).second) << name << " is there twice";
  }
  for (const Flag& flag : Flags()) ours.insert(flag.name);
  for (const std::string& name : known) EXPECT_TRUE(ours.contains(name)) << name << " is not taken";
  for (const std::string& name : ours) EXPECT_TRUE(known.contains(name)) << name << " is in neither list";
  EXPECT_EQ(FindTypedFlag("max_nodes_total"), FindFlag("max-nodes-total"));
  EXPECT_EQ(FindTypedFlag("max_node_total"), nullptr);
}

TEST(FlagsTest, RepeatedFlagsAddUpAndLastOnesWin) {
  const auto applied = Apply({{"startup-taint", "a"},
                              {"startup-taint", "b"},
                              {"max-nodes-total", "4"},
                              {"max-nodes-total", "9"},
                              {"gpu-total", "t4:1:2"},
                              {"gpu-total", "a100:0:8"},
                              {"bypassed-scheduler-names", "x,y"},
                              {"bypassed-scheduler-names", "z"},
                              {"drain-priority-config", "1000:20,-5:60"}});
  ASSERT_TRUE(applied.has_value()) << applied.error().message();
  EXPECT_EQ(applied->options.startup_taints, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(applied->options.max_nodes_total, 9);
  EXPECT_EQ(applied->options.gpu_total.at("a100").max, 8);
  EXPECT_EQ(applied->options.bypassed_scheduler_names, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(applied->options.drain_priority_config, (std::vector<std::pair<int64_t, int64_t>>{{-5, 60}, {1000, 20}}));
}

TEST(FlagsTest, WrongValuesNameTheFlag) {
  EXPECT_EQ(Error({{"scale-down-enabled", "maybe"}}), "--scale-down-enabled: \"maybe\": not true or false");
  EXPECT_EQ(Error({{"max-nodes-total", "-1"}}), "--max-nodes-total: \"-1\": must be at least 0");
  EXPECT_EQ(Error({{"scan-interval", "10"}}), "--scan-interval: \"10\": not a duration such as 10s or 1h30m");
  EXPECT_EQ(Error({{"scan-interval", "-10s"}}), "--scan-interval: \"-10s\": must not be negative");
  EXPECT_EQ(Error({{"cores-total", "5:1"}}), "--cores-total: \"5:1\": the maximum is less than the minimum");
  EXPECT_EQ(Error({{"estimator", "oldbinpacking"}}), "--estimator: \"oldbinpacking\": binpacking is the only estimator");
  EXPECT_EQ(Error({{"kube-client-burst", "many"}}), "--kube-client-burst: \"many\": not a whole number");
}

TEST(FlagsTest, WhatExcludesEachOtherIsRefused) {
  EXPECT_TRUE(Error({{"balancing-label", "a"}, {"balancing-ignore-label", "b"}}).starts_with("--balancing-label and "));
  EXPECT_TRUE(Error({{"drain-priority-config", "1:1"}, {"max-graceful-termination-sec", "600"}})
                  .starts_with("--max-graceful-termination-sec and "));
  EXPECT_EQ(Error({{"drain-priority-config", "1:1"}}), "");
  EXPECT_EQ(Error({{"allowed-scheduler-names", "a"}, {"bypassed-scheduler-names", "a,b"}}),
            "--bypassed-scheduler-names: \"b\" is not among --allowed-scheduler-names");
  EXPECT_EQ(Error({{"bypassed-scheduler-names", "a,b"}}), "");
  EXPECT_EQ(Error({{"expander", "grpc"}}), "--expander=grpc needs --grpc-expander-url");
}

TEST(FlagsTest, FlagsWithoutEffectWarnWhenTheySaySomethingElse) {
  const auto applied = Apply({{"leader-elect", "true"}, {"enable-provisioning-requests", "true"}});
  ASSERT_TRUE(applied.has_value());
  EXPECT_EQ(applied->warnings, std::vector<std::string>{"--enable-provisioning-requests=true has no effect: not offered here"});
  const auto typed = Apply({{"v", "4"}, {"alsologtostderr", "true"}, {"v", "4"}, {"vmodule", "a=2"}});
  ASSERT_TRUE(typed.has_value());
  EXPECT_EQ(typed->warnings,
            (std::vector<std::string>{"--v=4 has no effect: the log is Evenkeel's own: see --log-level",
                                      "--alsologtostderr=true has no effect: the log is Evenkeel's own: see --log-level",
                                      "--vmodule=a=2 has no effect: the log is Evenkeel's own: see --log-level"}))
      << "each once";
}

TEST(FlagValuesTest, RangesAndPriorities) {
  EXPECT_EQ(ParseRange("2:8")->max, 8);
  for (const char* wrong : {"", "1", "1:", ":1", "2:1", "-1:1", "1:2:3"}) EXPECT_FALSE(ParseRange(wrong).has_value()) << wrong;
  EXPECT_EQ(ParseGpuRange("a:b:1:2")->first, "a:b");
  for (const char* wrong : {"", "1:2", ":1:2", "t4:2:1", "t4:x:1", ":"})
    EXPECT_FALSE(ParseGpuRange(wrong).has_value()) << wrong;
  EXPECT_TRUE(ParseDrainPriorities("")->empty());
  for (const char* wrong : {"1", "1:x", "x:1", "1:-1", "1:1,1:2", "99999999999:1"}) {
    EXPECT_FALSE(ParseDrainPriorities(wrong).has_value()) << wrong;
  }
}

TEST(FlagValuesTest, ExpandersAreKnownDifferentAndRandomIsLast) {
  EXPECT_EQ(ParseExpanders("priority, least-waste,random")->size(), 3u);
  for (const char* wrong : {"", ",", "cheapest", "price,price", "random,price"}) {
    EXPECT_FALSE(ParseExpanders(wrong).has_value()) << wrong;
  }
}

TEST(MemberFlagsTest, WhatTheMemberSaysReplacesWhatTheFleetSays) {
  const std::vector<FlagValue> fleet = {{"scan-interval", "7s"},
                                        {"node-group-auto-discovery", "clusterapi:namespace=a"},
                                        {"node-group-auto-discovery", "clusterapi:namespace=b"},
                                        {"consolidate", "true"}};
  const auto options = [&](std::string_view member) { return ApplyMemberFlags(fleet, member)->options; };
  EXPECT_EQ(options("").node_group_auto_discovery.size(), 2U);
  const Options own = options(
      " --node-group-auto-discovery=clusterapi:namespace=c\t--cloud-provider=clusterapi\n--consolidate=false "
      "--enforce-node-group-min-size");
  EXPECT_EQ(own.node_group_auto_discovery, std::vector<std::string>{"clusterapi:namespace=c"});
  EXPECT_EQ(own.cloud_provider, "clusterapi");
  EXPECT_EQ(own.scan_interval, std::chrono::seconds(7));
  EXPECT_FALSE(own.consolidate);
  EXPECT_TRUE(own.enforce_node_group_min_size);
}

TEST(MemberFlagsTest, FlagsAreTakenAsTheyAreTyped) {
  const auto applied =
      ApplyMemberFlags(std::vector<FlagValue>{{"scan-interval", "7s"}}, "-v=4 --scan_interval=3s -consolidate");
  ASSERT_TRUE(applied.has_value()) << applied.error().message();
  EXPECT_EQ(applied->options.scan_interval, std::chrono::seconds(3));
  EXPECT_TRUE(applied->options.consolidate);
}

TEST(MemberFlagsTest, AWordThatIsNoFlagIsNamed) {
  const auto error = [](std::string_view member) { return ApplyMemberFlags({}, member).error().message(); };
  EXPECT_EQ(error("--scan-interval 7s"), "\"7s\" is not --NAME=VALUE");
  EXPECT_EQ(error("cloud-provider=kwok"), "\"cloud-provider=kwok\" is not --NAME=VALUE");
  EXPECT_EQ(error("--nothing=1"), "--nothing: no such flag");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::flags_test
