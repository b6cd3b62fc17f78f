#include "embedded/apiserver/api/api_testing.h"
#include "embedded/apiserver/objects/managed_fields.h"
#include "embedded/apiserver/objects/typed_config.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver::apply_test {
namespace {

using base::Code;
using base::Json;
namespace resources = kube::resources;

class ApplyTest : public ApiFixture {
 protected:
  static std::string Deployment(const std::string& spec) {
    return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","labels":{"a":"1"}},"spec":)" +
           spec + "}";
  }
  static std::string Spec(const std::string& extra, const std::string& container = R"({"name":"c","image":"x"})") {
    return R"({)" + extra +
           R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[)" +
           container + "]}}}";
  }
  base::Result<Json> Apply(const std::string& text, const std::string& manager, bool force = false) {
    return client->Patch(resources::Deployments(), "default", "web", client::PatchType::kApply, ParseOrFail(text),
                         {.subresource = "", .field_manager = manager, .force = force});
  }
  static const Json* EntryOf(const Json& object, std::string_view manager) {
    for (const Json& entry : base::FindArray(object, {"metadata", "managedFields"})) {
      if (base::FindString(entry, {"manager"}) == manager) return &entry;
    }
    return nullptr;
  }
};

TEST_F(ApplyTest, CreatesAndRemembersWhoSetWhat) {
  const auto made = Apply(Deployment(Spec(R"("replicas":2,)")), "alice");
  ASSERT_TRUE(made) << made.error().message();
  const Json* entry = EntryOf(*made, "alice");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(base::FindString(*entry, {"operation"}), "Apply");
  EXPECT_NE(base::Find(*entry, {"fieldsV1", "f:spec", "f:replicas"}), nullptr);
  EXPECT_NE(base::Find(*entry, {"fieldsV1", "f:metadata", "f:labels", "f:a"}), nullptr);
  EXPECT_EQ(base::Find(*entry, {"fieldsV1", "f:metadata", "f:name"}), nullptr);
  EXPECT_NE(base::Find(*entry, {"fieldsV1", "f:spec", "f:template", "f:spec", "f:containers", R"(k:{"name":"c"})", "f:image"}),
            nullptr)
      << base::ToText(*entry);
}

TEST_F(ApplyTest, ApplyingTheSameAgainWritesNothing) {
  ASSERT_TRUE(Apply(Deployment(Spec(R"("replicas":2,)")), "alice"));
  const auto revision = store->current_revision();
  executor.RunFor(std::chrono::minutes(1));
  ASSERT_TRUE(Apply(Deployment(Spec(R"("replicas":2,)")), "alice"));
  EXPECT_EQ(store->current_revision(), revision);
}

TEST_F(ApplyTest, TellsOfAConflictInUpstreamsWords) {
  ASSERT_TRUE(Apply(Deployment(Spec(R"("replicas":2,)")), "alice"));
  const auto refused = Apply(Deployment(Spec(R"("replicas":3,)")), "bob");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kConflict);
  EXPECT_EQ(refused.error().message(), "Apply failed with 1 conflict: conflict with \"alice\": .spec.replicas");
  ASSERT_NE(refused.error().details(), nullptr);
  EXPECT_EQ(refused.error().details()->causes[0].reason, "FieldManagerConflict");
  EXPECT_EQ(refused.error().details()->causes[0].field, ".spec.replicas");
  const auto forced = Apply(Deployment(Spec(R"("replicas":3,)")), "bob", true);
  ASSERT_TRUE(forced);
  EXPECT_EQ(base::FindInt(*forced, {"spec", "replicas"}), 3);
  EXPECT_EQ(base::Find(*EntryOf(*forced, "alice"), {"fieldsV1", "f:spec", "f:replicas"}), nullptr);
}

TEST_F(ApplyTest, SharesFieldsThatAgree) {
  ASSERT_TRUE(Apply(Deployment(Spec(R"("replicas":2,)")), "alice"));
  const auto shared = Apply(Deployment(Spec(R"("replicas":2,)")), "bob");
  ASSERT_TRUE(shared) << shared.error().message();
  const auto dropped = Apply(Deployment(Spec("")), "alice");
  ASSERT_TRUE(dropped);
  EXPECT_EQ(base::FindInt(*dropped, {"spec", "replicas"}), 2) << "bob still wants it";
}

TEST_F(ApplyTest, RemovesWhatAManagerNoLongerApplies) {
  ASSERT_TRUE(Apply(Deployment(Spec(R"("replicas":2,"paused":true,)",
                                    R"({"name":"c","image":"x","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]})")),
                    "alice"));
  const auto less =
      Apply(Deployment(Spec(R"("replicas":2,)", R"({"name":"c","image":"x","env":[{"name":"B","value":"2"}]})")), "alice");
  ASSERT_TRUE(less) << less.error().message();
  EXPECT_EQ(base::Find(*less, {"spec", "paused"}), nullptr);
  const auto& env = base::FindArray(base::FindArray(*less, {"spec", "template", "spec", "containers"})[0], {"env"});
  ASSERT_EQ(env.size(), 1u);
  EXPECT_EQ(base::FindString(env[0], {"name"}), "B");
  EXPECT_EQ(base::FindInt(*less, {"metadata", "generation"}), 2);
}

TEST_F(ApplyTest, AddsItemsToListsThatOthersFilled) {
  ASSERT_TRUE(Apply(Deployment(Spec("")), "alice"));
  const auto both = Apply(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},
      "spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"s"}]}}}})",
                          "bob");
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_EQ(base::FindArray(*both, {"spec", "template", "spec", "containers"}).size(), 2u);
}

TEST_F(ApplyTest, CountsUpdatesOnceSomebodyApplied) {
  ASSERT_TRUE(Apply(Deployment(Spec(R"("replicas":2,)")), "alice"));
  ASSERT_TRUE(client->Patch(resources::Deployments(), "default", "web", client::PatchType::kMerge,
                            ParseOrFail(R"({"spec":{"replicas":5}})"), {.subresource = "scale", .field_manager = "kubectl"}));
  const auto refused = Apply(Deployment(Spec(R"("replicas":2,)")), "alice");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "Apply failed with 1 conflict: conflict with \"kubectl\" with subresource \"scale\" using apps/v1: .spec.replicas");
}

TEST_F(ApplyTest, GivesWhatWasThereBeforeAnOwner) {
  Create(Deployment(Spec(R"("replicas":2,)")));
  EXPECT_EQ(base::Find(client->Get(resources::Deployments(), "default", "web").value(), {"metadata", "managedFields"}),
            nullptr);
  const auto refused = Apply(Deployment(Spec(R"("replicas":4,)")), "alice");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using apps/v1: .spec.replicas");
  ASSERT_TRUE(Apply(Deployment(Spec(R"("replicas":4,)")), "alice", true));
}

TEST_F(ApplyTest, KnowsWhatClientSideApplyHadSet) {
  Json deployment = ParseOrFail(Deployment(Spec(R"("replicas":2,)")));
  const std::string last = base::ToText(deployment);
  base::Ensure(deployment, {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}) = last;
  base::Ensure(deployment, {"metadata", "annotations", "owner"}) = "somebody";
  ASSERT_TRUE(client->Create(resources::Deployments(), deployment));
  const auto refused = Apply(Deployment(Spec(R"("replicas":4,)")), "alice");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using apps/v1: .spec.replicas");
  const auto agreed = Apply(Deployment(Spec(R"("replicas":2,)")), "alice");
  ASSERT_TRUE(agreed) << agreed.error().message();
  const Json* client_side = EntryOf(*agreed, "kubectl-client-side-apply");
  ASSERT_NE(client_side, nullptr);
  EXPECT_EQ(base::Find(*client_side, {"fieldsV1", "f:metadata", "f:annotations", "f:owner"}), nullptr);
  const Json* rest = EntryOf(*agreed, "before-first-apply");
  ASSERT_NE(rest, nullptr);
  EXPECT_NE(base::Find(*rest, {"fieldsV1", "f:metadata", "f:annotations", "f:owner"}), nullptr);
}

TEST_F(ApplyTest, NeedsAManagerAndTakesYaml) {
  const std::string yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\ndata: {k: v}\n";
  EXPECT_EQ(Patch("/api/v1/namespaces/default/configmaps/c", "application/apply-patch+yaml", yaml).status, 422);
  const TestReply made =
      Patch("/api/v1/namespaces/default/configmaps/c?fieldManager=kubectl", "application/apply-patch+yaml", yaml);
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(base::FindString(made.json(), {"data", "k"}), "v");
}

std::string WithPorts(const std::string& ports) { return R"({"name":"c","image":"x","ports":[)" + ports + "]}"; }

TEST_F(ApplyTest, RefusesTwoEntriesOfOneKeyAndKeepsThoseThatAreThere) {
  const std::string ports = R"({"name":"plain","containerPort":80},{"name":"secure","containerPort":80})";
  const std::string text = Deployment(Spec("", WithPorts(ports)));
  const std::string path = "/apis/apps/v1/namespaces/default/deployments/web";
  const auto apply = [&](const std::string& body) {
    return Patch(path + "?fieldManager=a&force=true", "application/apply-patch+yaml", body);
  };
  const std::string refusal =
      "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): "
      R"(.spec.template.spec.containers[name="c"].ports: duplicate entries for key [containerPort=80,protocol="TCP"])";
  const TestReply fresh = apply(text);
  EXPECT_EQ(fresh.status, 500);
  EXPECT_EQ(fresh.message(), refusal);
  EXPECT_EQ(base::Find(fresh.json(), {"reason"}), nullptr) << fresh.body;
  EXPECT_EQ(Send("GET", path).status, 404);
  Create(text);
  EXPECT_EQ(apply(text).message(), refusal);
  const auto names = [&](const Json& object) {
    std::string found;
    const Json& container = base::FindArray(object, {"spec", "template", "spec", "containers"})[0];
    for (const Json& port : base::FindArray(container, {"ports"})) {
      found += std::string(base::FindString(port, {"name"})) + " ";
    }
    return found;
  };
  EXPECT_EQ(names(Send("GET", path).json()), "plain secure ");
  // What is applied beside them leaves both, and what names them replaces both.
  const TestReply beside = apply(Deployment(Spec("", WithPorts(R"({"name":"other","containerPort":81})"))));
  ASSERT_EQ(beside.status, 200) << beside.body;
  EXPECT_EQ(names(beside.json()), "plain secure other ");
  const TestReply instead = apply(Deployment(Spec("", WithPorts(R"({"name":"one","containerPort":80})"))));
  ASSERT_EQ(instead.status, 200) << instead.body;
  EXPECT_EQ(names(instead.json()), "one ");
}

TEST_F(ApplyTest, RefusesDuplicatesInEveryKeyedListAndSet) {
  const auto refused = Apply(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","finalizers":["a/b","a/b"]},"spec":{"template":{"spec":{
          "containers":[{"name":"c","env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]}]}}}})",
      "alice");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "failed to create typed patch object (/web; apps/v1, Kind=Deployment): errors:\n"
            "  .metadata.finalizers: duplicate entries for key [=\"a/b\"]\n"
            R"(  .spec.template.spec.containers[name="c"].env: duplicate entries for key [name="A"])");
}

TEST_F(ApplyTest, RefusesWhatIsNoTypedObject) {
  const auto refusal = [&](const std::string& body, const std::string& validation) {
    const TestReply reply =
        Patch("/apis/apps/v1/namespaces/default/deployments/web?fieldManager=a&fieldValidation=" + validation,
              "application/apply-patch+yaml", body);
    EXPECT_EQ(reply.status, 500) << reply.body;
    EXPECT_EQ(base::Find(reply.json(), {"reason"}), nullptr) << reply.body;
    return reply.message();
  };
  const std::string intro = "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): ";
  const std::string unknown = Deployment(R"({"foo":1,)" + Spec("", "").substr(1));
  for (const char* validation : {"Strict", "Warn", "Ignore"}) {
    EXPECT_EQ(refusal(unknown, validation), intro + ".spec.foo: field not declared in schema");
  }
  EXPECT_EQ(refusal(Deployment(R"({"replicas":"2","paused":"no","template":{"metadata":{"labels":{"a":1}},"spec":{
                "nodeName":{"a":"b"},"volumes":{"a":["b"]},"containers":[{"name":"c","resources":[1]}]}}})"),
                    "Strict"),
            intro +
                "errors:\n"
                "  .spec.replicas: expected numeric (int or float), got string\n"
                "  .spec.paused: expected boolean, got &{no}\n"
                "  .spec.template.metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}\n"
                "  .spec.template.spec.nodeName: expected string, got "
                "&value.valueUnstructured{Value:map[string]interface {}{\"a\":\"b\"}}\n"
                "  .spec.template.spec.volumes: expected list, got &{map[a:[b]]}\n"
                "  .spec.template.spec.containers[name=\"c\"].resources: expected map, got &{[1]}");
  EXPECT_EQ(refusal(Deployment(R"({"template":{"spec":{"containers":[{"image":"x"},{"name":"d","oops":1}]}}})"), "Strict"),
            intro +
                ".spec.template.spec.containers: element 0: associative list with keys has an element that omits key field "
                "\"name\" (and doesn't have default value)");
  const TestReply core =
      Patch("/api/v1/namespaces/default/configmaps/m?fieldManager=a", "application/apply-patch+yaml",
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"default","lables":{}},"datas":{}})");
  EXPECT_EQ(core.status, 500);
  EXPECT_EQ(core.message(),
            "failed to create typed patch object (default/m; /v1, Kind=ConfigMap): errors:\n"
            "  .metadata.lables: field not declared in schema\n"
            "  .datas: field not declared in schema");
  EXPECT_EQ(Send("GET", "/api/v1/namespaces/default/configmaps/m").status, 404);
}

TEST_F(ApplyTest, RefusesWhatIsNoTypedCustomObject) {
  Create(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"plums.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"plums","kind":"Plum"},"versions":[{"name":"v1","served":true,
     "storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
        "size":{"type":"integer"},"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"bare":{"type":"object"},
        "port":{"x-kubernetes-int-or-string":true}}}}}}}]}})");
  const auto apply = [&](const std::string& spec) {
    return Patch("/apis/example.com/v1/namespaces/default/plums/p?fieldManager=a", "application/apply-patch+yaml",
                 R"({"apiVersion":"example.com/v1","kind":"Plum","metadata":{"name":"p"},"spec":)" + spec + "}");
  };
  const TestReply refused = apply(R"({"size":"big","sort":"mirabelle"})");
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(refused.message(),
            "failed to create typed patch object (/p; example.com/v1, Kind=Plum): errors:\n"
            "  .spec.size: expected numeric (int or float), got string\n"
            "  .spec.sort: field not declared in schema");
  const TestReply made = apply(R"({"size":3,"open":{"a":1},"bare":{"b":2},"port":"http"})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(base::ToText(*base::Find(made.json(), {"spec"})), R"({"size":3,"open":{"a":1},"bare":{},"port":"http"})");
}

TEST_F(ApplyTest, NobodyAppliesTheStatusWithTheObjectNorTheReverse) {
  const std::string path = "/apis/apps/v1/namespaces/default/deployments/web";
  const std::string text = Deployment(Spec("", R"({"name":"c","image":"x"})"));
  const std::string whole = text.substr(0, text.size() - 1) + R"(,"status":{"replicas":5}})";
  const auto apply = [&](const std::string& where, const std::string& body, const std::string& manager) {
    return Patch(path + where + "?fieldManager=" + manager, "application/apply-patch+yaml", body);
  };
  const TestReply made = apply("", whole, "alice");
  ASSERT_EQ(made.status, 201) << made.body;
  const Json deployment = made.json();
  EXPECT_EQ(base::FindInt(deployment, {"status", "replicas"}), 0);
  EXPECT_EQ(base::Find(*EntryOf(deployment, "alice"), {"fieldsV1", "f:status"}), nullptr);
  EXPECT_EQ(Patch(path + "/status", "application/merge-patch+json", R"({"status":{"replicas":1}})").status, 200);
  EXPECT_EQ(apply("", whole, "alice").status, 200) << "no conflict with who keeps the status";
  const TestReply status = apply("/status", whole, "keeper&force=true");
  ASSERT_EQ(status.status, 200) << status.body;
  const Json kept = status.json();
  EXPECT_EQ(base::FindInt(kept, {"status", "replicas"}), 5);
  const Json* entry = EntryOf(kept, "keeper");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(base::Find(*entry, {"fieldsV1", "f:spec"}), nullptr) << base::ToText(*entry);
}

TEST(TypedConfigTest, TellsOfNoMoreThanAnybodyReads) {
  std::string body = R"({"data":"","x":1)";
  for (int i = 0; i < 100'000; ++i) body += ",\"unknown" + std::to_string(i) + "\":1";
  const kube::Schema* schema = kube::FindBuiltInSchema("io.k8s.api.core.v1.ConfigMap");
  const auto errors = TypedErrors(ParseOrFail(body + "}"), schema);
  EXPECT_GT(errors.size(), 100u);
  EXPECT_LT(JoinTypedErrors(errors).size(), 80'000u);
}

TEST(ManagedFieldsTest, FieldSetsSurviveTheirJsonForm) {
  const Json json = ParseOrFail(R"({"f:a":{".":{},"f:b":{}},"f:l":{"k:{\"name\":\"x\"}":{".":{},"f:image":{}},"v:1":{}}})");
  const FieldSet set = FieldSet::FromJson(json);
  EXPECT_TRUE(base::Equal(set.ToJson(), json)) << base::ToText(set.ToJson());
  EXPECT_EQ(set.Paths(), (std::vector<std::string>{".a", ".a.b", R"(.l[name="x"])", R"(.l[name="x"].image)", ".l[=1]"}));
  FieldSet rest = set;
  rest.Subtract(FieldSet::FromJson(ParseOrFail(R"({"f:a":{"f:b":{}}})")));
  EXPECT_EQ(rest.Paths().size(), 4u);
  EXPECT_TRUE(rest.Intersection(FieldSet::FromJson(ParseOrFail(R"({"f:a":{"f:b":{}}})"))).empty());
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::apply_test
