// Managers of an object: apply with conflicts, and updates that take fields over.
// Follows: kubernetes@1.36 staging/src/k8s.io/apimachinery/pkg/util/managedfields
#include "embedded/apiserver/objects/managed_fields.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr std::string_view kBeforeFirstApply = "before-first-apply";
constexpr std::string_view kClientSideApply = "kubectl-client-side-apply";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

struct Manager {
  std::string name, operation, api_version, subresource, time;
  FieldSet fields;
};

std::vector<Manager> ManagersOf(const Json& object) {
  std::vector<Manager> managers;
  for (const Json& entry : base::FindArray(object, {"metadata", "managedFields"})) {
    const Json* fields = base::Find(entry, {"fieldsV1"});
    if (fields == nullptr) continue;
    managers.push_back({.name = std::string(base::FindString(entry, {"manager"})),
                        .operation = std::string(base::FindString(entry, {"operation"})),
                        .api_version = std::string(base::FindString(entry, {"apiVersion"})),
                        .subresource = std::string(base::FindString(entry, {"subresource"})),
                        .time = std::string(base::FindString(entry, {"time"})),
                        .fields = FieldSet::FromJson(*fields)});
  }
  return managers;
}

void StoreManagers(Json& object, std::vector<Manager> managers) {
  std::erase_if(managers, [](const Manager& manager) { return manager.fields.empty(); });
  // Appliers first, then by time.
  std::ranges::stable_sort(managers, [](const Manager& a, const Manager& b) {
    return std::tie(a.operation, a.time, a.name, a.api_version, a.subresource) <
           std::tie(b.operation, b.time, b.name, b.api_version, b.subresource);
  });
  JsonArray entries;
  for (const Manager& manager : managers) {
    JsonObject entry{{"manager", manager.name}, {"operation", manager.operation}, {"apiVersion", manager.api_version},
                     {"time", manager.time},    {"fieldsType", "FieldsV1"},       {"fieldsV1", manager.fields.ToJson()}};
    if (!manager.subresource.empty()) entry["subresource"] = manager.subresource;
    entries.push_back(std::move(entry));
  }
  base::Ensure(object, {"metadata", "managedFields"}) = std::move(entries);
}

Manager& FindOrAdd(std::vector<Manager>& managers, const ManagerIdentity& identity, std::string_view operation) {
  for (Manager& manager : managers) {
    const bool same = manager.name == identity.name && manager.operation == operation &&
                      manager.subresource == identity.subresource &&
                      (operation == "Apply" || manager.api_version == identity.api_version);
    if (same) return manager;
  }
  managers.push_back({.name = identity.name,
                      .operation = std::string(operation),
                      .api_version = identity.api_version,
                      .subresource = identity.subresource,
                      .time = base::FormatTime(identity.now),
                      .fields = {}});
  return managers.back();
}

// The managers of an object that nobody has applied yet. What kubectl's client-side apply wrote down as its own, and still is
// as it wrote it, stays apart: kubectl hands exactly that over when it goes on with server-side apply, and would take
// everything else away.
std::vector<Manager> FirstManagers(const Json& object, const kube::Schema* schema, const ManagerIdentity& identity) {
  FieldSet all = FieldsOf(object, schema);
  Manager client_side{.name = std::string(kClientSideApply),
                      .operation = "Update",
                      .api_version = identity.api_version,
                      .subresource = "",
                      .time = base::FormatTime(identity.now),
                      .fields = {}};
  const std::string_view text = base::FindString(object, {"metadata", "annotations", kLastApplied});
  const auto last = base::ParseJson(text.empty() ? "null" : text, "last applied configuration");
  if (last && last->is_object()) {
    FieldSet changed, removed;
    CompareFields(*last, object, schema, changed, removed);
    client_side.fields = FieldsOf(*last, schema);
    client_side.fields.Subtract(changed);
    client_side.fields.children["f:metadata"].children["f:annotations"].children["f:" + std::string(kLastApplied)].member =
        true;
    client_side.fields = client_side.fields.Intersection(all);
    all.Subtract(client_side.fields);
  }
  Manager rest = client_side;
  rest.name = kBeforeFirstApply;
  rest.fields = std::move(all);
  return {std::move(client_side), std::move(rest)};
}

base::Error ConflictsError(const std::vector<std::pair<const Manager*, FieldSet>>& conflicts) {
  base::ErrorDetails details;
  std::string text;
  size_t count = 0;
  for (const auto& [manager, fields] : conflicts) {
    std::string who = "conflict with \"" + manager->name + "\"";
    if (!manager->subresource.empty()) who += " with subresource \"" + manager->subresource + "\"";
    if (manager->operation == "Update") who += " using " + manager->api_version;
    const std::vector<std::string> paths = fields.Paths();
    count += paths.size();
    text += (text.empty() ? "" : "\n") + who + ":";
    if (paths.size() == 1) text += " " + paths[0];
    for (const std::string& path : paths) {
      if (paths.size() > 1) text += "\n- " + path;
      details.causes.push_back({.reason = "FieldManagerConflict", .message = who, .field = path});
    }
  }
  const std::string intro = "Apply failed with " + std::to_string(count) + " conflict" + (count == 1 ? "" : "s") + ": ";
  return {base::Code::kConflict, intro + text, std::move(details)};
}

Json WithoutManagedFields(const Json& object) {
  Json copy = object;
  base::Erase(copy, {"metadata", "managedFields"});
  return copy;
}

}  // namespace

base::Result<Json> ApplyConfig(const Json& live, const Json& config, const kube::Schema* schema,
                               const ManagerIdentity& identity, bool force) {
  const FieldSet applied = FieldsOf(config, schema);
  if (live.is_null()) {
    Json created = config;
    std::vector<Manager> managers;
    FindOrAdd(managers, identity, "Apply").fields = applied;
    StoreManagers(created, std::move(managers));
    return created;
  }
  std::vector<Manager> managers = ManagersOf(live);
  const Json before = WithoutManagedFields(live);
  if (managers.empty()) managers = FirstManagers(before, schema, identity);
  Json merged = MergeConfig(before, config, schema);
  FieldSet changed, removed;
  CompareFields(before, merged, schema, changed, removed);
  // A field that has a new value, or an old one that the config replaced as a whole.
  changed.Add(removed);

  Manager& mine = FindOrAdd(managers, identity, "Apply");
  const FieldSet last = mine.fields;
  std::vector<std::pair<const Manager*, FieldSet>> conflicts;
  for (const Manager& manager : managers) {
    if (&manager == &mine) continue;
    FieldSet common = manager.fields.Intersection(changed);
    if (!common.empty()) conflicts.emplace_back(&manager, std::move(common));
  }
  if (!conflicts.empty() && !force) return base::Fail(ConflictsError(conflicts));
  for (Manager& manager : managers) {
    if (&manager != &mine) manager.fields.Subtract(changed);
  }
  // What this manager applied last time, does not any more, and nobody else has.
  FieldSet gone = last;
  gone.Subtract(applied);
  for (const Manager& manager : managers) {
    if (&manager != &mine) gone.Subtract(manager.fields);
  }
  RemoveFields(merged, schema, gone);
  mine.fields = applied;
  mine.api_version = identity.api_version;
  mine.time = base::FormatTime(identity.now);
  StoreManagers(merged, std::move(managers));
  return merged;
}

void TrackUpdate(Json& object, const Json& old, const kube::Schema* schema, const ManagerIdentity& identity) {
  const Json* recorded = base::Find(old, {"metadata", "managedFields"});
  if (recorded == nullptr) {
    base::Erase(object, {"metadata", "managedFields"});
    return;
  }
  const Json* given = base::Find(object, {"metadata", "managedFields"});
  if (given != nullptr && given->is_array() && given->get_array().size() == 1 && given->get_array()[0].is_object() &&
      given->get_array()[0].get_object().empty()) {
    base::Erase(object, {"metadata", "managedFields"});
    return;
  }
  std::vector<Manager> managers = ManagersOf(object);
  if (managers.empty()) managers = ManagersOf(old);
  FieldSet changed, removed;
  CompareFields(WithoutManagedFields(old), WithoutManagedFields(object), schema, changed, removed);
  if (!changed.empty() || !removed.empty()) {
    for (Manager& manager : managers) {
      manager.fields.Subtract(changed);
      manager.fields.Subtract(removed);
    }
    if (!changed.empty()) {
      Manager& mine = FindOrAdd(managers, identity, "Update");
      mine.fields.Add(changed);
      mine.time = base::FormatTime(identity.now);
    }
  }
  StoreManagers(object, std::move(managers));
}

}  // namespace evenkeel::embedded::apiserver
