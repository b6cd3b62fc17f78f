// What a process tells of itself, by the names that every client of Prometheus has for it: process_*, and which build it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/metric_family.h"

namespace evenkeel::base {

inline constexpr MetricFamily kBuildInfo{"evenkeel_build_info", MetricType::kGauge,
                                         "Always 1; the labels say which program this is.", "compiler version"};
inline constexpr MetricFamily kProcessCpu{"process_cpu_seconds_total", MetricType::kCounter,
                                          "Total user and system CPU time spent in seconds."};
inline constexpr MetricFamily kProcessResident{"process_resident_memory_bytes", MetricType::kGauge,
                                               "Resident memory size in bytes."};
inline constexpr MetricFamily kProcessVirtual{"process_virtual_memory_bytes", MetricType::kGauge,
                                              "Virtual memory size in bytes."};
inline constexpr MetricFamily kProcessOpenFds{"process_open_fds", MetricType::kGauge, "Number of open file descriptors."};
inline constexpr MetricFamily kProcessMaxFds{"process_max_fds", MetricType::kGauge, "Maximum number of open file descriptors."};
inline constexpr MetricFamily kProcessStart{"process_start_time_seconds", MetricType::kGauge,
                                            "Start time of the process since unix epoch in seconds."};
inline constexpr MetricFamily kProcessMetrics[] = {kBuildInfo,      kProcessCpu,    kProcessResident, kProcessVirtual,
                                                   kProcessOpenFds, kProcessMaxFds, kProcessStart};

struct ProcessStat {
  double cpu_seconds = 0;
  double after_boot_seconds = 0;  ///< when it started
  int64_t virtual_bytes = 0, resident_bytes = 0;
};
/// The text of /proc/self/stat, of a kernel with `ticks` a second and pages of `page` bytes; nothing where it is another text.
std::optional<ProcessStat> ParseProcessStat(std::string_view text, int64_t ticks, int64_t page);
/// When the machine started, by the text of /proc/stat, in seconds since the epoch.
std::optional<int64_t> ParseBootTime(std::string_view text);

/// Thread-safe as the registry is, but for Publish with itself.
class ProcessMetrics {
 public:
  /// Metrics are there at once, and as they are then.
  ProcessMetrics(MetricRegistry& registry, const std::string& version);

  /// Brings them up to date; before they are rendered. What /proc does not say stays as it was.
  void Publish();

 private:
  Counter cpu_;
  Gauge resident_, virtual_, open_, max_, start_;
};

}  // namespace evenkeel::base
