// Where a replica would best go: the nodes that the constraints allow, by the deviation that the group would have with it
// there. All nodes are first ranked by a sum over its metrics that grows as the deviation does, two flops for each metric and
// node, and only the best of them are asked for obstacles and for the exact deviation; all nodes are when none of these is
// allowed. Of very many nodes only those are ranked that had least of a metric, or of all together, a while ago, so that what
// has to be moved or placed does not cost its number times the number of nodes. Of nodes that are as good node_ties.h tells
// which.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "balancing/measures/node_ties.h"
#include "balancing/measures/packing.h"
#include "balancing/rules/constraints.h"
#include "balancing/search/step_journal.h"

namespace evenkeel::balancing {

struct Target {
  NodeId node = kNoId;
  double deviation = 0;  ///< the group's average deviation with the replica there
  NodeTie tie{};         ///< of targets with the same deviation the smallest comes first
};

class TargetFinder {
 public:
  /// `journal` outlives this; `seed` is of what ties leave to chance. O(nodes * metrics of the group).
  TargetFinder(const StepJournal& journal, uint64_t seed);

  using Accept = std::function<bool(NodeId)>;
  /// The best allowed nodes for a replica (placed elsewhere, or nowhere) in this role, best first; at most
  /// `most`, but for one of them all nodes are looked at if need be. `accept`, when set, rules out others.
  std::vector<Target> Best(const Constraints& constraints, ReplicaId replica, Role role, size_t most = 1,
                           const Accept& accept = {});

  /// As Constraints::Obstacle, but that followers would be left behind is none: they can come along (mover.h).
  std::optional<Constraint> Obstacle(const Constraints& constraints, ReplicaId replica, NodeId to, Role role) const;
  /// The group's average deviation with the replica there.
  double DeviationWith(ReplicaId replica, NodeId to, Role role) const;
  const NodeTies& ties() const { return ties_; }

  /// Nodes that were looked at closely.
  int64_t evaluations() const { return evaluations_; }

 private:
  struct MetricTerms {
    double weight = 0;
    Aim aim = Aim::kSpread;
    bool by_percentage = false;
    double average_capacity = 0;
    std::vector<double> capacity;  // by node, infinite when unlimited
  };
  struct Candidates {
    std::vector<NodeId> all;  // ascending
    // Ascending; of very many: those with the best ranks for loads of each metric, for average ones, and those with the fewest
    // replicas.
    std::vector<NodeId> few;
    int64_t questions = 0;  // since the few were found
  };
  /// Fills rank_ for these nodes, all of the cluster when empty.
  void Rank(const Constraints& constraints, ReplicaId replica, Role role, std::span<const NodeId> nodes);
  void RankMetric(MetricId metric, int64_t load, bool limited, std::span<const NodeId> nodes);
  void Consider(const Constraints& constraints, ReplicaId replica, Role role, NodeId node, std::vector<Target>& found) const;
  void ScanAll(const Constraints& constraints, ReplicaId replica, Role role, size_t keep, const Accept& accept,
               std::vector<Target>& found);
  Candidates& CandidatesOf(ServiceId service);
  void FindFew(Candidates& candidates);
  /// Considers the `keep` of these nodes with the best ranks; false when there were fewer.
  bool ConsiderBest(const Constraints& constraints, ReplicaId replica, Role role, std::span<const NodeId> nodes, size_t keep,
                    const Accept& accept, std::vector<Target>& found) const;

  const StepJournal& journal_;
  const Arrangement& arrangement_;
  const NodeTies ties_;
  std::vector<MetricTerms> metrics_;  // by metric id; of the group's
  std::vector<double> rank_;          // by node, smaller is better
  std::map<const NodeSet*, Candidates> candidates_;
  mutable int64_t evaluations_ = 0;
};

}  // namespace evenkeel::balancing
