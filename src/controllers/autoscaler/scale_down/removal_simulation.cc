#include "controllers/autoscaler/scale_down/removal_simulation.h"

#include <algorithm>
#include <ranges>

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::ClassId;
using scheduling::kCpu;
using scheduling::kMemory;
using scheduling::kNone;
using scheduling::kPods;
using scheduling::NodeId;
using scheduling::Placement;
using scheduling::PodId;

/// How many candidates are tried as new destinations before the search goes over all nodes.
constexpr int kTailTries = 4;

int64_t Request(const scheduling::Snapshot& snapshot, ClassId pod_class, scheduling::ResourceId resource) {
  for (const scheduling::Amount& amount : snapshot.Requests(pod_class)) {
    if (amount.resource == resource) return amount.amount;
  }
  return 0;
}

}  // namespace

RemovalSimulation::RemovalSimulation(const ClusterView& view, const Options& options, BudgetTracker& budgets,
                                     PlacementHints& hints, scheduling::NodeSet destinations,
                                     std::span<const NodeId> candidates)
    : snapshot_(*view.snapshot),
      budgets_(budgets),
      hints_(hints),
      drainability_(view, options, budgets),
      destinations_(std::move(destinations)),
      preferred_(destinations_),
      candidates_(candidates),
      tail_(candidates.size()),
      view_(view) {
  for (const NodeId node : candidates) preferred_.Remove(node);
  // Now: while pods are on the move, those that keep others away are nowhere.
  for (ClassId id = 0; id < snapshot_.classes().slots(); ++id) {
    const scheduling::PodClass* pod_class = snapshot_.classes().Find(id);
    plain_.push_back(pod_class != nullptr && pod_class->volumes == nullptr && !snapshot_.WantsDevices(id) &&
                     snapshot_.Unconcerned(id));
  }
  spare_ = preferred_;
  for (const NodeId node : snapshot_.order()) {
    if (node == kNone || !destinations_.Has(node)) continue;
    const Room room = RoomOf(node);
    room_.cpu += room.cpu;
    room_.memory += room.memory;
    room_.pods += room.pods;
  }
}

void RemovalSimulation::AddDestination(NodeId node) {
  destinations_.Add(node);
  Prefer(node);
  const Room room = RoomOf(node);
  room_.cpu += room.cpu;
  room_.memory += room.memory;
  room_.pods += room.pods;
  stuck_.clear();
}

void RemovalSimulation::RemoveDestination(NodeId node) {
  destinations_.Remove(node);
  preferred_.Remove(node);
  const Room room = RoomOf(node);
  room_.cpu -= room.cpu;
  room_.memory -= room.memory;
  room_.pods -= room.pods;
}

RemovalSimulation::Room RemovalSimulation::RoomOf(NodeId node) const {
  const auto free = [&](scheduling::ResourceId resource) { return std::max<int64_t>(0, snapshot_.Free(node, resource)); };
  return {free(kCpu), free(kMemory), free(kPods)};
}

RemovalSimulation::Room RemovalSimulation::Needed(const scheduling::Snapshot& snapshot, const std::vector<Batch>& batches) {
  Room needed;
  for (const Batch& batch : batches) {
    const int64_t count = static_cast<int64_t>(batch.pods.size()) + batch.copies;
    needed.cpu += batch.cpu * count;
    needed.memory += batch.memory * count;
    needed.pods += Request(snapshot, batch.pod_class, kPods) * count;
  }
  return needed;
}

bool RemovalSimulation::Enough(const Room& needed, NodeId without) const {
  const Room own = destinations_.Has(without) ? RoomOf(without) : Room{};
  return needed.cpu <= room_.cpu - own.cpu && needed.memory <= room_.memory - own.memory &&
         needed.pods <= room_.pods - own.pods;
}

std::vector<RemovalSimulation::Batch> RemovalSimulation::Batches(NodeId node, std::span<const PodId> pods) const {
  std::vector<Batch> batches;
  std::unordered_map<ClassId, size_t> many;
  const auto batch_of = [&](ClassId pod_class) -> Batch& {
    if (!batches.empty() && batches.back().pod_class == pod_class) return batches.back();
    const auto [found, added] = many.try_emplace(pod_class, batches.size());
    if (added) {
      batches.push_back({pod_class, Request(snapshot_, pod_class, kCpu), Request(snapshot_, pod_class, kMemory), {}, 0});
      batches.back().pods.reserve(pods.size());
    }
    return batches[found->second];
  };
  for (const PodId pod : pods) batch_of(snapshot_.ClassOf(pod)).pods.push_back(pod);
  for (const scheduling::Copies& copies : snapshot_.CopiesOn(node)) batch_of(copies.pod_class).copies += copies.pods;
  // The biggest first, because they find a place the hardest. Batches of equal size keep the order of their first pods' keys.
  std::stable_sort(batches.begin(), batches.end(),
                   [](const Batch& a, const Batch& b) { return a.cpu != b.cpu ? a.cpu > b.cpu : a.memory > b.memory; });
  return batches;
}

std::expected<Removal, Unremovable> RemovalSimulation::Simulate(NodeId node) {
  Unremovable unremovable{.node = node};
  // A node that stays may as well take pods before those that are still to be tried.
  const auto stays = [&]() -> std::unexpected<Unremovable> {
    if (destinations_.Has(node)) Prefer(node);
    return std::unexpected(unremovable);
  };
  if (!snapshot_.Present(node)) {
    unremovable.reason = UnremovableReason::kNoNodeInfo;
    return std::unexpected(unremovable);
  }
  PodsOfNode pods = drainability_.Look(node);
  if (pods.blocking) {
    unremovable.reason = UnremovableReason::kBlockedByPod;
    unremovable.blocking = *pods.blocking;
    return stays();
  }
  if (in_turn_) return SimulateInTurn(node, std::move(pods));
  const std::vector<Batch> batches = Batches(node, pods.move);
  const Room needed = Needed(snapshot_, batches), own = RoomOf(node);
  unremovable.reason = UnremovableReason::kNoPlaceToMovePods;
  if (!Enough(needed, node)) {
    unremovable.detail = "all other nodes together have too little room for its pods";
    return stays();
  }

  const bool was_destination = destinations_.Has(node);
  destinations_.Remove(node);
  preferred_.Remove(node);
  spare_.Remove(node);
  scheduling::WhatIf what_if(snapshot_);
  tried_before_.clear();
  std::vector<std::pair<ClassId, NodeId>> to;
  const ClassId homeless = PlaceAll(node, batches, to);
  if (homeless != kNone) {
    for (const auto& [pod_class, before] : std::views::reverse(tried_before_)) {
      before ? void(tried_[pod_class] = *before) : void(tried_.erase(pod_class));
    }
    if (was_destination) destinations_.Add(node);
    const auto first =
        std::find_if(pods.move.begin(), pods.move.end(), [&](PodId pod) { return snapshot_.ClassOf(pod) == homeless; });
    if (first != pods.move.end()) unremovable.blocking.pod = *first;
    return stays();
  }
  snapshot_.DropNode(node);
  what_if.Commit();
  hints_.Set(snapshot_, node, to);
  if (was_destination) {
    room_.cpu -= own.cpu;
    room_.memory -= own.memory;
    room_.pods -= own.pods;
  }
  room_.cpu -= needed.cpu;
  room_.memory -= needed.memory;
  room_.pods -= needed.pods;
  const bool risky = !budgets_.CanRemove(pods.move).in_parallel;
  budgets_.Remove(pods.move);
  return Removal{node, std::move(pods.move), std::move(pods.daemons), std::move(pods.on_completion), risky};
}

void RemovalSimulation::PlaceInTurn(Turn turn, PodHints& moves) {
  in_turn_.emplace(InTurn{RoundRobin(view_, turn), turn.order, moves});
}

std::expected<Removal, Unremovable> RemovalSimulation::SimulateInTurn(NodeId node, PodsOfNode pods) {
  // Upstream's list of a node's pods: those that are bound to it, then those that found a place there in this loop.
  std::vector<PodId> order = pods.move;
  std::ranges::stable_sort(order, {}, [&](PodId pod) {
    const auto moved = in_turn_->moved.find(pod);
    return std::tuple(moved == in_turn_->moved.end() ? 0 : moved->second, (*view_.pods)[pod].unschedulable,
                      in_turn_->order == ListOrder::kAsTold ? pod : 0);
  });
  const bool was_destination = destinations_.Has(node);
  destinations_.Remove(node);
  scheduling::WhatIf what_if(snapshot_);
  for (const PodId pod : order) snapshot_.Unplace(pod);
  // For what spreads and counts nodes with their taints. It is left out as a destination anyway.
  snapshot_.AddTaint(node, {kToBeDeletedTaint, "", "NoSchedule"});
  for (const PodId pod : order) {
    const ClassId pod_class = snapshot_.ClassOf(pod);
    NodeId to = in_turn_->hints.Find(snapshot_, pod);
    if (to == kNone || !destinations_.Has(to) || !snapshot_.Fits(pod_class, to)) {
      to = in_turn_->search.Find(pod_class, &destinations_);
    }
    if (to == kNone) {
      if (was_destination) destinations_.Add(node);
      return std::unexpected(
          Unremovable{.node = node, .reason = UnremovableReason::kNoPlaceToMovePods, .blocking = {.pod = pod}});
    }
    snapshot_.Place(pod, to);
    in_turn_->hints.Set(snapshot_, pod, to);
    in_turn_->moved[pod] = ++in_turn_->moves;
  }
  snapshot_.DropNode(node);
  what_if.Commit();
  in_turn_->search.Drop(node);
  const bool risky = !budgets_.CanRemove(pods.move).in_parallel;
  budgets_.Remove(pods.move);
  return Removal{node, std::move(pods.move), std::move(pods.daemons), std::move(pods.on_completion), risky};
}

ClassId RemovalSimulation::PlaceAll(NodeId node, const std::vector<Batch>& batches,
                                    std::vector<std::pair<ClassId, NodeId>>& to) {
  bool spread = false;
  for (const Batch& batch : batches) {
    if (Stuck(batch.pod_class, node)) return batch.pod_class;
    spread |= !snapshot_.classes()[batch.pod_class].topology.spread.empty();
  }
  for (const Batch& batch : batches) {
    for (const PodId pod : batch.pods) snapshot_.Unplace(pod);
    if (batch.copies > 0) snapshot_.PlaceCopies(batch.pod_class, node, -batch.copies);
  }
  // Only spread constraints look at taints of a node that is no destination.
  if (spread) snapshot_.AddTaint(node, {kToBeDeletedTaint, "", "NoSchedule"});
  bool clean = true;
  for (const Batch& batch : batches) {
    NodeId first = kNone;
    if (!Place(node, batch, first)) {
      if (clean && first == kNone) RememberStuck(batch.pod_class, node);
      return batch.pod_class;
    }
    clean = false;
    if (first != kNone) to.emplace_back(batch.pod_class, first);
  }
  return kNone;
}

int64_t RemovalSimulation::PlaceSome(const Batch& batch, int64_t done, const scheduling::SearchOptions& where, NodeId& first) {
  std::vector<Placement> placements;
  const auto pods = static_cast<int64_t>(batch.pods.size());
  int64_t placed = 0;
  if (done < pods) {
    placed = snapshot_.PlaceUpTo(batch.pod_class, std::span(batch.pods).subspan(static_cast<size_t>(done)), where, placements);
  }
  if (done + placed >= pods && batch.copies > 0) {
    placed += snapshot_.PlaceUpTo(batch.pod_class, pods + batch.copies - done - placed, where, placements);
  }
  if (placements.empty()) return 0;
  if (first == kNone) first = placements.front().node;
  last_[KindOf(batch.pod_class)] = placements.back().node;
  for (const Placement& placement : placements) Prefer(placement.node);
  return placed;
}

uint64_t RemovalSimulation::KindOf(ClassId pod_class) {
  const bool own_claims = snapshot_.WantsDevices(pod_class);
  return own_claims ? uint64_t{1} << 32 | snapshot_.classes()[pod_class].spec_id : pod_class;
}

void RemovalSimulation::Prefer(NodeId node) {
  if (preferred_.Has(node)) return;
  preferred_.Add(node);
  preferred_later_.push_back(node);
}

int64_t RemovalSimulation::PlacePreferred(const Batch& batch, int64_t done, NodeId& first) {
  const int64_t wanted = static_cast<int64_t>(batch.pods.size()) + batch.copies;
  // With affinity and spread, a placement elsewhere can make room.
  if (!Plain(batch.pod_class)) return done + PlaceSome(batch, done, {.only = &preferred_}, first);
  const auto known = tried_.find(batch.pod_class);
  const std::optional<size_t> before = known == tried_.end() ? std::nullopt : std::optional(known->second);
  if (!before) {
    done += PlaceSome(batch, done, {.only = &spare_}, first);
    if (done == wanted) return done;
  }
  size_t index = before.value_or(0);
  for (; index < preferred_later_.size(); ++index) {
    const NodeId node = preferred_later_[index];
    if (!preferred_.Has(node) || !snapshot_.Present(node)) continue;
    done += PlaceSome(batch, done, {.hint = node, .hint_only = true}, first);
    if (done == wanted) break;
  }
  if (before == index) return done;
  tried_before_.emplace_back(batch.pod_class, before);
  tried_[batch.pod_class] = index;
  return done;
}

bool RemovalSimulation::Place(NodeId from, const Batch& batch, NodeId& first) {
  const int64_t wanted = static_cast<int64_t>(batch.pods.size()) + batch.copies;
  NodeId hint = hints_.Find(from, batch.pod_class, snapshot_);
  if (hint != kNone && destinations_.Has(hint)) {
    Prefer(hint);
  } else {
    const auto last = last_.find(KindOf(batch.pod_class));
    hint = last == last_.end() ? kNone : last->second;
  }
  int64_t done = 0;
  if (hint != kNone && preferred_.Has(hint)) done = PlaceSome(batch, 0, {.hint = hint, .hint_only = true}, first);
  if (done < wanted) done = PlacePreferred(batch, done, first);
  size_t next = tail_;
  for (int tries = 0; done < wanted && tries < kTailTries && next > 0; ++tries) {
    const NodeId node = candidates_[--next];
    if (node == from) break;
    if (!destinations_.Has(node) || preferred_.Has(node) || !snapshot_.Fits(batch.pod_class, node)) continue;
    tail_ = next;
    tries = 0;
    Prefer(node);
    done = PlacePreferred(batch, done, first);
  }
  if (done < wanted) done += PlaceSome(batch, done, {.only = &destinations_}, first);
  return done == wanted;
}

bool RemovalSimulation::Plain(ClassId pod_class) const { return pod_class < plain_.size() && plain_[pod_class]; }

bool RemovalSimulation::Stuck(ClassId pod_class, NodeId from) {
  const auto found = stuck_.find(pod_class);
  if (found == stuck_.end() || found->second == from) return found != stuck_.end();
  // Room only gets less while removals are tried, except on the node that was left out when the class found none.
  return !destinations_.Has(found->second) || !snapshot_.Present(found->second) || !snapshot_.Fits(pod_class, found->second);
}

void RemovalSimulation::RememberStuck(ClassId pod_class, NodeId from) {
  if (Plain(pod_class)) stuck_[pod_class] = from;
}

}  // namespace evenkeel::controllers::autoscaler
