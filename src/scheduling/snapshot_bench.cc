// The snapshot at the sizes of large clusters: cost of an event, of a fork, of placing 20,000 pods on 3,500 new nodes, and what
// 15,000 nodes with 450,000 pods take in memory.
#include <benchmark/benchmark.h>

#include <cstdio>

#include "scheduling/devices/devices_testing.h"

namespace evenkeel::scheduling {
namespace {

using testing::kHost;
using testing::kZone;
using testing::NodeMaker;
using testing::PodMaker;

constexpr int kDeployments = 50;

/// As a kubelet's node: a dozen labels, resources that most have none of.
NodeMaker BenchNode(const std::string& name, int zone) {
  NodeMaker node(name, "10", "64Gi", 110);
  node.Zone("zone-" + std::to_string(zone)).Label("kubernetes.io/arch", "amd64").Label("kubernetes.io/os", "linux");
  node.Label("node.kubernetes.io/instance-type", "m5.large")
      .Label("topology.kubernetes.io/region", "r1")
      .Label("pool", "general");
  node.Has("ephemeral-storage", "100Gi").Has("hugepages-2Mi", "0");
  return node;
}

/// As a Deployment's pod comes from the API: tolerations, a token volume, probes and the like that do not matter here.
PodMaker BenchPod(const std::string& name, int deployment, const std::string& cpu) {
  const std::string app = "app-" + std::to_string(deployment);
  PodMaker pod(name, cpu, "64Mi");
  pod.Labels("app=" + app + ",pod-template-hash=5d8f9c7b6d,team=shop");
  pod.Tolerates("node.kubernetes.io/not-ready", "Exists", "", "NoExecute");
  pod.Tolerates("node.kubernetes.io/unreachable", "Exists", "", "NoExecute");
  pod.Volume(R"({"name":"kube-api-access","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}})");
  pod.Spec("terminationGracePeriodSeconds", "30").Spec("serviceAccountName", "\"default\"");
  return pod;
}

std::string Named(const char* prefix, int number) { return prefix + std::to_string(number); }

/// `per_node` pods on each node, that take `cpu` each.
std::unique_ptr<Snapshot> Filled(int nodes, int per_node, const std::string& cpu) {
  auto snapshot = std::make_unique<Snapshot>();
  for (int i = 0; i < nodes; ++i) snapshot->UpsertNode(BenchNode(Named("node-", i), i % 3).json);
  for (int i = 0; i < nodes * per_node; ++i) {
    snapshot->UpsertPod(BenchPod(Named("running-", i), i % kDeployments, cpu).On(Named("node-", i % nodes)).json);
  }
  benchmark::DoNotOptimize(snapshot->order().size());
  return snapshot;
}

void BM_PodEvent(benchmark::State& state) {
  auto snapshot = Filled(5000, 30, "300m");
  std::vector<base::Json> events;
  for (int i = 0; i < 1000; ++i)
    events.push_back(BenchPod(Named("running-", i), i % kDeployments, "300m").On(Named("node-", i)).json);
  size_t next = 0;
  for (auto _ : state) {
    const base::Json& event = events[next++ % events.size()];
    if (state.range(0) == 0) {
      benchmark::DoNotOptimize(snapshot->UpsertPod(event));
    } else {
      snapshot->RemovePod(kube::KeyOf(event));
      benchmark::DoNotOptimize(snapshot->UpsertPod(event));
    }
  }
}
BENCHMARK(BM_PodEvent)->ArgName("replace")->Arg(0)->Arg(1);

void BM_NodeEvent(benchmark::State& state) {
  auto snapshot = Filled(5000, 30, "300m");
  const kube::Node plain = kube::Node::Decode(BenchNode("node-7", 1).json);
  const kube::Node cordoned = kube::Node::Decode(BenchNode("node-7", 1).Cordon().json);
  bool flip = false;
  for (auto _ : state) {
    flip = !flip && state.range(0) == 1;
    benchmark::DoNotOptimize(snapshot->UpsertNode(flip ? cordoned : plain));
  }
}
BENCHMARK(BM_NodeEvent)->ArgName("change")->Arg(0)->Arg(1);

/// Drains a node in a fork: 30 pods move elsewhere, the node goes, all is taken back.
void BM_ForkDrainRevert(benchmark::State& state) {
  auto snapshot = Filled(5000, 30, "100m");
  NodeId node = 0;
  for (auto _ : state) {
    WhatIf what_if(*snapshot);
    const std::vector<PodId> pods(snapshot->PodsOn(node).begin(), snapshot->PodsOn(node).end());
    for (const PodId pod : pods) snapshot->Unplace(pod);
    snapshot->DropNode(node);
    uint32_t start = snapshot->PositionOf(node) + 1;
    for (const PodId pod : pods) {
      const NodeId to = snapshot->FindNode(snapshot->ClassOf(pod), {.start = start});
      snapshot->Place(pod, to);
      start = snapshot->PositionOf(to);
    }
    node = (node + 1) % 5000;
  }
}
BENCHMARK(BM_ForkDrainRevert)->Unit(benchmark::kMicrosecond);

enum Rule : int64_t { kPlain, kHostAntiAffinity, kZoneSpread, kHalfHalf };

PodMaker Pending(int number, int deployment, int64_t rule) {
  PodMaker pod = BenchPod(Named("pending-", number), 1000 + deployment, std::to_string(1200 + deployment % 10 * 100) + "m");
  const std::string app = "app=app-" + std::to_string(1000 + deployment);
  const bool first_half = deployment < kDeployments / 2;
  if (rule == kHostAntiAffinity || (rule == kHalfHalf && first_half)) pod.AntiAffinity(kHost, app);
  if (rule == kZoneSpread || (rule == kHalfHalf && !first_half)) pod.Spread(1, kZone, app);
  return pod;
}

/// 20,000 pods of 50 deployments: looks for room on 5,000 full nodes, then on 3,500 new ones, and takes it all back.
void BM_Burst(benchmark::State& state) {
  auto snapshot = Filled(5000, 30, "330m");
  std::vector<std::vector<PodId>> pods(kDeployments);
  for (int i = 0; i < 20'000; ++i) {
    const int deployment = i % kDeployments;
    pods[static_cast<size_t>(deployment)].push_back(snapshot->UpsertPod(Pending(i, deployment, state.range(0)).json));
  }
  std::vector<TemplateId> templates;
  for (int zone = 0; zone < 3; ++zone)
    templates.push_back(snapshot->InternTemplate(kube::Node::Decode(BenchNode("t", zone).json)));
  int64_t placed = 0;
  for (auto _ : state) {
    WhatIf what_if(*snapshot);
    placed = 0;
    for (const auto& some : pods) {
      std::vector<Placement> placements;
      placed += snapshot->PlaceUpTo(snapshot->ClassOf(some.front()), some, {}, placements);
    }
    for (int i = 0; i < 3500; ++i) snapshot->AddNode(templates[static_cast<size_t>(i % 3)], Named("new-", i));
    for (const auto& some : pods) {
      std::vector<Placement> placements;
      placed += snapshot->PlaceUpTo(snapshot->ClassOf(some.front()), some, {.start = 5000}, placements);
    }
  }
  state.counters["placed"] = static_cast<double>(placed);
}
BENCHMARK(BM_Burst)->ArgName("rule")->DenseRange(kPlain, kHalfHalf)->Unit(benchmark::kMillisecond);

/// The same pods one after the other, each with a search of its own, as the embedded scheduler binds them.
void BM_BurstOneByOne(benchmark::State& state) {
  auto snapshot = Filled(3500, 0, "1");
  std::vector<PodId> pods;
  for (int i = 0; i < 20'000; ++i) pods.push_back(snapshot->UpsertPod(Pending(i, i % kDeployments, state.range(0)).json));
  int64_t placed = 0;
  for (auto _ : state) {
    WhatIf what_if(*snapshot);
    uint32_t start = 0;
    placed = 0;
    for (const PodId pod : pods) {
      const NodeId node = snapshot->FindNode(snapshot->ClassOf(pod), {.start = start});
      if (node == kNone) continue;
      snapshot->Place(pod, node);
      start = snapshot->PositionOf(node) + 1;
      ++placed;
    }
  }
  state.counters["placed"] = static_cast<double>(placed);
}
BENCHMARK(BM_BurstOneByOne)->ArgName("rule")->DenseRange(kPlain, kHalfHalf)->Unit(benchmark::kMillisecond);

/// 1,000 pods, each with a claim of its own for 2 devices, on 500 nodes that have 8: one after the other, as a scheduler binds
/// them. `cold`: no selector has been asked and no node looked at before.
void BM_ClaimsOfDevices(benchmark::State& state) {
  constexpr int kNodes = 500, kPods = 1000;
  int64_t placed = 0;
  std::unique_ptr<Snapshot> snapshot;
  std::vector<PodId> pods;
  for (auto _ : state) {
    if (snapshot == nullptr || state.range(0) != 0) {
      state.PauseTiming();
      snapshot = Filled(kNodes, 0, "1");
      pods.clear();
      snapshot->UpsertDevices(DeviceKind::kDeviceClass, testing::DeviceClassOf("gpu"));
      for (int i = 0; i < kNodes; ++i) {
        testing::SliceMaker slice(Named("node-", i));
        for (int k = 0; k < 8; ++k) {
          const std::string uuid = Named("GPU-", i * 8 + k);
          slice.Device(Named("gpu-", k), R"({"attributes":{"model":{"string":"H100"},"uuid":{"string":")" + uuid +
                                             R"("}},"capacity":{"memory":{"value":"80Gi"}}})");
        }
        snapshot->UpsertDevices(DeviceKind::kResourceSlice, slice.json);
      }
      for (int i = 0; i < kPods; ++i) {
        const std::string name = Named("pending-", i);
        testing::ClaimMaker claim(name);
        claim.Of(name).Requests(
            R"([{"name":"gpus","exactly":{"deviceClassName":"gpu","count":2,"selectors":[{"cel":{"expression":)"
            R"("device.attributes['gpu.example.com'].model == 'H100'"}}]}}])");
        snapshot->UpsertDevices(DeviceKind::kResourceClaim, claim.json);
        pods.push_back(snapshot->UpsertPod(testing::WithOwnClaim(BenchPod(name, i % kDeployments, "100m"), name).json));
      }
      benchmark::DoNotOptimize(snapshot->order().size());
      state.ResumeTiming();
    }
    WhatIf what_if(*snapshot);
    placed = 0;
    for (const PodId pod : pods) {
      const NodeId node = snapshot->FindNode(snapshot->ClassOf(pod));
      if (node == kNone) continue;
      snapshot->Place(pod, node);
      ++placed;
    }
  }
  state.counters["placed"] = static_cast<double>(placed);
}
BENCHMARK(BM_ClaimsOfDevices)->ArgName("cold")->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

double ResidentMebibytes() {
  long pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%ld %ld", &pages, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<double>(resident) * 4096 / 1024 / 1024 : 0;
}

void BM_Huge(benchmark::State& state) {
  for (auto _ : state) {
    const double before = ResidentMebibytes();
    auto snapshot = Filled(15'000, 30, "300m");
    state.counters["MiB"] = ResidentMebibytes() - before;
    state.counters["pods"] = static_cast<double>(snapshot->pod_count());
  }
}
BENCHMARK(BM_Huge)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace evenkeel::scheduling
