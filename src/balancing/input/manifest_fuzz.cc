// Any text as a manifest: settings that are read are sound, errors and warnings are one line that says where.
#include <cstddef>
#include <cstdint>

#include "balancing/input/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel::balancing;
  const auto manifest = ReadManifest(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!manifest) {
    EVENKEEL_CHECK(manifest.error().message().starts_with("fuzz:"));
    EVENKEEL_CHECK(manifest.error().message().find('\n') == std::string::npos);
    return 0;
  }
  for (const std::string& warning : manifest->warnings) {
    EVENKEEL_CHECK(warning.starts_with("fuzz:") && warning.find('\n') == std::string::npos);
  }
  for (const auto& [metric, threshold] : manifest->settings.metric_balancing_thresholds) {
    EVENKEEL_CHECK(threshold == 0 || threshold >= 1);
  }
  for (const auto& [metric, threshold] : manifest->settings.metric_activity_thresholds) EVENKEEL_CHECK(threshold >= 0);
  for (const auto& [type, overrides] : manifest->settings.node_types) {
    for (const auto& [metric, threshold] : overrides.balancing_thresholds) EVENKEEL_CHECK(threshold == 0 || threshold >= 1);
    for (const auto& [metric, threshold] : overrides.activity_thresholds) EVENKEEL_CHECK(threshold >= 0);
  }
  return 0;
}
