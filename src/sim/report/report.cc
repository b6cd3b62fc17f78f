#include "sim/report/report.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace evenkeel::sim {
namespace {

double Seconds(base::Duration duration) {
  // Milliseconds are enough for people, and make shorter texts.
  return std::round(std::chrono::duration<double, std::milli>(duration).count()) / 1000;
}

std::string Quoted(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

base::Json ToJson(const AutoscalingReport& report) {
  return base::JsonObject{{"nodesJoined", report.joined},
                          {"nodesGone", report.gone},
                          {"evictions", report.evictions},
                          {"pending", base::JsonObject{{"count", report.waited.size()},
                                                       {"p50Seconds", Seconds(Percentile(report.waited, 0.5))},
                                                       {"p90Seconds", Seconds(Percentile(report.waited, 0.9))},
                                                       {"p99Seconds", Seconds(Percentile(report.waited, 0.99))},
                                                       {"maxSeconds", Seconds(Percentile(report.waited, 1))}}}};
}

}  // namespace

base::Duration Percentile(const std::vector<base::Duration>& sorted, double share) {
  if (sorted.empty()) return {};
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

base::Json ToJson(const SimulationReport& report) {
  base::JsonObject faults;
  for (const auto& [kind, count] : report.faults) faults[kind] = count;
  base::JsonObject writes;
  for (const auto& [kind, count] : report.writes) writes[kind] = count;
  base::JsonArray violations;
  for (const Violation& violation : report.violations) {
    violations.push_back(
        base::JsonObject{{"at", Seconds(violation.at)}, {"checker", violation.checker}, {"what", violation.what}});
  }
  base::JsonObject json{
      {"scenario", report.scenario},
      {"seed", report.seed},
      {"virtualSeconds", Seconds(report.virtual_time)},
      {"steps", report.steps},
      {"writes", std::move(writes)},
      {"plans", report.plans},
      {"moves", report.moves},
      {"faults", std::move(faults)},
      {"longestUnownedSeconds", Seconds(report.longest_unowned)},
      {"handovers", base::JsonObject{{"count", report.handovers.size()},
                                     {"p50Seconds", Seconds(Percentile(report.handovers, 0.5))},
                                     {"p90Seconds", Seconds(Percentile(report.handovers, 0.9))},
                                     {"p99Seconds", Seconds(Percentile(report.handovers, 0.99))},
                                     {"maxSeconds", Seconds(Percentile(report.handovers, 1))}}},
      {"convergedSeconds", Seconds(report.converged)},
      {"violations", std::move(violations)},
      {"traceHash", fmt::format("{:016x}", report.trace_hash)},
      {"wallMilliseconds", std::chrono::duration_cast<std::chrono::milliseconds>(report.wall).count()},
  };
  if (report.autoscaling) json["autoscaling"] = ToJson(*report.autoscaling);
  if (report.movements) json["movements"] = *report.movements;
  return json;
}

std::string TimelineCsv(const std::vector<TimelineEntry>& timeline) {
  std::string csv = "seconds,party,event,detail\n";
  for (const TimelineEntry& entry : timeline) {
    csv += fmt::format("{:.3f},{},{},{}\n", Seconds(entry.at), Quoted(entry.party), Quoted(entry.event), Quoted(entry.detail));
  }
  return csv;
}

}  // namespace evenkeel::sim
