// What the balancer of a member writes Events of.
#pragma once

#include "client/event_kind.h"

namespace evenkeel::controllers::balancer::events {

using client::EventKind;

inline constexpr EventKind kPlanMade{"PlanMade", false, "BalancingPolicy", "a plan was made, with its number of moves"};
inline constexpr EventKind kPlanPending{"PlanPending", false, "BalancingPolicy", "a plan waits for its approval"};
inline constexpr EventKind kPlanExecuting{"PlanExecuting", false, "BalancingPolicy", "a plan is being carried out"};
inline constexpr EventKind kPlanDone{"PlanDone", false, "BalancingPolicy", "a plan has been carried out"};
inline constexpr EventKind kPlanRefused{"PlanRefused", true, "BalancingPolicy", "a plan is not carried out any more, and why"};
inline constexpr EventKind kPlanFailed{"PlanFailed", true, "BalancingPolicy", "a plan could not be carried out"};
inline constexpr EventKind kBalancerEvicted{"BalancerEvicted", false, "Pod",
                                            "the pod is evicted, from which node to which, and why"};
inline constexpr EventKind kMoved{"Moved", false, "Pod", "its successor runs where the plan said"};
inline constexpr EventKind kMovedElsewhere{"MovedElsewhere", true, "Pod",
                                           "its successor runs on another node than the plan said"};
inline constexpr EventKind kMoveFailed{"MoveFailed", true, "Pod", "the pod was not moved, and why"};

inline constexpr EventKind kAll[] = {kPlanMade,   kPlanPending,     kPlanExecuting, kPlanDone,       kPlanRefused,
                                     kPlanFailed, kBalancerEvicted, kMoved,         kMovedElsewhere, kMoveFailed};

}  // namespace evenkeel::controllers::balancer::events
