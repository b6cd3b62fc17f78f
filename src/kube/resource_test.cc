#include "kube/resource.h"

#include <gtest/gtest.h>

#include <set>

#include "kube/own_kinds.h"

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

TEST(ResourceTest, AKindOfSomebodyElsesIsMadeFromItsNames) {
  const Resource made = MakeResource("argoproj.io/v1alpha1", "AppProject", "appprojects", false, {"status"});
  EXPECT_EQ(made.Path("ignored", "a"), "/apis/argoproj.io/v1alpha1/appprojects/a");
  EXPECT_EQ(made.singular, "appproject");
  EXPECT_EQ(made.storage_group, "argoproj.io/appprojects");
  EXPECT_EQ(MakeResource("v1", "Binding", "bindings").storage_group, "bindings");
}

TEST(ResourceTest, OwnKindsAreWhatTheirDefinitionsSay) {
  const Resource& groups = OwnKind("nodegroups");
  EXPECT_EQ(groups.Path("", "a", "scale"), "/apis/evenkeel.dev/v1alpha1/nodegroups/a/scale");
  EXPECT_EQ(groups.subresources, (std::vector<std::string>{"status", "scale"}));
  EXPECT_EQ(groups.short_names, std::vector<std::string>{"ng"});
  EXPECT_EQ(groups.categories, std::vector<std::string>{"evenkeel"});
  EXPECT_EQ(OwnKind("zookeepers").Path("ns"), "/apis/evenkeel.dev/v1alpha1/namespaces/ns/zookeepers");
  EXPECT_TRUE(OwnKind("shardplans").subresources.empty());
  for (const char* plural : {"balancingpolicies", "balancingplans", "multiclusterzookeepers", "nodegroups", "shardplans",
                             "shardreplicas", "zookeepers"}) {
    EXPECT_EQ(base::FindString(OwnDefinition(plural), {"metadata", "name"}), OwnKind(plural).QualifiedPlural());
  }
}

TEST(ResourceTest, NamesThatAnApiHasAcceptedCount) {
  base::Json definition = OwnDefinition("nodegroups");
  const base::Json version = base::FindArray(definition, {"spec", "versions"})[0];
  base::Ensure(definition, {"status", "acceptedNames"}) = base::JsonObject{{"kind", "Pool"}, {"plural", "pools"}};
  EXPECT_EQ(ResourceOf(definition, version).Path(), "/apis/evenkeel.dev/v1alpha1/pools");
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
