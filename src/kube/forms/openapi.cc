#include "kube/forms/openapi.h"

#include "kube/forms/openapi_protobuf.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using Type = Schema::Type;

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// Collects definitions, each with all that it refers to, in the bytes of the document: as values they are many times as large.
class DefinitionWriter {
 public:
  explicit DefinitionWriter(OpenApiForm form) : form_(form), v3_(form == OpenApiForm::kV3) {}

  JsonObject Reference(std::string_view name) const {
    JsonObject reference;
    reference["$ref"] = std::string(v3_ ? "#/components/schemas/" : "#/definitions/") + std::string(name);
    return reference;
  }

  void AddResource(const Resource& resource) {
    const std::string name = DefinitionName(resource);
    const JsonArray kinds = {Kind(resource, resource.kind)};
    if (resource.schema != nullptr) {
      JsonObject definition = Structure(*resource.schema);
      if (!resource.schema->description.empty()) definition["description"] = resource.schema->description;
      definition["x-kubernetes-group-version-kind"] = kinds;
      Keep(name, definition);
    } else {
      Keep(name, {{"type", "object"}, {"x-kubernetes-group-version-kind", kinds}});
    }
    if (!resource.review) AddList(resource, name);
  }

  void AddNamed(std::string_view name) {
    const Schema* schema = FindBuiltInSchema(name);
    EVENKEEL_CHECK(schema != nullptr);
    Refer(*schema);
  }

  /// All definitions, by name.
  OpenApiParts Take() { return std::move(definitions_); }

  static JsonObject Kind(const Resource& resource, std::string_view kind) {
    return JsonObject{{"group", resource.group}, {"kind", kind}, {"version", resource.version}};
  }

 private:
  void AddList(const Resource& resource, const std::string& name) {
    AddNamed(std::string(kMeta) + "ListMeta");
    JsonObject properties;
    properties["apiVersion"] = JsonObject{{"description", "Group and version of the API."}, {"type", "string"}};
    properties["items"] = JsonObject{{"description", "The objects."}, {"type", "array"}, {"items", Reference(name)}};
    properties["kind"] = JsonObject{{"description", "Kind of the list."}, {"type", "string"}};
    properties["metadata"] = Property(*FindBuiltInSchema(std::string(kMeta) + "ListMeta"), "Of the list.", nullptr);
    Keep(name + "List", {{"description", "A list of " + resource.kind + "."},
                         {"type", "object"},
                         {"required", JsonArray{"items"}},
                         {"properties", std::move(properties)},
                         {"x-kubernetes-group-version-kind", JsonArray{Kind(resource, resource.kind + "List")}}});
  }

  void Keep(const std::string& name, const JsonObject& definition) {
    definitions_[name] =
        form_ == OpenApiForm::kV2Protobuf ? OpenApiDefinitionProtobuf(name, definition) : base::ToText(definition);
  }

  JsonObject Refer(const Schema& schema) {
    if (!definitions_.contains(schema.definition)) {
      definitions_[schema.definition];  // before its content, which may refer back to it
      JsonObject content = Structure(schema);
      if (!schema.description.empty()) content["description"] = schema.description;
      Keep(schema.definition, content);
    }
    return Reference(schema.definition);
  }

  JsonObject Property(const Schema& schema, const std::string& description, const Json* default_value) {
    JsonObject property;
    if (schema.definition.empty()) {
      property = Structure(schema);
    } else if (v3_) {
      property["allOf"] = JsonArray{Refer(schema)};
    } else {
      property = Refer(schema);
    }
    if (!description.empty()) property["description"] = description;
    if (default_value != nullptr) property["default"] = *default_value;
    AddPatchStrategy(schema, property);
    return property;
  }

  static void AddPatchStrategy(const Schema& schema, JsonObject& property) {
    std::string strategy = schema.patch_merge ? "merge" : "";
    if (schema.patch_retain_keys) strategy += strategy.empty() ? "retainKeys" : ",retainKeys";
    if (!strategy.empty()) property["x-kubernetes-patch-strategy"] = strategy;
    if (!schema.patch_merge_key.empty()) property["x-kubernetes-patch-merge-key"] = schema.patch_merge_key;
  }

  JsonObject Below(const Schema& schema) { return schema.definition.empty() ? Structure(schema) : Refer(schema); }

  JsonObject Structure(const Schema& schema) {
    JsonObject out;
    WriteType(schema, out);
    WriteRules(schema, out);
    if (schema.preserve_unknown) out["x-kubernetes-preserve-unknown-fields"] = true;
    if (schema.embedded_resource) out["x-kubernetes-embedded-resource"] = true;
    if (schema.atomic_struct) out["x-kubernetes-map-type"] = "atomic";
    // Swagger 2 has no way to allow null or unknown fields beside known ones: clients that validate must not see the rest.
    if (!v3_ && schema.nullable) out.erase("type");
    const bool hide = !v3_ && schema.preserve_unknown && !schema.native;
    if (!hide) WriteFields(schema, out);
    if (schema.type == Type::kArray) WriteList(schema, out);
    if (v3_) WriteCombinations(schema, out);
    return out;
  }

  void WriteType(const Schema& schema, JsonObject& out) {
    switch (schema.type) {
      case Type::kObject:
        out["type"] = "object";
        break;
      case Type::kMap:
        out["type"] = "object";
        if (schema.item != nullptr) out["additionalProperties"] = Below(*schema.item);
        break;
      case Type::kArray:
        out["type"] = "array";
        out["items"] = schema.item != nullptr ? Below(*schema.item) : JsonObject();
        break;
      case Type::kString:
      case Type::kQuantity:
        out["type"] = "string";
        break;
      case Type::kTime:
      case Type::kMicroTime:
        out["type"] = "string";
        out["format"] = "date-time";
        break;
      case Type::kBytes:
        out["type"] = "string";
        out["format"] = "byte";
        break;
      case Type::kInteger:
        out["type"] = "integer";
        break;
      case Type::kNumber:
        out["type"] = "number";
        break;
      case Type::kBoolean:
        out["type"] = "boolean";
        break;
      case Type::kIntOrString:
        WriteIntOrString(schema, out);
        break;
      case Type::kAny:
        break;
    }
    if (!schema.format.empty()) out["format"] = schema.format;
  }

  void WriteIntOrString(const Schema& schema, JsonObject& out) const {
    if (!schema.native) {
      out["x-kubernetes-int-or-string"] = true;
      return;
    }
    out["format"] = "int-or-string";
    if (v3_) {
      out["oneOf"] = JsonArray{JsonObject{{"type", "integer"}}, JsonObject{{"type", "string"}}};
    } else {
      out["type"] = "string";
    }
  }

  void WriteFields(const Schema& schema, JsonObject& out) {
    std::vector<std::string> required = schema.required_keys;
    JsonObject properties;
    for (const Schema::FieldSchema& field : schema.fields) {
      properties[field.name] =
          Property(*field.schema, field.description, field.default_value ? &*field.default_value : nullptr);
      if (field.required || field.documented_required) required.push_back(field.name);
    }
    if (!properties.empty()) out["properties"] = std::move(properties);
    if (!required.empty()) out["required"] = base::ToJsonArray(required);
  }

  static void WriteList(const Schema& schema, JsonObject& out) {
    const auto type = schema.list_type;
    out["x-kubernetes-list-type"] = type == Schema::ListType::kMap ? "map" : type == Schema::ListType::kSet ? "set" : "atomic";
    if (!schema.list_keys.empty()) out["x-kubernetes-list-map-keys"] = base::ToJsonArray(schema.list_keys);
  }

  void WriteRules(const Schema& schema, JsonObject& out) const {
    if (!schema.enum_values.empty()) out["enum"] = JsonArray(schema.enum_values.begin(), schema.enum_values.end());
    if (schema.minimum) out["minimum"] = *schema.minimum;
    if (schema.maximum) out["maximum"] = *schema.maximum;
    if (schema.exclusive_minimum) out["exclusiveMinimum"] = true;
    if (schema.exclusive_maximum) out["exclusiveMaximum"] = true;
    if (schema.multiple_of) out["multipleOf"] = *schema.multiple_of;
    if (schema.pattern != nullptr) out["pattern"] = schema.pattern->text();
    for (const auto& [name, count] :
         {std::pair{"minLength", schema.min_length}, std::pair{"maxLength", schema.max_length},
          std::pair{"minItems", schema.min_items}, std::pair{"maxItems", schema.max_items},
          std::pair{"minProperties", schema.min_properties}, std::pair{"maxProperties", schema.max_properties}}) {
      if (count) out[name] = *count;
    }
    if (v3_ && schema.nullable) out["nullable"] = true;
  }

  void WriteCombinations(const Schema& schema, JsonObject& out) {
    for (const auto& [name, list] :
         {std::pair{"allOf", &schema.all_of}, std::pair{"anyOf", &schema.any_of}, std::pair{"oneOf", &schema.one_of}}) {
      if (list->empty()) continue;
      JsonArray parts;
      for (const Schema* part : *list) parts.push_back(Structure(*part));
      out[name] = std::move(parts);
    }
    if (schema.not_schema != nullptr) out["not"] = Structure(*schema.not_schema);
  }

  OpenApiForm form_;
  bool v3_;
  OpenApiParts definitions_;
};

/// Writes the operations of one resource; only what clients look for: verbs, kinds and the names of parameters.
class PathWriter {
 public:
  PathWriter(bool v3, const Resource& resource, const DefinitionWriter& definitions)
      : v3_(v3), resource_(resource), definitions_(definitions), name_(DefinitionName(resource)) {}

  /// Path and item.
  std::vector<std::pair<std::string, JsonObject>> Write() const {
    const std::string list = std::string(Base()) + (resource_.namespaced ? "/namespaces/{namespace}/" : "/") + resource_.plural;
    if (resource_.review) {
      JsonObject questions{{"post", Change("create", "post")}};
      AddPathParameters(questions, false);
      return {{list, std::move(questions)}};
    }
    std::vector<std::pair<std::string, JsonObject>> paths;
    if (resource_.namespaced) paths.emplace_back(Base() + "/" + resource_.plural, JsonObject{{"get", List()}});
    JsonObject collection{
        {"delete", Change("deletecollection", "delete")}, {"get", List()}, {"post", Change("create", "post")}};
    AddPathParameters(collection, false);
    paths.emplace_back(list, std::move(collection));
    paths.emplace_back(list + "/{name}", Item(true));
    for (const std::string& sub : resource_.subresources) {
      if (sub == "status") paths.emplace_back(list + "/{name}/status", Item(false));
    }
    return paths;
  }

 private:
  std::string Base() const {
    return resource_.group.empty() ? "/api/" + resource_.version : "/apis/" + resource_.group + "/" + resource_.version;
  }

  JsonObject Item(bool with_delete) const {
    JsonObject item{{"get", Operation("get", name_)}, {"patch", Change("patch", "patch")}, {"put", Change("replace", "put")}};
    if (with_delete) item["delete"] = Change("delete", "delete");
    AddPathParameters(item, true);
    return item;
  }

  JsonObject Parameter(std::string_view name, std::string_view in, std::string_view type, std::string_view description) const {
    JsonObject parameter{{"name", name}, {"in", in}, {"description", description}};
    if (in == "path") parameter["required"] = true;
    if (v3_) {
      parameter["schema"] = JsonObject{{"type", type}, {"uniqueItems", true}};
    } else {
      parameter["type"] = type;
      parameter["uniqueItems"] = true;
    }
    return parameter;
  }

  void AddPathParameters(JsonObject& item, bool named) const {
    JsonArray parameters;
    if (named) parameters.push_back(Parameter("name", "path", "string", "Name of the " + resource_.kind + "."));
    if (resource_.namespaced) parameters.push_back(Parameter("namespace", "path", "string", "Namespace of the objects."));
    if (!parameters.empty()) item["parameters"] = std::move(parameters);
  }

  JsonObject Operation(std::string_view action, const std::string& result) const {
    JsonObject response{{"description", "OK"}};
    if (v3_) {
      response["content"] = JsonObject{{"application/json", JsonObject{{"schema", definitions_.Reference(result)}}}};
    } else {
      response["schema"] = definitions_.Reference(result);
    }
    return JsonObject{{"responses", JsonObject{{"200", std::move(response)}}},
                      {"x-kubernetes-action", action},
                      {"x-kubernetes-group-version-kind", DefinitionWriter::Kind(resource_, resource_.kind)}};
  }

  JsonObject List() const {
    JsonObject operation = Operation("list", name_ + "List");
    JsonArray parameters;
    for (const char* name : {"continue", "fieldSelector", "labelSelector", "resourceVersion"}) {
      parameters.push_back(Parameter(name, "query", "string", "Narrows or continues the list."));
    }
    parameters.push_back(Parameter("limit", "query", "integer", "Most objects of one page."));
    parameters.push_back(Parameter("watch", "query", "boolean", "Send changes as they happen."));
    operation["parameters"] = std::move(parameters);
    return operation;
  }

  JsonObject Change(std::string_view action, std::string_view verb) const {
    const bool remove = verb == "delete";
    JsonObject operation = Operation(action, remove ? std::string(kMeta) + "Status" : name_);
    const std::string body = remove ? std::string(kMeta) + "DeleteOptions" : name_;
    JsonArray parameters;
    std::vector<std::string> consumes = {"application/json"};
    if (verb == "patch") {
      consumes = {"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"};
      // kubectl apply sends a strategic merge patch wherever it is offered; kinds of CRDs do not take it.
      const bool built_in = FindBuiltIn(resource_.group, resource_.version, resource_.plural) != nullptr;
      if (built_in) consumes.insert(consumes.begin() + 2, "application/strategic-merge-patch+json");
    }
    const Json schema = verb == "patch" ? JsonObject{{"type", "object"}} : definitions_.Reference(body);
    if (v3_) {
      JsonObject content;
      for (const std::string& type : consumes) content[type] = JsonObject{{"schema", schema}};
      operation["requestBody"] = JsonObject{{"content", std::move(content)}};
    } else {
      operation["consumes"] = base::ToJsonArray(consumes);
      parameters.push_back(JsonObject{{"name", "body"}, {"in", "body"}, {"required", !remove}, {"schema", schema}});
    }
    parameters.push_back(Parameter("dryRun", "query", "string", "All: check only, store nothing."));
    if (!remove) {
      parameters.push_back(Parameter("fieldManager", "query", "string", "Who makes the change."));
      parameters.push_back(
          Parameter("fieldValidation", "query", "string", "Ignore, Warn or Strict: what to do about unknown fields."));
    }
    if (verb == "patch") parameters.push_back(Parameter("force", "query", "boolean", "Take fields over from other managers."));
    operation["parameters"] = std::move(parameters);
    return operation;
  }

  bool v3_;
  const Resource& resource_;
  const DefinitionWriter& definitions_;
  std::string name_;
};

JsonObject Info() { return JsonObject{{"title", "Kubernetes"}, {"version", "v1.36.0"}}; }

void AppendMembers(const OpenApiParts& parts, const OpenApiSink& sink) {
  sink("{");
  std::string key;
  bool first = true;
  for (const auto& [name, text] : parts) {
    key = first ? "" : ",";
    first = false;
    base::AppendQuoted(key, name);
    key += ':';
    sink(key);
    sink(text);
  }
  sink("}");
}

}  // namespace

std::string DefinitionName(const Resource& resource) {
  if (resource.schema != nullptr && !resource.schema->definition.empty()) return resource.schema->definition;
  std::string reversed;
  std::string_view rest = resource.group;
  while (!rest.empty()) {
    const size_t dot = rest.rfind('.');
    reversed += std::string(dot == rest.npos ? rest : rest.substr(dot + 1)) + ".";
    rest = dot == rest.npos ? std::string_view() : rest.substr(0, dot);
  }
  return reversed + resource.version + "." + resource.kind;
}

struct OpenApiDocument::Body {
  OpenApiForm form;
  DefinitionWriter definitions;
  OpenApiParts paths;
};

OpenApiDocument::OpenApiDocument(OpenApiForm form)
    : body_(new Body{.form = form, .definitions = DefinitionWriter(form), .paths = {}}) {
  for (const char* name : {"Status", "DeleteOptions"}) body_->definitions.AddNamed(std::string(kMeta) + name);
}

OpenApiDocument::~OpenApiDocument() = default;

void OpenApiDocument::Add(const Resource& resource) {
  body_->definitions.AddResource(resource);
  for (const auto& [path, item] : PathWriter(body_->form == OpenApiForm::kV3, resource, body_->definitions).Write()) {
    body_->paths[path] = body_->form == OpenApiForm::kV2Protobuf ? OpenApiPathProtobuf(path, item) : base::ToText(item);
  }
}

void OpenApiDocument::Write(const OpenApiSink& sink) {
  const OpenApiParts definitions = body_->definitions.Take();
  if (body_->form == OpenApiForm::kV2Protobuf) return WriteOpenApiProtobuf(Info(), body_->paths, definitions, sink);
  const bool v3 = body_->form == OpenApiForm::kV3;
  sink(v3 ? R"({"openapi":"3.0.0","info":)" : R"({"swagger":"2.0","info":)");
  sink(base::ToText(Info()));
  sink(R"(,"paths":)");
  AppendMembers(body_->paths, sink);
  sink(v3 ? R"(,"components":{"schemas":)" : R"(,"definitions":)");
  AppendMembers(definitions, sink);
  sink(v3 ? "}}" : "}");
}

}  // namespace evenkeel::kube
