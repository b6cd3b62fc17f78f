#include "client/definitions.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"

namespace evenkeel::client::definitions_test {
namespace {

Json Definition(const std::string& number, const std::string& fields, const std::string& more_versions = "") {
  auto definition = base::ParseJson(
      R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.org"},
          "spec": {"group": "example.org", "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object",
          "properties": {"spec": {"type": "object", "properties": {)" +
          fields + "}}}}}}" + more_versions + "]}}",
      "test");
  EXPECT_TRUE(definition) << definition.error().message();
  if (!number.empty()) base::Ensure(*definition, {"metadata", "annotations", kDefinitionNumber}) = number;
  return *definition;
}

constexpr char kOne[] = R"("a": {"type": "string"})";
constexpr char kOther[] = R"("a": {"type": "integer"})";
constexpr char kTwo[] = R"("a": {"type": "string"}, "b": {"type": "array", "items": {"type": "object", "properties": {}}})";
constexpr char kThree[] =
    R"("a": {"type": "string"}, "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string"}}}})";

TEST(Definitions, AreNeverSetBack) {
  const struct {
    Json present, wanted;
    std::string why;  ///< part of it; "": it is brought to what is wanted
  } kCases[] = {
      {Definition("", kOne), Definition("", kTwo), ""},
      {Definition("", kTwo), Definition("", kOne), "spec.b"},
      {Definition("", kThree), Definition("", kTwo), "spec.b[].c"},
      {Definition("", kOne, R"(, {"name": "v2"})"), Definition("", kTwo), "version v2"},
      {Definition("", kTwo), Definition("", kOther), "spec.b"},
      {Definition("2", kOne), Definition("1", kOther), "form 2"},
      {Definition("2", kOne), Definition("2", kOther), ""},
      {Definition("1", kTwo), Definition("2", kOne), ""},
      {Definition("2", kTwo), Definition("2", kOne), "spec.b"},
      {Definition("", kTwo), Definition("1", kOne), "spec.b"},
      {Definition("x", kOne), Definition("1", kTwo), ""},
  };
  for (const auto& [present, wanted, why] : kCases) {
    EXPECT_NE(WhyOlder(present, wanted).find(why), std::string::npos) << WhyOlder(present, wanted);
    EXPECT_EQ(WhyOlder(present, wanted).empty(), why.empty()) << WhyOlder(present, wanted);
    const auto api = std::make_shared<FakeApi>();
    FakeClient client(api);
    api->Put(kube::resources::CustomResourceDefinitions(), present);
    EXPECT_TRUE(InstallDefinition(client, wanted));
    const Json& now = api->objects["customresourcedefinitions"].at("things.example.org");
    EXPECT_TRUE(SaysAll(now, why.empty() ? wanted : present)) << base::ToText(now);
  }
}

TEST(Definitions, AreMadeWhereThereAreNone) {
  const auto api = std::make_shared<FakeApi>();
  FakeClient client(api);
  EXPECT_TRUE(InstallDefinition(client, Definition("1", kOne)));
  EXPECT_TRUE(api->objects["customresourcedefinitions"].contains("things.example.org"));
}

}  // namespace
}  // namespace evenkeel::client::definitions_test
