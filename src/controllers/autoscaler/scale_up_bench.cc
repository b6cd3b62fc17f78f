// The scale-ups that upstream's users complain about, as one loop sees them: filter what fits, plan the rest.
#include <benchmark/benchmark.h>

#include "controllers/autoscaler/scale_up_testing.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::testing::kHost;
using scheduling::testing::kZone;
using scheduling::testing::PodMaker;
using testing::kMebibyte;
using testing::MakeNode;
using testing::MakePod;
using testing::ScaleUpCluster;

constexpr int64_t kGibibyte = 1024 * kMebibyte;
enum class Extra { kNone, kAffinity };

kube::Labels LabelsOf(const std::string& group, int zone) {
  return {{"pool", group}, {kZone, "zone-" + std::to_string(zone % 3)}};
}

kube::Node TenCores(const std::string& name, const std::string& group, int zone) {
  kube::Node node = MakeNode(name, 10'000, 40 * kGibibyte, LabelsOf(group, zone));
  node.capacity["pods"] = node.allocatable["pods"] = 110;
  return node;
}

/// `nodes` of 10 cores in `groups`, with 30 pods of 300m each.
void AddFullNodes(ScaleUpCluster& cluster, int nodes, int groups) {
  for (int group = 0; group < groups; ++group) cluster.AddGroup("group-" + std::to_string(group), 20'000);
  for (int i = 0; i < nodes; ++i) {
    const std::string name = "node-" + std::to_string(i), group = "group-" + std::to_string(i % groups);
    cluster.AddNode(TenCores(name, group, i % groups), group);
    for (int pod = 0; pod < 30; ++pod) {
      const int deployment = (i * 30 + pod) % 50;
      cluster.AddPod(MakePod("pod-" + std::to_string(i) + "-" + std::to_string(pod), 300, 512 * kMebibyte)
                         .Labels("app=old-" + std::to_string(deployment)),
                     "old-" + std::to_string(deployment), name);
    }
  }
}

void AddPending(ScaleUpCluster& cluster, Extra extra) {
  for (int deployment = 0; deployment < 50; ++deployment) {
    const std::string app = "app-" + std::to_string(deployment);
    const int64_t cpu = 1200 + 100 * (deployment % 10);
    for (int i = 0; i < 400; ++i) {
      PodMaker pod = MakePod(app + "-" + std::to_string(i), cpu, 512 * kMebibyte);
      pod.Labels("app=" + app);
      if (extra == Extra::kAffinity && deployment % 2 == 0) pod.AntiAffinity(kHost, "app=" + app);
      if (extra == Extra::kAffinity && deployment % 2 == 1) pod.Spread(1, kZone, "app=" + app);
      cluster.AddPending(pod, app);
    }
  }
}

void Run(benchmark::State& state, ScaleUpCluster& cluster) {
  cluster.options.max_nodes_per_scaleup = 0;
  cluster.options.max_groups_per_loop = 4;
  cluster.Templates();
  int64_t nodes = 0;
  PodHints hints;
  for (auto _ : state) {
    const scheduling::WhatIf fork(cluster.snapshot);
    PodIds pending = cluster.request.pods;
    std::swap(pending, cluster.request.pods);
    FilterOutSchedulable(cluster.view, hints, cluster.request.pods);
    const ScaleUpPlan plan = cluster.Plan();
    nodes = 0;
    for (const ScaleUpStep& step : plan.steps) {
      for (const GroupDelta& change : step.changes) nodes += change.to - change.from;
    }
    std::swap(pending, cluster.request.pods);
  }
  state.counters["nodes"] = static_cast<double>(nodes);
}

void OwnerlessPods(benchmark::State& state) {
  ScaleUpCluster cluster;
  cluster.AddGroup("group", 20'000);
  kube::Node node = MakeNode("node", 10'000, 40 * kGibibyte);
  cluster.AddNode(node, "group");
  for (int i = 0; i < 50; ++i) cluster.AddPod(MakePod("full-" + std::to_string(i), 200, 1), "", "node");
  for (int i = 0; i < 10'000; ++i) cluster.AddPending(MakePod("pending-" + std::to_string(i), 200, 1), "");
  Run(state, cluster);
}
BENCHMARK(OwnerlessPods)->Unit(benchmark::kMillisecond);

void Burst(benchmark::State& state) {
  ScaleUpCluster cluster;
  AddFullNodes(cluster, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  AddPending(cluster, Extra::kNone);
  Run(state, cluster);
}
BENCHMARK(Burst)->Args({5'000, 10})->Args({15'000, 30})->Unit(benchmark::kMillisecond);

void BurstWithAffinity(benchmark::State& state) {
  ScaleUpCluster cluster;
  AddFullNodes(cluster, 5'000, 10);
  AddPending(cluster, Extra::kAffinity);
  Run(state, cluster);
}
BENCHMARK(BurstWithAffinity)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::controllers::autoscaler
