#include "balancing/plan/plan_reasons.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "balancing/model/amount_text.h"

namespace evenkeel::balancing {
namespace {

/// How much more even a metric's loads on the two nodes became, in units of what the nodes' loads are divided by.
double Evened(const LoadChange& change, double source_unit, double target_unit) {
  const auto square = [](int64_t load, double unit) {
    return static_cast<double>(load) * static_cast<double>(load) / (unit * unit);
  };
  return square(change.source_before, source_unit) + square(change.target_before, target_unit) -
         square(change.source_after, source_unit) - square(change.target_after, target_unit);
}

/// Where shares are compared the node's load counts in units of the share that its capacity makes of the largest.
double UnitOf(const Cluster& cluster, const MetricBalance& balance, NodeId node) {
  const double largest = static_cast<double>(std::max<int64_t>(balance.max, 1));
  if (balance.max_capacity == 0) return largest;
  const int64_t* capacity = cluster.CapacityOf(node, balance.metric);
  return capacity == nullptr ? largest : largest * static_cast<double>(*capacity) / static_cast<double>(balance.max_capacity);
}

const LoadChange* ChangeOf(const Action& action, MetricId metric) {
  const auto found = std::ranges::find(action.loads, metric, &LoadChange::metric);
  return found == action.loads.end() ? nullptr : &*found;
}

}  // namespace

PlanReasons::PlanReasons(const Arrangement& arrangement, const ActionContext& context)
    : arrangement_(arrangement), cluster_(arrangement.cluster()), context_(context) {
  if (context.purpose == Purpose::kBalancing && context.balance != nullptr) {
    for (const auto* balances : {&context.balance->metrics, &context.balance->local}) {
      for (const MetricBalance& balance : *balances) {
        if (balance.balanced()) continue;
        imbalanced_.push_back(&balance);
        balance_texts_[&balance] = Text(cluster_, balance);
      }
    }
  }
  if (context.purpose != Purpose::kConstraintCheck) return;
  for (const Violation& violation : context.violations) {
    const size_t index = violation_texts_.size();
    violation_texts_.push_back(Text(arrangement, violation));
    if (violation.replica != kNoId) violations_of_replica_.emplace(violation.replica, index);
    if (violation.replica == kNoId && violation.partition != kNoId)
      violations_of_partition_.emplace(violation.partition, index);
    if (violation.partition == kNoId && violation.node != kNoId) violations_of_node_.emplace(violation.node, index);
  }
}

// Of the imbalances that let the replica move the one that the action lessens most, in units of its loads.
const MetricBalance* PlanReasons::TriggerOf(const PlanStep& step, const Action& action) const {
  const ServiceId service = arrangement_.ServiceOf(step.replica);
  const NodeTypeId type = cluster_.nodes[step.from].type;
  const MetricBalance* trigger = nullptr;
  double most = 0;
  for (const MetricBalance* balance : imbalanced_) {
    if (balance->node_type != kNoId && balance->node_type != type) continue;
    if (balance->service != kNoId && balance->service != service) continue;
    const LoadChange* change = ChangeOf(action, balance->metric);
    if (change == nullptr) continue;
    const double sign = balance->aim == Aim::kSpread ? 1 : -1;
    const double evened =
        sign * Evened(*change, UnitOf(cluster_, *balance, action.from), UnitOf(cluster_, *balance, action.to));
    if (trigger != nullptr && evened <= most) continue;
    trigger = balance;
    most = evened;
  }
  return trigger;
}

std::string PlanReasons::LoadsText(const Action& action, MetricId metric) const {
  const LoadChange* change = ChangeOf(action, metric);
  if (change == nullptr) return "";
  const auto amount = [&](int64_t load) { return AmountText(cluster_.metrics[metric], load); };
  return fmt::format("; {} goes from {} to {} on {} and from {} to {} on {}", cluster_.metrics[metric].name,
                     amount(change->source_before), amount(change->source_after), cluster_.nodes[action.from].name,
                     amount(change->target_before), amount(change->target_after), cluster_.nodes[action.to].name);
}

std::string PlanReasons::Followed(const PlanStep& step) const {
  const Service& service = cluster_.services[arrangement_.ServiceOf(step.replica)];
  return service.affinity_to == kNoId ? "" : cluster_.services[service.affinity_to].name;
}

Reason PlanReasons::OfBalancing(const PlanStep& step, const Action& action) const {
  const MetricBalance* trigger = TriggerOf(step, action);
  if (trigger == nullptr) {
    const std::string parent = Followed(step);
    return {parent.empty() ? "evens out other metrics of its group" : "follows " + parent + " by affinity", kNoId};
  }
  const std::string own = trigger->service == kNoId ? "" : " of " + cluster_.services[trigger->service].name;
  const std::string type = trigger->node_type == kNoId ? "" : " on node type " + cluster_.node_types[trigger->node_type];
  return {cluster_.metrics[trigger->metric].name + own + type + " is imbalanced: " + balance_texts_.at(trigger) +
              LoadsText(action, trigger->metric),
          trigger->metric};
}

const Violation* PlanReasons::MendedBy(const PlanStep& step) const {
  const auto first_of = [&](const auto& map, auto key) -> const Violation* {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &context_.violations[found->second];
  };
  for (const ReplicaId replica : {step.replica, step.other}) {
    if (replica == kNoId) continue;
    if (const Violation* violation = first_of(violations_of_replica_, replica)) return violation;
  }
  if (const Violation* violation = first_of(violations_of_partition_, arrangement_.PartitionOf(step.replica))) return violation;
  if (step.from == kNoId) return nullptr;
  // A node is too full in one metric: what has none of it mends nothing.
  const std::vector<ServiceMetric>& metrics = cluster_.services[arrangement_.ServiceOf(step.replica)].metrics;
  const auto [begin, end] = violations_of_node_.equal_range(step.from);
  for (auto at = begin; at != end; ++at) {
    const Violation& violation = context_.violations[at->second];
    const bool has_it = std::ranges::find(metrics, violation.metric, &ServiceMetric::metric) != metrics.end();
    if (violation.metric == kNoId || has_it) return &violation;
  }
  return nullptr;
}

Reason PlanReasons::OfRepair(const PlanStep& step) const {
  if (const Violation* violation = MendedBy(step)) {
    return {violation_texts_[static_cast<size_t>(violation - context_.violations.data())], violation->metric};
  }
  const std::string parent = Followed(step);
  if (!parent.empty()) return {"follows " + parent + " by affinity", kNoId};
  return {"makes room for a replica that has to leave its node", kNoId};
}

Reason PlanReasons::OfPlacement(const PlanStep& step) const {
  const PartitionId partition = arrangement_.PartitionOf(step.replica);
  const std::string& name = cluster_.partitions[partition].name;
  if (step.kind == ActionKind::kPromoteSecondary && step.other != kNoId) {
    return {"an upgrade asks for another primary of " + name + ", and the present one leaves", kNoId};
  }
  if (step.kind == ActionKind::kPromoteSecondary) return {name + " has no primary", kNoId};
  if (step.kind == ActionKind::kSwapPrimarySecondary) return {"an upgrade asks for another primary of " + name, kNoId};
  if (IsDrop(step.kind)) {
    if (cluster_.replicas[step.replica].Has(kToBeDropped)) return {"it is to be dropped", kNoId};
    if (cluster_.replicas[step.replica].Has(kToBeDroppedForDeactivation)) return {"its node is being deactivated", kNoId};
    if (cluster_.ServiceOf(cluster_.partitions[partition]).on_every_node) {
      return {cluster_.nodes[step.from].name + " no longer suits " + name, kNoId};
    }
    return {name + " has more replicas than its target", kNoId};
  }
  if (IsAdd(step.kind)) return {"a replica of " + name + " is missing", kNoId};
  if (std::ranges::find(context_.along, step.replica) != context_.along.end()) {
    return {"stays together with what an upgrade replaces, and goes along with it", kNoId};
  }
  return {"makes room for a replica that is to be placed", kNoId};
}

Reason PlanReasons::Of(const PlanStep& step, const Action& action) const {
  if (context_.purpose == Purpose::kBalancing) return OfBalancing(step, action);
  return context_.purpose == Purpose::kConstraintCheck ? OfRepair(step) : OfPlacement(step);
}

std::string PlanReasons::OfImpossible(const Cluster& cluster, const ImpossibleRequest& request) {
  const std::string& node = cluster.nodes[request.node].name;
  const std::string& partition = cluster.partitions[request.partition].name;
  if (!request.obstacle) {
    return fmt::format("an upgrade asks for another primary of {} than the one on {}, and none of its nodes can have it",
                       partition, node);
  }
  return fmt::format("an upgrade asks for a replica of {} on {}: {} does not allow it", partition, node,
                     Name(*request.obstacle));
}

Reason PlanReasons::OfUnplaced(ReplicaId replica) const {
  const PartitionId partition = arrangement_.PartitionOf(replica);
  const std::string text = "no node can take a replica of " + cluster_.partitions[partition].name;
  const auto found = std::ranges::find_if(context_.unplaced, [&](const auto& why) {
    return why.first == replica || arrangement_.PartitionOf(why.first) == partition;
  });
  if (found == context_.unplaced.end()) return {text, kNoId};
  const std::string nodes = ": " + balancing::Text(arrangement_, found->second);
  if (found->second.remaining == 0) return {text + nodes, kNoId};
  return {"no place was found now for a replica of " + cluster_.partitions[partition].name + nodes, kNoId};
}

}  // namespace evenkeel::balancing
