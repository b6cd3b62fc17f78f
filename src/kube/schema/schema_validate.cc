// Validation of a value against its schema. Nothing is allocated while the value is right.
#include <cfloat>
#include <cmath>

#include "base/hash.h"
#include "base/time.h"
#include "kube/field_path.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/schema/ratchet.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube {
namespace {

using base::Cause;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using Type = Schema::Type;

std::string_view TextOf(const Json& value) { return value.get_string(); }

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kObject:
    case Type::kMap:
      return "object";
    case Type::kArray:
      return "array";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kBoolean:
      return "boolean";
    case Type::kIntOrString:
      return "integer,string";
    default:
      return "string";
  }
}

std::string_view TypeNameOf(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "integer";
    case boost::json::kind::double_:
      return "number";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::object:
      return "object";
  }
  return "null";
}

bool IsIntegral(const Json& value) {
  if (value.is_int64() || value.is_uint64()) return true;
  return value.is_double() && std::isfinite(value.get_double()) && value.get_double() == std::floor(value.get_double());
}

bool HasType(const Json& value, Type type) {
  switch (type) {
    case Type::kObject:
    case Type::kMap:
      return value.is_object();
    case Type::kArray:
      return value.is_array();
    case Type::kInteger:
      return IsIntegral(value);
    case Type::kNumber:
      return value.is_number();
    case Type::kBoolean:
      return value.is_bool();
    case Type::kIntOrString:
      return value.is_string() || IsIntegral(value);
    case Type::kQuantity:
      return value.is_string() || value.is_number();
    case Type::kString:
    case Type::kTime:
    case Type::kMicroTime:
    case Type::kBytes:
      return value.is_string();
    case Type::kAny:
      return true;
  }
  return true;
}

double NumberOf(const Json& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return value.get_double();
}

/// Numbers as Go prints them in these messages: 1, 0.5, 1e+21.
std::string NumberText(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return std::to_string(static_cast<int64_t>(number));
  return fmt::format("{}", number);
}

size_t CountRunes(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  return count;
}

/// What a value of that type can hold, as upstream words it where it does not; "" where it does.
std::string RangeProblem(const Json& value, const Schema& schema) {
  const std::string& format = schema.format;
  const bool integer = schema.type == Type::kInteger;
  bool fits = true;
  if (integer && value.is_int64()) {
    fits = format != "int32" || (value.get_int64() >= INT32_MIN && value.get_int64() <= INT32_MAX);
  } else if (integer) {
    // Doubles and what is more than an int64 holds; 2^63 itself is too much.
    const double number = NumberOf(value);
    fits = format == "int32" ? number >= INT32_MIN && number <= INT32_MAX : number >= -0x1p63 && number < 0x1p63;
  } else if (format == "float") {
    fits = std::abs(NumberOf(value)) <= static_cast<double>(FLT_MAX);
  }
  if (fits) return "";
  const bool known = format == "int32" || format == "int64" || format == "float";
  return "Checked value must be of type " + std::string(integer ? "integer" : "number") +
         (known ? " with format " + format : " (default format)");
}

class Validator {
 public:
  /// `list_causes` gets what is wrong with sets and maps among lists, which upstream looks at last.
  Validator(std::vector<Cause>& causes, std::vector<Cause>& list_causes) : causes_(causes), list_causes_(list_causes) {}

  /// `old`: the value before, where it can be told; causes of a value that has not changed are dropped.
  void Check(const Json& value, const Schema& schema, const FieldPath& path, const Json* old) {
    if (causes_.size() >= kCausesMax) return;
    const size_t before = causes_.size();
    CheckValue(value, schema, path, old);
    if (old != nullptr && causes_.size() > before && SameAsBefore(value, *old, schema)) causes_.resize(before);
  }

 private:
  static constexpr size_t kCausesMax = 100;  // more than anybody reads

  void CheckValue(const Json& value, const Schema& schema, const FieldPath& path, const Json* old) {
    if (value.is_null()) {
      if (!schema.nullable && schema.type != Type::kAny) WrongType(value, schema, path);
      return;
    }
    if (!HasType(value, schema.type)) return WrongType(value, schema, path);
    if (!schema.enum_values.empty()) CheckEnum(value, schema, path);
    if (value.is_object()) {
      CheckObject(value, schema, path, old);
    } else if (value.is_array()) {
      CheckArray(value, schema, path, old);
    } else if (value.is_string()) {
      CheckText(value, schema, path);
    } else if (value.is_number()) {
      CheckNumber(value, schema, path);
    }
    if (!schema.all_of.empty() || !schema.any_of.empty() || !schema.one_of.empty() || schema.not_schema != nullptr) {
      CheckCombinations(value, schema, path, old);
    }
  }

  void Add(std::string reason, std::string message, const FieldPath& path) {
    causes_.push_back({std::move(reason), std::move(message), path.Text()});
  }
  /// `Invalid value: VALUE: PATH in body RULE`.
  void Broken(const Json& value, const FieldPath& path, std::string_view rule) {
    causes_.push_back(InvalidValue(path, value, path.Text() + " in body " + std::string(rule)));
  }

  void WrongType(const Json& value, const Schema& schema, const FieldPath& path) {
    const std::string found(TypeNameOf(value));
    const std::string where = path.Text();
    std::string text = (where.empty() ? "" : where + " ") + "in body must be of type " + std::string(TypeName(schema.type)) +
                       ": \"" + found + "\"";
    Add("FieldValueTypeInvalid", "Invalid value: \"" + found + "\": " + text, path);
  }

  void CheckEnum(const Json& value, const Schema& schema, const FieldPath& path) {
    for (const Json& one : schema.enum_values) {
      if (one == value || base::Equal(one, value)) return;
    }
    std::vector<std::string> supported;
    for (const Json& one : schema.enum_values)
      supported.push_back(one.is_string() ? std::string(TextOf(one)) : base::ToText(one));
    causes_.push_back(UnsupportedValue(path, value, std::move(supported)));
  }

  static bool IsZero(const Json& value) {
    return value.is_null() || (value.is_string() && value.get_string().empty()) ||
           (value.is_array() && value.get_array().empty());
  }

  void CheckObject(const Json& value, const Schema& schema, const FieldPath& path, const Json* old) {
    const JsonObject& object = value.get_object();
    if (schema.max_properties && object.size() > *schema.max_properties) {
      Broken(value, path, "should have at most " + std::to_string(*schema.max_properties) + " properties");
    }
    if (schema.min_properties && object.size() < *schema.min_properties) {
      Broken(value, path, "should have at least " + std::to_string(*schema.min_properties) + " properties");
    }
    for (const Schema::FieldSchema& field : schema.fields) {
      if (!field.required) continue;
      const Json* present = object.if_contains(field.name);
      if (present == nullptr || (field.zero_is_absent && IsZero(*present))) {
        causes_.push_back(RequiredValue(path.Field(field.name)));
      }
    }
    for (const std::string& key : schema.required_keys) {
      if (!object.contains(key)) causes_.push_back(RequiredValue(path.Field(key)));
    }
    for (const auto& [key, child] : object) {
      if (const Schema::FieldSchema* field = schema.FindField(key)) {
        // "" is a value of its own where upstream has a pointer.
        const bool pointer = field->number != 0 && !field->written_when_absent;
        if (field->zero_is_absent && IsZero(child) && !(pointer && child.is_string())) continue;
        Check(child, *field->schema, path.Field(key), OldValueOf(old, key));
      } else if (schema.item != nullptr) {
        Check(child, *schema.item, path.Key(key), OldValueOf(old, key));
      }
    }
    if (schema.embedded_resource) CheckEmbedded(object, path);
  }

  void CheckEmbedded(const JsonObject& object, const FieldPath& path) {
    for (const char* name : {"apiVersion", "kind"}) {
      const Json* present = object.if_contains(name);
      if (present == nullptr || IsZero(*present)) causes_.push_back(RequiredValue(path.Field(name), "must not be empty"));
    }
  }

  void CheckArray(const Json& value, const Schema& schema, const FieldPath& path, const Json* old) {
    const JsonArray& array = value.get_array();
    if (schema.max_items && array.size() > *schema.max_items) causes_.push_back(TooMany(path, array.size(), *schema.max_items));
    if (schema.min_items && array.size() < *schema.min_items) {
      Broken(value, path, "should have at least " + std::to_string(*schema.min_items) + " items");
    }
    if (schema.item != nullptr) {
      for (size_t i = 0; i < array.size(); ++i) {
        Check(array[i], *schema.item, path.Index(i), old == nullptr ? nullptr : OldItemOf(old, array, i, schema));
      }
    }
    if (schema.unique_items && !Distinct(array)) Broken(value, path, "shouldn't contain duplicates");
    if (schema.native) return;
    if (schema.list_type == Schema::ListType::kSet) CheckDistinctItems(array, path);
    if (schema.list_type == Schema::ListType::kMap) CheckDistinctKeys(array, schema, path);
  }

  static bool Distinct(const JsonArray& array) {
    std::set<std::string> seen;
    for (const Json& item : array) {
      if (!seen.insert(base::CanonicalText(item)).second) return false;
    }
    return true;
  }

  void CheckDistinctItems(const JsonArray& array, const FieldPath& path) {
    if (array.size() < 2) return;
    std::set<std::string> seen;
    for (size_t i = 0; i < array.size(); ++i) {
      if (!seen.insert(base::CanonicalText(array[i])).second) list_causes_.push_back(DuplicateValue(path.Index(i), array[i]));
    }
  }

  static bool SameKeys(const Json& a, const Json& b, const std::vector<std::string>& keys) {
    if (!a.is_object() || !b.is_object()) return false;
    for (const std::string& key : keys) {
      const Json* left = a.get_object().if_contains(key);
      const Json* right = b.get_object().if_contains(key);
      if ((left == nullptr) != (right == nullptr)) return false;
      if (left != nullptr && *left != *right) return false;
    }
    return true;
  }

  void CheckDistinctKeys(const JsonArray& array, const Schema& schema, const FieldPath& path) {
    if (array.size() < 2) return;
    if (array.size() <= 16) {  // comparing all pairs beats making texts of the keys
      for (size_t i = 1; i < array.size(); ++i) {
        for (size_t before = 0; before < i; ++before) {
          if (!SameKeys(array[i], array[before], schema.list_keys)) continue;
          list_causes_.push_back(DuplicateValue(path.Index(i), KeysOf(array[i], schema.list_keys)));
          break;
        }
      }
      return;
    }
    std::set<std::string> seen;
    for (size_t i = 0; i < array.size(); ++i) {
      if (!array[i].is_object()) continue;
      const Json keys = KeysOf(array[i], schema.list_keys);
      if (!seen.insert(base::CanonicalText(keys)).second) list_causes_.push_back(DuplicateValue(path.Index(i), keys));
    }
  }

  static Json KeysOf(const Json& item, const std::vector<std::string>& names) {
    JsonObject keys;
    for (const std::string& name : names) {
      if (const Json* value = item.get_object().if_contains(name)) keys[name] = *value;
    }
    return keys;
  }

  void CheckText(const Json& value, const Schema& schema, const FieldPath& path) {
    const std::string_view text = TextOf(value);
    switch (schema.type) {
      case Type::kQuantity:
        if (!Quantity::Parse(text)) {
          causes_.push_back(InvalidValue(path, value,
                                         "quantities must match the regular expression "
                                         "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"));
        }
        return;
      case Type::kTime:
      case Type::kMicroTime:
        if (!text.empty() && !base::ParseCalendarTime(text))
          Broken(value, path, "must be of type date-time: " + base::ToText(value));
        return;
      case Type::kBytes: {
        std::string bytes;
        if (!base::Base64Decode(text, bytes)) Broken(value, path, "must be of type byte: " + base::ToText(value));
        return;
      }
      default:
        break;
    }
    if (schema.max_length && CountRunes(text) > *schema.max_length) causes_.push_back(TooLong(path, *schema.max_length));
    if (schema.min_length && CountRunes(text) < *schema.min_length) {
      Broken(value, path, "should be at least " + std::to_string(*schema.min_length) + " chars long");
    }
    if (schema.pattern != nullptr && !schema.pattern->Matches(text)) {
      Broken(value, path, "should match '" + schema.pattern->text() + "'");
    }
    if (schema.format_check != nullptr && !schema.format_check(text)) {
      Add("FieldValueTypeInvalid",
          "Invalid value: " + base::ToText(value) + ": " + path.Text() + " in body must be of type " + schema.format + ": " +
              base::ToText(value),
          path);
    }
  }

  void CheckNumber(const Json& value, const Schema& schema, const FieldPath& path) {
    const double number = NumberOf(value);
    if (schema.native && (schema.minimum || schema.maximum)) return CheckNativeRange(value, number, schema, path);
    if (!schema.native && (schema.type == Type::kInteger || schema.type == Type::kNumber)) {
      if (std::string problem = RangeProblem(value, schema); !problem.empty()) {
        causes_.push_back(InvalidValue(path, value, problem + " in " + path.Text()));
      }
    }
    if (schema.minimum && (schema.exclusive_minimum ? number <= *schema.minimum : number < *schema.minimum)) {
      Broken(value, path,
             std::string(schema.exclusive_minimum ? "should be greater than " : "should be greater than or equal to ") +
                 NumberText(*schema.minimum));
    }
    if (schema.maximum && (schema.exclusive_maximum ? number >= *schema.maximum : number > *schema.maximum)) {
      Broken(value, path,
             std::string(schema.exclusive_maximum ? "should be less than " : "should be less than or equal to ") +
                 NumberText(*schema.maximum));
    }
    if (schema.multiple_of && *schema.multiple_of > 0) {
      const double ratio = number / *schema.multiple_of;
      if (std::abs(ratio - std::round(ratio)) > 1e-9)
        Broken(value, path, "should be a multiple of " + NumberText(*schema.multiple_of));
    }
  }

  void CheckNativeRange(const Json& value, double number, const Schema& schema, const FieldPath& path) {
    if (number >= schema.minimum.value_or(number) && number <= schema.maximum.value_or(number) &&
        std::abs(number) < 2147483648.0)
      return;
    std::string rule;
    if (schema.minimum == 0 && schema.maximum == 0777) {
      rule = "must be a number between 0 and 0777 (octal), both inclusive";
    } else if (schema.minimum && schema.maximum) {
      rule = "must be between " + NumberText(*schema.minimum) + " and " + NumberText(*schema.maximum) + ", inclusive";
    } else if (schema.minimum && number < *schema.minimum) {
      rule = "must be greater than or equal to " + NumberText(*schema.minimum);
    } else {
      if (schema.format == "int64") return;
      rule = "must be less than or equal to " + NumberText(schema.maximum.value_or(2147483647));
    }
    causes_.push_back(InvalidValue(path, value, rule));
  }

  static bool Holds(const Json& value, const Schema& schema, const Json* old) {
    std::vector<Cause> causes, list_causes;
    Validator(causes, list_causes).Check(value, schema, FieldPath(), old);
    return causes.empty() && list_causes.empty();
  }

  void Combination(const Json& value, const FieldPath& path, const std::string& rule) {
    causes_.push_back(InvalidValue(path, value, "\"" + path.Text() + "\" " + rule));
  }

  void CheckCombinations(const Json& value, const Schema& schema, const FieldPath& path, const Json* old) {
    for (const Schema* part : schema.all_of) {
      const size_t before = causes_.size();
      Check(value, *part, path, old);
      if (causes_.size() > before) Combination(value, path, "must validate all the schemas (allOf)");
    }
    if (!schema.any_of.empty() && std::none_of(schema.any_of.begin(), schema.any_of.end(),
                                               [&](const Schema* part) { return Holds(value, *part, old); })) {
      Combination(value, path, "must validate at least one schema (anyOf)");
    }
    if (!schema.one_of.empty()) {
      const auto count = std::count_if(schema.one_of.begin(), schema.one_of.end(),
                                       [&](const Schema* part) { return Holds(value, *part, old); });
      if (count == 0) Combination(value, path, "must validate one and only one schema (oneOf). Found none valid");
      if (count > 1) {
        Combination(value, path,
                    "must validate one and only one schema (oneOf). Found " + std::to_string(count) + " valid alternatives");
      }
    }
    if (schema.not_schema != nullptr && Holds(value, *schema.not_schema, old)) {
      Combination(value, path, "must not validate the schema (not)");
    }
  }

  std::vector<Cause>& causes_;
  std::vector<Cause>& list_causes_;
};

}  // namespace

std::vector<Cause> Validate(const Json& value, const Schema& schema, const std::string& path, const Json* old) {
  std::vector<Cause> causes, list_causes;
  Validator(causes, list_causes).Check(value, schema, FieldPath(path), nullptr);
  if (old != nullptr && !causes.empty()) {
    causes.clear();
    list_causes.clear();
    Validator(causes, list_causes).Check(value, schema, FieldPath(path), old);
  }
  if (old != nullptr && !list_causes.empty()) {
    // Sets and maps that were not right before need not become so.
    std::vector<Cause> ignored, list_causes_before;
    Validator(ignored, list_causes_before).Check(*old, schema, FieldPath(path), nullptr);
    if (!list_causes_before.empty()) list_causes.clear();
  }
  std::ranges::move(list_causes, std::back_inserter(causes));
  return causes;
}

}  // namespace evenkeel::kube
