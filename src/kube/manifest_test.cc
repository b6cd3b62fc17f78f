#include "kube/manifest.h"

#include <gtest/gtest.h>

#include "kube/object.h"

namespace evenkeel::kube::manifest_test {
namespace {

TEST(ManifestTest, ReadsDocumentsAndLists) {
  auto objects = ParseManifests(R"(apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: n}}
---
{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "c"}}]}
)",
                                "f.yaml");
  ASSERT_TRUE(objects) << objects.error().message();
  ASSERT_EQ(objects->size(), 3u);
  EXPECT_EQ(NameOf((*objects)[0].object), "a");
  EXPECT_EQ(KeyOf((*objects)[1].object), "n/b");
  EXPECT_EQ(base::FindString((*objects)[2].object, {"kind"}), "Pod");
  EXPECT_EQ(base::FindString((*objects)[2].object, {"apiVersion"}), "v1");
}

TEST(ManifestTest, NamesTheLineOfWhatIsNoObject) {
  auto missing = ParseManifests("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\nkind: Pod\n", "f.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(), "f.yaml:5: apiVersion or kind is missing");
  EXPECT_EQ(missing.error().code(), base::Code::kBadRequest);
  EXPECT_FALSE(ParseManifests("- a\n", "f.yaml"));
  EXPECT_FALSE(ParseManifests("apiVersion: v1\nkind: Pod\n", "f.yaml"));
  EXPECT_FALSE(ParseManifests("apiVersion: v1\nkind: PodList\nitems: 3\n", "f.yaml"));
}

}  // namespace
}  // namespace evenkeel::kube::manifest_test
