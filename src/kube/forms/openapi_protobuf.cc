// gnostic's openapi.v2.Document, written in protobuf's wire format directly: a handful of messages with known field numbers
// (OpenAPIv2.proto), which would otherwise need 60 generated classes.
#include <cstring>

#include "kube/forms/openapi_protobuf.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using base::JsonObject;

/// One message under construction.
class Message {
 public:
  void Text(int field, std::string_view text) {
    Head(field, text.size());
    bytes_.append(text);
  }
  void Bool(int field, bool value) {
    Tag(field, 0);
    Varint(value ? 1 : 0);
  }
  void Int(int field, int64_t value) {
    Tag(field, 0);
    Varint(static_cast<uint64_t>(value));
  }
  void Double(int field, double value) {
    Tag(field, 1);
    uint64_t bits = 0;
    static_assert(sizeof(bits) == sizeof(value));
    std::memcpy(&bits, &value, sizeof(bits));
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>((bits >> (8 * i)) & 0xFF);
  }
  void Sub(int field, const Message& message) { Text(field, message.bytes_); }
  /// What comes before a message of so many bytes.
  void Head(int field, size_t size) {
    Tag(field, 2);
    Varint(size);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Tag(int field, int wire_type) { Varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire_type)); }
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>((value & 0x7F) | 0x80);
      value >>= 7;
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

void CopyText(const JsonObject& source, std::string_view key, int field, Message& message) {
  if (const Json* value = source.if_contains(key); value != nullptr && value->is_string())
    message.Text(field, value->get_string());
}

void CopyBool(const JsonObject& source, std::string_view key, int field, Message& message) {
  if (const Json* value = source.if_contains(key); value != nullptr && value->is_bool() && value->get_bool())
    message.Bool(field, true);
}

/// Any {yaml = 2}: JSON is YAML too.
Message AnyOf(const Json& value) {
  Message any;
  any.Text(2, base::ToText(value) + "\n");
  return any;
}

/// NamedSchema, NamedPathItem and the like {name = 1, value = 2}.
Message NamedMessage(std::string_view name, const Message& value) {
  Message named;
  named.Text(1, name);
  named.Sub(2, value);
  return named;
}

/// NamedAny {name = 1, value = 2} for each x-... key.
void Extensions(const JsonObject& source, int field, Message& message) {
  for (const auto& [key, value] : source) {
    if (!key.starts_with("x-")) continue;
    message.Sub(field, NamedMessage(key, AnyOf(value)));
  }
}

Message SchemaMessage(const JsonObject& source);

void SchemaNumbers(const JsonObject& source, Message& message) {
  for (const auto& [key, field] : {std::pair{"multipleOf", 6}, std::pair{"maximum", 7}, std::pair{"minimum", 9}}) {
    if (const Json* value = source.if_contains(key)) message.Double(field, value->to_number<double>());
  }
  CopyBool(source, "exclusiveMaximum", 8, message);
  CopyBool(source, "exclusiveMinimum", 10, message);
  for (const auto& [key, field] : {std::pair{"maxLength", 11}, std::pair{"minLength", 12}, std::pair{"maxItems", 14},
                                   std::pair{"minItems", 15}, std::pair{"maxProperties", 17}, std::pair{"minProperties", 18}}) {
    if (const Json* value = source.if_contains(key)) message.Int(field, value->to_number<int64_t>());
  }
}

Message SchemaMessage(const JsonObject& source) {
  Message message;
  CopyText(source, "$ref", 1, message);
  CopyText(source, "format", 2, message);
  CopyText(source, "description", 4, message);
  if (const Json* value = source.if_contains("default")) message.Sub(5, AnyOf(*value));
  SchemaNumbers(source, message);
  CopyText(source, "pattern", 13, message);
  if (const Json* required = source.if_contains("required")) {
    for (const Json& name : required->get_array()) message.Text(19, name.get_string());
  }
  if (const Json* values = source.if_contains("enum")) {
    for (const Json& value : values->get_array()) message.Sub(20, AnyOf(value));
  }
  if (const Json* additional = source.if_contains("additionalProperties"); additional != nullptr && additional->is_object()) {
    Message item;
    item.Sub(1, SchemaMessage(additional->get_object()));
    message.Sub(21, item);
  }
  if (source.contains("type")) {
    Message type;
    CopyText(source, "type", 1, type);
    message.Sub(22, type);
  }
  if (const Json* items = source.if_contains("items"); items != nullptr && items->is_object()) {
    Message item;
    item.Sub(1, SchemaMessage(items->get_object()));
    message.Sub(23, item);
  }
  if (const Json* properties = source.if_contains("properties")) {
    Message all;
    for (const auto& [name, value] : properties->get_object()) {
      all.Sub(1, NamedMessage(name, SchemaMessage(value.get_object())));
    }
    message.Sub(25, all);
  }
  Extensions(source, 31, message);
  return message;
}

/// ParametersItem {parameter = 1} of Parameter {body = 1, non-body = 2} of {query = 3, path = 4}.
Message ParameterMessage(const JsonObject& source) {
  const std::string_view in = source.at("in").get_string();
  Message parameter;
  if (in == "body") {
    Message body;
    CopyText(source, "description", 1, body);
    CopyText(source, "name", 2, body);
    CopyText(source, "in", 3, body);
    CopyBool(source, "required", 4, body);
    if (const Json* schema = source.if_contains("schema")) body.Sub(5, SchemaMessage(schema->get_object()));
    parameter.Sub(1, body);
  } else {
    const bool query = in == "query";
    Message plain;
    CopyBool(source, "required", 1, plain);
    CopyText(source, "in", 2, plain);
    CopyText(source, "description", 3, plain);
    CopyText(source, "name", 4, plain);
    CopyText(source, "type", query ? 6 : 5, plain);
    CopyBool(source, "uniqueItems", query ? 20 : 19, plain);
    Message non_body;
    non_body.Sub(query ? 3 : 4, plain);
    parameter.Sub(2, non_body);
  }
  Message item;
  item.Sub(1, parameter);
  return item;
}

void Parameters(const JsonObject& source, int field, Message& message) {
  const Json* list = source.if_contains("parameters");
  if (list == nullptr) return;
  for (const Json& one : list->get_array()) message.Sub(field, ParameterMessage(one.get_object()));
}

Message OperationMessage(const JsonObject& source) {
  Message operation;
  if (const Json* types = source.if_contains("consumes")) {
    for (const Json& type : types->get_array()) operation.Text(7, type.get_string());
  }
  Parameters(source, 8, operation);
  Message responses;
  for (const auto& [code, value] : source.at("responses").get_object()) {
    Message response;
    CopyText(value.get_object(), "description", 1, response);
    if (const Json* schema = value.get_object().if_contains("schema")) {
      Message item;
      item.Sub(1, SchemaMessage(schema->get_object()));
      response.Sub(2, item);
    }
    Message response_value;
    response_value.Sub(1, response);
    responses.Sub(1, NamedMessage(code, response_value));
  }
  operation.Sub(9, responses);
  Extensions(source, 13, operation);
  return operation;
}

Message PathItemMessage(const JsonObject& source) {
  Message item;
  for (const auto& [verb, field] :
       {std::pair{"get", 2}, std::pair{"put", 3}, std::pair{"post", 4}, std::pair{"delete", 5}, std::pair{"patch", 8}}) {
    if (const Json* operation = source.if_contains(verb)) item.Sub(field, OperationMessage(operation->get_object()));
  }
  Parameters(source, 9, item);
  return item;
}

/// Of field `field`, a message whose field `part` is repeated.
void WriteParts(int field, int part, const OpenApiParts& parts, const OpenApiSink& sink) {
  const auto head = [](int number, size_t size) {
    Message message;
    message.Head(number, size);
    return message.Take();
  };
  size_t size = 0;
  for (const auto& [name, bytes] : parts) size += head(part, bytes.size()).size() + bytes.size();
  sink(head(field, size));
  for (const auto& [name, bytes] : parts) {
    sink(head(part, bytes.size()));
    sink(bytes);
  }
}

}  // namespace

std::string OpenApiPathProtobuf(std::string_view path, const JsonObject& item) {
  return NamedMessage(path, PathItemMessage(item)).Take();
}

std::string OpenApiDefinitionProtobuf(std::string_view name, const JsonObject& definition) {
  return NamedMessage(name, SchemaMessage(definition)).Take();
}

void WriteOpenApiProtobuf(const JsonObject& info, const OpenApiParts& paths, const OpenApiParts& definitions,
                          const OpenApiSink& sink) {
  Message document;
  document.Text(1, "2.0");
  Message about;
  CopyText(info, "title", 1, about);
  CopyText(info, "version", 2, about);
  document.Sub(2, about);
  sink(document.Take());
  WriteParts(8, 2, paths, sink);
  WriteParts(9, 1, definitions, sink);
}

}  // namespace evenkeel::kube
