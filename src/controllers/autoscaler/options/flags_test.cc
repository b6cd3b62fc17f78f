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
  EXPECT_EQ(Apply({{"compat", "1.26"}})->options.expander, std::vector<std::string>{"random"});
  EXPECT_EQ(Error({{"compat", "2"}}), "--compat: \"2\": the versions whose rules are known are 1.37 and 1.26");
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

TEST(MemberFlagsTest, AWordThatIsNoFlagIsNamed) {
  const auto error = [](std::string_view member) { return ApplyMemberFlags({}, member).error().message(); };
  EXPECT_EQ(error("--scan-interval 7s"), "\"7s\" is not --NAME=VALUE");
  EXPECT_EQ(error("cloud-provider=kwok"), "\"cloud-provider=kwok\" is not --NAME=VALUE");
  EXPECT_EQ(error("--nothing=1"), "--nothing: no such flag");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::flags_test
