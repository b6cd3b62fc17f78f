#include "embedded/apiserver/api/api_testing.h"
#include "embedded/apiserver/tables/table.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver::crd_test {
namespace {

using base::Code;
using base::Json;
namespace resources = kube::resources;

constexpr const char* kWidgets = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"widgets.example.com"},
  "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","shortNames":["wd"]},
    "versions":[
      {"name":"v1","served":true,"storage":true,
       "subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
       "additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"},
                                   {"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"},
                                   {"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}],
       "schema":{"openAPIV3Schema":{"type":"object","properties":{
         "spec":{"type":"object","required":["size"],"properties":{
           "size":{"type":"integer","minimum":1},"color":{"type":"string","default":"red"},"replicas":{"type":"integer"}}},
         "status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}},
      {"name":"v1beta1","served":true,"storage":false,
       "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

class CustomDefinitionTest : public ApiFixture {
 protected:
  kube::Resource Widgets(const std::string& version = "v1") {
    const ServedPointer served = api.resources().Find("example.com", version, "widgets");
    EXPECT_NE(served, nullptr);
    return served == nullptr ? kube::Resource() : served->resource;
  }
  base::Result<Json> CreateWidget(const std::string& name, const std::string& spec) {
    return client->Create(Widgets(), ParseOrFail(R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":")" +
                                                 name + R"(","namespace":"default"},"spec":)" + spec + "}"));
  }
};

TEST_F(CustomDefinitionTest, IsEstablishedAtOnce) {
  const Json crd = Create(kWidgets);
  EXPECT_EQ(base::FindString(*kube::FindCondition(crd, "Established"), {"status"}), "True");
  EXPECT_EQ(base::FindString(crd, {"status", "acceptedNames", "listKind"}), "WidgetList");
  EXPECT_EQ(base::ToText(base::FindArray(crd, {"status", "storedVersions"})), R"(["v1"])");
  const TestReply list = Send("GET", "/apis/example.com/v1");
  EXPECT_EQ(list.status, 200);
  EXPECT_NE(list.body.find("\"widgets/scale\""), std::string::npos);
  EXPECT_NE(Send("GET", "/apis").body.find("\"example.com/v1\""), std::string::npos);
  EXPECT_EQ(Send("GET", "/apis/example.com/v1/namespaces/default/widgets").status, 200);
}

TEST_F(CustomDefinitionTest, EvaluatesRules) {
  const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
  Create(kWidgets);
  const auto ruled = [](std::string_view rule) {
    std::string text = kWidgets;
    const std::string size = R"("size":{"type":"integer")";
    return text.insert(text.find(size) + size.size(), fmt::format(R"(,"x-kubernetes-validations":[{{"rule":"{}"}}])", rule));
  };
  const TestReply refused = Send("PUT", path, ruled("self.nope"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.body.find(
                "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].x-kubernetes-validations[0].rule"),
            std::string::npos)
      << refused.body;
  EXPECT_NE(refused.body.find("compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection"),
            std::string::npos)
      << refused.body;
  const TestReply reply = Send("PUT", path, ruled("self % 2 == 0 && (self >= 4 || oldSelf > 0)"));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.Header("Warning"), "");
  ASSERT_EQ(Send("PUT", path, ruled("self % 2 == 0")).status, 200);
  EXPECT_TRUE(CreateWidget("even", R"({"size":2})"));
  const auto odd = CreateWidget("odd", R"({"size":3})");
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message(),
            "Widget.example.com \"odd\" is invalid: spec.size: Invalid value: 3: failed rule: self % 2 == 0");
}

TEST_F(CustomDefinitionTest, DefaultsPrunesAndValidates) {
  Create(kWidgets);
  const Json widget = CreateWidget("a", R"({"size":2,"unknown":1})").value();
  EXPECT_EQ(base::FindString(widget, {"spec", "color"}), "red");
  EXPECT_EQ(base::Find(widget, {"spec", "unknown"}), nullptr);
  const auto small = CreateWidget("b", R"({"size":0})");
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().message(),
            "Widget.example.com \"b\" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or "
            "equal to 1");
  const auto missing = CreateWidget("b", "{}");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("spec.size: Required value"), std::string::npos);
  const TestReply strict =
      Send("POST", "/apis/example.com/v1/namespaces/default/widgets?fieldValidation=Strict",
           R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"c"},"spec":{"size":1,"foo":1}})");
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(strict.message(), "strict decoding error: unknown field \"spec.foo\"");
}

TEST_F(CustomDefinitionTest, SeparatesStatusAndCountsGenerations) {
  Create(kWidgets);
  Json widget = CreateWidget("a", R"({"size":2})").value();
  base::Ensure(widget, {"status", "replicas"}) = 4;
  widget = client->Update(Widgets(), widget).value();
  EXPECT_EQ(base::Find(widget, {"status", "replicas"}), nullptr);
  base::Ensure(widget, {"status", "replicas"}) = 4;
  widget = client->Update(Widgets(), widget, {.subresource = "status", .field_manager = ""}).value();
  EXPECT_EQ(base::FindInt(widget, {"status", "replicas"}), 4);
  EXPECT_EQ(base::FindInt(widget, {"metadata", "generation"}), 1);
  const Json scale = client
                         ->Patch(Widgets(), "default", "a", client::PatchType::kMerge,
                                 ParseOrFail(R"({"spec":{"replicas":3}})"), {.subresource = "scale", .field_manager = ""})
                         .value();
  EXPECT_EQ(base::FindInt(scale, {"status", "replicas"}), 4);
  EXPECT_EQ(base::FindInt(client->Get(Widgets(), "default", "a").value(), {"spec", "replicas"}), 3);
}

TEST_F(CustomDefinitionTest, ServesEveryVersionOfTheSameObjects) {
  Create(kWidgets);
  ASSERT_TRUE(CreateWidget("a", R"({"size":2})"));
  const Json beta = client->Get(Widgets("v1beta1"), "default", "a").value();
  EXPECT_EQ(base::FindString(beta, {"apiVersion"}), "example.com/v1beta1");
  EXPECT_EQ(base::FindInt(beta, {"spec", "size"}), 2);
  const auto strategic = client->Patch(Widgets(), "default", "a", client::PatchType::kStrategic, ParseOrFail("{}"));
  ASSERT_FALSE(strategic);
  EXPECT_EQ(strategic.error().code(), Code::kUnsupportedMediaType);
}

TEST_F(CustomDefinitionTest, DoesNotOfferStrategicMergePatch) {
  Create(kWidgets);
  const std::string custom = Send("GET", "/openapi/v3/apis/example.com/v1").body;
  EXPECT_NE(custom.find("application/merge-patch+json"), std::string::npos);
  EXPECT_EQ(custom.find("strategic-merge-patch"), std::string::npos);
  EXPECT_NE(Send("GET", "/openapi/v3/apis/apps/v1").body.find("strategic-merge-patch"), std::string::npos);
}

TEST_F(CustomDefinitionTest, PrintsItsColumns) {
  Create(kWidgets);
  ASSERT_TRUE(CreateWidget("a", R"({"size":2})"));
  const Json table = Send("GET", "/apis/example.com/v1/namespaces/default/widgets", "",
                          {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}})
                         .json();
  EXPECT_EQ(base::FindArray(table, {"columnDefinitions"}).size(), 4u);
  EXPECT_EQ(base::ToText(*base::Find(base::FindArray(table, {"rows"})[0], {"cells"})), R"(["a",2,null,"0s"])");
}

TEST_F(CustomDefinitionTest, TakesItsObjectsWithIt) {
  Create(kWidgets);
  ASSERT_TRUE(CreateWidget("a", R"({"size":2})"));
  ASSERT_TRUE(CreateWidget("b", R"({"size":2})"));
  const kube::Resource widgets = Widgets();
  ASSERT_TRUE(client->Patch(widgets, "default", "b", client::PatchType::kMerge,
                            ParseOrFail(R"({"metadata":{"finalizers":["example.com/hold"]}})")));
  ASSERT_TRUE(client->Delete(resources::CustomResourceDefinitions(), "", "widgets.example.com"));
  EXPECT_FALSE(client->Get(widgets, "default", "a"));
  EXPECT_TRUE(client->Get(resources::CustomResourceDefinitions(), "", "widgets.example.com")) << "b still holds it";
  const auto refused = CreateWidget("c", R"({"size":2})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kMethodNotAllowed);
  ASSERT_TRUE(
      client->Patch(widgets, "default", "b", client::PatchType::kMerge, ParseOrFail(R"({"metadata":{"finalizers":null}})")));
  EXPECT_FALSE(client->Get(resources::CustomResourceDefinitions(), "", "widgets.example.com"));
  EXPECT_EQ(Send("GET", "/apis/example.com/v1").status, 404);
}

TEST_F(CustomDefinitionTest, IsThereAgainAfterARestart) {
  Create(kWidgets);
  ASSERT_TRUE(CreateWidget("a", R"({"size":2})"));
  Api second({.name = "second", .store = store.get(), .clock = &executor.clock(), .random = base::Random(8), .logs = nullptr});
  ASSERT_TRUE(second.Start());
  EXPECT_NE(second.resources().Find("example.com", "v1", "widgets"), nullptr);
}

TEST_F(CustomDefinitionTest, SaysWhatIsWrongWithADefinition) {
  Json crd = ParseOrFail(kWidgets);
  base::Ensure(crd, {"metadata", "name"}) = "gadgets.example.com";
  const auto wrong = client->Create(resources::CustomResourceDefinitions(), crd);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find(
                "metadata.name: Invalid value: \"gadgets.example.com\": must be spec.names.plural+\".\"+spec.group"),
            std::string::npos)
      << wrong.error().message();
}

TEST_F(CustomDefinitionTest, WarnsOfDeprecatedVersionsAndOfScaleWithoutReplicas) {
  Json crd = ParseOrFail(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"olds.shop.example.org"},"spec":{"group":"shop.example.org","scope":"Namespaced",
    "names":{"plural":"olds","kind":"Old"},"versions":[
      {"name":"v1","served":true,"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
       "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
      {"name":"v1beta1","served":true,"storage":false,"deprecated":true,
       "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
      {"name":"v1alpha1","served":true,"storage":false,"deprecated":true,"deprecationWarning":"take \"v1\"",
       "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
  ASSERT_TRUE(client->Create(resources::CustomResourceDefinitions(), crd));
  const std::string group = "/apis/shop.example.org/", rest = "/namespaces/default/olds";
  EXPECT_EQ(Send("GET", group + "v1beta1" + rest).Header("Warning"), "299 - \"shop.example.org/v1beta1 Old is deprecated\"");
  EXPECT_EQ(Send("GET", group + "v1alpha1" + rest).Header("Warning"), R"(299 - "take \"v1\"")");
  EXPECT_EQ(Send("GET", group + "v1beta1" + rest + "?watch=true").Header("Warning"),
            "299 - \"shop.example.org/v1beta1 Old is deprecated\"");
  EXPECT_EQ(Send("GET", group + "v1" + rest).Header("Warning"), "");
  const TestReply made = Send("POST", group + "v1beta1" + rest, R"({"metadata":{"name":"o"},"spec":{"a":1}})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.Header("Warning"), "299 - \"shop.example.org/v1beta1 Old is deprecated\"");
  const TestReply scale = Send("GET", group + "v1" + rest + "/o/scale");
  EXPECT_EQ(scale.status, 500);
  EXPECT_EQ(scale.message(), "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist");
  EXPECT_EQ(Patch(group + "v1" + rest + "/o/scale", "application/merge-patch+json", R"({"spec":{"replicas":2}})").status, 200);
  EXPECT_EQ(base::FindInt(Send("GET", group + "v1" + rest + "/o/scale").json(), {"spec", "replicas"}), 2);
}

TEST_F(CustomDefinitionTest, SelectsByFieldsHoweverDeep) {
  Json crd = ParseOrFail(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"deeps.shop.example.org"},"spec":{"group":"shop.example.org","scope":"Namespaced",
    "names":{"plural":"deeps","kind":"Deep"},"versions":[{"name":"v1","served":true,"storage":true,
    "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object",
    "properties":{"b":{"type":"object","properties":{"c":{"type":"object","properties":{"d":{"type":"object",
    "properties":{"e":{"type":"string"}}}}}}}}}}}}}},
    "selectableFields":[{"jsonPath":".spec.a.b.c.d.e"}]}]}})");
  ASSERT_TRUE(client->Create(resources::CustomResourceDefinitions(), crd));
  const std::string path = "/apis/shop.example.org/v1/namespaces/default/deeps";
  for (const char* name : {"x", "y"}) {
    ASSERT_EQ(Send("POST", path,
                   R"({"apiVersion":"shop.example.org/v1","kind":"Deep","metadata":{"name":")" + std::string(name) +
                       R"("},"spec":{"a":{"b":{"c":{"d":{"e":")" + name + "\"}}}}}}")
                  .status,
              201);
  }
  const Json found = Send("GET", path + "?fieldSelector=spec.a.b.c.d.e%3Dy").json();
  ASSERT_EQ(base::FindArray(found, {"items"}).size(), 1u);
  EXPECT_EQ(base::FindString(base::FindArray(found, {"items"})[0], {"metadata", "name"}), "y");
}

TEST_F(CustomDefinitionTest, PrintsEscapedKeysSlicesAndTheFirstOfSeveral) {
  Json crd = ParseOrFail(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"lemons.shop.example.org"},"spec":{"group":"shop.example.org","scope":"Namespaced",
    "names":{"plural":"lemons","kind":"Lemon"},"versions":[{"name":"v1","served":true,"storage":true,
    "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
      "list":{"type":"array","items":{"type":"string"}},"by":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}},
    "additionalPrinterColumns":[
      {"name":"Part","type":"string","jsonPath":".metadata.labels['shop\\.example\\.org/part']"},
      {"name":"First","type":"string","jsonPath":".spec.list[*]"},
      {"name":"Last","type":"string","jsonPath":".spec.list[-1:]"},
      {"name":"Map","type":"string","jsonPath":".spec.by"},
      {"name":"Beyond","type":"string","jsonPath":".spec.list[7]"}]}]}})");
  ASSERT_TRUE(client->Create(resources::CustomResourceDefinitions(), crd));
  const std::string path = "/apis/shop.example.org/v1/namespaces/default/lemons";
  const TestReply made = Send(
      "POST", path,
      R"({"apiVersion":"shop.example.org/v1","kind":"Lemon","metadata":{"name":"l","labels":{"shop.example.org/part":"peel"}},
                                 "spec":{"list":["one","two"],"by":{"a":1}}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const TestReply table = Send("GET", path, "", {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  const Json rows = *base::Find(table.json(), {"rows"});
  EXPECT_EQ(base::ToText(*base::Find(rows.as_array().at(0), {"cells"})), R"(["l","peel","one","two","{\"a\":1}",null])");
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::crd_test
