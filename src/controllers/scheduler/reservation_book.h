// The reservations of all plans, and the room that each of them holds in the scheduler's snapshot: copies of the evicted pod on
// the node where its successor is to run. So pods that have nothing to do with a reservation are scheduled as ever; only its
// own successor, and pods that are more important than the evicted one, look at the node without them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kube/types.h"
#include "scheduling/reservations.h"
#include "scheduling/snapshot.h"

namespace evenkeel::controllers::scheduler {

/// On the strand of its snapshot, outside forks unless said otherwise. All calls cost O(reservations) at most.
class ReservationBook {
 public:
  using Nodes = std::vector<scheduling::NodeId>;
  using Key = std::pair<std::string, size_t>;  ///< plan, action

  explicit ReservationBook(scheduling::Snapshot& snapshot) : snapshot_(snapshot) {}

  bool empty() const { return entries_.empty(); }

  /// From now on the plan has these reservations, but for those that have run out. Answers the nodes on which room is given up.
  Nodes Update(const std::string& plan, const std::vector<scheduling::Reservation>& reservations, base::Time now);
  /// Drops what has run out. Answers the same.
  Nodes Expire(base::Time now);
  std::optional<base::Time> NextEnd() const;
  /// Nodes or pods have come that a reservation may have waited for.
  void Settle();

  /// Reservations that this pod would be the successor for, in the order of plan and action: it is not the evicted pod, and has
  /// the same controller; of a StatefulSet the same name.
  std::vector<Key> For(const kube::Pod& pod) const;
  /// Whether room that is kept on the node may be taken by this pod: as the successor, or because it is more important.
  bool Opens(const std::string& node, const kube::Pod& pod) const;
  /// Whether any room is kept there.
  bool AnyOn(const std::string& node) const;
  const std::string& TargetOf(const Key& key) const { return entries_.at(key).reservation.to; }
  /// Gives the first reservation of the pod whose size nobody knows, because the evicted pod was gone before, the pod's own.
  void Adopt(const kube::Pod& pod, scheduling::PodId id);

  /// Inside a fork: takes away what these reservations hold, and what all hold for pods less important than `priority`.
  void Lift(const std::vector<Key>& own, int32_t priority);
  /// Whether Lift of a pod without reservations would do anything.
  bool AnyBelow(int32_t priority) const;

  /// The pod has been given a node: its reservation there, or else its first, is used up. Answers the node whose room is given
  /// up by that, if it is another one.
  std::optional<scheduling::NodeId> Take(const kube::Pod& pod, scheduling::NodeId node);
  /// The pod, which is still in the snapshot, has lost its node or will be gone: the room is held again.
  void GiveBack(const std::string& pod);

 private:
  struct Entry {
    scheduling::Reservation reservation;
    scheduling::ClassId pod_class = scheduling::kNone;  ///< that is held; kNone: nothing is
    scheduling::NodeId node = scheduling::kNone;        ///< where, while something is held
    int32_t priority = 0;
    std::string taken_by;  ///< the successor that has a node
  };
  static bool Same(const scheduling::Reservation& a, const scheduling::Reservation& b);
  bool Matches(const Entry& entry, const kube::Pod& pod) const;
  void Settle(Entry& entry);
  void Hold(Entry& entry, scheduling::PodId size_of);
  void Release(Entry& entry);
  void Erase(std::map<Key, Entry>::iterator at);

  scheduling::Snapshot& snapshot_;
  std::map<Key, Entry> entries_;
  std::map<std::string, std::set<Key>> by_owner_;  // by uid
};

}  // namespace evenkeel::controllers::scheduler
