// What the scheduler writes Events of; they are kube-scheduler's own.
#pragma once

#include "client/event_kind.h"

namespace evenkeel::controllers::scheduler::events {

using client::EventKind;

inline constexpr EventKind kScheduled{"Scheduled", false, "Pod", "the pod is bound to a node"};
inline constexpr EventKind kFailedScheduling{"FailedScheduling", true, "Pod",
                                             "no node has room for the pod, with each reason; or it could not be bound"};

inline constexpr EventKind kAll[] = {kScheduled, kFailedScheduling};

}  // namespace evenkeel::controllers::scheduler::events
