#include "controllers/autoscaler/cluster_cache.h"

#include <algorithm>

#include "controllers/autoscaler/expander.h"
#include "controllers/autoscaler/removal_simulation.h"
#include "scheduling/reservations.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::FindString;
using base::Json;

/// A condition that is older than this is news only to us.
constexpr base::Duration kFreshCondition = std::chrono::seconds(10);

kube::Resource ResourceOf(std::string_view api_version, std::string_view kind, std::string_view plural, bool namespaced) {
  if (const kube::Resource* known = kube::FindBuiltInKind(api_version, kind)) return *known;
  kube::Resource resource;
  kube::SplitApiVersion(api_version, resource.group, resource.version);
  resource.kind = kind;
  resource.plural = plural;
  resource.namespaced = namespaced;
  return resource;
}

bool JustFoundUnschedulable(const Json& pod, base::Time now) {
  if (!FindString(pod, {"spec", "nodeName"}).empty()) return false;
  const Json* condition = kube::FindCondition(pod, "PodScheduled");
  if (condition == nullptr || FindString(*condition, {"status"}) != "False") return false;
  if (FindString(*condition, {"reason"}) != "Unschedulable") return false;
  const auto since = base::ParseTime(FindString(*condition, {"lastTransitionTime"}));
  return since && *since + kFreshCondition > now;
}

}  // namespace

std::vector<ReadKind> ReadKinds(const Options& options) {
  std::vector<ReadKind> kinds;
  const auto add = [&kinds](std::string_view api_version, std::string_view kind, std::string_view plural, bool namespaced,
                            std::string ns = "", std::string fields = "") {
    kinds.push_back({ResourceOf(api_version, kind, plural, namespaced), std::move(ns), std::move(fields)});
  };
  add("v1", "Node", "nodes", false);
  add("v1", "Pod", "pods", true, "", "status.phase!=Succeeded,status.phase!=Failed");
  add("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true);
  kinds.back().older = ResourceOf("policy/v1beta1", "PodDisruptionBudget", "poddisruptionbudgets", true);
  add("apps/v1", "DaemonSet", "daemonsets", true);
  add("apps/v1", "ReplicaSet", "replicasets", true);
  add("apps/v1", "StatefulSet", "statefulsets", true);
  add("batch/v1", "Job", "jobs", true);
  add("v1", "ReplicationController", "replicationcontrollers", true);
  add("v1", "Namespace", "namespaces", false);
  add("v1", "PersistentVolumeClaim", "persistentvolumeclaims", true);
  add("v1", "PersistentVolume", "persistentvolumes", false);
  add("storage.k8s.io/v1", "StorageClass", "storageclasses", false);
  add("storage.k8s.io/v1", "CSINode", "csinodes", false);
  add("storage.k8s.io/v1", "CSIDriver", "csidrivers", false);
  add("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", true);
  kinds.push_back({scheduling::BalancingPlans(), "", ""});
  if (std::ranges::find(options.expander, "priority") != options.expander.end()) {
    add("v1", "ConfigMap", "configmaps", true, options.ns, "metadata.name=cluster-autoscaler-priority-expander");
  }
  return kinds;
}

CachedObject CachedObject::Decode(Json&& json) {
  CachedObject cached;
  cached.meta = {std::string(kube::UidOf(json)), std::string(kube::ResourceVersionOf(json))};
  cached.key = kube::KeyOf(json);
  cached.object = std::move(json);
  return cached;
}

ClusterCache::ClusterCache(client::Client& client, const std::shared_ptr<base::Strand>& strand, base::Clock& clock,
                           const base::Random& random, const Options& options, Handlers handlers)
    : clock_(clock),
      handlers_(std::move(handlers)),
      objects_(options),
      keeps_pending_(std::ranges::find(options.expander, "grpc") != options.expander.end()) {
  objects_.RequireOwners();
  for (const ReadKind& read : ReadKinds(options)) {
    const auto make = [&](const kube::Resource& resource, const std::string& stream) {
      client::InformerOptions informer{.ns = read.ns, .field_selector = read.field_selector};
      auto made = std::make_unique<ObjectInformer>(client, resource, std::move(informer), strand, clock, random.Fork(stream));
      made->AddHandler(
          [this, kind = resource.kind](const auto& before, const auto& after) { Take(kind, before.get(), after.get()); });
      return made;
    };
    Feed& feed = feeds_.emplace_back();
    feed.kind = read.resource.kind;
    feed.informer = make(read.resource, read.resource.plural);
    if (read.older) feed.older = make(*read.older, read.older->plural + "." + read.older->version);
  }
}

void ClusterCache::Start() {
  for (const Feed& feed : feeds_) feed.informer->Start();
}

bool ClusterCache::NotServed(const ObjectInformer& informer) {
  const auto error = informer.last_error();
  return error && error->code() == base::Code::kNotFound;
}

bool ClusterCache::Listed(const Feed& feed) {
  if (feed.informer->synced()) return true;
  if (!NotServed(*feed.informer)) return false;
  return feed.older == nullptr || feed.older->synced() || NotServed(*feed.older);
}

bool ClusterCache::Sync() {
  for (Feed& feed : feeds_) {
    if (feed.older == nullptr || feed.older_started || feed.informer->synced() || !NotServed(*feed.informer)) continue;
    feed.older->Start();
    feed.older_started = true;
  }
  return std::ranges::all_of(feeds_, Listed);
}

std::string ClusterCache::Missing() const {
  std::string text;
  for (const Feed& feed : feeds_) {
    if (Listed(feed)) continue;
    text += (text.empty() ? "" : ", ") + feed.kind;
    if (const auto error = feed.informer->last_error()) text += " (" + error->message() + ")";
  }
  return text;
}

std::string_view ClusterCache::UidOf(std::string_view kind, const std::string& key) const {
  const auto feed = std::ranges::find(feeds_, kind, &Feed::kind);
  const auto found = feed->informer->Get(key);
  return found == nullptr ? std::string_view() : std::string_view(found->meta.uid);
}

void ClusterCache::Take(const std::string& kind, const CachedObject* before, const CachedObject* after) {
  if (after == nullptr) {
    objects_.Remove(kind, before->key);
    if (kind == "Pod") pending_.erase(before->key);
    return;
  }
  Json object = std::move(after->object);
  after->object = nullptr;
  if (!object.is_object()) return;
  if (FindString(object, {"kind"}).empty()) object.as_object()["kind"] = kind;
  objects_.Upsert(object);
  Watch(kind, object);
  if (keeps_pending_ && kind == "Pod") Keep(after->key, std::move(object));
}

void ClusterCache::Keep(const std::string& key, Json&& pod) {
  if (FindString(pod, {"spec", "nodeName"}).empty()) {
    pending_.insert_or_assign(key, std::move(pod));
  } else {
    pending_.erase(key);
  }
}

std::optional<Json> ClusterCache::PendingPod(scheduling::PodId pod) const {
  const auto found = pending_.find(objects_.PodKey(pod));
  return found == pending_.end() ? std::nullopt : std::optional<Json>(found->second);
}

void ClusterCache::Watch(const std::string& kind, const Json& object) const {
  if (kind == "Pod" && handlers_.pod_unschedulable && JustFoundUnschedulable(object, clock_.Now())) {
    handlers_.pod_unschedulable();
  } else if (kind == "Node" && handlers_.node_marked) {
    for (const Json& taint : base::FindArray(object, {"spec", "taints"})) {
      if (FindString(taint, {"key"}) == kToBeDeletedTaint) return handlers_.node_marked(std::string(kube::NameOf(object)));
    }
  }
}

}  // namespace evenkeel::controllers::autoscaler
