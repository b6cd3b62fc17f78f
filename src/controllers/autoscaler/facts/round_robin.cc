#include "controllers/autoscaler/facts/round_robin.h"

#include <algorithm>

namespace evenkeel::controllers::autoscaler {

using scheduling::kNone;
using scheduling::NodeId;

RoundRobin::RoundRobin(const ClusterView& view, Turn turn) : snapshot_(*view.snapshot), next_(turn.next) {
  std::vector<NodeId> added;
  for (const NodeId node : snapshot_.order()) {
    if (node == kNone) continue;
    const bool told = node < view.nodes->size() && (*view.nodes)[node].present;
    (told ? nodes_ : added).push_back(node);
  }
  if (turn.order == ListOrder::kAsTold) std::ranges::sort(nodes_);
  nodes_.insert(nodes_.end(), added.begin(), added.end());
}

NodeId RoundRobin::Find(scheduling::ClassId pod_class, const scheduling::NodeSet* only) {
  // What fits nowhere is known without a walk.
  if (nodes_.empty() || snapshot_.FindNode(pod_class) == kNone) return kNone;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const size_t index = (*next_ + i) % nodes_.size();
    const NodeId node = nodes_[index];
    if (snapshot_.Unschedulable(node) || (only != nullptr && !only->Has(node)) || !snapshot_.Fits(pod_class, node)) continue;
    *next_ = static_cast<uint32_t>((index + 1) % nodes_.size());
    return node;
  }
  return kNone;
}

void RoundRobin::Drop(NodeId node) { std::erase(nodes_, node); }

}  // namespace evenkeel::controllers::autoscaler
