// What the balancer's rules ask of one member beyond its snapshot: whose a pod is, whether it may move, which nodes may get
// pods; views that are worked out when a ClusterMirror tells of an object. Belongs to the mirror's strand.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/runtime/member_feed.h"
#include "kube/types.h"
#include "scheduling/cluster_mirror.h"
#include "scheduling/well_known.h"

namespace evenkeel::controllers::balancer {

using scheduling::kDeletionCandidateTaint;
using scheduling::kToBeDeletedTaint;

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

/// What the balancer reads; its own kinds besides.
const std::vector<runtime::ReadKind>& ReadKinds();

class MemberObjects final : public scheduling::ClusterListener {
 public:
  /// Listens to the mirror from now on; both live equally long.
  explicit MemberObjects(scheduling::ClusterMirror& mirror) : mirror_(mirror) { mirror.AddListener(*this); }
  MemberObjects(const MemberObjects&) = delete;
  MemberObjects& operator=(const MemberObjects&) = delete;

  /// Kinds that do not matter are passed over.
  void AfterChange(const scheduling::ObjectEvent& event) override;

  scheduling::Snapshot& snapshot() { return mirror_.snapshot(); }
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
  void Put(const scheduling::ObjectEvent& event);
  void Drop(const scheduling::ObjectEvent& event);
  void PutOwner(const scheduling::ObjectEvent& event);

  scheduling::ClusterMirror& mirror_;
  std::map<std::string, SeenPod, std::less<>> pods_;
  std::map<std::string, SeenNode, std::less<>> nodes_;
  std::unordered_map<std::string, SeenOwner> owners_;             // by uid
  std::map<std::string, std::string, std::less<>> owner_by_key_;  // "KIND namespace/name" -> uid
  std::map<std::string, kube::Labels, std::less<>> namespaces_;
  bool scaling_up_ = false;
};

/// cluster-autoscaler's status ConfigMap.
inline constexpr const char* kAutoscalerStatus = "cluster-autoscaler-status";

}  // namespace evenkeel::controllers::balancer
