#include "embedded/apiserver/definitions/resource_table.h"

#include <charconv>
#include <set>

#include "base/hash.h"
#include "embedded/apiserver/definitions/stored.h"
#include "kube/autoscaling.h"

namespace evenkeel::embedded::apiserver {
namespace {

std::string HeadOf(std::string_view api_version, std::string_view kind) {
  return "{\"apiVersion\":\"" + std::string(api_version) + "\",\"kind\":\"" + std::string(kind) + "\",";
}

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

void FillStorage(Served& served, std::string_view storage_api_version) {
  served.storage_api_version = storage_api_version;
  served.head = HeadOf(served.resource.ApiVersion(), served.resource.kind);
  served.storage_head = HeadOf(storage_api_version, served.resource.kind);
  std::string group = served.resource.storage_group;
  if (group.empty()) group = served.resource.group + "/" + served.resource.plural;
  served.prefix = "/registry/" + group + "/";
  served.status_subresource = Contains(served.resource.subresources, "status");
}

bool HasGeneration(const kube::Resource& resource) {
  static const std::set<std::string_view> kGroups{"apps",
                                                  "batch",
                                                  "policy",
                                                  "apiextensions.k8s.io",
                                                  "networking.k8s.io",
                                                  "admissionregistration.k8s.io",
                                                  "flowcontrol.apiserver.k8s.io"};
  static const std::set<std::string_view> kPlurals{"replicationcontrollers", "deviceclasses", "resourceslices"};
  return kGroups.contains(resource.group) || kPlurals.contains(resource.plural);
}

ServedPointer ServeBuiltIn(const kube::Resource& resource, std::string_view storage_api_version) {
  auto served = std::make_shared<Served>();
  served->resource = resource;
  FillStorage(*served, storage_api_version);
  const std::string& group = resource.group;
  served->has_generation = HasGeneration(resource);
  if (group == "events.k8s.io") {
    served->to_stored = EventToCore;
    served->from_stored = EventFromCore;
  } else if (group == "autoscaling" && resource.version == "v1") {
    served->to_stored = kube::AutoscalerToV2;
    served->from_stored = kube::AutoscalerFromV2;
  }
  if (Contains(resource.subresources, "scale")) {
    served->spec_replicas = "spec.replicas";
    served->status_replicas = "status.replicas";
    served->label_selector = "spec.selector";
  }
  return served;
}

std::string WithoutDot(std::string_view path) { return std::string(path.starts_with('.') ? path.substr(1) : path); }

// In few bytes what tells texts apart.
std::string DigestOf(std::string_view text) {
  const auto digest = base::Blake2b512(text);
  return {digest.begin(), digest.begin() + 16};
}

const base::Json* StorageVersionOf(const base::Json& crd) {
  for (const base::Json& version : base::FindArray(crd, {"spec", "versions"})) {
    if (base::FindBool(version, {"storage"})) return &version;
  }
  return nullptr;
}

// By version; "" without a schema. Schemas are nearly all of a definition's text: each is written out once.
std::map<const base::Json*, std::string> DigestsOfSchemas(const base::Json& crd) {
  std::map<const base::Json*, std::string> digests;
  for (const base::Json& version : base::FindArray(crd, {"spec", "versions"})) {
    const base::Json* schema = SchemaIn(version);
    digests[&version] = schema == nullptr ? "" : DigestOf(base::ToText(*schema));
  }
  return digests;
}

// What decides on how it is served, with digests in place of schemas.
std::string TextWithoutSchemas(const base::Json& crd, const std::map<const base::Json*, std::string>& schemas) {
  std::string text = base::ToText(base::FindObject(crd, {"status", "acceptedNames"}));
  for (const auto& [key, value] : base::FindObject(crd, {"spec"})) {
    if (key != "versions") text += std::string(key) + base::ToText(value);
  }
  for (const base::Json& version : base::FindArray(crd, {"spec", "versions"})) {
    text += schemas.at(&version);
    if (!version.is_object()) continue;
    for (const auto& [key, value] : version.get_object()) {
      if (key != "schema") text += std::string(key) + base::ToText(value);
    }
  }
  return text;
}

std::shared_ptr<Served> ServeCustom(const base::Json& crd, const base::Json& version, std::string_view storage_version) {
  auto served = std::make_shared<Served>();
  const kube::Resource& resource = served->resource = kube::ResourceOf(crd, version);
  if (const base::Json* scale = base::Find(version, {"subresources", "scale"}); scale != nullptr && scale->is_object()) {
    served->spec_replicas = WithoutDot(base::FindString(*scale, {"specReplicasPath"}));
    served->status_replicas = WithoutDot(base::FindString(*scale, {"statusReplicasPath"}));
    served->label_selector = WithoutDot(base::FindString(*scale, {"labelSelectorPath"}));
  }
  served->custom = true;
  if (base::FindBool(version, {"deprecated"})) {
    const std::string usual = resource.ApiVersion() + " " + resource.kind + " is deprecated";
    served->deprecation = base::FindString(version, {"deprecationWarning"}, usual);
  }
  served->has_generation = true;
  served->terminating = base::Find(crd, {"metadata", "deletionTimestamp"}) != nullptr;
  for (const base::Json& column : base::FindArray(version, {"additionalPrinterColumns"})) {
    auto path = kube::JsonPath::Parse(base::FindString(column, {"jsonPath"}));
    served->columns.push_back({.name = std::string(base::FindString(column, {"name"})),
                               .type = std::string(base::FindString(column, {"type"})),
                               .format = std::string(base::FindString(column, {"format"})),
                               .description = std::string(base::FindString(column, {"description"})),
                               .path = path ? std::make_shared<const kube::JsonPath>(*std::move(path)) : nullptr,
                               .priority = static_cast<int>(base::FindInt(column, {"priority"}))});
  }
  for (const base::Json& field : base::FindArray(version, {"selectableFields"})) {
    served->selectable_fields.push_back(WithoutDot(base::FindString(field, {"jsonPath"})));
  }
  FillStorage(*served, resource.group + "/" + std::string(storage_version));
  return served;
}

bool IsEstablished(const base::Json& crd) {
  for (const base::Json& condition : base::FindArray(crd, {"status", "conditions"})) {
    if (base::FindString(condition, {"type"}) == "Established") return base::FindString(condition, {"status"}) == "True";
  }
  return false;
}

// v1beta2 -> (major 1, stage 1, minor 2); anything else -> major 0.
std::tuple<int, int, int> ParseVersion(std::string_view version) {
  int major = 0, minor = 0, stage = 2;
  const char* end = version.data() + version.size();
  if (!version.starts_with('v')) return {0, 0, 0};
  auto [rest, error] = std::from_chars(version.data() + 1, end, major);
  if (error != std::errc() || major <= 0) return {0, 0, 0};
  std::string_view tail(rest, static_cast<size_t>(end - rest));
  if (tail.empty()) return {major, stage, 0};
  for (const auto& [word, value] : {std::pair<std::string_view, int>{"alpha", 0}, {"beta", 1}}) {
    if (!tail.starts_with(word)) continue;
    auto [last, failed] = std::from_chars(tail.data() + word.size(), end, minor);
    if (failed == std::errc() && last == end) return {major, value, minor};
  }
  return {0, 0, 0};
}

}  // namespace

ServedPointer WithSchema(ServedPointer served) {
  if (served == nullptr || served->custom_schema == nullptr || served->read_schema != nullptr) return served;
  auto whole = std::make_shared<Served>(*served);
  whole->read_schema = served->custom_schema->Get();
  whole->resource.schema = whole->read_schema.get();
  return whole;
}

bool NewerVersion(std::string_view a, std::string_view b) {
  const auto [major_a, stage_a, minor_a] = ParseVersion(a);
  const auto [major_b, stage_b, minor_b] = ParseVersion(b);
  if ((major_a == 0) != (major_b == 0)) return major_a != 0;
  if (major_a == 0) return a < b;
  return std::tuple(stage_a, major_a, minor_a) > std::tuple(stage_b, major_b, minor_b);
}

std::string Served::Key(std::string_view ns, std::string_view name) const {
  std::string key;
  key.reserve(prefix.size() + ns.size() + name.size() + 1);
  key += prefix;
  if (resource.namespaced) {
    key += ns;
    key += '/';
  }
  key += name;
  return key;
}

std::string Served::Prefix(std::string_view ns) const {
  if (!resource.namespaced || ns.empty()) return prefix;
  return prefix + std::string(ns) + "/";
}

ResourceTable::ResourceTable() {
  std::map<std::string, std::string> storage_versions;
  // Core v1 is where events are kept: the form that clients of every age read.
  if (const kube::Resource* events = kube::FindBuiltIn("", "v1", "events"); events != nullptr) {
    storage_versions[events->storage_group] = "v1";
  }
  for (const kube::Resource& resource : kube::BuiltInResources()) {
    const std::string group = resource.storage_group.empty() ? resource.group + "/" + resource.plural : resource.storage_group;
    const auto [found, added] = storage_versions.try_emplace(group, resource.ApiVersion());
    // The newest version of a group is its storage version.
    if (!added && found->second != "v1") {
      std::string stored_group, stored_version;
      kube::SplitApiVersion(found->second, stored_group, stored_version);
      if (stored_group == resource.group && NewerVersion(resource.version, stored_version))
        found->second = resource.ApiVersion();
    }
  }
  for (const kube::Resource& resource : kube::BuiltInResources()) {
    const std::string group = resource.storage_group.empty() ? resource.group + "/" + resource.plural : resource.storage_group;
    built_in_.push_back(ServeBuiltIn(resource, storage_versions[group]));
  }
  Rebuild();
}

ServedPointer ResourceTable::Find(std::string_view group, std::string_view version, std::string_view plural) const {
  std::lock_guard lock(mutex_);
  const auto found = by_plural_.find(std::tuple(group, version, plural));
  return found == by_plural_.end() ? nullptr : found->second;
}

ServedPointer ResourceTable::FindKind(std::string_view api_version, std::string_view kind) const {
  std::lock_guard lock(mutex_);
  const auto found = by_kind_.find({std::string(api_version), std::string(kind)});
  return found == by_kind_.end() ? nullptr : found->second;
}

std::vector<ServedPointer> ResourceTable::All() const {
  std::lock_guard lock(mutex_);
  return all_;
}

uint64_t ResourceTable::generation() const {
  std::lock_guard lock(mutex_);
  return generation_;
}

void ResourceTable::SetCustom(const base::Json& crd, store::Value text, store::Revision revision) {
  const std::string name(base::FindString(crd, {"metadata", "name"}));
  const bool established = IsEstablished(crd);
  const bool terminating = base::Find(crd, {"metadata", "deletionTimestamp"}) != nullptr;
  const base::Json* stored = StorageVersionOf(crd);
  const std::string_view storage_version = stored == nullptr ? "" : base::FindString(*stored, {"name"});
  const std::map<const base::Json*, std::string> schemas = DigestsOfSchemas(crd);
  const std::string says = DigestOf(TextWithoutSchemas(crd, schemas) + (established ? "e" : "") + (terminating ? "t" : ""));
  const auto digest_of = [&schemas](const base::Json* version) { return version == nullptr ? "" : schemas.at(version); };
  const std::string storage = std::string(storage_version) + digest_of(stored);
  Custom custom{.versions = {}, .says = says, .storage = storage, .form = nullptr, .text = nullptr};
  {
    std::lock_guard lock(mutex_);
    if (revision <= custom_revisions_[name]) return;
    if (const auto known = custom_.find(name); known != custom_.end()) {
      if (known->second.says == says) {
        custom_revisions_[name] = revision;
        // The text that was there before would be kept for nobody else.
        known->second.text->Replace(text);
        if (const auto& schema = known->second.form->schema()) schema->definition()->Replace(std::move(text));
        return;
      }
      // Rows that were written in this form still have it.
      if (known->second.storage == storage) custom.form = known->second.form;
    }
  }
  custom.text = std::make_shared<DefinitionText>(text);
  const auto schema_of = [&](const base::Json& version,
                             std::shared_ptr<DefinitionText> definition) -> std::shared_ptr<const CustomSchema> {
    const base::Json* schema = SchemaIn(version);
    if (schema == nullptr || !schema->is_object()) return nullptr;
    const std::string version_name(base::FindString(version, {"name"}));
    return std::make_shared<CustomSchema>(std::move(definition), version_name, recent_schemas_);
  };
  if (custom.form == nullptr) {
    // With a text of its own: the form may outlive what the definition says of other versions.
    const auto own = std::make_shared<DefinitionText>(text);
    custom.form = std::make_shared<StorageForm>(stored == nullptr ? nullptr : schema_of(*stored, own), revision);
  } else if (const auto& schema = custom.form->schema()) {
    schema->definition()->Replace(text);
  }
  const auto conversion = ConversionOf(crd);
  if (established) {
    for (const base::Json& version : base::FindArray(crd, {"spec", "versions"})) {
      if (!base::FindBool(version, {"served"})) continue;
      const auto served = ServeCustom(crd, version, storage_version);
      served->says = says;
      served->storage_form = custom.form;
      served->conversion = conversion;
      served->has_storage_form = digest_of(&version) == digest_of(stored);
      served->defined_at = revision;
      served->custom_schema = served->has_storage_form ? custom.form->schema() : schema_of(version, custom.text);
      custom.versions.push_back(served);
    }
  }
  std::lock_guard lock(mutex_);
  if (revision <= custom_revisions_[name]) return;
  custom_revisions_[name] = revision;
  custom_[name] = std::move(custom);
  ++generation_;
  Rebuild();
}

bool ResourceTable::IsNews(const std::string& crd_name, store::Revision revision) const {
  std::lock_guard lock(mutex_);
  const auto known = custom_revisions_.find(crd_name);
  return known == custom_revisions_.end() || known->second < revision;
}

void ResourceTable::RemoveCustom(const std::string& crd_name, store::Revision revision) {
  std::lock_guard lock(mutex_);
  if (revision <= custom_revisions_[crd_name]) return;
  custom_revisions_[crd_name] = revision;
  if (custom_.erase(crd_name) == 0) return;
  ++generation_;
  Rebuild();
}

void ResourceTable::Rebuild() {
  all_ = built_in_;
  std::vector<ServedPointer> custom;
  for (const auto& [name, one] : custom_) custom.insert(custom.end(), one.versions.begin(), one.versions.end());
  std::ranges::stable_sort(custom, [](const ServedPointer& a, const ServedPointer& b) {
    if (a->resource.group != b->resource.group) return a->resource.group < b->resource.group;
    if (a->resource.version != b->resource.version) return NewerVersion(a->resource.version, b->resource.version);
    return a->resource.plural < b->resource.plural;
  });
  all_.insert(all_.end(), custom.begin(), custom.end());
  by_plural_.clear();
  by_kind_.clear();
  for (const ServedPointer& served : all_) {
    const kube::Resource& resource = served->resource;
    by_plural_.try_emplace({resource.group, resource.version, resource.plural}, served);
    by_kind_.try_emplace({resource.ApiVersion(), resource.kind}, served);
  }
}

}  // namespace evenkeel::embedded::apiserver
