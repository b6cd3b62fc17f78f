// One state of a cluster, as the planner sees it: nodes, services, partitions, replicas and their loads, in flat arrays with
// dense ids. Ids are indexes into the arrays of Cluster and follow the order of the input; names are kept for output. A Cluster
// that ReadCluster answers is sound (cluster_reader.h says what that means); it is not changed afterwards.
//
// Loads are whole numbers, already effective: reported by the replica, or what it has by default. Those of a replica are a row
// as long as its service's metrics, in their order.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/model/expression.h"
#include "balancing/model/settings.h"

namespace evenkeel::balancing {

using NodeId = uint32_t;
using NodeTypeId = uint32_t;
using MetricId = uint32_t;
using ServiceId = uint32_t;
using ServiceTypeId = uint32_t;
using ApplicationId = uint32_t;
using PartitionId = uint32_t;
using ReplicaId = uint32_t;
inline constexpr uint32_t kNoId = UINT32_MAX;

enum class DeactivationIntent : uint8_t { kNone, kPause, kRestart, kRemoveData, kRemoveNode };
enum class DeactivationStatus : uint8_t { kNone, kSafetyCheckInProgress, kSafetyCheckComplete, kComplete };

struct Capacity {
  MetricId metric = kNoId;
  int64_t amount = 0;
};

struct Node {
  std::string name;
  NodeTypeId type = kNoId;                ///< never kNoId: a node without one has the type ""
  std::vector<std::string> fault_domain;  ///< segments of its URI; empty when it has none
  std::string fault_domain_uri;           ///< as given
  std::string upgrade_domain;
  std::vector<Capacity> capacities;  ///< by metric id; a metric that is not there is unlimited
  Group<std::string> properties;     ///< without the four implicit ones, see NodeProperties
  bool up = true;
  DeactivationIntent intent = DeactivationIntent::kNone;
  DeactivationStatus status = DeactivationStatus::kNone;

  bool Deactivated() const { return intent != DeactivationIntent::kNone; }
  /// Whether its loads count in statistics and it may be a target.
  bool Available() const { return up && !Deactivated(); }
  /// Whether its capacities count for the cluster's.
  bool CountsForClusterCapacity() const {
    const bool leaves = intent == DeactivationIntent::kRemoveData || intent == DeactivationIntent::kRemoveNode;
    return up && !(leaves && status == DeactivationStatus::kComplete);
  }
};

/// The metrics that everybody knows have a fixed load per replica, whatever a service declares.
enum class BuiltInMetric : uint8_t { kNo, kPrimaryCount, kSecondaryCount, kReplicaCount, kInstanceCount, kCount };
BuiltInMetric BuiltIn(std::string_view name);

/// What amounts of a metric count.
enum class Unit : uint8_t { kNone, kMilli, kByte };

struct Metric {
  std::string name;
  BuiltInMetric built_in = BuiltInMetric::kNo;
  uint32_t services = 0;  ///< how many report it; 0: only a capacity or an application names it
  double weight_sum = 0;  ///< of the weights that these services give it
  Unit unit = Unit::kNone;
  int64_t scale = 1;  ///< what amounts were divided by, so that sums fit
};

enum class MoveCost : uint8_t { kZero, kLow, kMedium, kHigh, kVeryHigh };
inline constexpr size_t kMoveCostLevels = 5;

struct ServiceMetric {
  MetricId metric = kNoId;
  double weight = 0;
  int64_t primary_load = 0;    ///< default of a primary; 0 for a stateless service
  int64_t secondary_load = 0;  ///< default of a secondary, or of an instance
};

struct ServiceType {
  std::string name;
  std::vector<NodeId> blocked_nodes;  ///< ascending
  /// Whether what is on a blocked node has to go. Service Fabric leaves it: there nobody may move it.
  bool leaves_blocked = false;
  std::string blocked_by{};  ///< what blocks them, for people: "spec.nodeSelector"; "": they were named
};

struct ApplicationMetric {
  MetricId metric = kNoId;
  int64_t total_capacity = 0;     ///< 0: unlimited
  int64_t max_node_capacity = 0;  ///< 0: unlimited
  int64_t node_reservation = 0;
};

/// An application group.
struct Application {
  std::string name;
  int64_t min_nodes = 0;
  int64_t max_nodes = 0;  ///< 0: unlimited
  std::vector<ApplicationMetric> metrics;
  bool in_upgrade = false;
  std::vector<std::string> upgraded_domains;  ///< upgrade domains that are done
};

struct Service {
  std::string name;
  ServiceTypeId type = kNoId;
  ApplicationId application = kNoId;
  bool stateful = false;
  bool persisted = false;
  bool on_every_node = false;          ///< stateless with one instance on every node that suits
  int64_t target_replicas = 0;         ///< of one partition; 0: not said
  std::vector<ServiceMetric> metrics;  ///< never empty
  uint32_t constraint = 0;             ///< index into Cluster::constraints
  MoveCost primary_move_cost = MoveCost::kLow;
  MoveCost secondary_move_cost = MoveCost::kLow;  ///< of an instance, too
  ServiceId affinity_to = kNoId;                  ///< the parent, which has none itself
  bool aligned_affinity = true;
  std::vector<PartitionId> partitions;
};

enum class Role : uint8_t { kPrimary, kSecondary, kInstance, kStandBy, kNone, kDropped };

/// Bits of Replica::flags.
enum ReplicaFlag : uint16_t {
  kInBuild = 1 << 0,
  kToBePromoted = 1 << 1,
  kToBeDropped = 1 << 2,                 ///< because there are too many
  kToBeDroppedForDeactivation = 1 << 3,  ///< because its node leaves
  kMoveInProgress = 1 << 4,
  kPrimaryToBeSwappedOut = 1 << 5,
  kPrimaryToBePlaced = 1 << 6,
  kReplicaToBePlaced = 1 << 7,
  kPreferredPrimaryLocation = 1 << 8,
  kPreferredReplicaLocation = 1 << 9,
  kOffline = 1 << 10,  ///< the replica is down
};

struct Replica {
  NodeId node = kNoId;
  PartitionId partition = kNoId;
  uint32_t first_load = 0;  ///< its row begins here in Cluster::loads
  Role role = Role::kInstance;
  MoveCost move_cost = MoveCost::kLow;
  uint16_t flags = 0;

  bool Has(ReplicaFlag flag) const { return (flags & flag) != 0; }
  /// Neither dropped nor without a role.
  bool Exists() const { return role != Role::kNone && role != Role::kDropped; }
  /// Somebody else lets it go already: it is no load any more, but has its room until then.
  bool Leaves() const { return (flags & (kToBeDropped | kToBeDroppedForDeactivation | kMoveInProgress)) != 0; }
};

/// Bits of Partition::flags.
enum PartitionFlag : uint8_t {
  kPartitionInUpgrade = 1 << 0,
  kPartitionInTransition = 1 << 1,
  kPartitionInQuorumLoss = 1 << 2,
  kPartitionSwappingPrimary = 1 << 3,
  kPartitionToBeDeleted = 1 << 4,
};

struct Partition {
  std::string name;
  ServiceId service = kNoId;
  ReplicaId first_replica = 0;  ///< the replicas of a partition are neighbours, in the order of the input
  uint32_t replica_count = 0;
  uint32_t new_loads = 0;  ///< rows of a primary and of a secondary begin here in Cluster::loads, see NewReplicaLoads
  int32_t missing = 0;     ///< target less existing replicas: above 0 to be placed, below 0 too many
  uint8_t flags = 0;
  int64_t version = 0;

  bool Has(PartitionFlag flag) const { return (flags & flag) != 0; }
};

/// Long before anything that matters.
inline constexpr double kLongAgo = -1e9;

struct Movement {
  double at = 0;
  PartitionId partition = kNoId;  ///< kNoId: of a partition that is gone
  enum class Phase : uint8_t { kPlacement, kBalancing, kConstraintCheck } phase = Phase::kBalancing;
};

/// What happened before, in seconds of the caller's clock.
struct History {
  double last_refresh = kLongAgo;
  double last_placement = kLongAgo;
  double last_constraint_check = kLongAgo;
  double last_balancing = kLongAgo;
  double last_state_change = kLongAgo;
  double last_load_change = kLongAgo;
  double last_node_up = kLongAgo;
  double last_node_down = kLongAgo;
  Group<double> last_balancing_of_node_type;  ///< a node type that is not there: last_balancing counts
  int64_t placement_runs = 0;                 ///< consecutive runs of the present variant
  bool placement_with_move = false;           ///< the present variant
  int64_t balancing_runs = 0;
  bool slow_balancing = false;
  double last_score = -1;  ///< average deviation at the last balancing; below 0: unknown
  std::vector<Movement> movements;
};

/// What the cluster itself forbids at the moment, whatever the settings say.
struct RuntimeSwitches {
  bool balancing_enabled = true;
  bool constraint_check_enabled = true;
};

struct Cluster {
  std::vector<std::string> node_types;
  std::vector<Metric> metrics;
  std::vector<Node> nodes;
  std::vector<ServiceType> service_types;
  std::vector<Application> applications;
  std::vector<Expression> constraints;  ///< each text once; the first suits every node
  std::vector<std::string> constraint_texts;
  std::vector<Service> services;
  std::vector<Partition> partitions;
  std::vector<Replica> replicas;
  std::vector<int64_t> loads;
  History history;
  RuntimeSwitches runtime;

  const Service& ServiceOf(const Partition& partition) const { return services[partition.service]; }
  const Service& ServiceOf(const Replica& replica) const { return services[partitions[replica.partition].service]; }
  const Expression& ConstraintOf(const Service& service) const { return constraints[service.constraint]; }
  std::span<const Replica> ReplicasOf(const Partition& partition) const {
    return std::span(replicas).subspan(partition.first_replica, partition.replica_count);
  }
  /// Of each of its service's metrics.
  std::span<const int64_t> LoadsOf(const Replica& replica) const {
    return std::span(loads).subspan(replica.first_load, ServiceOf(replica).metrics.size());
  }
  /// What a replica would load a node with that were placed now (or, for a primary, promoted).
  std::span<const int64_t> NewReplicaLoads(const Partition& partition, Role role) const;
  /// Null when it is unlimited.
  const int64_t* CapacityOf(NodeId node, MetricId metric) const;

  /// kNoId when there is none of that name. Linear: for explanations and tests.
  NodeId FindNode(std::string_view name) const;
  MetricId FindMetric(std::string_view name) const;
  ServiceId FindService(std::string_view name) const;
  PartitionId FindPartition(std::string_view name) const;
};

/// A node's properties with the implicit ones, which win: NodeType, NodeName, UpgradeDomain, FaultDomain.
class NodeProperties final : public PropertySource {
 public:
  NodeProperties(const Cluster& cluster, NodeId node) : node_(cluster.nodes[node]), type_(cluster.node_types[node_.type]) {}
  const std::string* Find(std::string_view name) const override;

 private:
  const Node& node_;
  const std::string& type_;
};

/// The weight of a metric in scores over the whole cluster: configured, else the average over the services that report it, else
/// 0.
double GlobalWeight(const Settings& settings, const Metric& metric);
/// What moving a replica of this cost level costs. Very high counts as high.
int64_t CostValue(const Settings& settings, MoveCost cost);

std::string_view Name(Role role);  ///< "primary", ...
std::string_view Name(MoveCost cost);
std::string_view Name(DeactivationIntent intent);
std::string_view Name(DeactivationStatus status);

}  // namespace evenkeel::balancing
