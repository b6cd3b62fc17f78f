#include "kube/schema/typed_decode.h"

#include <cmath>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "kube/quantity.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using Type = Schema::Type;

std::string_view KindOf(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_array()) return "array";
  return value.is_object() ? "object" : "number";
}

// "v1.PodSpec" of "io.k8s.api.core.v1.PodSpec".
std::string StructType(const Schema& schema) {
  const std::string& name = schema.definition;
  const size_t dot = name.rfind('.');
  if (dot == name.npos || dot == 0) return "v1." + schema.name;
  const size_t before = name.rfind('.', dot - 1);
  return before == name.npos ? name : name.substr(before + 1);
}

std::string GoType(const Schema& schema) {
  switch (schema.type) {
    case Type::kObject:
      return StructType(schema);
    case Type::kMap:
      return "map[string]" + (schema.item == nullptr ? "interface {}" : GoType(*schema.item));
    case Type::kArray:
      return "[]" + (schema.item == nullptr ? "interface {}" : GoType(*schema.item));
    case Type::kInteger:
      return schema.format.empty() ? "int64" : schema.format;
    case Type::kNumber:
      return "float64";
    case Type::kBoolean:
      return "bool";
    case Type::kBytes:
      return "[]uint8";
    default:
      return "string";
  }
}

bool IsIntegerOf(const Json& value, const Schema& schema) {
  const bool small = schema.format == "int32";
  if (value.is_int64()) {
    const int64_t number = value.get_int64();
    return !small || (number >= INT32_MIN && number <= INT32_MAX);
  }
  if (!value.is_double()) return false;
  const double number = value.get_double();
  return std::trunc(number) == number && std::fabs(number) <= (small ? 0x1p31 - 1 : 0x1p63);
}

class TypeChecker {
 public:
  explicit TypeChecker(std::string_view at) : root_(at) {}

  bool Check(const Json& value, const Schema& schema) {
    if (value.is_null()) return true;
    switch (schema.type) {
      case Type::kObject:
        return value.is_object() ? CheckStruct(value, schema) : Mismatch(value, schema);
      case Type::kMap:
        return value.is_object() ? CheckMap(value, schema) : Mismatch(value, schema);
      case Type::kArray:
        return value.is_array() ? CheckList(value, schema) : Mismatch(value, schema);
      case Type::kString:
        return value.is_string() || Mismatch(value, schema);
      case Type::kBytes:
        return value.is_string() ? CheckBytes(value.get_string()) : Mismatch(value, schema);
      case Type::kInteger:
        return IsIntegerOf(value, schema) || Mismatch(value, schema);
      case Type::kNumber:
        return value.is_number() || Mismatch(value, schema);
      case Type::kBoolean:
        return value.is_bool() || Mismatch(value, schema);
      case Type::kIntOrString:
        if (value.is_string() || value.is_int64()) return true;
        return Fail("json: cannot unmarshal " + std::string(KindOf(value)) + Literal(value) + " into Go value of type int32");
      case Type::kQuantity:
        if (Quantity::FromJson(value)) return true;
        return Fail("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
      case Type::kTime:
      case Type::kMicroTime:
        if (value.is_string()) return CheckTime(value, schema);
        return Fail("json: cannot unmarshal " + std::string(KindOf(value)) + " into Go value of type string");
      case Type::kAny:
        return true;
    }
    return true;
  }

  std::string TakeText() { return std::move(text_); }

 private:
  bool CheckTime(const Json& value, const Schema& schema) {
    const std::string_view text = value.get_string();
    if (base::ParseCalendarTime(text)) return true;
    const bool micro = schema.type == Type::kMicroTime;
    return Fail("parsing time " + base::ToText(value) + " as \"" +
                (micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00") + "\": cannot parse " +
                base::ToText(value) + " as \"2006\"");
  }

  bool CheckBytes(std::string_view text) {
    std::string bytes;
    if (base::Base64Decode(text, bytes)) return true;
    const size_t wrong = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n");
    return Fail("illegal base64 data at input byte " + std::to_string(std::min(wrong, text.size())));
  }

  bool CheckStruct(const Json& value, const Schema& schema) {
    const Schema* outer = std::exchange(struct_, &schema);
    for (const auto& field : value.get_object()) {
      const Schema::FieldSchema* known = schema.FindField(field.key());
      if (known == nullptr) continue;
      fields_.push_back(known->name);
      if (!Check(field.value(), *known->schema)) return false;
      fields_.pop_back();
    }
    struct_ = outer;
    return true;
  }

  bool CheckMap(const Json& value, const Schema& schema) {
    if (schema.item == nullptr) return true;
    for (const auto& entry : value.get_object()) {
      if (!Check(entry.value(), *schema.item)) return false;
    }
    return true;
  }

  bool CheckList(const Json& value, const Schema& schema) {
    if (schema.item == nullptr) return true;
    for (const Json& item : value.get_array()) {
      if (!Check(item, *schema.item)) return false;
    }
    return true;
  }

  static std::string Literal(const Json& value) { return value.is_number() ? " " + base::ToText(value) : ""; }

  bool Mismatch(const Json& value, const Schema& schema) {
    std::string found(KindOf(value));
    if (schema.type == Type::kInteger) found += Literal(value);
    std::string text = "json: cannot unmarshal " + found + " into Go ";
    if (struct_ == nullptr) {
      text += "value";
    } else {
      text += "struct field " + struct_->name + "." + std::string(root_);
      for (size_t i = 0; i < fields_.size(); ++i) {
        if (i > 0 || !root_.empty()) text += '.';
        text += fields_[i];
      }
    }
    return Fail(text + " of type " + GoType(schema));
  }

  bool Fail(std::string text) {
    text_ = std::move(text);
    return false;
  }

  const std::string_view root_;
  const Schema* struct_ = nullptr;
  std::vector<std::string_view> fields_;
  std::string text_;
};

}  // namespace

std::optional<std::string> FindTypeError(const Json& value, const Schema& schema, std::string_view at) {
  TypeChecker checker(at);
  if (checker.Check(value, schema)) return std::nullopt;
  return checker.TakeText();
}

}  // namespace evenkeel::kube
