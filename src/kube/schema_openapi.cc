// Reads the schemas of CustomResourceDefinitions.
#include "base/json.h"
#include "kube/field_path.h"
#include "kube/schema.h"

namespace evenkeel::kube {
namespace {

using base::Cause;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using Type = Schema::Type;

constexpr std::string_view kMetaDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const JsonObject& ChildObject(const JsonObject& object, std::string_view key) {
  static const JsonObject kEmpty;
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : kEmpty;
}

const JsonArray& ChildArray(const JsonObject& object, std::string_view key) {
  static const JsonArray kEmpty;
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
}

std::string ChildText(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(std::string_view(value->get_string())) : std::string();
}

bool ChildFlag(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<double> ChildNumber(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

std::optional<size_t> ChildCount(const JsonObject& object, std::string_view key) {
  const std::optional<double> number = ChildNumber(object, key);
  if (!number || *number < 0 || *number > 9e15) return std::nullopt;
  return static_cast<size_t>(*number);
}

class OpenApiReader {
 public:
  OpenApiReader(SchemaSet& owner, std::vector<Cause>& causes) : owner_(owner), causes_(causes) {}

  Schema* ReadRoot(const JsonObject& source) {
    const FieldPath root;
    const std::string type = ChildText(source, "type");
    if (type.empty()) causes_.push_back(RequiredValue(root.Field("type"), "must not be empty at the root"));
    if (!type.empty() && type != "object") {
      causes_.push_back(InvalidText(root.Field("type"), type, "must be object at the root"));
    }
    if (ChildFlag(source, "nullable"))
      causes_.push_back(ForbiddenValue(root.Field("nullable"), "nullable cannot be true at the root"));
    Schema* schema = ReadStructural(source, root, "at the root");
    AddObjectFields(*schema, ChildObject(ChildObject(source, "properties"), "metadata"));
    return schema;
  }

  /// Defaults must fit their schema; possible once everything is sealed.
  void CheckDefaults() {
    for (const auto& [where, value, schema] : defaults_) {
      Json pruned = value;
      std::vector<std::string> unknown;
      Prune(pruned, *schema, &unknown);
      if (!unknown.empty()) {
        causes_.push_back(InvalidValue(FieldPath(where), value, "must not have unknown fields: " + unknown[0]));
      }
      for (Cause& cause : Validate(value, *schema, where)) causes_.push_back(std::move(cause));
    }
  }

 private:
  struct PendingDefault {
    std::string where;
    Json value;
    const Schema* schema;
  };

  Schema* ReadStructural(const JsonObject& source, const FieldPath& path, std::string_view what) {
    Schema* schema = owner_.New();
    schema->description = ChildText(source, "description");
    RefuseUnsupported(source, path);
    ReadType(source, path, what, *schema);
    ReadExtensions(source, path, *schema);
    ReadFields(source, path, *schema);
    ReadRules(source, path, *schema);
    ReadCombinations(source, path, schema, schema->type == Type::kIntOrString, *schema);
    if (const JsonArray& keys = ChildArray(source, "x-kubernetes-list-map-keys"); !keys.empty()) CheckListKeys(path, *schema);
    if (schema->embedded_resource) AddObjectFields(*schema, ChildObject(ChildObject(source, "properties"), "metadata"));
    return schema;
  }

  void RefuseUnsupported(const JsonObject& source, const FieldPath& path) {
    for (const char* name : {"$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id", "deprecated",
                             "discriminator", "readOnly", "writeOnly", "xml"}) {
      const Json* value = source.if_contains(name);
      if (value == nullptr || value->is_null() || (value->is_object() && value->get_object().empty())) continue;
      causes_.push_back(ForbiddenValue(path.Field(name), std::string(name) + " is not supported"));
    }
    if (ChildFlag(source, "uniqueItems")) {
      causes_.push_back(ForbiddenValue(path.Field("uniqueItems"),
                                       "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
    }
  }

  void ReadType(const JsonObject& source, const FieldPath& path, std::string_view what, Schema& schema) {
    const std::string type = ChildText(source, "type");
    const bool int_or_string = ChildFlag(source, "x-kubernetes-int-or-string");
    const bool preserve = ChildFlag(source, "x-kubernetes-preserve-unknown-fields");
    if (type.empty()) {
      schema.type = int_or_string ? Type::kIntOrString : Type::kAny;
      if (!int_or_string && !preserve && what != "at the root") {
        causes_.push_back(RequiredValue(path.Field("type"), "must not be empty " + std::string(what)));
      }
      return;
    }
    if (int_or_string) {
      causes_.push_back(InvalidText(path.Field("type"), type, "must be empty if x-kubernetes-int-or-string is true"));
    }
    static const std::map<std::string, Type, std::less<>> kTypes = {{"object", Type::kObject}, {"array", Type::kArray},
                                                                    {"string", Type::kString}, {"integer", Type::kInteger},
                                                                    {"number", Type::kNumber}, {"boolean", Type::kBoolean}};
    const auto found = kTypes.find(type);
    if (found == kTypes.end()) {
      causes_.push_back(
          UnsupportedText(path.Field("type"), type, {"array", "boolean", "integer", "number", "object", "string"}));
      return;
    }
    schema.type = found->second;
  }

  void ReadExtensions(const JsonObject& source, const FieldPath& path, Schema& schema) {
    schema.nullable = ChildFlag(source, "nullable");
    schema.embedded_resource = ChildFlag(source, "x-kubernetes-embedded-resource");
    const Json* preserve = source.if_contains("x-kubernetes-preserve-unknown-fields");
    schema.preserve_unknown = ChildFlag(source, "x-kubernetes-preserve-unknown-fields");
    if (preserve != nullptr && preserve->is_bool() && !preserve->get_bool()) {
      causes_.push_back(
          InvalidValue(path.Field("x-kubernetes-preserve-unknown-fields"), *preserve, "must be true or undefined"));
    }
    if (const std::string type = ChildText(source, "x-kubernetes-map-type"); type == "atomic") {
      schema.atomic_struct = true;
    } else if (!type.empty() && type != "granular") {
      causes_.push_back(UnsupportedText(path.Field("x-kubernetes-map-type"), type, {"atomic", "granular"}));
    }
    const std::string list = ChildText(source, "x-kubernetes-list-type");
    for (const Json& key : ChildArray(source, "x-kubernetes-list-map-keys")) {
      if (key.is_string()) schema.list_keys.emplace_back(std::string_view(key.get_string()));
    }
    if (!list.empty() && schema.type != Type::kArray) {
      causes_.push_back(
          InvalidText(path.Field("type"), ChildText(source, "type"), "must be array if x-kubernetes-list-type is specified"));
    }
    if (list == "map") {
      schema.list_type = Schema::ListType::kMap;
      if (schema.list_keys.empty()) {
        causes_.push_back(
            RequiredValue(path.Field("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map"));
      }
    } else if (list == "set") {
      schema.list_type = Schema::ListType::kSet;
    } else if (!list.empty() && list != "atomic") {
      causes_.push_back(UnsupportedText(path.Field("x-kubernetes-list-type"), list, {"atomic", "map", "set"}));
    }
  }

  void ReadFields(const JsonObject& source, const FieldPath& path, Schema& schema) {
    const FieldPath properties = path.Field("properties");
    for (const auto& [name, child] : ChildObject(source, "properties")) {
      const FieldPath here = properties.Key(name);
      if (!child.is_object()) {
        causes_.push_back(InvalidValue(here, child, "must be a schema object"));
        continue;
      }
      Schema::FieldSchema field;
      field.name = name;
      field.schema = ReadStructural(child.get_object(), here, "for specified object fields");
      field.description = field.schema->description;
      if (const Json* value = child.get_object().if_contains("default");
          value != nullptr && !(value->is_null() && !field.schema->nullable)) {
        field.default_value = *value;
        defaults_.push_back({here.Field("default").Text(), *value, field.schema});
      }
      schema.fields.push_back(std::move(field));
    }
    ReadAdditional(source, path, schema);
    const Json* items = source.if_contains("items");
    if (items != nullptr && items->is_object()) {
      schema.item = ReadStructural(items->get_object(), path.Field("items"), "for specified array items");
    } else if (items != nullptr && items->is_array()) {
      causes_.push_back(ForbiddenValue(path.Field("items"), "items must be a schema object and not an array"));
    } else if (schema.type == Type::kArray) {
      causes_.push_back(RequiredValue(path.Field("items"), "must be specified"));
    }
    ReadRequired(source, schema);
  }

  void ReadAdditional(const JsonObject& source, const FieldPath& path, Schema& schema) {
    const Json* additional = source.if_contains("additionalProperties");
    if (additional == nullptr || additional->is_null()) return;
    const FieldPath here = path.Field("additionalProperties");
    if (!schema.fields.empty()) {
      causes_.push_back(ForbiddenValue(here, "additionalProperties and properties are mutual exclusive"));
      return;
    }
    if (additional->is_bool()) {
      if (!additional->get_bool())
        return causes_.push_back(ForbiddenValue(here, "additionalProperties cannot be set to false"));
      schema.item = owner_.New();
      schema.type = Type::kMap;
    } else if (additional->is_object()) {
      schema.item = ReadStructural(additional->get_object(), here, "for specified object fields");
      if (schema.type == Type::kObject) schema.type = Type::kMap;
    }
  }

  static void ReadRequired(const JsonObject& source, Schema& schema) {
    for (const Json& name : ChildArray(source, "required")) {
      if (!name.is_string()) continue;
      const std::string_view text = name.get_string();
      const auto field = std::find_if(schema.fields.begin(), schema.fields.end(),
                                      [&](const Schema::FieldSchema& one) { return one.name == text; });
      if (field == schema.fields.end()) {
        schema.required_keys.emplace_back(text);
      } else {
        field->required = true;
      }
    }
  }

  void ReadRules(const JsonObject& source, const FieldPath& path, Schema& schema) {
    schema.minimum = ChildNumber(source, "minimum");
    schema.maximum = ChildNumber(source, "maximum");
    schema.exclusive_minimum = ChildFlag(source, "exclusiveMinimum");
    schema.exclusive_maximum = ChildFlag(source, "exclusiveMaximum");
    schema.multiple_of = ChildNumber(source, "multipleOf");
    schema.min_length = ChildCount(source, "minLength");
    schema.max_length = ChildCount(source, "maxLength");
    schema.min_items = ChildCount(source, "minItems");
    schema.max_items = ChildCount(source, "maxItems");
    schema.min_properties = ChildCount(source, "minProperties");
    schema.max_properties = ChildCount(source, "maxProperties");
    schema.format = ChildText(source, "format");
    if (schema.type == Type::kString || schema.type == Type::kAny || schema.type == Type::kIntOrString) {
      schema.format_check = FindFormat(schema.format);
    }
    for (const Json& value : ChildArray(source, "enum")) schema.enum_values.push_back(value);
    const std::string text = ChildText(source, "pattern");
    if (text.empty()) return;
    if (auto pattern = base::Pattern::Parse(text)) {
      schema.pattern = *std::move(pattern);
    } else {
      causes_.push_back(InvalidText(path.Field("pattern"), text,
                                    "must be a valid regular expression, but isn't: " + pattern.error().message()));
    }
  }

  /// `structure` is the schema that the parts talk about; `typed` when they may name a type (int-or-string).
  void ReadCombinations(const JsonObject& source, const FieldPath& path, const Schema* structure, bool typed, Schema& schema) {
    for (const auto& [name, list] :
         {std::pair{"allOf", &schema.all_of}, std::pair{"anyOf", &schema.any_of}, std::pair{"oneOf", &schema.one_of}}) {
      const FieldPath parts = path.Field(name);
      size_t index = 0;
      for (const Json& part : ChildArray(source, name)) {
        const FieldPath here = parts.Index(index++);
        if (part.is_object()) list->push_back(ReadValueRules(part.get_object(), here, structure, typed));
      }
    }
    if (const Json* value = source.if_contains("not"); value != nullptr && value->is_object()) {
      schema.not_schema = ReadValueRules(value->get_object(), path.Field("not"), structure, typed);
    }
  }

  /// Rules about a value whose structure is given elsewhere: they may not add structure. `structure` is that place.
  Schema* ReadValueRules(const JsonObject& source, const FieldPath& path, const Schema* structure, bool typed) {
    Schema* schema = owner_.New();
    for (const char* name :
         {"type", "additionalProperties", "default", "description", "title", "nullable", "x-kubernetes-preserve-unknown-fields",
          "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-type",
          "x-kubernetes-list-map-keys", "x-kubernetes-map-type"}) {
      const Json* value = source.if_contains(name);
      if (value == nullptr || value->is_null() || (typed && std::string_view(name) == "type")) continue;
      causes_.push_back(ForbiddenValue(path.Field(name), "must be empty to be structural"));
    }
    if (typed && !ChildText(source, "type").empty()) {
      schema->type = ChildText(source, "type") == "integer" ? Type::kInteger : Type::kString;
    }
    const FieldPath properties = path.Field("properties");
    for (const auto& [name, child] : ChildObject(source, "properties")) {
      if (!child.is_object()) continue;
      const FieldPath here = properties.Key(name);
      const Schema* below = nullptr;
      if (structure != nullptr) {
        const auto field = std::find_if(structure->fields.begin(), structure->fields.end(),
                                        [&](const Schema::FieldSchema& one) { return one.name == std::string_view(name); });
        below = field != structure->fields.end() ? field->schema : structure->item;
        if (below == nullptr && structure->type == Type::kObject) {
          causes_.push_back(RequiredValue(here, "because it is not defined as a property of the structure"));
        }
      }
      schema->fields.push_back({});
      schema->fields.back().name = name;
      schema->fields.back().schema =
          ReadValueRules(child.get_object(), here, below, below != nullptr && below->type == Type::kIntOrString);
    }
    if (const Json* items = source.if_contains("items"); items != nullptr && items->is_object()) {
      const Schema* below = structure == nullptr ? nullptr : structure->item;
      schema->item = ReadValueRules(items->get_object(), path.Field("items"), below,
                                    below != nullptr && below->type == Type::kIntOrString);
    }
    ReadRequired(source, *schema);
    ReadRules(source, path, *schema);
    ReadCombinations(source, path, structure, typed, *schema);
    return schema;
  }

  void CheckListKeys(const FieldPath& path, const Schema& schema) {
    if (schema.item == nullptr || schema.list_type != Schema::ListType::kMap) return;
    const FieldPath items = path.Field("items");
    const FieldPath properties = items.Field("properties");
    for (const std::string& key : schema.list_keys) {
      const auto field = std::find_if(schema.item->fields.begin(), schema.item->fields.end(),
                                      [&](const Schema::FieldSchema& one) { return one.name == key; });
      if (field == schema.item->fields.end()) {
        causes_.push_back(InvalidText(path.Field("x-kubernetes-list-map-keys"), key, "entry not found in properties"));
      } else if (!field->required && !field->default_value) {
        const FieldPath here = properties.Key(key);
        causes_.push_back(RequiredValue(
            here.Field("default"),
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"));
      }
    }
  }

  /// apiVersion, kind and metadata of a whole object; what the CRD says about metadata.name and generateName stays in force.
  void AddObjectFields(Schema& schema, const JsonObject& metadata_source) {
    const auto set = [&schema](std::string_view name, const Schema* shape, std::string_view description) {
      for (Schema::FieldSchema& field : schema.fields) {
        if (field.name != name) continue;
        field.schema = shape;
        field.default_value.reset();
        return;
      }
      Schema::FieldSchema field;
      field.name = name;
      field.schema = shape;
      field.description = description;
      schema.fields.push_back(std::move(field));
    };
    Schema* text = owner_.New();
    text->type = Type::kString;
    set("apiVersion", text, "Group and version of the API that this object follows.");
    set("kind", text, "Kind of this object.");
    const Schema* meta = FindBuiltInSchema(kMetaDefinition);
    EVENKEEL_CHECK(meta != nullptr);
    if (!ChildObject(metadata_source, "properties").empty()) {
      std::vector<Cause> ignored;
      OpenApiReader rules(owner_, ignored);
      Schema* restricted = owner_.New();
      *restricted = *meta;
      restricted->all_of.push_back(rules.ReadValueRules(metadata_source, FieldPath(), nullptr, false));
      meta = restricted;
    }
    set("metadata", meta, "Name, labels and what else all objects have.");
  }

  SchemaSet& owner_;
  std::vector<Cause>& causes_;
  std::vector<PendingDefault> defaults_;
};

}  // namespace

base::Result<const Schema*> SchemaFromOpenApi(const Json& open_api, SchemaSet& owner) {
  if (!open_api.is_object()) {
    base::ErrorDetails details;
    details.causes.push_back(RequiredValue(FieldPath(), "must be a schema object"));
    return base::Fail(base::Error(base::Code::kInvalid, "Required value: must be a schema object", std::move(details)));
  }
  std::vector<Cause> causes;
  OpenApiReader reader(owner, causes);
  const Schema* schema = reader.ReadRoot(open_api.get_object());
  owner.Seal();
  reader.CheckDefaults();
  if (causes.empty()) return schema;
  std::string message = causes[0].field + ": " + causes[0].message;
  if (causes.size() > 1) message += " (and " + std::to_string(causes.size() - 1) + " more)";
  base::ErrorDetails details;
  details.causes = std::move(causes);
  return base::Fail(base::Error(base::Code::kInvalid, std::move(message), std::move(details)));
}

}  // namespace evenkeel::kube
