#include "balancing/model/settings_table.h"

namespace evenkeel::balancing {
namespace {

using S = Settings;
using Type = base::OptionType;
using enum Visibility;

// Why parameters have no effect.
constexpr std::string_view kNoAuxiliaries = "auxiliary replicas are not modelled";
constexpr std::string_view kSteps = "a search ends after a number of steps (--evaluations), not of seconds or rounds";
constexpr std::string_view kTemperatures = "a search derives its temperatures from the energies that it meets";
constexpr std::string_view kTogether =
    "a plan places up to 300,000 new replicas all together, in an order by their size, so none has to wait for a batch";
constexpr std::string_view kNoTest = "Service Fabric's own performance test is not here";
constexpr std::string_view kCapacities =
    "nodes are not measured: they give what manifest and state say, so leave room for the system in their capacities";
constexpr std::string_view kNoDecay = "loads are as the state says: whoever writes it may let old reports fade";
constexpr std::string_view kNoTags =
    "node tags are not modelled: a placement property of the node and a placement constraint of the service do the same";
constexpr std::string_view kPlanTells = "the plan itself tells all of this";
constexpr std::string_view kNoReports =
    "there are no health reports: each plan names all that it left undone, from the first on";

/// A member of the constraint priorities as one of the settings.
SettingsTable::Field<int64_t> Priority(int64_t ConstraintPriorities::* priority) {
  return [priority](Settings& settings) -> int64_t& { return settings.priorities.*priority; };
}

std::string PriorityHelp(std::string_view what) {
  return std::string(what) + ": 0 hard, 1 soft, 2 optimisation, below 0 not looked at";
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
  table.Bool("UseSeparateSecondaryMoveCost", &S::use_separate_secondary_move_cost,
             "every secondary has the move cost that it reports itself; else all of a partition have the last one reported");
  table.Unused("UseSeparateAuxiliaryMoveCost", Type::kBool, "false", "auxiliaries have a move cost of their own",
               kNoAuxiliaries);
  table.Unused("UseSeparateAuxiliaryLoad", Type::kBool, "true", "every auxiliary has the load that it reports itself",
               kNoAuxiliaries);
}

}  // namespace

void AddSearchSettings(SettingsTable& table) {
  table.Topic("Search", kMainSection);
  table.Seen(kPublic);
  table.Unused("PlacementSearchTimeout", Type::kSeconds, "0.5", "longest search of a placement", kSteps);
  table.Seen(kInternal);
  table.Unused("ConstraintCheckSearchTimeout", Type::kSeconds, "0.5", "longest search of a constraint check", kSteps);
  table.Unused("FastBalancingSearchTimeout", Type::kSeconds, "10", "longest search of quick balancing", kSteps);
  table.Unused("SlowBalancingSearchTimeout", Type::kSeconds, "120", "longest search of slow balancing", kSteps);
  table.Unused("MaxSimulatedAnnealingIterations", Type::kInteger, "-1", "most rounds; -1: no limit", kSteps, -1);
  table.Unused("SimulatedAnnealingIterationsPerRound", Type::kInteger, "1000", "tries per round of balancing", kSteps, 1);
  table.Unused("PlacementSearchIterationsPerRound", Type::kInteger, "100", "tries per round of placement", kSteps, 1);
  table.Unused("ConstraintCheckIterationsPerRound", Type::kInteger, "100", "tries per round of a constraint check", kSteps, 1);
  table.Unused("InitialTemperatureProbeCount", Type::kInteger, "50", "tries from which the first temperature is found",
               kTemperatures, 1);
  table.Unused("FastBalancingTemperatureDecayRate", Type::kNumber, "0.8",
               "factor of the temperature per round of quick balancing", kTemperatures, 0, 1);
  table.Unused("SlowBalancingTemperatureDecayRate", Type::kNumber, "0.98",
               "factor of the temperature per round of slow balancing", kTemperatures, 0, 1);
  table.Unused("EnableClusterSpecificInitialTemperature", Type::kBool, "false",
               "the first temperature comes from the size of the cluster", kTemperatures);
  table.Unused("ClusterSpecificTemperatureCoefficient", Type::kNumber, "100", "factor of that temperature", kTemperatures);
  table.Number("SwapPrimaryProbability", &S::swap_primary_probability, "how often a try exchanges a primary and a secondary", 0,
               1);
  table.Number("MaxPercentageToMove", &S::max_percentage_to_move, "share of all replicas that one balancing run may move", 0,
               1);
  table.Number("MaxPercentageToMoveForPlacement", &S::max_percentage_to_move_for_placement,
               "share of all replicas that may move to make room for new ones", 0, 1);
  table.Bool("UseScoreInConstraintCheck", &S::use_score_in_constraint_check,
             "of two repairs that mend as much the one with the better energy wins, else the one with fewer movements");
  table.Bool("EnablePreferredSwapSolutionInConstraintCheck", &S::enable_preferred_swap_solution_in_constraint_check,
             "repairs by exchanging roles are tried, too");
  table.Bool("CountDisappearingLoadForSimulatedAnnealing", &S::count_disappearing_load_for_simulated_annealing,
             "the room of replicas that leave is not there for others yet");
  table.Unused("YieldDurationPer10ms", Type::kInteger, "7", "milliseconds of every 10 that a search rests",
               "a search does not rest", 0, 10);
  table.Integer("InitialRandomSeed", &S::initial_random_seed, "seed of every search; -1: by the clock", -1);
  table.Unused("UseBatchPlacement", Type::kBool, "true", "many new replicas are placed in batches", kTogether);
  table.Unused("PlacementReplicaCountPerBatch", Type::kInteger, "100000", "replicas of one batch", kTogether, 1);
  table.Seen(kTest);
  table.Unused("IsTestMode", Type::kBool, "false", "every step of a search is checked", "tests check every step here");
  table.Unused("PerfTestNumberOfNodes", Type::kInteger, "3000", "size of the performance test: nodes", kNoTest);
  table.Unused("PerfTestNumberOfPartitions", Type::kInteger, "100000", "... partitions", kNoTest);
  table.Unused("PerfTestNumberOfInstances", Type::kInteger, "10", "... instances", kNoTest);
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
    table.Integer(name, Priority(priority), PriorityHelp(what), INT64_MIN, 2);
  };
  const auto unused = [&](std::string_view name, std::string_view default_text, std::string_view what, std::string_view why) {
    table.Unused(name, Type::kInteger, default_text, PriorityHelp(what), why, INT64_MIN, 2);
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
  unused("PreferredPrimaryDomainsConstraintPriority", "1", "preferred domains of primaries",
         "a preferred domain of primaries is a placement constraint here: PlacementConstraintPriority holds for it");
  unused("NodeTaggingConstraintPriority", "0", "node tags", kNoTags);
  unused("BlockNodeInUpgradeConstraintPriority", "-1", "nodes in upgrade",
         "a node in upgrade is deactivated in the state, and takes nothing");

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
  table.Unused("MoveParentToFixAffinityViolationTransitionPercentage", Type::kNumber, "0.2",
               "share of the search that tries so", "where the parent may move, that is always tried", 0, 1);
  table.Seen(kInternal);
  table.Bool("CheckAffinityForUpgradePlacement", &S::check_affinity_for_upgrade_placement,
             "in upgrades a parent and its children of one replica each go to a node together, or not at all");
  table.Unused("RelaxAlignAffinityConstraintDuringSingletonUpgrade", Type::kBool, "true",
               "of these a child's primary may be where its parent has a secondary",
               "what goes together is together: roles follow when the upgrade exchanges them");
  table.Seen(kDeprecated);
  table.Custom(
      "IsAffinityBidirectional", Type::kBool, "", "false",
      [](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
        bool both = false;
        EVENKEEL_TRY(base::ReadOption(text, both));
        settings.move_parent_to_fix_affinity_violation = settings.move_parent_to_fix_affinity_violation || both;
        return {};
      },
      "the older name of MoveParentToFixAffinityViolation: either one lets the parent move");
  constexpr std::string_view kGone = "Service Fabric no longer reads it either";
  table.Unused("RelaxConstraintsForPlacementEnabled", Type::kBool, "false", "constraints yield for placement", kGone);
  table.Unused("RelaxFaultDomainConstraintsForPlacement", Type::kBool, "true", "... those of fault and upgrade domains", kGone);
  table.Unused("RelaxAffinityConstraintsForPlacement", Type::kBool, "false", "... affinity", kGone);
  table.Unused("RelaxCapacityConstraintsForPlacement", Type::kBool, "false", "... capacities", kGone);
  table.Unused("AffinityMoveParentReplicaProbability", Type::kNumber, "0.5", "how often the parent is tried, not the child",
               "where the parent may move, both are always tried", 0, 1);
  table.Seen(kPublic);
  table.Bool("AllowHigherChildTargetReplicaCountForAffinity", &S::allow_higher_child_target_replica_count_for_affinity,
             "a child may have more replicas than its parent");
  table.Bool("RelaxConstraintForPlacement", &S::relax_constraint_for_placement,
             "soft constraints yield when a replica finds no place otherwise");
  table.Bool("RelaxAffinityConstraintDuringUpgrade", &S::relax_affinity_constraint_during_upgrade,
             "affinity yields in upgrades");
  table.Bool("RelaxCapacityConstraintForUpgrade", &S::relax_capacity_constraint_for_upgrade, "capacities yield in upgrades");
  table.Bool("RelaxScaleoutConstraintDuringUpgrade", &S::relax_scaleout_constraint_during_upgrade,
             "the most nodes of an application yield in upgrades, and services of one replica of an application that may be on "
             "one node go to another together");
  table.Bool("CheckAlignedAffinityForUpgrade", &S::check_aligned_affinity_for_upgrade,
             "in upgrades a primary changes only if those of aligned children can follow");
  table.Bool("PreferUpgradedUDs", &S::prefer_upgraded_uds, "in upgrades replicas go to domains that are done");
  table.Bool("PreferExistingReplicaLocations", &S::prefer_existing_replica_locations,
             "nodes that had the replica are preferred");
  table.Unused("PreferNodesForContainerPlacement", Type::kBool, "true", "nodes that have the container's image are preferred",
               "images of containers are not modelled");
  table.Bool("FaultDomainEnabled", &S::fault_domain_enabled, "replicas are spread over fault domains");
  table.Bool("UpgradeDomainEnabled", &S::upgrade_domain_enabled, "replicas are spread over upgrade domains");
  table.Bool("QuorumBasedLogicAutoSwitch", &S::quorum_based_logic_auto_switch,
             "spread over domains keeps only the quorum safe where more is not possible evenly");
  table.Bool("QuorumBasedReplicaDistributionPerUpgradeDomains", &S::quorum_based_replica_distribution_per_upgrade_domains,
             "always so for upgrade domains");
  table.Bool("QuorumBasedReplicaDistributionPerFaultDomains", &S::quorum_based_replica_distribution_per_fault_domains,
             "always so for fault domains");
  table.Unused("AutoDetectAvailableResources", Type::kBool, "true", "nodes measure their cores and memory", kCapacities);
  table.Unused("CpuPercentageNodeCapacity", Type::kNumber, "0.8", "share of the cores that services get", kCapacities, 0, 1);
  table.Unused("MemoryPercentageNodeCapacity", Type::kNumber, "0.8", "share of the memory that services get", kCapacities, 0,
               1);
  table.Number("CpuCoresMetricWeight", &S::cpu_cores_metric_weight,
               "weight of the metric servicefabric:/_CpuCores where a service gives it none");
  table.Number("MemoryInMBMetricWeight", &S::memory_in_mb_metric_weight,
               "weight of the metric servicefabric:/_MemoryInMB where a service gives it none");
  table.Bool("UseDefaultLoadForServiceOnEveryNode", &S::use_default_load_for_service_on_every_node,
             "instances on every node weigh their default, whatever they report");
  table.Unused("LoadDecayInterval", Type::kSeconds, "60", "how often old load reports fade", kNoDecay);
  table.Unused("LoadDecayFactor", Type::kNumber, "0", "how much of an old report is kept each time; 0: reports do not fade",
               kNoDecay, 0, 1);
  table.Unused("NodeTaggingEnabled", Type::kBool, "false", "tags of nodes are looked at", kNoTags);
}

void AddReportSettings(SettingsTable& table) {
  table.Topic("Reports", kMainSection);
  table.Seen(kPublic);
  table.Unused("TraceCRMReasons", Type::kBool, "true", "the reason of every movement is written down", kPlanTells);
  table.Unused("UseCRMPublicName", Type::kBool, "true", "reports name the Cluster Resource Manager", kPlanTells);
  table.Unused("DecisionOperationalTracingEnabled", Type::kBool, "false", "decisions are events, too", kPlanTells);
  table.Unused("NodeLoadsOperationalTracingEnabled", Type::kBool, "true", "loads of nodes are events, too", kPlanTells);
  table.Unused("NodeLoadsOperationalTracingInterval", Type::kSeconds, "20", "how often these are sent", kPlanTells);
  table.Seen(kInternal);
  table.Unused("VerboseHealthReportLimit", Type::kInteger, "20", "failed placements before a warning", kNoReports);
  table.Unused("DetailedVerboseHealthReportLimit", Type::kInteger, "200", "... before one with all details", kNoReports);
  table.Unused("ConstraintViolationHealthReportLimit", Type::kInteger, "50", "failed repairs before a warning", kNoReports);
  table.Unused("DetailedConstraintViolationHealthReportLimit", Type::kInteger, "200", "... before one with all details",
               kNoReports);
  table.Unused("ConsecutiveDroppedMovementsHealthReportLimit", Type::kInteger, "20",
               "dropped movements in a row before a warning", kNoReports);
  table.Integer("DetailedNodeListLimit", &S::detailed_node_list_limit,
                "most nodes that a reason names of those that a constraint rules out", 0, 1'000'000);
  table.Unused("DetailedPartitionListLimit", Type::kInteger, "15", "... partitions", kNoReports);
  table.Unused("DetailedDiagnosticsInfoListLimit", Type::kInteger, "15", "... diagnostics", kNoReports);
  table.Unused("DetailedMetricListLimit", Type::kInteger, "15", "... metrics", kNoReports);
  table.Unused("PLBHealthEventTTL", Type::kSeconds, "65", "how long a report stands", kNoReports);
  table.Unused("NodeLoadsTracingInterval", Type::kSeconds, "20", "how often loads of nodes are written down", kPlanTells);
  table.Unused("ApplicationLoadsTracingInterval", Type::kSeconds, "40", "... loads of applications", kPlanTells);
  table.Unused("PLBPeriodicalTraceInterval", Type::kSeconds, "20", "... the state of the planner", kPlanTells);
  table.Unused("StatisticsTracingInterval", Type::kSeconds, "60", "... statistics", kPlanTells);
  table.Unused("PLBPeriodicalTraceApplicationCount", Type::kInteger, "10", "applications of that state", kPlanTells);
  table.Unused("PLBPeriodicalTraceNodeCount", Type::kInteger, "20", "... nodes", kPlanTells);
  table.Unused("PLBPeriodicalTraceServiceCount", Type::kInteger, "20", "... services", kPlanTells);
  table.Unused("PLBNodeLoadTraceEntryCount", Type::kInteger, "500", "loads of nodes that are written down at once", kPlanTells);
  table.Unused("PLBApplicationLoadTraceMaxSize", Type::kInteger, "100", "... loads of applications, of a group", kPlanTells);
  table.Unused("PLBApplicationLoadTraceBatchSize", Type::kInteger, "100", "... in one record", kPlanTells);
  table.Unused("TraceMetricInfoForBalancingRun", Type::kBool, "true", "metrics are written down before and after balancing",
               kPlanTells);
  table.Unused("ConstraintViolationReportingPolicy", Type::kInteger, "0",
               "violations that are reported: 0 all, 1 hard ones, 2 all but soft ones of domains; below 0 none", kNoReports,
               INT64_MIN);
  table.Unused("MaxViolatedItemsToTrace", Type::kInteger, "100", "most violations that are written down", kPlanTells);
  table.Unused("MaxInvalidReplicasToTrace", Type::kInteger, "10", "most invalid replicas that are written down", kPlanTells);
  table.Unused("PlacementConstraintValidationCacheSize", Type::kInteger, "10000", "constraints that are remembered as checked",
               "constraints are read once for each plan");
}

}  // namespace evenkeel::balancing
