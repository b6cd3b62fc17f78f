#include "controllers/balancer/member/member_cache.h"

#include <algorithm>

namespace evenkeel::controllers::balancer::member {
namespace {

using base::Json;

kube::Resource ResourceOf(std::string_view api_version, std::string_view kind, std::string_view plural, bool namespaced) {
  if (const kube::Resource* known = kube::FindBuiltInKind(api_version, kind)) return *known;
  kube::Resource resource;
  kube::SplitApiVersion(api_version, resource.group, resource.version);
  resource.kind = kind;
  resource.plural = plural;
  resource.namespaced = namespaced;
  return resource;
}

bool Listed(const client::Informer<PassingObject>& informer) {
  if (informer.synced()) return true;
  const auto error = informer.last_error();
  return error && error->code() == base::Code::kNotFound;
}

}  // namespace

const std::vector<ReadKind>& ReadKinds() {
  static const std::vector<ReadKind> kinds{
      {ResourceOf("v1", "Node", "nodes", false), ""},
      {ResourceOf("v1", "Pod", "pods", true), "status.phase!=Succeeded,status.phase!=Failed"},
      {ResourceOf("apps/v1", "ReplicaSet", "replicasets", true), ""},
      {ResourceOf("apps/v1", "StatefulSet", "statefulsets", true), ""},
      {ResourceOf("v1", "ReplicationController", "replicationcontrollers", true), ""},
      {ResourceOf("v1", "Namespace", "namespaces", false), ""},
      {ResourceOf("v1", "PersistentVolumeClaim", "persistentvolumeclaims", true), ""},
      {ResourceOf("v1", "PersistentVolume", "persistentvolumes", false), ""},
      {ResourceOf("storage.k8s.io/v1", "StorageClass", "storageclasses", false), ""},
      {ResourceOf("storage.k8s.io/v1", "CSINode", "csinodes", false), ""},
      {ResourceOf("storage.k8s.io/v1", "CSIDriver", "csidrivers", false), ""},
      {ResourceOf("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", true), ""},
      {ResourceOf("v1", "ConfigMap", "configmaps", true), std::string("metadata.name=") + kAutoscalerStatus}};
  return kinds;
}

const kube::Resource& PodMetrics() {
  static const kube::Resource resource = [] {
    kube::Resource made;
    made.group = "metrics.k8s.io";
    made.version = "v1beta1";
    made.kind = "PodMetrics";
    made.plural = "pods";
    return made;
  }();
  return resource;
}

PassingObject PassingObject::Decode(Json&& json) {
  PassingObject passing;
  passing.meta = {std::string(kube::UidOf(json)), std::string(kube::ResourceVersionOf(json))};
  passing.key = kube::KeyOf(json);
  passing.object = std::move(json);
  return passing;
}

MemberCache::MemberCache(client::Client& client, const std::shared_ptr<base::Strand>& strand, base::Clock& clock,
                         const base::Random& random) {
  for (const ReadKind& read : ReadKinds()) {
    client::InformerOptions options{.field_selector = read.field_selector};
    auto informer = std::make_unique<ObjectInformer>(client, read.resource, std::move(options), strand, clock,
                                                     random.Fork(read.resource.plural));
    informer->AddHandler(
        [this, kind = read.resource.kind](const auto& before, const auto& after) { Take(kind, before.get(), after.get()); });
    feeds_.emplace_back(read.resource.kind, std::move(informer));
  }
}

void MemberCache::Start() {
  for (const auto& [kind, informer] : feeds_) informer->Start();
}

bool MemberCache::Synced() const {
  return std::ranges::all_of(feeds_, [](const auto& feed) { return Listed(*feed.second); });
}

std::string MemberCache::Missing() const {
  std::string text;
  for (const auto& [kind, informer] : feeds_) {
    if (Listed(*informer)) continue;
    text += (text.empty() ? "" : ", ") + kind;
    if (const auto error = informer->last_error()) text += " (" + error->message() + ")";
  }
  return text;
}

void MemberCache::Take(const std::string& kind, const PassingObject* before, const PassingObject* after) {
  if (after == nullptr) {
    objects_.Remove(kind, before->key);
    return;
  }
  Json object = std::move(after->object);
  after->object = nullptr;
  if (!object.is_object()) return;
  if (base::FindString(object, {"kind"}).empty()) object.as_object()["kind"] = kind;
  objects_.Upsert(object);
}

}  // namespace evenkeel::controllers::balancer::member
