// The ConfigMap kube-root-ca.crt: in every namespace, and as it should be.
#include "embedded/workloads/cluster/root_ca.h"

#include "embedded/workloads/cluster/cluster_testing.h"

namespace evenkeel::embedded::workloads::root_ca_test {
namespace {

class RootCaTest : public ClusterTest {
 protected:
  RootCaTest() {
    workloads.reset();
    WorkloadsOptions options;
    options.root_ca_pem = "PEM";
    workloads = std::make_unique<Workloads>(*counting, executor, base::Random(4), std::move(options));
    workloads->Start();
    RunFor(1s);
  }
  Json Published(const std::string& ns) { return Get("configmaps", "kube-root-ca.crt", ns); }
  int Writes() {
    return static_cast<int>(std::count_if(counting->writes.begin(), counting->writes.end(), [](const std::string& write) {
      return write.ends_with("configmaps kube-root-ca.crt");
    }));
  }
};

TEST_F(RootCaTest, IsInEveryNamespace) {
  for (const char* ns : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    EXPECT_EQ(base::ToText(Json(base::FindObject(Published(ns), {"data"}))), R"({"ca.crt":"PEM"})") << ns;
  }
  EXPECT_TRUE(FindString(Published("default"), {"metadata", "annotations", "kubernetes.io/description"})
                  .starts_with("Contains a CA bundle that can be used to verify the kube-apiserver"));
  Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"new"}})");
  RunFor(1s);
  EXPECT_EQ(FindString(Published("new"), {"data", "ca.crt"}), "PEM");
  const int writes = Writes();
  EXPECT_EQ(writes, 5);
  Merge("namespaces", "new", R"({"metadata":{"labels":{"a":"b"}}})");
  RunFor(1s);
  EXPECT_EQ(Writes(), writes) << "nothing is written while all is right";
}

TEST_F(RootCaTest, ComesAgainAndIsPutRight) {
  ASSERT_TRUE(admin->Delete(kube::resources::ConfigMaps(), "default", "kube-root-ca.crt", {}).has_value());
  RunFor(1s);
  EXPECT_EQ(FindString(Published("default"), {"data", "ca.crt"}), "PEM");
  Merge("configmaps", "kube-root-ca.crt", R"({"data":{"ca.crt":"mine","more":"b"},"metadata":{"labels":{"mine":"stays"}}})");
  RunFor(1s);
  EXPECT_EQ(base::ToText(Published("default").at("data")), R"({"ca.crt":"PEM"})");
  EXPECT_EQ(FindString(Published("default"), {"metadata", "labels", "mine"}), "stays");
  Merge("configmaps", "kube-root-ca.crt", R"({"metadata":{"annotations":null}})");
  RunFor(1s);
  EXPECT_NE(FindString(Published("default"), {"metadata", "annotations", "kubernetes.io/description"}), "");
  // What people say of it is theirs to say.
  Merge("configmaps", "kube-root-ca.crt", R"({"metadata":{"annotations":{"kubernetes.io/description":"ours"}}})");
  RunFor(1s);
  EXPECT_EQ(FindString(Published("default"), {"metadata", "annotations", "kubernetes.io/description"}), "ours");
}

TEST_F(RootCaTest, GoesWithItsNamespace) {
  Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"brief"}})");
  RunFor(1s);
  ASSERT_FALSE(Published("brief").is_null());
  ASSERT_TRUE(admin->Delete(kube::resources::Namespaces(), "", "brief", {}).has_value());
  RunFor(30s);
  EXPECT_TRUE(Get("namespaces", "brief").is_null());
  EXPECT_TRUE(Published("brief").is_null());
}

TEST_F(RootCaTest, AnotherAuthorityIsPublishedByTheNextStart) {
  workloads.reset();
  WorkloadsOptions options;
  options.root_ca_pem = "OTHER";
  workloads = std::make_unique<Workloads>(*counting, executor, base::Random(5), std::move(options));
  workloads->Start();
  RunFor(1s);
  EXPECT_EQ(FindString(Published("kube-system"), {"data", "ca.crt"}), "OTHER");
}

using WithoutAuthorityTest = ClusterTest;

TEST_F(WithoutAuthorityTest, ThereIsNothingToPublish) {
  RunFor(5s);
  EXPECT_TRUE(List("configmaps").empty());
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::root_ca_test
