// What the balancer knows of one member, kept up to date object by object, from informers and from files alike: the scheduler's
// snapshot, and beside it what its own rules ask for: whose a pod is, whether it may move, which nodes may get pods. Belongs to
// one strand.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.h"
#include "base/time.h"
#include "kube/types.h"
#include "scheduling/snapshot.h"

namespace evenkeel::controllers::balancer::member {

/// Taints of cluster-autoscaler: on a node that is being removed, and on one that soon may be.
inline constexpr const char* kToBeDeletedTaint = "ToBeDeletedByClusterAutoscaler";
inline constexpr const char* kDeletionCandidateTaint = "DeletionCandidateOfClusterAutoscaler";

/// A pod that has not ended.
struct SeenPod {
  std::string key, ns, name, uid;
  std::string node;  ///< "": it waits for one
  std::string owner_kind, owner_name, owner_uid;
  kube::Labels labels;
  kube::ResourceList requests;
  std::map<std::string, int64_t> declared;  ///< kLoadAnnotation
  std::string role;                         ///< kRoleLabel
  base::Time created{};
  bool terminating = false;
  bool ready = false;
  std::string fixed;  ///< why it is never moved, one clause; "": it may be
};

struct SeenNode {
  std::string name, uid;
  kube::Labels labels;
  kube::ResourceList allocatable;
  base::Time ready_since{};
  std::string left_out;  ///< why pods neither come nor go because of us, one clause; "": they may
  bool going = false;    ///< cluster-autoscaler is removing it
};

/// A ReplicaSet, StatefulSet or ReplicationController.
struct SeenOwner {
  std::string kind, ns, name, uid;
  std::string parent_kind, parent_name;  ///< of its own controller; "": it has none
  int64_t replicas = 1;
};

class MemberObjects {
 public:
  MemberObjects() = default;
  MemberObjects(const MemberObjects&) = delete;
  MemberObjects& operator=(const MemberObjects&) = delete;

  /// Takes the object's kind from the object; kinds that do not matter are passed over. Outside of forks.
  void Upsert(const base::Json& object);
  /// `key`: "namespace/name", or "name" of what has no namespace.
  void Remove(std::string_view kind, const std::string& key);

  scheduling::Snapshot& snapshot() { return snapshot_; }
  const std::map<std::string, SeenPod, std::less<>>& pods() const { return pods_; }     ///< by key
  const std::map<std::string, SeenNode, std::less<>>& nodes() const { return nodes_; }  ///< by name
  const SeenPod* FindPod(std::string_view key) const;
  const SeenNode* FindNode(std::string_view name) const;
  const SeenOwner* FindOwner(const std::string& uid) const;
  /// Labels of a namespace; none when it is not known.
  const kube::Labels& NamespaceLabels(const std::string& name) const;
  /// Pods of one controller, terminating ones too. O(pods).
  std::vector<const SeenPod*> PodsOf(std::string_view owner_uid) const;

  /// Why room is short, or may soon be, so that nothing is moved, one clause: a pod waits for a node that `awaited` does not
  /// know of, or cluster-autoscaler adds nodes, or removes one whose pods will need the room that others have left. "": it is
  /// not. O(pods).
  std::string WhyRoomIsShort(const std::function<bool(const SeenPod& pod)>& awaited = {}) const;

 private:
  void UpsertPod(const base::Json& pod);
  void UpsertOwner(const base::Json& object);

  scheduling::Snapshot snapshot_;
  std::map<std::string, SeenPod, std::less<>> pods_;
  std::map<std::string, SeenNode, std::less<>> nodes_;
  std::unordered_map<std::string, SeenOwner> owners_;             // by uid
  std::map<std::string, std::string, std::less<>> owner_by_key_;  // "KIND namespace/name" -> uid
  std::map<std::string, kube::Labels, std::less<>> namespaces_;
  bool scaling_up_ = false;
};

/// cluster-autoscaler's status ConfigMap.
inline constexpr const char* kAutoscalerStatus = "cluster-autoscaler-status";

SeenPod DecodeSeenPod(const base::Json& object);
SeenNode DecodeSeenNode(const base::Json& object);

}  // namespace evenkeel::controllers::balancer::member
