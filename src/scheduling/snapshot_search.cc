// Finding nodes: the quick answers, the search and the bulk placement.
#include "scheduling/snapshot.h"

namespace evenkeel::scheduling {
namespace {

// What the filters that look at only look at the shape say. 0 is left for "not yet asked".
enum : uint8_t { kShapeFits = 1, kShapeUnschedulable = 2, kShapeTaint = 3, kShapeAffinity = 4, kShapeFeatures = 5 };

/// Whether a search that finds nothing says that there is nothing.
bool AsksAll(const PodClass& pod_class, const SearchOptions& options) {
  return options.only == nullptr && !options.hint_only && pod_class.pinned_node.empty();
}

}  // namespace

void Snapshot::Prepare(PodClass& pod_class) {
  EnsureOrder();
  if (pod_class.volumes != nullptr && pod_class.resolved.version != volumes_.version()) {
    pod_class.resolved = volumes_.Resolve(*pod_class.volumes, pod_class.ns);
  }
  if (pod_class.may_want_devices()) PrepareDevices(pod_class);
}

uint8_t Snapshot::ComputeVerdict(const SpecEntry& spec, NodeId node) const {
  const NodeShape& shape = shapes_[shape_of_[node]].shape;
  if (shape.unschedulable && !spec.spec.ToleratesCordon()) return kShapeUnschedulable;
  if (UntoleratedTaint(spec.spec.tolerations, shape.taints) != nullptr) return kShapeTaint;
  if (!std::ranges::includes(shape.features, spec.spec.features)) return kShapeFeatures;
  return spec.spec.nodes.Matches(LabelsOf(node)) ? kShapeFits : kShapeAffinity;
}

uint8_t Snapshot::Verdict(PodClass& pod_class, NodeId node) {
  SpecEntry& spec = *pod_class.spec;
  if (spec.uses_identity) return ComputeVerdict(spec, node);
  const ShapeId shape = shape_of_[node];
  if (shape >= spec.verdicts.size()) spec.verdicts.resize(shapes_.size(), 0);
  uint8_t& verdict = spec.verdicts[shape];
  if (verdict == 0) verdict = ComputeVerdict(spec, node);
  return verdict;
}

bool Snapshot::HasRoom(const PodClass& pod_class, NodeId node) const {
  const int64_t* free = &free_[Row(node)];
  for (const Amount& amount : pod_class.spec->requests) {
    if (free[amount.resource] < amount.amount && !ServedByClaims(amount.resource, node)) return false;
  }
  return true;
}

int64_t Snapshot::Room(const PodClass& pod_class, NodeId node) const {
  const int64_t* free = &free_[Row(node)];
  int64_t room = std::numeric_limits<int64_t>::max();
  for (const Amount& amount : pod_class.spec->requests) room = std::min(room, free[amount.resource] / amount.amount);
  return room;
}

bool Snapshot::BlockHasRoom(const PodClass& pod_class, size_t block) {
  if (block_stale_[block] != 0) RefreshBlock(block);
  const int64_t* room = &block_room_[block * stride_];
  for (const Amount& amount : pod_class.spec->requests) {
    if (room[amount.resource] < amount.amount && !HasDeviceClass(amount.resource)) return false;
  }
  return true;
}

Snapshot::Answer Snapshot::Ask(PodClass& pod_class, NodeId node) {
  if (!HasRoom(pod_class, node) || Verdict(pod_class, node) != kShapeFits) return Answer::kNever;
  return Plain(pod_class) ? Answer::kFits : AskDynamic(pod_class, node);
}

Snapshot::Answer Snapshot::AskDynamic(PodClass& pod_class, NodeId node) {
  const ClassTopology& topology = pod_class.topology;
  if (!pod_class.simple()) {
    const std::string& name = nodes_[node].name;
    if (!pod_class.pinned_node.empty() && pod_class.pinned_node != name) return Answer::kNever;
    if (!pod_class.node_name.empty() && pod_class.node_name != name) return Answer::kNever;
    if (!PortsFree(pod_class.spec->spec, node)) return Answer::kNever;
    if (pod_class.volumes != nullptr) {
      if (!ClaimsFree(pod_class) || !DisksFree(pod_class, node) || !VolumesWithinLimits(pod_class, node)) return Answer::kNever;
      const NodeLabels labels = LabelsOf(node);
      if (!volumes_.ZoneFits(pod_class.resolved, labels) || !volumes_.Binding(pod_class.resolved, labels).empty()) {
        return Answer::kNever;
      }
    }
  }
  if (OthersAntiAffinityMisfit(topology, node) || OwnAntiAffinityMisfit(topology, node)) return Answer::kNever;
  for (const ClassTopology::Spread& spread : topology.spread) {
    if (keys_[counters_[spread.counter]->key].Of(node) == kNone) return Answer::kNever;
  }
  if (SpreadMisfit(pod_class, node) || AffinityMisfit(topology, node)) return Answer::kNotNow;
  if (pod_class.wants_devices && !DevicesFit(pod_class, node)) return Answer::kNever;
  return Answer::kFits;
}

bool Snapshot::Fits(ClassId id, NodeId node) {
  PodClass& pod_class = classes_[id];
  Prepare(pod_class);
  return pod_class.rejected_by() == Filter::kPass && Ask(pod_class, node) == Answer::kFits;
}

uint64_t Snapshot::Now(const PodClass& pod_class) const {
  const bool others_help = !pod_class.topology.affinity.empty() || !pod_class.topology.spread.empty();
  return others_help ? version_ : relief_;
}

int64_t Snapshot::Progress(const PodClass& pod_class) const {
  int64_t progress = 0;
  for (const ClassTopology::Spread& spread : pod_class.topology.spread) progress += counters_[spread.counter]->smallest();
  for (const CounterId counter : pod_class.topology.affinity) progress += counters_[counter]->used_domains();
  return progress;
}

/// The nodes of a search one after the other: the hint, then the order from `start` around, without blocks that have no room.
class Snapshot::Sequence {
 public:
  Sequence(Snapshot& snapshot, const PodClass& pod_class, const SearchOptions& options)
      : snapshot_(snapshot), pod_class_(pod_class), only_(options.only), first_(options.hint) {
    if (!pod_class.pinned_node.empty()) {
      first_ = snapshot.FindNodeByName(pod_class.pinned_node);
      return;
    }
    size_ = options.hint_only ? 0 : static_cast<uint32_t>(snapshot.order_.size());
    start_ = size_ == 0 ? 0 : options.start % size_;
  }

  /// kNone: that was all.
  NodeId Next() {
    if (const NodeId first = std::exchange(first_, kNone); Allowed(first)) return first;
    while (step_ < size_) {
      const uint32_t position = start_ + step_ < size_ ? start_ + step_ : start_ + step_ - size_;
      const uint32_t end = std::min((position / kBlock + 1) * kBlock, position < start_ ? start_ : size_);
      if ((position % kBlock == 0 || step_ == 0) && !snapshot_.BlockHasRoom(pod_class_, position / kBlock)) {
        step_ += end - position;
        continue;
      }
      ++step_;
      if (Allowed(snapshot_.order_[position])) return snapshot_.order_[position];
    }
    return kNone;
  }

 private:
  bool Allowed(NodeId node) const { return node != kNone && snapshot_.Present(node) && (only_ == nullptr || only_->Has(node)); }

  Snapshot& snapshot_;
  const PodClass& pod_class_;
  const NodeSet* only_;
  NodeId first_;
  uint32_t size_ = 0, start_ = 0, step_ = 0;
};

NodeId Snapshot::FindNode(ClassId id, const SearchOptions& options) {
  PodClass& pod_class = classes_[id];
  Prepare(pod_class);
  if (pod_class.rejected_by() != Filter::kPass || pod_class.fits_nowhere_at == Now(pod_class)) return kNone;
  Sequence sequence(*this, pod_class, options);
  NodeId node = sequence.Next();
  while (node != kNone && Ask(pod_class, node) != Answer::kFits) node = sequence.Next();
  const bool all_asked = AsksAll(pod_class, options);
  if (node == kNone && all_asked) pod_class.fits_nowhere_at = Now(pod_class);
  return node;
}

/// Puts pods of one class on nodes, first fit. Nodes that affinity or spread refuse wait until a placement has changed what
/// refused them; all other refusals are for good, because every placement only takes room away.
class Snapshot::Filler {
 public:
  Filler(Snapshot& snapshot, PodClass& pod_class, int64_t pods, std::vector<Placement>& placements, const Put& put,
         std::span<const PodId> of)
      : snapshot_(snapshot),
        pod_class_(&pod_class),
        pods_(pods),
        placements_(placements),
        put_(put),
        of_(of),
        patient_(!pod_class.topology.affinity.empty() || !pod_class.topology.spread.empty()) {}

  int64_t Run(Sequence& sequence) {
    while (placed_ < pods_) {
      if (moved_) {
        Retry();
        continue;
      }
      const NodeId node = sequence.Next();
      if (node == kNone) break;
      if (Settle(node) == Answer::kNotNow && patient_) waiting_.push_back(node);
    }
    return placed_;
  }
  /// Of the pod that comes next.
  PodClass& pod_class() { return *pod_class_; }

 private:
  /// Fills the node until it refuses, or until nodes that refused before may have changed their minds (moved_).
  Answer Settle(NodeId node) {
    moved_ = false;
    while (placed_ < pods_) {
      const Answer answer = snapshot_.Ask(*pod_class_, node);
      if (answer != Answer::kFits) return answer;
      const int64_t before = patient_ ? snapshot_.Progress(*pod_class_) : 0;
      const int64_t here = snapshot_.Plain(*pod_class_) ? std::min(snapshot_.Room(*pod_class_, node), pods_ - placed_) : 1;
      put_(node, placed_, here);
      placed_ += here;
      Turn();
      if (!placements_.empty() && placements_.back().node == node) {
        placements_.back().pods += here;
      } else {
        placements_.push_back({node, here});
      }
      moved_ = patient_ && snapshot_.Progress(*pod_class_) != before;
      if (moved_) return Answer::kNotNow;
    }
    return Answer::kNever;
  }

  void Turn() {
    if (placed_ >= static_cast<int64_t>(of_.size())) return;
    PodClass& next = snapshot_.classes_[snapshot_.ClassOf(of_[static_cast<size_t>(placed_)])];
    if (&next == pod_class_) return;
    pod_class_ = &next;
    snapshot_.Prepare(next);
  }

  void Retry() {
    moved_ = false;
    size_t kept = 0, i = 0;
    for (; i < waiting_.size() && placed_ < pods_; ++i) {
      const Answer answer = Settle(waiting_[i]);
      if (moved_) break;
      if (answer == Answer::kNotNow) waiting_[kept++] = waiting_[i];
    }
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(kept), waiting_.begin() + static_cast<ptrdiff_t>(i));
  }

  Snapshot& snapshot_;
  PodClass* pod_class_;  // the next pod's
  const int64_t pods_;
  std::vector<Placement>& placements_;
  const Put& put_;
  const std::span<const PodId> of_;
  const bool patient_;
  int64_t placed_ = 0;
  bool moved_ = false;
  std::vector<NodeId> waiting_;  // in the sequence's order
};

int64_t Snapshot::Fill(ClassId id, int64_t pods, const SearchOptions& options, std::vector<Placement>& placements,
                       const Put& put, std::span<const PodId> of) {
  PodClass& pod_class = classes_[id];
  Prepare(pod_class);
  if (pod_class.rejected_by() != Filter::kPass || pod_class.fits_nowhere_at == Now(pod_class)) return 0;
  Sequence sequence(*this, pod_class, options);
  Filler filler(*this, pod_class, pods, placements, put, of);
  const int64_t placed = filler.Run(sequence);
  const bool all_asked = AsksAll(pod_class, options);
  if (placed < pods && all_asked) filler.pod_class().fits_nowhere_at = Now(filler.pod_class());
  return placed;
}

int64_t Snapshot::PlaceUpTo(ClassId id, int64_t pods, const SearchOptions& options, std::vector<Placement>& placements) {
  return Fill(id, pods, options, placements, [&](NodeId node, int64_t, int64_t here) { PlaceCopies(id, node, here); }, {});
}

int64_t Snapshot::PlaceUpTo(ClassId id, std::span<const PodId> pods, const SearchOptions& options,
                            std::vector<Placement>& placements) {
  const auto put = [&](NodeId node, int64_t placed, int64_t here) {
    for (int64_t i = 0; i < here; ++i) Place(pods[static_cast<size_t>(placed + i)], node);
  };
  return Fill(id, static_cast<int64_t>(pods.size()), options, placements, put, pods);
}

}  // namespace evenkeel::scheduling
