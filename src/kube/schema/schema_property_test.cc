// Schemas and objects that are made up: whatever they are, the forms that the API server brings objects to stay as they are.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube::schema_property_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr std::array<std::string_view, 5> kNames = {"a", "b", "c", "d", "e"};

/// A structural schema, and values that mostly fit it.
class Inventor {
 public:
  explicit Inventor(uint64_t seed) : random_(seed) {}

  Json Root() { return JsonObject{{"type", "object"}, {"properties", JsonObject{{"spec", Object(3)}, {"status", Schema(2)}}}}; }

  Json Value(const Json& schema) {
    if (Chance(12)) return Anything(2);
    if (base::FindBool(schema, {"nullable"}) && Chance(4)) return nullptr;
    if (const JsonArray& allowed = base::FindArray(schema, {"enum"}); !allowed.empty()) return allowed[Below(allowed.size())];
    const std::string_view type = base::FindString(schema, {"type"});
    if (type == "object") return ObjectValue(schema);
    if (type == "array") {
      JsonArray items;
      for (size_t i = Below(4); i > 0; --i) items.push_back(Value(*base::Find(schema, {"items"})));
      return items;
    }
    if (type == "string") return Json(Text());
    if (type == "integer") return static_cast<int64_t>(Below(20)) - 5;
    if (type == "number") return static_cast<double>(Below(100)) / 8;
    if (type == "boolean") return Chance(2);
    return base::FindBool(schema, {"x-kubernetes-int-or-string"}) && Chance(2) ? Json(Text()) : Anything(2);
  }

  /// The same but for one place.
  Json Changed(Json value, const Json& schema) {
    Json* fields = base::Find(value, {"spec"});
    const JsonObject& known = base::FindObject(schema, {"properties", "spec", "properties"});
    if (fields == nullptr || !fields->is_object() || known.empty()) return value;
    const auto& field = *std::next(known.begin(), static_cast<std::ptrdiff_t>(Below(known.size())));
    fields->get_object()[field.key()] = Value(field.value());
    return value;
  }

 private:
  size_t Below(size_t end) { return random_.Below(end); }
  bool Chance(size_t one_in) { return Below(one_in) == 0; }
  std::string Text() { return std::string(Below(6), 'x') + (Chance(3) ? "ä" : ""); }

  Json Anything(int depth) {
    switch (Below(depth > 0 ? 7 : 5)) {
      case 0:
        return nullptr;
      case 1:
        return Chance(2);
      case 2:
        return Below(10);
      case 3:
        return Json(Text());
      case 4:
        return 0.5;
      case 5:
        return JsonArray{Anything(depth - 1), Anything(depth - 1)};
      default:
        return JsonObject{{kNames[Below(5)], Anything(depth - 1)}, {"other", Anything(depth - 1)}};
    }
  }

  Json ObjectValue(const Json& schema) {
    JsonObject object;
    for (const auto& [name, child] : base::FindObject(schema, {"properties"})) {
      if (!Chance(4)) object[name] = Value(child);
    }
    const Json* more = base::Find(schema, {"additionalProperties"});
    if (more != nullptr || Chance(3)) {
      for (const std::string_view name : {"x", "y"})
        object[name] = more != nullptr && more->is_object() ? Value(*more) : Anything(2);
    }
    return object;
  }

  Json Schema(int depth) {
    switch (Below(depth > 0 ? 11 : 7)) {
      case 0:
        return Scalar("integer", {{"minimum", 0}});
      case 1:
        return Scalar("string", Chance(2) ? JsonObject{{"maxLength", 4}} : JsonObject{{"pattern", "^x*ä?$"}});
      case 2:
        return Scalar("boolean", {});
      case 3:
        return JsonObject{{"x-kubernetes-int-or-string", true}};
      case 4:
        return Scalar("number", {{"multipleOf", 0.5}});
      case 5:
        if (Chance(2)) return Scalar("string", {{"enum", JsonArray{"x", "xx"}}});
        return JsonObject{{"type", "string"}, {"format", "date"}};
      case 6:
        return JsonObject{{"type", "object"},
                          {"x-kubernetes-embedded-resource", true},
                          {"x-kubernetes-preserve-unknown-fields", true},
                          {"nullable", Chance(2)}};
      case 7:
        return List(depth - 1);
      case 8:
        return JsonObject{{"type", "object"}, {"additionalProperties", Chance(3) ? Json(true) : Schema(depth - 1)}};
      case 9:
        return JsonObject{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
      default:
        return Object(depth - 1);
    }
  }

  Json Scalar(std::string_view type, JsonObject rules) {
    rules["type"] = type;
    if (Chance(4)) rules["nullable"] = true;
    if (Chance(3)) {
      if (type == "integer") rules["default"] = 1;
      if (type == "string") rules["default"] = "x";
      if (type == "boolean") rules["default"] = true;
    }
    return rules;
  }

  Json Object(int depth) {
    JsonObject properties;
    for (const std::string_view name : kNames) {
      if (Chance(2)) properties[name] = depth > 0 ? Schema(depth) : Scalar("string", {});
    }
    JsonObject schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (Chance(3)) schema["required"] = JsonArray{kNames[Below(5)]};
    if (Chance(6)) schema["x-kubernetes-preserve-unknown-fields"] = true;
    if (Chance(4))
      schema[Chance(2) ? "anyOf" : "oneOf"] =
          JsonArray{JsonObject{{"required", JsonArray{"a"}}}, JsonObject{{"required", JsonArray{"b"}}}};
    if (Chance(8)) schema["not"] = JsonObject{{"required", JsonArray{"c"}}};
    if (Chance(8)) schema["nullable"] = true;
    return schema;
  }

  Json List(int depth) {
    if (Chance(3)) {
      Json item = Object(depth);
      item.as_object().erase("nullable");  // items of maps are there
      base::Ensure(item, {"properties", "k"}) = JsonObject{{"type", "string"}, {"default", "x"}};
      return JsonObject{{"type", "array"},
                        {"x-kubernetes-list-type", "map"},
                        {"x-kubernetes-list-map-keys", JsonArray{"k"}},
                        {"items", std::move(item)}};
    }
    if (Chance(4)) {
      return JsonObject{{"type", "array"}, {"x-kubernetes-list-type", "set"}, {"items", JsonObject{{"type", "string"}}}};
    }
    JsonObject list{{"type", "array"}, {"items", Schema(depth)}, {"maxItems", 3}};
    if (Chance(4)) list["nullable"] = true;
    if (Chance(3)) list["x-kubernetes-list-type"] = "atomic";
    return list;
  }

  base::Random random_;
};

struct Case {
  Json open_api;
  SchemaSet set;
  const kube::Schema* schema = nullptr;

  explicit Case(Json made) : open_api(std::move(made)) {
    const auto read = SchemaFromOpenApi(open_api, set);
    if (!read) RC_FAIL(read.error().message());
    schema = *read;
  }
  Json Form(Json object) const {
    Prune(object, *schema, nullptr);
    ApplyDefaults(object, *schema);
    Normalize(object, *schema);
    return object;
  }
};

TEST(SchemaPropertyTest, FormsAreFixedPoints) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    Inventor inventor(seed);
    const Case one(inventor.Root());
    const Json formed = one.Form(inventor.Value(one.open_api));
    std::vector<std::string> unknown;
    Json again = formed;
    Prune(again, *one.schema, &unknown);
    RC_ASSERT(unknown.empty());
    RC_ASSERT(base::ToText(one.Form(formed)) == base::ToText(formed));
  }));
}

TEST(SchemaPropertyTest, WhatIsTakenComesBack) {
  size_t taken = 0;
  EXPECT_TRUE(rc::check([&taken](uint64_t seed) {
    Inventor inventor(seed);
    const Case one(inventor.Root());
    const Json formed = one.Form(inventor.Value(one.open_api));
    if (!Validate(formed, *one.schema).empty()) return;
    ++taken;
    const auto read = base::ParseJson(base::ToText(formed), "stored");
    RC_ASSERT(read.has_value());
    RC_ASSERT(base::ToText(one.Form(*read)) == base::ToText(formed));
    RC_ASSERT(Validate(*read, *one.schema).empty());
    // Somebody who reads the schema without checking it reads the same.
    SchemaSet other;
    RC_ASSERT(Validate(*read, *SchemaOfStored(one.open_api, other)).empty());
  }));
  EXPECT_GT(taken, 5u);
}

TEST(SchemaPropertyTest, WhatHasNotChangedIsLetPass) {
  size_t wrong = 0, let_pass = 0;
  EXPECT_TRUE(rc::check([&](uint64_t seed) {
    Inventor inventor(seed);
    const Case one(inventor.Root());
    const Json old = one.Form(inventor.Value(one.open_api));
    RC_ASSERT(Validate(old, *one.schema, "", &old).empty());
    const Json changed = one.Form(inventor.Changed(old, one.open_api));
    const auto all = Validate(changed, *one.schema);
    const auto left = Validate(changed, *one.schema, "", &old);
    for (const base::Cause& cause : left) {
      RC_ASSERT(std::ranges::any_of(all, [&](const base::Cause& one_of) { return one_of.field == cause.field; }));
    }
    wrong += !all.empty();
    let_pass += left.size() < all.size();
  }));
  EXPECT_GT(wrong, 5u);
  EXPECT_GT(let_pass, 5u);
}

}  // namespace
}  // namespace evenkeel::kube::schema_property_test
