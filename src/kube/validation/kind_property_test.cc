// Objects of built-in kinds that are made up by their schemas: whatever they are, the forms that the API server brings them to
// stay as they are, and what has not changed may be written again.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "base/random.h"
#include "kube/forms/defaulting.h"
#include "kube/schema/schema.h"
#include "kube/validation/validation.h"

namespace evenkeel::kube::kind_property_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using Type = Schema::Type;

/// Values that mostly fit a schema, out of few words, so that names meet and rules about several fields are reached.
class Inventor {
 public:
  explicit Inventor(uint64_t seed) : random_(seed) {}

  Json Value(const Schema& schema, int depth) {
    if (!schema.enum_values.empty() && !Chance(12)) return schema.enum_values[Below(schema.enum_values.size())];
    switch (schema.type) {
      case Type::kObject:
        return Object(schema, depth);
      case Type::kMap: {
        JsonObject map;
        for (size_t i = Below(3); i > 0 && schema.item != nullptr; --i) map[Key()] = Value(*schema.item, depth - 1);
        return map;
      }
      case Type::kArray: {
        JsonArray list;
        for (size_t i = Below(3); i > 0 && schema.item != nullptr; --i) list.push_back(Value(*schema.item, depth - 1));
        return list;
      }
      case Type::kInteger:
        return Number();
      case Type::kNumber:
        return static_cast<double>(Below(9)) / 4;
      case Type::kBoolean:
        return Chance(2);
      case Type::kIntOrString:
        return Chance(2) ? Number() : Json(Word());
      case Type::kQuantity:
        return Json(OneOf({"1", "-1", "0", "500m", "1.5", "2Mi", "3Mi", "1Gi"}));
      case Type::kTime:
        return "2026-01-02T03:04:05Z";
      case Type::kMicroTime:
        return "2026-01-02T03:04:05.000006Z";
      case Type::kBytes:
        return Json(OneOf({"", "Yg==", "e30="}));
      default:
        return Json(Word());
    }
  }

 private:
  size_t Below(size_t end) { return random_.Below(end); }
  bool Chance(size_t one_in) { return Below(one_in) == 0; }
  std::string OneOf(const std::vector<std::string>& words) { return words[Below(words.size())]; }
  Json Number() { return static_cast<int64_t>(std::array{-1, 0, 1, 2, 80, 443, 600, 30100, 70000}.at(Below(9))); }
  std::string Word() {
    return OneOf({"",
                  "a",
                  "b",
                  "A_",
                  "a b",
                  "/a",
                  "/a/../b",
                  "../a",
                  "a/b",
                  "a.org/b",
                  "10.0.0.1",
                  "fe80::1",
                  "10.0.0.0/8",
                  "x:y",
                  "None",
                  "Local",
                  "NodePort",
                  "ExternalName",
                  "Always",
                  "25%",
                  "200%",
                  "80",
                  "metadata.name",
                  "status.phase",
                  "limits.cpu",
                  "* * * * *",
                  "*.a.b",
                  "kubernetes.io/tls",
                  "Localhost",
                  "In",
                  "Exists",
                  "a=b",
                  "v1"});
  }
  std::string Key() {
    return OneOf({"a", "a b", "cpu", "memory", "storage", "hugepages-2Mi", "a.org/b", "foo", "requests.a.org/b", "tls.crt"});
  }

  Json Object(const Schema& schema, int depth) {
    JsonObject object;
    for (const Schema::FieldSchema& field : schema.fields) {
      // The deeper, the fewer, so that most of an object is reached and its size is bounded.
      if (depth <= 0 ? !field.required : !Chance(field.required ? 1 : 4)) continue;
      if (depth < -3) continue;  // a schema that contains itself
      object[field.name] = Value(*field.schema, depth - 1);
    }
    return object;
  }

  base::Random random_;
};

/// As the API server brings what it is sent to the form in which it is stored.
Json Form(Json object, const Resource& resource) {
  Prune(object, *resource.schema, nullptr);
  ApplyKindDefaults(resource, object);
  Normalize(object, *resource.schema);
  return object;
}

std::vector<const Resource*> Kinds() {
  std::vector<const Resource*> kinds;
  for (const Resource& resource : BuiltInResources()) {
    if (resource.schema != nullptr && resource.schema->native && !resource.review) kinds.push_back(&resource);
  }
  return kinds;
}

Json Made(const Resource& resource, uint64_t seed) {
  Json object = Inventor(seed).Value(*resource.schema, 9);
  object.as_object()["metadata"] = JsonObject{{"name", "o"}, {"uid", "u"}};
  if (resource.namespaced) object.at("metadata").as_object()["namespace"] = "default";
  return Form(std::move(object), resource);
}

class KindPropertyTest : public ::testing::TestWithParam<const Resource*> {};

TEST_P(KindPropertyTest, FormsAreFixedPointsAndMayBeWrittenAgain) {
  const Resource& resource = *GetParam();
  std::set<std::string> rules;
  EXPECT_TRUE(rc::check([&](uint64_t seed) {
    const Json object = Made(resource, seed);
    std::vector<std::string> unknown;
    Json again = object;
    Prune(again, *resource.schema, &unknown);
    RC_ASSERT(unknown.empty());
    RC_ASSERT(base::ToText(Form(object, resource)) == base::ToText(object));
    const auto causes = ValidateObject(resource, object);
    for (const base::Cause& cause : causes) {
      RC_ASSERT(!cause.message.empty());
      rules.insert(cause.message.substr(cause.message.rfind("\": ") + 1));
    }
    RC_ASSERT(ValidateObject(resource, object, &object).empty());
    RC_ASSERT(ValidateUpdate(resource, object, object).empty());
    // Whatever comes after it, either is judged without an accident.
    const Json other = Made(resource, seed + 1);
    ValidateObject(resource, other, &object);
    ValidateUpdate(resource, other, object);
  }));
  // What is made up is such that many rules have something to say.
  if (resource.kind == "Pod") EXPECT_GT(rules.size(), 25u);
  if (resource.kind == "Service" || resource.kind == "PersistentVolume") EXPECT_GT(rules.size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(All, KindPropertyTest, ::testing::ValuesIn(Kinds()), [](const auto& one) {
  std::string name = one.param->group + "_" + one.param->version + "_" + one.param->plural;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
});

}  // namespace
}  // namespace evenkeel::kube::kind_property_test
