#include "kube/object.h"

#include "base/text.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using base::JsonObject;

std::string_view TextOf(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

bool FlagOf(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<int64_t> NumberOf(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return static_cast<int64_t>(value->get_uint64());
  if (value->is_double()) return static_cast<int64_t>(value->get_double());
  return std::nullopt;
}

std::optional<base::Time> TimeOf(const JsonObject& object, std::string_view key) {
  const std::string_view text = TextOf(object, key);
  if (text.empty()) return std::nullopt;
  if (auto time = base::ParseTime(text)) return *time;
  return std::nullopt;
}

Labels LabelsOf(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value == nullptr ? Labels() : base::FindTextMap(*value, {});
}

const JsonObject* MetadataOf(const Json& object) {
  const JsonObject* root = object.if_object();
  const Json* metadata = root == nullptr ? nullptr : root->if_contains("metadata");
  return metadata == nullptr ? nullptr : metadata->if_object();
}

std::string_view MetadataText(const Json& object, std::string_view key) {
  const JsonObject* metadata = MetadataOf(object);
  return metadata == nullptr ? std::string_view() : TextOf(*metadata, key);
}

bool IsLowerAlphanumeric(char letter) { return (letter >= 'a' && letter <= 'z') || base::IsDigit(letter); }

/// Alphanumeric at both ends, `middle` characters allowed between.
bool HasShape(std::string_view text, bool (*alphanumeric)(char), std::string_view middle) {
  if (text.empty() || !alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char letter) { return alphanumeric(letter) || middle.find(letter) != middle.npos; });
}

bool IsSubdomain(std::string_view name) {
  while (true) {
    const size_t dot = name.find('.');
    if (!HasShape(name.substr(0, dot), IsLowerAlphanumeric, "-")) return false;
    if (dot == name.npos) return true;
    name.remove_prefix(dot + 1);
  }
}

constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with "
    "an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kQualifiedRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

}  // namespace

const OwnerReference* ObjectMeta::Controller() const {
  for (const OwnerReference& owner : owners) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

bool ObjectMeta::HasFinalizer(std::string_view finalizer) const {
  return std::ranges::find(finalizers, finalizer) != finalizers.end();
}

ObjectMeta DecodeMeta(const Json& object) {
  ObjectMeta meta;
  const JsonObject* found = MetadataOf(object);
  if (found == nullptr) return meta;
  const JsonObject& metadata = *found;
  meta.name = TextOf(metadata, "name");
  meta.ns = TextOf(metadata, "namespace");
  meta.uid = TextOf(metadata, "uid");
  meta.resource_version = TextOf(metadata, "resourceVersion");
  meta.generation = NumberOf(metadata, "generation").value_or(0);
  meta.labels = LabelsOf(metadata, "labels");
  meta.annotations = LabelsOf(metadata, "annotations");
  meta.creation_time = TimeOf(metadata, "creationTimestamp").value_or(base::Time{});
  meta.deletion_time = TimeOf(metadata, "deletionTimestamp");
  meta.deletion_grace_seconds = NumberOf(metadata, "deletionGracePeriodSeconds");
  if (const Json* list = metadata.if_contains("finalizers")) meta.finalizers = base::FindTexts(*list, {});
  if (const Json* list = metadata.if_contains("ownerReferences"); list != nullptr && list->is_array()) {
    for (const Json& one : list->get_array()) {
      if (!one.is_object()) continue;
      const JsonObject& owner = one.get_object();
      meta.owners.push_back({std::string(TextOf(owner, "apiVersion")), std::string(TextOf(owner, "kind")),
                             std::string(TextOf(owner, "name")), std::string(TextOf(owner, "uid")), FlagOf(owner, "controller"),
                             FlagOf(owner, "blockOwnerDeletion")});
    }
  }
  return meta;
}

std::string_view NameOf(const Json& object) { return MetadataText(object, "name"); }
std::string_view NamespaceOf(const Json& object) { return MetadataText(object, "namespace"); }
std::string_view UidOf(const Json& object) { return MetadataText(object, "uid"); }
std::string_view ResourceVersionOf(const Json& object) { return MetadataText(object, "resourceVersion"); }

std::string KeyOf(const Json& object) {
  const std::string_view ns = NamespaceOf(object);
  std::string key(ns);
  if (!ns.empty()) key += '/';
  key += NameOf(object);
  return key;
}

void SplitKey(std::string_view key, std::string& ns, std::string& name) {
  const size_t slash = key.find('/');
  ns = slash == key.npos ? "" : key.substr(0, slash);
  name = slash == key.npos ? key : key.substr(slash + 1);
}

Json NewObject(const Resource& resource, std::string_view ns, std::string_view name) {
  JsonObject metadata;
  metadata["name"] = name;
  if (!ns.empty() && resource.namespaced) metadata["namespace"] = ns;
  JsonObject object;
  object["apiVersion"] = resource.ApiVersion();
  object["kind"] = resource.kind;
  object["metadata"] = std::move(metadata);
  return object;
}

Json ControllerReference(const Resource& resource, std::string_view name, std::string_view uid) {
  return JsonObject{
      {"apiVersion", resource.ApiVersion()}, {"kind", resource.kind}, {"name", name}, {"uid", uid}, {"controller", true},
      {"blockOwnerDeletion", true}};
}

bool HasFinalizer(const Json& object, std::string_view name) {
  const base::JsonArray& finalizers = base::FindArray(object, {"metadata", "finalizers"});
  return std::ranges::find(finalizers, Json(name)) != finalizers.end();
}

bool SetFinalizer(Json& object, std::string_view name, bool present) {
  if (HasFinalizer(object, name) == present) return false;
  Json& finalizers = base::Ensure(object, {"metadata", "finalizers"});
  if (!finalizers.is_array()) finalizers = base::JsonArray();
  base::JsonArray& list = finalizers.get_array();
  if (present) return list.emplace_back(name), true;
  const auto removed = std::ranges::remove(list, Json(name));
  list.erase(removed.begin(), removed.end());
  return true;
}

const Json* FindCondition(const Json& object, std::string_view type) {
  const JsonObject* root = object.if_object();
  const Json* status = root == nullptr ? nullptr : root->if_contains("status");
  const Json* conditions = status == nullptr || !status->is_object() ? nullptr : status->get_object().if_contains("conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const Json& condition : conditions->get_array()) {
    if (condition.is_object() && TextOf(condition.get_object(), "type") == type) return &condition;
  }
  return nullptr;
}

std::string_view ConditionStatus(const Json& object, std::string_view type) {
  const Json* condition = FindCondition(object, type);
  return condition == nullptr ? "" : base::FindString(*condition, {"status"});
}

bool SetCondition(Json& object, std::string_view type, std::string_view status, std::string_view reason,
                  std::string_view message, base::Time now) {
  if (!object.is_object()) object.emplace_object();
  Json& state = object.get_object()["status"];
  if (!state.is_object()) state.emplace_object();
  Json& list = state.get_object()["conditions"];
  if (!list.is_array()) list.emplace_array();
  Json* existing = nullptr;
  for (Json& condition : list.get_array()) {
    if (condition.is_object() && TextOf(condition.get_object(), "type") == type) existing = &condition;
  }
  if (existing == nullptr) {
    list.get_array().push_back(JsonObject{{"type", type},
                                          {"status", status},
                                          {"lastTransitionTime", base::FormatTime(now)},
                                          {"reason", reason},
                                          {"message", message}});
    return true;
  }
  JsonObject& condition = existing->get_object();
  bool changed = false;
  // A writer whose clock is ahead must not make it look as if nothing had lasted yet until then.
  const auto since = base::ParseTime(TextOf(condition, "lastTransitionTime"));
  if (TextOf(condition, "status") != status || (since && *since > now)) {
    condition["status"] = status;
    condition["lastTransitionTime"] = base::FormatTime(now);
    changed = true;
  }
  for (const auto& [key, value] : {std::pair{"reason", reason}, std::pair{"message", message}}) {
    if (TextOf(condition, key) == value) continue;
    condition[key] = value;
    changed = true;
  }
  return changed;
}

std::string CheckDnsLabel(std::string_view name) {
  if (name.size() > 63) return "must be no more than 63 characters";
  return HasShape(name, IsLowerAlphanumeric, "-") ? "" : std::string(kLabelRule);
}

std::string CheckDnsSubdomain(std::string_view name) {
  if (name.size() > 253) return "must be no more than 253 characters";
  return IsSubdomain(name) ? "" : std::string(kSubdomainRule);
}

std::string CheckQualifiedName(std::string_view name) {
  std::string_view local = name;
  if (const size_t slash = name.find('/'); slash != name.npos) {
    const std::string_view prefix = name.substr(0, slash);
    local = name.substr(slash + 1);
    if (local.find('/') != local.npos) {
      return "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
             "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
             "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
             "'example.com/MyName')";
    }
    if (prefix.empty()) return "prefix part must be non-empty";
    if (std::string problem = CheckDnsSubdomain(prefix); !problem.empty()) return "prefix part " + problem;
  }
  if (local.empty()) return "name part must be non-empty";
  if (local.size() > 63) return "name part must be no more than 63 characters";
  return HasShape(local, base::IsAlphanumeric, "-_.") ? "" : std::string(kQualifiedRule);
}

std::string CheckLabelValue(std::string_view value) {
  if (value.size() > 63) return "must be no more than 63 characters";
  return value.empty() || HasShape(value, base::IsAlphanumeric, "-_.") ? "" : std::string(kLabelValueRule);
}

}  // namespace evenkeel::kube
