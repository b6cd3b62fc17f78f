#include "controllers/balancer/settings_table.h"

namespace evenkeel::controllers::balancer {
namespace {

using S = Settings;
using enum Visibility;

/// A member of the constraint priorities as one of the settings.
SettingsTable::Field<int64_t> Priority(int64_t ConstraintPriorities::* priority) {
  return [priority](Settings& settings) -> int64_t& { return settings.priorities.*priority; };
}

void AddCostSettings(SettingsTable& table) {
  table.Seen(kPublic);
  table.Bool("UseMoveCostReports", &S::use_move_cost_reports, "moves cost what services say; else every move costs 1");
  table.Seen(kInternal);
  table.Bool("IgnoreCostInScoring", &S::ignore_cost_in_scoring, "the score counts alone, moves cost nothing");
  table.Integer("MoveCostOffset", &S::move_cost_offset, "how little moves weigh against the score: the larger, the less");
  table.Integer("MoveCostZeroValue", &S::move_cost_zero_value, "cost of moving a replica whose cost is Zero");
  table.Integer("MoveCostLowValue", &S::move_cost_low_value, "... Low");
  table.Integer("MoveCostMediumValue", &S::move_cost_medium_value, "... Medium");
  table.Integer("MoveCostHighValue", &S::move_cost_high_value, "... High");
  table.Number("SwapCost", &S::swap_cost, "cost of exchanging a primary and a secondary");
  table.Seen(kPublic);
  table.Bool("UseSeparateSecondaryMoveCost", &S::use_separate_secondary_move_cost, "secondaries have a move cost of their own");
  table.Bool("UseSeparateAuxiliaryMoveCost", &S::use_separate_auxiliary_move_cost, "auxiliaries have a move cost of their own");
  table.Bool("UseSeparateAuxiliaryLoad", &S::use_separate_auxiliary_load,
             "every auxiliary has the load that it reports itself");
}

}  // namespace

void AddSearchSettings(SettingsTable& table) {
  table.Topic("Search", kMainSection);
  table.Seen(kPublic);
  table.Seconds("PlacementSearchTimeout", &S::placement_search_timeout, "longest search of a placement");
  table.Seen(kInternal);
  table.Seconds("ConstraintCheckSearchTimeout", &S::constraint_check_search_timeout, "longest search of a constraint check");
  table.Seconds("FastBalancingSearchTimeout", &S::fast_balancing_search_timeout, "longest search of quick balancing");
  table.Seconds("SlowBalancingSearchTimeout", &S::slow_balancing_search_timeout, "longest search of slow balancing");
  table.Integer("MaxSimulatedAnnealingIterations", &S::max_simulated_annealing_iterations, "most rounds; -1: no limit", -1);
  table.Integer("SimulatedAnnealingIterationsPerRound", &S::simulated_annealing_iterations_per_round,
                "tries per round of balancing", 1);
  table.Integer("PlacementSearchIterationsPerRound", &S::placement_search_iterations_per_round, "tries per round of placement",
                1);
  table.Integer("ConstraintCheckIterationsPerRound", &S::constraint_check_iterations_per_round,
                "tries per round of a constraint check", 1);
  table.Integer("InitialTemperatureProbeCount", &S::initial_temperature_probe_count,
                "tries from which the first temperature is found", 1);
  table.Number("FastBalancingTemperatureDecayRate", &S::fast_balancing_temperature_decay_rate,
               "factor of the temperature per round of quick balancing", 0, 1);
  table.Number("SlowBalancingTemperatureDecayRate", &S::slow_balancing_temperature_decay_rate,
               "factor of the temperature per round of slow balancing", 0, 1);
  table.Bool("EnableClusterSpecificInitialTemperature", &S::enable_cluster_specific_initial_temperature,
             "the first temperature comes from the size of the cluster");
  table.Number("ClusterSpecificTemperatureCoefficient", &S::cluster_specific_temperature_coefficient,
               "factor of that temperature");
  table.Number("SwapPrimaryProbability", &S::swap_primary_probability, "how often a try exchanges a primary and a secondary", 0,
               1);
  table.Number("MaxPercentageToMove", &S::max_percentage_to_move, "share of all replicas that one balancing run may move", 0,
               1);
  table.Number("MaxPercentageToMoveForPlacement", &S::max_percentage_to_move_for_placement,
               "share of all replicas that may move to make room for new ones", 0, 1);
  table.Bool("UseScoreInConstraintCheck", &S::use_score_in_constraint_check,
             "of two repairs the one with the better score wins, not the one with fewer moves");
  table.Bool("EnablePreferredSwapSolutionInConstraintCheck", &S::enable_preferred_swap_solution_in_constraint_check,
             "repairs by exchanging roles are tried, too");
  table.Bool("CountDisappearingLoadForSimulatedAnnealing", &S::count_disappearing_load_for_simulated_annealing,
             "load of replicas that go away still counts");
  table.Integer("YieldDurationPer10ms", &S::yield_duration_per_10ms, "milliseconds of every 10 that a search rests", 0, 10);
  table.Integer("InitialRandomSeed", &S::initial_random_seed, "seed of every search; -1: by the clock", -1);
  table.Bool("UseBatchPlacement", &S::use_batch_placement, "many new replicas are placed in batches");
  table.Integer("PlacementReplicaCountPerBatch", &S::placement_replica_count_per_batch, "replicas of one batch", 1);
  table.Seen(kTest);
  table.Integer("PerfTestNumberOfNodes", &S::perf_test_number_of_nodes, "size of the performance test: nodes");
  table.Integer("PerfTestNumberOfPartitions", &S::perf_test_number_of_partitions, "... partitions");
  table.Integer("PerfTestNumberOfInstances", &S::perf_test_number_of_instances, "... instances");
  table.Topic("Costs", kMainSection);
  AddCostSettings(table);
}

void AddThrottleSettings(SettingsTable& table) {
  constexpr auto kNodeType = ParameterKey::kNodeType;
  table.Topic("Throttles", kMainSection);
  table.Seen(kPublic);
  table.Integer("GlobalMovementThrottleThreshold", &S::global_movement_throttle_threshold,
                "most movements per counting interval, of balancing and of placement that moves; 0: no limit");
  table.Number("GlobalMovementThrottleThresholdPercentage", &S::global_movement_throttle_threshold_percentage,
               "the same as a share of all replicas; the smaller limit holds");
  table.Integer("GlobalMovementThrottleThresholdForPlacement", &S::global_movement_throttle_threshold_for_placement,
                "... of placement that moves");
  table.Number("GlobalMovementThrottleThresholdPercentageForPlacement",
               &S::global_movement_throttle_threshold_percentage_for_placement, "... as a share of all replicas");
  table.Integer("GlobalMovementThrottleThresholdForBalancing", &S::global_movement_throttle_threshold_for_balancing,
                "... of balancing");
  table.Number("GlobalMovementThrottleThresholdPercentageForBalancing",
               &S::global_movement_throttle_threshold_percentage_for_balancing, "... as a share of all replicas");
  table.Seconds("GlobalMovementThrottleCountingInterval", &S::global_movement_throttle_counting_interval,
                "how long a movement counts; 0: no limit");
  table.Integer("MovementPerPartitionThrottleThreshold", &S::movement_per_partition_throttle_threshold,
                "most balancing moves of one partition per counting interval");
  table.Seconds("MovementPerPartitionThrottleCountingInterval", &S::movement_per_partition_throttle_counting_interval,
                "how long a move of a partition counts");
  table.Bool("InBuildThrottlingEnabled", &S::in_build_throttling_enabled,
             "replicas that are built at the same time are limited");
  table.Text("InBuildThrottlingAssociatedMetric", &S::in_build_throttling_associated_metric,
             "only services that report this metric count; empty: all");
  table.Integer("InBuildThrottlingGlobalMaxValue", &S::in_build_throttling_global_max_value, "most replicas in build");
  table.Bool("SwapPrimaryThrottlingEnabled", &S::swap_primary_throttling_enabled,
             "changes of primaries at the same time are limited");
  table.Text("SwapPrimaryThrottlingAssociatedMetric", &S::swap_primary_throttling_associated_metric,
             "only services that report this metric count; empty: all");
  table.Integer("SwapPrimaryThrottlingGlobalMaxValue", &S::swap_primary_throttling_global_max_value,
                "most exchanges and moves of primaries");
  table.Bool("PreventTransientOvercommit", &S::prevent_transient_overcommit,
             "a move does not count on space that another move of the same plan frees");
  table.Seen(kInternal);
  table.Number("MovementThrottledPartitionsPercentageThreshold", &S::movement_throttled_partitions_percentage_threshold,
               "balancing is skipped when more than this share of the imbalanced partitions has moved enough", 0, 1);
  table.IntegerGroup("MaximumInBuildReplicasPerNode", kNodeType, &S::maximum_in_build_replicas_per_node, "",
                     "most replicas in build on a node of this type");
  table.IntegerGroup("MaximumInBuildReplicasPerNodeBalancingThrottle", kNodeType,
                     &S::maximum_in_build_replicas_per_node_balancing_throttle, "",
                     "... for balancing; the smaller limit holds");
  table.IntegerGroup("MaximumInBuildReplicasPerNodeConstraintCheckThrottle", kNodeType,
                     &S::maximum_in_build_replicas_per_node_constraint_check_throttle, "",
                     "... for constraint checks; the smaller limit holds");
  table.IntegerGroup("MaximumInBuildReplicasPerNodePlacementThrottle", kNodeType,
                     &S::maximum_in_build_replicas_per_node_placement_throttle, "",
                     "... for placement; the smaller limit holds");
  table.Bool("ThrottlePlacementPhase", &S::throttle_placement_phase, "limits per node hold for placement");
  table.Bool("ThrottleBalancingPhase", &S::throttle_balancing_phase, "limits per node hold for balancing");
  table.Bool("ThrottleConstraintCheckPhase", &S::throttle_constraint_check_phase, "limits per node hold for constraint checks");
}

void AddConstraintSettings(SettingsTable& table) {
  using P = ConstraintPriorities;
  table.Topic("Constraint priorities", kMainSection);
  table.Seen(kPublic);
  const auto add = [&](std::string_view name, int64_t P::* priority, std::string_view what) {
    table.Integer(name, Priority(priority), std::string(what) + ": 0 hard, 1 soft, 2 optimisation, below 0 not looked at",
                  INT64_MIN, 2);
  };
  add("PlacementConstraintPriority", &P::placement_constraint, "placement constraints");
  add("PreferredLocationConstraintPriority", &P::preferred_location, "preferred locations");
  add("CapacityConstraintPriority", &P::capacity, "capacities of nodes");
  add("AffinityConstraintPriority", &P::affinity, "affinity");
  add("FaultDomainConstraintPriority", &P::fault_domain, "spread over fault domains");
  add("UpgradeDomainConstraintPriority", &P::upgrade_domain, "spread over upgrade domains");
  add("ScaleoutCountConstraintPriority", &P::scaleout_count, "most nodes of an application");
  add("ApplicationCapacityConstraintPriority", &P::application_capacity, "capacities of applications");
  add("ThrottlingConstraintPriority", &P::throttling, "limits of replicas in build");
  add("PreferredPrimaryDomainsConstraintPriority", &P::preferred_primary_domains, "preferred domains of primaries");
  add("NodeTaggingConstraintPriority", &P::node_tagging, "node tags");
  add("BlockNodeInUpgradeConstraintPriority", &P::block_node_in_upgrade, "nodes in upgrade");

  table.Topic("Behaviour", kMainSection);
  table.Bool("ValidatePlacementConstraint", &S::validate_placement_constraint,
             "a constraint on a property that no node has is an error");
  table.Bool("ValidatePrimaryPlacementConstraintOnPromote", &S::validate_primary_placement_constraint_on_promote,
             "a replica is promoted only where its constraint lets a primary be");
  table.Bool("PartiallyPlaceServices", &S::partially_place_services,
             "some replicas of a new service may be placed without all");
  table.Bool("MoveExistingReplicaForPlacement", &S::move_existing_replica_for_placement,
             "placement may move others to make room");
  table.Bool("PlaceChildWithoutParent", &S::place_child_without_parent,
             "a service is placed although its affinity parent is not");
  table.Bool("MoveParentToFixAffinityViolation", &S::move_parent_to_fix_affinity_violation,
             "the parent may move to its children");
  table.Number("MoveParentToFixAffinityViolationTransitionPercentage",
               &S::move_parent_to_fix_affinity_violation_transition_percentage, "share of the search that tries so", 0, 1);
  table.Bool("AllowHigherChildTargetReplicaCountForAffinity", &S::allow_higher_child_target_replica_count_for_affinity,
             "a child may have more replicas than its parent");
  table.Bool("RelaxConstraintForPlacement", &S::relax_constraint_for_placement,
             "soft constraints yield when a replica finds no place otherwise");
  table.Bool("RelaxAffinityConstraintDuringUpgrade", &S::relax_affinity_constraint_during_upgrade,
             "affinity yields in upgrades");
  table.Bool("RelaxCapacityConstraintForUpgrade", &S::relax_capacity_constraint_for_upgrade, "capacities yield in upgrades");
  table.Bool("RelaxScaleoutConstraintDuringUpgrade", &S::relax_scaleout_constraint_during_upgrade,
             "the most nodes of an application yield in upgrades");
  table.Bool("CheckAlignedAffinityForUpgrade", &S::check_aligned_affinity_for_upgrade,
             "in upgrades primaries of children follow the parent's");
  table.Bool("PreferUpgradedUDs", &S::prefer_upgraded_uds, "in upgrades replicas go to domains that are done");
  table.Bool("PreferExistingReplicaLocations", &S::prefer_existing_replica_locations,
             "nodes that had the replica are preferred");
  table.Bool("PreferNodesForContainerPlacement", &S::prefer_nodes_for_container_placement,
             "nodes that have the container's image are preferred");
  table.Bool("QuorumBasedLogicAutoSwitch", &S::quorum_based_logic_auto_switch,
             "spread over domains keeps only the quorum safe where more is not possible evenly");
  table.Bool("QuorumBasedReplicaDistributionPerUpgradeDomains", &S::quorum_based_replica_distribution_per_upgrade_domains,
             "always so for upgrade domains");
  table.Bool("QuorumBasedReplicaDistributionPerFaultDomains", &S::quorum_based_replica_distribution_per_fault_domains,
             "always so for fault domains");
  table.Bool("AutoDetectAvailableResources", &S::auto_detect_available_resources, "nodes measure their cores and memory");
  table.Number("CpuPercentageNodeCapacity", &S::cpu_percentage_node_capacity, "share of the cores that services get", 0, 1);
  table.Number("MemoryPercentageNodeCapacity", &S::memory_percentage_node_capacity, "share of the memory that services get", 0,
               1);
  table.Number("CpuCoresMetricWeight", &S::cpu_cores_metric_weight, "weight of governed cores");
  table.Number("MemoryInMBMetricWeight", &S::memory_in_mb_metric_weight, "weight of governed memory");
  table.Bool("UseDefaultLoadForServiceOnEveryNode", &S::use_default_load_for_service_on_every_node,
             "instances on every node weigh their default, whatever they report");
  table.Seconds("LoadDecayInterval", &S::load_decay_interval, "how often old load reports fade");
  table.Number("LoadDecayFactor", &S::load_decay_factor, "how much of an old report is kept each time; 0: reports do not fade",
               0, 1);
  table.Bool("NodeTaggingEnabled", &S::node_tagging_enabled, "tags of nodes are looked at");
}

void AddReportSettings(SettingsTable& table) {
  table.Topic("Reports", kMainSection);
  table.Seen(kPublic);
  table.Bool("TraceCRMReasons", &S::trace_crm_reasons, "the reason of every movement is written down");
  table.Bool("UseCRMPublicName", &S::use_crm_public_name, "reports name the Cluster Resource Manager");
  table.Bool("DecisionOperationalTracingEnabled", &S::decision_operational_tracing_enabled, "decisions are events, too");
  table.Bool("NodeLoadsOperationalTracingEnabled", &S::node_loads_operational_tracing_enabled,
             "loads of nodes are events, too");
  table.Seconds("NodeLoadsOperationalTracingInterval", &S::node_loads_operational_tracing_interval, "how often these are sent");
  table.Seen(kInternal);
  table.Integer("VerboseHealthReportLimit", &S::verbose_health_report_limit, "failed placements before a warning");
  table.Integer("DetailedVerboseHealthReportLimit", &S::detailed_verbose_health_report_limit,
                "... before one with all details");
  table.Integer("ConstraintViolationHealthReportLimit", &S::constraint_violation_health_report_limit,
                "failed repairs before a warning");
  table.Integer("DetailedConstraintViolationHealthReportLimit", &S::detailed_constraint_violation_health_report_limit,
                "... before one with all details");
  table.Integer("ConsecutiveDroppedMovementsHealthReportLimit", &S::consecutive_dropped_movements_health_report_limit,
                "dropped movements in a row before a warning");
  table.Integer("DetailedNodeListLimit", &S::detailed_node_list_limit, "most nodes that a report lists");
  table.Integer("DetailedPartitionListLimit", &S::detailed_partition_list_limit, "... partitions");
  table.Integer("DetailedDiagnosticsInfoListLimit", &S::detailed_diagnostics_info_list_limit, "... diagnostics");
  table.Integer("DetailedMetricListLimit", &S::detailed_metric_list_limit, "... metrics");
  table.Seconds("PLBHealthEventTTL", &S::plb_health_event_ttl, "how long a report stands");
  table.Seconds("NodeLoadsTracingInterval", &S::node_loads_tracing_interval, "how often loads of nodes are written down");
  table.Seconds("ApplicationLoadsTracingInterval", &S::application_loads_tracing_interval, "... loads of applications");
  table.Seconds("PLBPeriodicalTraceInterval", &S::plb_periodical_trace_interval, "... the state of the planner");
  table.Seconds("StatisticsTracingInterval", &S::statistics_tracing_interval, "... statistics");
  table.Integer("MaxViolatedItemsToTrace", &S::max_violated_items_to_trace, "most violations that are written down");
  table.Integer("MaxInvalidReplicasToTrace", &S::max_invalid_replicas_to_trace, "most invalid replicas that are written down");
  table.Integer("PlacementConstraintValidationCacheSize", &S::placement_constraint_validation_cache_size,
                "constraints that are remembered as checked");
}

}  // namespace evenkeel::controllers::balancer
