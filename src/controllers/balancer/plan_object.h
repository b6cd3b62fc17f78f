// A BalancingPlan as data, and as JSON. What is written into it is all that is remembered of a plan: whoever owns the member
// next goes on from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace evenkeel::controllers::balancer {

/// One pod that is to leave a node, so that its controller makes another, which is to run on another node.
struct PlannedMove {
  std::string partition, service;
  std::string action;  ///< "MoveInstance", ...
  std::string from, to;
  std::string pod;  ///< namespace/name
  std::string pod_uid, owner_uid;
  std::map<std::string, int64_t> loads;  ///< of the pod when it was planned, by metric
  std::string reason;
  double energy_gain = 0;
  bool operator==(const PlannedMove&) const = default;
};

enum class MoveState : uint8_t {
  kWaiting,
  kEvicting,   ///< written before the pod is evicted
  kEvicted,    ///< its successor is awaited
  kLanded,     ///< the successor is on the target
  kElsewhere,  ///< the successor is on another node, or none is to come
  kFailed,     ///< the pod was not evicted, or its successor found no node in time
};
std::string_view Name(MoveState state);  ///< "Waiting", ...
/// Nothing more comes of it.
inline bool IsFinal(MoveState state) { return state >= MoveState::kLanded; }
inline bool IsInFlight(MoveState state) { return state == MoveState::kEvicting || state == MoveState::kEvicted; }

struct MoveStatus {
  MoveState state = MoveState::kWaiting;
  std::string replacement, replacement_uid;  ///< the successor: namespace/name
  std::string node;                          ///< where the successor is
  /// When the controller's newest pods were made that were there before the eviction, and which these were (none: many). So
  /// the successor is known by the API server's clock alone.
  std::optional<base::Time> newest;
  std::vector<std::string> newest_uids;
  std::optional<base::Time> since;  ///< its turn came then, or it began then
  std::optional<base::Time> evicted_at;
  std::optional<base::Time> reserve_until;
  std::string message;
  bool operator==(const MoveStatus&) const = default;
};

enum class PlanPhase : uint8_t { kPending, kExecuting, kDone, kRefused, kFailed };
std::string_view Name(PlanPhase phase);  ///< "Pending", ...
inline bool IsFinal(PlanPhase phase) { return phase >= PlanPhase::kDone; }

/// A label of plans that a balancer made. Others are carried out by whoever made them; what they moved counts all the same.
inline constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kManagedBy = "evenkeel-balancer";

struct PlanObject {
  std::string name, uid, resource_version;
  bool ours = false;  ///< has the label
  base::Time created{};

  std::string policy;
  bool approved = false;
  std::string input_version;
  std::string phase;                                 ///< of the planner: "QuickBalancing", "ConstraintCheck", ...
  double deviation_before = 0, deviation_after = 0;  ///< average deviation of the least even group
  double energy_before = 0, energy_after = 0;        ///< of all groups
  std::vector<PlannedMove> moves;

  PlanPhase state = PlanPhase::kPending;
  std::string message;
  std::optional<base::Time> started_at, finished_at;
  std::vector<MoveStatus> status;  ///< as many as moves

  bool SameStatus(const PlanObject& other) const {
    return state == other.state && message == other.message && started_at == other.started_at &&
           finished_at == other.finished_at && status == other.status;
  }
  /// Never fails: what is missing or malformed keeps its default; a status has as many entries as there are moves.
  static PlanObject Decode(const base::Json& object);
  base::Json Spec() const;
  base::Json Status() const;
};

}  // namespace evenkeel::controllers::balancer
