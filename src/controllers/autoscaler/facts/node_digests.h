// What scale-down asks of every node in every loop, close together. NodeFacts take some hundred bytes each and lie far apart,
// so a loop that looks at all of them mostly waits for memory. A digest holds no verdict: the planner compares with sizes,
// options, pods and the time anew in each loop. So all that a digest depends on is
//
//   the facts of the node, its group by id, and whether it has GPUs    ClusterView::nodes_revision
//   the ResourceSlices of the API                                      Snapshot::slices_version
//   the node groups that there are, in their order                     their ids
//
// and when one of these has changed, or nodes_revision is not known, all digests are made anew.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/autoscaler/facts/cluster_view.h"

namespace evenkeel::controllers::autoscaler {

struct NodeDigest {
  uint32_t group = scheduling::kNone;  ///< index in NodeGroups::groups; kNone: of no group that is there
  bool present = false, ready = false, scale_down_disabled = false;
  bool to_be_deleted = false, deletion_candidate = false;  ///< has the taint, whatever its age
  bool plain = false;                                      ///< has neither GPUs nor devices: judged by cpu and memory
  bool operator==(const NodeDigest&) const = default;
};

class NodeDigests {
 public:
  NodeDigests() = default;
  explicit NodeDigests(const ClusterView& view) { Update(view); }

  /// O(groups) when nothing has changed, else O(nodes). Always of the same cluster.
  void Update(const ClusterView& view);
  /// An update would change nothing. O(groups).
  bool AreOf(const ClusterView& view) const;
  /// Not present for nodes of a fork.
  NodeDigest Of(scheduling::NodeId node) const { return node < digests_.size() ? digests_[node] : NodeDigest{}; }

 private:
  std::vector<NodeDigest> digests_;  // by NodeId
  std::vector<std::string> groups_;
  uint64_t nodes_revision_ = 0, slices_version_ = 0;
};

/// Of one node.
NodeDigest DigestOf(const ClusterView& view, scheduling::NodeId node);

}  // namespace evenkeel::controllers::autoscaler
