#include "embedded/federation/members/status_collector.h"

#include <algorithm>

#include "embedded/federation/policies/bindings.h"

namespace evenkeel::embedded::federation {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;

constexpr base::Duration kListingPause = std::chrono::milliseconds(100);

client::WriteOptions StatusOnly() { return {.subresource = "status", .field_manager = "", .dry_run = false}; }

/// Clusters of the schedule whose Work has not been applied, for people.
std::string NotApplied(const Json& binding, const JsonArray& items) {
  std::string names;
  for (const Share& target : TargetsOf(binding)) {
    const bool applied = std::ranges::any_of(items, [&](const Json& item) {
      return FindString(item, {"clusterName"}) == target.name && base::FindBool(item, {"applied"});
    });
    if (!applied) names += (names.empty() ? "" : ", ") + target.name;
  }
  return names;
}

}  // namespace

StatusCollector::StatusCollector(Hub& hub)
    : hub_(hub),
      controller_("federation-status", hub.strand, hub.clock, [this](const std::string& key) { return Reconcile(key); }) {
  controller_.WaitFor([this] { return hub_.synced(); });
  hub.works.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const Json& work = after ? *after->json : *before->json;
    const auto note = [&](const char* name) { return std::string(FindString(work, {"metadata", "annotations", name})); };
    const std::string ns = note("resourcebinding.karmada.io/namespace"), name = note("resourcebinding.karmada.io/name");
    if (!name.empty()) controller_.Enqueue(ns + "/" + name);
    if (const std::string other = note("clusterresourcebinding.karmada.io/name"); !other.empty()) controller_.Enqueue(other);
  });
  const auto changed = [this](const ObjectPointer& before, const ObjectPointer& after) {
    if (after != nullptr && (before == nullptr || before->meta.generation != after->meta.generation))
      controller_.Enqueue(after->meta.Key());
  };
  hub.bindings.AddHandler(changed);
  hub.cluster_bindings.AddHandler(changed);
}

StatusCollector::Done StatusCollector::Reconcile(const std::string& key) {
  const ObjectPointer binding = hub_.Binding(key);
  if (binding == nullptr || binding->meta.deletion_time) return {};
  const std::vector<ObjectPointer> present = hub_.WorksOf(*binding->json);
  std::vector<const Json*> works;
  for (const ObjectPointer& work : present) {
    if (!work->meta.deletion_time) works.push_back(work->json.get());
  }
  const JsonArray items = AggregatedStatusOf(works);
  Json changed = *binding->json;
  if (!items.empty() || base::Find(changed, {"status", "aggregatedStatus"}) != nullptr)
    base::Ensure(changed, {"status", "aggregatedStatus"}) = items;
  if (!TargetsOf(changed).empty()) {
    const std::string missing = NotApplied(changed, items);
    kube::SetCondition(changed, "FullyApplied", missing.empty() ? "True" : "False",
                       missing.empty() ? "FullyAppliedSuccess" : "FullyAppliedFailed",
                       missing.empty() ? "All works have been successfully applied" : "not applied in " + missing,
                       hub_.clock.Now());
  }
  if (!base::Equal(changed, *binding->json)) EVENKEEL_TRY(hub_.client.Update(Hub::BindingResource(key), changed, StatusOnly()));
  if (items.empty()) return {};
  const auto written = WriteTemplate(*binding->json, items);
  if (!written && written.error().code() == base::Code::kUnavailable)
    return controllers::runtime::ReconcileResult{kListingPause};
  if (!written) return base::Fail(written.error());
  return {};
}

base::Status StatusCollector::WriteTemplate(const Json& binding, const JsonArray& items) {
  EVENKEEL_ASSIGN(const ObjectPointer object, hub_.TemplateOf(binding));
  if (object == nullptr || object->meta.uid != FindString(binding, {"spec", "resource", "uid"})) return {};
  EVENKEEL_ASSIGN(const std::optional<Json> status, hub_.interpreter.Aggregate(*object->json, items));
  if (!status) return {};
  Json changed = *object->json;
  base::Ensure(changed, {"status"}) = *status;
  if (base::Equal(changed, *object->json)) return {};
  EVENKEEL_ASSIGN(const kube::Resource resource, hub_.templates.kinds().Find(std::string(FindString(changed, {"apiVersion"})),
                                                                             std::string(FindString(changed, {"kind"}))));
  const auto written = hub_.client.Update(resource, changed, StatusOnly());
  // A kind without a status subresource has no status to write.
  if (!written && written.error().code() != base::Code::kNotFound) return base::Fail(written.error());
  return {};
}

}  // namespace evenkeel::embedded::federation
