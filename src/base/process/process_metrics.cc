#include "base/process/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace evenkeel::base {
namespace {

// Fields of /proc/self/stat behind the name, which is in brackets and may have blanks; proc(5) counts them from 3 there.
constexpr size_t kUserTime = 14 - 3, kSystemTime = 15 - 3, kStartTime = 22 - 3, kVirtual = 23 - 3, kResident = 24 - 3;

std::string TextOf(const char* file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::optional<int64_t> NumberAt(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text, int64_t ticks, int64_t page) {
  const size_t bracket = text.rfind(") ");
  if (bracket == std::string_view::npos || ticks <= 0) return std::nullopt;
  text.remove_prefix(bracket + 2);
  std::array<int64_t, kResident + 1> fields{};
  for (size_t i = 0; i < fields.size(); ++i) {
    if (text.empty()) return std::nullopt;
    // Some fields are letters or below zero; none of those is wanted.
    fields[i] = NumberAt(text).value_or(-1);
    text.remove_prefix(std::min(text.size(), text.find(' ') == std::string_view::npos ? text.size() : text.find(' ') + 1));
  }
  for (const size_t wanted : {kUserTime, kSystemTime, kStartTime, kVirtual, kResident}) {
    if (fields[wanted] < 0) return std::nullopt;
  }
  const auto per_second = static_cast<double>(ticks);
  return ProcessStat{
      .cpu_seconds = (static_cast<double>(fields[kUserTime]) + static_cast<double>(fields[kSystemTime])) / per_second,
      .after_boot_seconds = static_cast<double>(fields[kStartTime]) / per_second,
      .virtual_bytes = fields[kVirtual],
      .resident_bytes = fields[kResident] * page};
}

std::optional<int64_t> ParseBootTime(std::string_view text) {
  constexpr std::string_view kWord = "\nbtime ";
  const size_t found = text.find(kWord);
  if (found == std::string_view::npos) return std::nullopt;
  return NumberAt(text.substr(found + kWord.size()));
}

ProcessMetrics::ProcessMetrics(MetricRegistry& registry, const std::string& version)
    : cpu_(CounterOf(registry, kProcessCpu)),
      resident_(GaugeOf(registry, kProcessResident)),
      virtual_(GaugeOf(registry, kProcessVirtual)),
      open_(GaugeOf(registry, kProcessOpenFds)),
      max_(GaugeOf(registry, kProcessMaxFds)),
      start_(GaugeOf(registry, kProcessStart)) {
#ifdef __clang__
  const std::string compiler = "clang " + std::to_string(__clang_major__);
#else
  const std::string compiler = "g++ " + std::to_string(__GNUC__);
#endif
  GaugeOf(registry, kBuildInfo, {{"compiler", compiler}, {"version", version}}).Set(1);
  Publish();
}

void ProcessMetrics::Publish() {
  if (const auto stat = ParseProcessStat(TextOf("/proc/self/stat"), sysconf(_SC_CLK_TCK), sysconf(_SC_PAGESIZE))) {
    if (const double more = stat->cpu_seconds - cpu_.value(); more > 0) cpu_.Add(more);
    resident_.Set(static_cast<double>(stat->resident_bytes));
    virtual_.Set(static_cast<double>(stat->virtual_bytes));
    if (const auto boot = ParseBootTime(TextOf("/proc/stat"))) {
      start_.Set(static_cast<double>(*boot) + stat->after_boot_seconds);
    }
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) max_.Set(static_cast<double>(limit.rlim_cur));
  std::error_code error;
  if (std::filesystem::directory_iterator entry("/proc/self/fd", error); !error) {
    // One of them is the directory itself.
    double open = -1;
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++open;
    open_.Set(open);
  }
}

}  // namespace evenkeel::base
