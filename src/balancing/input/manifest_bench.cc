// Reading manifests of 400,000 elements, of each kind that the reader treats in its own way.
#include <benchmark/benchmark.h>
#include <spdlog/fmt/fmt.h>

#include "balancing/input/manifest.h"

namespace evenkeel::balancing {
namespace {

constexpr int kElements = 400'000;

std::string Repeated(std::string_view before, std::string_view element, std::string_view after) {
  std::string text(before);
  for (int i = 0; i < kElements; ++i) text += fmt::format(fmt::runtime(element), i);
  return text.append(after);
}

std::string Overrides(std::string_view element) {
  return Repeated(
      "<NodeTypes><NodeType Name=\"T\"><PlacementAndLoadBalancingOverrides><MetricBalancingThresholdsPerNodeType>\n", element,
      "</MetricBalancingThresholdsPerNodeType></PlacementAndLoadBalancingOverrides></NodeType></NodeTypes>");
}

void ReadText(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    auto manifest = ReadManifest(text, "bench");
    if (!manifest) return state.SkipWithError(manifest.error().message().c_str());
    benchmark::DoNotOptimize(manifest);
  }
}

void ReadThresholds(benchmark::State& state) {
  ReadText(state, Repeated("<Section Name=\"MetricBalancingThresholds\">\n", "<Parameter Name=\"Metric{}\" Value=\"2\"/>\n",
                           "</Section>"));
}
BENCHMARK(ReadThresholds)->Unit(benchmark::kMillisecond);

void ReadSections(benchmark::State& state) {
  ReadText(state, Repeated("<FabricSettings>\n",
                           "<Section Name=\"MetricBalancingThresholds\"><Parameter Name=\"Metric{}\" Value=\"2\"/></Section>\n",
                           "</FabricSettings>"));
}
BENCHMARK(ReadSections)->Unit(benchmark::kMillisecond);

void ReadOverrides(benchmark::State& state) {
  ReadText(state, Overrides("<BalancingThreshold Name=\"Metric{}\" Value=\"2\"/>\n"));
}
BENCHMARK(ReadOverrides)->Unit(benchmark::kMillisecond);

void ReadOpenOverrides(benchmark::State& state) {
  ReadText(state, Overrides("<BalancingThreshold Name=\"Metric{}\" Value=\"2\">\n"));
}
BENCHMARK(ReadOpenOverrides)->Unit(benchmark::kMillisecond);

void ReadNodeTypes(benchmark::State& state) {
  ReadText(state, Repeated("<NodeTypes>\n", "<NodeType Name=\"T{}\"/>\n", "</NodeTypes>"));
}
BENCHMARK(ReadNodeTypes)->Unit(benchmark::kMillisecond);

void ReadCapacities(benchmark::State& state) {
  ReadText(state, Repeated("<NodeTypes><NodeType Name=\"T\"><Capacities>\n", "<Capacity Name=\"Metric{}\" Value=\"2\"/>\n",
                           "</Capacities></NodeType></NodeTypes>"));
}
BENCHMARK(ReadCapacities)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::balancing
