// Watches what a process is told by API servers, for the checker "no-older": informers of its own on the hub's cluster Secrets
// and plans and on some members' nodes and ConfigMaps.
#pragma once

#include <memory>

#include "sim/checkers/checkers.h"
#include "sim/world/replica.h"

namespace evenkeel::sim {

/// A part of a replica (ReplicaSettings::parts). The checker must outlive it. `member` is whom it looks at besides the hub.
std::shared_ptr<void> NewProbe(Replica& replica, const std::string& member, NoOlderChecker& checker);

}  // namespace evenkeel::sim
