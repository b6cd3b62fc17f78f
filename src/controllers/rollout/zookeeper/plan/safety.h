// What the generic rollout has to know of each cluster of an ensemble: whether it is ready, and whether its change may begin
// without the ensemble losing its majority.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/rollout/machine.h"
#include "controllers/rollout/zookeeper/plan/membership.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// One record on its way: from the servers of `base` (null: a first deployment) to those of `revision`.
struct Passage {
  const EnsembleSpec& spec;
  const EnsembleState& state;
  const FleetReading& fleet;
  const Record& record;
  const Revision* base = nullptr;
  const Revision* revision = nullptr;

  /// Fewer servers than it takes have been started, ever or since a recovery: there is no quorum yet, so only the order counts.
  bool Bootstrapping() const;
  /// Servers of the list that it takes: a majority, or while a recovery is under way all of them.
  int64_t Needed(const Revision& list) const;
  ClusterFacts FactsOf(const std::string& cluster) const;
  /// One leader, and a majority that is in sync with it; "" or what is missing.
  std::string WhyUnhealthy() const;
  /// A majority serves, so somebody leads; whoever does is in a cluster that cannot be reached.
  bool FollowsOutOfReach() const;
  /// A cluster that is not at what it has been given, and why, for people; "": there is none. Of one that cannot be reached
  /// its last word counts.
  std::string WhyBehind() const;
  /// What members say of servers that are missing, for people; "": nothing.
  std::string Causes() const;
  /// A server that the revision of the cluster wants, and that is none of the members any more: it follows without a vote.
  /// nullopt: none.
  std::optional<int64_t> FindLetGo(const std::string& cluster) const;
  /// Servers of the list that are ready.
  Ids Ready(const Revision& list) const;

 private:
  Ids All(const Revision& list) const;
  std::vector<int64_t> AdvanceOf(const std::string& cluster, const MemberReading& member) const;
  std::string WhyNotReady(const std::string& cluster) const;
  std::string Gate(const std::string& cluster) const;
  std::string FirstGate(const std::string& cluster) const;
  bool CanMend(const std::string& cluster) const;
  std::string GateOf(const std::string& cluster, const Revision& list) const;
  bool OnlyLearns(const std::string& cluster) const;
  bool InForceElsewhere(const std::string& cluster, const Revision& list) const;
  bool OnlyTheLeaverIsMissed(const VoterChange& change) const;
};

}  // namespace evenkeel::controllers::rollout::zookeeper
