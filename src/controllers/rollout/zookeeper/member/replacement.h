// Which pod is deleted next, so that the StatefulSet makes it anew with what is wanted now.
#pragma once

#include <optional>
#include <string>

#include "controllers/rollout/zookeeper/member/asked.h"
#include "controllers/rollout/zookeeper/member/picture.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

struct Replacement {
  std::optional<ServerPod> pod;  ///< nullopt: none
  std::string why;               ///< this one, or what is waited for; "" when nothing is left to do
};

/// At most one at a time. First those that do not serve, then those of which it is not known (before others, which wait for
/// them), then observers, then followers from the highest id down, the leader last. Before a server is stopped that serves, or
/// may serve, one leader has to be known, and every other voter of the whole ensemble in sync with it; a server that was
/// replaced has to be back. While no quorum has ever been there, nothing can be lost, and only
/// one after the other is asked for. A server on a volume that goes with its pod is never deleted while nobody leads: it may be
/// the only one that knows the last writes. With spec.hold none that serves is stopped.
Replacement NextReplacement(const Picture& picture, const Ensemble& ensemble, const Making& making);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
