#include "kube/karmada.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::karmada::karmada_test {
namespace {

// Numbers as in Karmada's own tests of its names; those with a "d" follow from its rule.
TEST(KarmadaNamesTest, N01AndN02OfBindings) {
  EXPECT_EQ(BindingName("Role", "system:controller:tom"), "system.controller.tom-role") << "N01";
  EXPECT_EQ(BindingName("ZooKeeper", "zk"), "zk-zookeeper") << "N02";
}

TEST(KarmadaNamesTest, N03OfExecutionNamespaces) {
  EXPECT_EQ(ExecutionNamespace("member-cluster-normal"), "karmada-es-member-cluster-normal");
  EXPECT_EQ(*ClusterOfExecutionNamespace("karmada-es-member-cluster-normal"), "member-cluster-normal");
  const auto other = ClusterOfExecutionNamespace("default");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("\"default\""), std::string::npos);
}

TEST(KarmadaNamesTest, N04ToN09OfWorks) {
  EXPECT_EQ(WorkName("Deployment", "nginx", "default"), "nginx-687f7fb96f") << "N04";
  EXPECT_EQ(WorkName("ZookeeperCluster", "zk", "default"), "zk-6bbfdb465c") << "N06";
  EXPECT_EQ(WorkName("Service", "derived-zk-headless", "default"), "derived-zk-headless-847545fdfb") << "N08";
  EXPECT_EQ(WorkName("Pod", "pod", ""), "pod-6c46fd8b9d") << "N09";
  EXPECT_EQ(WorkName("Pods", "work:pod", "default"), "work.pod-85bc474696") << "N09";
}

TEST(KarmadaNamesTest, N10OfWhatIsImported) {
  EXPECT_EQ(ImportedSliceName("cluster", "endpoint"), "imported-cluster-endpoint");
  EXPECT_EQ(DerivedServiceName("service"), "derived-service");
}

TEST(KarmadaKindsTest, AreAddressedAsKarmadaServesThem) {
  EXPECT_EQ(ResourceBindings().Path("data", "zk-zookeeper", "status"),
            "/apis/work.karmada.io/v1alpha2/namespaces/data/resourcebindings/zk-zookeeper/status");
  EXPECT_EQ(Clusters().Path("", "m1"), "/apis/cluster.karmada.io/v1alpha1/clusters/m1");
  EXPECT_EQ(OverridePolicies().singular, "overridepolicy");
}

}  // namespace
}  // namespace evenkeel::kube::karmada::karmada_test
