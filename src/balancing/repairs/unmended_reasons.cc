#include "balancing/repairs/unmended_reasons.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace evenkeel::balancing {
namespace {

constexpr size_t kReplicasAsked = 16;  // of one violation

}  // namespace

// The least that constraints may be relaxed to for it: what its repair was tried with last.
const Constraints& UnmendedReasons::LastFor(const Violation& violation) {
  size_t level = 0;
  while (level + 1 < levels_.size() && levels_.PriorityOf(level + 1) >= violation.priority) ++level;
  return levels_[level];
}

// Of a node that is too full, or of a partition that is uneven.
std::vector<ReplicaId> UnmendedReasons::Concerned(const Violation& violation) const {
  std::vector<ReplicaId> replicas;
  if (IsDomain(violation.constraint)) {
    arrangement_.ForEachOf(violation.partition, [&](ReplicaId replica) {
      if (arrangement_.NodeOf(replica) != kNoId) replicas.push_back(replica);
    });
  } else if (violation.replica != kNoId) {
    replicas.push_back(violation.replica);
  } else {
    for (const ReplicaId replica : arrangement_.On(violation.node)) {
      const ApplicationId application = arrangement_.cluster().services[arrangement_.ServiceOf(replica)].application;
      const bool concerned = violation.application == kNoId || violation.application == application;
      if (concerned && journal_.InGroup(replica)) replicas.push_back(replica);
    }
  }
  std::ranges::sort(replicas);
  return replicas;
}

UnmendedViolation UnmendedReasons::Explain(const Violation& violation, bool with_nodes) {
  UnmendedViolation unmended{.violation = violation, .why = {}, .nodes = {}};
  const Constraints& constraints = LastFor(violation);
  if (violation.node == kNoId) {
    unmended.why = "the application has too much altogether, wherever it is";
    return unmended;
  }
  std::string_view kept = "none of the group's replicas is on the node";
  size_t looked_at = 0;
  for (const ReplicaId replica : Concerned(violation)) {
    const std::string_view why = constraints.WhyNotMovable(replica);
    if (!why.empty()) {
      kept = why;
      continue;
    }
    const Role role = arrangement_.RoleOf(replica);
    if (unmended.replica == kNoId) {
      unmended.replica = replica;
      if (!with_nodes) break;
      unmended.nodes = constraints.Eliminate(replica, role);
    } else if (Elimination nodes = constraints.Eliminate(replica, role); nodes.remaining > 0) {
      // One that has somewhere to go says more than one that has not.
      unmended.replica = replica;
      unmended.nodes = std::move(nodes);
    }
    if (unmended.nodes->remaining > 0 || ++looked_at == kReplicasAsked) break;
  }
  if (unmended.replica == kNoId) {
    unmended.why = kept;
  } else if (unmended.nodes && unmended.nodes->remaining > 0) {
    unmended.why = "one that could go leaves it as it is, or others worse";
  } else {
    unmended.why = "no other node can take what would have to go";
  }
  return unmended;
}

}  // namespace evenkeel::balancing
