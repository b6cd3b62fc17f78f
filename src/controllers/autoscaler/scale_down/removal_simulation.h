// "What if this node were gone?": its pods are taken off in a fork, the node stays for a moment as an empty ghost that nothing
// can go to (so that its topology domain still counts), and every pod has to find another place. Removals that succeed stay in
// the fork around, so the next one sees them.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/simulator/cluster.go
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "controllers/autoscaler/facts/drainability.h"
#include "controllers/autoscaler/facts/eligibility.h"
#include "controllers/autoscaler/facts/pod_filters.h"
#include "controllers/autoscaler/facts/round_robin.h"
#include "scheduling/well_known.h"

namespace evenkeel::controllers::autoscaler {

using scheduling::kToBeDeletedTaint;

/// Where the pods of a node went when its removal last succeeded: looked at first the next time.
class PlacementHints {
 public:
  scheduling::NodeId Find(scheduling::NodeId from, scheduling::ClassId pod_class, const scheduling::Snapshot& snapshot) const;
  void Set(const scheduling::Snapshot& snapshot, scheduling::NodeId from,
           const std::vector<std::pair<scheduling::ClassId, scheduling::NodeId>>& to);
  bool operator==(const PlacementHints&) const = default;
  /// Grows with every change.
  uint64_t changes() const { return changes_; }

  /// {"FROM": {"CLASS": "TO"}}, CLASS the signature of the pods' class.
  base::Json ToJson(const scheduling::Snapshot& snapshot) const;
  /// What is there of it; kBadRequest names what cannot be read.
  base::Status Restore(const base::Field& moves, const scheduling::Snapshot& snapshot);

 private:
  /// A row of a node, and a hash of its name: rows are used again.
  struct Named {
    scheduling::NodeId node = scheduling::kNone;
    uint64_t name = 0;
    bool operator==(const Named&) const = default;
  };
  struct Row {
    uint64_t name = 0;                           // of the node that the pods were on
    std::vector<std::pair<uint64_t, Named>> to;  // by signature of the pods' class
    bool operator==(const Row&) const = default;
  };
  static Named NamedOf(const scheduling::Snapshot& snapshot, scheduling::NodeId node);
  static bool Holds(const scheduling::Snapshot& snapshot, const Named& named);

  std::vector<Row> by_node_;
  uint64_t changes_ = 0;
};

struct Removal {
  scheduling::NodeId node = scheduling::kNone;
  std::vector<scheduling::PodId> pods;  ///< to be moved; by key. Also those that an earlier removal of the pass put here
  std::vector<scheduling::PodId> daemons, on_completion;
  bool risky = false;  ///< the budgets do not allow all of its pods to go at the same time
};

class RemovalSimulation {
 public:
  /// `candidates`: nodes that may go, in the order in which they will be tried; pods are sent to others as long as there is
  /// room, and then to the last of these, so that few pods move twice.
  RemovalSimulation(const ClusterView& view, const Options& options, BudgetTracker& budgets, PlacementHints& hints,
                    scheduling::NodeSet destinations, std::span<const scheduling::NodeId> candidates);

  /// Pods are tried as upstream does: in the order of their list, each on its hint and then on the next destination that has
  /// room. Before the first removal; both live as long as this.
  void PlaceInTurn(Turn turn, PodHints& moves);
  /// Inside a fork. When the node can go it is gone afterwards, its pods are elsewhere and the budgets are charged; otherwise
  /// nothing has changed.
  std::expected<Removal, Unremovable> Simulate(scheduling::NodeId node);
  /// A node that came inside the fork; pods may go there.
  void AddDestination(scheduling::NodeId node);
  /// One that is about to be taken back; nothing may have been moved to it.
  void RemoveDestination(scheduling::NodeId node);
  const Drainability& drainability() const { return drainability_; }

 private:
  /// Pods of one class that look for a place together.
  struct Batch {
    scheduling::ClassId pod_class;
    int64_t cpu, memory;
    std::vector<scheduling::PodId> pods;
    int64_t copies;
  };
  /// Room of the destinations, in the resources that every pod asks for.
  struct Room {
    int64_t cpu = 0, memory = 0, pods = 0;
  };

  /// Of PlaceInTurn.
  struct InTurn {
    RoundRobin search;
    ListOrder order;
    PodHints& hints;
    std::unordered_map<scheduling::PodId, size_t> moved{};  // how many moves of the pass were before the pod's last one
    size_t moves = 0;
  };

  std::expected<Removal, Unremovable> SimulateInTurn(scheduling::NodeId node, PodsOfNode pods);
  std::vector<Batch> Batches(scheduling::NodeId node, std::span<const scheduling::PodId> pods) const;
  Room RoomOf(scheduling::NodeId node) const;
  static Room Needed(const scheduling::Snapshot& snapshot, const std::vector<Batch>& batches);
  bool Enough(const Room& needed, scheduling::NodeId without) const;
  /// kNone when all batches have places, otherwise the class that has not.
  scheduling::ClassId PlaceAll(scheduling::NodeId node, const std::vector<Batch>& batches,
                               std::vector<std::pair<scheduling::ClassId, scheduling::NodeId>>& to);
  bool Place(scheduling::NodeId from, const Batch& batch, scheduling::NodeId& first);
  /// Among the preferred nodes; answers how many have a place now, of all.
  int64_t PlacePreferred(const Batch& batch, int64_t done, scheduling::NodeId& first);
  void Prefer(scheduling::NodeId node);
  /// The class; of pods with devices the spec, since claims of their own make each a class by itself.
  uint64_t KindOf(scheduling::ClassId pod_class);
  int64_t PlaceSome(const Batch& batch, int64_t done, const scheduling::SearchOptions& where, scheduling::NodeId& first);
  bool Stuck(scheduling::ClassId pod_class, scheduling::NodeId from);
  void RememberStuck(scheduling::ClassId pod_class, scheduling::NodeId from);
  bool Plain(scheduling::ClassId pod_class) const;

  scheduling::Snapshot& snapshot_;
  BudgetTracker& budgets_;
  PlacementHints& hints_;
  Drainability drainability_;
  scheduling::NodeSet destinations_, preferred_;
  scheduling::NodeSet spare_;  // preferred from the beginning
  std::span<const scheduling::NodeId> candidates_;
  size_t tail_;              // candidates from here on have been opened for pods
  std::vector<bool> plain_;  // by class: only the node's room and shape decide
  std::optional<InTurn> in_turn_;
  const ClusterView& view_;
  Room room_;
  std::unordered_map<uint64_t, scheduling::NodeId> last_;              // by kind: where pods of it found room last
  std::unordered_map<scheduling::ClassId, scheduling::NodeId> stuck_;  // fits nowhere, unless there
  // Room only gets less, so a class need not be tried again where it found none: on the spare nodes, and before this index on
  // those that are preferred since. A removal that is taken back gives room back.
  std::vector<scheduling::NodeId> preferred_later_;
  std::unordered_map<scheduling::ClassId, size_t> tried_;
  std::vector<std::pair<scheduling::ClassId, std::optional<size_t>>> tried_before_;  // as of when this removal began
};

}  // namespace evenkeel::controllers::autoscaler
