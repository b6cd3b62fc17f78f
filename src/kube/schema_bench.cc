#include <benchmark/benchmark.h>

#include "kube/defaulting.h"
#include "kube/openapi.h"
#include "kube/protobuf.h"
#include "kube/resource.h"
#include "kube/schema.h"
#include "kube/validation.h"

namespace evenkeel::kube {
namespace {

/// About 2 KB: what a Deployment's pod looks like on the wire.
base::Json UsualPod() {
  return *base::ParseJson(R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-7d4b9c6f5-","namespace":"default",
    "labels":{"app":"web","pod-template-hash":"7d4b9c6f5","tier":"frontend"},"annotations":{"example.com/owner":"team-a"},
    "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d4b9c6f5","uid":"0f9b1f9e-3a55-4b9a-8d76-6a5e9f3b2c1d",
    "controller":true,"blockOwnerDeletion":true}]},"spec":{"serviceAccountName":"default","volumes":[{"name":"config","configMap":{"name":"web"}},
    {"name":"tmp","emptyDir":{}}],"containers":[{"name":"web","image":"registry.example.com/web:1.27","command":["/web","--port=8080"],
    "ports":[{"name":"http","containerPort":8080},{"name":"metrics","containerPort":9090}],"env":[{"name":"MODE","value":"production"},
    {"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"TOKEN","valueFrom":{"secretKeyRef":{"name":"web","key":"token"}}}],
    "resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"cpu":"1","memory":"512Mi"}},
    "volumeMounts":[{"name":"config","mountPath":"/etc/web"},{"name":"tmp","mountPath":"/tmp"}],
    "livenessProbe":{"httpGet":{"path":"/healthz","port":"http"},"periodSeconds":20},"readinessProbe":{"httpGet":{"path":"/ready","port":"http"}},
    "securityContext":{"runAsNonRoot":true,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}},
    {"name":"proxy","image":"registry.example.com/proxy:2","ports":[{"containerPort":15001}],"resources":{"requests":{"cpu":"50m"}}}],
    "tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},
    {"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
    "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway",
    "labelSelector":{"matchLabels":{"app":"web"}}}]}})",
                          "pod");
}

void BM_PodThroughItsSchema(benchmark::State& state) {
  const Resource& pods = resources::Pods();
  const base::Json source = UsualPod();
  for (auto _ : state) {
    state.PauseTiming();
    base::Json pod = source;
    state.ResumeTiming();
    ApplyKindDefaults(pods, pod);
    Prune(pod, *pods.schema, nullptr);
    Normalize(pod, *pods.schema);
    benchmark::DoNotOptimize(Validate(pod, *pods.schema));
  }
}
BENCHMARK(BM_PodThroughItsSchema);

void BM_PodFullyValidated(benchmark::State& state) {
  base::Json pod = UsualPod();
  ApplyKindDefaults(resources::Pods(), pod);
  for (auto _ : state) benchmark::DoNotOptimize(ValidateObject(resources::Pods(), pod));
}
BENCHMARK(BM_PodFullyValidated);

void BM_PodToProtobuf(benchmark::State& state) {
  base::Json pod = UsualPod();
  ApplyKindDefaults(resources::Pods(), pod);
  for (auto _ : state) benchmark::DoNotOptimize(EncodeProtobuf(*resources::Pods().schema, pod));
}
BENCHMARK(BM_PodToProtobuf);

void BM_PodFromProtobuf(benchmark::State& state) {
  base::Json pod = UsualPod();
  ApplyKindDefaults(resources::Pods(), pod);
  const std::string bytes = EncodeProtobuf(*resources::Pods().schema, pod);
  for (auto _ : state) benchmark::DoNotOptimize(DecodeProtobufKind(*resources::Pods().schema, "v1", "Pod", bytes));
}
BENCHMARK(BM_PodFromProtobuf);

void BM_PodFromJson(benchmark::State& state) {
  base::Json pod = UsualPod();
  ApplyKindDefaults(resources::Pods(), pod);
  const std::string text = base::ToText(pod);
  for (auto _ : state) benchmark::DoNotOptimize(base::ParseJson(text, "pod"));
}
BENCHMARK(BM_PodFromJson);

void BM_OpenApiOfAllBuiltInKinds(benchmark::State& state) {
  std::vector<const Resource*> all;
  for (const Resource& resource : BuiltInResources()) all.push_back(&resource);
  for (auto _ : state) benchmark::DoNotOptimize(OpenApiV2Protobuf(OpenApiV2(all)));
}
BENCHMARK(BM_OpenApiOfAllBuiltInKinds)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::kube
