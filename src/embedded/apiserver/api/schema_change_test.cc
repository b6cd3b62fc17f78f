// What becomes of a CRD's objects when its schema changes: none is stuck, and all are read as the new schema has them.
#include "embedded/apiserver/api/api_testing.h"
#include "embedded/apiserver/tables/table.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver::schema_change_test {
namespace {

using base::Json;

constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kPlums = "/apis/example.com/v1/namespaces/default/plums";

std::string Version(std::string_view name, bool storage, std::string_view spec) {
  return fmt::format(R"({{"name":"{}","served":true,"storage":{},"schema":{{"openAPIV3Schema":{{"type":"object",
      "properties":{{"spec":{}}}}}}}}})",
                     name, storage, spec);
}

std::string Definition(std::string_view versions) {
  return fmt::format(R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{{"name":"plums.example.com"}},"spec":{{"group":"example.com","scope":"Namespaced",
      "names":{{"plural":"plums","kind":"Plum"}},"versions":[{}]}}}})",
                     versions);
}

class SchemaChangeTest : public ApiFixture {
 protected:
  TestReply Define(const std::string& versions) {
    const std::string name = std::string(kDefinitions) + "/plums.example.com";
    return defined_++ == 0 ? Send("POST", std::string(kDefinitions), Definition(versions))
                           : Patch(name, "application/merge-patch+json", Definition(versions));
  }
  TestReply DefineSpec(std::string_view spec) { return Define(Version("v1", true, spec)); }
  TestReply CreatePlum(std::string_view name, std::string_view spec, std::string_view metadata = "") {
    return Send("POST", std::string(kPlums),
                fmt::format(R"({{"apiVersion":"example.com/v1","kind":"Plum","metadata":{{"name":"{}"{}}},"spec":{}}})", name,
                            metadata, spec));
  }
  TestReply PatchPlum(const std::string& name, const std::string& patch) {
    return Patch(std::string(kPlums) + "/" + name, "application/merge-patch+json", patch);
  }
  std::string SpecOf(const std::string& name, const std::string& version = "v1") {
    const Json plum = Send("GET", "/apis/example.com/" + version + "/namespaces/default/plums/" + name).json();
    return base::CanonicalText(*base::Find(plum, {"spec"}));
  }
  std::string ListedSpec() {
    const Json list = Send("GET", std::string(kPlums)).json();
    return base::CanonicalText(*base::Find(base::FindArray(list, {"items"}).at(0), {"spec"}));
  }

 private:
  int defined_ = 0;
};

TEST_F(SchemaChangeTest, WhatWasInvalidBeforeAndDidNotChangeIsLetPass) {
  ASSERT_EQ(DefineSpec(R"({"type":"object","properties":{"name":{"type":"string"},"other":{"type":"string"},
      "list":{"type":"array","items":{"type":"string"}},"map":{"type":"object","additionalProperties":{"type":"string"}},
      "byKey":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
               "items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"}}}}}})")
                .status,
            201);
  ASSERT_EQ(CreatePlum("old",
                       R"({"name":"longname","list":["longname","b"],"map":{"a":"longname"},
                           "byKey":[{"k":"1","v":"longname"},{"k":"2","v":"b"}]})",
                       R"(,"finalizers":["example.com/hold"])")
                .status,
            201);
  const std::string text = R"({"type":"string","maxLength":3})";
  ASSERT_EQ(DefineSpec(R"({"type":"object","properties":{"name":)" + text + R"(,"other":{"type":"string"},
      "list":{"type":"array","items":)" +
                       text + R"(},"map":{"type":"object","additionalProperties":)" + text + R"(},
      "byKey":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
               "items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":)" +
                       text + "}}}}}")
                .status,
            200);
  EXPECT_EQ(PatchPlum("old", R"({"spec":{"other":"x"}})").status, 200);
  EXPECT_EQ(PatchPlum("old", R"({"spec":{"map":{"b":"y"}}})").status, 200) << "by the keys of maps";
  EXPECT_EQ(PatchPlum("old", R"({"spec":{"byKey":[{"k":"2","v":"c"},{"k":"1","v":"longname"}]}})").status, 200)
      << "by the keys of items";
  EXPECT_EQ(PatchPlum("old", R"({"spec":{"name":"othername"}})").status, 422) << "what changes must be right";
  EXPECT_EQ(PatchPlum("old", R"({"spec":{"list":["longname","c"]}})").status, 422) << "an atomic list changes as a whole";
  EXPECT_EQ(PatchPlum("old", R"({"spec":{"byKey":[{"k":"3","v":"longname"}]}})").status, 422);
  EXPECT_EQ(CreatePlum("new", R"({"name":"longname"})").status, 422);
  ASSERT_EQ(Send("DELETE", std::string(kPlums) + "/old").status, 200);
  EXPECT_EQ(PatchPlum("old", R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(Send("GET", std::string(kPlums) + "/old").status, 404);
}

TEST_F(SchemaChangeTest, ListsThatHadDuplicatesMayKeepThem) {
  const std::string items = R"("items":{"type":"string"})";
  ASSERT_EQ(DefineSpec(R"({"type":"object","properties":{"a":{"type":"string"},"set":{"type":"array",)" + items + "}}}").status,
            201);
  ASSERT_EQ(CreatePlum("p", R"({"set":["x","x"]})").status, 201);
  ASSERT_EQ(
      DefineSpec(
          R"({"type":"object","properties":{"a":{"type":"string"},"set":{"type":"array","x-kubernetes-list-type":"set",)" +
          items + "}}}")
          .status,
      200);
  EXPECT_EQ(PatchPlum("p", R"({"spec":{"a":"1"}})").status, 200);
  EXPECT_EQ(CreatePlum("q", R"({"set":["x","x"]})").status, 422);
}

TEST_F(SchemaChangeTest, DefaultsAndPruningApplyWhereAStoredObjectIsRead) {
  ASSERT_EQ(DefineSpec(R"({"type":"object","properties":{"a":{"type":"string"},"gone":{"type":"string"}}})").status, 201);
  ASSERT_EQ(CreatePlum("k", R"({"a":"plum","gone":"pear"})").status, 201);
  ASSERT_EQ(
      DefineSpec(R"({"type":"object","properties":{"a":{"type":"string"},"size":{"type":"integer","default":7}}})").status,
      200);
  const std::string now = R"({"a":"plum","size":7})";
  EXPECT_EQ(SpecOf("k"), now);
  EXPECT_EQ(ListedSpec(), now);
  EXPECT_EQ(ListedSpec(), now) << "also after it was found out which rows differ";
  const kube::Resource plums = api.resources().Find("example.com", "v1", "plums")->resource;
  EXPECT_EQ(base::FindInt(client->Get(plums, "default", "k").value(), {"spec", "size"}), 7);
  std::vector<std::string> seen;
  const ServedPointer served = api.resources().Find("example.com", "v1", "plums");
  const Call call{.served = served, .ns = "default", .name = "", .subresource = "", .user = {}, .field_manager = ""};
  const auto watch = api.Watch(call, {.label_selector = "", .field_selector = "", .resource_version = ""},
                               [&](EventType, const std::shared_ptr<SharedEvent>& event, store::Revision, const base::Error*) {
                                 if (event == nullptr) return;
                                 const auto object = ParseOrFail(ObjectText(*served, event->object()));
                                 seen.push_back(base::CanonicalText(*base::Find(object, {"spec"})));
                               });
  ASSERT_EQ(Send("DELETE", std::string(kPlums) + "/k").status, 200);
  EXPECT_EQ(seen, (std::vector<std::string>{now, now})) << "as it is, and as it was last";
}

TEST_F(SchemaChangeTest, AWriteThatChangesNothingRenewsTheRow) {
  ASSERT_EQ(DefineSpec(R"({"type":"object","properties":{"a":{"type":"string"}}})").status, 201);
  const Json created = CreatePlum("k", R"({"a":"plum"})").json();
  ASSERT_EQ(DefineSpec(R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","default":"x"}}})").status,
            200);
  const Json written = PatchPlum("k", "{}").json();
  EXPECT_NE(kube::ResourceVersionOf(written), kube::ResourceVersionOf(created));
  EXPECT_EQ(kube::ResourceVersionOf(PatchPlum("k", "{}").json()), kube::ResourceVersionOf(written));
}

TEST_F(SchemaChangeTest, EveryVersionShowsItsOwnFields) {
  const std::string old_spec = R"({"type":"object","properties":{"a":{"type":"string"}}})";
  const std::string spec = R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","default":"x"}}})";
  ASSERT_EQ(Define(Version("v1beta1", false, old_spec) + "," + Version("v1", true, spec)).status, 201);
  const TestReply reply =
      Send("POST", "/apis/example.com/v1beta1/namespaces/default/plums",
           R"({"apiVersion":"example.com/v1beta1","kind":"Plum","metadata":{"name":"k"},"spec":{"a":"1","b":"2"}})");
  ASSERT_EQ(reply.status, 201) << reply.body;
  EXPECT_EQ(SpecOf("k", "v1beta1"), R"({"a":"1"})");
  EXPECT_EQ(SpecOf("k"), R"({"a":"1","b":"x"})");
}

TEST_F(SchemaChangeTest, KindsWhoseSchemaStaysAreCopied) {
  ASSERT_EQ(DefineSpec(R"({"type":"object","properties":{"a":{"type":"string"}}})").status, 201);
  ASSERT_EQ(CreatePlum("k", R"({"a":"plum"})").status, 201);
  const ServedPointer before = api.resources().Find("example.com", "v1", "plums");
  const uint64_t generation = api.resources().generation();
  ASSERT_EQ(Patch(std::string(kDefinitions) + "/plums.example.com", "application/merge-patch+json",
                  R"({"metadata":{"labels":{"a":"b"}}})")
                .status,
            200);
  EXPECT_EQ(api.resources().Find("example.com", "v1", "plums"), before) << "labels of a definition say nothing of its kind";
  EXPECT_EQ(api.resources().generation(), generation);
  const Call call{.served = before, .ns = "default", .name = "k", .subresource = "", .user = {}, .field_manager = ""};
  EXPECT_FALSE(HasOtherForm(*before, api.Get(call).value()));
  // Another server does not know when the schema came to be, until it has read all of them once.
  ASSERT_EQ(Patch(std::string(kDefinitions) + "/plums.example.com", "application/merge-patch+json",
                  R"({"metadata":{"labels":{"a":"c"}}})")
                .status,
            200);
  Api second({.name = "second", .store = store.get(), .clock = &executor.clock(), .random = base::Random(8), .logs = nullptr});
  ASSERT_TRUE(second.Start());
  const ServedPointer served = second.resources().Find("example.com", "v1", "plums");
  EXPECT_TRUE(HasOtherForm(*served, api.Get(call).value()));
  const Call all{.served = served, .ns = "", .name = "", .subresource = "", .user = {}, .field_manager = ""};
  ASSERT_TRUE(second.List(all, {}));
  EXPECT_FALSE(HasOtherForm(*served, api.Get(call).value()));
}

TEST_F(SchemaChangeTest, AVersionThatIsStoredStays) {
  const std::string spec = R"({"type":"object","properties":{"a":{"type":"string"}}})";
  ASSERT_EQ(Define(Version("v1alpha1", true, spec)).status, 201);
  ASSERT_EQ(Define(Version("v1alpha1", false, spec) + "," + Version("v1", true, spec)).status, 200);
  const TestReply dropped = Define(Version("v1", true, spec));
  EXPECT_EQ(dropped.status, 422);
  EXPECT_NE(dropped.message().find("status.storedVersions[0]: Invalid value: \"v1alpha1\": missing from spec.versions"),
            std::string::npos)
      << dropped.message();
  const std::string status = std::string(kDefinitions) + "/plums.example.com/status";
  const auto store_versions = [&](const std::string& versions) {
    return Patch(status, "application/merge-patch+json", R"({"status":{"storedVersions":)" + versions + "}}").status;
  };
  EXPECT_EQ(store_versions(R"(["v9"])"), 422);
  EXPECT_EQ(store_versions("[]"), 422);
  EXPECT_EQ(store_versions(R"(["v1alpha1"])"), 422) << "the storage version is one of them";
  EXPECT_EQ(store_versions(R"(["v1"])"), 200);
  EXPECT_EQ(Define(Version("v1", true, spec)).status, 200) << "after the migration";
}

TEST_F(SchemaChangeTest, SelectableFieldsAreThoseThatAreRead) {
  const auto version = [](std::string_view spec) {
    std::string text = Version("v1", true, spec);
    text.insert(text.size() - 1, R"(,"selectableFields":[{"jsonPath":".spec.color"}])");
    return text;
  };
  ASSERT_EQ(Define(version(R"({"type":"object","properties":{"color":{"type":"string"}}})")).status, 201);
  ASSERT_EQ(CreatePlum("old", "{}").status, 201);
  ASSERT_EQ(CreatePlum("blue", R"({"color":"blue"})").status, 201);
  ASSERT_EQ(Define(version(R"({"type":"object","properties":{"color":{"type":"string","default":"red"}}})")).status, 200);
  ASSERT_EQ(CreatePlum("new", "{}").status, 201);
  const auto names = [this](const std::string& color) {
    std::string found;
    const Json list = Send("GET", std::string(kPlums) + "?fieldSelector=spec.color%3D" + color).json();
    for (const Json& item : base::FindArray(list, {"items"})) found += std::string(kube::NameOf(item)) + " ";
    return found;
  };
  EXPECT_EQ(names("red"), "new old ");
  EXPECT_EQ(names("blue"), "blue ");
  EXPECT_EQ(names(""), "");
  const TestReply watch = Send("GET", std::string(kPlums) + "?watch=true&resourceVersion=0&fieldSelector=spec.color%3Dred");
  watch.stream->TakeEvents();
  ASSERT_EQ(PatchPlum("old", R"({"spec":{"color":"blue"}})").status, 200);
  const std::vector<Json> events = watch.stream->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(base::FindString(events[0], {"type"}), "DELETED") << "it has left the selection, to which it belonged by default";
}

TEST_F(SchemaChangeTest, WatchesEndWithTheirKind) {
  const std::string spec = R"({"type":"object","properties":{"a":{"type":"string"}}})";
  ASSERT_EQ(Define(Version("v1", true, spec) + "," + Version("v2", false, spec)).status, 201);
  const TestReply v1 = Send("GET", std::string(kPlums) + "?watch=true");
  const TestReply v2 = Send("GET", "/apis/example.com/v2/namespaces/default/plums?watch=true");
  const TestReply pods = Send("GET", "/api/v1/pods?watch=true");
  executor.RunFor(std::chrono::seconds(3));
  EXPECT_FALSE(v1.stream->closed || v2.stream->closed);
  ASSERT_EQ(Define(Version("v1", true, spec)).status, 200);
  executor.RunFor(std::chrono::seconds(3));
  EXPECT_TRUE(v2.stream->closed) << "its version is gone";
  EXPECT_TRUE(v1.stream->closed) << "the definition says something else: whoever watches lists again";
  EXPECT_FALSE(pods.stream->closed);
  const TestReply again = Send("GET", std::string(kPlums) + "?watch=true");
  executor.RunFor(std::chrono::seconds(3));
  EXPECT_FALSE(again.stream->closed);
  ASSERT_EQ(Send("DELETE", std::string(kDefinitions) + "/plums.example.com").status, 200);
  executor.RunFor(std::chrono::seconds(3));
  EXPECT_TRUE(again.stream->closed);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::schema_change_test
