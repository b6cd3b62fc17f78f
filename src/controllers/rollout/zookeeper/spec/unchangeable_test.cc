#include "controllers/rollout/zookeeper/spec/unchangeable.h"

#include <gtest/gtest.h>

#include "controllers/rollout/zookeeper/plan/plan_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::unchangeable_test {
namespace {

using testing::kThree;
using testing::SpecWith;

/// What is said of a spec to an ensemble that runs by another; "": nothing.
std::string Change(const std::string& from, const std::string& to) {
  FakeFleet fleet(from);
  fleet.Settle();
  fleet.SetSpec(to);
  const auto plan = PlanRollout(fleet.Input());
  const std::string prefix = "test: MultiClusterZooKeeper data/zk: ";
  if (plan) return "";
  EXPECT_TRUE(plan.error().message().starts_with(prefix)) << plan.error().message();
  return plan.error().message().substr(prefix.size());
}

std::string Naming(const std::string& fields) { return SpecWith(kThree, R"("naming": {)" + fields + "}"); }
std::string Template(const std::string& fields) { return SpecWith(kThree, R"("template": {)" + fields + "}"); }

TEST(UnchangeableTest, AddressesOfServersThatRun) {
  const std::string remedy = "; put it back, or deploy another ensemble and move the data";
  EXPECT_EQ(Change(Naming(""), Naming(R"("mode": "perClusterService")")),
            "spec.naming.mode: cannot change while servers run: "
            "server.1=zk-0.m1.zk-headless.data.svc.clusterset.local:2888:3888:participant;2181 would be "
            "server.1=zk-0.zk-headless-m1.data.svc.cluster.local:2888:3888:participant;2181" +
                remedy);
  const std::pair<std::string, std::string> domains{R"("mode": "perClusterService")",
                                                    R"("mode": "perClusterService", "clusterDomain": "example.org")"};
  EXPECT_TRUE(Change(Naming(domains.first), Naming(domains.second)).starts_with("spec.naming.clusterDomain: cannot change"));
  EXPECT_TRUE(Change(Naming(R"("mode": "external", "template": "<zk>-<c>-<o>.a")"),
                     Naming(R"("mode": "external", "template": "<zk>-<c>-<o>.b")"))
                  .starts_with("spec.naming.template: cannot change"));
  const std::pair<const char*, const char*> ports[] = {{"quorum", "2889"}, {"election", "3889"}, {"client", "2182"}};
  for (const auto& [port, number] : ports) {
    EXPECT_TRUE(Change(Template(""), Template(R"("ports": {")" + std::string(port) + "\": " + number + "}"))
                    .starts_with(std::string("spec.template.ports.") + port + ": cannot change"))
        << port;
  }
  EXPECT_TRUE(Change(Template(""), Template(R"("ports": {"clientAddress": "Host"})"))
                  .starts_with("spec.template.ports.clientAddress: cannot change"));
  EXPECT_EQ(Change(Template(""), Template(R"("ports": {"secureClient": 2282})")), "") << "no part of the list";
}

TEST(UnchangeableTest, AClusterTakesAnotherNameInDnsWhileItIsNotPlaced) {
  FakeFleet fleet(testing::Spec("m1:1 m2:1 m3:1 m4:1"));
  fleet.Settle();
  const std::string renamed =
      R"({"placement": {"clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 1},
          {"name": "m3", "replicas": 1}, {"name": "m4", "replicas": 1, "clusterID": "c4"}]}, "template": {"image": {"tag": "3.8.4"}}})";
  fleet.SetSpec(renamed);
  const auto plan = PlanRollout(fleet.Input());
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("spec.placement.clusters: cannot change"), std::string::npos) << plan.error().message();
  EXPECT_NE(plan.error().message().find("take the cluster out first"), std::string::npos);
  fleet.SetSpec(testing::Spec(kThree));
  fleet.Settle();
  fleet.SetSpec(renamed);
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (std::set<int64_t>{1, 11, 21, 41}));
}

TEST(UnchangeableTest, VolumesOfServersThatRun) {
  const std::string small = Template(R"("storage": {"size": "10Gi"})");
  EXPECT_EQ(
      Change(small, Template(R"("storage": {"size": "20Gi"})")),
      "spec.template.storage.size: cannot change from 10Gi to 20Gi while servers run, whose volumes stay as they were made; "
      "put it back, and grow the members' PersistentVolumeClaims by hand");
  EXPECT_EQ(Change(small, Template(R"("storage": {"size": "10240Mi"})")), "") << "it is as much";
  EXPECT_EQ(Change(small, Template(R"("storage": {"reclaimPolicy": "Delete"})")), "");
  EXPECT_EQ(
      Change(small, Template(R"("storage": {"storageClass": "fast"})")),
      "spec.template.storage.storageClass: cannot change from the default to fast while servers run, whose volumes stay as "
      "they were made; put it back");
  EXPECT_TRUE(Change(small, Template(R"("storage": {"type": "ephemeral"})"))
                  .starts_with("spec.template.storage.type: cannot change from persistent to ephemeral"));
}

TEST(UnchangeableTest, BeforeAnythingHasBeenStartedEverythingMayChange) {
  FakeFleet fleet(testing::Spec(kThree));
  fleet.Tick();
  fleet.Tick();
  fleet.SetSpec(SpecWith(kThree, R"("naming": {"mode": "external", "template": "10.0.0.<id>"},
      "template": {"storage": {"size": "1Gi"}, "ports": {"client": 1}})"));
  fleet.Settle();
  EXPECT_EQ(fleet.Servers(), (std::set<int64_t>{1, 11, 21}));
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::unchangeable_test
