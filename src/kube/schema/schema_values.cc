// Defaults, pruning and normal form: the passes that rewrite an object by its schema.
#include <cmath>

#include "base/time.h"
#include "kube/quantity.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube {

using base::Json;
using base::JsonArray;
using base::JsonObject;

namespace {
using Type = Schema::Type;

/// What Go cannot tell from an absent value, where upstream's field is no pointer.
bool IsGoZero(const Json& value) {
  if (value.is_string()) return value.get_string().empty();
  if (value.is_bool()) return !value.get_bool();
  return value.is_int64() && value.get_int64() == 0;
}
}  // namespace

void ApplyDefaults(Json& value, const Schema& schema) {
  if (schema.free_of_defaults) return;
  if (schema.type == Type::kArray) {
    if (!value.is_array() || schema.item == nullptr) return;
    for (Json& item : value.get_array()) ApplyDefaults(item, *schema.item);
    return;
  }
  if (!value.is_object()) return;
  JsonObject& object = value.get_object();
  for (const uint16_t index : schema.fields_with_default_) {
    const Schema::FieldSchema& field = schema.fields[index];
    Json* present = object.if_contains(field.name);
    if (present == nullptr) {
      object.emplace(field.name, *field.default_value);
    } else if ((present->is_null() && !field.schema->nullable) || (field.written_when_absent && IsGoZero(*present))) {
      *present = *field.default_value;
    }
  }
  for (auto& [key, child] : object) {
    if (!child.is_structured()) continue;
    const Schema::FieldSchema* field = schema.FindField(key);
    if (field != nullptr) {
      ApplyDefaults(child, *field->schema);
    } else if (schema.item != nullptr) {
      ApplyDefaults(child, *schema.item);
    }
  }
}

namespace {

struct PruneStep {
  const PruneStep* parent;
  std::string_view key;
  size_t index;  ///< of a list, when the key has no data

  std::string Text() const {
    std::string text = parent == nullptr ? "" : parent->Text();
    if (key.data() == nullptr) return parent == nullptr ? text : text + "[" + std::to_string(index) + "]";
    if (!text.empty()) text += '.';
    return text.append(key);
  }
};

void PruneBelow(Json& value, const Schema& schema, const PruneStep& step, std::vector<std::string>* unknown) {
  if (schema.type == Type::kArray) {
    if (!value.is_array() || schema.item == nullptr) return;
    size_t index = 0;
    for (Json& item : value.get_array()) {
      if (item.is_structured()) PruneBelow(item, *schema.item, {&step, {}, index}, unknown);
      ++index;
    }
    return;
  }
  if (schema.prunes_all && value.is_array()) {
    size_t index = 0;
    for (Json& item : value.get_array()) PruneBelow(item, schema, {&step, {}, index++}, unknown);
    return;
  }
  const bool any = schema.type == Type::kAny && !schema.prunes_all;
  if (!value.is_object() || (any && schema.fields.empty())) return;
  if (!any && !schema.prunes_all && schema.type != Type::kObject && schema.type != Type::kMap) return;
  JsonObject& object = value.get_object();
  std::vector<std::string> extra;
  for (auto& [key, child] : object) {
    const Schema::FieldSchema* field = schema.FindField(key);
    const Schema* below = field != nullptr ? field->schema : schema.item;
    if (below != nullptr) {
      if (child.is_structured()) PruneBelow(child, *below, {&step, key, 0}, unknown);
    } else if (!any && schema.type != Type::kMap && !schema.preserve_unknown) {
      extra.emplace_back(key);
    }
  }
  for (const std::string& key : extra) {
    if (unknown != nullptr) unknown->push_back(PruneStep{&step, key, 0}.Text());
    // Unlike erase, which moves the last key into the gap, this keeps the order of the others.
    object.stable_erase(key);
  }
}

/// A number or text that is already how a typed encoder would print it, so that parsing it can be skipped.
bool IsPlainCanonicalQuantity(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0 || digits > 3 || text[0] == '0') return text == "0";
  const std::string_view suffix = text.substr(digits);
  return suffix.empty() || suffix == "m" || suffix == "Mi" || suffix == "Gi" || suffix == "Ki" || suffix == "M" ||
         suffix == "G";
}

void NormalizeQuantity(Json& value) {
  std::string text;
  if (value.is_string()) {
    const std::string_view present = value.get_string();
    if (IsPlainCanonicalQuantity(present)) return;
    text = present;
  } else if (value.is_number()) {
    text = base::ToText(value);
  } else {
    return;
  }
  if (auto quantity = Quantity::Parse(text)) {
    if (std::string canonical = quantity->ToString(); !value.is_string() || canonical != text) value = canonical;
  }
}

bool IsPlainTime(std::string_view text) { return text.size() == 20 && text[10] == 'T' && text[19] == 'Z'; }

void NormalizeTime(Json& value, bool micro) {
  if (!value.is_string()) return;
  const std::string_view text = value.get_string();
  if (!micro && IsPlainTime(text)) return;
  if (auto time = base::ParseCalendarTime(text)) {
    if (std::string canonical = micro ? base::FormatMicroTime(*time) : base::FormatTime(*time); canonical != text) {
      value = canonical;
    }
  }
}

/// What a typed decoder makes of a null in a map or list: the zero value. Null for what may be null.
Json ZeroOf(const Schema& schema) {
  switch (schema.type) {
    case Type::kString:
    case Type::kBytes:
      return "";
    case Type::kQuantity:
      return "0";
    case Type::kInteger:
    case Type::kNumber:
    case Type::kIntOrString:
      return 0;
    case Type::kBoolean:
      return false;
    case Type::kObject:
    case Type::kMap:
      return JsonObject();
    case Type::kArray:
      return JsonArray();
    case Type::kTime:
    case Type::kMicroTime:
    case Type::kAny:
      break;
  }
  return nullptr;
}

void NormalizeObject(JsonObject& object, const Schema& schema) {
  std::vector<std::string> nulls;
  for (auto& [key, child] : object) {
    const Schema::FieldSchema* field = schema.FindField(key);
    const Schema* below = field != nullptr ? field->schema : schema.item;
    if (below == nullptr) continue;
    if (!child.is_null()) {
      Normalize(child, *below);
    } else if (field == nullptr && schema.native) {
      child = ZeroOf(*below);
    } else if (!below->nullable && below->type != Type::kAny) {
      nulls.emplace_back(key);
    }
  }
  for (const std::string& key : nulls) object.stable_erase(key);
}

}  // namespace

void Prune(Json& value, const Schema& schema, std::vector<std::string>* unknown) {
  PruneBelow(value, schema, {nullptr, {}, 0}, unknown);
}

void Normalize(Json& value, const Schema& schema) {
  switch (schema.type) {
    case Type::kObject:
    case Type::kMap:
    case Type::kAny:
      if (value.is_object()) NormalizeObject(value.get_object(), schema);
      break;
    case Type::kArray:
      if (value.is_array() && schema.item != nullptr) {
        for (Json& item : value.get_array()) {
          if (item.is_null() && schema.native) item = ZeroOf(*schema.item);
          Normalize(item, *schema.item);
        }
      }
      break;
    case Type::kQuantity:
      NormalizeQuantity(value);
      break;
    case Type::kTime:
      NormalizeTime(value, false);
      break;
    case Type::kMicroTime:
      NormalizeTime(value, true);
      break;
    case Type::kInteger:
      if (value.is_double()) {
        const double number = value.get_double();
        if (number == std::floor(number) && std::abs(number) < 9e15) value = static_cast<int64_t>(number);
      }
      break;
    case Type::kString:
    case Type::kNumber:
    case Type::kBoolean:
    case Type::kIntOrString:
    case Type::kBytes:
      break;
  }
}

}  // namespace evenkeel::kube
