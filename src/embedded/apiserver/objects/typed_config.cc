#include "embedded/apiserver/objects/typed_config.h"

#include <set>

#include "embedded/apiserver/objects/managed_fields.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using kube::Schema;

std::string GoType(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  return value.is_array() ? "[]interface {}" : "map[string]interface {}";
}

// Why the item has no place in its list; "" where it has one.
std::string PlaceProblem(const Json& item, const Schema& list) {
  if (list.list_type == Schema::ListType::kSet) {
    if (item.is_object()) return "associative list without keys has an element that's a map type";
    if (item.is_array()) return "not supported: associative list with lists as elements";
    return item.is_null() ? "associative list without keys has an element that's an explicit null" : "";
  }
  if (item.is_null()) return "associative list with keys may not have a null element";
  if (!item.is_object()) return "associative list with keys may not have non-map elements";
  for (const std::string& key : list.list_keys) {
    if (item.get_object().contains(key)) continue;
    const Schema::FieldSchema* field = list.item == nullptr ? nullptr : list.item->FindField(key);
    if (field != nullptr && field->default_value) continue;
    return "associative list with keys has an element that omits key field \"" + key + "\" (and doesn't have default value)";
  }
  return "";
}

// Written out only for whoever is told of it.
struct Place {
  const Place* parent;
  std::string_view text;
  bool field;

  std::string Text() const {
    std::string path = parent == nullptr ? "" : parent->Text();
    if (field) path += '.';
    path += text;
    return path;
  }
};

class Walk {
 public:
  void Visit(const Json& value, const Schema* schema, const Place& place) {
    if (value.is_null() || schema == nullptr || size_ > kErrorBytesMax) return;
    switch (schema->type) {
      case Schema::Type::kObject:
      case Schema::Type::kMap:
        return VisitObject(value, *schema, place);
      case Schema::Type::kArray:
        return VisitList(value, *schema, place);
      case Schema::Type::kString:
      case Schema::Type::kBytes:
        if (!value.is_string()) Add(place, "expected string, got &value.valueUnstructured{Value:" + GoText(value, true) + "}");
        return;
      case Schema::Type::kInteger:
      case Schema::Type::kNumber:
        if (!value.is_number()) Add(place, "expected numeric (int or float), got " + GoType(value));
        return;
      case Schema::Type::kBoolean:
        if (!value.is_bool()) Add(place, "expected boolean, got &{" + GoText(value, false) + "}");
        return;
      case Schema::Type::kIntOrString:
      case Schema::Type::kQuantity:
      case Schema::Type::kTime:
      case Schema::Type::kMicroTime:
        if (schema->native && value.is_structured()) Add(place, "expected any scalar, got &{" + GoText(value, false) + "}");
        return;
      case Schema::Type::kAny:
        return;
    }
  }

  std::vector<std::string> errors;

 private:
  // Beyond that nobody reads on.
  static constexpr size_t kErrorBytesMax = 64u << 10;

  void Add(const Place& place, const std::string& text) {
    errors.push_back(place.Text() + ": " + text);
    size_ += errors.back().size();
  }

  void VisitObject(const Json& value, const Schema& schema, const Place& place) {
    if (!value.is_object()) return Add(place, "expected map, got &{" + GoText(value, false) + "}");
    // An object of which nothing is said may have any fields.
    const bool open = schema.preserve_unknown || schema.fields.empty();
    for (const auto& [key, child] : value.get_object()) {
      const Place here{&place, key, true};
      const Schema::FieldSchema* field = schema.FindField(key);
      if (schema.type == Schema::Type::kMap) {
        Visit(child, schema.item, here);
      } else if (field != nullptr) {
        Visit(child, field->schema, here);
      } else if (!open && size_ <= kErrorBytesMax) {
        Add(here, "field not declared in schema");
      }
    }
  }

  void VisitList(const Json& value, const Schema& schema, const Place& place) {
    if (!value.is_array()) return Add(place, "expected list, got &{" + GoText(value, false) + "}");
    std::set<std::string> seen;
    size_t index = 0;
    for (const Json& item : value.get_array()) {
      const size_t at = index++;
      std::string element = "[" + std::to_string(at) + "]";
      if (schema.list_type != Schema::ListType::kAtomic) {
        if (const std::string problem = PlaceProblem(item, schema); !problem.empty()) {
          return Add(place, "element " + std::to_string(at) + ": " + problem);
        }
        const auto [key, is_new] = seen.insert(ItemElement(item, schema));
        element = ElementText(*key);
        if (!is_new) Add(place, "duplicate entries for key " + element);
      }
      Visit(item, schema.item, {&place, element, false});
    }
  }

  size_t size_ = 0;
};

}  // namespace

std::string GoText(const Json& value, bool syntax) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return syntax ? base::ToText(value) : std::string(value.get_string());
  const std::string_view space = syntax ? ", " : " ";
  std::string text;
  if (value.is_array()) {
    for (const Json& item : value.get_array()) text += (text.empty() ? "" : std::string(space)) + GoText(item, syntax);
    return syntax ? "[]interface {}{" + text + "}" : "[" + text + "]";
  }
  if (!value.is_object()) return base::ToText(value);
  std::map<std::string_view, const Json*> sorted;
  for (const auto& [key, child] : value.get_object()) sorted.emplace(key, &child);
  for (const auto& [key, child] : sorted) {
    text += (text.empty() ? "" : std::string(space)) + (syntax ? base::ToText(Json(key)) : std::string(key)) + ":" +
            GoText(*child, syntax);
  }
  return syntax ? "map[string]interface {}{" + text + "}" : "map[" + text + "]";
}

std::vector<std::string> TypedErrors(const Json& config, const Schema* schema) {
  Walk walk;
  walk.Visit(config, schema, {nullptr, "", false});
  return std::move(walk.errors);
}

std::string JoinTypedErrors(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors[0];
  std::string text = "errors:";
  for (const std::string& error : errors) text += "\n  " + error;
  return text;
}

}  // namespace evenkeel::embedded::apiserver
