// Carrying out a plan, as a state machine without effects: what the plan's object says and what is seen of the member give the
// object's next status and the evictions that are due. The caller writes the status before it evicts, so that a successor who
// finds a move in the state Evicting only has to go on.
//
//   plan   Pending --approved--> Executing --> Done, or Failed when no pod was moved
//             |  the facts that it rests on are no longer true
//             +--> Refused
//   move   Waiting --> Evicting --> Evicted --> Landed | Elsewhere
//             |            |            +--> Failed: no successor found a node in time
//             +------------+--> Failed: not what was planned any more, no room, or no budget in time
//
// An approved plan waits as it is until a window of the policy opens. Moves begin in the order of the plan, as many at a time
// as the policy says, and never two at once to one node. None begins while pods wait for nodes, or the autoscaler adds nodes or
// empties one: what is short of room is not made shorter. A pod whose eviction is due again stays for the same reasons, and its
// room is free for others meanwhile.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "controllers/balancer/member_objects.h"
#include "controllers/balancer/past_moves.h"
#include "controllers/balancer/plan_object.h"
#include "controllers/balancer/policy.h"

namespace evenkeel::controllers::balancer {

/// How long a move waits for its turn to be possible, for a budget, and for its successor to be on a node.
inline constexpr base::Duration kMovePatience = std::chrono::minutes(5);
/// How long a whole plan may take before what has not begun is given up.
inline constexpr base::Duration kPlanPatience = std::chrono::hours(1);

struct ExecutionView {
  MemberObjects& objects;
  const Policy* policy = nullptr;  ///< that the plan names; null: it is gone, or not valid
  const PastMoves& past;           ///< of all plans, this one too
  base::Time now{};
};

/// Of the facts that a plan rests on: pods, their nodes and controllers, and its targets.
std::string InputVersion(const std::vector<PlannedMove>& moves, const MemberObjects& objects);

/// Why the move is not what was planned any more; "" when it is.
std::string WhyOutdated(const PlannedMove& move, const MemberObjects& objects);

/// How many movements the policy's throttle leaves at the moment.
int64_t MovementsLeft(const Policy& policy, const PastMoves& past, base::Time now);

/// For how long after its eviction a move counts for anything: the policy's throttles, and no way back.
base::Duration MemoryOfMoves(const Policy& policy);

/// One line about a move, for an event.
struct MoveNews {
  size_t move = 0;
  bool warning = false;
  std::string reason, text;
};

struct ExecutionStep {
  PlanObject plan;            ///< with its next status
  std::vector<size_t> evict;  ///< moves in the state Evicting whose pods are to be evicted now
  std::vector<MoveNews> news;
};

/// `plan` is not final. The same input gives the same step; a step that changes nothing and evicts nothing waits for the
/// member.
ExecutionStep Advance(const PlanObject& plan, const ExecutionView& view);

/// Takes down what the API answered to an eviction. kTooManyRequests (a budget) and failures to reach the API are tried again
/// by Advance until patience ends; a pod that is gone counts as evicted.
void NoteEviction(PlanObject& plan, size_t move, const base::Status& answer, base::Time now);

}  // namespace evenkeel::controllers::balancer
