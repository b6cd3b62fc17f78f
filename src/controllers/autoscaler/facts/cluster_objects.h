// What the autoscaler's rules ask of one cluster beyond its snapshot: facts of pods and nodes, budgets, owners and DaemonSets,
// views that are worked out when a ClusterMirror tells of an object. Belongs to the mirror's strand.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/facts/node_digests.h"
#include "controllers/autoscaler/facts/node_templates.h"
#include "controllers/autoscaler/options/options.h"
#include "kube/types.h"
#include "scheduling/cluster_mirror.h"

namespace evenkeel::controllers::autoscaler {

class ClusterObjects final : public scheduling::ClusterListener {
 public:
  /// Listens to the mirror from now on; both live equally long.
  ClusterObjects(Options options, scheduling::ClusterMirror& mirror);
  ClusterObjects(const ClusterObjects&) = delete;
  ClusterObjects& operator=(const ClusterObjects&) = delete;

  /// Kinds that do not matter are passed over. About 7 us for a pod.
  void AfterChange(const scheduling::ObjectEvent& event) override;

  /// The view of a loop. Gives nodes to their groups. O(nodes), unless neither the groups nor a node have changed since. Its
  /// pointers are good as long as the objects live.
  ClusterView View(providers::NodeGroups groups, LoopTime now);
  /// The same without node groups, for questions about pods between loops. O(1) unless budgets have changed.
  ClusterView ViewOfPods(base::Time now);

  /// Whether pods whose controller is not there may be moved all the same. By default they may as long as no controller of any
  /// kind has been seen: somebody who gives only nodes and pods wants to be told more than that the rest is missing.
  void RequireOwners() {
    owners_required_ = true;
    ++revision_;
  }

  /// Counts up with every change that a loop could see; a node that only renews its status is none. Also when templates say
  /// that other devices are to be waited for.
  uint64_t revision() const { return revision_ + templates_.device_changes(); }

  scheduling::Snapshot& snapshot() { return snapshot_; }
  const scheduling::Snapshot& snapshot() const { return snapshot_; }
  const std::string& PodKey(scheduling::PodId pod) const { return snapshot_.PodKey(pod); }
  NodeTemplates& templates() { return templates_; }
  const NodeTemplates& templates() const { return templates_; }
  /// Null for nodes of a fork.
  const kube::Node* NodeObject(scheduling::NodeId node) const;
  NodeObjects Objects() const;
  /// The v1.Node; null when there is none of that name. Good until the next change.
  const base::Json* FindNode(std::string_view name) const;
  /// v1.Node objects by name, for a provider. Good until the next change.
  const std::vector<base::Json>& Nodes() const { return node_json_; }
  /// Pods without a node, by id.
  const std::set<scheduling::PodId>& pending() const { return pending_; }
  /// Pods on nodes for which no node is worth having (--expendable-pods-priority-cutoff), by id.
  const std::set<scheduling::PodId>& expendable() const { return expendable_; }
  /// The first BalancingPlan by name of which a pod is on the move, so that room on a node is kept for it; "": none is.
  std::string PlanUnderWay(const LoopTime& now) const;
  /// Of the ConfigMap cluster-autoscaler-priority-expander; absent when there is none.
  const std::optional<std::string>& expander_priorities() const { return expander_priorities_; }
  /// Rows of nodes that exist only in a fork have no facts; makes room for them, so that they can be asked about.
  void CoverNode(scheduling::NodeId node);

 private:
  void Put(const scheduling::ObjectEvent& event);
  void Drop(const scheduling::ObjectEvent& event);
  /// Whether anything about it has changed that a loop could see.
  bool PutNode(const scheduling::ObjectEvent& event);
  void DropNode(const scheduling::ObjectEvent& event);
  void PutPod(const scheduling::ObjectEvent& event);
  void DropPod(scheduling::PodId pod);
  void GiveToGroup(scheduling::NodeId node, const providers::NodeGroups& groups, bool decode);
  void RebuildBudgets();
  /// Whose nodes have devices, and of which drivers.
  void ExpectDevices(const providers::NodeGroups& groups);
  /// A node is not ready before drivers have published what it is to have. O(1) where no group has devices or nothing has
  /// changed, but for nodes that lack some; else O(nodes).
  void JudgeDevices(const providers::NodeGroups& groups, const LoopTime& now);
  void JudgeDevices(scheduling::NodeId node, const LoopTime& now);

  /// What a new node of a group is to have, of each driver.
  struct ExpectedDevices {
    DevicePools pools;
    /// None: it is waited for as long as it takes, because the provider says so. Else nobody does, another node has had it:
    /// drivers may come and go, and who is older than this is not to be waited for.
    std::optional<base::Duration> young{};
    bool operator==(const ExpectedDevices&) const = default;
  };

  Options options_;
  scheduling::Snapshot& snapshot_;
  NodeTemplates templates_;
  std::deque<PodFacts> pods_;
  std::deque<NodeFacts> nodes_;
  NodeDigests digests_;  // as of the last view
  std::map<std::string, kube::Node, std::less<>> node_objects_;
  std::vector<std::string> node_names_;  // sorted, of node_json_: a provider is shown all of it in every loop
  std::vector<base::Json> node_json_;
  std::map<std::string, Budget, std::less<>> budget_by_key_;
  std::vector<Budget> budgets_;
  bool budgets_changed_ = false;
  std::unordered_map<std::string, Owner> owners_;                 // by uid
  std::map<std::string, std::string, std::less<>> owner_by_key_;  // "KIND namespace/name" -> uid
  bool owners_required_ = false, owners_seen_ = false;
  std::map<std::string, base::Json, std::less<>> daemon_set_by_key_;
  std::vector<base::Json> daemon_sets_;
  bool daemon_sets_changed_ = false;
  std::set<scheduling::PodId> pending_, expendable_;
  std::optional<std::string> expander_priorities_;
  std::map<std::string, base::Time, std::less<>> room_kept_until_;  // by BalancingPlan; of those that keep some
  std::string gpu_label_;
  uint64_t revision_ = 1, nodes_revision_ = 1;
  uint64_t grouped_by_ = 0;                                       // the revision of the groups that the nodes were given to
  std::vector<scheduling::NodeId> new_;                           // have been given to none yet
  std::map<std::string, ExpectedDevices, std::less<>> expected_;  // by group; of those that have some
  uint64_t expected_groups_ = 0, expected_templates_ = 0;         // what it is of
  uint64_t judged_nodes_ = 0, judged_slices_ = 0;                 // what was judged last
  std::set<scheduling::NodeId> lacking_;                          // nodes that lack devices
};

}  // namespace evenkeel::controllers::autoscaler
