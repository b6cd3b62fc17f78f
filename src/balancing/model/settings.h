// What operators set: every parameter of Service Fabric's Cluster Resource Manager under its own name, with its default, and
// the thresholds and intervals of single node types. One table (settings_table.h) reads the parameters, refuses what is wrong
// and makes the documentation. Times are seconds. A group is a section whose parameters are named after metrics or node
// types; what is not in a group's map is not configured.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/input/option.h"

namespace evenkeel::balancing {

template <typename T>
using Group = std::map<std::string, T, std::less<>>;

/// How the ratio of the largest to the smallest load compares with its threshold. Loads always exceed activity thresholds
/// strictly.
enum class Comparison {
  kDescribed,  ///< strict for the whole cluster; per node type inclusive, of the ratio in whole numbers (700 to 500 is 1)
  kPerMode,    ///< strict for the whole cluster, inclusive per node type
  kStrict,     ///< imbalanced when ratio > threshold
  kInclusive,  ///< imbalanced when ratio >= threshold
};

/// 0 hard, 1 soft, 2 optimisation; negative: the constraint is not looked at.
struct ConstraintPriorities {
  int64_t placement_constraint = 0;
  int64_t preferred_location = 2;
  int64_t capacity = 0;
  int64_t affinity = 0;
  int64_t fault_domain = 0;
  int64_t upgrade_domain = 1;
  int64_t scaleout_count = 0;
  int64_t application_capacity = 0;
  int64_t throttling = 0;
};

/// What one node type overrides.
struct NodeTypeOverrides {
  Group<double> balancing_thresholds;
  Group<int64_t> activity_thresholds;
  std::optional<int64_t> min_load_balancing_interval;
};

struct Settings {
  // Timers and phases.
  std::optional<double> plb_refresh_gap;  ///< absent: every question is a look at the state
  double min_placement_interval = 1;
  double min_constraint_check_interval = 1;
  std::optional<double> min_load_balancing_interval;  ///< absent: 5, but 0 for node types; see the functions below
  double plb_refresh_interval = 1;                    ///< before there were three intervals
  double balancing_delay_after_node_down = 120;
  double balancing_delay_after_new_node = 120;
  double constraint_fix_partial_delay_after_node_down = 120;
  double constraint_fix_partial_delay_after_new_node = 120;
  int64_t plb_action_retry_times = 3;
  bool load_balancing_enabled = true;
  bool constraint_check_enabled = true;
  bool allow_balancing_during_application_upgrade = true;
  bool allow_constraint_check_fixes_during_application_upgrade = true;

  // Triggers and metrics.
  Group<double> metric_balancing_thresholds;
  Group<int64_t> metric_activity_thresholds;
  Group<double> global_metric_weights;
  Group<double> node_buffer_percentage;
  Group<bool> balancing_by_percentage;
  double cpu_cores_metric_weight = 1;
  double memory_in_mb_metric_weight = 1;
  double local_balancing_threshold = 0;
  double local_domain_weight = 0.25;
  double avg_std_dev_delta_throttle_threshold = -1;
  double score_improvement_threshold = 0;
  bool use_separate_secondary_load = true;
  Comparison comparison = Comparison::kDescribed;
  bool thresholds_by_percentage = false;

  // Per node type.
  bool separate_balancing_strategy_per_node_type = false;
  bool subclustering_enabled = false;
  Group<NodeTypeOverrides> node_types;

  // Defragmentation.
  Group<bool> defragmentation_metrics;
  Group<double> defragmentation_empty_nodes_threshold;  ///< below 1 a share of the nodes, else their number
  Group<int64_t> defragmentation_empty_node_distribution_policy;
  Group<int64_t> metric_empty_node_thresholds;
  Group<int64_t> reserved_load_per_node;
  Group<bool> defragmentation_scoped_algorithm_enabled;
  Group<int64_t> placement_strategy;
  Group<double> defragmentation_empty_node_weight;
  Group<double> defragmentation_non_empty_node_weight;
  double defragmentation_nodes_std_dev_factor = 1;
  double defragmentation_fds_std_dev_factor = 0.01;
  double defragmentation_uds_std_dev_factor = 0.01;

  // Search.
  double swap_primary_probability = 0.3;
  double max_percentage_to_move = 0.3;
  double max_percentage_to_move_for_placement = 0.1;
  bool use_score_in_constraint_check = true;
  bool enable_preferred_swap_solution_in_constraint_check = true;
  bool ignore_cost_in_scoring = false;
  bool use_move_cost_reports = false;
  bool use_separate_secondary_move_cost = true;
  int64_t move_cost_offset = 1000;
  int64_t move_cost_zero_value = 0;
  int64_t move_cost_low_value = 1;
  int64_t move_cost_medium_value = 15;
  int64_t move_cost_high_value = 40;
  double swap_cost = 0.1;
  int64_t initial_random_seed = -1;

  // Throttles; a limit of 0 is none.
  int64_t global_movement_throttle_threshold = 1000;
  double global_movement_throttle_threshold_percentage = 0;
  int64_t global_movement_throttle_threshold_for_placement = 0;
  double global_movement_throttle_threshold_percentage_for_placement = 0;
  int64_t global_movement_throttle_threshold_for_balancing = 0;
  double global_movement_throttle_threshold_percentage_for_balancing = 0;
  double global_movement_throttle_counting_interval = 600;
  int64_t movement_per_partition_throttle_threshold = 50;
  double movement_per_partition_throttle_counting_interval = 600;
  double movement_throttled_partitions_percentage_threshold = 0.5;
  bool in_build_throttling_enabled = false;
  std::string in_build_throttling_associated_metric;  ///< empty: all services
  int64_t in_build_throttling_global_max_value = 0;
  bool swap_primary_throttling_enabled = false;
  std::string swap_primary_throttling_associated_metric;  ///< empty: all services
  int64_t swap_primary_throttling_global_max_value = 0;
  Group<int64_t> maximum_in_build_replicas_per_node;  ///< this and the next three: by node type
  Group<int64_t> maximum_in_build_replicas_per_node_balancing_throttle;
  Group<int64_t> maximum_in_build_replicas_per_node_constraint_check_throttle;
  Group<int64_t> maximum_in_build_replicas_per_node_placement_throttle;
  bool throttle_placement_phase = false;
  bool throttle_balancing_phase = true;
  bool throttle_constraint_check_phase = false;
  bool fault_domain_enabled = true;
  bool upgrade_domain_enabled = true;
  bool prevent_transient_overcommit = false;
  bool check_aligned_affinity_for_upgrade = false;
  bool count_disappearing_load_for_simulated_annealing = true;

  // Constraints and behaviour.
  ConstraintPriorities priorities;
  bool validate_placement_constraint = true;
  bool validate_primary_placement_constraint_on_promote = true;
  bool partially_place_services = true;
  bool move_existing_replica_for_placement = true;
  bool place_child_without_parent = true;
  bool move_parent_to_fix_affinity_violation = false;
  bool allow_higher_child_target_replica_count_for_affinity = true;
  bool relax_constraint_for_placement = true;
  bool relax_affinity_constraint_during_upgrade = true;
  bool relax_capacity_constraint_for_upgrade = true;
  bool check_affinity_for_upgrade_placement = false;
  bool relax_scaleout_constraint_during_upgrade = false;
  bool prefer_upgraded_uds = true;
  bool prefer_existing_replica_locations = true;
  bool quorum_based_logic_auto_switch = true;
  bool quorum_based_replica_distribution_per_upgrade_domains = false;
  bool quorum_based_replica_distribution_per_fault_domains = false;
  bool use_default_load_for_service_on_every_node = false;

  // Reports.
  int64_t detailed_node_list_limit = 3;
};

/// Whether each node type is balanced by itself: SeparateBalancingStrategyPerNodeType together with SubclusteringEnabled.
bool PerNodeType(const Settings& settings);

/// Minimum times between two runs of a phase. PLBRefreshInterval replaces those of placement and balancing when it is the only
/// one of the three that differs from its default.
struct PhaseIntervals {
  double placement = 1, constraint_check = 1, balancing = 5;
};
PhaseIntervals IntervalsOf(const Settings& settings);

/// The configured threshold of a metric, else 1. At least 1, or 0: the metric never triggers.
double BalancingThreshold(const Settings& settings, std::string_view metric);
/// The configured floor of a metric's largest load, else 0.
int64_t ActivityThreshold(const Settings& settings, std::string_view metric);
/// Of a node type: its own, else that of the whole cluster, else 1, 0 and 0. (The interval of the whole cluster counts when it
/// is configured; its default of 5 seconds does not.)
double BalancingThreshold(const Settings& settings, std::string_view metric, std::string_view node_type);
int64_t ActivityThreshold(const Settings& settings, std::string_view metric, std::string_view node_type);
double MinLoadBalancingInterval(const Settings& settings, std::string_view node_type);

enum class BalancingMode { kCluster, kNodeType };
/// The ratio of two loads, `min` above 0, as it is compared with thresholds.
double ComparedRatio(const Settings& settings, BalancingMode mode, int64_t max, int64_t min);
/// Whether a compared ratio is too large: `ratio` > `threshold`, or >= where the comparison is inclusive.
bool ExceedsThreshold(const Settings& settings, BalancingMode mode, double ratio, double threshold);

enum class ParameterKey { kNone, kMetric, kNodeType };

enum class Visibility { kPublic, kInternal, kTest, kDeprecated, kOurs };
std::string_view Name(Visibility visibility);  ///< "public", "internal", "test", "deprecated", "Evenkeel's own"

struct Parameter : base::Option {
  std::string section;                     ///< a group has the name of its section
  ParameterKey key = ParameterKey::kNone;  ///< what a group's parameters are named after
  bool per_node_type = false;              ///< an override: stands in a node type, not in a section
  Visibility visibility = Visibility::kPublic;
};

/// All of them, in the order in which they are documented. Made once.
const std::vector<Parameter>& Parameters();

/// The sections that parameters stand in.
inline constexpr std::string_view kMainSection = "PlacementAndLoadBalancing";
inline constexpr std::string_view kOverridesSection = "PlacementAndLoadBalancingOverrides";
inline constexpr std::string_view kOwnSection = "Evenkeel";

/// Whether parameters of ours stand in a section of this name.
bool KnowsSection(std::string_view section);

/// Sets one parameter; in a group `name` is a metric or a node type. Answers a warning for people, empty when there is none: an
/// unknown parameter (the warning names the nearest known one) and a negative number in a group of numbers are left out, and
/// one may have no effect here. Sections of other subsystems are passed over in silence. kBadRequest: "SECTION/NAME: what is
/// wrong with the value".
base::Result<std::string> SetParameter(Settings& settings, std::string_view section, std::string_view name,
                                       std::string_view value);
/// The same for an override of a node type: `group` is its element's name (MetricBalancingThresholdsPerNodeType, ...), `metric`
/// empty for MinLoadBalancingIntervalPerNodeType.
base::Result<std::string> SetNodeTypeParameter(Settings& settings, std::string_view node_type, std::string_view group,
                                               std::string_view metric, std::string_view value);

}  // namespace evenkeel::balancing
