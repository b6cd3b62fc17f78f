// Digests that are kept and digests that are made anew, over random events.
#include "controllers/autoscaler/facts/node_digests.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include "base/random.h"
#include "controllers/autoscaler/facts/cluster_objects.h"
#include "controllers/autoscaler/scale_down/scale_down_testing.h"
#include "scheduling/devices/devices_testing.h"
#include "scheduling/well_known.h"

namespace evenkeel::controllers::autoscaler::node_digests_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::NodeId;
using scheduling::testing::NodeMaker;
using scheduling::testing::SliceMaker;
using testing::kNow;
using testing::World;

/// What a loop is given while nodes, slices and groups come, change and go.
class Cluster {
 public:
  explicit Cluster(uint64_t seed) : random_(seed) {}

  void Happen() {
    const std::string name = fmt::format("n{}", random_.Below(6));
    switch (random_.Below(9)) {
      case 0:
        return mirror_.Remove("Node", name);
      case 1:
        return mirror_.Upsert("ResourceSlice", SliceMaker(name).Devices(2).json);
      case 2:
        return mirror_.Remove("ResourceSlice", std::string(base::FindString(SliceMaker(name).json, {"metadata", "name"})));
      case 3:
        grouped_[name] = fmt::format("g{}", random_.Below(3));
        return;
      case 4:
        without_ = random_.Below(4);
        return;
      default:
        return PutNode(name);
    }
  }

  ClusterView View() {
    providers::NodeGroups groups;
    for (uint64_t i = 0; i < 3; ++i) {
      if (i == without_) continue;
      providers::NodeGroup group;
      group.id = fmt::format("g{}", i);
      groups.groups.push_back(std::move(group));
    }
    for (const auto& [node, group] : grouped_) groups.group_of_node[node] = group;
    answers_.Number(groups);
    return objects_.View(std::move(groups), kNow);
  }

 private:
  void PutNode(const std::string& name) {
    NodeMaker node(name, "4", "16Gi");
    node.json.as_object()["kind"] = "Node";
    if (random_.Chance(0.3)) base::Ensure(node.json, {"status", "allocatable", "nvidia.com/gpu"}) = "2";
    if (random_.Chance(0.3)) {
      base::Ensure(node.json, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/scale-down-disabled"}) = "true";
    }
    JsonArray taints;
    for (const char* key : {scheduling::kToBeDeletedTaint, scheduling::kDeletionCandidateTaint}) {
      if (random_.Chance(0.3)) taints.push_back(JsonObject{{"key", key}, {"value", "1734225000"}, {"effect", "NoSchedule"}});
    }
    base::Ensure(node.json, {"spec", "taints"}) = std::move(taints);
    base::Ensure(node.json, {"status", "conditions"}) =
        JsonArray{JsonObject{{"type", "Ready"}, {"status", random_.Chance(0.5) ? "True" : "False"}}};
    mirror_.Upsert(node.json);
  }

  base::Random random_;
  scheduling::ClusterMirror mirror_;
  ClusterObjects objects_{Options{}, mirror_};
  providers::AnswerNumbers answers_;
  std::map<std::string, std::string> grouped_;
  uint64_t without_ = 3;
};

TEST(NodeDigestsTest, KeptOnesAreThoseThatWouldBeMadeAnew) {
  std::set<std::string> seen;
  size_t kept = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Cluster cluster(seed);
    uint64_t revision = 0;
    for (int step = 0; step < 40; ++step) {
      cluster.Happen();
      const ClusterView view = cluster.View();
      ASSERT_NE(view.digests, nullptr);
      ASSERT_TRUE(view.digests->AreOf(view));
      for (NodeId node = 0; node <= view.nodes->size(); ++node) {
        const NodeDigest digest = view.digests->Of(node);
        ASSERT_EQ(digest, node < view.nodes->size() ? DigestOf(view, node) : NodeDigest{}) << "node " << node;
        if (!digest.present) continue;
        seen.insert(digest.plain ? "plain" : "with devices");
        seen.insert(digest.ready ? "ready" : "not ready");
        seen.insert(digest.group == scheduling::kNone ? "of no group" : "of a group");
        if (digest.scale_down_disabled) seen.insert("disabled");
        if (digest.to_be_deleted) seen.insert("going");
        if (digest.deletion_candidate) seen.insert("candidate");
      }
      kept += revision == view.nodes_revision ? 1 : 0;
      revision = view.nodes_revision;
    }
  }
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_GT(kept, 1000U) << "steps that change no node";
}

TEST(NodeDigestsTest, ThoseOfAnotherMomentAreNotTaken) {
  World world;
  world.Node("n", 1000, 10);
  ClusterView view = world.View();
  view.nodes_revision = 1;
  const NodeDigests digests(view);
  EXPECT_TRUE(digests.AreOf(view));
  ++view.nodes_revision;
  EXPECT_FALSE(digests.AreOf(view)) << "a node has changed";
  --view.nodes_revision;
  view.groups.groups.front().id = "other";
  EXPECT_FALSE(digests.AreOf(view)) << "the groups are others";
  view.groups.groups.front().id = "ng";
  world.snapshot.UpsertDevices(scheduling::DeviceKind::kResourceSlice, SliceMaker("n").Devices(1).json);
  EXPECT_FALSE(digests.AreOf(view)) << "a slice has come";
  EXPECT_FALSE(NodeDigests(world.View()).AreOf(world.View())) << "nobody counts the changes";
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::node_digests_test
