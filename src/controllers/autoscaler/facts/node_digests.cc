#include "controllers/autoscaler/facts/node_digests.h"

#include <algorithm>

#include "controllers/autoscaler/facts/utilization.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using providers::NodeGroup;
using scheduling::NodeId;

NodeDigest Digest(const ClusterView& view, const GpuIds& gpus, NodeId id) {
  const NodeFacts& node = (*view.nodes)[id];
  NodeDigest digest;
  if (!node.present) return digest;
  digest.present = true;
  if (const NodeGroup* group = node.group.empty() ? nullptr : view.groups.Find(node.group.text())) {
    digest.group = static_cast<uint32_t>(group - view.groups.groups.data());
  }
  digest.ready = node.ready;
  digest.scale_down_disabled = node.scale_down_disabled;
  digest.to_be_deleted = node.to_be_deleted.has_value();
  digest.deletion_candidate = node.deletion_candidate.has_value();
  digest.plain = !HasGpusOrDevices(view, gpus, id);
  return digest;
}

}  // namespace

NodeDigest DigestOf(const ClusterView& view, NodeId node) { return Digest(view, FindGpus(*view.snapshot), node); }

bool NodeDigests::AreOf(const ClusterView& view) const {
  return nodes_revision_ != 0 && nodes_revision_ == view.nodes_revision && slices_version_ == view.snapshot->slices_version() &&
         std::ranges::equal(groups_, view.groups.groups, {}, {}, &NodeGroup::id);
}

void NodeDigests::Update(const ClusterView& view) {
  if (AreOf(view)) return;
  const GpuIds gpus = FindGpus(*view.snapshot);
  digests_.resize(view.nodes->size());
  for (NodeId node = 0; node < digests_.size(); ++node) digests_[node] = Digest(view, gpus, node);
  groups_.clear();
  for (const NodeGroup& group : view.groups.groups) groups_.push_back(group.id);
  nodes_revision_ = view.nodes_revision;
  slices_version_ = view.snapshot->slices_version();
}

}  // namespace evenkeel::controllers::autoscaler
