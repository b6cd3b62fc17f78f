#include "balancing/search/placement_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "balancing/rules/placement_needs.h"
#include "balancing/search/mover.h"
#include "balancing/search/placement_drops.h"
#include "balancing/search/search_levels.h"
#include "base/random.h"

namespace evenkeel::balancing {
namespace {

// A tenth of a second or so.
constexpr int64_t kDefaultEvaluations = 100'000;
constexpr int kOrders = 8;             // in which placement is tried when something does not fit
constexpr int kOrdersByFailure = 3;    // of these without chance
constexpr int kPasses = 8;             // over what was placed, to improve it
constexpr size_t kParentTargets = 16;  // tried for room for children
constexpr size_t kCrowdedNodes = 24;   // where room is made
constexpr int64_t kMovesForOne = 3;    // at most, to make room for one replica
constexpr size_t kExplained = 100;

// What one partition needs.
struct Demand {
  PartitionId partition = kNoId;
  double size = 0;  // the largest of its replicas, in averages of its metrics' loads or capacities
  std::vector<ReplicaId> replicas;
};

class PlacementSearch {
 public:
  PlacementSearch(Arrangement& arrangement, const ServiceGroup& group, const PlacementOptions& options)
      : arrangement_(arrangement),
        options_(options),
        budget_(options.evaluations > 0 ? options.evaluations : kDefaultEvaluations),
        levels_(arrangement, Purpose::kPlacement, false, arrangement.settings().relax_constraint_for_placement),
        journal_(arrangement, group),
        finder_(journal_, options.seed),
        mover_(journal_, finder_, options.with_move ? std::max<int64_t>(0, options.movement_slots) : 0) {}

  PlacementResult Run();

 private:
  // How well an order went: smaller is better.
  struct Outcome {
    size_t unplaced = 0;
    int64_t movements = 0;
    double deviation = 0;
    auto operator<=>(const Outcome&) const = default;
  };

  void FindDemands();
  double SizeOf(ReplicaId replica, Role role) const;
  std::vector<double> AverageSizes() const;
  Outcome PlaceAll(const std::vector<size_t>& order);
  void TryOrders();
  void PlaceDemand(const Demand& demand, const Constraints& constraints);
  bool PlaceOne(ReplicaId replica, Role role, const Constraints& constraints);
  bool PlaceAtFormerNode(ReplicaId replica, Role role, const Constraints& constraints);
  bool PlaceWithChildren(ReplicaId replica, Role role, const Constraints& constraints);
  size_t PlaceChildren(ReplicaId parent, const Constraints& constraints);
  ReplicaId NextOf(PartitionId partition) const;
  TargetFinder::Accept AtParent(ReplicaId replica, const Constraints& constraints) const;
  void MakeRoomFor(const Demand& demand, const Constraints& constraints);
  bool Placed(const Demand& demand) const;
  bool AllOrNothing(PartitionId partition) const;
  void TakeBackPartial();
  void Improve();
  void PlaceRest();
  void Explain(const Demand& demand);

  Arrangement& arrangement_;
  const PlacementOptions options_;
  const int64_t budget_;
  SearchLevels levels_;
  StepJournal journal_;
  TargetFinder finder_;
  Mover mover_;
  std::vector<double> average_sizes_;  // by metric
  std::vector<Demand> demands_;
  std::vector<size_t> order_;
  PlacementResult result_;
};

// Averages of node loads where a metric is unlimited, else of capacities: what makes loads of different metrics comparable.
std::vector<double> PlacementSearch::AverageSizes() const {
  const Cluster& cluster = arrangement_.cluster();
  std::vector<double> averages(cluster.metrics.size(), 1);
  for (const MetricId metric : journal_.group().metrics) {
    double capacities = 0, limited = 0;
    for (const NodeId node : arrangement_.sets().all()) {
      const int64_t* capacity = cluster.CapacityOf(node, metric);
      if (capacity == nullptr || !arrangement_.sets().available().test(node)) continue;
      capacities += static_cast<double>(*capacity);
      limited += 1;
    }
    const LoadSums& sums = arrangement_.loads().Summary(metric).sums;
    const double loads = static_cast<double>(sums.sum) / static_cast<double>(std::max<int64_t>(sums.nodes, 1));
    averages[metric] = std::max(limited > 0 ? capacities / limited : loads, 1.0);
  }
  return averages;
}

double PlacementSearch::SizeOf(ReplicaId replica, Role role) const {
  const std::vector<ServiceMetric>& metrics = arrangement_.cluster().services[arrangement_.ServiceOf(replica)].metrics;
  const std::span<const int64_t> loads = arrangement_.LoadsOf(replica, role);
  double size = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    size = std::max(size, static_cast<double>(loads[i]) / average_sizes_[metrics[i].metric]);
  }
  return size;
}

// Parents before their children, then the largest first.
void PlacementSearch::FindDemands() {
  const Cluster& cluster = arrangement_.cluster();
  for (const ServiceId service : journal_.group().services) {
    for (const PartitionId partition : cluster.services[service].partitions) {
      if (cluster.partitions[partition].Has(kPartitionToBeDeleted)) continue;
      const auto [first, last] = arrangement_.NewOf(partition);
      if (first == last) continue;
      Demand& demand = demands_.emplace_back();
      demand.partition = partition;
      for (ReplicaId replica = first; replica < last; ++replica) demand.replicas.push_back(replica);
      demand.size = std::max(SizeOf(first, RoleOfNew(arrangement_, partition)),
                             SizeOf(first, cluster.services[service].stateful ? Role::kSecondary : Role::kInstance));
    }
  }
  const auto is_child = [&](const Demand& demand) {
    return cluster.services[cluster.partitions[demand.partition].service].affinity_to != kNoId;
  };
  std::ranges::sort(demands_, {},
                    [&](const Demand& demand) { return std::tuple(is_child(demand), -demand.size, demand.partition); });
  order_.resize(demands_.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
}

ReplicaId PlacementSearch::NextOf(PartitionId partition) const {
  const auto [first, last] = arrangement_.NewOf(partition);
  for (ReplicaId replica = first; replica < last; ++replica) {
    if (arrangement_.NodeOf(replica) == kNoId) return replica;
  }
  return kNoId;
}

bool PlacementSearch::Placed(const Demand& demand) const { return NextOf(demand.partition) == kNoId; }

// One replica of each child's partition that is still missing, on the parent's node. Answers how many did not fit.
size_t PlacementSearch::PlaceChildren(ReplicaId parent, const Constraints& constraints) {
  const Cluster& cluster = arrangement_.cluster();
  size_t missed = 0;
  for (const ServiceId service : mover_.FollowersOf(arrangement_.ServiceOf(parent))) {
    for (const PartitionId partition : cluster.services[service].partitions) {
      const ReplicaId child = NextOf(partition);
      if (child == kNoId || cluster.partitions[partition].Has(kPartitionToBeDeleted)) continue;
      Role role = RoleOfNew(arrangement_, partition);
      if (cluster.services[service].stateful && cluster.services[service].aligned_affinity) {
        if ((role == Role::kPrimary) != (arrangement_.RoleOf(parent) == Role::kPrimary)) continue;
      }
      if (!mover_.TryPlace(constraints, child, arrangement_.NodeOf(parent), role)) ++missed;
    }
  }
  return missed;
}

bool PlacementSearch::PlaceWithChildren(ReplicaId replica, Role role, const Constraints& constraints) {
  const size_t mark = journal_.Mark();
  std::optional<std::pair<size_t, NodeId>> best;
  for (const Target& target : finder_.Best(constraints, replica, role, kParentTargets)) {
    journal_.Place(replica, target.node, role);
    const size_t missed = PlaceChildren(replica, constraints);
    if (missed == 0) return true;
    journal_.UndoTo(mark);
    if (!best || missed < best->first) best.emplace(missed, target.node);
  }
  if (!best) return false;
  journal_.Place(replica, best->second, role);
  PlaceChildren(replica, constraints);
  return true;
}

bool PlacementSearch::PlaceAtFormerNode(ReplicaId replica, Role role, const Constraints& constraints) {
  for (const NodeId node : FormerNodes(arrangement_, arrangement_.PartitionOf(replica))) {
    if (mover_.TryPlace(constraints, replica, node, role)) return true;
  }
  return false;
}

// A child's candidates are known: most other nodes are out of the question.
TargetFinder::Accept PlacementSearch::AtParent(ReplicaId replica, const Constraints& constraints) const {
  const Cluster& cluster = arrangement_.cluster();
  const ServiceId parent = cluster.services[arrangement_.ServiceOf(replica)].affinity_to;
  const int64_t priority = PriorityOf(arrangement_.settings(), Constraint::kAffinity);
  if (parent == kNoId || priority < 0 || priority > constraints.options().max_priority) return {};
  std::vector<NodeId> nodes;
  for (const PartitionId partition : cluster.services[parent].partitions) {
    arrangement_.ForEachOf(partition, [&](ReplicaId other) {
      if (arrangement_.NodeOf(other) != kNoId) nodes.push_back(arrangement_.NodeOf(other));
    });
  }
  if (nodes.empty()) return {};
  return [nodes = std::move(nodes)](NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); };
}

bool PlacementSearch::PlaceOne(ReplicaId replica, Role role, const Constraints& constraints) {
  if (PlaceAtFormerNode(replica, role, constraints)) return true;
  if (!mover_.FollowersOf(arrangement_.ServiceOf(replica)).empty()) return PlaceWithChildren(replica, role, constraints);
  if (const TargetFinder::Accept at_parent = AtParent(replica, constraints)) {
    const std::vector<Target> targets = finder_.Best(constraints, replica, role, 1, at_parent);
    if (!targets.empty()) return mover_.TryPlace(constraints, replica, targets[0].node, role);
  }
  const std::vector<Target> targets = finder_.Best(constraints, replica, role);
  if (targets.empty()) return false;
  journal_.Place(replica, targets[0].node, role);
  return true;
}

// Once one replica of a partition does not fit, the next ones do not either.
void PlacementSearch::PlaceDemand(const Demand& demand, const Constraints& constraints) {
  for (const ReplicaId replica : demand.replicas) {
    if (arrangement_.NodeOf(replica) != kNoId) continue;
    if (!PlaceOne(replica, RoleOfNew(arrangement_, demand.partition), constraints)) return;
  }
}

// Few movements first. What only new replicas have to make way for costs none.
void PlacementSearch::MakeRoomFor(const Demand& demand, const Constraints& constraints) {
  for (const ReplicaId replica : demand.replicas) {
    if (arrangement_.NodeOf(replica) != kNoId) continue;
    const Role role = RoleOfNew(arrangement_, demand.partition);
    const size_t mark = journal_.Mark();
    bool placed = PlaceOne(replica, role, constraints);
    const std::vector<NodeId> crowded =
        placed ? std::vector<NodeId>() : mover_.Crowded(constraints, replica, role, kCrowdedNodes);
    for (int64_t moves = 0; !placed && moves <= std::min(mover_.slots_left(), kMovesForOne); ++moves) {
      for (const NodeId node : crowded) {
        const int depth = moves == 1 ? 1 : 2;
        placed = mover_.MakeRoom(constraints, replica, node, role, moves, depth) &&
                 mover_.TryPlace(constraints, replica, node, role);
        if (placed) break;
        journal_.UndoTo(mark);
      }
    }
    if (!placed) return;
  }
}

PlacementSearch::Outcome PlacementSearch::PlaceAll(const std::vector<size_t>& order) {
  for (size_t level = 0; level < levels_.size(); ++level) {
    std::vector<size_t> left;
    for (const size_t index : order) {
      if (!Placed(demands_[index])) left.push_back(index);
    }
    if (left.empty()) break;
    for (const size_t index : left) PlaceDemand(demands_[index], levels_[level]);
    // What is merely preferred gives way before anything moves for it.
    if (levels_.PriorityOf(level) > 1 && level + 1 < levels_.size()) continue;
    for (const size_t index : left) {
      if (finder_.evaluations() > budget_) break;
      if (!Placed(demands_[index])) MakeRoomFor(demands_[index], levels_[level]);
    }
  }
  Outcome outcome{.movements = journal_.movements(), .deviation = journal_.score().average_deviation()};
  for (const Demand& demand : demands_) {
    outcome.unplaced += static_cast<size_t>(
        std::ranges::count_if(demand.replicas, [&](ReplicaId replica) { return arrangement_.NodeOf(replica) == kNoId; }));
  }
  return outcome;
}

// When something does not fit: what failed goes first the next time; later also at random.
void PlacementSearch::TryOrders() {
  const size_t mark = journal_.Mark();
  std::vector<size_t> order = order_, best_order = order_;
  Outcome outcome = PlaceAll(order), best = outcome;
  const int64_t cost = finder_.evaluations();
  base::Random random(options_.seed);
  for (int attempt = 1; attempt < kOrders && best.unplaced > 0 && finder_.evaluations() + cost <= budget_; ++attempt) {
    if (attempt > kOrdersByFailure) {
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
    }
    std::vector<size_t> failed_first;
    for (const bool placed : {false, true}) {
      for (const size_t index : order) {
        if (Placed(demands_[index]) == placed) failed_first.push_back(index);
      }
    }
    order = std::move(failed_first);
    journal_.UndoTo(mark);
    outcome = PlaceAll(order);
    if (outcome < best) {
      best = outcome;
      best_order = order;
    }
  }
  if (outcome == best) return;
  journal_.UndoTo(mark);
  PlaceAll(best_order);
}

bool PlacementSearch::AllOrNothing(PartitionId partition) const {
  const Cluster& cluster = arrangement_.cluster();
  const Partition& given = cluster.partitions[partition];
  if (arrangement_.settings().partially_place_services && !cluster.ConstraintOf(cluster.ServiceOf(given)).non_partially()) {
    return false;
  }
  return std::ranges::none_of(cluster.ReplicasOf(given), [](const Replica& replica) { return CountsTowardsTarget(replica); });
}

void PlacementSearch::TakeBackPartial() {
  for (const Demand& demand : demands_) {
    if (Placed(demand) || !AllOrNothing(demand.partition)) continue;
    Explain(demand);
    for (const ReplicaId replica : demand.replicas) {
      if (arrangement_.NodeOf(replica) != kNoId) journal_.Remove(replica);
    }
  }
}

// Into the room that others have left.
void PlacementSearch::PlaceRest() {
  for (const Demand& demand : demands_) {
    if (AllOrNothing(demand.partition)) continue;
    for (size_t level = 0; level < levels_.size() && !Placed(demand); ++level) PlaceDemand(demand, levels_[level]);
  }
}

// Each new replica goes where it is best now that the others are placed; nothing gets worse by it.
void PlacementSearch::Improve() {
  for (int pass = 0; pass < kPasses; ++pass) {
    bool improved = false;
    for (const Demand& demand : demands_) {
      if (finder_.evaluations() > budget_) return;
      for (const ReplicaId replica : demand.replicas) {
        if (arrangement_.NodeOf(replica) == kNoId) continue;
        const std::vector<NodeId> former = FormerNodes(arrangement_, demand.partition);
        if (std::ranges::find(former, arrangement_.NodeOf(replica)) != former.end()) continue;
        const double before = journal_.score().average_deviation();
        const std::vector<Target> targets = finder_.Best(levels_[0], replica, arrangement_.RoleOf(replica));
        if (targets.empty() || targets[0].deviation >= before * (1 - 1e-9)) continue;
        const size_t mark = journal_.Mark();
        if (!mover_.TryMove(levels_[0], replica, targets[0].node)) continue;
        const bool better = journal_.score().average_deviation() < before * (1 - 1e-9);
        if (better) {
          improved = true;
        } else {
          journal_.UndoTo(mark);
        }
      }
    }
    if (!improved) return;
  }
}

// The first one that is missing says it for its partition: the others could not be placed without it.
void PlacementSearch::Explain(const Demand& demand) {
  if (result_.why.size() >= kExplained) return;
  const ReplicaId replica = NextOf(demand.partition);
  const bool known = std::ranges::any_of(
      result_.why, [&](const auto& why) { return arrangement_.PartitionOf(why.first) == demand.partition; });
  if (!known) {
    result_.why.emplace_back(replica, levels_.last().Eliminate(replica, RoleOfNew(arrangement_, demand.partition)));
  }
}

PlacementResult PlacementSearch::Run() {
  DropReplicas(journal_, levels_[0], finder_.ties());
  ChangePrimaries(journal_, levels_, finder_.ties());
  average_sizes_ = AverageSizes();
  FindDemands();
  TryOrders();
  TakeBackPartial();
  Improve();
  PlaceRest();
  for (const Demand& demand : demands_) {
    if (!Placed(demand)) Explain(demand);
    for (const ReplicaId replica : demand.replicas) {
      if (arrangement_.NodeOf(replica) == kNoId) result_.unplaced.push_back(replica);
    }
  }
  std::ranges::sort(result_.unplaced);
  result_.evaluations = finder_.evaluations();
  return std::move(result_);
}

}  // namespace

PlacementResult PlaceReplicas(Arrangement& arrangement, const ServiceGroup& group, const PlacementOptions& options) {
  return PlacementSearch(arrangement, group, options).Run();
}

}  // namespace evenkeel::balancing
