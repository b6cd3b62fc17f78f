// One cluster as its objects tell of it: nodes, pods, namespaces, volumes and devices go into a Snapshot, once, and everybody
// who looks after the cluster is told of each object before and after. So rules of their own (whether a pod may be moved, when
// a node became ready) are views that are worked out when an object changes, and what fits where is asked of one snapshot.
//
// Fed by informers (controllers/runtime/member_feed.h) and from files alike. Belongs to one strand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/types.h"
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling {

/// One object has changed, or is about to. Good for the time of the call.
class ObjectEvent {
 public:
  ObjectEvent(std::string_view its_kind, const std::string& its_key, const base::Json* as_it_is)
      : kind(its_kind), key(its_key), object(as_it_is) {}

  std::string_view kind;
  const std::string& key;    ///< "namespace/name", or "name" of what has no namespace
  const base::Json* object;  ///< as it is now; null: it has gone, or is a pod that has ended
  /// Of a pod: its row, which a removed one still has while nothing has been removed. kNone: there is none (yet).
  PodId pod = kNone;
  /// Of a node, after the change, as `pod`.
  NodeId node = kNone;
  bool node_changed = true;  ///< anything that filters look at
  /// What the catalog of volumes takes it for.
  std::optional<VolumeKind> volume{};
  /// Of what is about devices.
  std::optional<DeviceKind> device{};

  /// Decoded once for all who are told. `object` must be a Pod (a Node).
  const kube::CompactPod& DecodedPod() const;
  const kube::Node& DecodedNode() const;

 private:
  mutable std::optional<kube::CompactPod> decoded_pod_;
  mutable std::optional<kube::Node> decoded_node_;
};

class ClusterListener {
 public:
  virtual ~ClusterListener() = default;
  /// The snapshot is as it was.
  virtual void BeforeChange(const ObjectEvent&) {}
  virtual void AfterChange(const ObjectEvent& event) = 0;
};

/// Nodes, volumes, devices, namespaces and live pods: what a Snapshot consists of, in the order in which it is read best.
struct SnapshotKind {
  kube::Resource resource;
  std::string field_selector;  ///< which of them matter
};
const std::vector<SnapshotKind>& SnapshotKinds();

class ClusterMirror {
 public:
  ClusterMirror() = default;
  ClusterMirror(const ClusterMirror&) = delete;
  ClusterMirror& operator=(const ClusterMirror&) = delete;

  Snapshot& snapshot() { return snapshot_; }
  const Snapshot& snapshot() const { return snapshot_; }
  /// They are told in the order in which they were added; each outlives the events.
  void AddListener(ClusterListener& listener) { listeners_.push_back(&listener); }
  bool has_listeners() const { return !listeners_.empty(); }

  /// Takes the object's kind from the object; listeners are told of every kind. Outside forks. About 3 us for a pod, and what
  /// the listeners take.
  void Upsert(const base::Json& object) { Upsert(base::FindString(object, {"kind"}), object); }
  void Upsert(std::string_view kind, const base::Json& object);
  /// `key`: see ObjectEvent.
  void Remove(std::string_view kind, const std::string& key);

 private:
  void Apply(ObjectEvent& event);
  void ApplyPod(ObjectEvent& event);
  void Notify(ObjectEvent event);

  Snapshot snapshot_;
  std::vector<ClusterListener*> listeners_;
};

}  // namespace evenkeel::scheduling
