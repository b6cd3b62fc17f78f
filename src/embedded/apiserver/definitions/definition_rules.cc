// What must be true of a CustomResourceDefinition beyond its shape, each rule as apiextensions words it
// (kubernetes@1.36:staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go).
#include "base/text.h"
#include "embedded/apiserver/definitions/custom_definitions.h"
#include "kube/field_path.h"
#include "kube/formats.h"
#include "kube/object.h"
#include "kube/rules/schema_rules.h"
#include "kube/schema/openapi_rules.h"
#include "kube/schema/schema.h"
#include "kube/validation/validation.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Cause;
using base::Json;
using base::JsonArray;
using kube::FieldPath;
using kube::InvalidText;
using kube::InvalidValue;
using kube::RequiredValue;
using Causes = std::vector<Cause>;

constexpr std::string_view kApproval = "api-approved.kubernetes.io";
constexpr size_t kDeprecationWarningMax = 256;
constexpr size_t kSelectableFieldsMax = 8;

void CheckLabel(std::string_view text, const FieldPath& path, Causes& causes) {
  if (const std::string wrong = kube::validation::CheckDns1035Label(text); !wrong.empty()) {
    causes.push_back(InvalidText(path, text, wrong));
  }
}

void CheckLabels(const Json& names, std::string_view list, const FieldPath& path, Causes& causes) {
  const FieldPath here = path.Field(list);
  size_t index = 0;
  for (const Json& one : base::FindArray(names, {list})) {
    CheckLabel(one.is_string() ? std::string_view(one.get_string()) : "", here.Index(index++), causes);
  }
}

void CheckNames(const Json& names, const FieldPath& path, Causes& causes) {
  for (const char* key : {"plural", "singular"}) {
    if (const std::string_view name = base::FindString(names, {key}); !name.empty()) CheckLabel(name, path.Field(key), causes);
  }
  for (const char* key : {"kind", "listKind"}) {
    const std::string_view name = base::FindString(names, {key});
    const std::string wrong = name.empty() ? "" : kube::validation::CheckDns1035Label(base::Lower(name));
    if (wrong.empty()) continue;
    causes.push_back(InvalidText(path.Field(key), name, "may have mixed case, but should otherwise match: " + wrong));
  }
  CheckLabels(names, "shortNames", path, causes);
  const std::string_view kind = base::FindString(names, {"kind"});
  if (!kind.empty() && kind == base::FindString(names, {"listKind"})) {
    causes.push_back(InvalidText(path.Field("listKind"), kind, "kind and listKind may not be the same"));
  }
  CheckLabels(names, "categories", path, causes);
}

void CheckGroup(const Json& crd, const FieldPath& spec, Causes& causes) {
  const std::string_view group = base::FindString(crd, {"spec", "group"});
  const FieldPath path = spec.Field("group");
  if (group.empty()) return causes.push_back(RequiredValue(path));
  if (const std::string wrong = kube::CheckDnsSubdomain(group); !wrong.empty()) {
    causes.push_back(InvalidText(path, group, wrong));
  } else if (group.find('.') == group.npos) {
    causes.push_back(InvalidText(path, group, "should be a domain with at least one dot"));
  }
}

enum class Approval { kMissing, kBypassed, kApproved, kInvalid };

Approval ApprovalOf(const Json& crd) {
  const std::string_view text = base::FindString(crd, {"metadata", "annotations", kApproval});
  if (text.empty()) return Approval::kMissing;
  if (text.starts_with("unapproved")) return Approval::kBypassed;
  const size_t scheme = text.find("://");
  const bool has_host = scheme != text.npos && scheme > 0 && scheme + 3 < text.size() && text[scheme + 3] != '/';
  return has_host && kube::FindFormat("uri")(text) ? Approval::kApproved : Approval::kInvalid;
}

// Groups of Kubernetes itself need a word that somebody has approved of them.
void CheckApproval(const Json& crd, const Json* old, Causes& causes) {
  const std::string dotted = "." + std::string(base::FindString(crd, {"spec", "group"}));
  if (!dotted.ends_with(".k8s.io") && !dotted.ends_with(".kubernetes.io")) return;
  const Approval approval = ApprovalOf(crd);
  if (old != nullptr && ApprovalOf(*old) == approval) return;
  const FieldPath root;
  const FieldPath metadata = root.Field("metadata");
  const FieldPath annotations = metadata.Field("annotations");
  const FieldPath path = annotations.Key(kApproval);
  const std::string needed = "protected groups must have approval annotation \"" + std::string(kApproval) + "\"";
  const std::string see = ", see https://github.com/kubernetes/enhancements/pull/1111";
  if (approval == Approval::kMissing) causes.push_back(RequiredValue(path, needed + see));
  if (approval == Approval::kInvalid) {
    causes.push_back(InvalidText(path, base::FindString(crd, {"metadata", "annotations", kApproval}),
                                 needed + " with either a URL or a reason starting with \"unapproved\"" + see));
  }
}

void CheckPreserving(const Json& crd, const Json* old, const FieldPath& spec, Causes& causes) {
  if (!base::FindBool(crd, {"spec", "preserveUnknownFields"})) return;
  if (old != nullptr && base::FindBool(*old, {"spec", "preserveUnknownFields"})) return;
  causes.push_back(
      InvalidValue(spec.Field("preserveUnknownFields"), true,
                   "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"));
}

void CheckDeprecation(const Json& version, const FieldPath& path, Causes& causes) {
  const Json* present = base::Find(version, {"deprecationWarning"});
  if (present == nullptr || !present->is_string()) return;
  const std::string_view text = present->get_string();
  const FieldPath here = path.Field("deprecationWarning");
  if (!base::FindBool(version, {"deprecated"})) {
    return causes.push_back(InvalidText(here, text, "can only be set for deprecated versions"));
  }
  if (text.size() > kDeprecationWarningMax) causes.push_back(InvalidText(here, text, "must be <= 256 characters long"));
  if (text.empty()) causes.push_back(InvalidText(here, text, "must not be an empty string"));
  const auto control =
      std::ranges::find_if(text, [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f; });
  if (control != text.end()) {
    causes.push_back(
        InvalidText(here, text,
                    fmt::format("must only contain printable UTF-8 characters; non-printable character found at index {}",
                                control - text.begin())));
  }
}

// The fields that keep their meaning where status is looked at apart from the rest.
void CheckRootBesideStatus(const base::JsonObject& schema, const FieldPath& path, Causes& causes) {
  static const std::set<std::string, std::less<>> kAllowed = {"description",
                                                              "type",
                                                              "format",
                                                              "title",
                                                              "maximum",
                                                              "exclusiveMaximum",
                                                              "minimum",
                                                              "exclusiveMinimum",
                                                              "maxLength",
                                                              "minLength",
                                                              "pattern",
                                                              "maxItems",
                                                              "minItems",
                                                              "uniqueItems",
                                                              "multipleOf",
                                                              "required",
                                                              "items",
                                                              "properties",
                                                              "externalDocs",
                                                              "example",
                                                              "x-kubernetes-preserve-unknown-fields",
                                                              "x-kubernetes-validations"};
  for (const auto& [name, value] : schema) {
    if (kAllowed.contains(std::string_view(name)) || kube::CountsAsUnset(value)) continue;
    causes.push_back(
        InvalidText(path, name,
                    "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
                    "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs "
                    "Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the "
                    "status subresource is enabled"));
    return;
  }
}

void CheckSchema(const Json& version, const FieldPath& path, Causes& causes) {
  const FieldPath schema_path = path.Field("schema");
  const FieldPath here = schema_path.Field("openAPIV3Schema");
  const Json* schema = base::Find(version, {"schema", "openAPIV3Schema"});
  if (schema == nullptr || !schema->is_object()) return causes.push_back(RequiredValue(here, "schemas are required"));
  if (base::Find(version, {"subresources", "status"}) != nullptr) CheckRootBesideStatus(schema->get_object(), here, causes);
  kube::SchemaSet scratch;
  const auto read = kube::SchemaFromOpenApi(*schema, scratch, here.Text());
  if (!read && read.error().details() != nullptr) std::ranges::copy(read.error().details()->causes, std::back_inserter(causes));
  if (read) std::ranges::move(kube::cel::CheckRules(*schema, here), std::back_inserter(causes));
}

void CheckReplicasPath(const Json& scale, std::string_view key, std::string_view below, const FieldPath& path, Causes& causes) {
  const std::string_view text = base::FindString(scale, {key});
  if (text.empty()) return;  // the shape says what is required
  if (!text.starts_with('.')) {
    causes.push_back(InvalidText(path.Field(key), text, "must be a simple json path starting with ."));
  } else if (!text.starts_with("." + std::string(below) + ".")) {
    causes.push_back(InvalidText(path.Field(key), text, "should be a json path under ." + std::string(below)));
  }
}

void CheckScale(const Json& version, const FieldPath& path, Causes& causes) {
  const Json* scale = base::Find(version, {"subresources", "scale"});
  if (scale == nullptr || !scale->is_object()) return;
  const FieldPath subresources = path.Field("subresources");
  const FieldPath here = subresources.Field("scale");
  CheckReplicasPath(*scale, "specReplicasPath", "spec", here, causes);
  CheckReplicasPath(*scale, "statusReplicasPath", "status", here, causes);
  const std::string_view selector = base::FindString(*scale, {"labelSelectorPath"});
  const FieldPath selector_path = here.Field("labelSelectorPath");
  if (!selector.empty() && !selector.starts_with('.')) {
    causes.push_back(InvalidText(selector_path, selector, "must be a simple json path starting with ."));
  } else if (!selector.empty() && !selector.starts_with(".spec.") && !selector.starts_with(".status.")) {
    causes.push_back(InvalidText(selector_path, selector, "should be a json path under either .spec or .status"));
  }
}

void CheckColumn(const Json& column, const FieldPath& path, Causes& causes) {
  static const std::set<std::string, std::less<>> kTypes = {"boolean", "date", "integer", "number", "string"};
  static const std::set<std::string, std::less<>> kFormats = {"byte",  "date",  "date-time", "double",
                                                              "float", "int32", "int64",     "password"};
  const std::string_view type = base::FindString(column, {"type"});
  if (!type.empty() && !kTypes.contains(type)) {
    causes.push_back(InvalidText(path.Field("type"), type, "must be one of boolean,date,integer,number,string"));
  }
  const std::string_view format = base::FindString(column, {"format"});
  if (!format.empty() && !kFormats.contains(format)) {
    causes.push_back(
        InvalidText(path.Field("format"), format, "must be one of byte,date,date-time,double,float,int32,int64,password"));
  }
  const std::string_view json_path = base::FindString(column, {"jsonPath"});
  if (!json_path.empty() && !json_path.starts_with('.')) {
    causes.push_back(InvalidText(path.Field("jsonPath"), json_path, "must be a simple json path starting with ."));
  }
}

// Where a simple path leads in a schema as it is written; null where it leads nowhere.
const Json* SchemaAt(const Json& schema, std::string_view path) {
  const Json* at = &schema;
  while (!path.empty()) {
    if (!path.starts_with('.')) return nullptr;
    path.remove_prefix(1);
    const size_t end = path.find_first_of(".[");
    at = base::Find(*at, {"properties", path.substr(0, end)});
    if (at == nullptr || (end != path.npos && path[end] == '[')) return nullptr;
    path = end == path.npos ? "" : path.substr(end);
  }
  return at;
}

void CheckSelectableFields(const Json& version, const FieldPath& path, Causes& causes) {
  const JsonArray& fields = base::FindArray(version, {"selectableFields"});
  const Json* schema = base::Find(version, {"schema", "openAPIV3Schema"});
  if (fields.empty() || schema == nullptr) return;
  const FieldPath list = path.Field("selectableFields");
  std::set<std::string, std::less<>> seen;
  for (size_t i = 0; i < fields.size(); ++i) {
    const FieldPath item = list.Index(i);
    const FieldPath here = item.Field("jsonPath");
    const std::string_view text = base::FindString(fields[i], {"jsonPath"});
    if (text.empty()) continue;  // the shape says that it is required
    if (text == ".metadata" || text.starts_with(".metadata.")) {
      causes.push_back(InvalidText(here, text, "must not point to fields in metadata"));
      continue;
    }
    const Json* found = SchemaAt(*schema, text);
    if (found == nullptr) {
      causes.push_back(InvalidText(here, text, "is an invalid path: does not refer to a valid field"));
      continue;
    }
    const std::string_view type = base::FindString(*found, {"type"});
    if (type != "string" && type != "boolean" && type != "integer") {
      causes.push_back(
          InvalidText(here, text,
                      "must point to a field of type string, boolean or integer. Enum string fields and strings with "
                      "formats are allowed."));
    }
    if (!seen.emplace(text).second) causes.push_back(kube::DuplicateText(here, text));
  }
  if (seen.size() > kSelectableFieldsMax) causes.push_back(kube::TooMany(list, seen.size(), kSelectableFieldsMax));
}

void CheckReviewVersions(const Json& webhook, const FieldPath& path, Causes& causes) {
  const JsonArray& versions = base::FindArray(webhook, {"conversionReviewVersions"});
  if (versions.empty()) return causes.push_back(RequiredValue(path));
  std::set<std::string, std::less<>> seen;
  for (size_t i = 0; i < versions.size(); ++i) {
    const std::string_view text = versions[i].is_string() ? std::string_view(versions[i].get_string()) : "";
    if (!seen.emplace(text).second) {
      causes.push_back(InvalidText(path.Index(i), text, "duplicate version"));
    } else {
      CheckLabel(text, path.Index(i), causes);
    }
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1")) {
    causes.push_back(InvalidValue(path, Json(versions), "must include at least one of v1, v1beta1"));
  }
}

void CheckClientConfig(const Json& webhook, const FieldPath& path, Causes& causes) {
  const Json* config = base::Find(webhook, {"clientConfig"});
  const FieldPath here = path.Field("webhookClientConfig");
  if (config == nullptr) return causes.push_back(RequiredValue(here, "required when strategy is set to Webhook"));
  const Json* url = base::Find(*config, {"url"});
  if ((url == nullptr) == (base::Find(*config, {"service"}) == nullptr)) {
    return causes.push_back(RequiredValue(here, "exactly one of url or service is required"));
  }
  if (url == nullptr || !url->is_string()) return;
  const std::string_view text = url->get_string();
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  const FieldPath url_path = here.Field("url");
  if (!text.starts_with("https://")) {
    causes.push_back(
        InvalidText(url_path, text.substr(0, text.find(':')), "'https' is the only allowed URL scheme" + std::string(kForm)));
  } else if (text.size() == 8 || text[8] == '/') {
    causes.push_back(InvalidText(url_path, "", "host must be specified" + std::string(kForm)));
  } else if (text.find_first_of("?#") != text.npos) {
    causes.push_back(InvalidText(url_path, text, "query parameters are not permitted in the URL"));
  }
}

void CheckConversion(const Json& crd, const FieldPath& spec, Causes& causes) {
  const FieldPath path = spec.Field("conversion");
  const std::string_view strategy = base::FindString(crd, {"spec", "conversion", "strategy"}, "None");
  static const Json kNothing = base::JsonObject();
  const Json* webhook = base::Find(crd, {"spec", "conversion", "webhook"});
  if (strategy == "Webhook") {
    CheckClientConfig(webhook == nullptr ? kNothing : *webhook, path, causes);
    CheckReviewVersions(webhook == nullptr ? kNothing : *webhook, path.Field("conversionReviewVersions"), causes);
    return;
  }
  if (strategy != "None") causes.push_back(kube::UnsupportedText(path.Field("strategy"), strategy, {"None", "Webhook"}));
  if (webhook != nullptr && base::Find(*webhook, {"clientConfig"}) != nullptr) {
    causes.push_back(
        kube::ForbiddenValue(path.Field("webhookClientConfig"), "should not be set when strategy is not set to Webhook"));
  }
  if (webhook != nullptr && !base::FindArray(*webhook, {"conversionReviewVersions"}).empty()) {
    causes.push_back(
        kube::ForbiddenValue(path.Field("conversionReviewVersions"), "should not be set when strategy is not set to Webhook"));
  }
}

void CheckVersions(const Json& crd, const FieldPath& spec, Causes& causes) {
  const FieldPath path = spec.Field("versions");
  const JsonArray& versions = base::FindArray(crd, {"spec", "versions"});
  std::set<std::string, std::less<>> names;
  size_t storage = 0;
  for (size_t i = 0; i < versions.size(); ++i) {
    const Json& version = versions[i];
    const FieldPath here = path.Index(i);
    const std::string_view name = base::FindString(version, {"name"});
    CheckLabel(name, here.Field("name"), causes);
    names.emplace(name);
    if (base::FindBool(version, {"storage"})) ++storage;
    CheckDeprecation(version, here, causes);
    CheckSchema(version, here, causes);
    CheckScale(version, here, causes);
    const FieldPath columns = here.Field("additionalPrinterColumns");
    size_t index = 0;
    for (const Json& column : base::FindArray(version, {"additionalPrinterColumns"})) {
      CheckColumn(column, columns.Index(index++), causes);
    }
    CheckSelectableFields(version, here, causes);
  }
  // Upstream shows all of them, schemas and all.
  if (names.size() != versions.size()) causes.push_back(InvalidText(path, "", "must contain unique version names"));
  if (storage != 1) {
    causes.push_back(InvalidText(path, "", "must have exactly one version marked as storage version"));
  }
}

void CheckStoredVersions(const Json& crd, Causes& causes) {
  const FieldPath root;
  const FieldPath status = root.Field("status");
  const FieldPath path = status.Field("storedVersions");
  const JsonArray& stored = base::FindArray(crd, {"status", "storedVersions"});
  if (stored.empty()) return causes.push_back(InvalidValue(path, JsonArray(), "must have at least one stored version"));
  const auto is_stored = [&](std::string_view name) {
    return std::ranges::any_of(stored, [&](const Json& one) { return one.is_string() && one.get_string() == name; });
  };
  std::set<std::string, std::less<>> names;
  for (const Json& version : base::FindArray(crd, {"spec", "versions"})) {
    const std::string_view name = base::FindString(version, {"name"});
    names.emplace(name);
    if (!base::FindBool(version, {"storage"}) || is_stored(name)) continue;
    causes.push_back(InvalidValue(path, Json(stored), "must have the storage version " + std::string(name)));
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    const std::string name(stored[i].is_string() ? std::string_view(stored[i].get_string()) : "");
    if (names.contains(name)) continue;
    causes.push_back(
        InvalidText(path.Index(i), name,
                    fmt::format("missing from spec.versions; {0} was previously a storage version, and must remain in "
                                "spec.versions until a storage migration ensures no data remains persisted in {0} and "
                                "removes {0} from status.storedVersions",
                                name)));
  }
}

Causes CheckAll(const Json& crd, const Json* old) {
  Causes causes;
  const FieldPath root;
  const FieldPath spec = root.Field("spec");
  const FieldPath names = spec.Field("names");
  const std::string_view name = kube::NameOf(crd);
  const std::string wanted = std::string(base::FindString(crd, {"spec", "names", "plural"})) + "." +
                             std::string(base::FindString(crd, {"spec", "group"}));
  if (name != wanted) {
    const FieldPath metadata = root.Field("metadata");
    causes.push_back(InvalidText(metadata.Field("name"), name, "must be spec.names.plural+\".\"+spec.group"));
  }
  CheckGroup(crd, spec, causes);
  CheckVersions(crd, spec, causes);
  if (const Json* present = base::Find(crd, {"spec", "names"})) CheckNames(*present, names, causes);
  CheckConversion(crd, spec, causes);
  CheckStoredVersions(crd, causes);
  CheckApproval(crd, old, causes);
  CheckPreserving(crd, old, spec, causes);
  return causes;
}

}  // namespace

Causes ValidateDefinition(const Json& crd, const Json* old) {
  Causes causes = CheckAll(crd, old);
  if (old != nullptr && !causes.empty()) kube::DropKnownCauses(causes, CheckAll(*old, old));
  return causes;
}

}  // namespace evenkeel::embedded::apiserver
