#include "balancing/repairs/replica_repairs.h"

#include <algorithm>
#include <optional>

namespace evenkeel::balancing {
namespace {

constexpr size_t kNodesWithRoomTried = 16;
constexpr int64_t kMovesToMakeRoom = 2;
constexpr size_t kNodesOfFamily = 32;

}  // namespace

int64_t ReplicaRepairs::Measure(const Violation& violation, const Constraints& constraints) const {
  const ReplicaId replica = violation.replica;
  switch (violation.constraint) {
    case Constraint::kFaultDomain:
      return constraints.domains().Distance(DomainKind::kFault, violation.partition);
    case Constraint::kUpgradeDomain:
      return constraints.domains().Distance(DomainKind::kUpgrade, violation.partition);
    case Constraint::kAffinity: {
      std::vector<ReplicaId> misplaced;
      constraints.affinity().FindMisplaced(violation.partition, misplaced);
      return static_cast<int64_t>(misplaced.size());
    }
    case Constraint::kPlacementConstraint:
      return Unsuitable(violation.partition);
    default:
      return arrangement_.NodeOf(replica) == violation.node ? 1 : 0;
  }
}

// After an exchange of roles another replica may be where it must not be.
int64_t ReplicaRepairs::Unsuitable(PartitionId partition) const {
  int64_t unsuitable = 0;
  arrangement_.ForEachOf(partition, [&](ReplicaId replica) {
    const NodeId node = arrangement_.NodeOf(replica);
    if (node == kNoId) return;
    const ServiceId service = arrangement_.ServiceOf(replica);
    const bool primary = arrangement_.RoleOf(replica) == Role::kPrimary;
    const NodeSet& blocked = primary ? arrangement_.sets().BlockedForPrimary(service) : arrangement_.sets().Blocked(service);
    unsuitable += blocked.test(node) ? 1 : 0;
  });
  return unsuitable;
}

// Of an uneven partition any replica may be the one that moves.
std::vector<ReplicaId> ReplicaRepairs::Candidates(const Violation& violation, const Constraints& constraints) const {
  std::vector<ReplicaId> candidates;
  const auto add = [&](ReplicaId replica) {
    if (mover_.Movable(constraints, replica)) candidates.push_back(replica);
  };
  if (IsDomain(violation.constraint)) {
    arrangement_.ForEachOf(violation.partition, add);
  } else {
    add(violation.replica);
  }
  return candidates;
}

std::vector<NodeId> ReplicaRepairs::ParentNodes(ReplicaId replica) const {
  std::vector<NodeId> nodes;
  const ServiceId parent = arrangement_.cluster().services[arrangement_.ServiceOf(replica)].affinity_to;
  for (const PartitionId partition : arrangement_.cluster().services[parent].partitions) {
    arrangement_.ForEachOf(partition, [&](ReplicaId other) {
      if (arrangement_.NodeOf(other) != kNoId) nodes.push_back(arrangement_.NodeOf(other));
    });
  }
  return nodes;
}

// The targets that mend it: of domains each leaf is tried once.
TargetFinder::Accept ReplicaRepairs::Mends(const Violation& violation, const Constraints& constraints, ReplicaId replica) {
  if (violation.constraint == Constraint::kAffinity) {
    return [nodes = ParentNodes(replica)](NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); };
  }
  if (!IsDomain(violation.constraint)) return {};
  const LeafDomains& domains = violation.constraint == Constraint::kFaultDomain ? arrangement_.sets().fault_domains()
                                                                                : arrangement_.sets().upgrade_domains();
  std::vector<bool> tried(domains.count), mends(domains.count);
  const int64_t before = Measure(violation, constraints);
  const size_t mark = journal_.Mark();
  const NodeSet& valid = arrangement_.sets().ValidForService(arrangement_.ServiceOf(replica));
  for (size_t node = valid.find_first(); node != NodeSet::npos; node = valid.find_next(node)) {
    const uint32_t leaf = domains.of_node[node];
    if (tried[leaf] || node == arrangement_.NodeOf(replica)) continue;
    tried[leaf] = true;
    journal_.Move(replica, static_cast<NodeId>(node));
    mends[leaf] = Measure(violation, constraints) < before;
    journal_.UndoTo(mark);
  }
  return [mends = std::move(mends), &domains](NodeId node) { return mends[domains.of_node[node]]; };
}

void ReplicaRepairs::AddSwaps(const Violation& violation, const Constraints& constraints, std::vector<Choice>& choices) {
  const int64_t before = Measure(violation, constraints);
  const ReplicaId primary = arrangement_.PrimaryOf(violation.partition);
  if (primary == kNoId || !mover_.Movable(constraints, primary)) return;
  const size_t mark = journal_.Mark();
  arrangement_.ForEachOf(violation.partition, [&](ReplicaId secondary) {
    if (arrangement_.RoleOf(secondary) != Role::kSecondary || !mover_.Movable(constraints, secondary)) return;
    if (!mover_.TrySwap(constraints, primary, secondary)) return;
    const int64_t left = Measure(violation, constraints);
    if (left < before) choices.push_back({.left = left, .price = PriceOf(journal_), .replica = primary, .other = secondary});
    journal_.UndoTo(mark);
  });
}

void ReplicaRepairs::AddMoves(const Violation& violation, const Constraints& constraints, std::vector<Choice>& choices) {
  const int64_t before = Measure(violation, constraints);
  const size_t mark = journal_.Mark();
  for (const ReplicaId replica : Candidates(violation, constraints)) {
    const TargetFinder::Accept mends = Mends(violation, constraints, replica);
    const bool leads = !mover_.FollowersOf(arrangement_.ServiceOf(replica)).empty();
    const size_t most = mends || leads ? kRepairTargets : 1;
    for (const Target& target : finder_.Best(constraints, replica, arrangement_.RoleOf(replica), most, mends)) {
      if (!mover_.TryMove(constraints, replica, target.node)) continue;
      const int64_t left = Measure(violation, constraints);
      if (left < before) choices.push_back({.left = left, .price = PriceOf(journal_), .replica = replica, .node = target.node});
      journal_.UndoTo(mark);
      if (left == 0) break;
    }
  }
}

bool ReplicaRepairs::TakeBest(const Constraints& constraints, const std::vector<Choice>& choices) {
  if (choices.empty()) return false;
  const Choice best = *std::ranges::min_element(choices);
  if (best.other != kNoId) return mover_.TrySwap(constraints, best.replica, best.other);
  return mover_.TryMove(constraints, best.replica, best.node);
}

// A parent that may move goes to where its child is.
bool ReplicaRepairs::MoveParent(const Violation& violation, const Constraints& constraints) {
  if (violation.constraint != Constraint::kAffinity || !arrangement_.settings().move_parent_to_fix_affinity_violation) {
    return false;
  }
  return GatherFamily(arrangement_.cluster().services[arrangement_.ServiceOf(violation.replica)].affinity_to, constraints);
}

bool ReplicaRepairs::MakeRoomAndMove(const Constraints& constraints, ReplicaId replica, NodeId node, int64_t moves) {
  const NodeId at = arrangement_.NodeOf(replica);
  return mover_.MakeRoom(constraints, replica, node, arrangement_.RoleOf(replica), moves, static_cast<int>(moves)) &&
         arrangement_.NodeOf(replica) == at && mover_.TryMove(constraints, replica, node);
}

// The first way with the fewest movements; where reported costs count all are compared.
bool ReplicaRepairs::MoveWithRoom(const Violation& violation, const Constraints& constraints) {
  const bool compare = journal_.costs_count();
  const int64_t before = Measure(violation, constraints);
  const size_t mark = journal_.Mark();
  struct Way {
    RepairPrice price;
    ReplicaId replica;
    NodeId node;
    int64_t moves;
    auto operator<=>(const Way&) const = default;
  };
  std::optional<Way> best;
  for (const ReplicaId replica : Candidates(violation, constraints)) {
    if (finder_.evaluations() > budget_) break;
    const TargetFinder::Accept mends = Mends(violation, constraints, replica);
    const std::vector<NodeId> crowded =
        mover_.Crowded(constraints, replica, arrangement_.RoleOf(replica), kNodesWithRoomTried, mends);
    for (int64_t moves = 1; moves <= kMovesToMakeRoom; ++moves) {
      for (const NodeId node : crowded) {
        if (finder_.evaluations() > budget_) break;
        if (MakeRoomAndMove(constraints, replica, node, moves) && Measure(violation, constraints) < before) {
          if (!compare) return true;
          const Way way{PriceOf(journal_), replica, node, moves};
          if (!best || way < *best) best = way;
        }
        journal_.UndoTo(mark);
      }
    }
  }
  return best && MakeRoomAndMove(constraints, best->replica, best->node, best->moves);
}

// Replicas of the parent that may not stay where they are, and children's replicas without the parent's.
int64_t ReplicaRepairs::WrongInFamily(ServiceId parent, const Constraints& constraints) const {
  int64_t wrong = 0;
  std::vector<ReplicaId> misplaced;
  const auto count = [&](ServiceId service) {
    for (const PartitionId partition : arrangement_.cluster().services[service].partitions) {
      wrong += Unsuitable(partition);
      if (service != parent) constraints.affinity().FindMisplaced(partition, misplaced);
    }
  };
  count(parent);
  for (const ServiceId child : mover_.FollowersOf(parent)) count(child);
  return wrong + static_cast<int64_t>(misplaced.size());
}

// Of each child a replica goes to the node where one of the parent's is, whatever else it is beside.
void ReplicaRepairs::CallChildren(ReplicaId replica, const Constraints& apart) {
  const Cluster& cluster = arrangement_.cluster();
  const NodeId node = arrangement_.NodeOf(replica);
  const bool leads = arrangement_.RoleOf(replica) == Role::kPrimary;
  for (const ServiceId child : mover_.FollowersOf(arrangement_.ServiceOf(replica))) {
    const Service& service = cluster.services[child];
    for (const PartitionId partition : service.partitions) {
      if (arrangement_.Find(partition, node) != kNoId && !service.aligned_affinity) continue;
      const std::vector<NodeId> parents = ParentNodes(arrangement_.ExistingOf(partition).first);
      const auto [first, last] = arrangement_.ExistingOf(partition);
      for (ReplicaId other = first; other < last; ++other) {
        if (!mover_.Movable(apart, other) || arrangement_.NodeOf(other) == node) continue;
        const bool fits =
            !service.aligned_affinity || !service.stateful || (arrangement_.RoleOf(other) == Role::kPrimary) == leads;
        const bool is_beside = std::ranges::find(parents, arrangement_.NodeOf(other)) != parents.end();
        if (!fits || (is_beside && !service.aligned_affinity) || apart.Obstacle(other, node)) continue;
        if (mover_.slots_left() <= 0) return;
        journal_.Move(other, node);
        break;
      }
    }
  }
}

// One replica of the parent after the other goes where, with its children, least is wrong and what moves costs least.
bool ReplicaRepairs::GatherFamily(ServiceId parent, const Constraints& constraints) {
  ConstraintOptions options = constraints.options();
  options.ignored |= static_cast<uint16_t>(1 << static_cast<int>(Constraint::kAffinity));
  const Constraints apart(arrangement_, options);
  struct FamilyChoice {
    int64_t wrong;
    RepairPrice price;
    NodeId node;
    auto operator<=>(const FamilyChoice&) const = default;
  };
  const size_t begin = journal_.Mark();
  const int64_t before = WrongInFamily(parent, constraints);
  for (const PartitionId partition : arrangement_.cluster().services[parent].partitions) {
    const auto [first, last] = arrangement_.ExistingOf(partition);
    for (const bool primaries : {true, false}) {
      for (ReplicaId replica = first; replica < last; ++replica) {
        if ((arrangement_.RoleOf(replica) == Role::kPrimary) != primaries || !mover_.Movable(apart, replica)) continue;
        const NodeId home = arrangement_.NodeOf(replica);
        const size_t mark = journal_.Mark();
        const auto go = [&](NodeId node) {
          if (node != home) journal_.Move(replica, node);
          CallChildren(replica, apart);
        };
        std::optional<FamilyChoice> best;
        const auto rate = [&](NodeId node) {
          go(node);
          const FamilyChoice choice{WrongInFamily(parent, constraints), CostFirst(journal_), node};
          if (mover_.slots_left() >= 0 && (!best || choice < *best)) best = choice;
          journal_.UndoTo(mark);
        };
        rate(home);
        for (const Target& target : finder_.Best(apart, replica, arrangement_.RoleOf(replica), kNodesOfFamily))
          rate(target.node);
        if (best) go(best->node);
      }
    }
  }
  if (WrongInFamily(parent, constraints) < before && mover_.slots_left() >= 0) return true;
  journal_.UndoTo(begin);
  return false;
}

bool ReplicaRepairs::Mend(const Violation& violation, const Constraints& constraints) {
  // Domains and nodes that leave do not care who is the primary.
  const bool roles_matter =
      violation.constraint == Constraint::kPlacementConstraint || violation.constraint == Constraint::kAffinity;
  const bool swap_first = roles_matter && arrangement_.settings().enable_preferred_swap_solution_in_constraint_check;
  std::vector<Choice> choices;
  if (swap_first) AddSwaps(violation, constraints, choices);
  if (choices.empty() || journal_.costs_count()) AddMoves(violation, constraints, choices);
  const bool swap_too = choices.empty() || journal_.costs_count();
  if (roles_matter && !swap_first && swap_too) AddSwaps(violation, constraints, choices);
  if (TakeBest(constraints, choices)) return true;
  if (MoveParent(violation, constraints)) return true;
  return finder_.evaluations() <= budget_ && MoveWithRoom(violation, constraints);
}

}  // namespace evenkeel::balancing
