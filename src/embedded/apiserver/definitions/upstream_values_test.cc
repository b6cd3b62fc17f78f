// What public manifests met: each has the value that Kubernetes gives it.
#include <ctime>

#include "base/input/file.h"
#include "base/input/yaml.h"
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::upstream_values_test {
namespace {

using base::Json;

class UpstreamValuesTest : public ApiFixture {
 protected:
  /// A cluster-wide kind with these properties of its spec.
  void Define(const std::string& plural, const std::string& kind, const std::string& properties) {
    const TestReply reply =
        Send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
             R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":")" + plural +
                 R"(.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":")" + plural +
                 R"(","kind":")" + kind +
                 R"("},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
        {"type":"object","properties":{"spec":{"type":"object","properties":)" +
                 properties + "}}}}}]}}");
    ASSERT_EQ(reply.status, 201) << reply.body;
  }
  TestReply Make(const std::string& plural, const std::string& kind, const std::string& name, const std::string& spec) {
    return Send("POST", "/apis/example.com/v1/" + plural,
                R"({"apiVersion":"example.com/v1","kind":")" + kind + R"(","metadata":{"name":")" + name + R"("},"spec":)" +
                    spec + "}");
  }
};

TEST_F(UpstreamValuesTest, PatternsAreThoseOfGo) {
  Define("apples", "Apple",
         R"({"host":{"type":"string","pattern":"^[0-9a-z-.]+$"},"word":{"type":"string","pattern":"^[\\w-.]+$"},
      "three":{"type":"string","pattern":"^.{3}$"},"letters":{"type":"string","pattern":"^\\pL+$"},
      "line":{"type":"string","pattern":"^.*$"}})");
  EXPECT_EQ(Make("apples", "Apple", "a", R"({"host":"a-1.b","word":"a_-","three":"äöü","letters":"straße","line":"x"})").status,
            201);
  const TestReply two_lines = Make("apples", "Apple", "b", R"({"line":"a\nb"})");
  EXPECT_EQ(two_lines.status, 422);
  EXPECT_NE(two_lines.message().find("spec.line in body should match '^.*$'"), std::string::npos) << two_lines.message();
}

TEST_F(UpstreamValuesTest, NoTextTakesLong) {
  Define("berries", "Berry", R"({"list":{"type":"array","items":{"type":"string","pattern":"(x+x+)+y"}}})");
  std::string list;
  for (int i = 0; i < 10; ++i) list += (i == 0 ? "\"" : ",\"") + std::string(30'000, 'x') + "\"";
  const std::clock_t begun = std::clock();
  EXPECT_EQ(Make("berries", "Berry", "a", R"({"list":[)" + list + "]}").status, 422);
  // Of processor time a hundredth of a second without sanitizers, ten of them where matching is not linear.
  EXPECT_LT(std::clock() - begun, 2 * CLOCKS_PER_SEC);
}

TEST_F(UpstreamValuesTest, TimesOfAllYearsStay) {
  Define("grapes", "Grape", R"({"at":{"type":"string","format":"date-time"}})");
  const TestReply grape = Make("grapes", "Grape", "a", R"({"at":"9999-12-31T23:59:59Z"})");
  EXPECT_EQ(grape.status, 201);
  EXPECT_EQ(base::FindString(grape.json(), {"spec", "at"}), "9999-12-31T23:59:59Z");
  const Json lease =
      Create(R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"never","namespace":"default"},
      "spec":{"renewTime":"9999-12-31T23:59:59.000000Z"}})");
  EXPECT_EQ(base::FindString(lease, {"spec", "renewTime"}), "9999-12-31T23:59:59.000000Z");
  const Json event = Create(R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"zero","namespace":"default"},
      "involvedObject":{"kind":"Pod","namespace":"default","name":"fig"},"type":"Normal","reason":"Test",
      "firstTimestamp":"0001-01-01T00:00:00Z","lastTimestamp":"0001-01-01T00:00:00Z"})");
  EXPECT_EQ(base::FindString(event, {"firstTimestamp"}), "0001-01-01T00:00:00Z");
}

TEST_F(UpstreamValuesTest, NullInAMapOfTextsIsAnEmptyText) {
  const Json map = Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hazel","namespace":"default",
      "labels":{"tier":null},"annotations":{"note":null}},"data":{"empty":null,"full":"x"}})");
  EXPECT_EQ(base::CanonicalText(*base::Find(map, {"data"})), R"({"empty":"","full":"x"})");
  EXPECT_EQ(base::CanonicalText(*base::Find(map, {"metadata", "labels"})), R"({"tier":""})");
  EXPECT_EQ(base::CanonicalText(*base::Find(map, {"metadata", "annotations"})), R"({"note":""})");
  const Json service = Create(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},
      "spec":{"selector":{"a":null},"ports":[{"port":80}]}})");
  EXPECT_EQ(base::CanonicalText(*base::Find(service, {"spec", "selector"})), R"({"a":""})");
}

TEST_F(UpstreamValuesTest, WhatTypedObjectsMeantBeforeARuleStays) {
  Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"old","namespace":"default"},"data":{"a":"b"}})");
  const ServedPointer maps = api.resources().Find("", "v1", "configmaps");
  // As an earlier program may have stored it.
  const std::string key = maps->Key("default", "old");
  const auto bytes = std::make_shared<const std::string>(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"old","namespace":"default","uid":"u","finalizers":["x/y"]},"data":{"not a key":"b"}})");
  ASSERT_TRUE(store->CommitAndWait({.key = key, .value = bytes}));
  const std::string path = "/api/v1/namespaces/default/configmaps/old";
  EXPECT_EQ(Patch(path, "application/merge-patch+json", R"({"data":{"c":"d"}})").status, 200);
  EXPECT_EQ(Patch(path, "application/merge-patch+json", R"({"data":{"not one":"d"}})").status, 422);
  EXPECT_EQ(Patch(path, "application/merge-patch+json", R"({"metadata":{"finalizers":null}})").status, 200);
}

/// The same manifests as they are given, where they are at hand.
class SharedManifestsTest : public UpstreamValuesTest {
 protected:
  static constexpr const char* kFolder = "../shared/cases/api/manifests/";
  void SetUp() override {
    if (!base::ReadFile(std::string(kFolder) + "README.md", 1 << 20)) GTEST_SKIP() << kFolder << " is not here";
  }
  /// Creates, or patches what is there; the statuses.
  std::vector<int> Apply(const std::string& file) {
    std::vector<int> statuses;
    const auto text = base::ReadFile(kFolder + file, 1 << 20);
    EXPECT_TRUE(text) << file;
    const auto documents = base::ParseYaml(*text, file);
    EXPECT_TRUE(documents) << file;
    for (const auto& document : *documents) {
      const Json& object = document.value;
      const ServedPointer served =
          api.resources().FindKind(base::FindString(object, {"apiVersion"}), base::FindString(object, {"kind"}));
      EXPECT_NE(served, nullptr) << file;
      if (served == nullptr) continue;
      const std::string path = PathOf(*served);
      last = Send("POST", path, base::ToText(object));
      if (last.status == 409) {
        last = Patch(path + "/" + std::string(base::FindString(object, {"metadata", "name"})), "application/merge-patch+json",
                     base::ToText(object));
      }
      statuses.push_back(last.status);
    }
    return statuses;
  }
  static std::string PathOf(const Served& served) {
    const kube::Resource& resource = served.resource;
    return (resource.group.empty() ? "/api/v1" : "/apis/" + resource.group + "/" + resource.version) +
           (resource.namespaced ? "/namespaces/default/" : "/") + resource.plural;
  }
  TestReply last;
};

using Statuses = std::vector<int>;

TEST_F(SharedManifestsTest, HaveTheirValues) {
  EXPECT_EQ(Apply("01-dash-in-class.yaml"), Statuses{201});
  EXPECT_EQ(Apply("03-letters-1.yaml"), Statuses{201});
  EXPECT_EQ(Apply("03-letters-2-good.yaml"), Statuses{201}) << last.body;
  EXPECT_EQ(Apply("03-letters-3-bad.yaml"), Statuses{422});
  EXPECT_EQ(Apply("04-stored-version.yaml"), (Statuses{201, 200, 422}));
  EXPECT_NE(last.message().find("status.storedVersions[0]: Invalid value: \"v1alpha1\": missing from spec.versions"),
            std::string::npos);
  EXPECT_EQ(Apply("05-tightened-1.yaml"), Statuses{201});
  EXPECT_EQ(Apply("05-tightened-2.yaml"), Statuses{201});
  EXPECT_EQ(Apply("05-tightened-3.yaml"), Statuses{200});
  const std::string old = "/apis/shop.example.org/v1/namespaces/default/elders/old";
  EXPECT_EQ(Patch(old, "application/merge-patch+json", R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(Patch(old, "application/merge-patch+json", R"({"spec":{"other":"x"}})").status, 200);
  EXPECT_EQ(Apply("07-far-times.yaml"), (Statuses{201, 201})) << last.body;
  EXPECT_EQ(Apply("07-far-times-crd.yaml"), Statuses{201});
  EXPECT_EQ(Apply("07-far-times-object.yaml"), Statuses{201});
  EXPECT_EQ(Apply("08-null-values.yaml"), Statuses{201}) << last.body;
  EXPECT_EQ(Apply("09-later-1.yaml"), Statuses{201});
  EXPECT_EQ(Apply("09-later-2.yaml"), Statuses{201});
  EXPECT_EQ(Apply("09-later-3.yaml"), Statuses{200});
  const Json kiwi = Send("GET", "/apis/shop.example.org/v1/namespaces/default/kiwis/k").json();
  EXPECT_EQ(base::CanonicalText(*base::Find(kiwi, {"spec"})), R"({"a":"plum","size":7})");
  EXPECT_EQ(Apply("11-webhooks-by-service.yaml").back(), 201) << last.body;
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::upstream_values_test
