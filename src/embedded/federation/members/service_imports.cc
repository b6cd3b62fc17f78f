#include "embedded/federation/members/service_imports.h"

#include "client/definitions.h"
#include "embedded/federation/policies/event_kinds.h"
#include "embedded/federation/policies/services.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Json;
namespace karmada = kube::karmada;

/// On a derived Service: the import that it stands for.
constexpr char kDerivedFrom[] = "evenkeel.dev/derived-from";

bool IsMissing(const base::Error& error) { return error.code() == base::Code::kNotFound; }

}  // namespace

ServiceImporter::ServiceImporter(Hub& hub)
    : hub_(hub),
      imports_(hub.client, karmada::ServiceImports(), {}, hub.strand, hub.clock, hub.random.Fork("service imports")),
      slices_("federation-imported-slices", hub.strand, hub.clock,
              [this](const std::string& key) { return ReconcileWork(key); }),
      services_("federation-service-imports", hub.strand, hub.clock,
                [this](const std::string& key) { return ReconcileImport(key); }) {
  for (controllers::runtime::Controller* controller : {&slices_, &services_})
    controller->WaitFor([this] { return hub_.synced() && imports_.synced(); });
  hub.works.AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after != nullptr && !ServiceOfCollected(*after->json).empty()) slices_.Enqueue(after->meta.Key());
  });
  hub.clusters.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    // Nobody collects from a cluster that is no more.
    if (after != nullptr) return;
    for (const auto& [key, work] : hub_.works.items()) {
      if (work->meta.ns == karmada::ExecutionNamespace(before->meta.name)) slices_.Enqueue(key);
    }
  });
  imports_.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    services_.Enqueue((after ? after : before)->meta.Key());
  });
}

void ServiceImporter::Start() {
  imports_.Start();
  slices_.Start();
  services_.Start();
}

ServiceImporter::Done ServiceImporter::ReconcileWork(const std::string& key) {
  const ObjectPointer work = hub_.works.Get(key);
  if (work == nullptr || ServiceOfCollected(*work->json).empty()) return {};
  if (work->meta.deletion_time) return Release(*work);
  const auto cluster = karmada::ClusterOfExecutionNamespace(work->meta.ns);
  if (cluster && hub_.clusters.Get(*cluster) == nullptr) {
    const auto deleted = hub_.client.Delete(karmada::Works(), work->meta.ns, work->meta.name);
    if (!deleted && !IsMissing(deleted.error())) return base::Fail(deleted.error());
    return {};
  }
  const auto slice = ImportedSlice(*work->json);
  if (!slice) {
    hub_.events.Warning(*work->json, events::kInvalidEndpointSlice.reason, slice.error().message());
    return {};
  }
  const auto present = hub_.client.Get(kube::resources::EndpointSlices(), kube::NamespaceOf(*slice), kube::NameOf(*slice));
  if (!present) {
    if (!IsMissing(present.error())) return base::Fail(present.error());
    EVENKEEL_TRY(hub_.client.Create(kube::resources::EndpointSlices(), *slice));
    return {};
  }
  Json changed = *present;
  for (const char* field : {"endpoints", "ports", "addressType"}) {
    if (const Json* value = base::Find(*slice, {field})) changed.as_object()[field] = *value;
  }
  base::Ensure(changed, {"metadata", "labels"}) = *base::Find(*slice, {"metadata", "labels"});
  if (!base::Equal(changed, *present)) EVENKEEL_TRY(hub_.client.Update(kube::resources::EndpointSlices(), changed));
  return {};
}

ServiceImporter::Done ServiceImporter::Release(const kube::Object& work) {
  if (const auto slice = ImportedSlice(*work.json)) {
    const auto deleted = hub_.client.Delete(kube::resources::EndpointSlices(), kube::NamespaceOf(*slice), kube::NameOf(*slice));
    if (!deleted && !IsMissing(deleted.error())) return base::Fail(deleted.error());
  }
  EVENKEEL_TRY(KeepFinalizer(hub_.client, karmada::Works(), work, kCollectedFinalizer, false));
  return {};
}

ServiceImporter::Done ServiceImporter::ReconcileImport(const std::string& key) {
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  const ObjectPointer object = imports_.Get(key);
  Json wanted = object == nullptr || object->meta.deletion_time ? Json(nullptr) : DerivedService(*object->json);
  const auto& services = kube::resources::Services();
  const auto present = hub_.client.Get(services, ns, karmada::DerivedServiceName(name));
  if (!present && !IsMissing(present.error())) return base::Fail(present.error());
  const bool ours = present && base::FindString(*present, {"metadata", "labels", kDerivedFrom}) == name;
  if (wanted.is_null()) {
    if (!ours) return {};
    const auto deleted = hub_.client.Delete(services, ns, karmada::DerivedServiceName(name));
    if (!deleted && !IsMissing(deleted.error())) return base::Fail(deleted.error());
    return {};
  }
  base::Ensure(wanted, {"metadata", "labels", kDerivedFrom}) = name;
  if (!present) {
    EVENKEEL_TRY(hub_.client.Create(services, wanted));
    return {};
  }
  if (!ours) {
    hub_.events.Warning(*object->json, events::kServiceNameTaken.reason, "there is a Service of the derived name already");
    return {};
  }
  if (!client::SaysAll(*present, wanted)) {
    EVENKEEL_TRY(hub_.client.Patch(services, ns, karmada::DerivedServiceName(name), client::PatchType::kMerge, wanted));
  }
  return {};
}

}  // namespace evenkeel::embedded::federation
