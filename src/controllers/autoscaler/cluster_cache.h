// What the autoscaler sees of one member: informers of every kind that its rules ask about, feeding ClusterObjects. Objects go
// through and are not kept: of each only its identity and version stay behind.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/informer.h"
#include "controllers/autoscaler/cluster_objects.h"

namespace evenkeel::controllers::autoscaler {

/// A kind that is read, and which of its objects.
struct ReadKind {
  kube::Resource resource;
  std::string ns, field_selector;
  std::optional<kube::Resource> older{};  ///< read instead where the API does not serve this version yet
};
/// In the order in which they are listed. `options`: namespace and expanders.
std::vector<ReadKind> ReadKinds(const Options& options);

/// All that an informer needs to tell versions apart.
struct CachedObject {
  struct Meta {
    std::string uid, resource_version;
    uint32_t bytes = 0;
  };
  Meta meta;
  std::string key;
  mutable base::Json object;  ///< until the handler has taken it

  static CachedObject Decode(base::Json&& json);
};

/// Belongs to its strand, as ClusterObjects does.
class ClusterCache {
 public:
  struct Handlers {
    std::function<void()> pod_unschedulable;                   ///< a scheduler has just given up on a pod
    std::function<void(const std::string& node)> node_marked;  ///< a node with the taint ToBeDeleted has been seen
  };

  ClusterCache(client::Client& client, const std::shared_ptr<base::Strand>& strand, base::Clock& clock,
               const base::Random& random, const Options& options, Handlers handlers);

  void Start();
  /// Whether every kind has been listed once; begins with older versions of kinds that the API does not serve. Kinds that it
  /// does not serve at all have no objects.
  bool Sync();
  /// "pods, nodes (connection refused)": what has not been listed yet and why; "" when all has been.
  std::string Missing() const;

  ClusterObjects& objects() { return objects_; }
  /// A pod that waits for a node, as the API has it; kept only where --expander=grpc needs it. nullopt: there is none.
  std::optional<base::Json> PendingPod(scheduling::PodId pod) const;
  /// "" when there is no such pod (key "namespace/name") or node.
  std::string_view PodUid(const std::string& key) const { return UidOf("Pod", key); }
  std::string_view NodeUid(const std::string& name) const { return UidOf("Node", name); }

 private:
  using ObjectInformer = client::Informer<CachedObject>;
  struct Feed {
    std::string kind;
    std::unique_ptr<ObjectInformer> informer;
    std::unique_ptr<ObjectInformer> older;  ///< null: there is none
    bool older_started = false;
  };
  static bool NotServed(const ObjectInformer& informer);
  static bool Listed(const Feed& feed);
  std::string_view UidOf(std::string_view kind, const std::string& key) const;
  void Take(const std::string& kind, const CachedObject* before, const CachedObject* after);
  void Watch(const std::string& kind, const base::Json& object) const;
  void Keep(const std::string& key, base::Json&& pod);

  base::Clock& clock_;
  Handlers handlers_;
  ClusterObjects objects_;
  bool keeps_pending_;
  std::unordered_map<std::string, base::Json> pending_;  // by key
  std::vector<Feed> feeds_;
};

}  // namespace evenkeel::controllers::autoscaler
