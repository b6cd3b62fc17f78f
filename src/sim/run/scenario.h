// A scenario file: what fleet is simulated, what goes wrong in it and what is checked. YAML, read strictly: what is not known
// here, has the wrong type or is out of range is an error that names the field.
//
//   name: faults
//   members: 50
//   nodes: {min: 0, max: 1}             # per member, or one number
//   replicas: {min: 3, max: 9, start: 5}
//   mode: coordinated                   # or compatible
//   controllers: [writer]               # what runs on each member
//   duration: 9m                        # with faults
//   heal: 5m                            # how long the fleet may take to converge afterwards
//   quiet: 1m                           # how long it is then watched
//   faults: all                         # or a list of names (fault_kinds.h); each seed draws which are on, and how often
//   rates: {replica-crash: 30s, lost-answer: 0.01}   # these are on in each seed, this often
//   checkers: all                       # or a list of names (checkers.h)
//   options: hostile                    # of the replicas: drawn by the seed; or default; or single ones:
//   options: {lease: 15s, margin: 3s, replica-lease: 8s, moves-per-minute: 10, handover: 1500ms}
//
// With node groups, workloads, balancers, an ensemble, events or a trace: see scenario_parts.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/distribution/sharding/options.h"
#include "sim/world/scenario_parts.h"

namespace evenkeel::sim {

struct Scenario {
  /// Those of the replicas' options that are given.
  struct Options {
    bool hostile = false;
    std::optional<base::Duration> lease, margin, replica_lease, handover;
    std::optional<int64_t> moves_per_minute;
  };

  std::string name;
  int members = 3;
  int nodes_min = 0, nodes_max = 0;
  int replicas_min = 3, replicas_max = 3, replicas_start = 3;
  controllers::distribution::Mode mode = controllers::distribution::Mode::kCoordinated;
  std::vector<std::string> controllers{"writer"};
  base::Duration duration = std::chrono::minutes(5);
  base::Duration heal = std::chrono::minutes(5);
  base::Duration quiet = std::chrono::minutes(1);
  std::set<std::string> faults;
  /// Seconds between two strikes, or a probability per call (fault_kinds.h).
  std::map<std::string, double> rates;
  std::set<std::string> checkers;
  Options options;
  /// The autoscaler's flags by name, as on a command line.
  std::vector<controllers::autoscaler::FlagValue> autoscaler;
  std::vector<NodeGroupScenario> node_groups;  ///< of each member
  WorkloadScenario workload;
  BalancingScenario balancing;
  std::optional<EnsembleScenario> ensemble;
  std::vector<EventScenario> events;
  std::optional<TraceScenario> trace;

  bool Runs(std::string_view controller) const { return std::ranges::find(controllers, controller) != controllers.end(); }
};

/// kBadRequest: "SOURCE: replicas.min: ..." in one line.
base::Result<Scenario> ParseScenario(std::string_view text, const std::string& source);
base::Result<Scenario> ReadScenario(const std::string& path);

}  // namespace evenkeel::sim
