#include "embedded/federation/members/endpoint_collector.h"

#include <algorithm>
#include <set>

#include "client/definitions.h"
#include "embedded/federation/policies/services.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
namespace karmada = kube::karmada;

constexpr base::Duration kListPause = std::chrono::milliseconds(200);

/// The Services that a Work exports from its member.
std::set<std::string> ExportedBy(const Json& work) {
  std::set<std::string> services;
  for (const Json& manifest : FindArray(work, {"spec", "workload", "manifests"})) {
    if (FindString(manifest, {"kind"}) == karmada::ServiceExports().kind) services.insert(kube::KeyOf(manifest));
  }
  return services;
}

bool IsApplied(const kube::Object& work) {
  return !work.meta.deletion_time && kube::ConditionStatus(*work.json, "Applied") == "True";
}

std::string ServiceOfSlice(const Json& slice) {
  return std::string(kube::NamespaceOf(slice)) + "/" +
         std::string(FindString(slice, {"metadata", "labels", kServiceNameLabel}));
}

}  // namespace

EndpointCollector::EndpointCollector(std::string cluster, client::Client& hub, client::Client& member, ObjectInformer& works,
                                     std::shared_ptr<base::Strand> strand, base::Clock& clock, const base::Random& random)
    : cluster_(std::move(cluster)),
      hub_(hub),
      works_(works),
      slices_(member, kube::resources::EndpointSlices(), {.label_selector = kServiceNameLabel}, strand, clock,
              random.Fork("slices")),
      controller_("federation-endpoints", strand, clock, [this](const std::string& key) { return Reconcile(key); }) {
  controller_.WaitFor([this] { return works_.synced(); });
  works.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    for (const ObjectPointer& work : {before, after}) {
      if (work == nullptr) continue;
      for (const std::string& service : ExportedBy(*work->json)) controller_.Enqueue(service);
      if (const std::string service = ServiceOfCollected(*work->json); !service.empty()) controller_.Enqueue(service);
    }
  });
  slices_.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    for (const ObjectPointer& slice : {before, after}) {
      if (slice != nullptr && IsOwnSlice(*slice->json)) controller_.Enqueue(ServiceOfSlice(*slice->json));
    }
  });
}

bool EndpointCollector::Exports(const std::string& service) const {
  return std::ranges::any_of(works_.items(), [&](const auto& item) {
    return IsApplied(*item.second) && ExportedBy(*item.second->json).contains(service);
  });
}

EndpointCollector::Done EndpointCollector::Reconcile(const std::string& service) {
  std::set<std::string> wanted;
  if (Exports(service)) {
    if (!std::exchange(watching_, true)) slices_.Start();
    if (!slices_.synced()) return controllers::runtime::ReconcileResult{kListPause};
    for (const auto& [key, slice] : slices_.items()) {
      if (slice->meta.deletion_time || !IsOwnSlice(*slice->json) || ServiceOfSlice(*slice->json) != service) continue;
      const Json work = CollectedWork(*slice->json, cluster_);
      wanted.insert(kube::KeyOf(work));
      EVENKEEL_TRY(Write(work));
    }
  }
  for (const auto& [key, work] : works_.items()) {
    if (work->meta.deletion_time || wanted.contains(key) || ServiceOfCollected(*work->json) != service) continue;
    const auto deleted = hub_.Delete(karmada::Works(), work->meta.ns, work->meta.name);
    if (!deleted && deleted.error().code() != base::Code::kNotFound) return base::Fail(deleted.error());
  }
  return {};
}

base::Status EndpointCollector::Write(const Json& work) {
  const ObjectPointer present = works_.Get(kube::KeyOf(work));
  if (present == nullptr) {
    EVENKEEL_TRY(hub_.Create(karmada::Works(), work));
    return {};
  }
  if (present->meta.deletion_time) return {};  // once it is gone, that is a change
  Json changed = *present->json;
  base::Ensure(changed, {"spec"}) = *base::Find(work, {"spec"});
  base::Ensure(changed, {"metadata", "labels"}) = *base::Find(work, {"metadata", "labels"});
  if (base::Equal(changed, *present->json)) return {};
  EVENKEEL_TRY(hub_.Update(karmada::Works(), changed));
  return {};
}

}  // namespace evenkeel::embedded::federation
