#include "controllers/rollout/zookeeper/hub/hub_reading.h"

#include <algorithm>

#include "controllers/rollout/zookeeper/reading/copies.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

namespace karmada = kube::karmada;
using base::FindString;
using base::Json;

/// Null where there is none.
base::Result<Json> GetIfThere(client::Client& hub, const kube::Resource& resource, std::string_view ns, std::string_view name) {
  auto object = hub.Get(resource, ns, name);
  if (object) return object;
  if (object.error().code() == base::Code::kNotFound) return Json();
  return base::Fail(object.error().Wrap("read " + resource.kind + " " + std::string(ns) + "/" + std::string(name)));
}

/// Appends the items; a kind that is not served has none.
base::Status AppendAll(client::Client& hub, const kube::Resource& resource, std::string_view ns, bool needed,
                       HubReading& reading, std::vector<Json>& items) {
  auto page = client::ListAll(hub, resource, {.ns = std::string(ns)});
  if (!page && page.error().code() == base::Code::kNotFound) {
    if (needed && reading.missing_kind.empty()) reading.missing_kind = resource.QualifiedPlural();
    return {};
  }
  if (!page) return base::Fail(page.error().Wrap("list " + resource.QualifiedPlural()));
  for (Json& item : page->items) {
    base::Ensure(item, {"apiVersion"}) = resource.ApiVersion();
    base::Ensure(item, {"kind"}) = resource.kind;
    items.push_back(std::move(item));
  }
  return {};
}

/// Where copies are to go, as the policy says: whether the Works say so, too.
base::Status ReadWorks(client::Client& hub, const Json& ensemble, HubReading& reading) {
  const std::string name(kube::NameOf(ensemble)), ns(kube::NamespaceOf(ensemble));
  EnsembleSpec spec;
  spec.name = name;
  const Json* policy = reading.Find(karmada::PropagationPolicies().kind, ServersPolicyName(spec));
  const Json* keeps = policy == nullptr ? nullptr : base::Find(*policy, {"spec", kKeepsField});
  const bool releases = keeps != nullptr && keeps->is_bool() && !keeps->get_bool();
  if (!releases && base::Find(ensemble, {"metadata", "deletionTimestamp"}) == nullptr) return {};
  const std::string work = karmada::WorkName(ZooKeepers().kind, name, ns);
  for (const std::string& cluster : BoundClusters(reading.Objects())) {
    auto found = GetIfThere(hub, karmada::Works(), karmada::ExecutionNamespace(cluster), work);
    // Roles of before do not let it look: then the binding's word has to do.
    if (!found && found.error().code() == base::Code::kForbidden) return {};
    if (!found) return base::Fail(found.error());
    if (!found->is_null()) reading.works.push_back(*std::move(found));
  }
  return {};
}

}  // namespace

const std::vector<const kube::Resource*>& ChildKinds() {
  static const std::vector<const kube::Resource*> kinds{&karmada::OverridePolicies(), &karmada::PropagationPolicies(),
                                                        &karmada::ServiceExports()};
  return kinds;
}

const kube::Resource* FindKind(std::string_view kind) {
  if (kind == ZooKeepers().kind) return &ZooKeepers();
  const auto found = std::ranges::find_if(ChildKinds(), [&](const kube::Resource* resource) { return resource->kind == kind; });
  return found == ChildKinds().end() ? nullptr : *found;
}

FleetObjects HubReading::Objects() const {
  FleetObjects objects;
  if (!zookeeper.is_null()) objects.zookeeper = &zookeeper;
  if (!binding.is_null()) objects.binding = &binding;
  for (const Json& cluster : clusters) objects.clusters.push_back(&cluster);
  objects.all_clusters = true;
  for (const Json& child : children) objects.children.push_back(&child);
  for (const Json& policy : cluster_overrides) objects.cluster_overrides.push_back(&policy);
  for (const Json& work : works) objects.works.push_back(&work);
  return objects;
}

const Json* HubReading::Find(std::string_view kind, std::string_view name) const {
  if (kind == ZooKeepers().kind) return zookeeper.is_null() ? nullptr : &zookeeper;
  const auto found = std::ranges::find_if(
      children, [&](const Json& child) { return FindString(child, {"kind"}) == kind && kube::NameOf(child) == name; });
  return found == children.end() ? nullptr : &*found;
}

base::Result<HubReading> ReadHub(client::Client& hub, const Json& ensemble) {
  const std::string_view ns = kube::NamespaceOf(ensemble);
  const std::string name(kube::NameOf(ensemble));
  HubReading reading;
  EVENKEEL_ASSIGN(reading.zookeeper, GetIfThere(hub, ZooKeepers(), ns, name));
  EVENKEEL_ASSIGN(reading.binding,
                  GetIfThere(hub, karmada::ResourceBindings(), ns, karmada::BindingName(ZooKeepers().kind, name)));
  if (FindString(reading.binding, {"spec", "resource", "kind"}) != ZooKeepers().kind) reading.binding = nullptr;
  const bool exports = FindString(ensemble, {"spec", "naming", "mode"}, "clusterset") == "clusterset";
  for (const kube::Resource* kind : ChildKinds()) {
    EVENKEEL_TRY(AppendAll(hub, *kind, ns, kind != &karmada::ServiceExports() || exports, reading, reading.children));
    if (kind == &karmada::OverridePolicies()) reading.serves_overrides = reading.missing_kind.empty();
  }
  // Only to say that they are not honoured: roles of before do not let it look.
  if (const auto listed = AppendAll(hub, karmada::ClusterOverridePolicies(), "", false, reading, reading.cluster_overrides);
      !listed && listed.error().code() != base::Code::kForbidden) {
    return base::Fail(listed.error());
  }
  // An API of its own may serve them, which is away by itself.
  if (const auto listed = AppendAll(hub, karmada::Clusters(), "", true, reading, reading.clusters); !listed) {
    reading.clusters_error = listed.error();
  }
  EVENKEEL_TRY(ReadWorks(hub, ensemble, reading));
  return reading;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
