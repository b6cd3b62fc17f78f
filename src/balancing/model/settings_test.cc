#include "balancing/model/settings.h"

#include <gtest/gtest.h>

#include "balancing/model/messages.h"

namespace evenkeel::balancing::settings_test {
namespace {

constexpr auto kCluster = BalancingMode::kCluster;
constexpr auto kNodeType = BalancingMode::kNodeType;

std::string ErrorOf(std::string_view section, std::string_view name, std::string_view value) {
  Settings settings;
  const auto result = SetParameter(settings, section, name, value);
  return result ? "" : result.error().message();
}

std::string WarningOf(std::string_view section, std::string_view name, std::string_view value) {
  Settings settings;
  const auto result = SetParameter(settings, section, name, value);
  return result ? *result : "error: " + result.error().message();
}

TEST(SettingsTest, UnconfiguredMetricHasThresholdOneAndNoActivityFloor) {
  const Settings settings;
  EXPECT_EQ(BalancingThreshold(settings, "Memory"), 1);
  EXPECT_EQ(ActivityThreshold(settings, "Memory"), 0);
  EXPECT_EQ(BalancingThreshold(settings, "Memory", "A"), 1);
  EXPECT_EQ(ActivityThreshold(settings, "Memory", "A"), 0);
  EXPECT_EQ(MinLoadBalancingInterval(settings, "A"), 0) << "the cluster's default of 5 is not inherited";
  EXPECT_EQ(IntervalsOf(settings).balancing, 5);
}

TEST(SettingsTest, NodeTypeInheritsFromTheClusterWhatItDoesNotOverride) {
  Settings settings;
  ASSERT_TRUE(SetParameter(settings, "MetricBalancingThresholds", "Memory", "3"));
  ASSERT_TRUE(SetParameter(settings, "MetricActivityThresholds", "Memory", "1536"));
  ASSERT_TRUE(SetParameter(settings, kMainSection, "MinLoadBalancingInterval", "7.5"));
  ASSERT_TRUE(SetNodeTypeParameter(settings, "A", "MetricBalancingThresholdsPerNodeType", "Memory", "2.5"));
  ASSERT_TRUE(SetNodeTypeParameter(settings, "A", "MinLoadBalancingIntervalPerNodeType", "", "100"));
  EXPECT_EQ(BalancingThreshold(settings, "Memory", "A"), 2.5);
  EXPECT_EQ(BalancingThreshold(settings, "Memory", "B"), 3);
  EXPECT_EQ(BalancingThreshold(settings, "Disk", "A"), 1);
  EXPECT_EQ(ActivityThreshold(settings, "Memory", "A"), 1536);
  EXPECT_EQ(MinLoadBalancingInterval(settings, "A"), 100);
  EXPECT_EQ(MinLoadBalancingInterval(settings, "B"), 7.5);
}

TEST(SettingsTest, EqualRatioIsImbalancedPerNodeTypeOnlyUnlessSaidOtherwise) {
  Settings settings;
  EXPECT_EQ(ComparedRatio(settings, kCluster, 700, 500), 1.4);
  EXPECT_EQ(ComparedRatio(settings, kNodeType, 700, 500), 1) << "in whole numbers";
  EXPECT_EQ(ComparedRatio(settings, kNodeType, 600, 300), 2);
  EXPECT_FALSE(ExceedsThreshold(settings, kCluster, 2, 2));
  EXPECT_TRUE(ExceedsThreshold(settings, kNodeType, 2, 2));
  EXPECT_TRUE(ExceedsThreshold(settings, kCluster, 2.1, 2));
  EXPECT_FALSE(ExceedsThreshold(settings, kNodeType, 1.9, 2));
  ASSERT_TRUE(SetParameter(settings, kOwnSection, "Comparison", "strict"));
  EXPECT_FALSE(ExceedsThreshold(settings, kNodeType, 2, 2));
  ASSERT_TRUE(SetParameter(settings, kOwnSection, "Comparison", "Inclusive"));
  EXPECT_TRUE(ExceedsThreshold(settings, kCluster, 2, 2));
}

TEST(SettingsTest, OldRefreshIntervalCountsOnlyAloneAmongTheIntervals) {
  Settings settings;
  ASSERT_TRUE(SetParameter(settings, kMainSection, "PLBRefreshInterval", "3"));
  EXPECT_EQ(IntervalsOf(settings).placement, 3);
  EXPECT_EQ(IntervalsOf(settings).balancing, 3);
  EXPECT_EQ(IntervalsOf(settings).constraint_check, 1);
  ASSERT_TRUE(SetParameter(settings, kMainSection, "MinPlacementInterval", "2"));
  EXPECT_EQ(IntervalsOf(settings).placement, 2);
  EXPECT_EQ(IntervalsOf(settings).balancing, 5);
}

TEST(SettingsTest, ThresholdIsAtLeastOneOrZero) {
  const std::string_view section = "MetricBalancingThresholds";
  EXPECT_EQ(ErrorOf(section, "Memory", "0"), "");
  EXPECT_EQ(ErrorOf(section, "Memory", "1"), "");
  EXPECT_EQ(ErrorOf(section, "Memory", " 3.5 "), "");
  for (const char* wrong : {"0.5", "-1", "-0.1", "", "two", "3,5", "inf", "nan", "1e999", "2 3"}) {
    EXPECT_TRUE(ErrorOf(section, "Memory", wrong).starts_with("MetricBalancingThresholds/Memory: \"")) << wrong;
  }
  EXPECT_FALSE(ErrorOf(kMainSection, "LocalBalancingThreshold", "0.5").empty());
}

TEST(SettingsTest, WrongValuesNameTheParameter) {
  EXPECT_EQ(ErrorOf("MetricActivityThresholds", "Memory", "-1"), "MetricActivityThresholds/Memory: \"-1\": must be at least 0");
  EXPECT_EQ(ErrorOf("MetricActivityThresholds", "Memory", "1.5"),
            "MetricActivityThresholds/Memory: \"1.5\": not a whole number");
  EXPECT_EQ(ErrorOf(kMainSection, "MaxPercentageToMove", "1.5"),
            "PlacementAndLoadBalancing/MaxPercentageToMove: \"1.5\": must be at most 1");
  EXPECT_EQ(ErrorOf(kMainSection, "SubclusteringEnabled", "yes"),
            "PlacementAndLoadBalancing/SubclusteringEnabled: \"yes\": not true or false");
  EXPECT_EQ(ErrorOf(kMainSection, "PLBRefreshGap", "-0.1"),
            "PlacementAndLoadBalancing/PLBRefreshGap: \"-0.1\": must be at least 0");
  EXPECT_EQ(ErrorOf(kMainSection, "GlobalMovementThrottleThreshold", "99999999999999999999"),
            "PlacementAndLoadBalancing/GlobalMovementThrottleThreshold: \"99999999999999999999\": more than 64 bits hold");
  EXPECT_EQ(ErrorOf("MetricBalancingThresholds", "a\nb", "x").find('\n'), std::string::npos);
}

TEST(SettingsTest, NegativeNumberInAGroupOfNumbersIsLeftOutWithAWarning) {
  Settings settings;
  const auto warning = SetParameter(settings, "GlobalMetricWeights", "Memory", "-2");
  ASSERT_TRUE(warning.has_value());
  EXPECT_EQ(*warning, "GlobalMetricWeights/Memory: -2 is negative and is left out");
  EXPECT_TRUE(settings.global_metric_weights.empty());
  EXPECT_EQ(WarningOf("GlobalMetricWeights", "Memory", "2"), "");
}

TEST(SettingsTest, UnknownParameterIsAWarningWithTheNearestName) {
  EXPECT_EQ(WarningOf(kMainSection, "MinLoadBalancingIntervall", "5"),
            "PlacementAndLoadBalancing/MinLoadBalancingIntervall: there is no such parameter; it is left out; did you mean "
            "MinLoadBalancingInterval?");
  EXPECT_EQ(
      WarningOf("MetricBalancingThreshold", "Memory", "5"),
      "MetricBalancingThreshold/Memory: there is no such section; it is left out; did you mean MetricBalancingThresholds?");
  EXPECT_EQ(WarningOf("Security", "ClusterCredentialType", "X509"), "") << "belongs to another subsystem";
}

TEST(SettingsTest, UnknownOverrideIsAWarningAndOneWithoutItsMetricAnError) {
  Settings settings;
  const auto unknown = SetNodeTypeParameter(settings, "A", "MetricActivityThresholdPerNodeType", "M", "1");
  ASSERT_TRUE(unknown.has_value());
  EXPECT_NE(unknown->find("did you mean MetricActivityThresholdsPerNodeType?"), std::string::npos) << *unknown;
  EXPECT_FALSE(SetNodeTypeParameter(settings, "A", "MetricActivityThresholdsPerNodeType", "", "1").has_value());
  EXPECT_FALSE(SetNodeTypeParameter(settings, "A", "MinLoadBalancingIntervalPerNodeType", "M", "1").has_value());
  EXPECT_FALSE(SetNodeTypeParameter(settings, "A", "MinLoadBalancingIntervalPerNodeType", "", "1.5").has_value());
  EXPECT_FALSE(SetNodeTypeParameter(settings, "A", "MetricBalancingThresholdsPerNodeType", "M", "0.9").has_value());
}

TEST(SettingsTest, EveryParameterAcceptsItsOwnDefault) {
  for (const Parameter& parameter : Parameters()) {
    if (parameter.per_node_type || parameter.default_text.empty()) continue;
    const std::string name = parameter.key == ParameterKey::kNone ? parameter.name : "Some";
    const std::string expected =
        parameter.no_effect.empty() ? "" : parameter.section + "/" + name + ": has no effect: " + parameter.no_effect;
    EXPECT_EQ(WarningOf(parameter.section, name, parameter.default_text), expected) << parameter.name;
  }
}

TEST(SettingsTest, NoTwoParametersHaveTheSamePlaceAndAllAreExplained) {
  std::set<std::pair<std::string, std::string>> places;
  for (const Parameter& parameter : Parameters()) {
    EXPECT_TRUE(places.emplace(parameter.section, parameter.name).second) << parameter.name;
    EXPECT_FALSE(parameter.help.empty()) << parameter.name;
  }
  EXPECT_GT(places.size(), 150u);
}

TEST(SettingsTest, DefaultsAreThoseOfServiceFabric) {
  const std::map<std::string, std::string> expected = {{"MinLoadBalancingInterval", "5"},
                                                       {"BalancingDelayAfterNodeDown", "120"},
                                                       {"PLBActionRetryTimes", "3"},
                                                       {"MaxPercentageToMove", "0.3"},
                                                       {"FastBalancingSearchTimeout", "10"},
                                                       {"SwapPrimaryProbability", "0.3"},
                                                       {"GlobalMovementThrottleThreshold", "1000"},
                                                       {"LocalDomainWeight", "0.25"},
                                                       {"UpgradeDomainConstraintPriority", "1"},
                                                       {"AvgStdDevDeltaThrottleThreshold", "-1"},
                                                       {"MoveCostHighValue", "40"},
                                                       {"UseMoveCostReports", "false"},
                                                       {"PLBHealthEventTTL", "65"},
                                                       {"SubclusteringReportingPolicy", "1"}};
  size_t seen = 0;
  for (const Parameter& parameter : Parameters()) {
    const auto found = expected.find(parameter.name);
    if (found == expected.end()) continue;
    EXPECT_EQ(parameter.default_text, found->second) << parameter.name;
    ++seen;
  }
  EXPECT_EQ(seen, expected.size());
}

TEST(SettingsTest, WhatHasNoEffectIsCheckedAndSaysWhy) {
  EXPECT_EQ(WarningOf(kMainSection, "PlacementSearchTimeout", "2"),
            "PlacementAndLoadBalancing/PlacementSearchTimeout: has no effect: a search ends after a number of steps "
            "(--evaluations), not of seconds or rounds");
  EXPECT_EQ(ErrorOf(kMainSection, "PlacementSearchTimeout", "-1"),
            "PlacementAndLoadBalancing/PlacementSearchTimeout: \"-1\": must be at least 0");
  EXPECT_EQ(ErrorOf(kMainSection, "YieldDurationPer10ms", "11"),
            "PlacementAndLoadBalancing/YieldDurationPer10ms: \"11\": must be at most 10");
  EXPECT_EQ(ErrorOf(kMainSection, "MaxSimulatedAnnealingIterations", "1.5"),
            "PlacementAndLoadBalancing/MaxSimulatedAnnealingIterations: \"1.5\": not a whole number");
  EXPECT_EQ(ErrorOf(kMainSection, "TraceCRMReasons", "perhaps"),
            "PlacementAndLoadBalancing/TraceCRMReasons: \"perhaps\": not true or false");
  EXPECT_EQ(WarningOf("PlacementHeuristicEmptySpacePercent", "Memory", "-1"),
            WarningOf("PlacementHeuristicEmptySpacePercent", "Memory", "1"));
  EXPECT_EQ(
      WarningOf(kMainSection, "BlockNodeInUpgradeConstraintPriority", "-9223372036854775808"),
      "PlacementAndLoadBalancing/BlockNodeInUpgradeConstraintPriority: has no effect: a node in upgrade is deactivated in "
      "the state, and takes nothing");
  EXPECT_EQ(
      WarningOf(kMainSection, "PerfTestNumberOfNodes", "9223372036854775807"),
      "PlacementAndLoadBalancing/PerfTestNumberOfNodes: has no effect: Service Fabric's own performance test is not here");
}

TEST(MessagesTest, NearestNameIsTheFirstOfTheNearest) {
  const std::string_view names[] = {"Memory", "Disk", "memory"};
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("shrads", "shards"), 1u);
  EXPECT_EQ(EditDistance("abcd", "badc"), 2u);
  EXPECT_EQ(NearestName("Memroy", names), "Memory");
  EXPECT_EQ(NearestName("MEMORY", names), "Memory");
  EXPECT_EQ(NearestName("Network", names), "");
  EXPECT_EQ(NearestNameHint("Disc", names), "; did you mean Disk?");
}

}  // namespace
}  // namespace evenkeel::balancing::settings_test
