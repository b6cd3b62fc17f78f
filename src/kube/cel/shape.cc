#include "kube/cel/shape.h"

#include "base/text.h"
#include "kube/cel/library.h"

namespace evenkeel::kube::cel {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

/// What a request can hold, which bounds what is not bounded otherwise.
constexpr uint64_t kRequestBytes = uint64_t{3} << 20;

/// The next item of an object or a list, or one that is read as it stands.
class JsonList final : public List {
 public:
  JsonList(const JsonArray& array, const Shape* shape) : array_(array), shape_(shape) {}
  size_t size() const override { return array_.size(); }
  Value At(size_t index, Arena& arena) const override {
    return FromJson(array_[index], shape_ == nullptr ? nullptr : shape_->item, arena);
  }
  const ListRule* rule() const override { return shape_ == nullptr ? nullptr : shape_->rule.get(); }

 private:
  const JsonArray& array_;
  const Shape* shape_;
};

class JsonMap final : public Map {
 public:
  JsonMap(const JsonObject& object, const Shape* shape) : object_(object), shape_(shape) {}
  size_t size() const override { return object_.size(); }
  bool Find(const Value& key, Arena& arena, Value& value) const override {
    if (!key.Is(Kind::kString)) return false;
    const auto* const found = object_.find(key.text());
    if (found == object_.end()) return false;
    value = FromJson(found->value(), shape_ == nullptr ? nullptr : shape_->item, arena);
    return true;
  }
  bool Has(const Value& key, Arena&) const override { return key.Is(Kind::kString) && object_.contains(key.text()); }
  Value KeyAt(size_t index, Arena&) const override { return Value::String((object_.begin() + index)->key()); }
  Value ValueAt(size_t index, Arena& arena) const override {
    return FromJson((object_.begin() + index)->value(), shape_ == nullptr ? nullptr : shape_->item, arena);
  }

 private:
  const JsonObject& object_;
  const Shape* shape_;
};

/// An object of a schema: what is null counts as absent; what is not declared takes part in comparisons alone.
class JsonFields final : public Map {
 public:
  JsonFields(const JsonObject& object, const Shape& shape) : object_(object), shape_(shape) {}
  size_t size() const override {
    return static_cast<size_t>(std::ranges::count_if(object_, [](const auto& member) { return !member.value().is_null(); }));
  }
  bool Find(const Value& key, Arena& arena, Value& value) const override {
    if (!key.Is(Kind::kString)) return false;
    const auto* found = object_.find(key.text());
    if (found == object_.end()) {
      const auto escaped = shape_.fields.find(key.text());
      if (escaped != shape_.fields.end()) found = object_.find(escaped->second.json);
    }
    if (found == object_.end() || found->value().is_null()) return false;
    value = FromJson(found->value(), ShapeOf(found->key()), arena);
    return true;
  }
  Value KeyAt(size_t index, Arena&) const override { return Value::String(Member(index).key()); }
  Value ValueAt(size_t index, Arena& arena) const override {
    return FromJson(Member(index).value(), ShapeOf(Member(index).key()), arena);
  }

 private:
  const boost::json::key_value_pair& Member(size_t index) const {
    const auto* member = object_.begin();
    for (;; ++member) {
      if (member->value().is_null()) continue;
      if (index-- == 0) return *member;
    }
  }
  const Shape* ShapeOf(std::string_view name) const {
    const auto found = shape_.by_json.find(name);
    return found == shape_.by_json.end() ? nullptr : found->second;
  }

  const JsonObject& object_;
  const Shape& shape_;
};

Value TextAs(std::string_view text, Shape::Form form, Arena& arena) {
  switch (form) {
    case Shape::Form::kBytes: {
      std::string bytes;
      if (!DecodeBase64(text, bytes)) return Value::Error("illegal base64 data");
      return Value::Bytes(arena.Copy(bytes));
    }
    case Shape::Form::kDate:
      return ParseTimestamp(std::string(text) + "T00:00:00Z", arena);
    case Shape::Form::kDateTime:
      return ParseTimestamp(text, arena);
    case Shape::Form::kDuration:
      return ParseDurationText(text, arena);
    case Shape::Form::kPlain:
      break;
  }
  return Value::String(text);
}

bool Flag(const JsonObject& schema, std::string_view key) {
  const Json* const value = base::Find(schema, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}
std::string_view Word(const JsonObject& schema, std::string_view key) {
  const Json* const value = base::Find(schema, key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}
std::optional<uint64_t> Bound(const JsonObject& schema, std::string_view key) {
  const Json* const value = base::Find(schema, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double number = value->to_number<double>();
  return number < 0 || number > 1e18 ? std::nullopt : std::optional<uint64_t>(static_cast<uint64_t>(number));
}

/// The fewest bytes that a value takes in JSON.
uint64_t LeastBytes(const Shape& shape) {
  switch (shape.type->kind) {
    case Type::Kind::kBool:
      return 4;
    case Type::Kind::kInt:
    case Type::Kind::kDouble:
      return 1;
    default:
      return 2;
  }
}

std::unique_ptr<const ListRule> RuleOf(const JsonObject& schema) {
  const std::string_view type = Word(schema, "x-kubernetes-list-type");
  if (type != "set" && type != "map") return nullptr;
  auto rule = std::make_unique<ListRule>();
  rule->is_map = type == "map";
  const Json* const keys = base::Find(schema, "x-kubernetes-list-map-keys");
  if (rule->is_map && keys != nullptr && keys->is_array())
    for (const Json& key : keys->get_array())
      if (key.is_string()) rule->keys.emplace_back(key.get_string());
  return rule;
}

}  // namespace

bool IsReservedName(std::string_view name) {
  static constexpr std::array kWords = {"true",     "false",   "null",      "in",       "as",  "break",  "const",
                                        "continue", "else",    "for",       "function", "if",  "import", "let",
                                        "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  return std::ranges::find(kWords, name) != kWords.end();
}

std::string EscapedName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return "";
  if (IsReservedName(name)) return fmt::format("__{}__", name);
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      out += "__underscores__";
      ++i;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else if (base::IsAlphanumeric(c) || c == '_') {
      out += c;
    } else {
      return "";
    }
  }
  return out;
}

Shape* Shapes::New() { return shapes_.emplace_back(std::make_unique<Shape>()).get(); }

const Shape* Shapes::Add(const JsonObject& schema, TypePool& types, bool resource) {
  if (Flag(schema, "x-kubernetes-int-or-string")) {
    Shape* const shape = New();
    shape->type = &types::kDyn;
    shape->most = Bound(schema, "maxLength").value_or(kRequestBytes - 2);
    return shape;
  }
  const std::string_view type = Word(schema, "type");
  if (type == "object") return OfObject(schema, types, resource || Flag(schema, "x-kubernetes-embedded-resource"));
  if (type != "array") {
    if (resource || Flag(schema, "x-kubernetes-embedded-resource")) return OfObject(schema, types, true);
    return OfScalar(type, schema);
  }
  const Json* const items = base::Find(schema, "items");
  if (items == nullptr || !items->is_object()) return nullptr;
  const Shape* const item = Add(items->get_object(), types, false);
  if (item == nullptr) return nullptr;
  Shape* const shape = New();
  shape->type = types.List(item->type);
  shape->item = item;
  shape->rule = RuleOf(schema);
  shape->most = Bound(schema, "maxItems").value_or((kRequestBytes - 2) / (LeastBytes(*item) + 1));
  return shape;
}

const Shape* Shapes::OfScalar(std::string_view type, const JsonObject& schema) {
  Shape shape;
  if (type == "boolean") {
    shape.type = &types::kBool;
  } else if (type == "integer") {
    shape.type = &types::kInt;
  } else if (type == "number") {
    shape.type = &types::kDouble;
    shape.number = true;
  } else if (type == "string") {
    const std::string_view format = Word(schema, "format");
    shape.type = &types::kString;
    shape.most = kRequestBytes - 2;
    if (const auto bound = Bound(schema, "maxLength")) shape.most = std::min(shape.most, *bound * 4);
    if (const Json* const values = base::Find(schema, "enum"); values != nullptr && values->is_array()) {
      shape.most = 0;
      for (const Json& value : values->get_array())
        if (value.is_string()) shape.most = std::max<uint64_t>(shape.most, value.get_string().size());
    }
    if (format == "byte") shape.type = &types::kBytes, shape.form = Shape::Form::kBytes;
    if (format == "date") shape.type = &types::kTimestamp, shape.form = Shape::Form::kDate;
    if (format == "date-time") shape.type = &types::kTimestamp, shape.form = Shape::Form::kDateTime;
    if (format == "duration") shape.type = &types::kDuration, shape.form = Shape::Form::kDuration;
  } else {
    return nullptr;
  }
  Shape* const kept = New();
  *kept = std::move(shape);
  return kept;
}

void Shapes::AddField(Shape& shape, std::string_view json, const Shape* field) {
  shape.by_json[std::string(json)] = field;
  if (std::string escaped = EscapedName(json); !escaped.empty()) shape.fields[std::move(escaped)] = {std::string(json), field};
  // A reserved word can be written as it is behind a dot, but for the words that are values.
  if (IsReservedName(json) && json != "true" && json != "false" && json != "null" && json != "in")
    shape.fields[std::string(json)] = {std::string(json), field};
}

const Shape* Shapes::OfObject(const JsonObject& schema, TypePool& types, bool resource) {
  const Json* const additional = base::Find(schema, "additionalProperties");
  if (!resource && additional != nullptr && additional->is_object()) {
    const Shape* const item = Add(additional->get_object(), types, false);
    if (item == nullptr) return nullptr;
    Shape* const shape = New();
    shape->type = types.Map(&types::kString, item->type);
    shape->item = item;
    shape->most = Bound(schema, "maxProperties").value_or((kRequestBytes - 2) / (LeastBytes(*item) + 6));
    return shape;
  }
  Shape* const shape = New();
  const Json* const properties = base::Find(schema, "properties");
  static const JsonObject kText = {{"type", "string"}};
  static const JsonObject kMetadata = {{"type", "object"},
                                       {"properties", JsonObject{{"name", kText}, {"generateName", kText}}}};
  if (resource) {
    AddField(*shape, "apiVersion", OfScalar("string", kText));
    AddField(*shape, "kind", OfScalar("string", kText));
    AddField(*shape, "metadata", OfObject(kMetadata, types, false));
  }
  static const JsonObject kNone;
  for (const auto& [name, property] : (properties == nullptr || !properties->is_object() ? kNone : properties->get_object())) {
    if (!property.is_object()) continue;
    const Shape* field = nullptr;
    if (resource && name == "metadata") {
      JsonObject metadata = kMetadata;
      if (const Json* const declared = base::Find(property.get_object(), "properties");
          declared != nullptr && declared->is_object())
        for (const auto& [key, value] : declared->get_object()) metadata["properties"].get_object()[key] = value;
      field = OfObject(metadata, types, false);
    } else {
      field = Add(property.get_object(), types, false);
    }
    if (field != nullptr) AddField(*shape, name, field);
  }
  // Objects of the same fields are of one type.
  std::string fields;
  for (const auto& [name, field] : shape->by_json) fields += fmt::format("{}:{};", name, ToText(*field->type));
  const size_t number = objects_.emplace(std::move(fields), objects_.size()).first->second;
  shape->type = types.Object(number == 0 ? "object" : fmt::format("object#{}", number), shape);
  return shape;
}

Value FromJson(const Json& json, const Shape* shape, Arena& arena) {
  switch (json.kind()) {
    case boost::json::kind::null:
      return Value::Null();
    case boost::json::kind::bool_:
      return Value::Bool(json.get_bool());
    case boost::json::kind::int64:
      return shape != nullptr && shape->number ? Value::Double(static_cast<double>(json.get_int64()))
                                               : Value::Int(json.get_int64());
    case boost::json::kind::uint64:
      if (shape != nullptr && shape->number) return Value::Double(static_cast<double>(json.get_uint64()));
      return Value::Double(static_cast<double>(json.get_uint64()));
    case boost::json::kind::double_: {
      const double number = json.get_double();
      if (shape != nullptr && shape->type->kind == Type::Kind::kInt && std::abs(number) < 9e18)
        return Value::Int(static_cast<int64_t>(number));
      return Value::Double(number);
    }
    case boost::json::kind::string:
      return TextAs(json.get_string(), shape == nullptr ? Shape::Form::kPlain : shape->form, arena);
    case boost::json::kind::array:
      return Value::Of(static_cast<const List*>(arena.New<JsonList>(json.get_array(), shape)));
    case boost::json::kind::object:
      if (shape != nullptr && shape->type->kind == Type::Kind::kObject)
        return Value::Of(static_cast<const Map*>(arena.New<JsonFields>(json.get_object(), *shape)), Kind::kObject);
      return Value::Of(static_cast<const Map*>(arena.New<JsonMap>(json.get_object(), shape)));
  }
  return Value::Null();
}

}  // namespace evenkeel::kube::cel
