// One informer per kind and cluster, shared by all controllers of the cluster, with the indexes they need.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "client/informer.h"
#include "kube/object.h"
#include "kube/types.h"

namespace evenkeel::embedded::workloads {

/// A Node with its JSON: conditions and what else the view leaves out.
struct NodeItem : kube::Node {
  std::shared_ptr<const base::Json> json;
  static NodeItem Decode(const base::Json& json);
};

/// Objects by the uid of their controller, and those without one by namespace. Kept by the informer's events.
template <typename T>
class OwnedIndex {
 public:
  using Items = std::map<std::string, std::shared_ptr<const T>>;  ///< by key

  void Update(const std::shared_ptr<const T>& before, const std::shared_ptr<const T>& after) {
    if (before != nullptr) {
      Items& items = Bucket(before->meta);
      items.erase(before->meta.Key());
      if (items.empty()) EraseBucket(before->meta);
    }
    if (after != nullptr) Bucket(after->meta)[after->meta.Key()] = after;
  }
  const Items& OwnedBy(const std::string& uid) const { return FindIn(owned_, uid); }
  const Items& Orphans(const std::string& ns) const { return FindIn(orphans_, ns); }

 private:
  using Buckets = std::map<std::string, Items>;
  Items& Bucket(const kube::ObjectMeta& meta) {
    const kube::OwnerReference* owner = meta.Controller();
    return owner != nullptr ? owned_[owner->uid] : orphans_[meta.ns];
  }
  void EraseBucket(const kube::ObjectMeta& meta) {
    const kube::OwnerReference* owner = meta.Controller();
    owner != nullptr ? owned_.erase(owner->uid) : orphans_.erase(meta.ns);
  }
  static const Items& FindIn(const Buckets& buckets, const std::string& key) {
    static const Items none;
    auto found = buckets.find(key);
    return found == buckets.end() ? none : found->second;
  }
  Buckets owned_, orphans_;
};

using PodPointer = std::shared_ptr<const kube::Pod>;
using NodePointer = std::shared_ptr<const NodeItem>;
using ObjectPointer = std::shared_ptr<const kube::Object>;

/// Belongs to one strand, like the informers in it.
class SharedInformers {
 public:
  /// Told of every change of every kind. before null: added; after null: deleted.
  using MetaHandler =
      std::function<void(const kube::Resource& resource, const kube::ObjectMeta* before, const kube::ObjectMeta* after)>;

  SharedInformers(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random);

  client::Informer<kube::Pod>& pods() { return pods_; }
  client::Informer<NodeItem>& nodes() { return nodes_; }
  /// Any other kind. Created on the first call; later calls answer the same one.
  client::Informer<kube::Object>& Of(const kube::Resource& resource);

  const OwnedIndex<kube::Pod>& owned_pods() const { return owned_pods_; }
  /// Pods bound to that node, by key.
  const std::map<std::string, PodPointer>& PodsOn(const std::string& node) const;
  /// Pods of that namespace, by key.
  std::vector<PodPointer> PodsIn(const std::string& ns) const;
  /// The same for a kind other than pods; call it before Start.
  OwnedIndex<kube::Object>& Owned(const kube::Resource& resource);

  /// Before Start.
  void AddMetaHandler(MetaHandler handler) { meta_handlers_.push_back(std::move(handler)); }
  /// Watches every built-in kind that can be listed, and every kind that an established CRD defines, as they come and go.
  /// Before Start; again does nothing.
  void WatchEverything();
  /// The kinds there are: built in and from CRDs, one version of each.
  std::vector<const kube::Resource*> Kinds() const;
  /// The kind by apiVersion (any version of its group) and kind; null when unknown.
  const kube::Resource* FindKind(const std::string& api_version, const std::string& kind) const;

  void Start();
  /// Whether the first lists of the built-in kinds that are watched have arrived.
  bool synced() const;

 private:
  struct Generic {
    kube::Resource resource;
    std::unique_ptr<client::Informer<kube::Object>> informer;
    std::unique_ptr<OwnedIndex<kube::Object>> owned;
    bool custom = false;
  };
  Generic& Entry(const kube::Resource& resource, bool custom);
  void TellMeta(const kube::Resource& resource, const kube::ObjectMeta* before, const kube::ObjectMeta* after);
  void OnCrd(const ObjectPointer& before, const ObjectPointer& after);

  client::Client& client_;
  std::shared_ptr<base::Strand> strand_;
  base::Clock& clock_;
  base::Random random_;
  client::Informer<kube::Pod> pods_;
  client::Informer<NodeItem> nodes_;
  OwnedIndex<kube::Pod> owned_pods_;
  std::map<std::string, std::map<std::string, PodPointer>> pods_on_;
  std::map<std::string, Generic> generic_;  // by GROUP/PLURAL
  std::vector<MetaHandler> meta_handlers_;
  bool everything_ = false;
  bool started_ = false;
};

/// Built-in kinds that hold objects: can be listed, watched and deleted; one version of each.
const std::vector<const kube::Resource*>& StoredBuiltIns();

}  // namespace evenkeel::embedded::workloads
