// Replays a trace in virtual time with the autoscaler on: tasks arrive and leave when they did, nodes come and go as the
// planner (run_once.h, the same as in production) decides, in groups made from the shapes of the traced nodes.
//
// What is simpler than a real cluster: a task is one pod of a controller of its own, which makes it again when it is evicted; a
// pod is bound at once to the first node, by name, that kube-scheduler's filters let it on; GPUs that tasks share are one
// amount per node; an evicted pod ends at once. Loops in which nothing can have changed are passed over.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controllers/autoscaler/options/options.h"
#include "embedded/cloud/group_state.h"
#include "sim/report/report.h"
#include "sim/world/trace.h"
#include "sim/world/trace_cloud.h"

namespace evenkeel::sim {

struct ReplayOptions {
  std::string scenario, kind;
  uint64_t seed = 1;
  controllers::autoscaler::Options autoscaler;
  embedded::cloud::CloudSettings cloud;
  const base::Clock* clock = nullptr;  ///< for how long loops take; null: not measured
  bool timeline = false;
  bool record = false;  ///< for a report with pictures (report_data.h)
  /// Told now and then how far it is, if given.
  std::function<void(base::Duration since_start, base::Duration all)> on_progress{};
  bool every_loop = false;  ///< passes over none
};

struct ReplayReport {
  std::string scenario, kind;
  uint64_t seed = 0;
  base::Duration virtual_time{};
  int64_t tasks = 0;
  int64_t placed = 0;                   ///< tasks that found a node; all others left before
  int64_t waiting_max = 0;              ///< at one time
  std::vector<base::Duration> pending;  ///< of each task that was placed, from its arrival; sorted
  int64_t evictions = 0;
  int64_t nodes_made = 0;
  size_t nodes_max = 0;      ///< at one time
  int64_t nodes_static = 0;  ///< of the traced cluster
  NodeHours hours;           ///< with the autoscaler
  NodeHours hours_static;    ///< all nodes all the time
  int64_t loops = 0;
  std::vector<base::Duration> loop_times;  ///< sorted
  base::Duration wall{};
  std::vector<TimelineEntry> timeline;
  std::shared_ptr<const Recording> recording;  ///< if asked for
};

/// kBadRequest: options that make no sense. The same seed gives the same report, but for what took how long.
base::Result<ReplayReport> ReplayTrace(const Trace& trace, const ReplayOptions& options);

base::Json ToJson(const ReplayReport& report);

}  // namespace evenkeel::sim
