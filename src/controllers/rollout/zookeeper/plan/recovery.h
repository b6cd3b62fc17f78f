// Going on with a minority, after a majority has been lost for good.
//
// A program cannot know whether servers are gone for good or only do not answer. If it were wrong, there would be two
// ensembles. So the controller recovers only when a person asks for it: spec.forceRecovery names the lost clusters. The
// controller grants or refuses a request when it first sees it, and remembers the answer. So an old request has no effect in a
// later outage.
//
// The survivors begin again from a list of their own, on their volumes. That list needs every one of them for its majority,
// and the most advanced of them leads: nothing that any survivor knows is lost. So where there are more than two, some of the
// lost stand in the list, absent, until the ensemble has formed; then they are let go (member/members_change.h). Growing back
// to spec.placement is the usual one voter after the other. Lost clusters lose their indices; should one come back all the
// same, its servers are stopped without being asked (spec.abandoned).
#pragma once

#include <optional>
#include <string>

#include "controllers/rollout/zookeeper/plan/next_target.h"
#include "controllers/rollout/zookeeper/plan/safety.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// The quorum must have been missed for so long: an election, or a status that is late, takes less.
inline constexpr base::Duration kQuorumMissed = std::chrono::minutes(1);

struct RecoverySituation {
  const Passage& passage;  ///< of the last record
  /// Since when the condition QuorumHealthy has been False; nullopt: it is not.
  std::optional<base::Time> missed_since;
  base::Time now{};
};

/// Why the request is refused: a quorum is there, may come back by itself, or may go on where it cannot be seen; "": it is
/// granted.
std::string WhyNotRecover(const RecoveryRequest& request, const RecoverySituation& situation);

/// What the survivors are brought to.
Revision RecoveryRevision(const RecoveryRequest& request, const Passage& passage);

}  // namespace evenkeel::controllers::rollout::zookeeper
