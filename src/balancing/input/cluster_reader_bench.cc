// Reading the largest state that Service Fabric's authors tested with: 3,000 nodes, 100,000 partitions of three replicas with
// three metrics.
#include <benchmark/benchmark.h>
#include <spdlog/fmt/fmt.h>
#include <sys/resource.h>

#include "balancing/input/cluster_reader.h"

namespace evenkeel::balancing {
namespace {

std::string LargeState(int nodes, int partitions) {
  constexpr int kServices = 1000;
  std::string text = "{\"nodes\": [";
  for (int i = 0; i < nodes; ++i) {
    text += fmt::format(R"({}{{"name": "n{}", "nodeType": "T{}", "faultDomain": "fd:/dc{}/r{}", "upgradeDomain": "ud{}", )"
                        R"("capacities": {{"Memory": 100000, "Cpu": 64000}}, "properties": {{"ssd": "{}"}}}})",
                        i == 0 ? "" : ",\n", i, i % 3, i % 5, i % 40, i % 10, i % 2);
  }
  text += "],\n\"services\": [";
  for (int i = 0; i < kServices; ++i) {
    text += fmt::format(R"({}{{"name": "s{}", "kind": "stateful", "targetReplicas": 3, "placementConstraints": "ssd == {}", )"
                        R"("metrics": [{{"name": "Memory", "primaryLoad": 10, "secondaryLoad": 5}}, )"
                        R"({{"name": "Cpu", "weight": "Low"}}, {{"name": "Count"}}]}})",
                        i == 0 ? "" : ",\n", i, i % 2);
  }
  text += "],\n\"partitions\": [";
  for (int i = 0; i < partitions; ++i) {
    text += fmt::format(R"({}{{"name": "s{}/{}", "service": "s{}", "replicas": [)", i == 0 ? "" : ",\n", i % kServices,
                        i / kServices, i % kServices);
    for (int replica = 0; replica < 3; ++replica) {
      text += fmt::format(R"({}{{"node": "n{}", "role": "{}", "loads": {{"Memory": {}, "Cpu": {}, "Count": 1}}}})",
                          replica == 0 ? "" : ", ", (i * 7 + replica * 11) % nodes, replica == 0 ? "primary" : "secondary",
                          i % 100, i % 64);
    }
    text += "]}";
  }
  return text + "]}";
}

void ReadLargeState(benchmark::State& state) {
  const std::string text = LargeState(3000, static_cast<int>(state.range(0)));
  for (auto _ : state) {
    auto file = ReadCluster(text, "bench", {});
    if (!file) state.SkipWithError(file.error().message().c_str());
    benchmark::DoNotOptimize(file);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["text_MiB"] = static_cast<double>(text.size()) / (1 << 20);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}
BENCHMARK(ReadLargeState)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::balancing
