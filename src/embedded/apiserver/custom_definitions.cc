#include "embedded/apiserver/custom_definitions.h"

#include "kube/field_path.h"
#include "kube/object.h"
#include "kube/schema.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Cause;
using base::Json;
using base::JsonArray;

Cause Required(const std::string& field, const std::string& detail) {
  return {.reason = "FieldValueRequired",
          .message = detail.empty() ? "Required value" : "Required value: " + detail,
          .field = field};
}

Cause Invalid(const std::string& field, const Json& value, const std::string& detail) {
  return {.reason = "FieldValueInvalid", .message = "Invalid value: " + base::ToText(value) + ": " + detail, .field = field};
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

std::string StorageVersion(const Json& crd) {
  for (const Json& version : base::FindArray(crd, {"spec", "versions"})) {
    if (base::FindBool(version, {"storage"})) return std::string(base::FindString(version, {"name"}));
  }
  return "";
}

void ValidateVersion(const Json& version, const std::string& field, std::vector<Cause>& causes) {
  const Json* schema = base::Find(version, {"schema", "openAPIV3Schema"});
  if (schema == nullptr) {
    causes.push_back(Required(field + ".schema.openAPIV3Schema", "schemas are required"));
  } else {
    kube::SchemaSet scratch;
    if (const auto read = kube::SchemaFromOpenApi(*schema, scratch); !read) {
      const base::ErrorDetails* details = read.error().details();
      if (details == nullptr || details->causes.empty()) {
        causes.push_back(
            {.reason = "FieldValueInvalid", .message = read.error().message(), .field = field + ".schema.openAPIV3Schema"});
      } else {
        for (Cause cause : details->causes) {
          const bool complete = cause.field.starts_with("spec.");
          if (!complete) cause.field = field + ".schema.openAPIV3Schema" + (cause.field.empty() ? "" : "." + cause.field);
          causes.push_back(std::move(cause));
        }
      }
    }
  }
  size_t index = 0;
  for (const Json& column : base::FindArray(version, {"additionalPrinterColumns"})) {
    const std::string at = field + ".additionalPrinterColumns[" + std::to_string(index++) + "]";
    const std::string_view path = base::FindString(column, {"jsonPath"});
    if (path.empty()) {
      causes.push_back(Required(at + ".jsonPath", "JSON path is required"));
    } else if (!path.starts_with('.')) {
      causes.push_back(Invalid(at + ".jsonPath", Json(path), "must be a simple json path starting with ."));
    }
  }
}

void WarnOfSchema(const Json& schema, const kube::FieldPath& path, std::vector<std::string>& warnings) {
  if (!schema.is_object()) return;
  constexpr std::string_view kRules = "x-kubernetes-validations";
  if (!base::FindArray(schema, {kRules}).empty()) {
    warnings.push_back(path.Field(kRules).Text() + ": rules in CEL are stored, this API server does not evaluate them");
  }
  for (const std::string_view key : {"properties", "patternProperties"}) {
    const kube::FieldPath children = path.Field(key);
    for (const auto& [name, child] : base::FindObject(schema, {key})) WarnOfSchema(child, children.Key(name), warnings);
  }
  for (const std::string_view key : {"items", "additionalProperties"}) {
    if (const Json* child = base::Find(schema, {key})) WarnOfSchema(*child, path.Field(key), warnings);
  }
}

}  // namespace

void PrepareDefinition(Json& crd, const Json* old, const std::string& conflict, base::Time now) {
  if (!crd.is_object()) return;
  const std::string_view kind = base::FindString(crd, {"spec", "names", "kind"});
  if (!kind.empty()) {
    if (base::FindString(crd, {"spec", "names", "singular"}).empty())
      base::Ensure(crd, {"spec", "names", "singular"}) = Lower(kind);
    if (base::FindString(crd, {"spec", "names", "listKind"}).empty()) {
      base::Ensure(crd, {"spec", "names", "listKind"}) = std::string(kind) + "List";
    }
  }
  if (base::Find(crd, {"spec", "conversion", "strategy"}) == nullptr)
    base::Ensure(crd, {"spec", "conversion", "strategy"}) = "None";
  if (old == nullptr) crd.get_object()["status"] = base::JsonObject();
  if (base::Find(crd, {"metadata", "deletionTimestamp"}) == nullptr) {
    Json& finalizers = base::Ensure(crd, {"metadata", "finalizers"});
    if (!finalizers.is_array()) finalizers = JsonArray();
    const bool present = std::ranges::any_of(finalizers.get_array(), [](const Json& item) {
      return item.is_string() && item.get_string() == kCustomCleanupFinalizer;
    });
    if (!present) finalizers.get_array().emplace_back(kCustomCleanupFinalizer);
  }
  if (conflict.empty()) {
    kube::SetCondition(crd, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
    kube::SetCondition(crd, "Established", "True", "InitialNamesAccepted", "the initial names set has been accepted", now);
    base::Ensure(crd, {"status", "acceptedNames"}) = base::FindObject(crd, {"spec", "names"});
  } else {
    kube::SetCondition(crd, "NamesAccepted", "False", "NamesConflict", conflict, now);
    const bool established = old != nullptr && base::Find(crd, {"status", "acceptedNames", "plural"}) != nullptr;
    if (!established) {
      kube::SetCondition(crd, "Established", "False", "NotAccepted", "not all names are accepted", now);
      base::Ensure(crd, {"status", "acceptedNames"}) = base::JsonObject{{"plural", ""}, {"kind", ""}};
    }
  }
  Json& stored = base::Ensure(crd, {"status", "storedVersions"});
  if (!stored.is_array()) stored = JsonArray();
  const std::string storage = StorageVersion(crd);
  const bool known = std::ranges::any_of(stored.get_array(),
                                         [&](const Json& item) { return item.is_string() && item.get_string() == storage; });
  if (!known && !storage.empty()) stored.get_array().emplace_back(storage);
}

std::vector<Cause> ValidateDefinition(const Json& crd) {
  std::vector<Cause> causes;
  const std::string_view name = kube::NameOf(crd);
  const std::string group(base::FindString(crd, {"spec", "group"}));
  const std::string plural(base::FindString(crd, {"spec", "names", "plural"}));
  if (group.empty()) causes.push_back(Required("spec.group", ""));
  if (!group.empty() && group.find('.') == group.npos) {
    causes.push_back(Invalid("spec.group", Json(group), "should be a domain with at least one dot"));
  }
  if (plural.empty()) causes.push_back(Required("spec.names.plural", ""));
  if (base::FindString(crd, {"spec", "names", "kind"}).empty()) causes.push_back(Required("spec.names.kind", ""));
  // These go into paths, keys and the head of every stored object.
  for (const auto& [field, text] : {std::pair<std::string, std::string>{"spec.names.plural", plural},
                                    {"spec.names.kind", Lower(base::FindString(crd, {"spec", "names", "kind"}))}}) {
    if (const std::string wrong = text.empty() ? "" : kube::CheckDnsLabel(text); !wrong.empty()) {
      causes.push_back(Invalid(field, Json(text), wrong));
    }
  }
  if (const std::string wrong = group.empty() ? "" : kube::CheckDnsSubdomain(group); !wrong.empty()) {
    causes.push_back(Invalid("spec.group", Json(group), wrong));
  }
  if (name != plural + "." + group) {
    causes.push_back(Invalid("metadata.name", Json(name), "must be spec.names.plural+\".\"+spec.group"));
  }
  const std::string_view scope = base::FindString(crd, {"spec", "scope"});
  if (scope != "Namespaced" && scope != "Cluster") {
    causes.push_back(
        {.reason = "FieldValueNotSupported",
         .message = "Unsupported value: \"" + std::string(scope) + "\": supported values: \"Cluster\", \"Namespaced\"",
         .field = "spec.scope"});
  }
  const std::string_view strategy = base::FindString(crd, {"spec", "conversion", "strategy"}, "None");
  if (strategy != "None" && strategy != "Webhook") {
    causes.push_back(
        {.reason = "FieldValueNotSupported",
         .message = "Unsupported value: \"" + std::string(strategy) + "\": supported values: \"None\", \"Webhook\"",
         .field = "spec.conversion.strategy"});
  }
  if (strategy == "Webhook" && base::Find(crd, {"spec", "conversion", "webhook", "clientConfig"}) == nullptr) {
    causes.push_back(Required("spec.conversion.webhook.clientConfig", "required when strategy is set to Webhook"));
  }
  const JsonArray& versions = base::FindArray(crd, {"spec", "versions"});
  std::set<std::string> names;
  size_t storage = 0, index = 0;
  for (const Json& version : versions) {
    const std::string field = "spec.versions[" + std::to_string(index++) + "]";
    const std::string version_name(base::FindString(version, {"name"}));
    if (const std::string wrong = kube::CheckDnsLabel(version_name); !wrong.empty()) {
      causes.push_back(Invalid(field + ".name", Json(version_name), wrong));
    }
    if (!names.insert(version_name).second) {
      causes.push_back(Invalid("spec.versions", Json(version_name), "must contain unique version names"));
    }
    if (base::FindBool(version, {"storage"})) ++storage;
    ValidateVersion(version, field, causes);
  }
  if (versions.empty()) {
    causes.push_back(Required("spec.versions", "must have at least one version"));
  } else if (storage != 1) {
    causes.push_back(Invalid("spec.versions", Json(JsonArray()), "must have exactly one version marked as storage version"));
  }
  return causes;
}

std::vector<std::string> WarnOfDefinition(const Json& crd) {
  std::vector<std::string> warnings;
  if (base::FindString(crd, {"spec", "conversion", "strategy"}) == "Webhook" &&
      base::FindArray(crd, {"spec", "versions"}).size() > 1) {
    warnings.push_back(
        "spec.conversion.webhook: the webhook is not asked; this API server converts objects by their apiVersion alone");
  }
  const kube::FieldPath root("spec");
  const kube::FieldPath versions = root.Field("versions");
  size_t index = 0;
  for (const Json& version : base::FindArray(crd, {"spec", "versions"})) {
    const kube::FieldPath here = versions.Index(index++);
    const Json* schema = base::Find(version, {"schema", "openAPIV3Schema"});
    if (schema == nullptr) continue;
    const kube::FieldPath schema_path = here.Field("schema");
    WarnOfSchema(*schema, schema_path.Field("openAPIV3Schema"), warnings);
  }
  return warnings;
}

}  // namespace evenkeel::embedded::apiserver
