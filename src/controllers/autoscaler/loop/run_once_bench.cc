// One whole loop, as the live controller runs it: the snapshot is current, the provider has answered, the state is that of a
// process that has just taken the cluster over. The scenarios are those that upstream's users measure and complain about.
#include <benchmark/benchmark.h>
#include <spdlog/fmt/fmt.h>

#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/autoscaler/loop/run_once.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::testing::ClaimMaker;
using scheduling::testing::NodeMaker;
using scheduling::testing::Parse;
using scheduling::testing::PodMaker;
using scheduling::testing::SliceMaker;

const base::Time kNow{std::chrono::hours(500'000)};
constexpr int64_t kGroupMax = 20'000;
constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr char kHost[] = "kubernetes.io/hostname";

class World {
 public:
  explicit World(const Options& options) : options_(options), objects_(options, mirror_) {}

  /// A group of nodes of 10 cores and 40 GiB in a zone of its own, one of three.
  void AddGroup(int group) {
    const std::string name = fmt::format("group-{}", group), zone = fmt::format("zone-{}", group % 3);
    Json object = Parse(R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup"})");
    base::Ensure(object, {"metadata", "name"}) = name;
    base::Ensure(object, {"spec", "maxSize"}) = kGroupMax;
    base::Ensure(object, {"spec", "template", "metadata", "labels"}) = JsonObject{{kZone, zone}};
    base::Ensure(object, {"spec", "template", "status", "allocatable"}) =
        JsonObject{{"cpu", "10"}, {"memory", "40Gi"}, {"pods", "110"}};
    group_objects_.push_back({object, ""});
  }
  void AddNode(const std::string& name, int group) {
    NodeMaker node(name, "10", "40Gi");
    node.Label(kNodeGroupLabel, fmt::format("group-{}", group)).Zone(fmt::format("zone-{}", group % 3));
    node.json.as_object()["kind"] = "Node";
    base::Ensure(node.json, {"spec", "providerID"}) = "bench://" + name;
    base::Ensure(node.json, {"status", "conditions"}) =
        JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", "2026-01-01T00:00:00Z"}}};
    mirror_.Upsert(node.json);
  }
  void AddReplicaSet(const std::string& name, int64_t replicas) {
    Json object = Parse(R"({"apiVersion": "apps/v1", "kind": "ReplicaSet"})");
    base::Ensure(object, {"metadata"}) = JsonObject{{"name", name}, {"namespace", "default"}, {"uid", "rs-" + name}};
    base::Ensure(object, {"spec", "replicas"}) = replicas;
    mirror_.Upsert(object);
  }
  /// owner: a ReplicaSet; "" for none. node: "" for a pod that its scheduler has found no place for.
  void AddPod(PodMaker pod, const std::string& owner, const std::string& node) {
    Json& json = pod.json;
    json.as_object()["kind"] = "Pod";
    if (!owner.empty()) {
      base::Ensure(json, {"metadata", "ownerReferences"}) = JsonArray{JsonObject{
          {"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"name", owner}, {"uid", "rs-" + owner}, {"controller", true}}};
    }
    if (!node.empty()) base::Ensure(json, {"spec", "nodeName"}) = node;
    base::Ensure(json, {"status", "phase"}) = node.empty() ? "Pending" : "Running";
    base::Ensure(json, {"status", "conditions"}) =
        JsonArray{node.empty() ? JsonObject{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}
                               : JsonObject{{"type", "PodScheduled"}, {"status", "True"}}};
    mirror_.Upsert(json);
  }
  /// `nodes` in `groups` with `pods` pods each, of 50 ReplicaSets.
  void Fill(int nodes, int groups, int pods, const std::string& cpu, const std::string& memory) {
    for (int group = 0; group < groups; ++group) AddGroup(group);
    for (int set = 0; set < 50; ++set) AddReplicaSet(fmt::format("old-{}", set), int64_t{nodes} * pods / 50);
    for (int i = 0; i < nodes; ++i) {
      const std::string node = fmt::format("node-{:05}", i);
      AddNode(node, i % groups);
      for (int p = 0; p < pods; ++p) {
        const std::string set = fmt::format("old-{}", (i * pods + p) % 50);
        AddPod(PodMaker(fmt::format("pod-{}-{}", i, p), cpu, memory).Labels("app=" + set), set, node);
      }
    }
  }
  /// 20,000 pods of 50 deployments: 1200m, 1300m ... 2100m.
  void AddBurst(bool affinity) {
    for (int deployment = 0; deployment < 50; ++deployment) {
      const std::string app = fmt::format("app-{}", deployment);
      AddReplicaSet(app, 400);
      for (int i = 0; i < 400; ++i) {
        PodMaker pod(fmt::format("{}-{}", app, i), fmt::format("{}m", 1200 + 100 * (deployment % 10)), "512Mi");
        pod.Labels("app=" + app);
        if (affinity && deployment % 2 == 0) pod.AntiAffinity(kHost, "app=" + app);
        if (affinity && deployment % 2 == 1) pod.Spread(1, kZone, "app=" + app);
        AddPod(std::move(pod), app, "");
      }
    }
  }

  /// `nodes` of one group with `devices` each, and on each of them `pods` that have `each` of those.
  void FillWithDevices(int nodes, int devices, int pods, int each) {
    AddGroup(0);
    AddReplicaSet("with-devices", int64_t{nodes} * pods);
    mirror_.Upsert("DeviceClass", scheduling::testing::DeviceClassOf("gpu"));
    for (int i = 0; i < nodes; ++i) {
      const std::string node = fmt::format("node-{:05}", i);
      AddNode(node, 0);
      mirror_.Upsert("ResourceSlice", SliceMaker(node).Devices(devices).json);
      for (int p = 0; p < pods; ++p) {
        std::vector<std::string> has;
        for (int d = 0; d < each; ++d) has.push_back(fmt::format("gpu-{}", p * each + d));
        AddPodWithDevices(fmt::format("pod-{}-{}", i, p), each, node, has);
      }
    }
  }
  /// With a claim of its own for `count` devices; on a node it has those of these names.
  void AddPodWithDevices(const std::string& name, int count, const std::string& node, const std::vector<std::string>& has) {
    ClaimMaker claim(name + "-gpus", count);
    claim.Of(name);
    if (!node.empty()) claim.On(node, {has.begin(), has.end()}, {name});
    mirror_.Upsert("ResourceClaim", claim.json);
    AddPod(scheduling::testing::WithOwnClaim(PodMaker(name, "300m", "512Mi"), name + "-gpus"), "with-devices", node);
  }

  void Prepare() {
    groups_ = *DecodeNodeGroups(group_objects_, objects_.Nodes());
    groups_.revision = 1;
    expanders_.emplace(*ExpanderChain::Make(options_.expander));
  }

  LoopPlan Run(AutoscalerState& state, providers::NodeGroups&& groups, base::Time now = kNow) {
    base::Random random(1);
    LoopRequest request;
    request.now = now;
    request.clock = &base::SystemClock();
    LoopRun loop(objects_, std::move(groups), options_, *expanders_, state, random, request);
    while (loop.Next() != nullptr) loop.Answer({});
    return loop.Take();
  }

  /// The time of the loops alone; what goes in and comes out is made and destroyed beside it.
  void Measure(benchmark::State& bench) {
    Prepare();
    double added = 0, removable = 0;
    for (auto _ : bench) {
      bench.PauseTiming();
      auto state = std::make_unique<AutoscalerState>(options_);
      state->cleaned_up = true;
      providers::NodeGroups groups = groups_;
      bench.ResumeTiming();
      auto plan = std::make_unique<LoopPlan>(Run(*state, std::move(groups)));
      bench.PauseTiming();
      added = 0;
      for (const GroupChange& change : plan->changes) {
        if (change.kind == GroupChange::Kind::kIncreaseSize) added += static_cast<double>(change.delta);
      }
      removable = static_cast<double>(plan->scale_down.unneeded.size());
      plan.reset();
      state.reset();
      bench.ResumeTiming();
    }
    bench.counters["added"] = added;
    bench.counters["removable"] = removable;
  }

  /// Loops of one process, 10 s apart; before each of them `events` of pods: those of every other node end and come again.
  void MeasureInTurn(benchmark::State& bench, int events) {
    Prepare();
    AutoscalerState state(options_);
    state.cleaned_up = true;
    base::Time now = kNow;
    double ran = 0;
    const auto loop = [&](bool timed) {
      providers::NodeGroups groups = groups_;
      if (timed) bench.ResumeTiming();
      LoopPlan plan = Run(state, std::move(groups), now += std::chrono::seconds(10));
      if (timed) bench.PauseTiming();
      ran += timed && plan.stages_ran ? 1 : 0;
      state.last_loop.Keep(std::move(plan));
    };
    for (int i = 0; i < 3; ++i) loop(false);
    for (auto _ : bench) {
      bench.PauseTiming();
      for (int i = 0; i < events; i += 2) Renew(i);
      loop(true);
      bench.ResumeTiming();
    }
    bench.counters["added"] = 0;
    bench.counters["removable"] = static_cast<double>(state.scale_down.unneeded.size());
    bench.counters["ran"] = ran / static_cast<double>(bench.iterations());
  }

 private:
  /// Two events: a pod of the `i`th node ends, and one comes in its place.
  void Renew(int i) {
    const std::string name = fmt::format("pod-{}-{}", i, 0);
    mirror_.Remove("Pod", "default/" + name);
    AddPod(PodMaker(name, "300m", "512Mi").Labels("app=old-0"), "old-0", fmt::format("node-{:05}", i));
  }

  const Options options_;
  scheduling::ClusterMirror mirror_;
  ClusterObjects objects_;
  std::vector<kube::ManifestObject> group_objects_;
  providers::NodeGroups groups_;
  std::optional<ExpanderChain> expanders_;
};

Options BenchOptions() {
  Options options;
  options.max_nodes_per_scaleup = 0;
  options.max_groups_per_loop = 4;
  return options;
}

void BM_Up(benchmark::State& bench) {
  World world(BenchOptions());
  world.AddGroup(0);
  world.AddNode("node", 0);
  for (int i = 0; i < 50; ++i) world.AddPod(PodMaker(fmt::format("full-{}", i), "200m", "1Mi"), "", "node");
  for (int i = 0; i < 10'000; ++i) world.AddPod(PodMaker(fmt::format("pending-{}", i), "200m", "1Mi"), "", "");
  world.Measure(bench);
}
BENCHMARK(BM_Up)->Unit(benchmark::kMillisecond);

void BM_Down(benchmark::State& bench) {
  Options options = BenchOptions();
  options.max_scale_down_parallelism = options.max_drain_parallelism = 2000;
  World world(options);
  world.Fill(400, 1, 40, "100m", "400Mi");
  world.Measure(bench);
}
BENCHMARK(BM_Down)->Unit(benchmark::kMillisecond);

void BM_Steady5k(benchmark::State& bench) {
  World world(BenchOptions());
  world.Fill(5000, 10, 30, "300m", "1200Mi");
  world.Measure(bench);
}
BENCHMARK(BM_Steady5k)->Unit(benchmark::kMillisecond);

void BM_Low5k(benchmark::State& bench) {
  Options options = BenchOptions();
  options.max_scale_down_parallelism = options.max_drain_parallelism = 1000;
  World world(options);
  world.Fill(5000, 10, 30, "100m", "400Mi");
  world.Measure(bench);
}
BENCHMARK(BM_Low5k)->Unit(benchmark::kMillisecond);

void BM_Burst5k(benchmark::State& bench) {
  World world(BenchOptions());
  world.Fill(5000, 10, 30, "300m", "512Mi");
  world.AddBurst(false);
  world.Measure(bench);
}
BENCHMARK(BM_Burst5k)->Unit(benchmark::kMillisecond);

void BM_Affinity5k(benchmark::State& bench) {
  World world(BenchOptions());
  world.Fill(5000, 10, 30, "300m", "512Mi");
  world.AddBurst(true);
  world.Measure(bench);
}
BENCHMARK(BM_Affinity5k)->Unit(benchmark::kMillisecond);

void BM_Huge(benchmark::State& bench) {
  World world(BenchOptions());
  world.Fill(15'000, 30, 30, "300m", "512Mi");
  world.AddBurst(false);
  world.Measure(bench);
}
BENCHMARK(BM_Huge)->Unit(benchmark::kMillisecond);

void BM_Unchanged5k(benchmark::State& bench) {
  World world(BenchOptions());
  world.Fill(5000, 10, 30, "300m", "1200Mi");
  world.MeasureInTurn(bench, 0);
}
BENCHMARK(BM_Unchanged5k)->Unit(benchmark::kMillisecond);

void BM_Unchanged15k(benchmark::State& bench) {
  World world(BenchOptions());
  world.Fill(15'000, 30, 30, "300m", "512Mi");
  world.MeasureInTurn(bench, 0);
}
BENCHMARK(BM_Unchanged15k)->Unit(benchmark::kMillisecond);

void BM_Events15k(benchmark::State& bench) {
  World world(BenchOptions());
  world.Fill(15'000, 30, 30, "300m", "512Mi");
  world.MeasureInTurn(bench, 1000);
}
BENCHMARK(BM_Events15k)->Unit(benchmark::kMillisecond);

void BM_Devices(benchmark::State& bench) {
  World world(BenchOptions());
  world.FillWithDevices(500, 8, 4, 2);
  for (int i = 0; i < 1000; ++i) world.AddPodWithDevices(fmt::format("pending-{}", i), 2, "", {});
  world.Measure(bench);
}
BENCHMARK(BM_Devices)->Unit(benchmark::kMillisecond);

void BM_DevicesDown(benchmark::State& bench) {
  Options options = BenchOptions();
  options.max_scale_down_parallelism = options.max_drain_parallelism = 2000;
  World world(options);
  world.FillWithDevices(800, 10, 4, 1);
  world.Measure(bench);
}
BENCHMARK(BM_DevicesDown)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::controllers::autoscaler
