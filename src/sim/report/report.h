// What a simulation came to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace evenkeel::sim {

struct Recording;

struct Violation {
  base::Duration at{};  ///< since the start
  std::string checker, what;
};

/// One line of a timeline.
struct TimelineEntry {
  base::Duration at{};
  std::string party, event, detail;
};

/// What autoscalers did.
struct AutoscalingReport {
  int64_t joined = 0, gone = 0;          ///< nodes
  int64_t evictions = 0;                 ///< of pods, by replicas
  std::vector<base::Duration> waited{};  ///< of each pod that got a node: for how long it had none; sorted
};

struct SimulationReport {
  std::string scenario;
  uint64_t seed = 0;
  base::Duration virtual_time{};
  uint64_t steps = 0;
  std::map<std::string, int64_t> writes;  ///< that took effect, by replicas: "hub update leases"
  int64_t plans = 0;
  int64_t moves = 0;  ///< clusters that plans gave to another replica
  std::map<std::string, int64_t> faults;
  base::Duration longest_unowned{};       ///< of a registered member
  std::vector<base::Duration> handovers;  ///< how long a member had no owner between two, sorted
  base::Duration converged{};             ///< after the last fault
  std::optional<AutoscalingReport> autoscaling;
  std::optional<int64_t> movements;  ///< of pods, by balancers
  int64_t checks = 0;                ///< how often any checker looked at something
  std::vector<Violation> violations;
  uint64_t trace_hash = 0;
  base::Duration wall{};
  std::vector<TimelineEntry> timeline;         ///< if asked for
  std::shared_ptr<const Recording> recording;  ///< if asked for

  bool passed() const { return violations.empty(); }
};

/// Everything but the timeline and the recording; durations in seconds.
base::Json ToJson(const SimulationReport& report);
/// "seconds,party,event,detail", RFC 4180.
std::string TimelineCsv(const std::vector<TimelineEntry>& timeline);
/// The value below which that share of the sorted values is; zero for none.
base::Duration Percentile(const std::vector<base::Duration>& sorted, double share);

}  // namespace evenkeel::sim
