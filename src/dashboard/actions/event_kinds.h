// What people do on the dashboard, each an Event about the object, with who it was.
#pragma once

#include "client/event_kind.h"

namespace evenkeel::dashboard::events {

using client::EventKind;

inline constexpr EventKind kCordoned{"CordonedByPerson", false, "Node", "somebody has cordoned it on the dashboard, and who"};
inline constexpr EventKind kUncordoned{"UncordonedByPerson", false, "Node",
                                       "somebody has uncordoned it on the dashboard, and who"};
inline constexpr EventKind kDrained{"DrainedByPerson", false, "Node",
                                    "somebody has drained it on the dashboard: how many pods were evicted, and who it was"};
inline constexpr EventKind kScaled{"ScaledByPerson", false, "NodeGroup",
                                   "somebody has given it another target on the dashboard, and who"};
inline constexpr EventKind kPaused{"PausedByPerson", false, "MultiClusterZooKeeper",
                                   "somebody has paused its rollout on the dashboard, and who"};
inline constexpr EventKind kResumed{"ResumedByPerson", false, "MultiClusterZooKeeper",
                                    "somebody has let its rollout go on on the dashboard, and who"};
inline constexpr EventKind kApproved{"ApprovedByPerson", false, "BalancingPlan",
                                     "somebody has approved it on the dashboard, and who"};
inline constexpr EventKind kRejected{"RejectedByPerson", false, "BalancingPlan",
                                     "somebody has rejected it on the dashboard, and who"};

inline constexpr EventKind kAll[] = {kCordoned, kUncordoned, kDrained, kScaled, kPaused, kResumed, kApproved, kRejected};

}  // namespace evenkeel::dashboard::events
