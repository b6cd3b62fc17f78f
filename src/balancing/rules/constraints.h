// What a replica may not do, constraint by constraint, and what is violated already. Rules and their order:
// docs/COMPATIBILITY.md and Service Fabric's documentation of placement constraints, fault and upgrade domains, capacities,
// affinity and application groups.
//
// A step is judged by whether it makes anything worse: what was violated before need not be mended by it (relaxed semantics).
// Constraints whose priority is above the one asked for, or negative, are not looked at; exclusion (one replica of a partition
// per node) and availability of the node always are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/rules/affinity_rules.h"
#include "balancing/rules/domain_rules.h"

namespace evenkeel::balancing {

/// In the order in which they are looked at.
enum class Constraint : uint8_t {
  kNodeAvailable,  ///< up, and not being deactivated
  kReplicaExclusion,
  kPlacementConstraint,  ///< and the node blocklist of the service type
  kPreferredLocation,
  kThrottling,  ///< replicas being built on the node
  kFaultDomain,
  kUpgradeDomain,
  kCapacity,
  kScaleoutCount,
  kApplicationCapacity,
  kAffinity,
};
inline constexpr size_t kConstraints = 11;
std::string_view Name(Constraint constraint);  ///< "PlacementConstraint", "Capacity", ...
/// 0 hard, 1 soft, 2 optimisation; negative: not looked at; kNodeAvailable and kReplicaExclusion: 0.
int64_t PriorityOf(const Settings& settings, Constraint constraint);
std::string_view PriorityName(int64_t priority);  ///< "hard", "soft", "optimisation", "ignored"

/// What a step is for: it decides which capacity counts (all of it for new replicas in a placement, else without the buffer)
/// and whether limits of replicas being built apply.
enum class Purpose : uint8_t { kPlacement, kConstraintCheck, kBalancing };

struct ConstraintOptions {
  Purpose purpose = Purpose::kBalancing;
  int64_t max_priority = 2;  ///< constraints of a higher one are left alone
  bool light = false;        ///< fault and upgrade domains are left alone
  /// Left alone, too: bits by the number of the constraint.
  uint16_t ignored = 0;
};

/// Why a primary and a secondary exchange their roles: an upgrade brings the primary away only to a node that is available, and
/// back to any that is up; either way where the constraint lets a primary be, whatever was violated before.
enum class SwapFor : uint8_t { kLoad, kUpgrade, kReturn };

/// Which nodes remain for a replica after each constraint. Its own node, what the steps eliminate and what remains are all.
struct Elimination {
  struct Step {
    Constraint constraint;
    int64_t eliminated = 0;     ///< of those that the constraints before it left
    std::vector<NodeId> nodes;  ///< these, ascending
    std::string detail;         ///< one clause for people about the first of them
  };
  std::vector<Step> steps;  ///< those that eliminated any
  int64_t nodes = 0;        ///< there were
  NodeId own = kNoId;       ///< where it is already, in this role; kNoId: nowhere
  int64_t remaining = 0;    ///< others
};
/// "of 7 nodes n0 is its own, Capacity rules out 4 (n1, n2, n3, ...: n1: what does not fit); 2 remain".
std::string Text(const Arrangement& arrangement, const Elimination& elimination);

struct Violation {
  Constraint constraint = Constraint::kCapacity;
  int64_t priority = 0;
  NodeId node = kNoId;  ///< kNoId: of an application altogether
  MetricId metric = kNoId;
  ReplicaId replica = kNoId;          ///< the one that should go; kNoId: of the node
  PartitionId partition = kNoId;      ///< kNoId: of the node
  ApplicationId application = kNoId;  ///< whose replicas should leave the node, for its limits
  int64_t excess = 1;                 ///< load above the capacity, replicas too many
};
/// One clause for people.
std::string Text(const Arrangement& arrangement, const Violation& violation);

/// Smaller is better: by priority, then number of violated constraints, then what is too much of each.
struct ViolationSummary {
  struct Entry {
    int64_t priority = 0;
    Constraint constraint = Constraint::kCapacity;
    int64_t replicas = 0;  ///< and nodes: violations
    int64_t excess = 0;    ///< of all of them
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries;  ///< by priority, then constraint
  bool operator==(const ViolationSummary&) const = default;
};
ViolationSummary Summarize(std::span<const Violation> violations);
/// Whether `a` is strictly better than `b`: the first priority at which they differ is less severe in `a`, or violates fewer
/// constraints, or the same ones with less excess of one and more of none.
bool Better(const ViolationSummary& a, const ViolationSummary& b);

class Constraints {
 public:
  /// `arrangement` outlives this and may change; nothing of it is copied. O(replicas + metrics * nodes).
  Constraints(const Arrangement& arrangement, const ConstraintOptions& options);

  const ConstraintOptions& options() const { return options_; }

  /// The first constraint that forbids the replica to be on `to` in `role`, from wherever it is now (nowhere, when it is not
  /// placed); on its own node: to take that role. O(metrics + replicas of the partition), more only with affinity. Affinity is
  /// the last one looked at: a parent that is kept by it alone may go when those that FollowersOf names go with it.
  std::optional<Constraint> Obstacle(ReplicaId replica, NodeId to, Role role) const;
  std::optional<Constraint> Obstacle(ReplicaId replica, NodeId to) const {
    return Obstacle(replica, to, arrangement_.RoleOf(replica));
  }
  bool Allows(ReplicaId replica, NodeId to) const { return !Obstacle(replica, to); }
  /// Of a primary and a secondary of one partition that exchange their roles.
  std::optional<Constraint> SwapObstacle(ReplicaId primary, ReplicaId secondary, SwapFor purpose = SwapFor::kLoad) const;
  /// Whether the exchange exceeds a capacity, also where an upgrade may.
  bool SwapOverloads(ReplicaId primary, ReplicaId secondary) const;

  /// Replicas of children that have to move when this replica of their parent does, and the swaps when two of them swap; empty
  /// when affinity is not looked at. affinity_rules.h.
  std::vector<ReplicaId> FollowersOf(ReplicaId parent) const;
  std::vector<std::pair<ReplicaId, ReplicaId>> FollowingSwaps(ReplicaId primary, ReplicaId secondary) const;

  /// Whether the replica could be moved at all: its partition is at rest, it is up and neither being built nor promoted, moved
  /// or dropped, its node lets it go (one that is paused or restarts does so only while its safety checks run), its service is
  /// not on every node. Says nothing about targets. Of new ones: always.
  bool Movable(ReplicaId replica) const { return replica >= kept_.size() || !kept_[replica]; }
  std::string_view WhyNotMovable(ReplicaId replica) const;  ///< one clause; empty when it is movable

  /// Of every node, for explanations: O(nodes * Obstacle).
  Elimination Eliminate(ReplicaId replica, Role role) const;

  /// All that is violated now, by priority, constraint, node, partition. Capacities are looked at on nodes that are up;
  /// replicas that are not movable count, except those that go or are down. O(replicas * constraints).
  std::vector<Violation> Violations() const;

  const DomainRules& domains() const { return domains_; }
  const AffinityRules& affinity() const { return affinity_; }

 private:
  struct PreferredNode {
    PartitionId partition;
    NodeId node;
    bool for_primary;
  };
  bool Active(Constraint constraint) const { return active_[static_cast<size_t>(constraint)]; }
  void FindCapacities();
  void FindPreferredNodes();
  void FindBuildLimits();

  bool Available(ReplicaId replica, NodeId to, Role role) const;
  bool Excluded(ReplicaId replica, NodeId to) const;
  bool Unsuitable(ReplicaId replica, NodeId to, Role role) const;
  bool NotPreferred(ReplicaId replica, NodeId to, Role role) const;
  bool Throttled(ReplicaId replica, NodeId to, Role role) const;
  bool Overloads(ReplicaId replica, NodeId to, std::span<const int64_t> loads) const;
  bool ExceedsCapacity(ReplicaId replica, NodeId to, std::span<const int64_t> loads) const;
  bool SwapLeavesSuitable(ReplicaId primary, ReplicaId secondary, SwapFor purpose) const;
  bool ReservationOverloads(ServiceId service, NodeId to) const;
  bool ScalesOut(ReplicaId replica, NodeId to) const;
  bool ExceedsApplication(ReplicaId replica, NodeId to, std::span<const int64_t> loads) const;
  bool BreaksAffinity(ReplicaId replica, NodeId to, Role role) const;

  /// By how much the load of `to` rises in the i-th metric of the replica's service when it is there with these loads, and how
  /// much that is together with the room that the plan frees there.
  int64_t Rise(ReplicaId replica, NodeId to, std::span<const int64_t> loads, size_t metric_index) const;
  /// Of the stand-by replica there whose place it would take.
  int64_t StandByLoad(ReplicaId replica, NodeId to, size_t metric_index) const;
  int64_t TransientRise(ReplicaId replica, NodeId to, size_t metric_index, int64_t rise) const;
  /// The rise with what the application then no longer has reserved and unused.
  int64_t NetRise(ServiceId service, NodeId to, size_t metric_index, int64_t rise) const;
  /// Total, or less the buffer: by metric, then node.
  std::span<const int64_t> CapacitiesFor(ReplicaId replica, NodeId to) const;

  void FindPlacementViolations(std::vector<Violation>& found) const;
  void FindDomainViolations(std::vector<Violation>& found) const;
  void FindCapacityViolations(std::vector<Violation>& found) const;
  void FindApplicationViolations(std::vector<Violation>& found) const;
  void FindAffinityViolations(std::vector<Violation>& found) const;
  bool Stays(ReplicaId replica) const;
  std::string Detail(Constraint constraint, ReplicaId replica, NodeId to, Role role) const;
  std::string DomainDetail(DomainKind kind, ReplicaId replica, NodeId to) const;
  std::string CapacityDetail(ReplicaId replica, NodeId to, Role role) const;

  const Arrangement& arrangement_;
  ConstraintOptions options_;
  DomainRules domains_;
  AffinityRules affinity_;
  std::array<bool, kConstraints> active_{};
  size_t nodes_ = 0;
  // By metric, then node; INT64_MAX: unlimited.
  std::vector<int64_t> capacity_, without_buffer_;
  std::vector<PreferredNode> preferred_;  // by partition
  std::vector<int64_t> build_limits_;     // by node; empty: none
  std::vector<bool> reserves_;            // by service: its application reserves something
  std::vector<bool> kept_;                // by existing replica: not movable
};

}  // namespace evenkeel::balancing
