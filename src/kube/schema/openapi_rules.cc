// Each rule is upstream's
// (kubernetes@1.36:staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go and
// pkg/apiserver/schema/validation.go), which say of a schema that it is right for objects and that it is structural.
#include "kube/schema/openapi_rules.h"

#include <set>

#include "base/pattern.h"
#include "kube/field_path.h"

namespace evenkeel::kube {
namespace {

using base::Cause;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kEmbedded = "x-kubernetes-embedded-resource";
constexpr std::string_view kIntOrString = "x-kubernetes-int-or-string";
constexpr std::string_view kListType = "x-kubernetes-list-type";
constexpr std::string_view kListKeys = "x-kubernetes-list-map-keys";
constexpr std::string_view kMapType = "x-kubernetes-map-type";
constexpr std::string_view kRules = "x-kubernetes-validations";

enum class Level { kRoot, kItem, kField };

/// Where in the schema the walk is.
struct Context {
  bool in_metadata = false;                  ///< apiVersion, kind or metadata of an object, or below
  std::string_view no_defaults_reason = "";  ///< not empty: defaults are forbidden
};

const JsonObject* ObjectAt(const JsonObject& schema, std::string_view key) {
  const Json* value = schema.if_contains(key);
  return value != nullptr && value->is_object() ? &value->get_object() : nullptr;
}

const JsonObject& FieldsAt(const JsonObject& schema, std::string_view key) {
  static const JsonObject kEmpty;
  const JsonObject* fields = ObjectAt(schema, key);
  return fields == nullptr ? kEmpty : *fields;
}

const JsonArray& ListAt(const JsonObject& schema, std::string_view key) {
  static const JsonArray kEmpty;
  const Json* value = schema.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
}

std::string_view TextAt(const JsonObject& schema, std::string_view key) {
  const Json* value = schema.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

bool FlagAt(const JsonObject& schema, std::string_view key) {
  const Json* value = schema.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

bool IsSet(const JsonObject& schema, std::string_view key) {
  const Json* value = schema.if_contains(key);
  return value != nullptr && !CountsAsUnset(*value);
}

bool IsThere(const JsonObject& schema, std::string_view key) {
  const Json* value = schema.if_contains(key);
  return value != nullptr && !value->is_null();
}

/// anyOf of an integer and a string, in that order and with nothing else: what may name types of a number or text.
bool IsIntOrString(const JsonArray& any_of) {
  const auto is_just = [](const Json& part, std::string_view type) {
    if (!part.is_object() || TextAt(part.get_object(), "type") != type) return false;
    return std::ranges::all_of(part.get_object(),
                               [](const auto& member) { return member.key() == "type" || CountsAsUnset(member.value()); });
  };
  return any_of.size() == 2 && is_just(any_of[0], "integer") && is_just(any_of[1], "string");
}

class Rules {
 public:
  explicit Rules(std::vector<Cause>& causes) : causes_(causes) {}

  void CheckRoot(const JsonObject& schema, const std::string& path) {
    const FieldPath root(path);
    if (FlagAt(schema, "nullable")) Forbid(root.Field("nullable"), "nullable cannot be true at the root");
    CheckStructural(schema, root, Level::kRoot, {});
  }

 private:
  void Forbid(const FieldPath& path, std::string_view detail) { causes_.push_back(ForbiddenValue(path, detail)); }

  /// A type that has to be another one where something is specified.
  void RequireType(const JsonObject& schema, const FieldPath& path, std::string_view type, std::string_view detail) {
    const std::string_view present = TextAt(schema, "type");
    if (present == type) return;
    if (present.empty()) {
      causes_.push_back(RequiredValue(path.Field("type"), detail));
    } else {
      causes_.push_back(InvalidText(path.Field("type"), present, detail));
    }
  }

  void CheckStructural(const JsonObject& schema, const FieldPath& path, Level level, const Context& context) {
    CheckAnySchema(schema, path, context);
    CheckTypePresent(schema, path, level);
    CheckExtensions(schema, path);
    CheckObjectFields(schema, path, level);
    CheckValueRules(schema, path, path, &schema, true);
    const FieldPath properties = path.Field("properties");
    for (const auto& [name, child] : FieldsAt(schema, "properties")) {
      if (!child.is_object()) continue;
      Context below = context;
      const bool meta = name == "metadata" || name == "kind" || name == "apiVersion";
      if (meta && (level == Level::kRoot || FlagAt(schema, kEmbedded))) below.in_metadata = true;
      if (meta && level == Level::kRoot) {
        below.no_defaults_reason = name == "metadata" ? "in top-level metadata"
                                   : name == "kind"   ? "in top-level kind"
                                                      : "in top-level apiVersion";
      }
      CheckStructural(child.get_object(), properties.Key(name), Level::kField, below);
    }
    if (const JsonObject* more = ObjectAt(schema, "additionalProperties")) {
      Context below = context;
      if (context.in_metadata) below.no_defaults_reason = "inside additionalProperties applying to object metadata";
      CheckStructural(*more, path.Field("additionalProperties"), Level::kField, below);
    }
    if (const JsonObject* items = ObjectAt(schema, "items")) {
      CheckStructural(*items, path.Field("items"), Level::kItem, context);
    }
  }

  /// What holds of every schema, also within allOf and the like.
  void CheckAnySchema(const JsonObject& schema, const FieldPath& path, const Context& context) {
    for (const std::string_view key : {"additionalItems", "dependencies", "$ref"}) {
      if (IsThere(schema, key)) Forbid(path.Field(key), std::string(key) + " is not supported");
    }
    for (const std::string_view key : {"id", "patternProperties", "definitions"}) {
      if (IsSet(schema, key)) Forbid(path.Field(key), std::string(key) + " is not supported");
    }
    const std::string_view type = TextAt(schema, "type");
    static const std::set<std::string, std::less<>> kTypes = {"array", "boolean", "integer", "number", "object", "string"};
    if (!type.empty() && !kTypes.contains(type)) {
      causes_.push_back(UnsupportedText(path.Field("type"), type, {kTypes.begin(), kTypes.end()}));
    }
    if (type == "null") Forbid(path.Field("type"), "type cannot be set to null, use nullable as an alternative");
    if (IsThere(schema, "default") && !context.no_defaults_reason.empty()) {
      Forbid(path.Field("default"), "must not be set " + std::string(context.no_defaults_reason));
    }
    if (!ListAt(schema, "items").empty()) Forbid(path.Field("items"), "items must be a schema object and not an array");
    if (context.in_metadata && FlagAt(schema, kEmbedded)) {
      Forbid(path.Field(kEmbedded), "must not be used inside of resource meta");
    }
    if (FlagAt(schema, "uniqueItems")) {
      Forbid(path.Field("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
    const Json* more = schema.if_contains("additionalProperties");
    const bool anything_more = more != nullptr && more->is_bool() && more->get_bool();
    if (more != nullptr && !more->is_null() && !anything_more && !FieldsAt(schema, "properties").empty()) {
      Forbid(path.Field("additionalProperties"), "additionalProperties and properties are mutual exclusive");
    } else if (more != nullptr && more->is_bool() && !anything_more) {
      Forbid(path.Field("additionalProperties"), "additionalProperties cannot be set to false");
    }
    if (const Json* preserve = schema.if_contains(kPreserve);
        preserve != nullptr && preserve->is_bool() && !preserve->get_bool()) {
      causes_.push_back(InvalidValue(path.Field(kPreserve), *preserve, "must be true or undefined"));
    }
    CheckMapType(schema, path);
    CheckListType(schema, path);
    CheckListKeys(schema, path);
    CheckItemKeys(schema, path);
  }

  void CheckMapType(const JsonObject& schema, const FieldPath& path) {
    if (!IsThere(schema, kMapType)) return;
    const std::string_view type = TextAt(schema, kMapType);
    RequireType(schema, path, "object", "must be object if x-kubernetes-map-type is specified");
    if (type != "atomic" && type != "granular") {
      causes_.push_back(UnsupportedText(path.Field(kMapType), type, {"atomic", "granular"}));
    }
  }

  void CheckListType(const JsonObject& schema, const FieldPath& path) {
    if (!IsThere(schema, kListType)) return;
    const std::string_view list = TextAt(schema, kListType);
    RequireType(schema, path, "array", "must be array if x-kubernetes-list-type is specified");
    if (list != "atomic" && list != "set" && list != "map") {
      causes_.push_back(UnsupportedText(path.Field(kListType), list, {"atomic", "map", "set"}));
    }
    const JsonObject* items = ObjectAt(schema, "items");
    if (items == nullptr || (list != "set" && list != "map")) return;
    const FieldPath here = path.Field("items");
    if (FlagAt(*items, "nullable")) {
      Forbid(here.Field("nullable"), "cannot be nullable when x-kubernetes-list-type is " + std::string(list));
    }
    if (list != "set") return;
    constexpr std::string_view kAtomic = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const std::string_view item_list = TextAt(*items, kListType);
    if (TextAt(*items, "type") == "array" && !item_list.empty() && item_list != "atomic") {
      causes_.push_back(InvalidText(here.Field(kListType), item_list, kAtomic));
    }
    if (TextAt(*items, "type") == "object" && TextAt(*items, kMapType) != "atomic") {
      causes_.push_back(InvalidText(here.Field(kMapType), TextAt(*items, kMapType), kAtomic));
    }
  }

  void CheckListKeys(const JsonObject& schema, const FieldPath& path) {
    const std::string_view list = TextAt(schema, kListType);
    const bool any = !ListAt(schema, kListKeys).empty();
    if (any && !IsThere(schema, kListType)) {
      causes_.push_back(RequiredValue(path.Field(kListType), "must be map if x-kubernetes-list-map-keys is non-empty"));
    } else if (any && list != "map") {
      causes_.push_back(InvalidText(path.Field(kListType), list, "must be map if x-kubernetes-list-map-keys is non-empty"));
    }
    if (list != "map") return;
    if (!any) {
      causes_.push_back(RequiredValue(path.Field(kListKeys), "must not be empty if x-kubernetes-list-type is map"));
    }
    const JsonObject* items = ObjectAt(schema, "items");
    const FieldPath here = path.Field("items");
    if (items == nullptr) {
      causes_.push_back(RequiredValue(here, "must have a schema if x-kubernetes-list-type is map"));
    } else if (TextAt(*items, "type") != "object") {
      causes_.push_back(InvalidText(here.Field("type"), TextAt(*items, "type"),
                                    "must be object if parent array's x-kubernetes-list-type is map"));
    }
  }

  void CheckItemKeys(const JsonObject& schema, const FieldPath& path) {
    const JsonObject* items = ObjectAt(schema, "items");
    if (items == nullptr || TextAt(schema, kListType) != "map" || TextAt(*items, "type") != "object") return;
    const JsonArray& keys = ListAt(schema, kListKeys);
    const FieldPath item_path = path.Field("items");
    const FieldPath properties = item_path.Field("properties");
    const JsonArray& required = ListAt(*items, "required");
    std::set<std::string, std::less<>> seen;
    for (const Json& key : keys) {
      if (!key.is_string()) continue;
      const std::string_view name = key.get_string();
      const FieldPath here = properties.Key(name);
      if (!seen.emplace(name).second) {
        causes_.push_back(InvalidValue(path.Field(kListKeys), Json(keys), "must not contain duplicate entries"));
      }
      const JsonObject* property = ObjectAt(FieldsAt(*items, "properties"), name);
      if (property == nullptr) {
        causes_.push_back(InvalidValue(path.Field(kListKeys), Json(keys), "entries must all be names of item properties"));
        continue;
      }
      if (const std::string_view type = TextAt(*property, "type"); type == "array" || type == "object") {
        causes_.push_back(
            InvalidText(here.Field("type"), type, "must be a scalar type if parent array's x-kubernetes-list-type is map"));
      }
      if (std::ranges::find(required, key) == required.end() && !IsThere(*property, "default")) {
        causes_.push_back(RequiredValue(
            here.Field("default"),
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"));
      }
      if (FlagAt(*property, "nullable")) {
        Forbid(here.Field("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
      }
    }
  }

  void CheckTypePresent(const JsonObject& schema, const FieldPath& path, Level level) {
    const std::string_view type = TextAt(schema, "type");
    if (FlagAt(schema, kEmbedded)) {
      RequireType(schema, path, "object", "must be object if x-kubernetes-embedded-resource is true");
    } else if (type.empty() && !FlagAt(schema, kIntOrString) && !FlagAt(schema, kPreserve)) {
      causes_.push_back(RequiredValue(path.Field("type"), level == Level::kRoot ? "must not be empty at the root"
                                                          : level == Level::kItem
                                                              ? "must not be empty for specified array items"
                                                              : "must not be empty for specified object fields"));
    }
    if (level == Level::kRoot && !type.empty() && type != "object") {
      causes_.push_back(InvalidText(path.Field("type"), type, "must be object at the root"));
    }
    if (type == "array" && !IsThere(schema, "items"))
      causes_.push_back(RequiredValue(path.Field("items"), "must be specified"));
    if (level == Level::kRoot && IsThere(schema, "additionalProperties")) {
      Forbid(path.Field("additionalProperties"), "must not be used at the root");
    }
  }

  void CheckExtensions(const JsonObject& schema, const FieldPath& path) {
    if (FlagAt(schema, kIntOrString) && FlagAt(schema, kPreserve)) {
      causes_.push_back(InvalidValue(path.Field(kPreserve), true, "must be false if x-kubernetes-int-or-string is true"));
    }
    if (FlagAt(schema, kIntOrString) && FlagAt(schema, kEmbedded)) {
      causes_.push_back(InvalidValue(path.Field(kEmbedded), true, "must be false if x-kubernetes-int-or-string is true"));
    }
    if (!FlagAt(schema, kEmbedded)) return;
    if (IsThere(schema, "additionalProperties")) {
      Forbid(path.Field("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set");
    }
    if (!FlagAt(schema, kPreserve) && FieldsAt(schema, "properties").empty()) {
      causes_.push_back(RequiredValue(path.Field("properties"),
                                      "must not be empty if x-kubernetes-embedded-resource is true without "
                                      "x-kubernetes-preserve-unknown-fields"));
    }
  }

  /// apiVersion, kind and metadata of a whole object are what they are.
  void CheckObjectFields(const JsonObject& schema, const FieldPath& path, Level level) {
    if (level != Level::kRoot && !FlagAt(schema, kEmbedded)) return;
    const FieldPath properties = path.Field("properties");
    for (const std::string_view key : {"kind", "apiVersion"}) {
      const JsonObject* property = ObjectAt(FieldsAt(schema, "properties"), key);
      if (property == nullptr || TextAt(*property, "type") == "string") continue;
      const FieldPath here = properties.Key(key);
      causes_.push_back(InvalidText(here.Field("type"), TextAt(*property, "type"), "must be string"));
    }
    const JsonObject* metadata = ObjectAt(FieldsAt(schema, "properties"), "metadata");
    if (metadata == nullptr) return;
    const FieldPath here = properties.Key("metadata");
    if (TextAt(*metadata, "type") != "object") {
      causes_.push_back(InvalidText(here.Field("type"), TextAt(*metadata, "type"), "must be object"));
    }
    if (level == Level::kRoot && SaysMoreThanNames(*metadata)) {
      Forbid(here, "must not specify anything other than name and generateName, but metadata is implicitly specified");
    }
  }

  static bool SaysMoreThanNames(const JsonObject& metadata) {
    for (const auto& [name, child] : FieldsAt(metadata, "properties")) {
      if (name != "name" && name != "generateName") return true;
    }
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"description", "title", "nullable", "items", "additionalProperties", kPreserve,
                                                kEmbedded, kIntOrString, kListType, kListKeys, kMapType, kRules},
        [&](std::string_view key) { return IsSet(metadata, key); });
  }

  /// allOf and the like below a schema, and its pattern. `structure` is the schema whose values they talk about, at
  /// `structure_path`; null where there is none. `whole`: this is that schema itself.
  void CheckValueRules(const JsonObject& schema, const FieldPath& path, const FieldPath& structure_path,
                       const JsonObject* structure, bool whole) {
    const JsonArray& any_of = ListAt(schema, "anyOf");
    const FieldPath any_path = path.Field("anyOf");
    const bool typed = (whole || may_be_typed_) && IsIntOrString(any_of);
    may_be_typed_ = false;
    if (!typed) CheckParts(any_of, any_path, structure_path, structure);
    const JsonArray& all_of = ListAt(schema, "allOf");
    const FieldPath all_path = path.Field("allOf");
    for (size_t i = 0; i < all_of.size(); ++i) {
      if (!all_of[i].is_object()) continue;
      may_be_typed_ = whole && i == 0;
      CheckNested(all_of[i].get_object(), all_path.Index(i), structure_path, structure);
    }
    may_be_typed_ = false;
    CheckParts(ListAt(schema, "oneOf"), path.Field("oneOf"), structure_path, structure);
    if (const JsonObject* negated = ObjectAt(schema, "not"))
      CheckNested(*negated, path.Field("not"), structure_path, structure);
    const std::string_view pattern = TextAt(schema, "pattern");
    if (pattern.empty()) return;
    if (auto parsed = base::Pattern::Parse(pattern)) {
      patterns_.insert(*std::move(parsed));
    } else {
      causes_.push_back(InvalidText(path.Field("pattern"), pattern,
                                    "must be a valid regular expression, but isn't: " + parsed.error().message()));
    }
  }

  void CheckParts(const JsonArray& parts, const FieldPath& path, const FieldPath& structure_path, const JsonObject* structure) {
    size_t index = 0;
    for (const Json& part : parts) {
      const FieldPath here = path.Index(index++);
      if (part.is_object()) CheckNested(part.get_object(), here, structure_path, structure);
    }
  }

  /// Rules about values whose structure stands elsewhere, to which they may add nothing.
  void CheckNested(const JsonObject& schema, const FieldPath& path, const FieldPath& structure_path,
                   const JsonObject* structure) {
    CheckAnySchema(schema, path, {});
    RefuseStructure(schema, path);
    if (structure == nullptr) {
      causes_.push_back(RequiredValue(structure_path, "because it is defined in " + path.Text()));
      return;
    }
    CheckValueRules(schema, path, structure_path, structure, false);
    const FieldPath properties = path.Field("properties");
    const FieldPath structure_properties = structure_path.Field("properties");
    for (const auto& [name, child] : FieldsAt(schema, "properties")) {
      const FieldPath here = properties.Key(name);
      if (name == "metadata") Forbid(here, "must not be specified in a nested context");
      if (!child.is_object()) continue;
      CheckNested(child.get_object(), here, structure_properties.Key(name), ObjectAt(FieldsAt(*structure, "properties"), name));
    }
    if (const JsonObject* items = ObjectAt(schema, "items")) {
      CheckNested(*items, path.Field("items"), structure_path.Field("items"), ObjectAt(*structure, "items"));
    }
  }

  void RefuseStructure(const JsonObject& schema, const FieldPath& path) {
    constexpr std::string_view kEmpty = "must be empty to be structural";
    constexpr std::string_view kUndefined = "must be undefined to be structural";
    constexpr std::string_view kFalse = "must be false to be structural";
    for (const std::string_view key :
         {std::string_view("type"), std::string_view("title"), std::string_view("description"), kListKeys, kRules}) {
      if (IsSet(schema, key)) Forbid(path.Field(key), kEmpty);
    }
    for (const std::string_view key : {std::string_view("additionalProperties"), std::string_view("default"),
                                       std::string_view("externalDocs"), kListType, kMapType}) {
      if (IsThere(schema, key)) Forbid(path.Field(key), kUndefined);
    }
    for (const std::string_view key : {std::string_view("nullable"), kPreserve, kEmbedded, kIntOrString}) {
      if (FlagAt(schema, key)) Forbid(path.Field(key), kFalse);
    }
  }

  std::vector<Cause>& causes_;
  // Held until the end: a definition has the same few in many fields, and what nobody holds is compiled again.
  std::set<std::shared_ptr<const base::Pattern>> patterns_;
  bool may_be_typed_ = false;  // the anyOf that comes next is the one of the first allOf
};

}  // namespace

bool CountsAsUnset(const Json& value) {
  return value.is_null() || (value.is_bool() && !value.get_bool()) || (value.is_string() && value.get_string().empty()) ||
         (value.is_array() && value.get_array().empty()) || (value.is_object() && value.get_object().empty());
}

std::vector<Cause> CheckOpenApi(const JsonObject& schema, const std::string& path) {
  std::vector<Cause> causes;
  Rules(causes).CheckRoot(schema, path);
  return causes;
}

}  // namespace evenkeel::kube
