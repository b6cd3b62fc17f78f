#include "controllers/autoscaler/facts/facts.h"

#include <gtest/gtest.h>

#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::autoscaler::facts_test {
namespace {

using base::Json;
using scheduling::testing::Parse;
using scheduling::testing::PodMaker;
using namespace std::chrono_literals;

constexpr const char* kNow = "2024-12-15T01:13:04Z";

base::Time At(const char* text) { return *base::ParseTime(text); }

/// A ready node, with more on top: a merge patch.
Json Node(std::string_view patch = "{}") {
  Json node = Parse(R"({"metadata":{"name":"n1","creationTimestamp":"2024-12-15T00:00:00Z","labels":{}},
    "spec":{"providerID":"p://n1"},"status":{"allocatable":{"cpu":"4"},
    "conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2024-12-15T00:05:00Z"},
                  {"type":"DiskPressure","status":"False","lastTransitionTime":"2024-12-15T00:07:00Z"},
                  {"type":"PIDPressure","status":"True","lastTransitionTime":"2024-12-15T00:09:00Z"}]}})");
  base::ApplyMergePatch(node, Parse(patch));
  return node;
}

NodeFacts Facts(std::string_view patch, const Options& options = {}, std::string_view gpu_label = "gpu") {
  return DecodeNodeFacts(Node(patch), options, gpu_label, "ng1");
}

TEST(NodeFactsTest, ReadinessLooksAtTheConditionsAndTaintsThatMatter) {
  const NodeFacts ready = Facts("{}");
  EXPECT_TRUE(ready.present && ready.ready);
  EXPECT_EQ(ready.name, "n1");
  EXPECT_EQ(ready.provider_id, "p://n1");
  EXPECT_EQ(ready.group, "ng1");
  EXPECT_EQ(ready.created, At("2024-12-15T00:00:00Z"));
  EXPECT_EQ(ready.last_transition, At("2024-12-15T00:07:00Z")) << "PIDPressure is not looked at";
  EXPECT_TRUE(Facts(R"({"spec":{"unschedulable":true}})").ready);
  EXPECT_FALSE(Facts(R"({"status":{"conditions":[]}})").ready);
  for (const char* condition : {R"({"type":"Ready","status":"Unknown"})", R"({"type":"Ready","status":"False"})",
                                R"({"type":"Ready","status":"True"},{"type":"DiskPressure","status":"True"})",
                                R"({"type":"Ready","status":"True"},{"type":"NetworkUnavailable","status":"True"})"}) {
    EXPECT_FALSE(Facts(R"({"status":{"conditions":[)" + std::string(condition) + "]}}").ready) << condition;
  }
  for (const char* taint : {"not-ready", "disk-pressure", "network-unavailable"}) {
    EXPECT_FALSE(Facts(R"({"spec":{"taints":[{"key":"node.kubernetes.io/)" + std::string(taint) + R"("}]}})").ready) << taint;
  }
  EXPECT_TRUE(Facts(R"({"spec":{"taints":[{"key":"node.kubernetes.io/memory-pressure"}]}})").ready);
}

TEST(NodeFactsTest, StartupTaintsMakeANodeUnreadySinceItsCreation) {
  const std::string taint = R"({"spec":{"taints":[{"key":"example.com/agent-missing"}]}})";
  EXPECT_TRUE(Facts(taint).ready);
  Options by_name, by_prefix, by_old_name, status;
  by_name.startup_taints = {"example.com/agent-missing"};
  by_prefix.startup_taint_prefixes = {"example.com/"};
  by_old_name.ignore_taints = {"example.com/agent-missing"};
  status.status_taints = {"example.com/agent-missing"};
  for (const Options& options : {by_name, by_prefix, by_old_name}) {
    const NodeFacts facts = Facts(taint, options);
    EXPECT_FALSE(facts.ready || facts.resource_unready);
    EXPECT_EQ(facts.last_transition, facts.created);
  }
  EXPECT_TRUE(Facts(taint, status).ready);
  EXPECT_FALSE(Facts(R"({"spec":{"taints":[{"key":"startup-taint.cluster-autoscaler.kubernetes.io/x"}]}})").ready);
  EXPECT_TRUE(Facts(R"({"spec":{"taints":[{"key":"status-taint.cluster-autoscaler.kubernetes.io/x"}]}})").ready);
}

TEST(NodeFactsTest, GpuLabelWithoutGpusIsResourceUnready) {
  const NodeFacts missing = Facts(R"({"metadata":{"labels":{"gpu":"t4"}}})");
  EXPECT_FALSE(missing.ready);
  EXPECT_TRUE(missing.resource_unready);
  EXPECT_EQ(missing.gpu, "t4");
  EXPECT_TRUE(
      Facts(R"({"metadata":{"labels":{"gpu":"t4"}},"status":{"allocatable":{"nvidia.com/gpu":"0"}}})").resource_unready);
  for (const char* gpu : {"nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu", "microsoft.com/directx"}) {
    const NodeFacts there =
        Facts(R"({"metadata":{"labels":{"gpu":"t4"}},"status":{"allocatable":{")" + std::string(gpu) + R"(":1}}})");
    EXPECT_TRUE(there.ready && !there.resource_unready) << gpu;
  }
  EXPECT_TRUE(Facts(R"({"metadata":{"labels":{"gpu":"t4","cloud.google.com/gke-gpu-dra-driver":"true"}}})").ready)
      << "a driver of devices tells of them";
  const NodeFacts lacks = DecodeNodeFacts(Node("{}"), {}, "", "ng1", true);
  EXPECT_TRUE(!lacks.ready && lacks.resource_unready && lacks.lacks_devices);
  EXPECT_TRUE(Facts(R"({"metadata":{"labels":{"gpu":"t4"}}})", {}, "").ready) << "the provider has no GPU label";
}

TEST(NodeFactsTest, CapacityIsReadInWholeCores) {
  const NodeFacts facts = Facts(R"({"status":{"capacity":{"cpu":"3500m","memory":"2Ki","amd.com/gpu":"2","nvidia.com/gpu":"0"},
                                              "allocatable":{"cpu":"1","memory":"1Ki"}}})");
  EXPECT_EQ(facts.cores, 4);
  EXPECT_EQ(facts.memory, 2048);
  EXPECT_EQ(facts.gpus, (std::map<std::string, int64_t>{{"amd.com/gpu", 2}}));
}

TEST(NodeFactsTest, MarksOfTheAutoscalerAreRead) {
  const NodeFacts facts = Facts(R"({"metadata":{"annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true"},
    "labels":{"type":"virtual-kubelet"}},
    "spec":{"taints":[{"key":"ToBeDeletedByClusterAutoscaler","value":"1734225184","effect":"NoSchedule"},
                      {"key":"DeletionCandidateOfClusterAutoscaler","value":"soon"}]}})");
  EXPECT_TRUE(facts.scale_down_disabled && facts.virtual_kubelet);
  EXPECT_EQ(facts.to_be_deleted, At(kNow));
  EXPECT_EQ(facts.deletion_candidate, base::Time{}) << "unreadable: very old";
  EXPECT_TRUE(Facts(R"({"status":{"conditions":[{"type":"Suspended","status":"True"}]}})").suspended);
}

TEST(PodFactsTest, ReadsWhatTheRulesAskFor) {
  const PodFacts facts =
      DecodePodFacts(Parse(R"({"metadata":{"name":"p","namespace":"ns","creationTimestamp":"2024-12-15T01:13:04Z",
    "annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"on-completion",
                   "cluster-autoscaler.kubernetes.io/pod-scale-up-delay":"5m",
                   "cluster-autoscaler.kubernetes.io/enable-ds-eviction":"true","kubernetes.io/config.mirror":"x"},
    "ownerReferences":[{"kind":"Other","name":"o","uid":"1"},{"kind":"DaemonSet","name":"d","uid":"2","controller":true}]},
    "spec":{"nodeName":"n1","priority":-5,"terminationGracePeriodSeconds":7,"restartPolicy":"Never","schedulerName":"mine",
            "containers":[{"name":"c","resources":{"requests":{"amd.com/gpu":"1"}}}]},
    "status":{"phase":"Running","nominatedNodeName":"n2"}})"));
  EXPECT_EQ(facts.key, "ns/p");
  EXPECT_EQ(facts.owner_kind + "/" + facts.owner_name + "/" + facts.owner_uid, "DaemonSet/d/2");
  EXPECT_TRUE(facts.daemon && facts.mirror && facts.requests_gpu);
  EXPECT_FALSE(facts.unschedulable || facts.unprocessed);
  EXPECT_EQ(facts.priority, -5);
  EXPECT_EQ(facts.grace_seconds, 7);
  EXPECT_EQ(facts.created, At(kNow));
  EXPECT_EQ(facts.safe_to_evict + facts.scale_up_delay + facts.ds_eviction, "on-completion5mtrue");
  EXPECT_EQ(facts.phase + facts.restart_policy + facts.scheduler_name + facts.nominated_node, "RunningNeverminen2");
  const PodFacts plain = DecodePodFacts(PodMaker("q").json);
  EXPECT_FALSE(plain.priority || plain.deleted || plain.daemon || plain.mirror || plain.requests_gpu);
  EXPECT_EQ(plain.scheduler_name, "default-scheduler");
  EXPECT_EQ(plain.grace_seconds, 30);
}

TEST(PodFactsTest, SplitsPodsByWhatTheSchedulerHasSaid) {
  const auto facts = [](std::string_view conditions) {
    Json pod = PodMaker("p").json;
    base::Ensure(pod, {"status", "conditions"}) = Parse(conditions);
    return DecodePodFacts(pod);
  };
  EXPECT_TRUE(facts("[]").unprocessed);
  EXPECT_TRUE(facts(R"([{"type":"PodScheduled","status":"False"}])").unprocessed);
  const PodFacts refused = facts(R"([{"type":"PodScheduled","status":"False","reason":"Unschedulable"}])");
  EXPECT_TRUE(refused.unschedulable && !refused.unprocessed);
  const PodFacts gated = facts(R"([{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}])");
  EXPECT_FALSE(gated.unschedulable || gated.unprocessed);
}

TEST(PodFactsTest, LocalStorageIsWhatIsNotListedAsSafe) {
  const auto local = [](std::string_view volumes, std::string_view safe = "") {
    Json pod = PodMaker("p").json;
    base::Ensure(pod, {"spec", "volumes"}) = Parse(volumes);
    base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"}) = safe;
    return DecodePodFacts(pod).local_storage;
  };
  EXPECT_TRUE(local(R"([{"name":"a","emptyDir":{}}])"));
  EXPECT_TRUE(local(R"([{"name":"a","hostPath":{"path":"/"}}])"));
  EXPECT_FALSE(local(R"([{"name":"a","emptyDir":{"medium":"Memory"}}])"));
  EXPECT_FALSE(local(R"([{"name":"a","gitRepo":{}}])"));
  EXPECT_FALSE(local(R"([{"name":"a","emptyDir":{}},{"name":"b","hostPath":{}}])", "b, a"));
  EXPECT_TRUE(local(R"([{"name":"a","emptyDir":{}},{"name":"b","emptyDir":{}}])", "b"));
}

/// The hash of a pod with such a spec.
uint64_t Hash(std::string_view spec, std::string_view labels = "a=b") {
  Json pod = PodMaker("p").Labels(labels).json;
  pod.as_object()["spec"] = Parse(spec);
  return PodSpecHash(pod);
}

TEST(PodSpecHashTest, LeavesOutWhatTellsPodsOfOneControllerApart) {
  const std::string plain = R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"priority":3})";
  EXPECT_EQ(Hash(plain), Hash(R"({"priority":3,"containers":[{"resources":{"requests":{"cpu":"1000m"}},"name":"c"}]})"));
  EXPECT_EQ(Hash(plain),
            Hash(R"({"containers":[{"name":"c","resources":{"requests":{"cpu":1}},"env":[{"name":"X","value":"1"}]}],
    "priority":3,"hostname":"p-0","tolerations":[],"nodeSelector":{},"affinity":null})"));
  EXPECT_EQ(Hash(plain), Hash(R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}},
    "volumeMounts":[{"name":"token","mountPath":"/t"}]}],"priority":3,"volumes":[{"name":"token","projected":{"sources":[]}}]})"));
  EXPECT_EQ(Hash(R"({"containers":[{"resources":{"limits":{"memory":"1Gi"}}}]})"),
            Hash(R"({"containers":[{"resources":{"limits":{"memory":"1024Mi"}}}]})"));
}

TEST(PodSpecHashTest, TellsApartWhatMatters) {
  const std::string plain = R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})";
  EXPECT_NE(Hash(plain), Hash(plain, "a=c"));
  for (const char* other : {R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1001m"}}}]})",
                            R"({"containers":[{"name":"c","resources":{"limits":{"cpu":"1"}}}]})",
                            R"({"initContainers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})",
                            R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}},
                                "volumeMounts":[{"name":"data","mountPath":"/t"}]}]})",
                            R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],"nodeName":"n1"})",
                            R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],
                                "volumes":[{"name":"data","emptyDir":{}}]})"}) {
    EXPECT_NE(Hash(plain), Hash(other)) << other;
  }
}

TEST(BudgetFactsTest, BudgetWithoutSelectorSelectsNothing) {
  const Budget none = DecodeBudget(Parse(R"({"metadata":{"name":"b","namespace":"ns"},"spec":{}})"));
  EXPECT_TRUE(none.selector.nothing());
  const Budget some =
      DecodeBudget(Parse(R"({"metadata":{"name":"b","namespace":"ns"},"spec":{"selector":{"matchLabels":{"a":"b"}}},
    "status":{"disruptionsAllowed":2}})"));
  EXPECT_EQ(some.allowed, 2);
  EXPECT_TRUE(some.selector.Matches(kube::Labels{{"a", "b"}}));
  EXPECT_FALSE(some.selector.Matches(kube::Labels{{"a", "c"}}));
}

TEST(OwnerFactsTest, ReplicasOfAJobAreItsParallelism) {
  EXPECT_EQ(DecodeOwner(Parse(R"({"kind":"Job","metadata":{"name":"j"},"spec":{"parallelism":4}})")).replicas, 4);
  const Owner set =
      DecodeOwner(Parse(R"({"kind":"ReplicaSet","metadata":{"name":"r","namespace":"n","uid":"u"},"spec":{"replicas":3}})"));
  EXPECT_EQ(set.kind + set.ns + set.name + set.uid, "ReplicaSetnru");
  EXPECT_EQ(set.replicas, 3);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::facts_test
