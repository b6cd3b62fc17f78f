// Reads the schemas of CustomResourceDefinitions.
#include "base/json.h"
#include "kube/field_path.h"
#include "kube/schema/openapi_rules.h"
#include "kube/schema/schema.h"

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
  explicit OpenApiReader(SchemaSet& owner) : owner_(owner) {}

  Schema* ReadRoot(const JsonObject& source, const std::string& path) {
    const FieldPath root(path);
    Schema* schema = ReadStructural(source, root);
    AddObjectFields(*schema, ChildObject(ChildObject(source, "properties"), "metadata"));
    return schema;
  }

  /// Defaults must fit their schema; possible once everything is sealed.
  std::vector<Cause> CheckDefaults() const {
    std::vector<Cause> causes;
    for (const auto& [where, value, schema] : defaults_) {
      Json pruned = value;
      std::vector<std::string> unknown;
      Prune(pruned, *schema, &unknown);
      if (!unknown.empty()) {
        causes.push_back(InvalidValue(FieldPath(where), value, "must not have unknown fields: " + unknown[0]));
      }
      for (Cause& cause : Validate(value, *schema, where)) causes.push_back(std::move(cause));
    }
    return causes;
  }

 private:
  struct PendingDefault {
    std::string where;
    Json value;
    const Schema* schema;
  };

  Schema* ReadStructural(const JsonObject& source, const FieldPath& path) {
    Schema* schema = owner_.New();
    schema->description = ChildText(source, "description");
    ReadType(source, *schema);
    ReadExtensions(source, *schema);
    ReadFields(source, path, *schema);
    ReadRules(source, *schema);
    ReadCombinations(source, *schema);
    if (schema->embedded_resource) AddObjectFields(*schema, ChildObject(ChildObject(source, "properties"), "metadata"));
    return schema;
  }

  /// Fields without structure say the same again and again: those share a schema. Null for those with structure. What a field
  /// has for itself, its description and default, is not the schema's.
  const Schema* FindScalar(const JsonObject& source, const FieldPath& path) {
    for (const char* structure : {"properties", "items", "additionalProperties", "x-kubernetes-preserve-unknown-fields"}) {
      if (source.contains(structure)) return nullptr;
    }
    std::string says;
    for (const auto& [key, value] : source) {
      if (key == "description" || key == "default") continue;
      base::AppendQuoted(says, key);
      base::AppendText(says, value);
    }
    Schema*& scalar = scalars_[says];
    if (scalar == nullptr) {
      scalar = ReadStructural(source, path);
      scalar->description.clear();
    }
    return scalar;
  }

  static void ReadType(const JsonObject& source, Schema& schema) {
    static const std::map<std::string, Type, std::less<>> kTypes = {{"object", Type::kObject}, {"array", Type::kArray},
                                                                    {"string", Type::kString}, {"integer", Type::kInteger},
                                                                    {"number", Type::kNumber}, {"boolean", Type::kBoolean}};
    // A type beside it says nothing.
    if (ChildFlag(source, "x-kubernetes-int-or-string")) {
      schema.type = Type::kIntOrString;
    } else if (const auto found = kTypes.find(ChildText(source, "type")); found != kTypes.end()) {
      schema.type = found->second;
    }
  }

  static void ReadExtensions(const JsonObject& source, Schema& schema) {
    schema.nullable = ChildFlag(source, "nullable");
    schema.embedded_resource = ChildFlag(source, "x-kubernetes-embedded-resource");
    schema.preserve_unknown = ChildFlag(source, "x-kubernetes-preserve-unknown-fields");
    schema.atomic_struct = ChildText(source, "x-kubernetes-map-type") == "atomic";
    const std::string list = ChildText(source, "x-kubernetes-list-type");
    if (list == "map") schema.list_type = Schema::ListType::kMap;
    if (list == "set") schema.list_type = Schema::ListType::kSet;
    schema.list_keys = base::TextsIn(ChildArray(source, "x-kubernetes-list-map-keys"));
  }

  void ReadFields(const JsonObject& source, const FieldPath& path, Schema& schema) {
    const FieldPath properties = path.Field("properties");
    for (const auto& [name, child] : ChildObject(source, "properties")) {
      if (!child.is_object()) continue;
      const FieldPath here = properties.Key(name);
      Schema::FieldSchema field;
      field.name = name;
      field.description = ChildText(child.get_object(), "description");
      field.schema = FindScalar(child.get_object(), here);
      if (field.schema == nullptr) {
        Schema* own = ReadStructural(child.get_object(), here);
        own->description.clear();  // the field has it
        field.schema = own;
      }
      if (const Json* value = child.get_object().if_contains("default");
          value != nullptr && !(value->is_null() && !field.schema->nullable)) {
        field.default_value = *value;
        defaults_.push_back({here.Field("default").Text(), *value, field.schema});
      }
      schema.fields.push_back(std::move(field));
    }
    ReadAdditional(source, path, schema);
    const Json* items = source.if_contains("items");
    if (items != nullptr && items->is_object()) schema.item = ReadStructural(items->get_object(), path.Field("items"));
    ReadRequired(source, schema);
  }

  void ReadAdditional(const JsonObject& source, const FieldPath& path, Schema& schema) {
    const Json* additional = source.if_contains("additionalProperties");
    if (additional == nullptr) return;
    if (additional->is_bool() && additional->get_bool()) {
      Schema* anything = owner_.New();
      anything->prunes_all = true;
      schema.item = anything;
    } else if (additional->is_object()) {
      schema.item = ReadStructural(additional->get_object(), path.Field("additionalProperties"));
    }
    if (schema.item != nullptr && schema.fields.empty() && schema.type == Type::kObject) schema.type = Type::kMap;
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

  static void ReadRules(const JsonObject& source, Schema& schema) {
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
    // One that cannot be read stands only in definitions that were stored before it was refused.
    if (const std::string text = ChildText(source, "pattern"); !text.empty()) {
      if (auto pattern = base::Pattern::Parse(text)) schema.pattern = *std::move(pattern);
    }
  }

  void ReadCombinations(const JsonObject& source, Schema& schema) {
    for (const auto& [name, list] :
         {std::pair{"allOf", &schema.all_of}, std::pair{"anyOf", &schema.any_of}, std::pair{"oneOf", &schema.one_of}}) {
      for (const Json& part : ChildArray(source, name)) {
        if (part.is_object()) list->push_back(ReadValueRules(part.get_object()));
      }
    }
    if (const Json* value = source.if_contains("not"); value != nullptr && value->is_object()) {
      schema.not_schema = ReadValueRules(value->get_object());
    }
  }

  /// Rules about a value whose structure is given elsewhere.
  Schema* ReadValueRules(const JsonObject& source) {
    Schema* schema = owner_.New();
    schema->nullable = true;  // whether it may be null is said there
    ReadType(source, *schema);
    for (const auto& [name, child] : ChildObject(source, "properties")) {
      if (!child.is_object()) continue;
      schema->fields.push_back({});
      schema->fields.back().name = name;
      schema->fields.back().schema = ReadValueRules(child.get_object());
    }
    if (const Json* items = source.if_contains("items"); items != nullptr && items->is_object()) {
      schema->item = ReadValueRules(items->get_object());
    }
    ReadRequired(source, *schema);
    ReadRules(source, *schema);
    ReadCombinations(source, *schema);
    return schema;
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
      Schema* restricted = owner_.New();
      *restricted = *meta;
      Schema* rules = ReadValueRules(metadata_source);
      rules->type = Type::kAny;
      restricted->all_of.push_back(rules);
      meta = restricted;
    }
    set("metadata", meta, "Name, labels and what else all objects have.");
  }

  SchemaSet& owner_;
  std::vector<PendingDefault> defaults_;
  std::map<std::string, Schema*> scalars_;  // by all that they say
};

}  // namespace

base::Result<const Schema*> SchemaFromOpenApi(const Json& open_api, SchemaSet& owner, const std::string& path) {
  std::vector<Cause> causes;
  const Schema* schema = nullptr;
  if (!open_api.is_object()) {
    causes.push_back(RequiredValue(FieldPath(path), "must be a schema object"));
  } else if (causes = CheckOpenApi(open_api.get_object(), path); causes.empty()) {
    OpenApiReader reader(owner);
    schema = reader.ReadRoot(open_api.get_object(), path);
    owner.Seal();
    causes = reader.CheckDefaults();
  }
  if (causes.empty()) return schema;
  std::string message = (causes[0].field.empty() ? "" : causes[0].field + ": ") + causes[0].message;
  if (causes.size() > 1) message += " (and " + std::to_string(causes.size() - 1) + " more)";
  base::ErrorDetails details;
  details.causes = std::move(causes);
  return base::Fail(base::Error(base::Code::kInvalid, std::move(message), std::move(details)));
}

const Schema* SchemaOfStored(const Json& open_api, SchemaSet& owner) {
  if (!open_api.is_object()) return nullptr;
  const Schema* schema = OpenApiReader(owner).ReadRoot(open_api.get_object(), "");
  owner.Seal();
  return schema;
}

}  // namespace evenkeel::kube
