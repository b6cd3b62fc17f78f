#include <benchmark/benchmark.h>

#include "kube/rules/device_selector.h"

namespace evenkeel::kube::cel {
namespace {

constexpr std::string_view kSelector =
    R"(device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model.startsWith("a100") && )"
    R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0)";

/// What a scheduler asks of each device: items a second.
void BM_DeviceSelector(benchmark::State& state) {
  const auto program = *CompileDeviceSelector(kSelector);
  const base::Json attributes = *base::ParseJson(
      R"({"model":{"string":"a100-sxm4"},"uuid":{"string":"gpu-1"},"driverVersion":{"version":"550.54.15"},"index":{"int":3}})",
      "bench");
  const base::Json capacity = *base::ParseJson(R"({"memory":{"value":"80Gi"},"multiprocessors":{"value":"108"}})", "bench");
  Arena devices, arena;
  const Value device = *MakeDevice("gpu.example.com", &attributes.as_object(), &capacity.as_object(), false, devices);
  for (auto _ : state) {
    arena.Reset();
    benchmark::DoNotOptimize(*SelectsDevice(*program, device, arena));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_DeviceSelector);

void BM_CompileDeviceSelector(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(CompileDeviceSelector(kSelector));
}
BENCHMARK(BM_CompileDeviceSelector);

}  // namespace
}  // namespace evenkeel::kube::cel
