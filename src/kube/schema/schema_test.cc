#include "kube/schema/schema.h"

#include <gtest/gtest.h>

#include "kube/forms/defaulting.h"
#include "kube/resource.h"
#include "kube/schema/schema_text.h"

namespace evenkeel::kube::schema_test {
namespace {

using base::Json;

Json SchemaTestJson(std::string_view text) {
  auto parsed = base::ParseJson(text, "test");
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : Json();
}

struct Crd {
  SchemaSet set;
  const Schema* schema = nullptr;
  explicit Crd(std::string_view spec) {
    const Json open_api = SchemaTestJson(R"({"type":"object","properties":{"spec":)" + std::string(spec) + "}}");
    auto result = SchemaFromOpenApi(open_api, set);
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
    if (result) schema = *result;
  }
  std::string FirstProblem(std::string_view spec) const {
    const auto causes = Validate(SchemaTestJson(R"({"spec":)" + std::string(spec) + "}"), *schema);
    return causes.empty() ? "" : causes[0].field + ": " + causes[0].message;
  }
};

std::string StructuralProblem(std::string_view open_api) {
  SchemaSet set;
  auto result = SchemaFromOpenApi(SchemaTestJson(open_api), set);
  if (result) return "";
  const base::Cause& cause = result.error().details()->causes.at(0);
  return cause.field + ": " + cause.message;
}

TEST(SchemaTextTest, ReadsTypesDefaultsAndPatchStrategies) {
  const Schema* spec = FindBuiltInSchema("io.k8s.api.core.v1.PodSpec");
  ASSERT_NE(spec, nullptr);
  const auto* containers = spec->FindField("containers");
  ASSERT_NE(containers, nullptr);
  EXPECT_TRUE(containers->required);
  EXPECT_EQ(containers->schema->merge_key(), "name");
  EXPECT_EQ(containers->schema->list_keys, std::vector<std::string>{"name"});
  EXPECT_EQ(containers->schema->item->name, "Container");
  EXPECT_EQ(*spec->FindField("terminationGracePeriodSeconds")->default_value, Json(30));
  EXPECT_TRUE(spec->FindField("volumes")->schema->patch_retain_keys);
  EXPECT_EQ(spec->FindField("noSuchField"), nullptr);
}

TEST(SchemaTextTest, FindsEveryFieldOfEveryType) {
  for (const auto& [name, schema] : BuiltInSchemas().definitions) {
    for (const auto& field : schema->fields) {
      EXPECT_EQ(schema->FindField(field.name), &field) << name;
      EXPECT_NE(field.schema, nullptr) << name << "." << field.name;
      EXPECT_FALSE(field.description.empty()) << name << "." << field.name;
    }
  }
}

TEST(SchemaTextDeathTest, AMistakeEndsTheProcessWithItsLine) {
  const auto read = [](std::string_view text) {
    SchemaLibrary library;
    ReadSchemaTexts({{"bad.schema", text}}, library);
  };
  EXPECT_DEATH(read("package p\ntype A\n  x NoSuchType\n"), "bad.schema:3: unknown type NoSuchType");
  EXPECT_DEATH(read("package p\ntype A\n  x string\n  x string\n"), "bad.schema:4: field twice: x");
  EXPECT_DEATH(read("package p\ntype A\n  x string =nonsense\n"), "bad.schema:3: default is not JSON");
  EXPECT_DEATH(read("  x string\n"), "bad.schema:1: a field outside a type");
  EXPECT_DEATH(read("package p\ntype A\n  x string bogus\n"), "bad.schema:3: unknown option bogus");
}

TEST(SchemaTest, DefaultsGoToEveryDepthAndReplaceNull) {
  const Crd crd(R"({"type":"object","properties":{
      "a":{"type":"object","default":{},"properties":{"b":{"type":"integer","default":7}}},
      "list":{"type":"array","items":{"type":"object","properties":{"c":{"type":"string","default":"x"}}}},
      "n":{"type":"string","nullable":true,"default":"y"}}})");
  Json value = SchemaTestJson(R"({"spec":{"list":[{},{"c":"z"}],"n":null}})");
  ApplyDefaults(value, *crd.schema);
  EXPECT_TRUE(base::Equal(value, SchemaTestJson(R"({"spec":{"a":{"b":7},"list":[{"c":"x"},{"c":"z"}],"n":null}})"))) << value;
  value = SchemaTestJson(R"({"spec":{"a":null,"n":"k"}})");
  ApplyDefaults(value, *crd.schema);
  EXPECT_TRUE(base::Equal(value, SchemaTestJson(R"({"spec":{"a":{"b":7},"n":"k"}})"))) << value;
  value = SchemaTestJson(R"({"kind":"X"})");
  ApplyDefaults(value, *crd.schema);
  EXPECT_TRUE(base::Equal(value, SchemaTestJson(R"({"kind":"X"})"))) << "no parent, no default";
}

TEST(SchemaTest, PruningNamesUnknownFieldsAndKeepsTheRest) {
  const Crd crd(R"({"type":"object","properties":{
      "a":{"type":"string"},
      "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"k":{"type":"object","properties":{"l":{"type":"string"}}}}},
      "list":{"type":"array","items":{"type":"object","properties":{"c":{"type":"string"}}}},
      "map":{"type":"object","additionalProperties":{"type":"object","properties":{"d":{"type":"string"}}}}}})");
  Json value = SchemaTestJson(R"({"apiVersion":"v1","kind":"K","metadata":{"name":"n","bogus":1},
      "spec":{"z":1,"a":"x","free":{"any":{"x":1},"k":{"l":"1","m":2}},"list":[{"c":"1"},{"e":2}],"map":{"q":{"d":"1","f":1}}},"status":{}})");
  std::vector<std::string> unknown;
  Prune(value, *crd.schema, &unknown);
  std::sort(unknown.begin(), unknown.end());
  EXPECT_EQ(unknown, (std::vector<std::string>{"metadata.bogus", "spec.free.k.m", "spec.list[1].e", "spec.map.q.f", "spec.z",
                                               "status"}));
  EXPECT_TRUE(base::Equal(value, SchemaTestJson(R"({"apiVersion":"v1","kind":"K","metadata":{"name":"n"},
      "spec":{"a":"x","free":{"any":{"x":1},"k":{"l":"1"}},"list":[{"c":"1"},{}],"map":{"q":{"d":"1"}}}})")))
      << value;
}

TEST(SchemaTest, EmbeddedResourcesKeepTheirMetadata) {
  const Crd crd(
      R"({"type":"object","properties":{"o":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"x":{"type":"string"}}}}})");
  Json value = SchemaTestJson(R"({"spec":{"o":{"apiVersion":"v1","kind":"K","metadata":{"name":"n"},"x":"1","y":2}}})");
  Prune(value, *crd.schema, nullptr);
  EXPECT_TRUE(
      base::Equal(value, SchemaTestJson(R"({"spec":{"o":{"apiVersion":"v1","kind":"K","metadata":{"name":"n"},"x":"1"}}})")));
  EXPECT_EQ(crd.FirstProblem(R"({"o":{"kind":"K"}})"), "spec.o.apiVersion: Required value: must not be empty");
}

TEST(SchemaTest, ValidationSpeaksAsUpstream) {
  const Crd crd(R"({"type":"object","required":["n"],"properties":{
      "n":{"type":"integer","minimum":1,"maximum":10},"s":{"type":"string","pattern":"^a+$","maxLength":4},
      "e":{"type":"string","enum":["b","a"]},"ios":{"x-kubernetes-int-or-string":true},
      "l":{"type":"array","maxItems":2,"items":{"type":"string"},"x-kubernetes-list-type":"set"},
      "m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
           "items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}},
      "null":{"type":"string","nullable":true},"t":{"type":"string","format":"date-time"},
      "x":{"type":"number","exclusiveMinimum":true,"minimum":0,"multipleOf":0.5}}})");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"s":"aa","e":"a","ios":"5%","l":["x"],"m":[{"k":"1"},{"k":"2"}],"null":null,"x":1.5})"),
            "");
  EXPECT_EQ(crd.FirstProblem("{}"), "spec.n: Required value");
  EXPECT_EQ(crd.FirstProblem(R"({"n":0})"), "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1");
  EXPECT_EQ(crd.FirstProblem(R"({"n":11})"), "spec.n: Invalid value: 11: spec.n in body should be less than or equal to 10");
  EXPECT_EQ(crd.FirstProblem(R"({"n":"1"})"),
            R"(spec.n: Invalid value: "string": spec.n in body must be of type integer: "string")");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"s":"b"})"), R"(spec.s: Invalid value: "b": spec.s in body should match '^a+$')");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"s":"aaaaa"})"), "spec.s: Too long: may not be longer than 4");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"e":"c"})"), R"(spec.e: Unsupported value: "c": supported values: "a", "b")");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"l":["1","2","3"]})"), "spec.l: Too many: 3: must have at most 2 items");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"l":["1","1"]})"), R"(spec.l[1]: Duplicate value: "1")");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"m":[{"k":"1"},{"k":"1"}]})"), R"(spec.m[1]: Duplicate value: {"k":"1"})");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"t":"yesterday"})"),
            R"(spec.t: Invalid value: "yesterday": spec.t in body must be of type date-time: "yesterday")");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"x":0})"), "spec.x: Invalid value: 0: spec.x in body should be greater than 0");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"x":0.7})"), "spec.x: Invalid value: 0.7: spec.x in body should be a multiple of 0.5");
  EXPECT_EQ(crd.FirstProblem(R"({"n":1,"ios":true})").substr(0, 9), "spec.ios:");
}

TEST(SchemaTest, CombinationsAreChecked) {
  const Crd crd(R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"integer"}},
      "oneOf":[{"required":["a"]},{"required":["b"]}],"not":{"properties":{"c":{"minimum":100}},"required":["c"]}})");
  EXPECT_EQ(crd.FirstProblem(R"({"a":"x"})"), "");
  EXPECT_NE(crd.FirstProblem(R"({"a":"x","b":"y"})").find("Found 2 valid alternatives"), std::string::npos);
  EXPECT_NE(crd.FirstProblem(R"({})").find("Found none valid"), std::string::npos);
  EXPECT_NE(crd.FirstProblem(R"({"a":"x","c":100})").find("must not validate the schema (not)"), std::string::npos);
  EXPECT_EQ(crd.FirstProblem(R"({"a":"x","c":99})"), "");
}

TEST(SchemaTest, RefusesSchemasThatAreNotStructural) {
  EXPECT_EQ(StructuralProblem(R"({"type":"string"})"), R"(type: Invalid value: "string": must be object at the root)");
  EXPECT_EQ(StructuralProblem(R"({"properties":{}})"), "type: Required value: must not be empty at the root");
  EXPECT_EQ(StructuralProblem(R"({"type":"object","properties":{"a":{}}})"),
            "properties[a].type: Required value: must not be empty for specified object fields");
  EXPECT_EQ(StructuralProblem(R"({"type":"object","properties":{"a":{"type":"string","pattern":"["}}})").substr(0, 34),
            "properties[a].pattern: Invalid val");
  EXPECT_NE(StructuralProblem(R"j({"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}})j").find("(?="),
            std::string::npos);
  EXPECT_EQ(StructuralProblem(R"({"type":"object","allOf":[{"type":"object"}]})"),
            "allOf[0].type: Forbidden: must be empty to be structural");
  EXPECT_EQ(StructuralProblem(R"({"type":"object","properties":{"a":{"type":"integer","default":"x"}}})").substr(0, 22),
            "properties[a].default:");
  EXPECT_EQ(StructuralProblem(R"({"type":"object","properties":{"a":{"$ref":"#/x","type":"object"}}})"),
            "properties[a].$ref: Forbidden: $ref is not supported");
  EXPECT_EQ(StructuralProblem(R"({"type":"object"})"), "");
}

TEST(SchemaTest, NumbersFitTheirFormat) {
  const Crd crd(R"({"type":"object","properties":{"i":{"type":"integer","format":"int32"},"l":{"type":"integer"},
      "f":{"type":"number","format":"float"},"d":{"type":"number"},"u":{"type":"integer","format":"uint8"}}})");
  EXPECT_EQ(crd.FirstProblem(R"({"i":-2147483648,"l":9223372036854775807,"f":3.4e38,"d":1e300,"u":300})"), "");
  EXPECT_EQ(crd.FirstProblem(R"({"i":2147483648})"),
            "spec.i: Invalid value: 2147483648: Checked value must be of type integer with format int32 in spec.i");
  EXPECT_NE(crd.FirstProblem(R"({"l":9223372036854775808})").find("Checked value must be of type integer (default format)"),
            std::string::npos);
  EXPECT_NE(crd.FirstProblem(R"({"f":3.5e38})").find("Checked value must be of type number with format float in spec.f"),
            std::string::npos);
}

TEST(SchemaTest, UnknownFormatsHaveNoEffect) {
  const Crd crd(
      R"({"type":"object","properties":{"a":{"type":"string","format":"duckling"},"b":{"type":"string","format":"cidr"},
      "c":{"type":"boolean","format":"date"},"t":{"type":"string","format":"date-time"}}})");
  EXPECT_EQ(crd.FirstProblem(R"({"a":"x","b":"10.0.0.0/8","c":true,"t":"9999-12-31T23:59:59Z"})"), "");
  EXPECT_EQ(crd.FirstProblem(R"({"b":"x"})"), R"(spec.b: Invalid value: "x": spec.b in body must be of type cidr: "x")");
}

TEST(SchemaTest, NullsInMapsAreTheZeroValueOfBuiltInKindsAndGoInOthers) {
  Json map = SchemaTestJson(
      R"({"metadata":{"labels":{"a":null},"annotations":{"b":null},"finalizers":[null]},"data":{"empty":null,"full":"x"}})");
  Normalize(map, *resources::ConfigMaps().schema);
  EXPECT_TRUE(base::Equal(map, SchemaTestJson(R"({"metadata":{"labels":{"a":""},"annotations":{"b":""},"finalizers":[""]},
      "data":{"empty":"","full":"x"}})")))
      << map;
  Json pod = SchemaTestJson(R"({"spec":{"nodeSelector":{"a":null},"containers":[{"resources":{"limits":{"cpu":null}}}]}})");
  Normalize(pod, *resources::Pods().schema);
  EXPECT_TRUE(base::Equal(
      pod, SchemaTestJson(R"({"spec":{"nodeSelector":{"a":""},"containers":[{"resources":{"limits":{"cpu":"0"}}}]}})")))
      << pod;
  const Crd crd(R"({"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}},
      "n":{"type":"object","additionalProperties":{"type":"string","nullable":true}}}})");
  Json custom = SchemaTestJson(R"({"metadata":{"labels":{"a":null}},"spec":{"m":{"a":null,"b":"x"},"n":{"a":null}}})");
  Normalize(custom, *crd.schema);
  EXPECT_TRUE(base::Equal(custom, SchemaTestJson(R"({"metadata":{"labels":{"a":""}},"spec":{"m":{"b":"x"},"n":{"a":null}}})")))
      << custom;
}

TEST(SchemaTest, NormalFormIsThatOfATypedDecoder) {
  Json pod =
      SchemaTestJson(R"({"metadata":{"name":"p","creationTimestamp":null},"spec":{"nodeName":null,"containers":[{"name":"c",
      "resources":{"limits":{"cpu":1,"memory":"1024Mi"},"requests":{"cpu":"1000m","memory":"512Mi"}}}]}})");
  Normalize(pod, *resources::Pods().schema);
  EXPECT_TRUE(base::Equal(pod, SchemaTestJson(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",
      "resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"512Mi"}}}]}})")))
      << pod;
}

}  // namespace
}  // namespace evenkeel::kube::schema_test
