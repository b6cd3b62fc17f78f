// Sums over a member's nodes and pods, kept up to date row by row: a change costs the same however large the member is.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "dashboard/member_rows.h"

namespace evenkeel::dashboard {

class MemberTally {
 public:
  using NodePointer = std::shared_ptr<const NodeRow>;
  using PodPointer = std::shared_ptr<const PodRow>;
  struct OnNode {
    kube::ResourceList requested;
    int64_t pods = 0;
  };

  /// As an informer tells it: null before is added, null after is gone.
  void Node(const NodePointer& before, const NodePointer& after);
  void Pod(const PodPointer& before, const PodPointer& after);
  /// Nodes that should have become ready by now (kOnItsWay) are not ready from now on. O(1) where there are none.
  void Advance(base::Time now);

  const std::map<std::string, NodePointer, std::less<>>& nodes() const { return nodes_; }
  /// Pods that wait for a node, by key.
  const std::map<std::string, PodPointer, std::less<>>& waiting() const { return waiting_; }
  /// What the pods on a node request; nothing where there are none.
  const OnNode& On(const std::string& node) const;
  int64_t running() const { return running_; }
  int64_t pods() const { return pods_; }  ///< that have not ended
  /// How many nodes are in that state.
  int64_t Count(std::string_view state) const;
  /// Requested by pods on nodes that are there, over what these have: "cpu", "memory", "pods".
  double Load(const std::string& resource) const;

  /// Nodes and pods that wait, whose part of a document may differ from what it was at the last call; also those that are gone.
  std::set<std::string, std::less<>> TakeChangedNodes() { return std::exchange(changed_nodes_, {}); }
  std::set<std::string, std::less<>> TakeChangedPods() { return std::exchange(changed_pods_, {}); }

 private:
  void Replace(const std::string& name, const NodePointer& node);
  void Count(const PodRow& pod, int64_t sign);
  void Count(const NodeRow& node, int64_t sign);

  std::map<std::string, NodePointer, std::less<>> nodes_;
  std::set<std::pair<base::Time, std::string>> on_their_way_;  // by when they were made
  std::map<std::string, PodPointer, std::less<>> waiting_;
  std::map<std::string, OnNode, std::less<>> on_nodes_;  // also of nodes that are not there (yet)
  std::map<std::string, int64_t, std::less<>> states_;
  kube::ResourceList allocatable_, requested_;  // over nodes that are there
  int64_t running_ = 0, pods_ = 0;
  std::set<std::string, std::less<>> changed_nodes_, changed_pods_;
};

/// At most four digits, so that what nobody sees makes no patch.
double Rounded(double value);
/// Requested over allocatable; 0 without either.
double Share(const kube::ResourceList& requested, const kube::ResourceList& allocatable, const std::string& resource);

}  // namespace evenkeel::dashboard
