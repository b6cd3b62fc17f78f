#include <benchmark/benchmark.h>
#include <malloc.h>

#include "kube/forms/defaulting.h"
#include "kube/forms/openapi.h"
#include "kube/forms/protobuf.h"
#include "kube/resource.h"
#include "kube/schema/schema.h"
#include "kube/validation/validation.h"

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
  for (auto _ : state) {
    OpenApiDocument document(OpenApiForm::kV2Protobuf);
    for (const Resource& resource : BuiltInResources()) document.Add(resource);
    size_t size = 0;
    document.Write([&size](std::string_view piece) { size += piece.size(); });
    benchmark::DoNotOptimize(size);
  }
}
BENCHMARK(BM_OpenApiOfAllBuiltInKinds)->Unit(benchmark::kMillisecond);

/// About 60 KB, as those of large operators are: 400 fields, nested, with descriptions.
base::Json LargeDefinitionSchema(int which) {
  const std::string description(90, static_cast<char>('a' + which % 26));
  base::JsonObject groups;
  for (int group = 0; group < 20; ++group) {
    base::JsonObject fields;
    for (int field = 0; field < 20; ++field) {
      base::JsonObject schema{{"type", field % 3 == 0 ? "integer" : "string"}, {"description", description}};
      if (field % 7 == 0) schema["minLength"] = 1;
      if (field % 10 == 1) schema["pattern"] = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
      fields["field" + std::to_string(field)] = std::move(schema);
    }
    groups["group" + std::to_string(group)] =
        base::JsonObject{{"type", "object"}, {"description", description}, {"properties", std::move(fields)}};
  }
  return base::JsonObject{
      {"type", "object"},
      {"properties", base::JsonObject{{"spec", base::JsonObject{{"type", "object"}, {"properties", std::move(groups)}}}}}};
}

void BM_SchemaOfALargeDefinition(benchmark::State& state) {
  const base::Json source = LargeDefinitionSchema(1);
  for (auto _ : state) {
    SchemaSet set;
    benchmark::DoNotOptimize(SchemaOfStored(source, set));
  }
  constexpr int kDefinitions = 100;
  std::vector<std::unique_ptr<SchemaSet>> sets;
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < kDefinitions; ++i) {
    sets.push_back(std::make_unique<SchemaSet>());
    SchemaOfStored(source, *sets.back());
  }
  state.counters["bytes"] = static_cast<double>(mallinfo2().uordblks - before) / kDefinitions;
  state.counters["text"] = static_cast<double>(base::ToText(source).size());
}
BENCHMARK(BM_SchemaOfALargeDefinition);

}  // namespace
}  // namespace evenkeel::kube
