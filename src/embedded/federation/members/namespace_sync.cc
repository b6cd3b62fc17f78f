#include "embedded/federation/members/namespace_sync.h"

#include "embedded/federation/policies/bindings.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
namespace karmada = kube::karmada;

}  // namespace

bool IsPropagated(const Json& ns) {
  const std::string_view name = kube::NameOf(ns);
  if (name == "default" || name.starts_with("kube-") || name.starts_with("karmada-")) return false;
  return base::FindString(ns, {"metadata", "labels", karmada::kSkipPropagation}) != "true";
}

NamespaceSync::NamespaceSync(Hub& hub)
    : hub_(hub),
      namespaces_(hub.client, kube::resources::Namespaces(), {}, hub.strand, hub.clock, hub.random.Fork("namespaces")),
      controller_("federation-namespaces", hub.strand, hub.clock, [this](const std::string& name) { return Reconcile(name); }) {
  controller_.WaitFor([this] { return hub_.synced() && namespaces_.synced(); });
  namespaces_.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    controller_.Enqueue((after ? after : before)->meta.name);
  });
  hub.clusters.AddHandler([this](const ObjectPointer& before, const ObjectPointer&) {
    if (before != nullptr) return;
    for (const auto& [name, ns] : namespaces_.items()) controller_.Enqueue(name);
  });
}

void NamespaceSync::Start() {
  if (!hub_.habits.syncs_namespaces) return;
  namespaces_.Start();
  controller_.Start();
}

NamespaceSync::Done NamespaceSync::Reconcile(const std::string& name) {
  const ObjectPointer ns = namespaces_.Get(name);
  const bool gone = ns == nullptr || ns->meta.deletion_time;
  const std::string work = karmada::WorkName("Namespace", name, "");
  for (const auto& [cluster_name, cluster] : hub_.clusters.items()) {
    const std::string execution = karmada::ExecutionNamespace(cluster_name);
    const ObjectPointer present = hub_.works.Get(execution + "/" + work);
    if (gone && present != nullptr && !present->meta.deletion_time) {
      const auto deleted = hub_.client.Delete(karmada::Works(), execution, work);
      if (!deleted && deleted.error().code() != base::Code::kNotFound) return base::Fail(deleted.error());
    }
    // One that gets the label later stays where it is already.
    if (gone || present != nullptr || cluster->meta.deletion_time || !IsPropagated(*ns->json)) continue;
    EVENKEEL_TRY(Bring(*ns, cluster_name, work));
  }
  return {};
}

base::Status NamespaceSync::Bring(const kube::Object& ns, const std::string& cluster, const std::string& work) {
  const std::string execution = karmada::ExecutionNamespace(cluster);
  Json manifest = kube::NewObject(kube::resources::Namespaces(), "", ns.meta.name);
  JsonObject labels{{kManagedLabel, "true"}};
  for (const auto& [key, value] : ns.meta.labels) labels[key] = value;
  base::Ensure(manifest, {"metadata", "labels"}) = std::move(labels);
  base::Ensure(manifest, {"metadata", "annotations"}) = JsonObject{{kWorkName, work}, {kWorkNamespace, execution}};
  Json object = kube::NewObject(karmada::Works(), execution, work);
  base::Ensure(object, {"metadata", "finalizers"}) = JsonArray{kExecutionFinalizer};
  base::Ensure(object, {"spec"}) = JsonObject{{"workload", JsonObject{{"manifests", JsonArray{std::move(manifest)}}}}};
  const auto created = hub_.client.Create(karmada::Works(), object);
  // The namespace of the cluster's Works is made when the cluster is seen.
  if (!created && created.error().code() == base::Code::kNotFound) return base::Fail(base::Code::kConflict, "not yet");
  if (!created && created.error().code() != base::Code::kAlreadyExists) return base::Fail(created.error());
  return {};
}

}  // namespace evenkeel::embedded::federation
