// Why an action of a plan is there, in a sentence: the imbalance that it lessens, the violation that it mends, the replica that
// is missing. Asked in the state of the arrangement in which the action is made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/plan/plan_actions.h"
#include "balancing/plan/plan_steps.h"

namespace evenkeel::balancing {

struct Reason {
  std::string text;
  MetricId metric = kNoId;  ///< that was imbalanced or violated
};

class PlanReasons {
 public:
  /// `arrangement` is as the cluster is given. Both outlive this.
  PlanReasons(const Arrangement& arrangement, const ActionContext& context);

  /// Of an action that has just been made.
  Reason Of(const PlanStep& step, const Action& action) const;
  Reason OfUnplaced(ReplicaId replica) const;
  static std::string OfImpossible(const Cluster& cluster, const ImpossibleRequest& request);
  /// Whether it mends a violation: such steps come before those that make room or even out.
  const Violation* MendedBy(const PlanStep& step) const;

 private:
  Reason OfBalancing(const PlanStep& step, const Action& action) const;
  Reason OfRepair(const PlanStep& step) const;
  Reason OfPlacement(const PlanStep& step) const;
  /// "; Memory goes from 100 to 60 on n0 and from 10 to 50 on n1".
  std::string LoadsText(const Action& action, MetricId metric) const;
  std::string Followed(const PlanStep& step) const;
  const MetricBalance* TriggerOf(const PlanStep& step, const Action& action) const;

  const Arrangement& arrangement_;
  const Cluster& cluster_;
  const ActionContext& context_;
  std::vector<const MetricBalance*> imbalanced_;
  std::map<const MetricBalance*, std::string> balance_texts_;  // only looked up
  std::vector<std::string> violation_texts_;
  std::multimap<ReplicaId, size_t> violations_of_replica_;
  std::multimap<PartitionId, size_t> violations_of_partition_;
  std::multimap<NodeId, size_t> violations_of_node_;
};

}  // namespace evenkeel::balancing
