// Nodes, pods and volumes of one cluster as the scheduler sees them, kept up to date by informer events and never rebuilt; with
// what-if forks that cost as much as what is changed in them, and with kube-scheduler's filters, which answer for classes of
// equal pods and shapes of equal nodes.
//
// Belongs to one strand. Informer events (Upsert..., Remove...) are not for the inside of a fork: a planner forks, tries and
// reverts before it yields. Real nodes are looked at in the order of their names, nodes of a fork after them in the order in
// which they were added, so that every answer is the same for the same objects whatever way they came.
//
// On what events tell lies a layer of what they do not tell yet: pods that a scheduler is binding, and copies that keep room
// for pods to come. Who wants the cluster as the API has it asks with Layers::kTold.
//
//              Place               event: it has a node
//   pending ──────────────► assumed ──────────────► told      ended or deleted: gone, from wherever it was
//      ▲                       │ Unplace
//      └───────────────────────┘
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "kube/types.h"
#include "scheduling/class_table.h"
#include "scheduling/devices/device_catalog.h"
#include "scheduling/devices/device_pools.h"
#include "scheduling/devices/placed_devices.h"
#include "scheduling/fit.h"
#include "scheduling/ids.h"
#include "scheduling/node_shape.h"
#include "scheduling/topology.h"
#include "scheduling/volume_catalog.h"

namespace evenkeel::scheduling {

/// Some of the nodes, by id.
class NodeSet {
 public:
  void Add(NodeId node) {
    if (node >= has_.size()) has_.resize(node + 1, 0);
    has_[node] = 1;
  }
  void Remove(NodeId node) {
    if (node < has_.size()) has_[node] = 0;
  }
  bool Has(NodeId node) const { return node < has_.size() && has_[node] != 0; }

 private:
  std::vector<uint8_t> has_;
};

struct SearchOptions {
  uint32_t start = 0;             ///< position in order() to begin with; the search goes around once
  NodeId hint = kNone;            ///< looked at before all others
  const NodeSet* only = nullptr;  ///< others are passed over; must outlive the call
  bool hint_only = false;         ///< all others are
};

/// Pods of one class that were put on one node.
struct Placement {
  NodeId node;
  int64_t pods;
  bool operator==(const Placement&) const = default;
};

/// Pods on a node that are copies of nothing in the cluster: what-if pods without a name.
struct Copies {
  ClassId pod_class;
  int64_t pods;
};

class Snapshot {
 public:
  Snapshot();
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Informer events: outside forks.

  /// Pods may name a node before it is there, or after it has gone; they count once it is.
  /// `changed`, if given: whether it is new, or anything that filters look at is.
  NodeId UpsertNode(const base::Json& node) { return UpsertNode(kube::Node::Decode(node)); }
  NodeId UpsertNode(const kube::Node& node, bool* changed = nullptr);
  void RemoveNode(std::string_view name);
  /// kNone for a pod that has ended (it is removed). About 3 us; nothing but a look-up when nothing that matters has changed.
  /// A pod that Place has put on a node outside a fork stays there until an event says otherwise or it is unplaced: the event
  /// that tells of the binding comes later.
  PodId UpsertPod(const base::Json& pod);
  void RemovePod(std::string_view key);
  /// Labels matter for namespaceSelector. One that nobody told of has no labels.
  void UpsertNamespace(std::string_view name, const kube::Labels& labels);
  void RemoveNamespace(std::string_view name) { UpsertNamespace(name, {}); }
  /// What a namespaceSelector of nothing but NotIn and DoesNotExist means: what the API documents, or all namespaces, as
  /// kube-scheduler 1.34 to 1.36 takes it. Counts for pods that are told from now on.
  void SetNegativeNamespacesMatchAll(bool on) { negative_namespaces_match_all_ = on; }
  void UpsertVolume(VolumeKind kind, const base::Json& object);
  void RemoveVolume(VolumeKind kind, const std::string& key);
  /// A claim whose allocation is told here is no longer in flight. `key`: "namespace/name" for claims and templates.
  void UpsertDevices(DeviceKind kind, const base::Json& object);
  void RemoveDevices(DeviceKind kind, const std::string& key);

  // What if.

  /// Changes from here on can be taken back. Forks nest. O(1) plus what real changes since the last fork cost.
  void Fork();
  /// Takes back everything since the last Fork. O(changes).
  void Revert();
  /// Keeps the changes, in the fork around or, in the outermost, for good.
  void Commit();
  size_t depth() const { return marks_.size(); }

  /// The class of pods like this one, for what-ifs. Stays until ReleaseClass, even when no pod has it. `keep_node_name`:
  /// spec.nodeName is a wish that the NodeName filter checks.
  ClassId InternClass(const base::Json& pod, bool keep_node_name = false);
  void ReleaseClass(ClassId pod_class);
  /// What AddNode makes nodes from: labels, taints, allocatable, and how many volumes of each driver they take (null: no
  /// limit), and the slices of devices that each brings (as SlicesOfNewNodes makes them; null: none). Stays until
  /// ReleaseTemplate.
  TemplateId InternTemplate(const kube::Node& node, std::shared_ptr<const VolumeLimits> volume_limits = nullptr,
                            std::shared_ptr<const NodeSlices> slices = nullptr);
  void ReleaseTemplate(TemplateId node_template);

  /// A node that is not there yet; the host name label is its name if the template has that label. Well under 1 us.
  NodeId AddNode(TemplateId node_template, std::string_view name);
  /// As if the node were gone; its pods stay with it and count no more. Inside a fork PositionOf still tells where it was.
  void DropNode(NodeId node);
  void AddTaint(NodeId node, const kube::Taint& taint);
  /// Puts a pod on a node, whether it fits or not. The pod must not be on a node. Claims of it that are not allocated get
  /// devices there (in flight until an event tells of them), or none where they cannot be had.
  void Place(PodId pod, NodeId node);
  /// Gives back what is in flight. Inside a fork also what the API says is allocated, where a claim is the pod's own or no
  /// other pod has it reserved: so the pod can be tried elsewhere.
  void Unplace(PodId pod);
  /// Pods without a name, as many as are asked for; a negative number takes copies away again. Each copy has claims of its own
  /// for those that come from templates.
  void PlaceCopies(ClassId pod_class, NodeId node, int64_t pods);
  /// Inside a fork: takes away what was placed outside forks and no event has told of. O(those).
  void LiftUntold();

  // What there is.

  /// The nodes that are there, in the order of searches; kNone in the place of those that a fork has dropped.
  std::span<const NodeId> order();
  size_t node_count() const { return node_count_; }
  size_t pod_count() const { return pod_by_key_.size(); }
  const ClassTable& classes() const { return classes_; }

  /// kNone when there is no such node (or no such pod).
  NodeId FindNodeByName(std::string_view name) const;
  PodId FindPod(std::string_view key) const;
  const std::string& NodeName(NodeId node) const { return nodes_[node].name; }
  const std::string& PodKey(PodId pod) const { return pods_[pod].key; }
  bool Present(NodeId node) const { return node < nodes_.size() && nodes_[node].present; }
  bool Unschedulable(NodeId node) const { return shapes_[shape_of_[node]].shape.unschedulable; }
  NodeLabels LabelsOf(NodeId node) const;
  std::span<const kube::Taint> TaintsOf(NodeId node) const { return shapes_[shape_of_[node]].shape.taints; }
  /// Null: it has none.
  const VolumeLimits* VolumeLimitsOf(NodeId node) const;
  uint32_t PositionOf(NodeId node) const { return nodes_[node].position; }
  /// In no particular order: what depends on the order sorts first.
  std::span<const PodId> PodsOn(NodeId node) const { return nodes_[node].pods; }
  std::span<const Copies> CopiesOn(NodeId node) const { return nodes_[node].copies; }
  ClassId ClassOf(PodId pod) const { return pods_[pod].pod_class; }
  /// kNone while the pod is pending.
  NodeId NodeOf(PodId pod) const { return pods_[pod].node; }
  int32_t PriorityOf(PodId pod) const { return pods_[pod].priority; }
  ResourceId FindResource(std::string_view name) const { return resources_.Find(name); }
  const std::string& ResourceName(ResourceId resource) const { return resources_.Name(resource); }
  size_t resource_count() const { return resources_.size(); }
  /// In units of kube::ResourceList; 0 for what the node does not have.
  int64_t Allocatable(NodeId node, ResourceId resource) const { return allocatable_[Row(node) + resource]; }
  int64_t Free(NodeId node, ResourceId resource) const { return free_[Row(node) + resource]; }
  /// By resource, with 1 of "pods".
  std::span<const Amount> Requests(ClassId pod_class) const { return classes_[pod_class].spec->requests; }

  /// What the pod has of devices where it is; of a pod without claims nothing. For who writes to the API what Place has chosen.
  PlacedDevices DevicesOf(PodId pod);
  /// The name of a claim that a scheduler has made for the pod's extended resources, as the API says, allocated or not; "":
  /// there is none.
  std::string ExtendedClaimOf(PodId pod) const { return devices_.ExtendedOf(pods_[pod].uid_hash); }
  /// What a pod of the class would get on the node, if that fits.
  PlacedDevices DevicesFor(ClassId pod_class, NodeId node);
  /// As the node sees them; with what is in use. Good until something changes.
  const NodePools& PoolsOn(NodeId node);
  /// Those that the API has for the node by its name, by pool and name.
  NodeSlices SlicesFor(NodeId node) const { return devices_.SlicesFor(nodes_[node].name); }
  /// What pods on the node have of devices, a claim that several have once for each. nullopt: a claim of one of them is not
  /// allocated. O(pods of the node).
  std::optional<std::vector<std::shared_ptr<const ClaimAllocation>>> AllocationsOn(NodeId node);
  /// For InternTemplate, through SlicesOfNewNodes.
  std::shared_ptr<const ResourceSlice> DecodeSlice(const base::Json& slice) {
    return std::make_shared<const ResourceSlice>(devices_.Decode(slice));
  }
  /// Changes with every ResourceSlice.
  uint64_t slices_version() const { return devices_.slices_version(); }
  /// Whether a pod of the class gets devices, by claims or by extended resources.
  bool WantsDevices(ClassId pod_class);
  /// Equal for classes whose pods every node takes alike, as things are: they are one, or differ only in claims that were made
  /// for each of their pods alike and that are not allocated.
  uint64_t Likeness(ClassId pod_class);

  // What fits where.

  /// No other pod matters to the class: it has no terms of its own, and no pod that is there has one against it. Unlike
  /// ClassTopology::empty() the same whatever was there before.
  bool Unconcerned(ClassId pod_class) const;
  /// Whether all filters let a pod of the class on the node (which must be present).
  bool Fits(ClassId pod_class, NodeId node);
  /// The same with the reason: the first filter that refuses, in kube-scheduler's order.
  Fit Check(ClassId pod_class, NodeId node);
  /// One filter alone, whatever the others say: TaintToleration, NodeAffinity, PodTopologySpread or InterPodAffinity, which
  /// judge by fields that a pod keeps while it runs. So a pod that has been taken off its node can be asked about what it left.
  Fit CheckRule(ClassId pod_class, NodeId node, Filter filter) const;
  /// The first node that fits. kNone: none does. Blocks of 64 nodes without room are passed over; a class that fits nowhere is
  /// not searched for again until something that could help has changed.
  NodeId FindNode(ClassId pod_class, const SearchOptions& options = {});
  /// Puts up to `pods` copies on nodes, each on the first node that fits at that time; what FindNode with the same options and
  /// PlaceCopies would do one by one. For classes without affinity, spread, ports and volumes O(nodes).
  int64_t PlaceUpTo(ClassId pod_class, int64_t pods, const SearchOptions& options, std::vector<Placement>& placements);
  /// The same with pods of the snapshot, all pending and of that class or (see Likeness) like it; the first is of that class.
  /// Answers how many of them, from the front, have a node.
  int64_t PlaceUpTo(ClassId pod_class, std::span<const PodId> pods, const SearchOptions& options,
                    std::vector<Placement>& placements);

  /// kube-scheduler's FailedScheduling message, "0/3 nodes are available: ...". With a priority it ends in what preemption
  /// could do, as upstream's does; nothing is added about preemption if it would help. O(nodes), and forks inside.
  std::string FailureMessage(ClassId pod_class, std::optional<int32_t> priority = std::nullopt);

 private:
  struct ShapeEntry {
    NodeShape shape;
    std::string key;
    uint32_t users = 0;
  };
  struct NodeRow {
    std::string name;
    std::optional<std::string> hostname;
    bool present = false;
    uint32_t position = kNone;
    std::vector<PodId> pods;
    std::vector<Copies> copies;
    std::vector<std::pair<HostPort, int64_t>> ports;  // with how many pods have it
    int64_t volume_pods = 0;                          // pods with claims or disks
    /// Of a node that was made from a template; the limits of others are told by their CSINodes.
    std::shared_ptr<const VolumeLimits> volume_limits;
    std::shared_ptr<const NodeSlices> slices;  ///< likewise
  };
  struct PodRow {
    std::string key;
    uint64_t uid_hash = 0;
    ClassId pod_class = kNone;
    NodeId node = kNone;
    uint32_t at_node = 0, at_class = 0;  // where it stands in the lists of its node and class
    int32_t priority = 0;
    bool assumed = false;  // placed by us, not yet confirmed by an event
  };
  struct Template {
    ShapeId shape = kNone;
    bool has_hostname = false;
    std::vector<Amount> allocatable;
    std::shared_ptr<const VolumeLimits> volume_limits;
    std::shared_ptr<const NodeSlices> slices;
    bool used = false;
  };
  /// Positions per entry of block_room_: few enough to look through when one node has changed.
  static constexpr uint32_t kBlock = 64;
  enum class Op : uint8_t { kPlace, kUnplace, kCopies, kAddNode, kDropNode, kShape, kDevices };
  struct Change {
    Op op;
    uint32_t a, b;  // pod or class, node; for kShape: node, shape before
    int64_t pods;
  };
  /// Why a node is refused now: for good as long as only pods of this class are added, or until counts have changed.
  enum class Answer : uint8_t { kFits, kNever, kNotNow };

  // snapshot.cc: events
  PodId MakePod(std::string_view key);
  void DeletePod(PodId pod);
  void SetClass(PodId pod, ClassId pod_class);
  void ForgetClass(ClassId id, PodClass& gone);
  void CollectGarbage();

  // snapshot_nodes.cc: rows of nodes
  size_t Row(NodeId node) const { return static_cast<size_t>(node) * stride_; }
  NodeId MakeNode(std::string_view name);
  void FreeNodeIfUnused(NodeId node);
  void WidenRows();
  ShapeId InternShape(NodeShape shape);
  void ReleaseShape(ShapeId shape);
  /// Whether that changed anything.
  bool SetAllocatable(NodeId node, const std::vector<Amount>& amounts);
  std::vector<Amount> Amounts(const kube::ResourceList& list);
  void Attach(NodeId node);
  void Detach(NodeId node);
  void ChangeShape(NodeId node, ShapeId shape);
  void EnsureOrder();
  void Touch(NodeId node);
  void RefreshBlock(size_t block);

  // snapshot_what_if.cc: changes and how they are taken back
  void Assume(PodId pod, bool assumed);
  /// Off its node, with its devices still in use.
  void Vacate(PodId pod);
  void Keep(ClassId pod_class, NodeId node, int64_t pods);
  void Record(Op op, uint32_t a, uint32_t b, int64_t pods = 0);
  void Undo(const Change& change);
  void PutOn(PodId pod, NodeId node);
  void TakeOff(PodId pod);
  void AddCopies(ClassId pod_class, NodeId node, int64_t pods);
  /// `pods` more (or fewer) of the class on the node: room, ports, volumes, counters.
  void Occupy(PodClass& pod_class, NodeId node, int64_t pods);
  void Reshape(NodeId node, NodeShape shape);
  void ShowNode(NodeId node);

  // snapshot_topology.cc: counters
  void Count(const PodClass& pod_class, NodeId node, int64_t pods);
  void CountOne(Counter& counter, NodeId node, int64_t pods);
  bool Eligible(Counter& counter, NodeId node);
  void RegisterClass(ClassId id);
  void RegisterTerms(ClassId id);
  CounterId UseCounter(Counter&& counter);
  void ReleaseCounter(CounterId id);
  uint32_t UseKey(const std::string& key);
  void JoinCounter(CounterId id, PodClass& pod_class);
  void CountAll(CounterId id);
  bool CounterMatches(const Counter& counter, const PodClass& pod_class) const;
  TermMatcher MatcherOf(const AffinityTerm& term, const PodClass& pod_class) const;
  Counter SpreadCounter(const SpreadConstraint& constraint, const PodClass& pod_class, const std::vector<uint32_t>& keys) const;

  // snapshot_search.cc
  void Prepare(PodClass& pod_class);
  uint8_t Verdict(PodClass& pod_class, NodeId node);
  uint8_t ComputeVerdict(const SpecEntry& spec, NodeId node) const;
  bool HasRoom(const PodClass& pod_class, NodeId node) const;
  bool BlockHasRoom(const PodClass& pod_class, size_t block);
  Answer Ask(PodClass& pod_class, NodeId node);
  Answer AskDynamic(PodClass& pod_class, NodeId node);
  int64_t Room(const PodClass& pod_class, NodeId node) const;
  bool Plain(const PodClass& pod_class) const { return pod_class.simple() && pod_class.topology.empty(); }
  int64_t Progress(const PodClass& pod_class) const;
  uint64_t Now(const PodClass& pod_class) const;
  /// put(node, how many were put before, how many now).
  using Put = std::function<void(NodeId, int64_t, int64_t)>;
  class Sequence;
  class Filler;
  /// `of`: the pods, where they can be of other classes.
  int64_t Fill(ClassId id, int64_t pods, const SearchOptions& options, std::vector<Placement>& placements, const Put& put,
               std::span<const PodId> of);

  // snapshot_devices.cc
  struct WantedDevices {
    std::vector<ClaimToAllocate> claims;
    std::vector<size_t> entries;  ///< of which entry a claim is; the last without one is that of the extended resources
    std::optional<ExtendedClaim> extended;
  };
  using CopiesOnNode = std::pair<ClassId, NodeId>;
  struct DeviceChange {
    ClaimState* claim = nullptr;
    ClaimLayer layer{};  ///< before
    PodId pod = kNone;
    std::optional<CopiesOnNode> copies{};
    bool went = false;                        ///< the copy
    std::shared_ptr<const OwnDevices> own{};  ///< of the pod before; of a copy that went
  };
  bool HasDeviceClass(ResourceId resource) const {
    return resource >= kFirstExtended && devices_.has_classes() && !devices_.ClassOf(resources_.Name(resource)).empty();
  }
  /// Whether the resource is no matter of amounts on the node: it has none, and a DeviceClass stands behind it.
  bool ServedByClaims(ResourceId resource, NodeId node) const {
    return HasDeviceClass(resource) && Allocatable(node, resource) == 0;
  }
  void PrepareDevices(PodClass& pod_class);
  DeviceNode DeviceNodeOf(NodeId node) const { return {node, LabelsOf(node), nodes_[node].slices.get()}; }
  /// `copy`: its own claims are not those of the pod that the class was made of.
  WantedDevices Wanted(const PodClass& pod_class, NodeId node, bool copy) const;
  /// kNone: there is none.
  uint32_t DeviceShape(PodClass& pod_class);
  bool ClaimsReach(const PodClass& pod_class, NodeId node) const;
  bool DevicesFit(PodClass& pod_class, NodeId node);
  Fit CheckDevices(PodClass& pod_class, NodeId node);
  void TakeDevices(PodId pod, NodeId node);
  void GiveBackDevices(PodId pod);
  void TakeForCopies(ClassId pod_class, NodeId node, int64_t pods);
  void GiveBackCopies(ClassId pod_class, NodeId node, int64_t pods);
  /// What is no object; and the objects' new layers, reserved for `reserver`.
  std::shared_ptr<const OwnDevices> Allocate(PodClass& pod_class, NodeId node, bool copy, uint64_t reserver);
  void LeaveClaim(ClaimState& claim, uint64_t reserver, bool owner);
  void SetLayer(ClaimState& claim, ClaimLayer layer);
  void SetOwn(PodId pod, std::shared_ptr<const OwnDevices> own);
  void UndoDevices();
  void EndFlights();

  // snapshot_check.cc
  bool PortsFree(const PodSpec& spec, NodeId node) const;
  bool DisksFree(const PodClass& pod_class, NodeId node);
  bool ClaimsFree(const PodClass& pod_class) const;
  bool VolumesWithinLimits(PodClass& pod_class, NodeId node);
  void CheckResources(const PodClass& pod_class, NodeId node, Fit& fit) const;

  // snapshot_rules.cc: these four answer with the number of the first constraint or term that is not kept; nothing: all are.
  std::optional<size_t> SpreadMisfit(const PodClass& pod_class, NodeId node) const;
  std::optional<size_t> AffinityMisfit(const ClassTopology& topology, NodeId node) const;
  std::optional<size_t> OwnAntiAffinityMisfit(const ClassTopology& topology, NodeId node) const;
  std::optional<size_t> OthersAntiAffinityMisfit(const ClassTopology& topology, NodeId node) const;
  Fit CheckTaints(const PodClass& pod_class, NodeId node) const;
  Fit CheckNodeAffinity(const PodClass& pod_class, NodeId node) const;
  Fit CheckSpread(const PodClass& pod_class, NodeId node) const;
  Fit CheckPodAffinity(const PodClass& pod_class, NodeId node) const;
  /// "zone=a": the domain of the node.
  std::string DomainText(const Counter& counter, NodeId node) const;

  // snapshot_check.cc
  /// visit(PodClass&, how many pods of it): a class can come several times.
  template <typename Visit>
  void ForEachClassOn(NodeId node, const Visit& visit) {
    for (const PodId pod : nodes_[node].pods) visit(classes_[pods_[pod].pod_class], int64_t{1});
    for (const Copies& copies : nodes_[node].copies) visit(classes_[copies.pod_class], copies.pods);
  }

  // failure_message.cc
  std::string PreemptionMessage(ClassId pod_class, int32_t priority, const std::vector<std::pair<NodeId, Fit>>& fits);

  ResourceNames resources_;
  ClassTable classes_;
  VolumeCatalog volumes_;
  std::unordered_map<std::string, kube::Labels> namespaces_;
  bool negative_namespaces_match_all_ = false;

  std::deque<PodRow> pods_;  // rows do not move: keys are looked up by reference
  std::vector<PodId> free_pods_;
  std::unordered_map<std::string_view, PodId> pod_by_key_;

  std::deque<NodeRow> nodes_;
  std::vector<NodeId> free_nodes_;
  std::unordered_map<std::string_view, NodeId> node_by_name_;
  size_t node_count_ = 0;
  size_t stride_ = kFirstExtended;
  std::vector<int64_t> allocatable_, free_;  // rows of `stride_` amounts per node
  std::vector<ShapeId> shape_of_;
  std::vector<Template> templates_;

  std::vector<ShapeEntry> shapes_;
  std::vector<ShapeId> free_shapes_;
  std::unordered_map<std::string, ShapeId> shape_by_key_;

  std::vector<NodeId> order_;      // by position
  std::vector<NodeId> new_nodes_;  // present, not yet in order_
  bool order_has_holes_ = false;
  std::vector<int64_t> block_room_;  // per 64 positions: the most that any node has of each resource
  std::vector<uint8_t> block_stale_;

  std::vector<TopologyKey> keys_;
  std::unordered_map<std::string, uint32_t> key_index_;
  std::vector<std::unique_ptr<Counter>> counters_;
  std::vector<uint64_t> counter_bits_;
  std::unordered_map<std::string, CounterId> counter_by_text_;
  std::vector<CounterId> free_counters_, spread_counters_;
  std::unordered_map<std::string, int64_t> claim_users_;  // pods on nodes by "namespace/claim"

  std::set<PodId> assumed_;                             // rows that say so
  std::map<std::pair<ClassId, NodeId>, int64_t> kept_;  // copies that were placed outside forks

  DeviceCatalog devices_;
  std::map<PodId, std::shared_ptr<const OwnDevices>> own_of_pods_;
  std::map<CopiesOnNode, std::vector<std::shared_ptr<const OwnDevices>>> own_of_copies_;  // a copy each
  std::vector<DeviceChange> device_changes_;                                              // those of log_

  std::vector<Change> log_;
  std::vector<size_t> marks_;
  /// Count up with every change, and with every change that could let a pod without affinity and spread in.
  uint64_t version_ = 1, relief_ = 1;
};

/// What a what-if begins with: everything, or the cluster as events have told of it.
enum class Layers : uint8_t { kAll, kTold };

/// A fork that is taken back at the end of its scope unless it was committed.
class WhatIf {
 public:
  explicit WhatIf(Snapshot& snapshot, Layers layers = Layers::kAll) : snapshot_(&snapshot) {
    snapshot.Fork();
    if (layers == Layers::kTold) snapshot.LiftUntold();
  }
  ~WhatIf() {
    if (snapshot_ != nullptr) snapshot_->Revert();
  }
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;
  void Commit() {
    snapshot_->Commit();
    snapshot_ = nullptr;
  }

 private:
  Snapshot* snapshot_;
};

}  // namespace evenkeel::scheduling
