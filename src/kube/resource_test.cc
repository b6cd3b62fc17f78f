#include "kube/resource.h"

#include <gtest/gtest.h>

#include <set>

namespace evenkeel::kube::resource_test {
namespace {

TEST(ResourceTest, PathsNameNamespaceObjectAndSubresourceEscaped) {
  EXPECT_EQ(resources::Pods().Path(), "/api/v1/pods");
  EXPECT_EQ(resources::Pods().Path("ns"), "/api/v1/namespaces/ns/pods");
  EXPECT_EQ(resources::Pods().Path("ns", "web-0", "log"), "/api/v1/namespaces/ns/pods/web-0/log");
  EXPECT_EQ(resources::Deployments().Path("a", "b/c ?"), "/apis/apps/v1/namespaces/a/deployments/b%2Fc%20%3F");
  EXPECT_EQ(resources::Nodes().Path("ignored", "n1"), "/api/v1/nodes/n1");
  EXPECT_EQ(FindBuiltIn("rbac.authorization.k8s.io", "v1", "clusterroles")->Path("", "system:admin"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:admin");
}

TEST(ResourceTest, BuiltInKindsAreFoundBothWays) {
  EXPECT_EQ(FindBuiltInKind("apps/v1", "Deployment"), &resources::Deployments());
  EXPECT_EQ(FindBuiltIn("", "v1", "pods"), &resources::Pods());
  EXPECT_EQ(FindBuiltIn("apps", "v1beta1", "deployments"), nullptr);
  EXPECT_EQ(FindBuiltInKind("v1", "Deployment"), nullptr);
  EXPECT_EQ(resources::Deployments().QualifiedPlural(), "deployments.apps");
  EXPECT_EQ(resources::Pods().short_names, std::vector<std::string>{"po"});
  EXPECT_FALSE(resources::Nodes().namespaced);
}

TEST(ResourceTest, VersionsOfOneThingShareItsStorage) {
  EXPECT_EQ(FindBuiltIn("policy", "v1beta1", "poddisruptionbudgets")->storage_group,
            resources::PodDisruptionBudgets().storage_group);
  EXPECT_EQ(FindBuiltIn("events.k8s.io", "v1", "events")->storage_group, resources::Events().storage_group);
}

TEST(ResourceTest, EveryBuiltInIsUniqueAndHasAShape) {
  std::set<std::string> seen;
  for (const Resource& resource : BuiltInResources()) {
    EXPECT_TRUE(seen.insert(resource.Path()).second) << resource.Path();
    EXPECT_NE(resource.schema, nullptr) << resource.kind;
    EXPECT_FALSE(resource.singular.empty());
  }
  EXPECT_EQ(BuiltInResources().front().plural, "namespaces");
  EXPECT_GE(seen.size(), 36u);
}

TEST(ResourceTest, ApiVersionsAreSplit) {
  std::string group = "x", version;
  SplitApiVersion("v1", group, version);
  EXPECT_EQ(group, "");
  EXPECT_EQ(version, "v1");
  SplitApiVersion("apps/v1", group, version);
  EXPECT_EQ(group, "apps");
  EXPECT_EQ(version, "v1");
}

}  // namespace
}  // namespace evenkeel::kube::resource_test
