// Objects that are nested as deep as can be, and what lies in a store and is no object.
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::unreadable_test {
namespace {

namespace resources = kube::resources;

constexpr std::string_view kDefinition = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "ds.t.io"},
  "spec": {"group": "t.io", "scope": "Namespaced", "names": {"plural": "ds", "singular": "d", "kind": "D"},
           "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {},
                         "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})";

class UnreadableTest : public ApiFixture {
 protected:
  /// A custom object whose spec has so many levels.
  static std::string Deep(const std::string& name, size_t levels) {
    std::string text =
        R"({"apiVersion":"t.io/v1","kind":"D","metadata":{"name":")" + name + R"(","namespace":"default"},"spec":)";
    for (size_t i = 0; i < levels; ++i) text += R"({"a":)";
    return text + "1" + std::string(levels, '}') + "}";
  }
  void Define() {
    ASSERT_EQ(Send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", std::string(kDefinition)).status, 201);
  }
  const std::string objects_ = "/apis/t.io/v1/namespaces/default/ds";
};

TEST_F(UnreadableTest, DeepObjectsAreStoredAndReadAgainOrRefused) {
  Define();
  const std::map<std::string, std::string> apply{{"content-type", "application/apply-patch+yaml"}};
  // What server-side apply notes of its fields is deeper than the object.
  EXPECT_EQ(Send("PATCH", objects_ + "/applied?fieldManager=me", Deep("applied", 98), apply).status, 201);
  EXPECT_EQ(Send("PATCH", objects_ + "/applied?fieldManager=me", Deep("applied", 97), apply).status, 200);
  EXPECT_EQ(Send("POST", objects_, Deep("created", 900)).status, 201);
  EXPECT_EQ(Send("POST", objects_, Deep("too-deep", 1'100)).status, 400);
  const int applied_deep = Send("PATCH", objects_ + "/deep?fieldManager=me", Deep("deep", 997), apply).status;
  EXPECT_EQ(applied_deep, 422) << "its fields would be deeper than what can be read";
  EXPECT_EQ(Send("GET", objects_ + "/deep").status, 404);
  // Each adds its own levels below the last.
  std::string path = "/spec";
  for (int i = 0; i < 900; ++i) path += "/a";
  const std::string patch = R"([{"op":"copy","from":"/spec/a","path":")" + path + R"("}])";
  EXPECT_EQ(Send("PATCH", objects_ + "/created", patch, {{"content-type", "application/json-patch+json"}}).status, 422);
  EXPECT_EQ(Send("GET", objects_).status, 200);
  EXPECT_EQ(Send("DELETE", objects_ + "/applied").status, 200);
  EXPECT_EQ(Send("DELETE", objects_ + "/created").status, 200);
}

TEST_F(UnreadableTest, WhatIsNoObjectIsSetAsideAndCanBeDeleted) {
  const ServedPointer maps = api.resources().Find("", "v1", "configmaps");
  const std::vector<std::pair<std::string, std::string>> stored{
      {"empty", ""},
      {"bytes", "\x01\x02"},
      {"cut", R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"cut","name)"},
      {"number", "5"}};
  for (const auto& [name, bytes] : stored) {
    ASSERT_TRUE(store->CommitAndWait({.key = maps->Key("default", name), .value = std::make_shared<const std::string>(bytes)}));
  }
  ASSERT_EQ(Send("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"good"}})").status, 201);
  const int64_t before = UnreadableObjects();
  const auto list = client->List(resources::ConfigMaps(), {.ns = "default"});
  ASSERT_TRUE(list);
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_EQ(kube::NameOf(list->items[0]), "good");
  EXPECT_EQ(UnreadableObjects() - before, 4);
  EXPECT_NE(Send("GET", "/metrics").body.find("evenkeel_store_unreadable_reads " + std::to_string(before + 4)),
            std::string::npos);
  for (const auto& [name, bytes] : stored) {
    const std::string map = "/api/v1/namespaces/default/configmaps/" + name;
    const auto read = client->Get(resources::ConfigMaps(), "default", name);
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().code(), base::Code::kInternal);
    EXPECT_EQ(Send("PATCH", map, R"({"data":{"a":"b"}})", {{"content-type", "application/merge-patch+json"}}).status, 500)
        << name;
    EXPECT_EQ(Send("DELETE", map).status, 200) << name;
    EXPECT_EQ(Send("GET", map).status, 404) << name;
  }
}

TEST_F(UnreadableTest, AServerStartsWithDefinitionsAndWebhooksThatCannotBeRead) {
  for (const auto& [group, plural] : {std::pair("apiextensions.k8s.io", "customresourcedefinitions"),
                                      std::pair("admissionregistration.k8s.io", "validatingwebhookconfigurations")}) {
    const ServedPointer served = api.resources().Find(group, "v1", plural);
    ASSERT_TRUE(store->CommitAndWait({.key = served->Key("", "broken"), .value = std::make_shared<const std::string>("{")}));
  }
  Api second({.name = "second", .store = store.get(), .clock = &executor.clock(), .random = base::Random(8), .logs = nullptr});
  EXPECT_TRUE(second.Start());
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::unreadable_test
