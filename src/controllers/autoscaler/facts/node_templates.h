// What a new node of each node group would be like. From a healthy node of the group, without what is special about that one
// node; else from what such a node was like before; else from the provider's template, with the DaemonSet pods that would run
// there; else from an unhealthy node.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/processors/nodeinfosprovider/mixed_nodeinfos_processor.go
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/facts/template_slices.h"
#include "controllers/autoscaler/options/options.h"
#include "kube/types.h"
#include "scheduling/snapshot.h"

namespace evenkeel::controllers::autoscaler {

/// The Node object of a node that is there; null for nodes of a fork. For capacities, which the snapshot does not keep.
using NodeObjects = std::function<const kube::Node*(scheduling::NodeId)>;

struct NodeTemplate {
  enum class Source { kNode, kCache, kProvider, kUnreadyNode };

  std::string group;
  kube::Node node;  ///< named template-node-for-GROUP
  scheduling::TemplateId id = scheduling::kNone;
  std::vector<scheduling::Copies> pods;  ///< DaemonSet and static pods that such a node runs
  kube::ResourceList requested;          ///< by those pods, without "pods"
  /// What such a node takes of each driver's volumes; null: no limit is known.
  std::shared_ptr<const scheduling::VolumeLimits> volume_limits;
  std::shared_ptr<const scheduling::NodeSlices> slices;  ///< of devices that each has (SlicesOfNewNodes); null: none
  DevicePools device_pools;                              ///< in those
  Source source = Source::kNode;
  std::string source_node;  ///< the node that it was taken from
};

/// Whether templates leave out the taint: it says something about one node at one time, not about the group.
bool IsTransientTaint(const Options& options, std::string_view key);
struct Gpus {
  std::string type, resource;  ///< without a label the type is the resource
  int64_t count = 0;
};
/// What metrics count nodes by.
struct NodeKind {
  Gpus gpus{};
  std::string drivers{};  ///< of devices, as DriverNames has them
};
/// From the provider's GPU label and the known GPU resources. {"", "", 0}: no GPU node.
Gpus GpusOf(const kube::Node& node, const std::string& gpu_label);
/// Puts a node of the template into the snapshot, with its pods. `name` is changed if there is such a node already.
scheduling::NodeId AddTemplateNode(scheduling::Snapshot& snapshot, const NodeTemplate& node_template, std::string name);

/// Templates of all groups. Holds classes and templates of the snapshot, which must outlive it.
class NodeTemplates {
 public:
  NodeTemplates(scheduling::Snapshot& snapshot, Options options) : snapshot_(&snapshot), options_(std::move(options)) {}
  ~NodeTemplates();
  NodeTemplates(const NodeTemplates&) = delete;
  NodeTemplates& operator=(const NodeTemplates&) = delete;

  /// Once per loop, before upcoming nodes are added. O(nodes). Groups without any source have no template.
  void Update(const ClusterView& view, const NodeObjects& objects);
  /// In the place of Update, when that would find all as the last time.
  void PassLoop(base::Time now);
  /// Sets one directly.
  void Set(const std::string& group, kube::Node node, std::span<const base::Json> pods = {});

  /// Null: nobody knows what a node of the group would be like.
  const NodeTemplate* Find(std::string_view group) const;

  /// What nodes were like, by group, for groups that have none any more.
  base::Json CacheToJson() const;
  /// kBadRequest names the group that cannot be read.
  base::Status RestoreCache(const base::Field& groups);
  /// Grows when a group's entry has become another one.
  uint64_t cache_changes() const { return cache_changes_; }
  /// What nodes of the group have had of devices; empty: nobody knows, or nothing.
  DevicePools PoolsSeen(std::string_view group) const;
  /// Grows when new nodes of a group would have other pools of devices.
  uint64_t device_changes() const { return device_changes_; }

 private:
  /// Classes and the template are held for as long as the entry is there.
  struct Entry {
    NodeTemplate made;
    std::vector<scheduling::ClassId> held;
    scheduling::NodeSlices slices_of;  ///< what the slices were made from: slices of a node,
    base::Json slices_in;              ///< or what the provider says
  };
  struct Cached {
    kube::Node node;
    std::vector<base::Json> pods;
    std::shared_ptr<const scheduling::VolumeLimits> volume_limits;
    std::shared_ptr<const scheduling::NodeSlices> slices;
    std::string source_node;
    base::Time at{};
  };
  struct Sources {
    scheduling::NodeId good = scheduling::kNone, unready = scheduling::kNone;
  };

  base::Result<Cached> ReadCached(const base::Field& field) const;
  /// O(nodes), unless they are as they were.
  const std::map<std::string, Sources, std::less<>>& FindSources(const ClusterView& view);
  Entry FromNode(const ClusterView& view, const std::string& group, scheduling::NodeId node, const kube::Node& object);
  Entry FromParts(const std::string& group, kube::Node node, std::span<const base::Json> pods);
  Entry FromCache(const std::string& group, const Cached& cached);
  Entry FromProvider(const ClusterView& view, const providers::NodeGroup& group);
  /// They are made anew only if they have changed: a node has many devices, and each loop asks.
  void SetSlices(Entry& entry, scheduling::NodeSlices slices);
  void SetSlices(Entry& entry, const base::Json& template_node);
  void NoteDevices(const std::map<std::string, Entry, std::less<>>& made);
  void AddDaemons(const ClusterView& view, Entry& entry, const std::vector<std::string>& running, bool all);
  void AddPod(Entry& entry, scheduling::ClassId pod_class) const;
  void Finish(Entry& entry);
  void Remember(const Entry& entry, base::Time now);
  /// But for when they were made.
  static bool Same(const Cached& a, const Cached& b);
  kube::Node Sanitize(const std::string& group, kube::Node node) const;
  void Release(Entry& entry);

  scheduling::Snapshot* snapshot_;
  Options options_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, Cached, std::less<>> cache_;
  uint64_t cache_changes_ = 0, device_changes_ = 0;
  std::map<std::string, Sources, std::less<>> sources_;  // of these nodes, at these times
  uint64_t sources_of_ = 0;
  Holding sources_hold_;
};

}  // namespace evenkeel::controllers::autoscaler
