#include "balancing/search/constraint_fixes.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "balancing/search/overload_fixes.h"
#include "balancing/search/search_levels.h"

namespace evenkeel::balancing {
namespace {

// A second or so: beyond it nobody makes room for others, and what was found is not improved.
constexpr int64_t kDefaultEvaluations = 1'000'000;
constexpr size_t kTargetsTried = 16;
constexpr size_t kNodesWithRoomTried = 16;
constexpr int64_t kMovesToMakeRoom = 2;
constexpr int kImprovingPasses = 2;
constexpr size_t kNodesOfFamily = 32;
constexpr size_t kExplainedViolations = 100;
constexpr double kNoticeable = 1 - 1e-9;

auto KeyOf(const Violation& violation) {
  return std::tuple(violation.constraint, violation.node, violation.metric, violation.replica, violation.partition,
                    violation.application);
}

bool IsDomain(Constraint constraint) {
  return constraint == Constraint::kFaultDomain || constraint == Constraint::kUpgradeDomain;
}

class FixSearch {
 public:
  FixSearch(Arrangement& arrangement, const ServiceGroup& group, const FixOptions& options)
      : arrangement_(arrangement),
        group_(group),
        budget_(options.evaluations > 0 ? options.evaluations : kDefaultEvaluations),
        levels_(arrangement, Purpose::kConstraintCheck, options.light, true),
        journal_(arrangement, group),
        finder_(journal_, options.seed),
        mover_(journal_, finder_, options.movement_slots) {}

  FixResult Run();

 private:
  void FindOverloads();
  void Mend(const Violation& violation);
  bool MendCheaply(const Overload& overload, const Constraints& constraints);
  bool MendOverload(const Overload& overload, bool partly);
  bool FreeReservation(const Overload& overload, const Constraints& constraints, const OverloadFixer& fixer);
  bool MendReplica(const Violation& violation, const Constraints& constraints);
  bool SwapRoles(const Violation& violation, const Constraints& constraints);
  bool MoveBest(const Violation& violation, const Constraints& constraints);
  bool MoveParent(const Violation& violation, const Constraints& constraints);
  bool MoveWithRoom(const Violation& violation, const Constraints& constraints);
  bool MendScaleout(const Violation& violation, const Constraints& constraints);
  void MendTotal(const Violation& violation);
  bool Vacate(ApplicationId application, NodeId node, const Constraints& constraints, const TargetFinder::Accept& accept);
  void LeaveNodes(ApplicationId application, const Constraints& constraints);
  bool GatherOnNewNode(ApplicationId application, const Constraints& constraints);
  bool GatherFamily(ServiceId parent, const Constraints& constraints);
  void CallChildren(ReplicaId replica, const Constraints& apart);
  int64_t WrongInFamily(ServiceId parent, const Constraints& constraints) const;
  int64_t Unsuitable(PartitionId partition) const;
  int64_t Measure(const Violation& violation, const Constraints& constraints) const;
  std::vector<ReplicaId> Candidates(const Violation& violation, const Constraints& constraints) const;
  std::vector<NodeId> ParentNodes(ReplicaId replica) const;
  TargetFinder::Accept Mends(const Violation& violation, const Constraints& constraints, ReplicaId replica);
  void TakeBackNeedless();
  void Improve();
  void Report(std::vector<Violation> after);
  UnmendedViolation Explain(const Violation& violation, bool with_nodes);

  Arrangement& arrangement_;
  const ServiceGroup& group_;
  const int64_t budget_;
  SearchLevels levels_;
  StepJournal journal_;
  TargetFinder finder_;
  Mover mover_;
  std::vector<Overload> overloads_;
  FixResult result_;
};

// How much is wrong with what the violation is about; 0: nothing any more.
int64_t FixSearch::Measure(const Violation& violation, const Constraints& constraints) const {
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
    case Constraint::kScaleoutCount:
      return std::max<int64_t>(0, arrangement_.NodesOf(violation.application) -
                                      arrangement_.cluster().applications[violation.application].max_nodes);
    default:
      return arrangement_.NodeOf(replica) == violation.node ? 1 : 0;
  }
}

// After an exchange of roles another replica may be where it must not be.
int64_t FixSearch::Unsuitable(PartitionId partition) const {
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
std::vector<ReplicaId> FixSearch::Candidates(const Violation& violation, const Constraints& constraints) const {
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

std::vector<NodeId> FixSearch::ParentNodes(ReplicaId replica) const {
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
TargetFinder::Accept FixSearch::Mends(const Violation& violation, const Constraints& constraints, ReplicaId replica) {
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

bool FixSearch::SwapRoles(const Violation& violation, const Constraints& constraints) {
  const int64_t before = Measure(violation, constraints);
  const ReplicaId primary = arrangement_.PrimaryOf(violation.partition);
  if (primary == kNoId || !mover_.Movable(constraints, primary)) return false;
  const size_t mark = journal_.Mark();
  ReplicaId best = kNoId;
  double least = 0;
  arrangement_.ForEachOf(violation.partition, [&](ReplicaId secondary) {
    if (arrangement_.RoleOf(secondary) != Role::kSecondary || !mover_.Movable(constraints, secondary)) return;
    if (!mover_.TrySwap(constraints, primary, secondary)) return;
    const double deviation = journal_.score().average_deviation();
    if (Measure(violation, constraints) < before && (best == kNoId || deviation < least)) {
      best = secondary;
      least = deviation;
    }
    journal_.UndoTo(mark);
  });
  return best != kNoId && mover_.TrySwap(constraints, primary, best);
}

bool FixSearch::MoveBest(const Violation& violation, const Constraints& constraints) {
  struct Choice {
    int64_t left;  // of the violation
    int64_t movements;
    double deviation;
    ReplicaId replica;
    NodeId node;
    auto operator<=>(const Choice&) const = default;
  };
  std::vector<Choice> choices;
  const int64_t before = Measure(violation, constraints);
  const size_t mark = journal_.Mark();
  for (const ReplicaId replica : Candidates(violation, constraints)) {
    const TargetFinder::Accept mends = Mends(violation, constraints, replica);
    const bool leads = !mover_.FollowersOf(arrangement_.ServiceOf(replica)).empty();
    const size_t most = mends || leads ? kTargetsTried : 1;
    for (const Target& target : finder_.Best(constraints, replica, arrangement_.RoleOf(replica), most, mends)) {
      if (!mover_.TryMove(constraints, replica, target.node)) continue;
      const int64_t left = Measure(violation, constraints);
      if (left < before)
        choices.push_back({left, journal_.movements(), journal_.score().average_deviation(), replica, target.node});
      journal_.UndoTo(mark);
      if (left == 0) break;
    }
  }
  if (choices.empty()) return false;
  const Choice best = *std::ranges::min_element(choices);
  return mover_.TryMove(constraints, best.replica, best.node);
}

// A parent that may move goes to where its child is.
bool FixSearch::MoveParent(const Violation& violation, const Constraints& constraints) {
  if (violation.constraint != Constraint::kAffinity || !arrangement_.settings().move_parent_to_fix_affinity_violation) {
    return false;
  }
  return GatherFamily(arrangement_.cluster().services[arrangement_.ServiceOf(violation.replica)].affinity_to, constraints);
}

bool FixSearch::MoveWithRoom(const Violation& violation, const Constraints& constraints) {
  const int64_t before = Measure(violation, constraints);
  const size_t mark = journal_.Mark();
  for (const ReplicaId replica : Candidates(violation, constraints)) {
    const Role role = arrangement_.RoleOf(replica);
    const NodeId at = arrangement_.NodeOf(replica);
    const TargetFinder::Accept mends = Mends(violation, constraints, replica);
    const std::vector<NodeId> crowded = mover_.Crowded(constraints, replica, role, kNodesWithRoomTried, mends);
    for (int64_t moves = 1; moves <= kMovesToMakeRoom; ++moves) {
      for (const NodeId node : crowded) {
        if (finder_.evaluations() > budget_) return false;
        if (mover_.MakeRoom(constraints, replica, node, role, moves, static_cast<int>(moves)) &&
            arrangement_.NodeOf(replica) == at && mover_.TryMove(constraints, replica, node) &&
            Measure(violation, constraints) < before) {
          return true;
        }
        journal_.UndoTo(mark);
      }
    }
  }
  return false;
}

// Replicas of the parent that may not stay where they are, and children's replicas without the parent's.
int64_t FixSearch::WrongInFamily(ServiceId parent, const Constraints& constraints) const {
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
void FixSearch::CallChildren(ReplicaId replica, const Constraints& apart) {
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

// One replica of the parent after the other goes where, with its children, least is wrong and fewest move.
bool FixSearch::GatherFamily(ServiceId parent, const Constraints& constraints) {
  ConstraintOptions options = constraints.options();
  options.ignored |= static_cast<uint16_t>(1 << static_cast<int>(Constraint::kAffinity));
  const Constraints apart(arrangement_, options);
  struct Choice {
    int64_t wrong, movements;
    double deviation;
    NodeId node;
    auto operator<=>(const Choice&) const = default;
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
        std::optional<Choice> best;
        const auto rate = [&](NodeId node) {
          go(node);
          const Choice choice{WrongInFamily(parent, constraints), journal_.movements(), journal_.score().average_deviation(),
                              node};
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

bool FixSearch::MendReplica(const Violation& violation, const Constraints& constraints) {
  // Domains and nodes that leave do not care who is the primary.
  const bool roles_matter =
      violation.constraint == Constraint::kPlacementConstraint || violation.constraint == Constraint::kAffinity;
  const bool swap_first = roles_matter && arrangement_.settings().enable_preferred_swap_solution_in_constraint_check;
  if (swap_first && SwapRoles(violation, constraints)) return true;
  if (MoveBest(violation, constraints)) return true;
  if (roles_matter && !swap_first && SwapRoles(violation, constraints)) return true;
  if (MoveParent(violation, constraints)) return true;
  return finder_.evaluations() <= budget_ && MoveWithRoom(violation, constraints);
}

// All that the application has on the node goes to nodes that are accepted, or nothing.
bool FixSearch::Vacate(ApplicationId application, NodeId node, const Constraints& constraints,
                       const TargetFinder::Accept& accept) {
  const size_t mark = journal_.Mark();
  const std::vector<ReplicaId> on_node(arrangement_.On(node).begin(), arrangement_.On(node).end());
  for (const ReplicaId replica : on_node) {
    const bool concerned = arrangement_.cluster().services[arrangement_.ServiceOf(replica)].application == application;
    if (!concerned || arrangement_.NodeOf(replica) != node) continue;
    const bool movable = mover_.slots_left() > 0 && mover_.Movable(constraints, replica);
    const std::vector<Target> targets =
        movable ? finder_.Best(constraints, replica, arrangement_.RoleOf(replica), kTargetsTried, accept)
                : std::vector<Target>();
    const bool moved =
        std::ranges::any_of(targets, [&](const Target& target) { return mover_.TryMove(constraints, replica, target.node); });
    if (!moved) break;
  }
  if (arrangement_.ReplicasOnNode(application, node) == 0) return true;
  journal_.UndoTo(mark);
  return false;
}

// The application leaves the node that costs fewest movements, until it is on few enough or can leave none.
void FixSearch::LeaveNodes(ApplicationId application, const Constraints& constraints) {
  struct Choice {
    int64_t movements;
    double deviation;
    NodeId node;
    auto operator<=>(const Choice&) const = default;
  };
  const int64_t most = arrangement_.cluster().applications[application].max_nodes;
  while (arrangement_.NodesOf(application) > most && finder_.evaluations() <= budget_) {
    const int64_t nodes = arrangement_.NodesOf(application);
    const std::vector<NodeId> used(arrangement_.applications().NodesOf(application).begin(),
                                   arrangement_.applications().NodesOf(application).end());
    const auto stays = [&](NodeId node) { return arrangement_.ReplicasOnNode(application, node) > 0; };
    const size_t mark = journal_.Mark();
    std::optional<Choice> best;
    for (const NodeId node : used) {
      if (!stays(node)) continue;
      if (Vacate(application, node, constraints, stays) && arrangement_.NodesOf(application) < nodes) {
        const Choice choice{journal_.movements(), journal_.score().average_deviation(), node};
        if (!best || choice < *best) best = choice;
      }
      journal_.UndoTo(mark);
    }
    if (!best || !Vacate(application, best->node, constraints, stays)) return;
  }
}

// On as many of its nodes as it may have, with one that is new to it instead of the others.
bool FixSearch::GatherOnNewNode(ApplicationId application, const Constraints& constraints) {
  const int64_t most = arrangement_.cluster().applications[application].max_nodes;
  const size_t mark = journal_.Mark();
  std::vector<NodeId> used;
  for (const NodeId node : arrangement_.applications().NodesOf(application)) {
    if (arrangement_.ReplicasOnNode(application, node) > 0) used.push_back(node);
  }
  std::ranges::stable_sort(used, std::greater<>(), [&](NodeId node) { return arrangement_.ReplicasOnNode(application, node); });
  for (const NodeId fresh : arrangement_.sets().all()) {
    if (finder_.evaluations() > budget_) return false;
    if (!arrangement_.sets().available().test(fresh) || std::ranges::find(used, fresh) != used.end()) continue;
    const auto kept = std::span(used).first(static_cast<size_t>(most - 1));
    const auto accept = [&](NodeId node) { return node == fresh || std::ranges::find(kept, node) != kept.end(); };
    bool gathered = true;
    for (size_t i = static_cast<size_t>(most) - 1; i < used.size() && gathered; ++i) {
      gathered = Vacate(application, used[i], constraints, accept);
    }
    if (gathered && arrangement_.NodesOf(application) <= most) return true;
    journal_.UndoTo(mark);
  }
  return false;
}

// What an application has altogether becomes less where a replica takes the place of a stand-by one.
void FixSearch::MendTotal(const Violation& violation) {
  const Cluster& cluster = arrangement_.cluster();
  const std::vector<ApplicationMetric>& metrics = cluster.applications[violation.application].metrics;
  const auto index =
      static_cast<size_t>(std::ranges::find(metrics, violation.metric, &ApplicationMetric::metric) - metrics.begin());
  const auto excess = [&] { return arrangement_.LoadOf(violation.application, index) - metrics[index].total_capacity; };
  const Constraints& constraints = levels_[0];
  for (const ServiceId service : group_.services) {
    if (cluster.services[service].application != violation.application) continue;
    for (const PartitionId partition : cluster.services[service].partitions) {
      const auto [first, last] = arrangement_.ExistingOf(partition);
      for (ReplicaId replica = first; replica < last && excess() > 0; ++replica) {
        if (!mover_.Movable(constraints, replica)) continue;
        for (ReplicaId place = first; place < last; ++place) {
          const NodeId node = arrangement_.NodeOf(place);
          if (node == kNoId || arrangement_.RoleOf(place) != Role::kStandBy) continue;
          const size_t mark = journal_.Mark();
          const int64_t before = excess();
          if (mover_.TryMove(constraints, replica, node) && excess() < before) break;
          journal_.UndoTo(mark);
        }
      }
    }
  }
}

bool FixSearch::MendScaleout(const Violation& violation, const Constraints& constraints) {
  ConstraintOptions options = constraints.options();
  options.ignored |= static_cast<uint16_t>(1 << static_cast<int>(Constraint::kScaleoutCount));
  const Constraints gathering(arrangement_, options);
  const size_t mark = journal_.Mark();
  LeaveNodes(violation.application, gathering);
  if (Measure(violation, constraints) == 0) return true;
  const size_t left = journal_.Mark();
  if (left > mark) journal_.UndoTo(mark);
  if (GatherOnNewNode(violation.application, gathering)) return true;
  LeaveNodes(violation.application, gathering);
  return journal_.Mark() > mark;
}

// What is too much by the capacities as they are at the beginning: what others' fixes take off or add counts.
void FixSearch::FindOverloads() {
  for (const Violation& violation : result_.before) {
    const bool capacity = violation.constraint == Constraint::kCapacity;
    if ((!capacity && violation.constraint != Constraint::kApplicationCapacity) || violation.node == kNoId) continue;
    int64_t amount = arrangement_.UsedOf(violation.metric, violation.node);
    if (!capacity) {
      const auto& metrics = arrangement_.cluster().applications[violation.application].metrics;
      const auto found = std::ranges::find(metrics, violation.metric, &ApplicationMetric::metric);
      amount = arrangement_.LoadOnNode(violation.application, static_cast<size_t>(found - metrics.begin()), violation.node);
    }
    const bool same = !overloads_.empty() && overloads_.back().node == violation.node &&
                      overloads_.back().application == violation.application;
    if (!same) {
      overloads_.push_back(
          {.node = violation.node, .application = violation.application, .priority = violation.priority, .limits = {}});
    }
    overloads_.back().limits.push_back({violation.metric, amount - violation.excess});
  }
}

// Where movements cost differently, many cheap ones may cost less than few dear ones.
bool FixSearch::MendCheaply(const Overload& overload, const Constraints& constraints) {
  if (!arrangement_.settings().use_move_cost_reports) return false;
  const bool make_room = finder_.evaluations() <= budget_;
  const size_t mark = journal_.Mark();
  std::optional<std::pair<double, double>> best;  // what all cost, and most of one
  for (const double most : OverloadFixer(mover_, constraints, overload, make_room).Costs()) {
    OverloadFixer fixer(mover_, constraints, overload, make_room, most);
    fixer.Fix();
    const std::pair cost(journal_.CostSince(mark), most);
    if (fixer.Fixed() && (!best || cost < *best)) best = cost;
    journal_.UndoTo(mark);
  }
  if (!best) return false;
  OverloadFixer fixer(mover_, constraints, overload, make_room, best->second);
  fixer.Fix();
  return fixer.Fixed();
}

// Entirely; or, where that cannot be, as far as it goes with `partly`, for which others' repairs come first.
bool FixSearch::MendOverload(const Overload& overload, bool partly) {
  const size_t mark = journal_.Mark();
  for (size_t level = 0; level < levels_.size() && levels_.PriorityOf(level) >= overload.priority; ++level) {
    if (MendCheaply(overload, levels_[level])) return true;
    OverloadFixer fixer(mover_, levels_[level], overload, finder_.evaluations() <= budget_);
    fixer.Fix();
    if (fixer.Fixed()) return true;
    if (FreeReservation(overload, levels_[level], fixer)) return true;
    if (!partly) journal_.UndoTo(mark);
  }
  return false;
}

// What an application has reserved goes only with all of its replicas.
bool FixSearch::FreeReservation(const Overload& overload, const Constraints& constraints, const OverloadFixer& fixer) {
  const Cluster& cluster = arrangement_.cluster();
  if (overload.application != kNoId) return false;
  const size_t mark = journal_.Mark();
  std::set<ApplicationId> applications;
  for (const ReplicaId replica : arrangement_.On(overload.node)) {
    const ApplicationId application = cluster.services[arrangement_.ServiceOf(replica)].application;
    const bool reserves =
        application != kNoId && std::ranges::any_of(overload.limits, [&](const Overload::Limit& limit) {
          return std::ranges::any_of(cluster.applications[application].metrics, [&](const ApplicationMetric& metric) {
            return metric.metric == limit.metric && metric.node_reservation > 0;
          });
        });
    if (reserves) applications.insert(application);
  }
  for (const ApplicationId application : applications) {
    // Together where there is a place for all, else wherever there is one.
    for (const NodeId node : arrangement_.sets().all()) {
      if (node == overload.node || !arrangement_.sets().available().test(node)) continue;
      if (Vacate(application, overload.node, constraints, [&](NodeId to) { return to == node; }) && fixer.Fixed()) return true;
      journal_.UndoTo(mark);
    }
    if (Vacate(application, overload.node, constraints, {}) && fixer.Fixed()) return true;
    journal_.UndoTo(mark);
  }
  return false;
}

void FixSearch::Mend(const Violation& violation) {
  for (size_t level = 0; level < levels_.size() && levels_.PriorityOf(level) >= violation.priority; ++level) {
    if (mover_.slots_left() <= 0 || Measure(violation, levels_[level]) == 0) return;
    if (violation.constraint == Constraint::kScaleoutCount ? MendScaleout(violation, levels_[level])
                                                           : MendReplica(violation, levels_[level])) {
      return;
    }
  }
}

// One fix may have made another one superfluous.
void FixSearch::TakeBackNeedless() {
  const Constraints& constraints = levels_[0];
  for (const ReplicaId replica : journal_.MovedSince(0)) {
    if (arrangement_.IsNew(replica)) continue;
    const NodeId origin = arrangement_.cluster().replicas[replica].node;
    if (arrangement_.NodeOf(replica) == origin) continue;
    const int64_t movements = journal_.movements();
    const size_t mark = journal_.Mark();
    if (mover_.TryMove(constraints, replica, origin) && journal_.movements() >= movements) journal_.UndoTo(mark);
  }
}

void FixSearch::Improve() {
  const Constraints& constraints = levels_[0];
  for (int pass = 0; pass < kImprovingPasses; ++pass) {
    for (const ReplicaId replica : journal_.MovedSince(0)) {
      if (finder_.evaluations() > budget_) return;
      const double before = journal_.score().average_deviation();
      const int64_t movements = journal_.movements();
      const std::vector<Target> targets = finder_.Best(constraints, replica, arrangement_.RoleOf(replica));
      if (targets.empty() || targets[0].deviation >= before * kNoticeable) continue;
      const size_t mark = journal_.Mark();
      if (!mover_.TryMove(constraints, replica, targets[0].node)) continue;
      if (journal_.movements() > movements || journal_.score().average_deviation() >= before * kNoticeable) {
        journal_.UndoTo(mark);
      }
    }
  }
}

UnmendedViolation FixSearch::Explain(const Violation& violation, bool with_nodes) {
  UnmendedViolation unmended{.violation = violation, .why = {}, .nodes = {}};
  const Constraints& constraints = levels_.last();
  if (violation.node == kNoId) {
    unmended.why = "the application has too much altogether, wherever it is";
    return unmended;
  }
  std::vector<ReplicaId> replicas;
  if (violation.replica != kNoId) {
    replicas.push_back(violation.replica);
  } else {
    for (const ReplicaId replica : arrangement_.On(violation.node)) {
      if (journal_.InGroup(replica)) replicas.push_back(replica);
    }
    std::ranges::sort(replicas);
  }
  std::string_view kept = "none of the group's replicas is on the node";
  for (const ReplicaId replica : replicas) {
    kept = constraints.WhyNotMovable(replica);
    if (!kept.empty()) continue;
    unmended.replica = replica;
    break;
  }
  if (unmended.replica == kNoId) {
    unmended.why = kept;
    return unmended;
  }
  unmended.why = "no other node can take what would have to go";
  if (with_nodes) unmended.nodes = constraints.Eliminate(unmended.replica, arrangement_.RoleOf(unmended.replica));
  // Its own node remains in any case.
  if (unmended.nodes && unmended.nodes->remaining > 1) unmended.why = "one that could go leaves it as it is, or others worse";
  return unmended;
}

void FixSearch::Report(std::vector<Violation> after) {
  std::set<decltype(KeyOf(after[0]))> left;
  for (const Violation& violation : after) left.insert(KeyOf(violation));
  for (const Violation& violation : result_.before) {
    if (!left.contains(KeyOf(violation))) result_.mended.push_back(violation);
  }
  for (const Violation& violation : after) {
    result_.left.push_back(Explain(violation, result_.left.size() < kExplainedViolations));
  }
  result_.moves = journal_.movements();
  result_.evaluations = finder_.evaluations();
}

FixResult FixSearch::Run() {
  result_.before = ViolationsOf(arrangement_, group_, levels_[0].Violations());
  if (result_.before.empty()) return std::move(result_);
  FindOverloads();
  size_t next_overload = 0;
  std::vector<size_t> not_mended;
  std::set<std::pair<NodeId, ApplicationId>> seen;
  for (const Violation& violation : result_.before) {
    if (violation.node == kNoId) {
      MendTotal(violation);
      continue;
    }
    const bool overload =
        violation.constraint == Constraint::kCapacity || violation.constraint == Constraint::kApplicationCapacity;
    if (!overload) {
      Mend(violation);
    } else if (seen.emplace(violation.node, violation.application).second) {
      if (!MendOverload(overloads_[next_overload], false)) not_mended.push_back(next_overload);
      ++next_overload;
    }
  }
  for (const size_t overload : not_mended) MendOverload(overloads_[overload], true);
  TakeBackNeedless();
  Improve();
  std::vector<Violation> after = ViolationsOf(arrangement_, group_, levels_[0].Violations());
  if (journal_.movements() > 0 && !Better(Summarize(after), Summarize(result_.before))) {
    journal_.UndoTo(0);
    after = result_.before;
  }
  Report(std::move(after));
  return std::move(result_);
}

}  // namespace

std::vector<Violation> ViolationsOf(const Arrangement& arrangement, const ServiceGroup& group, std::vector<Violation> all) {
  const Cluster& cluster = arrangement.cluster();
  std::vector<bool> services(cluster.services.size()), metrics(cluster.metrics.size()),
      applications(cluster.applications.size());
  for (const MetricId metric : group.metrics) metrics[metric] = true;
  for (const ServiceId service : group.services) {
    services[service] = true;
    if (cluster.services[service].application != kNoId) applications[cluster.services[service].application] = true;
  }
  std::erase_if(all, [&](const Violation& violation) {
    if (violation.partition != kNoId) return !services[cluster.partitions[violation.partition].service];
    if (violation.application != kNoId) return !applications[violation.application];
    return !metrics[violation.metric];
  });
  return all;
}

FixResult FixViolations(Arrangement& arrangement, const ServiceGroup& group, const FixOptions& options) {
  return FixSearch(arrangement, group, options).Run();
}

}  // namespace evenkeel::balancing
