// The filters one by one, with their words.
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling {
namespace {

Fit Refusal(Filter filter, bool resolvable, std::string text) {
  Fit fit{filter, resolvable, false, {}};
  fit.reasons.push_back({std::move(text)});
  return fit;
}

}  // namespace

Fit Snapshot::Check(ClassId id, NodeId node) {
  PodClass& pod_class = classes_[id];
  Prepare(pod_class);
  if (pod_class.rejected_by() != Filter::kPass) {
    Fit fit = Refusal(pod_class.rejected_by(), false, pod_class.rejected());
    fit.anywhere = true;
    return fit;
  }
  const PodSpec& spec = pod_class.spec->spec;
  const NodeShape& shape = shapes_[shape_of_[node]].shape;
  const NodeLabels labels = LabelsOf(node);
  if (shape.unschedulable && !spec.ToleratesCordon()) {
    return Refusal(Filter::kNodeUnschedulable, false, "node(s) were unschedulable");
  }
  if (!pod_class.node_name.empty() && pod_class.node_name != labels.name) {
    return Refusal(Filter::kNodeName, false, "node(s) didn't match the requested node name");
  }
  Fit fit = CheckTaints(pod_class, node);
  if (!fit.fits()) return fit;
  fit = CheckNodeAffinity(pod_class, node);
  if (!fit.fits()) return fit;
  if (!PortsFree(spec, node)) {
    return Refusal(Filter::kNodePorts, true, "node(s) didn't have free ports for the requested pod ports");
  }
  CheckResources(pod_class, node, fit);
  if (!fit.fits()) return fit;
  if (pod_class.volumes != nullptr) {
    if (!DisksFree(pod_class, node)) return Refusal(Filter::kVolumeRestrictions, true, "node(s) had no available disk");
    if (!ClaimsFree(pod_class)) {
      return Refusal(Filter::kVolumeRestrictions, true,
                     "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode");
    }
    if (!VolumesWithinLimits(pod_class, node)) {
      return Refusal(Filter::kNodeVolumeLimits, true, "node(s) exceed max volume count");
    }
    if (auto texts = volumes_.Binding(pod_class.resolved, labels); !texts.empty()) {
      fit = Fit{Filter::kVolumeBinding, false, false, {}};
      for (std::string& text : texts) fit.reasons.push_back({std::move(text)});
      return fit;
    }
    if (!volumes_.ZoneFits(pod_class.resolved, labels)) {
      return Refusal(Filter::kVolumeZone, false, "node(s) had no available volume zone");
    }
  }
  fit = CheckSpread(pod_class, node);
  if (!fit.fits()) return fit;
  fit = CheckPodAffinity(pod_class, node);
  if (!fit.fits()) return fit;
  if (pod_class.wants_devices) {
    fit = CheckDevices(pod_class, node);
    if (!fit.fits()) return fit;
  }
  if (!std::ranges::includes(shape.features, spec.features)) {
    return Refusal(Filter::kNodeDeclaredFeatures, false, "node(s) didn't match Pod's required features");
  }
  return {};
}

void Snapshot::CheckResources(const PodClass& pod_class, NodeId node, Fit& fit) const {
  bool never = false;
  const auto look = [&](const Amount& wanted) {
    const int64_t free = Free(node, wanted.resource);
    if (wanted.amount <= free || ServedByClaims(wanted.resource, node)) return;
    const int64_t allocatable = Allocatable(node, wanted.resource);
    const std::string& name = resources_.Name(wanted.resource);
    const bool pods = wanted.resource == kPods;
    never |= !pods && wanted.amount > allocatable;
    fit.reasons.push_back(
        {pods ? "Too many pods" : "Insufficient " + name, name, wanted.amount, allocatable - free, allocatable});
  };
  const std::vector<Amount>& requests = pod_class.spec->requests;
  for (const Amount& wanted : requests) {
    if (wanted.resource == kPods) look(wanted);
  }
  for (const Amount& wanted : requests) {
    if (wanted.resource != kPods) look(wanted);
  }
  if (fit.reasons.empty()) return;
  fit.filter = Filter::kNodeResourcesFit;
  fit.resolvable = !never;
}

bool Snapshot::PortsFree(const PodSpec& spec, NodeId node) const {
  for (const HostPort& port : spec.ports) {
    for (const auto& [taken, pods] : nodes_[node].ports) {
      if (taken.Conflicts(port)) return false;
    }
  }
  return true;
}

bool Snapshot::DisksFree(const PodClass& pod_class, NodeId node) {
  if (pod_class.volumes->disks.empty() || nodes_[node].volume_pods == 0) return true;
  bool free = true;
  ForEachClassOn(node, [&](const PodClass& other, int64_t) {
    if (other.volumes == nullptr) return;
    for (const Disk& disk : pod_class.volumes->disks) {
      for (const Disk& mounted : other.volumes->disks) free &= !disk.Conflicts(mounted);
    }
  });
  return free;
}

bool Snapshot::ClaimsFree(const PodClass& pod_class) const {
  return std::none_of(pod_class.resolved.exclusive.begin(), pod_class.resolved.exclusive.end(),
                      [&](const std::string& claim) { return claim_users_.contains(claim); });
}

const VolumeLimits* Snapshot::VolumeLimitsOf(NodeId node) const {
  const NodeRow& row = nodes_[node];
  return row.volume_limits != nullptr ? row.volume_limits.get() : volumes_.Limits(row.name);
}

bool Snapshot::VolumesWithinLimits(PodClass& pod_class, NodeId node) {
  const auto* limits = pod_class.resolved.attachments.empty() ? nullptr : VolumeLimitsOf(node);
  if (limits == nullptr) return true;
  std::set<Attachment> attached;
  if (nodes_[node].volume_pods > 0) {
    ForEachClassOn(node, [&](PodClass& other, int64_t) {
      if (other.volumes == nullptr) return;
      Prepare(other);
      attached.insert(other.resolved.attachments.begin(), other.resolved.attachments.end());
    });
  }
  std::map<std::string, int64_t> counts, more;
  for (const Attachment& attachment : attached) ++counts[attachment.driver];
  for (const Attachment& attachment : pod_class.resolved.attachments)
    more[attachment.driver] += attached.contains(attachment) ? 0 : 1;
  return std::all_of(more.begin(), more.end(), [&](const auto& entry) {
    const auto limit = limits->find(entry.first);
    return entry.second == 0 || limit == limits->end() || counts[entry.first] + entry.second <= limit->second;
  });
}

}  // namespace evenkeel::scheduling
