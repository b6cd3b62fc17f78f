// From what is seen of a member to a BalancingPlan: looks for pods that break a rule of Kubernetes (mending.h), asks the
// planner when it is time, and takes out of its answer what the filters of the scheduler, or the moves of the recent past,
// forbid. While rules are mended nothing is balanced. Remembers what the planner remembers; a successor begins with what the
// plans' objects tell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "balancing/plan/plan.h"
#include "controllers/balancer/member_cluster.h"
#include "controllers/balancer/mending.h"
#include "controllers/balancer/plan_object.h"
#include "controllers/balancer/what_if.h"

namespace evenkeel::controllers::balancer {

struct Outlook {
  MemberCluster member;
  balancing::Plan plan;
  bool balanced = true;
  std::string balance_text;        ///< what is imbalanced, or that nothing is; one line
  double deviation = 0;            ///< average deviation of the least even group, before any plan
  std::optional<PlanObject> made;  ///< moves that may be made; without a name; approved unless the policy is a dry run
  std::vector<DroppedMove> dropped;
  std::vector<BrokenPod> broken;  ///< pods that stay although they break a rule, as of the last look at rules
};

/// Takes out moves that would lead back, or that other moves of the same plan make such.
std::vector<DroppedMove> DropWaysBack(const PastMoves& past, std::vector<PlannedMove>& moves, base::Time now);

class Planning {
 public:
  /// Whether a phase of some group, or a look at the rules, is due. O(groups).
  bool Due(const Policy& policy, base::Time now) const;
  /// `plans`: all that there are, for the memory of a predecessor.
  Outlook Look(const MemberInput& input, std::span<const PlanObject> plans);
  /// What Look made last is not there: it is planned again after the interval, although nothing has changed.
  void NotWritten() { try_again_ = true; }

 private:
  struct Fingerprint {
    uint64_t state = 0, loads = 0;
  };
  static Fingerprint FingerprintOf(const MemberCluster& member, std::span<const PlanObject> plans);
  void Remember(const MemberInput& input, std::span<const PlanObject> plans, MemberCluster& member);
  void NoteChanges(const MemberCluster& member, const Fingerprint& present, base::Time now);
  /// Nothing before the policy's interval for constraints has passed, unless pods were found the last time.
  Mending LookAtRules(const MemberInput& input, const MemberCluster& member, std::span<const PlanObject> plans);

  std::optional<balancing::PlannerMemory> memory_;
  uint64_t policy_version_ = 0;
  Fingerprint seen_;
  std::vector<std::string> nodes_;  // names, ascending
  std::optional<base::Time> rules_seen_, node_went_;
  bool mending_ = false;  // the last look at the rules found pods that can go
  std::vector<BrokenPod> broken_;
  bool try_again_ = false;  // some of what was planned last could not be done then
};

}  // namespace evenkeel::controllers::balancer
