#include "balancing/model/settings_table.h"

namespace evenkeel::balancing {
namespace {

using S = Settings;
using Type = base::OptionType;
using enum Visibility;

// Why parameters have no effect.
constexpr std::string_view kOneState = "a plan is made of one state, without updates in between";
constexpr std::string_view kLeastDeviation =
    "all nodes that may take a new replica are compared, not a list of packed ones: the score decides, so a larger weight of "
    "the packed metric packs more";

/// A setter for a group of numbers that must be a threshold.
SettingsTable::Setter ThresholdSetter() {
  return [](Settings& settings, const SettingsKey& key, std::string_view text) -> base::Status {
    double value = 0;
    EVENKEEL_TRY(ReadThreshold(text, value));
    settings.metric_balancing_thresholds.insert_or_assign(std::string(key.name), value);
    return {};
  };
}

}  // namespace

void AddPhaseSettings(SettingsTable& table) {
  table.Topic("Timers and phases", kMainSection);
  table.Seen(kPublic);
  table.Custom(
      "PLBRefreshGap", Type::kSeconds, "at least 0", "",
      [](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
        double seconds = 0;
        EVENKEEL_TRY(base::ReadOption(text, seconds, {.min = 0}));
        settings.plb_refresh_gap = seconds;
        return {};
      },
      "at least this between two looks at the state: no phase begins before; not given: whoever asks for a plan says when");
  table.Seconds("MinPlacementInterval", &S::min_placement_interval, "at least this between two placements");
  table.Seconds("MinConstraintCheckInterval", &S::min_constraint_check_interval, "at least this between two constraint checks");
  table.Custom(
      "MinLoadBalancingInterval", Type::kSeconds, "at least 0", "5",
      [](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
        double seconds = 0;
        EVENKEEL_TRY(base::ReadOption(text, seconds, {.min = 0}));
        settings.min_load_balancing_interval = seconds;
        return {};
      },
      "at least this between two balancing runs");
  table.Seconds("BalancingDelayAfterNodeDown", &S::balancing_delay_after_node_down,
                "no balancing for so long after a node went down");
  table.Seconds("BalancingDelayAfterNewNode", &S::balancing_delay_after_new_node,
                "no balancing for so long after a node came up");
  table.Seconds("ConstraintFixPartialDelayAfterNodeDown", &S::constraint_fix_partial_delay_after_node_down,
                "fault and upgrade domains are not repaired for so long after a node went down");
  table.Seconds("ConstraintFixPartialDelayAfterNewNode", &S::constraint_fix_partial_delay_after_new_node,
                "fault and upgrade domains are not repaired for so long after a node came up");
  table.Unused("InterruptBalancingForAllFailoverUnitUpdates", Type::kBool, "false",
               "any change of a partition interrupts a search, not only those that matter to it", kOneState);
  table.Seen(kInternal);
  table.Unused("ProcessPendingUpdatesInterval", Type::kSeconds, "0.3", "how often queued updates are applied in between",
               kOneState);
  table.Unused("PLBRewindInterval", Type::kSeconds, "300", "how long past runs are remembered",
               "a phase that is due is asked at every look: nothing is ever rewound");
  table.Integer("PLBActionRetryTimes", &S::plb_action_retry_times,
                "runs of one variant of a phase before the stronger variant is tried");
  table.Unused("MaxMovementHoldingTime", Type::kSeconds, "3600", "how long movements that wait are kept",
               "no movement waits: each plan is made anew of the state");
  table.Unused("MaxMovementExecutionTime", Type::kSeconds, "10", "after this a movement counts as done or given up",
               "the state says which movements are under way");
  table.Bool("AllowBalancingDuringApplicationUpgrade", &S::allow_balancing_during_application_upgrade,
             "balancing goes on while an application is upgraded");
  table.Bool("AllowConstraintCheckFixesDuringApplicationUpgrade", &S::allow_constraint_check_fixes_during_application_upgrade,
             "constraints are repaired while an application is upgraded");
  table.Seen(kTest);
  table.Bool("LoadBalancingEnabled", &S::load_balancing_enabled, "whether there is balancing at all");
  table.Bool("ConstraintCheckEnabled", &S::constraint_check_enabled, "whether there are constraint checks at all");
  table.Unused("SplitDomainEnabled", Type::kBool, "false", "groups of services fall apart when nothing connects them any more",
               "groups of services always fall apart when nothing connects them any more");
  table.Seen(kDeprecated);
  table.Seconds("PLBRefreshInterval", &S::plb_refresh_interval,
                "replaces the intervals of placement and balancing when these have their defaults and it has not");
}

void AddTriggerSettings(SettingsTable& table) {
  table.Topic("Triggers and metrics", kMainSection);
  table.Seen(kPublic);
  table.CustomGroup("MetricBalancingThresholds", ParameterKey::kMetric, Type::kNumber, "at least 1, or 0: never", "1",
                    ThresholdSetter(), "largest by smallest load of a node above which the metric is imbalanced");
  table.IntegerGroup("MetricActivityThresholds", ParameterKey::kMetric, &S::metric_activity_thresholds, "0",
                     "as long as no node has more load than this, the metric counts as balanced");
  table.NumberGroup("GlobalMetricWeights", &S::global_metric_weights, "",
                    "weight of the metric in scores; not given: the average of what its services say");
  table.NumberGroup("NodeBufferPercentage", &S::node_buffer_percentage, "0",
                    "share of each node's capacity that is kept free for failover", 1);
  table.Bool("UseSeparateSecondaryLoad", &S::use_separate_secondary_load,
             "every secondary has the load that it reports itself");
  table.Seen(kInternal);
  table.BoolGroup("BalancingByPercentage", &S::balancing_by_percentage,
                  "the score looks at load by capacity; only where every node has a capacity");
  table.Custom(
      "LocalBalancingThreshold", Type::kNumber, "at least 1, or 0: never", "0",
      [](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
        return ReadThreshold(text, settings.local_balancing_threshold);
      },
      "the same ratio within one service");
  table.Number("LocalDomainWeight", &S::local_domain_weight, "share of the services' own deviations in the score", 0, 1);
  table.Number("AvgStdDevDeltaThrottleThreshold", &S::avg_std_dev_delta_throttle_threshold,
               "balancing is skipped when only loads changed and the score grew by no more than this share; below 0: off",
               -1e18);
  table.Number("ScoreImprovementThreshold", &S::score_improvement_threshold,
               "a result that improves the score by less is dropped");
  table.Topic("Triggers and metrics", kOwnSection);
  table.Seen(kOurs);
  table.Custom(
      "Comparison", Type::kText, "Described, PerMode, Strict or Inclusive", "Described",
      [](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
        return ReadComparison(text, settings.comparison);
      },
      "whether a ratio that equals its threshold is imbalanced: Strict no, Inclusive yes, PerMode only per node type; "
      "Described as PerMode, and the ratio of a node type counts in whole numbers");
  table.Bool("ThresholdsByPercentage", &S::thresholds_by_percentage,
             "balancing thresholds compare load by capacity where BalancingByPercentage does and capacities differ");
}

void AddNodeTypeSettings(SettingsTable& table) {
  table.Topic("Node types", kMainSection);
  table.Seen(kPublic);
  table.Bool("SeparateBalancingStrategyPerNodeType", &S::separate_balancing_strategy_per_node_type,
             "each node type is found imbalanced and balanced by itself");
  table.Bool("SubclusteringEnabled", &S::subclustering_enabled,
             "deviations are computed per set of nodes that placement constraints make");
  table.Unused("SubclusteringReportingPolicy", Type::kInteger, "1",
               "report on subclusters: 0 none, 1 as a warning, 2 as information", "there are no health reports", 0, 2);
  table.Topic("Node types", kOverridesSection);
  table.Override(
      "MetricBalancingThresholdsPerNodeType", ParameterKey::kMetric, Type::kNumber, "at least 1, or 0: never",
      "MetricBalancingThresholds",
      [](Settings& settings, const SettingsKey& key, std::string_view text) -> base::Status {
        double value = 0;
        EVENKEEL_TRY(ReadThreshold(text, value));
        settings.node_types[std::string(key.node_type)].balancing_thresholds.insert_or_assign(std::string(key.name), value);
        return {};
      },
      "balancing threshold of a metric on nodes of this type");
  table.Override(
      "MetricActivityThresholdsPerNodeType", ParameterKey::kMetric, Type::kInteger, "at least 0", "MetricActivityThresholds",
      [](Settings& settings, const SettingsKey& key, std::string_view text) -> base::Status {
        int64_t value = 0;
        EVENKEEL_TRY(base::ReadOption(text, value, {.min = 0}));
        settings.node_types[std::string(key.node_type)].activity_thresholds.insert_or_assign(std::string(key.name), value);
        return {};
      },
      "activity threshold of a metric on nodes of this type");
  table.Override(
      "MinLoadBalancingIntervalPerNodeType", ParameterKey::kNone, Type::kInteger, "at least 0",
      "MinLoadBalancingInterval when given, else 0",
      [](Settings& settings, const SettingsKey& key, std::string_view text) -> base::Status {
        int64_t seconds = 0;
        EVENKEEL_TRY(base::ReadOption(text, seconds, {.min = 0}));
        settings.node_types[std::string(key.node_type)].min_load_balancing_interval = seconds;
        return {};
      },
      "at least so many seconds between two balancing runs that move replicas of nodes of this type");
}

void AddDefragmentationSettings(SettingsTable& table) {
  constexpr auto kMetric = ParameterKey::kMetric;
  table.Topic("Defragmentation", kMainSection);
  table.Seen(kPublic);
  table.BoolGroup("DefragmentationMetrics", &S::defragmentation_metrics,
                  "the metric is packed onto few nodes instead of being spread");
  table.NumberGroup("DefragmentationMetricsPercentOrNumberOfEmptyNodesTriggeringThreshold",
                    &S::defragmentation_empty_nodes_threshold, "",
                    "nodes that are to be empty: below 1 a share of all, else their number");
  table.IntegerGroup("DefragmentationEmptyNodeDistributionPolicy", kMetric, &S::defragmentation_empty_node_distribution_policy,
                     "0", "empty nodes: 0 spread over fault and upgrade domains, 1 anywhere", 1);
  table.Seen(kInternal);
  table.IntegerGroup("MetricEmptyNodeThresholds", kMetric, &S::metric_empty_node_thresholds, "",
                     "up to this load a node still counts as empty (scoped algorithm)");
  table.IntegerGroup("ReservedLoadPerNode", kMetric, &S::reserved_load_per_node, "0",
                     "free space that makes a node empty (scoped algorithm)");
  table.BoolGroup("DefragmentationScopedAlgorithmEnabled", &S::defragmentation_scoped_algorithm_enabled,
                  "the scoped algorithm, which reserves space on some nodes");
  table.IntegerGroup("PlacementStrategy", kMetric, &S::placement_strategy, "0",
                     "0 balance, 1 reserve and balance, 2 reserve, 3 reserve and pack, 4 pack", 4);
  table.NumberGroup("DefragmentationEmptyNodeWeight", &S::defragmentation_empty_node_weight, "0.999",
                    "weight of the reserved space in the score (scoped algorithm); 1 when only space is reserved", 1);
  table.NumberGroup("DefragmentationNonEmptyNodeWeight", &S::defragmentation_non_empty_node_weight, "",
                    "weight of the other nodes' deviation; not given: what is left to 1", 1);
  table.Number("DefragmentationNodesStdDevFactor", &S::defragmentation_nodes_std_dev_factor,
               "factor of the nodes' deviation in the score");
  table.Number("DefragmentationFdsStdDevFactor", &S::defragmentation_fds_std_dev_factor,
               "factor of the fault domains' deviation in the score");
  table.Number("DefragmentationUdsStdDevFactor", &S::defragmentation_uds_std_dev_factor,
               "factor of the upgrade domains' deviation in the score");
  table.Unused("RestrictedDefragmentationHeuristicEnabled", Type::kBool, "false",
               "one more search that only empties the nodes that are cheapest to empty",
               "a balancing run compares emptying any node with all else that it may do");
  table.Unused("NodesWithReservedLoadOverlap", Type::kBool, "false", "several metrics reserve their space on the same nodes",
               "each metric reserves its space by itself: a node that is empty in one metric may not be in another");
  table.UnusedGroup("PlacementHeuristicIncomingLoadFactor", "0",
                    "prefers packed nodes for new replicas, by the load that is on its way", kLeastDeviation);
  table.UnusedGroup("PlacementHeuristicEmptySpacePercent", "0",
                    "prefers packed nodes for new replicas, by the space that is to stay empty", kLeastDeviation);
}

}  // namespace evenkeel::balancing
