// What the generic rollout has to know of each cluster of an ensemble: whether it is ready, and whether its change may begin
// without the ensemble losing its majority.
#pragma once

#include <string>

#include "controllers/rollout/machine.h"
#include "controllers/rollout/zookeeper/ensemble_state.h"
#include "controllers/rollout/zookeeper/fleet_reading.h"
#include "controllers/rollout/zookeeper/membership.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// One record on its way: from the servers of `base` (null: a first deployment) to those of `revision`.
struct Passage {
  const EnsembleSpec& spec;
  const EnsembleState& state;
  const FleetReading& fleet;
  const Record& record;
  const Revision* base = nullptr;
  const Revision* revision = nullptr;

  /// Fewer servers than a majority have been started, ever: there is no data and no quorum yet, so only the order counts.
  bool Bootstrapping() const;
  ClusterFacts FactsOf(const std::string& cluster) const;
  /// One leader, and a majority that is in sync with it; "" or what is missing.
  std::string WhyUnhealthy() const;
  /// Servers of the list that are ready.
  Ids Ready(const Revision& list) const;

 private:
  Ids All(const Revision& list) const;
  std::string WhyNotReady(const std::string& cluster) const;
  std::string Gate(const std::string& cluster) const;
  std::string GateOf(const std::string& cluster, const Revision& list) const;
  bool InForceElsewhere(const std::string& cluster, const Revision& list) const;
  bool OnlyTheLeaverIsMissed(const VoterChange& change) const;
};

}  // namespace evenkeel::controllers::rollout::zookeeper
