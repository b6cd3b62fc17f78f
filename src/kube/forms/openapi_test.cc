#include "kube/forms/openapi.h"

#include <gtest/gtest.h>

#include "kube/schema/schema.h"

namespace evenkeel::kube::openapi_test {
namespace {

using base::Json;

std::string TextOf(OpenApiForm form, const std::vector<const Resource*>& resources) {
  OpenApiDocument document(form);
  for (const Resource* resource : resources) document.Add(*resource);
  std::string text;
  document.Write([&text](std::string_view piece) { text += piece; });
  return text;
}

Json DocumentOf(OpenApiForm form, const std::vector<const Resource*>& resources) {
  return *base::ParseJson(TextOf(form, resources), "document");
}

std::vector<const Resource*> AllBuiltIn(std::string_view group = "*") {
  std::vector<const Resource*> all;
  for (const Resource& resource : BuiltInResources()) {
    if (group == "*" || (resource.group == group && resource.version == "v1")) all.push_back(&resource);
  }
  return all;
}

/// Every $ref below the value points to a definition.
void ExpectReferencesResolve(const Json& value, const boost::json::object& definitions, std::string_view prefix) {
  if (value.is_array()) {
    for (const Json& item : value.get_array()) ExpectReferencesResolve(item, definitions, prefix);
  } else if (value.is_object()) {
    for (const auto& [key, child] : value.get_object()) {
      if (key == "$ref" && child.is_string()) {
        const std::string_view target = child.get_string();
        ASSERT_TRUE(target.starts_with(prefix)) << target;
        EXPECT_TRUE(definitions.contains(target.substr(prefix.size()))) << target;
      } else {
        ExpectReferencesResolve(child, definitions, prefix);
      }
    }
  }
}

TEST(OpenApiTest, SwaggerNamesKindsStrategiesAndReferences) {
  const Json document = DocumentOf(OpenApiForm::kV2, AllBuiltIn());
  const auto& definitions = document.at("definitions").as_object();
  const Json& pod = definitions.at("io.k8s.api.core.v1.Pod");
  EXPECT_EQ(base::ToText(pod.at("x-kubernetes-group-version-kind")), R"([{"group":"","kind":"Pod","version":"v1"}])");
  const Json& containers = definitions.at("io.k8s.api.core.v1.PodSpec").at("properties").at("containers");
  EXPECT_EQ(containers.at("x-kubernetes-patch-strategy"), "merge");
  EXPECT_EQ(containers.at("x-kubernetes-patch-merge-key"), "name");
  EXPECT_EQ(containers.at("x-kubernetes-list-type"), "map");
  EXPECT_EQ(containers.at("items").at("$ref"), "#/definitions/io.k8s.api.core.v1.Container");
  EXPECT_EQ(
      definitions.at("io.k8s.api.apps.v1.DeploymentSpec").at("properties").at("strategy").at("x-kubernetes-patch-strategy"),
      "retainKeys");
  ExpectReferencesResolve(document, definitions, "#/definitions/");
  const auto& patch = document.at("paths").at("/apis/apps/v1/namespaces/{namespace}/deployments/{name}").at("patch");
  EXPECT_EQ(base::ToText(patch.at("x-kubernetes-group-version-kind")),
            R"({"group":"apps","kind":"Deployment","version":"v1"})");
  EXPECT_NE(base::ToText(patch.at("parameters")).find(R"("name":"fieldValidation")"), std::string::npos);
}

TEST(OpenApiTest, ProtobufHoldsTheSameDocument) {
  const std::string bytes = TextOf(OpenApiForm::kV2Protobuf, {&resources::ConfigMaps()});
  // Field 1 (swagger) is a text of three letters; field 2 is a message.
  ASSERT_GT(bytes.size(), 100u);
  EXPECT_EQ(bytes.substr(0, 5), std::string("\x0A\x03") + "2.0");
  EXPECT_EQ(bytes[5], '\x12');
  for (const char* text :
       {"io.k8s.api.core.v1.ConfigMap", "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "x-kubernetes-group-version-kind", "[{\"group\":\"\",\"kind\":\"ConfigMap\",\"version\":\"v1\"}]", "dryRun"}) {
    EXPECT_NE(bytes.find(text), std::string::npos) << text;
  }
}

TEST(OpenApiTest, VersionThreeRefersWithinADocument) {
  const Json document = DocumentOf(OpenApiForm::kV3, AllBuiltIn("apps"));
  const auto& schemas = document.at("components").at("schemas").as_object();
  EXPECT_TRUE(schemas.contains("io.k8s.api.apps.v1.Deployment"));
  EXPECT_FALSE(schemas.contains("io.k8s.api.core.v1.Node"));
  EXPECT_EQ(schemas.at("io.k8s.api.apps.v1.Deployment").at("properties").at("spec").at("allOf").at(0).at("$ref"),
            "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec");
  ExpectReferencesResolve(document, schemas, "#/components/schemas/");
}

TEST(OpenApiTest, CustomKindsAreDescribedToo) {
  SchemaSet set;
  const auto schema =
      SchemaFromOpenApi(*base::ParseJson(R"({"type":"object","description":"A group.","properties":{"spec":{"type":"object",
      "required":["size"],"properties":{"size":{"type":"integer","minimum":1,"description":"How many."},"port":{"x-kubernetes-int-or-string":true},
      "free":{"type":"object","nullable":true,"x-kubernetes-preserve-unknown-fields":true}}}}})",
                                         "test"),
                        set);
  ASSERT_TRUE(schema.has_value());
  Resource groups;
  groups.group = "evenkeel.dev";
  groups.version = "v1alpha1";
  groups.kind = "NodeGroup";
  groups.plural = "nodegroups";
  groups.namespaced = false;
  groups.schema = *schema;
  EXPECT_EQ(DefinitionName(groups), "dev.evenkeel.v1alpha1.NodeGroup");
  const Json v2 = DocumentOf(OpenApiForm::kV2, {&groups});
  const Json& spec = v2.at("definitions").at("dev.evenkeel.v1alpha1.NodeGroup").at("properties").at("spec");
  EXPECT_EQ(base::ToText(spec.at("required")), R"(["size"])");
  EXPECT_EQ(spec.at("properties").at("size").at("description"), "How many.");
  EXPECT_FALSE(spec.at("properties").at("free").as_object().contains("type")) << "Swagger 2 cannot say nullable";
  const Json v3 = DocumentOf(OpenApiForm::kV3, {&groups});
  const Json& free = v3.at("components")
                         .at("schemas")
                         .at("dev.evenkeel.v1alpha1.NodeGroup")
                         .at("properties")
                         .at("spec")
                         .at("properties")
                         .at("free");
  EXPECT_EQ(free.at("nullable"), true);
  EXPECT_TRUE(v3.at("paths").as_object().contains("/apis/evenkeel.dev/v1alpha1/nodegroups/{name}"));
  EXPECT_FALSE(TextOf(OpenApiForm::kV2Protobuf, {&groups}).empty());
}

}  // namespace
}  // namespace evenkeel::kube::openapi_test
