// What a scenario says happens when (scenario_parts.h): the same in every seed, beside the faults that each draws.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/run/scenario.h"

namespace evenkeel::sim {

class ApiServer;
class Simulation;

class EventDriver {
 public:
  /// Both outlive it.
  EventDriver(Simulation& simulation, const std::vector<EventScenario>& events);

  /// `begun`: when the simulation began.
  void Start(base::Instant begun);
  /// When it has something to do next; never after Stop.
  base::Instant next() const { return next_; }
  void Step();
  /// What lasts ends: nodes are on again. The clouds are healed by whoever heals the fleet.
  void Stop();

 private:
  void Begin(const EventScenario& event);
  void End(const EventScenario& event);
  /// An API server that has started has its nodes on, a node may have come, a cloud been changed by a fault that has ended.
  void Keep(const EventScenario& event);
  void SwitchOff(ApiServer& server, const std::string& zone);
  void SwitchOn(const std::string& zone);
  base::Instant InstantOf(base::Duration since_start) const { return begun_ + since_start; }

  Simulation& simulation_;
  const std::vector<EventScenario>& events_;
  base::Instant begun_{}, next_ = base::Instant::max();
  std::set<size_t> waiting_, lasting_;                                        ///< indices
  std::map<std::string, std::set<std::pair<std::string, std::string>>> off_;  ///< by zone: members and nodes
};

}  // namespace evenkeel::sim
