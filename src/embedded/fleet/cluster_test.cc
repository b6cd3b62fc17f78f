#include "embedded/fleet/cluster.h"

#include <gtest/gtest.h>

#include "embedded/cloud/cloud_provider.h"
#include "embedded/cloud/node_group_definition.h"
#include "embedded/store/memory_store.h"
#include "kube/object.h"

namespace evenkeel::embedded::fleet::cluster_test {
namespace {

using namespace std::chrono_literals;
using base::FindInt;
using base::FindString;
using base::Json;

// A member with a cloud, in virtual time.
class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() {
    ClusterOptions options;
    options.name = "member-1";
    options.index = 1;
    options.nodes = 1;
    options.cloud = true;
    cluster_ = std::make_unique<Cluster>(options, store::NewMemoryStore(), executor_, base::Random(11));
    const auto started = cluster_->Start();
    EXPECT_TRUE(started) << started.error().message();
    EXPECT_TRUE(cluster_->StartNodes());
    EXPECT_TRUE(api().Create(cloud::NodeGroups(), cloud::GeneralNodeGroup()));
    executor_.RunFor(5s);
  }
  client::Client& api() { return cluster_->client(); }

  void Scale(int64_t replicas) {
    Json deployment = *base::ParseJson(
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},"spec":{
            "selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
            {"name":"c","image":"web","resources":{"requests":{"cpu":"1"}}}]}}}})",
        "test");
    base::Ensure(deployment, {"spec", "replicas"}) = replicas;
    if (api().Create(kube::resources::Deployments(), deployment)) return;
    ASSERT_TRUE(api().Patch(kube::resources::Deployments(), "default", "web", client::PatchType::kMerge,
                            base::JsonObject{{"spec", base::JsonObject{{"replicas", replicas}}}}));
  }
  int64_t Ready() {
    const Json deployment = *api().Get(kube::resources::Deployments(), "default", "web");
    return FindInt(deployment, {"status", "readyReplicas"});
  }

  base::VirtualExecutor executor_{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(ClusterTest, PodsRunOnNodesThatTheCloudMakes) {
  Scale(10);
  executor_.RunFor(20s);
  EXPECT_EQ(Ready(), 4) << "the only node has 4 cpu";
  const auto provider = cloud::NewCloudProvider(api());
  ASSERT_TRUE(provider->IncreaseSize("general", 2, false));
  executor_.RunFor(30s);
  EXPECT_EQ(Ready(), 10);
}

TEST_F(ClusterTest, PodsOfADeletedInstanceAreReplaced) {
  const auto provider = cloud::NewCloudProvider(api());
  ASSERT_TRUE(provider->IncreaseSize("general", 2, false));
  Scale(7);
  executor_.RunFor(30s);
  ASSERT_EQ(Ready(), 7);
  const providers::NodeReference node{"general-1", "embedded://general/general-1", Json(nullptr)};
  ASSERT_TRUE(provider->DeleteNodes("general", std::span(&node, 1), false));
  executor_.RunFor(3min);
  EXPECT_EQ(Ready(), 7) << "two nodes have room for all";
  const auto pods = client::ListAll(api(), kube::resources::Pods());
  ASSERT_TRUE(pods);
  for (const Json& pod : pods->items) EXPECT_NE(FindString(pod, {"spec", "nodeName"}), "general-1");
}

}  // namespace
}  // namespace evenkeel::embedded::fleet::cluster_test
