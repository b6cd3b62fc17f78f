#include "embedded/federation/policies/bindings.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"
#include "embedded/federation/hub/binding_scheduler.h"
#include "embedded/federation/policies/native_interpreter.h"

// Numbers (B01, A01 ...) are those of cases that Karmada's own tests have.
namespace evenkeel::embedded::federation::bindings_test {
namespace {

using base::Json;

Json Yaml(const std::string& text) {
  auto parsed = base::ParseYamlDocument(text, "test");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? *parsed : Json();
}

std::vector<std::string> Names(const std::vector<Share>& shares) {
  std::vector<std::string> names;
  for (const Share& share : shares) names.push_back(share.name);
  return names;
}

TEST(BindingsTest, B01TargetsAndWhatOthersRequire) {
  const auto targets = [](const std::string& required) {
    return Names(
        TargetsOf(Yaml("{spec: {clusters: [{name: foo}], requiredBy: [{name: r, clusters: [{name: " + required + "}]}]}}")));
  };
  EXPECT_EQ(targets("foo"), (std::vector<std::string>{"foo"}));
  EXPECT_EQ(targets("bar"), (std::vector<std::string>{"foo", "bar"}));
}

TEST(BindingsTest, B02TheTemplateDecidesOnConflicts) {
  const Json overwrite = Yaml("{spec: {conflictResolution: Overwrite}}"), abort = Yaml("{spec: {conflictResolution: Abort}}");
  const auto object = [](const std::string& value) {
    return Yaml("{metadata: {annotations: {work.karmada.io/conflict-resolution: " + value + "}}}");
  };
  EXPECT_EQ(ConflictResolutionOf(overwrite, object("abort")), "abort");
  EXPECT_EQ(ConflictResolutionOf(abort, object("overwrite")), "overwrite");
  EXPECT_EQ(ConflictResolutionOf(overwrite, object("nonsense")), "overwrite");
  EXPECT_EQ(ConflictResolutionOf(abort, Yaml("{}")), "abort");
}

TEST(BindingsTest, B03Suspension) {
  EXPECT_FALSE(SuspendsDispatching(Yaml("{spec: {}}"), "m1"));
  EXPECT_FALSE(SuspendsDispatching(Yaml("{spec: {suspension: {}}}"), "m1"));
  EXPECT_FALSE(SuspendsDispatching(Yaml("{spec: {suspension: {dispatching: false}}}"), "m1"));
  EXPECT_TRUE(SuspendsDispatching(Yaml("{spec: {suspension: {dispatching: true}}}"), "m1"));
  const Json listed = Yaml("{spec: {suspension: {dispatchingOnClusters: {clusterNames: [m1]}}}}");
  EXPECT_TRUE(SuspendsDispatching(listed, "m1"));
  EXPECT_FALSE(SuspendsDispatching(listed, "m2"));
}

TEST(BindingsTest, B04OrphanWorks) {
  const std::string labels = "labels: {resourcebinding.karmada.io/permanent-id: the-id}";
  const Json w1 = Yaml("{metadata: {name: w1, namespace: karmada-es-cluster1, " + labels + "}}");
  const Json unlabelled =
      Yaml("{metadata: {name: w2, namespace: karmada-es-cluster1, annotations: {resourcebinding.karmada.io/name: b}}}");
  const Json wanted = Yaml("{metadata: {name: w3, namespace: karmada-es-clusterx, " + labels + "}}");
  const auto orphans = OrphanWorks({&w1, &unlabelled, &wanted}, "the-id", {"clusterx"});
  ASSERT_TRUE(orphans);
  EXPECT_EQ(*orphans, (std::vector<const Json*>{&w1}));
  const Json stray = Yaml("{metadata: {name: w4, namespace: default, " + labels + "}}");
  EXPECT_FALSE(OrphanWorks({&stray}, "the-id", {"clusterx"}));
}

TEST(BindingsTest, AWorkHasTheShapeThatKarmadaGivesIt) {
  const Json object = Yaml(R"({apiVersion: v1, kind: Service, metadata: {name: s, namespace: default, uid: u, generation: 3,
      resourceVersion: '9', finalizers: [f], labels: {a: b}}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1],
      ports: [{port: 1}]}, status: {x: y}})");
  const Json binding = Yaml(R"({metadata: {name: s-service, namespace: default,
      labels: {resourcebinding.karmada.io/permanent-id: id}}, spec: {suspension: {dispatching: true}}})");
  const Json work = MakeWork({&binding, &object, PrunedManifest(object), "m1", {}});
  EXPECT_EQ(base::FindString(work, {"metadata", "namespace"}), "karmada-es-m1");
  EXPECT_EQ(BindingIdOf(work), "id");
  EXPECT_TRUE(base::FindBool(work, {"spec", "suspendDispatching"}));
  const Json& manifest = base::FindArray(work, {"spec", "workload", "manifests"})[0];
  EXPECT_EQ(base::CanonicalText(*base::Find(manifest, {"metadata", "labels"})), R"({"a":"b","karmada.io/managed":"true"})");
  EXPECT_EQ(base::CanonicalText(*base::Find(manifest, {"spec"})), R"({"ports":[{"port":1}]})");
  for (const char* gone : {"uid", "resourceVersion", "generation", "finalizers"})
    EXPECT_EQ(base::Find(manifest, {"metadata", gone}), nullptr) << gone;
  EXPECT_EQ(base::Find(manifest, {"status"}), nullptr);
  EXPECT_EQ(base::FindString(manifest, {"metadata", "annotations", kTemplateUid}), "u");
  EXPECT_EQ(base::FindString(manifest, {"metadata", "annotations", kTemplateGeneration}), "3");
  EXPECT_EQ(base::FindString(manifest, {"metadata", "annotations", kManagedLabels}), "a,karmada.io/managed");
}

TEST(BindingsTest, A03AWorkThatIsNotAppliedHasNoHealthAndNoStatus) {
  const Json applied =
      Yaml(R"({metadata: {name: w, namespace: karmada-es-m2}, status: {conditions: [{type: Applied, status: 'True'}],
      manifestStatuses: [{identifier: {}, status: {readyReplicas: 2}, health: Healthy}]}})");
  const Json failed =
      Yaml(R"({metadata: {name: w, namespace: karmada-es-m1}, status: {conditions: [{type: Applied, status: 'False',
      message: why}], manifestStatuses: [{identifier: {}, status: {readyReplicas: 2}, health: Healthy}]}})");
  EXPECT_EQ(base::CanonicalText(AggregatedStatusOf({&applied, &failed})),
            R"([{"appliedMessage":"why","clusterName":"m1","health":"Unknown"},)"
            R"({"applied":true,"clusterName":"m2","health":"Healthy","status":{"readyReplicas":2}}])");
}

TEST(NativeInterpreterTest, A01NumbersAddUp) {
  const Json object =
      Yaml("{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, status: {observedGeneration: 1}}");
  const auto item = [](const char* cluster, int template_generation) {
    return Yaml(std::string("{clusterName: ") + cluster +
                ", status: {replicas: 1, readyReplicas: 1, currentReplicas: 1, updatedReplicas: 1, availableReplicas: 1, "
                "generation: 5, "
                "observedGeneration: 5, resourceTemplateGeneration: " +
                std::to_string(template_generation) + "}}");
  };
  const auto both = NativeAggregate(object, {item("m1", 2), item("m2", 2)});
  ASSERT_TRUE(both);
  EXPECT_EQ(
      base::CanonicalText(*both),
      R"({"availableReplicas":2,"currentReplicas":2,"observedGeneration":2,"readyReplicas":2,"replicas":2,"updatedReplicas":2})");
  const auto behind = NativeAggregate(object, {item("m1", 2), item("m2", 1)});
  ASSERT_TRUE(behind);
  EXPECT_EQ(base::FindInt(*behind, {"observedGeneration"}), 1) << "one has not caught up";
  Json again = object;
  base::Ensure(again, {"status"}) = *both;
  EXPECT_EQ(*NativeAggregate(again, {item("m1", 2), item("m2", 2)}), *both);
  EXPECT_FALSE(NativeAggregate(Yaml("{apiVersion: v1, kind: ConfigMap}"), {}));
}

TEST(NativeInterpreterTest, A02Health) {
  const auto healthy = [](int observed, int updated, int available) {
    return *NativeHealth(
        Yaml("{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3}, status: "
             "{observedGeneration: " +
             std::to_string(observed) + ", updatedReplicas: " + std::to_string(updated) +
             ", availableReplicas: " + std::to_string(available) + "}}"));
  };
  EXPECT_FALSE(healthy(1, 3, 3));
  EXPECT_FALSE(healthy(2, 2, 2));
  EXPECT_FALSE(healthy(2, 3, 2));
  EXPECT_TRUE(healthy(2, 3, 3));
  EXPECT_FALSE(NativeHealth(Yaml("{apiVersion: v1, kind: ConfigMap}")));
}

TEST(NativeInterpreterTest, ReplicasRequestsAndWhatMembersKeep) {
  const Json web =
      Yaml(R"({apiVersion: apps/v1, kind: Deployment, metadata: {namespace: d}, spec: {replicas: 3, template: {spec: {
      containers: [{resources: {requests: {cpu: 100m}}}, {resources: {requests: {cpu: '1', memory: 1Gi}}}]}}}})");
  const auto demand = NativeReplicas(web);
  ASSERT_TRUE(demand);
  EXPECT_EQ(demand->replicas, 3);
  EXPECT_EQ(base::CanonicalText(demand->requirements), R"({"namespace":"d","resourceRequest":{"cpu":"1100m","memory":"1Gi"}})");
  EXPECT_EQ(NativeReplicas(Yaml("{apiVersion: apps/v1, kind: StatefulSet, spec: {}}"))->replicas, 1);
  EXPECT_FALSE(NativeReplicas(Yaml("{apiVersion: example.org/v1, kind: Deployment}")));
  Json job = Yaml("{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4}}");
  EXPECT_TRUE(NativeRevise(job, 2));
  EXPECT_EQ(base::FindInt(job, {"spec", "parallelism"}), 2);
  Json service = Yaml("{apiVersion: v1, kind: Service, spec: {}}");
  NativeRetain(service, Yaml("{spec: {clusterIP: 10.0.0.1, type: NodePort}}"));
  EXPECT_EQ(base::CanonicalText(service), R"({"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"10.0.0.1"}})");
}

class ScheduleTest : public ::testing::Test {
 protected:
  std::string Schedule(const std::string& spec) {
    std::vector<const Json*> pointers;
    for (const Json& cluster : clusters_) pointers.push_back(&cluster);
    const auto shares = ScheduleBinding(Yaml("{spec: " + spec + "}"), pointers);
    if (!shares) return shares.error().message();
    std::string text;
    for (const Share& share : *shares) text += share.name + ":" + std::to_string(share.replicas) + " ";
    return text;
  }
  std::vector<Json> clusters_{Yaml("{metadata: {name: m1, labels: {big: 'yes'}}}"), Yaml("{metadata: {name: m2}}"),
                              Yaml("{metadata: {name: m3}, spec: {taints: [{key: k, effect: NoSchedule}]}}")};
};

TEST_F(ScheduleTest, WeightsAreTheLargestOfTheRulesThatMatch) {
  const std::string rules = R"(weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [m1, m2]}, weight: 1},
      {targetCluster: {labelSelector: {matchLabels: {big: 'yes'}}}, weight: 2}]})";
  EXPECT_EQ(Schedule("{replicas: 3, placement: {replicaScheduling: {replicaSchedulingType: Divided, " + rules + "}}}"),
            "m1:2 m2:1 ")
      << "D07";
}

TEST_F(ScheduleTest, WithoutWeightsAllCountTheSame) {
  clusters_[2] = Yaml("{metadata: {name: m3}}");
  const std::string divided = "replicaSchedulingType: Divided, replicaDivisionPreference: Weighted";
  EXPECT_EQ(Schedule("{replicas: 12, placement: {replicaScheduling: {" + divided + "}}}"), "m1:4 m2:4 m3:4 ") << "D04";
  EXPECT_EQ(Schedule("{replicas: 3, placement: {replicaScheduling: {" + divided + R"(, weightPreference: {staticWeightList: [
      {targetCluster: {clusterNames: [m2]}, weight: 5}]}}}})"),
            "m2:3 ")
      << "D06";
}

TEST_F(ScheduleTest, ClusterIHasIReplicas) {
  clusters_.clear();
  std::string weights, expected;
  for (int i = 1; i <= 6; ++i) {
    const std::string name = "m" + std::to_string(i), weight = std::to_string(i);
    clusters_.push_back(Yaml("{metadata: {name: " + name + "}}"));
    weights += (i > 1 ? ", " : "") + ("{targetCluster: {clusterNames: [" + name + "]}, weight: " + weight + "}");
    expected += name + ":" + weight + " ";
  }
  EXPECT_EQ(Schedule("{replicas: 21, placement: {replicaScheduling: {replicaSchedulingType: Divided, weightPreference: "
                     "{staticWeightList: [" +
                     weights + "]}}}}"),
            expected)
      << "E01";
}

TEST_F(ScheduleTest, TaintsKeepOutWhatComesAndLeaveWhatIsThere) {
  EXPECT_EQ(Schedule("{replicas: 2}"), "m1:2 m2:2 ");
  EXPECT_EQ(Schedule("{replicas: 2, clusters: [{name: m3, replicas: 2}]}"), "m1:2 m2:2 m3:2 ");
  EXPECT_EQ(Schedule("{replicas: 2, placement: {clusterTolerations: [{operator: Exists}]}}"), "m1:2 m2:2 m3:2 ");
}

TEST_F(ScheduleTest, GroupsAreTriedInTheirOrder) {
  EXPECT_EQ(Schedule(R"({replicas: 1, placement: {clusterAffinities: [{affinityName: a, clusterNames: [m9]},
      {affinityName: b, clusterNames: [m2]}]}})"),
            "m2:1 ");
  EXPECT_EQ(Schedule("{replicas: 1, placement: {clusterAffinity: {clusterNames: [m9]}}}"), "no clusters available to schedule");
}

TEST_F(ScheduleTest, WithoutReplicasEveryClusterHasIt) {
  EXPECT_EQ(Schedule("{placement: {replicaScheduling: {replicaSchedulingType: Divided}}}"), "m1:0 m2:0 ");
}

TEST_F(ScheduleTest, DynamicDivisionStaysUnlessSomebodyAsks) {
  const std::string dynamic =
      "replicas: 4, placement: {replicaScheduling: {replicaSchedulingType: Divided, weightPreference: {dynamicWeight: "
      "AvailableReplicas}}}";
  EXPECT_EQ(Schedule("{clusters: [{name: m1, replicas: 3}, {name: m2, replicas: 1}], " + dynamic + "}"), "m1:3 m2:1 ");
  EXPECT_EQ(
      Schedule(
          "{rescheduleTriggeredAt: '2026-01-01T00:00:00Z', clusters: [{name: m1, replicas: 3}, {name: m2, replicas: 1}], " +
          dynamic + "}"),
      "m1:2 m2:2 ");
}

TEST_F(ScheduleTest, WhereItIsDoneOnceOnlyAnotherPlacementOrNumberOrAQuestionIsDue) {
  const std::string placement = "{clusterAffinity: {clusterNames: [m1, m2]}}";
  const auto binding = [&](const std::string& spec) {
    Json made = Yaml("{spec: {replicas: 2, placement: " + placement + spec + "}}");
    base::Ensure(made, {"metadata", "annotations", kAppliedPlacement}) = base::ToText(Yaml(placement));
    return made;
  };
  const std::string both = ", clusters: [{name: m1, replicas: 2}, {name: m2, replicas: 2}]";
  EXPECT_FALSE(IsDue(binding(both)));
  EXPECT_FALSE(IsDue(binding(", clusters: [{name: m1, replicas: 2}]"))) << "one that was left out stays out";
  EXPECT_TRUE(IsDue(binding(", clusters: [{name: m1, replicas: 1}]")));
  EXPECT_TRUE(IsDue(binding("")));
  EXPECT_TRUE(IsDue(binding(both + ", rescheduleTriggeredAt: '2026-01-01T00:00:00Z'")));
  Json changed = binding(both);
  base::Ensure(changed, {"spec", "placement", "clusterTolerations"}) = base::JsonArray{Yaml("{key: k, operator: Exists}")};
  EXPECT_TRUE(IsDue(changed));
}

TEST_F(ScheduleTest, EvictionTakesWhatThePlacementDoesNotTolerate) {
  const Json ready = Yaml("{metadata: {name: m1}, spec: {taints: [{key: k, effect: NoSchedule}]}}");
  const Json tainted = Yaml("{metadata: {name: m2}, spec: {taints: [{key: k, effect: NoExecute}]}}");
  const Json away = Yaml("{metadata: {name: m3}, status: {conditions: [{type: Ready, status: 'False'}]}}");
  const auto left = [&](const std::string& tolerations) {
    const Json binding = Yaml(
        "{spec: {clusters: [{name: m1}, {name: m2}, {name: m3}, {name: m4}], placement: {clusterTolerations: " + tolerations +
        "}}}");
    std::string names;
    for (const Share& share : WithoutEvicted(binding, {&ready, &tainted, &away}, {}, {}).targets) names += share.name + " ";
    return names;
  };
  EXPECT_EQ(left("[]"), "m1 m4 ");
  EXPECT_EQ(left("[{key: k, operator: Exists}]"), "m1 m2 m4 ");
  EXPECT_EQ(left("[{operator: Exists, effect: NoExecute}]"), "m1 m2 m3 m4 ");
}

TEST_F(ScheduleTest, EvictionWaitsForAsLongAsTheTaintIsTolerated) {
  using namespace std::chrono_literals;
  const base::Time begin = *base::ParseTime("2026-01-01T00:00:00Z");
  const Json dated =
      Yaml("{metadata: {name: m1}, spec: {taints: [{key: k, effect: NoExecute, timeAdded: '2026-01-01T00:00:00Z'}]}}");
  const Json undated = Yaml("{metadata: {name: m2}, spec: {taints: [{key: k, effect: NoExecute}]}}");
  const TaintsSeen seen{{TaintKey(undated, EvictingTaints(undated).front()), begin + 10s}};
  const auto at = [&](const std::string& tolerations, base::Duration after) {
    const Json binding =
        Yaml("{spec: {clusters: [{name: m1}, {name: m2}], placement: {clusterTolerations: " + tolerations + "}}}");
    const Remaining remaining = WithoutEvicted(binding, {&dated, &undated}, begin + after, seen);
    std::string text;
    for (const Share& share : remaining.targets) text += share.name + " ";
    return text + (remaining.next ? base::FormatDuration(*remaining.next - begin) : "");
  };
  const std::string limited = "[{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]";
  EXPECT_EQ(at(limited, 20s), "m1 m2 30s");
  EXPECT_EQ(at(limited, 30s), "m2 40s");
  EXPECT_EQ(at(limited, 40s), "");
  EXPECT_EQ(at("[{key: k, operator: Exists, effect: NoExecute}]", 1h), "m1 m2 ") << "without a limit it is never";
  EXPECT_EQ(at("[{operator: Exists}, {key: k, operator: Exists, tolerationSeconds: 1}]", 1h), "m1 m2 ")
      << "the first that fits";
}

}  // namespace
}  // namespace evenkeel::embedded::federation::bindings_test
