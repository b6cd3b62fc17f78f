// The scheduler of one member cluster, alive: told by the member's feed, and writing through the
// member's fenced client, so that of several replicas only the member's owner binds pods. Other schedulers of the cluster go on
// with their pods; nothing is decided before everything has been listed once.
#pragma once

#include <string>

#include "base/random.h"
#include "controllers/runtime/member.h"
#include "controllers/scheduler/scheduler.h"

namespace evenkeel::controllers::scheduler {

struct MemberSchedulerContext {
  SchedulerOptions options;
  base::Clock& clock;
  base::Random random;
  std::string host;  ///< for events: which replica
};

runtime::MemberControllerFactory NewMemberScheduler(MemberSchedulerContext context);

}  // namespace evenkeel::controllers::scheduler
