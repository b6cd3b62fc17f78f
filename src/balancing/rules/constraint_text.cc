#include <fmt/format.h>

#include <algorithm>

#include "balancing/model/amount_text.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {
namespace {

std::string NodeNames(const Cluster& cluster, std::span<const NodeId> nodes, size_t most) {
  std::string names;
  for (size_t i = 0; i < nodes.size() && i < most; ++i) names += (i == 0 ? "" : ", ") + cluster.nodes[nodes[i]].name;
  if (nodes.size() <= most || most == 0) return names;
  return names + ", ...";
}

/// Of the tree's path, the part that rules of top domains look at.
std::string TopDomain(const Arrangement& arrangement, NodeId id, DomainKind kind) {
  const Node& node = arrangement.cluster().nodes[id];
  if (kind == DomainKind::kUpgrade) {
    return node.upgrade_domain.empty() ? "no upgrade domain" : fmt::format("upgrade domain \"{}\"", node.upgrade_domain);
  }
  if (node.fault_domain.empty()) return "no fault domain";
  std::string text = "fault domain fd:";
  const size_t level = arrangement.sets().fault_domains().top_level;
  for (size_t i = 0; i <= level && i < node.fault_domain.size(); ++i) text += "/" + node.fault_domain[i];
  return text;
}

std::string WhyUnavailable(const Node& node) {
  if (!node.up) return fmt::format("{} is down", node.name);
  return fmt::format("{} is deactivated ({})", node.name, Name(node.intent));
}

std::string WhyUnsuitable(const Cluster& cluster, const Service& service, NodeId node, Role role) {
  const std::string& name = cluster.nodes[node].name;
  if (service.type != kNoId && std::ranges::binary_search(cluster.service_types[service.type].blocked_nodes, node)) {
    const ServiceType& type = cluster.service_types[service.type];
    if (!type.blocked_by.empty()) return fmt::format("{} of {} rules out {}", type.blocked_by, type.name, name);
    return fmt::format("service type {} is blocked on {}", type.name, name);
  }
  const Expression& constraint = cluster.ConstraintOf(service);
  const NodeProperties properties(cluster, node);
  std::string why = constraint.WhyNot(properties, ConstraintPart::kEveryReplica);
  if (why.empty() && role == Role::kPrimary) why = constraint.WhyNot(properties, ConstraintPart::kPrimaryOnly);
  return fmt::format("{}: {}", name, why);
}

std::string ReplicaText(const Arrangement& arrangement, const Violation& violation) {
  const Cluster& cluster = arrangement.cluster();
  return fmt::format("the {} of {} on {}", Name(arrangement.RoleOf(violation.replica)),
                     cluster.partitions[violation.partition].name, cluster.nodes[violation.node].name);
}

std::string ApplicationText(const Arrangement& arrangement, const Violation& violation) {
  const Cluster& cluster = arrangement.cluster();
  const Application& application = cluster.applications[violation.application];
  if (violation.constraint == Constraint::kScaleoutCount) {
    return fmt::format("application {} is on {} nodes, at most {} may be: {} replica(s) on {} have to go", application.name,
                       arrangement.NodesOf(violation.application), application.max_nodes, violation.excess,
                       cluster.nodes[violation.node].name);
  }
  const Metric& metric = cluster.metrics[violation.metric];
  const std::string where = violation.node == kNoId ? "altogether" : "on " + cluster.nodes[violation.node].name;
  return fmt::format("application {} has {} {} more {} than it may have", application.name,
                     AmountText(metric, violation.excess), metric.name, where);
}

}  // namespace

std::string Text(const Arrangement& arrangement, const Elimination& elimination) {
  const Cluster& cluster = arrangement.cluster();
  const auto most = static_cast<size_t>(arrangement.settings().detailed_node_list_limit);
  std::string text = fmt::format("of {} nodes", elimination.nodes);
  std::string_view separator = " ";
  if (elimination.own != kNoId) {
    text += fmt::format(" {} is its own", cluster.nodes[elimination.own].name);
    separator = ", ";
  }
  for (const Elimination::Step& step : elimination.steps) {
    const std::string names = NodeNames(cluster, step.nodes, most);
    const std::string_view colon = names.empty() || step.detail.empty() ? "" : ": ";
    text +=
        fmt::format("{}{} rules out {} ({}{}{})", separator, Name(step.constraint), step.eliminated, names, colon, step.detail);
    separator = ", ";
  }
  return text + fmt::format("; {} remain{}", elimination.remaining, elimination.remaining == 1 ? "s" : "");
}

std::string_view Name(Constraint constraint) {
  switch (constraint) {
    case Constraint::kNodeAvailable:
      return "NodeAvailable";
    case Constraint::kReplicaExclusion:
      return "ReplicaExclusion";
    case Constraint::kPlacementConstraint:
      return "PlacementConstraint";
    case Constraint::kPreferredLocation:
      return "PreferredLocation";
    case Constraint::kThrottling:
      return "Throttling";
    case Constraint::kFaultDomain:
      return "FaultDomain";
    case Constraint::kUpgradeDomain:
      return "UpgradeDomain";
    case Constraint::kCapacity:
      return "Capacity";
    case Constraint::kScaleoutCount:
      return "ScaleoutCount";
    case Constraint::kApplicationCapacity:
      return "ApplicationCapacity";
    case Constraint::kAffinity:
      return "Affinity";
  }
  return "Capacity";
}

std::string_view PriorityName(int64_t priority) {
  if (priority < 0) return "ignored";
  if (priority == 0) return "hard";
  return priority == 1 ? "soft" : "optimisation";
}

std::string Text(const Arrangement& arrangement, const Violation& violation) {
  const Cluster& cluster = arrangement.cluster();
  switch (violation.constraint) {
    case Constraint::kNodeAvailable:
      return fmt::format("{}: {}", ReplicaText(arrangement, violation), WhyUnavailable(cluster.nodes[violation.node]));
    case Constraint::kPlacementConstraint: {
      const Service& service = cluster.services[cluster.partitions[violation.partition].service];
      return fmt::format("{}: {}", ReplicaText(arrangement, violation),
                         WhyUnsuitable(cluster, service, violation.node, arrangement.RoleOf(violation.replica)));
    }
    case Constraint::kFaultDomain:
    case Constraint::kUpgradeDomain: {
      const DomainKind kind = violation.constraint == Constraint::kFaultDomain ? DomainKind::kFault : DomainKind::kUpgrade;
      return fmt::format("{}: {} has too many replicas of the partition", ReplicaText(arrangement, violation),
                         TopDomain(arrangement, violation.node, kind));
    }
    case Constraint::kCapacity: {
      const Metric& metric = cluster.metrics[violation.metric];
      return fmt::format("{} has {} of {}, {} more than its capacity", cluster.nodes[violation.node].name,
                         AmountText(metric, arrangement.UsedOf(violation.metric, violation.node)), metric.name,
                         AmountText(metric, violation.excess));
    }
    case Constraint::kScaleoutCount:
    case Constraint::kApplicationCapacity:
      return ApplicationText(arrangement, violation);
    case Constraint::kAffinity: {
      const Service& service = cluster.services[cluster.partitions[violation.partition].service];
      return fmt::format("{} is not where {} is", ReplicaText(arrangement, violation),
                         cluster.services[service.affinity_to].name);
    }
    case Constraint::kReplicaExclusion:
    case Constraint::kPreferredLocation:
    case Constraint::kThrottling:
      break;
  }
  return std::string(Name(violation.constraint));
}

Elimination Constraints::Eliminate(ReplicaId replica, Role role) const {
  Elimination elimination;
  elimination.nodes = static_cast<int64_t>(nodes_);
  std::array<std::vector<NodeId>, kConstraints> eliminated;
  for (NodeId node = 0; node < nodes_; ++node) {
    if (node == arrangement_.NodeOf(replica) && role == arrangement_.RoleOf(replica)) {
      elimination.own = node;
      continue;
    }
    const std::optional<Constraint> obstacle = Obstacle(replica, node, role);
    if (obstacle) {
      eliminated[static_cast<size_t>(*obstacle)].push_back(node);
    } else {
      ++elimination.remaining;
    }
  }
  for (size_t i = 0; i < kConstraints; ++i) {
    if (eliminated[i].empty()) continue;
    const auto constraint = static_cast<Constraint>(i);
    const NodeId first = eliminated[i][0];
    elimination.steps.push_back({.constraint = constraint,
                                 .eliminated = static_cast<int64_t>(eliminated[i].size()),
                                 .nodes = std::move(eliminated[i]),
                                 .detail = Detail(constraint, replica, first, role)});
  }
  return elimination;
}

std::string Constraints::Detail(Constraint constraint, ReplicaId replica, NodeId to, Role role) const {
  const Cluster& cluster = arrangement_.cluster();
  const Node& node = cluster.nodes[to];
  const Service& service = cluster.services[arrangement_.ServiceOf(replica)];
  switch (constraint) {
    case Constraint::kNodeAvailable:
      return WhyUnavailable(node);
    case Constraint::kReplicaExclusion:
      return fmt::format("{} has another replica of the partition", node.name);
    case Constraint::kPlacementConstraint:
      return WhyUnsuitable(cluster, service, to, role);
    case Constraint::kPreferredLocation:
      return fmt::format("{} is not where the replica was before", node.name);
    case Constraint::kThrottling:
      return fmt::format("{} replica(s) are being built on {}, at most {} may be", arrangement_.BuildingOn(to), node.name,
                         build_limits_[to]);
    case Constraint::kFaultDomain:
      return DomainDetail(DomainKind::kFault, replica, to);
    case Constraint::kUpgradeDomain:
      return DomainDetail(DomainKind::kUpgrade, replica, to);
    case Constraint::kCapacity:
      return CapacityDetail(replica, to, role);
    case Constraint::kScaleoutCount:
    case Constraint::kApplicationCapacity: {
      const Application& application = cluster.applications[service.application];
      if (constraint == Constraint::kApplicationCapacity) {
        return fmt::format("with {} application {} would exceed its capacity", node.name, application.name);
      }
      return fmt::format("application {} is on {} nodes, at most {} may be", application.name,
                         arrangement_.NodesOf(service.application), application.max_nodes);
    }
    case Constraint::kAffinity:
      if (service.affinity_to == kNoId) return "services with affinity to it would be left behind";
      return fmt::format("{} is not where {} is", node.name, cluster.services[service.affinity_to].name);
  }
  return {};
}

std::string Constraints::DomainDetail(DomainKind kind, ReplicaId replica, NodeId to) const {
  const PartitionId partition = arrangement_.PartitionOf(replica);
  const std::string has = fmt::format("{} has {} replica(s) of the partition", TopDomain(arrangement_, to, kind),
                                      domains_.CountInTop(kind, partition, to));
  if (domains_.RuleOf(kind, partition) == DomainRule::kMaxDifference) return has + ", and domains may differ by one";
  return fmt::format("{}, at most {} may be", has, domains_.LimitOf(kind, partition));
}

std::string Constraints::CapacityDetail(ReplicaId replica, NodeId to, Role role) const {
  const Cluster& cluster = arrangement_.cluster();
  const std::vector<ServiceMetric>& metrics = cluster.services[arrangement_.ServiceOf(replica)].metrics;
  const std::span<const int64_t> capacities = CapacitiesFor(replica, to);
  const std::span<const int64_t> loads = arrangement_.LoadsOf(replica, role);
  const bool transient = arrangement_.settings().prevent_transient_overcommit;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const MetricId metric = metrics[i].metric;
    const int64_t rise = Rise(replica, to, loads, i);
    const int64_t used = arrangement_.TakenOf(metric, to);
    const int64_t capacity = capacities[metric * nodes_ + to];
    const auto amount = [&](int64_t load) { return AmountText(cluster.metrics[metric], load); };
    if (rise <= 0) continue;
    if (used + rise > capacity) {
      return fmt::format("{}: {} of {} {} used, {} more do not fit", cluster.nodes[to].name, amount(used), amount(capacity),
                         cluster.metrics[metric].name, amount(rise));
    }
    if (transient && used + TransientRise(replica, to, i, rise) > capacity) {
      return fmt::format("{}: {} more {} fit only when what leaves it has left", cluster.nodes[to].name, amount(rise),
                         cluster.metrics[metric].name);
    }
  }
  return fmt::format("{}: what its application has reserved does not fit", cluster.nodes[to].name);
}

}  // namespace evenkeel::balancing
