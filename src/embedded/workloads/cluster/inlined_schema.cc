#include "embedded/workloads/cluster/inlined_schema.h"

#include <set>

#include "kube/resource.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

class Inliner {
 public:
  JsonObject Of(const kube::Schema& schema) {
    using Type = kube::Schema::Type;
    switch (schema.type) {
      case Type::kObject:
        return OfFields(schema);
      case Type::kMap:
        return {{"type", "object"}, {"additionalProperties", Item(schema)}};
      case Type::kArray:
        return OfList(schema);
      case Type::kString:
        return {{"type", "string"}, {"format", schema.format}};
      case Type::kTime:
      case Type::kMicroTime:
        return {{"type", "string"}, {"format", "date-time"}};
      case Type::kBytes:
        return {{"type", "string"}, {"format", "byte"}};
      case Type::kInteger:
        return {{"type", "integer"}};
      case Type::kNumber:
        return {{"type", "number"}};
      case Type::kBoolean:
        return {{"type", "boolean"}};
      case Type::kIntOrString:
      case Type::kQuantity:
      case Type::kAny:
        break;
    }
    return Anything();
  }

 private:
  static JsonObject Anything() { return {{"x-kubernetes-int-or-string", true}}; }

  JsonObject Item(const kube::Schema& schema) { return schema.item == nullptr ? Anything() : Of(*schema.item); }

  JsonObject OfList(const kube::Schema& schema) {
    JsonObject list{{"type", "array"}, {"items", Item(schema)}};
    if (schema.list_type == kube::Schema::ListType::kSet) list["x-kubernetes-list-type"] = "set";
    if (schema.list_type != kube::Schema::ListType::kMap) return list;
    list["x-kubernetes-list-type"] = "map";
    list["x-kubernetes-list-map-keys"] = JsonArray(schema.list_keys.begin(), schema.list_keys.end());
    return list;
  }

  JsonObject OfFields(const kube::Schema& schema) {
    const bool open = schema.preserve_unknown && schema.fields.empty();
    if (open || !above_.insert(&schema).second) return Anything();
    JsonObject properties;
    for (const kube::Schema::FieldSchema& field : schema.fields) {
      properties[field.name] = field.schema == nullptr ? Anything() : Of(*field.schema);
    }
    above_.erase(&schema);
    return {{"type", "object"}, {"properties", std::move(properties)}};
  }

  std::set<const kube::Schema*> above_;
};

}  // namespace

JsonObject InlinedSchema(const kube::Schema& schema) { return Inliner().Of(schema); }

JsonObject InlinedSchemaOfDefinition(const Json& definition, std::string_view version) {
  for (const Json& one : base::FindArray(definition, {"spec", "versions"})) {
    if (base::FindString(one, {"name"}) != version || !base::FindBool(one, {"served"})) continue;
    const Json* const given = base::Find(one, {"schema", "openAPIV3Schema"});
    if (given == nullptr || !given->is_object()) return {};
    Json schema = *given;
    for (const char* text : {"apiVersion", "kind"}) base::Ensure(schema, {"properties", text}) = JsonObject{{"type", "string"}};
    const kube::Schema::FieldSchema* const metadata = kube::resources::ConfigMaps().schema->FindField("metadata");
    if (metadata != nullptr) base::Ensure(schema, {"properties", "metadata"}) = InlinedSchema(*metadata->schema);
    return std::move(schema.as_object());
  }
  return {};
}

}  // namespace evenkeel::embedded::workloads
