// What binding pods costs an embedded cluster: the scheduler, the API's write and the events that follow.
#include <benchmark/benchmark.h>

#include <memory>

#include "base/executor.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/store/memory_store.h"
#include "embedded/workloads/cluster/workloads.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

struct World {
  World() {
    EVENKEEL_CHECK(api.Start().has_value());
    client = apiserver::NewInProcessClient(api, {.name = "admin", .groups = {"system:masters"}});
  }
  void AddNode(int number) {
    const JsonObject amounts{{"cpu", "32"}, {"memory", "128Gi"}, {"pods", "110"}};
    Json node = kube::NewObject(kube::resources::Nodes(), "", "node-" + std::to_string(number));
    base::Ensure(node, {"status", "allocatable"}) = amounts;
    EVENKEEL_CHECK(client->Create(kube::resources::Nodes(), node).has_value());
  }
  void AddPod(int number, const char* cpu) {
    Json pod = kube::NewObject(kube::resources::Pods(), "default", "pod-" + std::to_string(number));
    const JsonObject requests{{"cpu", cpu}, {"memory", "256Mi"}};
    base::Ensure(pod, {"spec", "containers"}) =
        JsonArray{JsonObject{{"name", "c"}, {"image", "i"}, {"resources", JsonObject{{"requests", requests}}}}};
    EVENKEEL_CHECK(client->Create(kube::resources::Pods(), pod).has_value());
  }
  void Start() {
    WorkloadsOptions options;
    for (const std::string& name : Workloads::ControllerNames()) {
      if (name != "scheduler") options.disabled.insert(name);
    }
    workloads = std::make_unique<Workloads>(*client, executor, base::Random(3), options);
    workloads->Start();
    executor.RunFor(std::chrono::seconds(5));
  }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  apiserver::Api api{
      {.name = "bench", .store = store.get(), .clock = &executor.clock(), .random = base::Random(7), .logs = nullptr}};
  std::unique_ptr<client::Client> client;
  std::unique_ptr<Workloads> workloads;
};

/// Pods that fit; the time is per pod.
void BindPods(benchmark::State& state) {
  constexpr int kPods = 1000;
  World world;
  for (int i = 0; i < state.range(0); ++i) world.AddNode(i);
  world.Start();
  int next = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < kPods; ++i) world.AddPod(next++, "500m");
    state.ResumeTiming();
    world.executor.RunFor(std::chrono::seconds(30));
  }
  state.counters["per_pod"] = benchmark::Counter(static_cast<double>(state.iterations() * kPods),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BindPods)->Arg(100)->Arg(5000)->Iterations(3)->Unit(benchmark::kMillisecond);

/// Pods that fit nowhere: tried, told why, and tried again when nodes come that do not help.
void TellWhyNot(benchmark::State& state) {
  constexpr int kPods = 500;
  World world;
  for (int i = 0; i < state.range(0); ++i) world.AddNode(i);
  world.Start();
  int next = 0, node = static_cast<int>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < kPods; ++i) world.AddPod(next++, "64");
    state.ResumeTiming();
    world.executor.RunFor(std::chrono::seconds(20));
    for (int i = 0; i < 20; ++i) {
      world.AddNode(node++);
      world.executor.RunFor(std::chrono::seconds(1));
    }
  }
  state.counters["per_pod"] = benchmark::Counter(static_cast<double>(state.iterations() * kPods),
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(TellWhyNot)->Arg(1000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::embedded::workloads
