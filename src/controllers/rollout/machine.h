// The ordered rollout: a change reaches one cluster at a time, in a persisted order, and the next one only when that one is
// ready and the whole can bear it. Which system is rolled out is no business of this file: it is told for each cluster whether
// it is reachable, ready, and may begin (ClusterFacts), and what is wanted now (Target).
//
// Advance takes at most one transition per call. Whoever calls it persists the answer before it acts on it; acting is giving
// each cluster the revision that State::clusters says, which may be repeated at will. So a crash at any point costs nothing,
// and two clusters never change at once.
//
//   none        -> Deploying     something is wanted
//   Ready       -> Deploying     something else is wanted: a new record
//   Deploying   -> Deploying     pending[0] begins, or cannot be reached and goes behind the others | the cluster is ready |
//                                it came forward, so its deadline starts anew | its deadline has passed, but it waits for
//                                others, and one of pending may mend that and goes before it
//   Deploying   -> Ready         every cluster is completed and the whole is healthy
//   Deploying   -> Paused        the user says so | the deadline has passed | the cluster cannot be reached
//   Deploying   -> RollingBack   the deadline has passed, the policy says so and the base revision can be gone back to
//   Paused      -> Deploying     the user no longer says so | the cluster is ready after all, or can be reached again | one of
//                                pending may mend what it waits for
//   RollingBack -> Failed        the cluster is ready at its base revision
//   any           -> Deploying     BeginAnew: a new record, whatever was under way
//   any but Ready -> Superseded  something else is wanted: a new record, in which the cluster that was deploying is first
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "controllers/rollout/record.h"

namespace evenkeel::controllers::rollout {

enum class OnFailure { kPause, kRollback };

struct Policy {
  base::Duration progress_deadline = std::chrono::minutes(10);
  OnFailure on_failure = OnFailure::kPause;
  bool paused = false;
  bool skip_unreachable = false;  ///< one that is next and cannot be reached goes to the end, where it may wait
  size_t history_limit = 10;      ///< records; at least 1
};

/// After so many turns they are counted from 1 again.
inline constexpr int64_t kMaxTurn = 1'000'000'000;

/// What a cluster is to run: acting means making it so.
struct ClusterRevision {
  std::string revision;
  std::string previous;  ///< the last other one that it was ready at, for going back; "": none
  /// Which one of all that it has been given this is, from 1 to kMaxTurn: a cluster that goes back to a revision has it for
  /// another turn, and what it confirmed the first time does not count for this one.
  int64_t turn = 1;
  bool confirmed = false;  ///< it was ready at `revision`
  bool held = false;       ///< it is not to stop anything that serves before it is given a revision again
  bool operator==(const ClusterRevision&) const = default;
  /// The next turn, if it is another revision. What it was never ready at is not gone back to.
  void Give(const std::string& next);
  /// The same revision for another turn: the cluster is to carry it out once more.
  void GiveAgain() { turn = turn % kMaxTurn + 1; }
  /// For another turn, too, so that what it confirms tells whether it knows.
  void Hold() {
    GiveAgain();
    held = true;
  }
};

struct State {
  std::vector<Record> records;
  std::map<std::string, ClusterRevision> clusters;  ///< only those that have been given a revision
};

/// What is wanted now. It differs from a record when its revision does, or the uid (where both have one); a record that does
/// not name its revision is compared by generations.
struct Target {
  std::string revision, base_revision, spec_hash, schedule_hash, uid;
  std::map<std::string, int64_t> generations;
  std::vector<std::string> order;       ///< of a fresh record; no cluster twice, not empty
  bool order_is_given = false;          ///< by the user: then a superseding record keeps to it behind its first cluster
  std::vector<std::string> foremost{};  ///< of a superseding record: those go even before the one that was deploying
};

struct ClusterFacts {
  bool reachable = true;
  bool ready = false;       ///< at the revision that State::clusters gives it, and since this turn of it
  std::string waits_for{};  ///< not ready: what is missing
  std::string progress{};   ///< how far it is, for people
  /// The same in numbers, the weightiest first: it has come forward when they are more than at any time since it began. So one
  /// that goes to and fro, such as a server that crashes again and again, does not.
  std::vector<int64_t> advance{};
  std::string gate{};          ///< why its change may not begin now; "": it may
  std::string gate_reason{};   ///< the same in one word, e.g. QuorumBudgetExhausted
  bool can_roll_back = false;  ///< to ClusterRevision::previous
  bool can_wait = false;       ///< its turn may come after those of clusters behind it
  bool can_mend = false;       ///< its turn may be what others wait for, so it may come before them
  bool in_flight = false;      ///< on its way to what it was given last, so it may stop something at any time
};

struct Situation {
  std::optional<Target> target;  ///< nullopt: not known yet, so no record begins; what is under way goes on
  std::string no_target_reason, no_target;
  Policy policy;
  std::map<std::string, ClusterFacts> clusters;  ///< one that is missing counts as unreachable
  std::string unhealthy;                         ///< why the whole is not healthy; "": it is
  base::Time now{};
  /// By the clock that `now` is of: since when somebody has been looking. Deadlines of before count from then, as another
  /// replica, whose clock was another one, wrote their times.
  base::Time watched_since{};
};

enum class Action {
  kNone,
  kAppended,
  kSuperseded,
  kStarted,
  kPostponed,
  kBroughtForward,
  kHeld,
  kProgressed,
  kCompleted,
  kFinished,
  kPaused,
  kResumed,
  kRollingBack,
  kFailed,
  kTrimmed,
};

struct Step {
  Action action = Action::kNone;
  std::string reason;   ///< one word: "ClusterStarted"; of kNone why nothing happens: "WaitingForCluster"
  std::string message;  ///< for people
  std::string cluster;  ///< that it is about, if any
  State state;          ///< afterwards
};

// Reasons that records keep.
inline constexpr std::string_view kPausedByUser = "PausedByUser";
inline constexpr std::string_view kDeadlineExceeded = "ProgressDeadlineExceeded";
inline constexpr std::string_view kClusterUnreachable = "ClusterUnreachable";

/// The records must be sound (ReadRecords); so are the answer's. O(records + clusters).
Step Advance(State state, const Situation& situation);

/// Takes a record for the target whatever is under way, which is Superseded: for what nothing may hold up, such as going on
/// after a disaster. Needs a target.
Step BeginAnew(State state, const Situation& situation);

/// Whether a new record is called for.
bool Differs(const Record& record, const Target& target);

}  // namespace evenkeel::controllers::rollout
