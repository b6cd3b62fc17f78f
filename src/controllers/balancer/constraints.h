// What a replica may not do, constraint by constraint, and what is violated already. Rules and their order:
// docs/COMPATIBILITY.md and Service Fabric's documentation of placement constraints, fault and upgrade domains, capacities,
// affinity and application groups.
//
// A step is judged by whether it makes anything worse: what was violated before need not be mended by it (relaxed semantics).
// Constraints whose priority is above the one asked for, or negative, are not looked at; exclusion (one replica of a partition
// per node) and availability of the node always are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/balancer/arrangement.h"

namespace evenkeel::controllers::balancer {

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

/// What a step is for: it decides which capacity counts and whether limits of replicas being built apply.
enum class Purpose : uint8_t { kPlacement, kConstraintCheck, kBalancing };

struct ConstraintOptions {
  Purpose purpose = Purpose::kBalancing;
  int64_t max_priority = 2;  ///< constraints of a higher one are left alone
  bool light = false;        ///< fault and upgrade domains are left alone
};

/// Which nodes remained for a replica after each constraint.
struct Elimination {
  struct Step {
    Constraint constraint;
    int64_t eliminated = 0;     ///< of those that the constraints before it left
    std::vector<NodeId> nodes;  ///< these, ascending
    std::string detail;         ///< one clause for people about the first of them
  };
  std::vector<Step> steps;  ///< those that eliminated any
  int64_t nodes = 0;        ///< there were
  int64_t remaining = 0;
};

struct Violation {
  Constraint constraint = Constraint::kCapacity;
  int64_t priority = 0;
  NodeId node = kNoId;
  MetricId metric = kNoId;
  ReplicaId replica = kNoId;      ///< the one that should go; kNoId: of the node
  PartitionId partition = kNoId;  ///< kNoId: of the node
  int64_t excess = 1;             ///< load above the capacity, replicas too many
};
/// One clause for people.
std::string Text(const Arrangement& arrangement, const Violation& violation);

/// Smaller is better: by priority, then number of violated constraints, replicas and excess (reference: violation lists).
struct ViolationSummary {
  struct Entry {
    int64_t priority = 0;
    Constraint constraint = Constraint::kCapacity;
    int64_t replicas = 0;
    int64_t excess = 0;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries;  ///< by priority, then constraint
  bool operator==(const ViolationSummary&) const = default;
};
ViolationSummary Summarize(std::span<const Violation> violations);
/// Whether `a` is strictly better than `b`: something improved, and nothing of that priority became worse.
bool Better(const ViolationSummary& a, const ViolationSummary& b);

class Constraints {
 public:
  /// `arrangement` outlives this and may change; nothing of it is copied.
  Constraints(const Arrangement& arrangement, const ConstraintOptions& options);

  /// The first constraint that forbids the replica to be on `to` in `role`, from wherever it is now (nowhere, when it is not
  /// placed). O(metrics + replicas of the partition), more only with affinity.
  std::optional<Constraint> Obstacle(ReplicaId replica, NodeId to, Role role) const;
  std::optional<Constraint> Obstacle(ReplicaId replica, NodeId to) const;
  bool Allows(ReplicaId replica, NodeId to) const { return !Obstacle(replica, to); }
  /// Of a primary and a secondary of one partition that exchange their roles.
  std::optional<Constraint> SwapObstacle(ReplicaId primary, ReplicaId secondary) const;

  /// Whether the replica could be moved at all: its partition is at rest, it is up and neither being built nor promoted, moved
  /// or dropped, its service is not on every node. Says nothing about targets.
  bool Movable(ReplicaId replica) const;
  std::string_view WhyNotMovable(ReplicaId replica) const;  ///< one clause; empty when it is movable

  /// Of every node, for explanations: O(nodes * Obstacle).
  Elimination Eliminate(ReplicaId replica, Role role) const;

  /// All that is violated now, by priority, constraint, node, partition. O(replicas * constraints).
  std::vector<Violation> Violations() const;

 private:
  const Arrangement& arrangement_;
  ConstraintOptions options_;
};

}  // namespace evenkeel::controllers::balancer
