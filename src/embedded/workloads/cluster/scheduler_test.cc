#include <gtest/gtest.h>

#include "embedded/workloads/cluster/cluster_testing.h"

namespace evenkeel::embedded::workloads::scheduler_test {
namespace {

class SchedulerTest : public ClusterTest {
 protected:
  /// `spec` is merged into the pod's spec.
  void CreatePod(const std::string& name, const std::string& cpu, const std::string& spec = "{}",
                 const std::string& labels = "{}") {
    Json pod = Parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default","labels":)" +
                     labels + R"(},"spec":{"containers":[{"name":"c","image":"a","resources":{"requests":{"cpu":")" + cpu +
                     R"("}}}]}})");
    base::ApplyMergePatch(pod.at("spec"), Parse(spec));
    auto created = admin->Create(kube::resources::Pods(), pod);
    EXPECT_TRUE(created) << (created ? "" : created.error().message());
  }
  void CreateImportantPod(const std::string& name, const std::string& cpu, int priority) {
    const std::string its = "of-" + std::to_string(priority);
    // There already, perhaps.
    admin->Create(*kube::FindBuiltIn("scheduling.k8s.io", "v1", "priorityclasses"),
                  Parse(R"({"metadata":{"name":")" + its + R"("},"value":)" + std::to_string(priority) + "}"));
    CreatePod(name, cpu, R"({"priorityClassName":")" + its + "\"}");
  }
  std::string NodeOf(const std::string& pod) { return std::string(FindString(Get("pods", pod), {"spec", "nodeName"})); }
  std::string Why(const std::string& pod) { return Condition("pods", pod, "PodScheduled", "message"); }
  int64_t WritesAbout(const std::string& what) {
    return std::ranges::count_if(counting->writes, [&](const std::string& write) { return write.contains(what); });
  }
};

TEST_F(SchedulerTest, SaysWhyInUpstreamsWords) {
  for (const char* node : {"n1", "n2", "n3"}) AddNode(node, "1");
  Merge("nodes", "n3", R"({"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]}})");
  RunFor(1s);
  CreatePod("a", "800m");
  CreatePod("b", "800m");
  RunFor(1s);
  CreatePod("c", "800m");
  RunFor(1s);
  EXPECT_EQ(Condition("pods", "c", "PodScheduled", "reason"), "Unschedulable");
  EXPECT_EQ(Why("c"),
            "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: gpu}, 2 Insufficient cpu. preemption: 0/3 "
            "nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.");
  std::string event;
  for (const Json& item : List("events")) {
    if (FindString(item, {"reason"}) == "FailedScheduling") event = FindString(item, {"message"});
  }
  EXPECT_EQ(event, Why("c"));
}

TEST_F(SchedulerTest, TriesAgainOnlyWhenSomethingCouldHelp) {
  AddNode("n1", "1");
  RunFor(1s);
  CreatePod("big", "3");
  CreatePod("selective", "100m", R"({"nodeSelector":{"disk":"ssd"}})");
  RunFor(1s);
  counting->writes.clear();
  CreatePod("small", "100m");
  RunFor(2s);
  Delete("pods", "small");
  AddNode("n2", "2");
  RunFor(60s);
  EXPECT_EQ(WritesAbout("update pods big") + WritesAbout("update pods selective"), 0) << "nothing that happened helps";
  Merge("nodes", "n2", R"({"metadata":{"labels":{"disk":"ssd"}}})");
  AddNode("n3", "4");
  RunFor(1s);
  EXPECT_EQ(NodeOf("selective"), "n2");
  EXPECT_EQ(NodeOf("big"), "n3");
}

TEST_F(SchedulerTest, TheMoreImportantComesFirst) {
  for (int i = 0; i < 3; ++i) CreateImportantPod("idle-" + std::to_string(i), "600m", 1);
  CreateImportantPod("urgent", "600m", 1000);
  RunFor(1s);
  AddNode("n1", "1");
  RunFor(2s);
  EXPECT_EQ(NodeOf("urgent"), "n1");
  EXPECT_EQ(NodeOf("idle-0"), "");
}

TEST_F(SchedulerTest, GatedPodsWaitForTheirGates) {
  AddNode("n1", "4");
  CreatePod("gated", "100m", R"({"schedulingGates":[{"name":"quota"}]})");
  RunFor(5s);
  EXPECT_EQ(NodeOf("gated"), "");
  EXPECT_EQ(Condition("pods", "gated", "PodScheduled", "reason"), "SchedulingGated");
  Merge("pods", "gated", R"({"spec":{"schedulingGates":null}})");
  RunFor(2s);
  EXPECT_EQ(NodeOf("gated"), "n1");
}

TEST_F(SchedulerTest, OtherSchedulersPodsAreTheirs) {
  AddNode("n1", "4");
  CreatePod("theirs", "100m", R"({"schedulerName":"mine"})");
  RunFor(5s);
  EXPECT_EQ(NodeOf("theirs"), "");
  EXPECT_EQ(Condition("pods", "theirs", "PodScheduled"), "");
}

TEST_F(SchedulerTest, ANominatedPodKeepsItsPlace) {
  AddNode("n1", "1");
  RunFor(1s);
  CreatePod("first", "800m");
  RunFor(2s);
  CreateImportantPod("promised", "800m", 10);
  RunFor(1s);
  client::PatchOptions status;
  status.subresource = "status";
  ASSERT_TRUE(admin->Patch(kube::resources::Pods(), "default", "promised", client::PatchType::kMerge,
                           Parse(R"({"status":{"nominatedNodeName":"n1"}})"), status));
  CreateImportantPod("greedy", "200m", 1);
  CreateImportantPod("greater", "100m", 100);
  RunFor(2s);
  EXPECT_EQ(NodeOf("greedy"), "") << "less important than what is promised the room";
  EXPECT_EQ(NodeOf("greater"), "n1");
  Delete("pods", "first");
  RunFor(10s);
  EXPECT_EQ(NodeOf("promised"), "n1");
}

TEST_F(SchedulerTest, HonoursSpreadAndAntiAffinity) {
  for (const char* node : {"n1", "n2", "n3"}) AddNode(node, "8", R"({"kubernetes.io/hostname":")" + std::string(node) + "\"}");
  RunFor(1s);
  const std::string apart =
      R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"db"}}}]}}})";
  for (int i = 0; i < 4; ++i) CreatePod("db-" + std::to_string(i), "100m", apart, R"({"app":"db"})");
  RunFor(2s);
  std::set<std::string> used;
  for (int i = 0; i < 4; ++i) used.insert(NodeOf("db-" + std::to_string(i)));
  EXPECT_EQ(used, (std::set<std::string>{"", "n1", "n2", "n3"}));
  Delete("pods", "db-0");
  RunFor(5s);
  used.clear();
  for (int i = 1; i < 4; ++i) used.insert(NodeOf("db-" + std::to_string(i)));
  EXPECT_EQ(used, (std::set<std::string>{"n1", "n2", "n3"}));
}

TEST_F(SchedulerTest, VolumesThatWaitForTheirConsumerFollowIt) {
  AddNode("n1", "1", R"({"topology.kubernetes.io/zone":"a"})");
  AddNode("n2", "4", R"({"topology.kubernetes.io/zone":"b"})");
  Create(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"disk.example.com","volumeBindingMode":"WaitForFirstConsumer"})");
  Create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":{"storageClassName":"fast","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
  RunFor(5s);
  EXPECT_NE(FindString(Get("persistentvolumeclaims", "data"), {"status", "phase"}), "Bound");
  CreatePod("db", "2", R"({"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]})");
  RunFor(2s);
  EXPECT_EQ(NodeOf("db"), "n2");
  const Json claim = Get("persistentvolumeclaims", "data");
  EXPECT_EQ(FindString(claim, {"status", "phase"}), "Bound");
  EXPECT_EQ(FindString(claim, {"metadata", "annotations", "volume.kubernetes.io/selected-node"}), "n2");
  const Json volume = Get("persistentvolumes", std::string(FindString(claim, {"spec", "volumeName"})));
  EXPECT_EQ(FindString(volume, {"status", "phase"}), "Bound");
  EXPECT_EQ(FindString(volume, {"spec", "csi", "driver"}), "disk.example.com");
  Delete("pods", "db");
  AddNode("n3", "8", R"({"topology.kubernetes.io/zone":"a"})");
  RunFor(5s);
  CreatePod("next", "2", R"({"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]})");
  RunFor(2s);
  EXPECT_EQ(NodeOf("next"), "n2") << "the volume is in zone b";
  Delete("pods", "next");
  RunFor(5s);
  Delete("persistentvolumeclaims", "data");
  RunFor(5s);
  EXPECT_TRUE(List("persistentvolumes").empty()) << "nobody claims it any more";
}

TEST_F(SchedulerTest, ClaimsOfEphemeralVolumesAreMadeAndBound) {
  AddNode("n1", "4");
  CreatePod(
      "scratch", "100m",
      R"({"volumes":[{"name":"s","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}]})");
  RunFor(5s);
  EXPECT_EQ(FindString(Get("persistentvolumeclaims", "scratch-s"), {"status", "phase"}), "Bound");
  EXPECT_EQ(NodeOf("scratch"), "n1");
}

TEST_F(SchedulerTest, AClaimTakesTheSmallestVolumeThatIsThere) {
  const auto volume = [](const std::string& name, const std::string& size) {
    return R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")" + name +
           R"("},"spec":{"capacity":{"storage":")" + size +
           R"("},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/data"}}})";
  };
  for (const auto& [name, size] : std::map<std::string, std::string>{{"large", "9Gi"}, {"right", "3Gi"}, {"small", "1Gi"}}) {
    Create(volume(name, size));
  }
  RunFor(1s);
  EXPECT_EQ(FindString(Get("persistentvolumes", "right"), {"status", "phase"}), "Available");
  Create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}}})");
  RunFor(2s);
  EXPECT_EQ(FindString(Get("persistentvolumeclaims", "data"), {"spec", "volumeName"}), "right");
  EXPECT_EQ(FindString(Get("persistentvolumes", "right"), {"status", "phase"}), "Bound");
  Delete("persistentvolumeclaims", "data");
  RunFor(2s);
  EXPECT_EQ(FindString(Get("persistentvolumes", "right"), {"status", "phase"}), "Released") << "it is not ours to delete";
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::scheduler_test
