// The rollout of a ZooKeeper ensemble over several clusters, decided: a pure function of the objects, which answers with
// exactly one transition. Whoever carries a plan out writes the status first and applies afterwards; applying is idempotent,
// and what is not as it should be (an override deleted by hand, one that was not written before a crash) is applied again by
// the next plan.
//
// A change of the spec becomes a record (machine.h): a new template, or one voter more or less, never both at once. Each
// cluster's override pins its whole ZooKeeper to a revision, and only the record's next step moves one cluster to the next
// revision.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/forms.h"
#include "kube/manifest.h"

namespace evenkeel::controllers::rollout::zookeeper {

struct PlanInput {
  kube::ManifestObject object;  ///< the MultiClusterZooKeeper
  FleetObjects fleet;
  base::Time now{};
  base::Time watched_since{};  ///< by the same clock: no deadline has passed unseen before (Situation)
  Forms forms{};
  bool takes_no_template = false;  ///< the hub refuses a new ZooKeeper there, as where the whole namespace is being deleted
};

struct ObjectRef {
  std::string api_version, kind, ns, name;
};

struct Plan {
  base::Json status;              ///< the whole; to be written before anything else
  std::vector<base::Json> apply;  ///< in this order: overrides before what they override
  std::vector<ObjectRef> remove;
  std::string reason;     ///< one word: the transition, or why there is none
  std::string message;    ///< for people
  bool acted = false;     ///< a transition is taken, or something is put right; otherwise `reason` is what is waited for
  bool finished = false;  ///< the ensemble is deleted and all of it gone: its finalizer may go
  bool polls = false;     ///< something is waited for whose changes nobody tells of

  std::vector<std::string> warnings;
  /// {"status", "apply", "delete", "reason", "message"}, and "finished" where it is true.
  base::Json ToJson() const;
};

/// kBadRequest in one line that names file, object and field: a spec that cannot be, a status that was edited into nonsense, or
/// that a newer program has written (WhyTooNew).
/// Nothing is planned then. What may yet come right (no schedule, a cluster that is not known) is a condition instead.
base::Result<Plan> PlanRollout(const PlanInput& input);

/// What PlanRollout answers for an ensemble that is being deleted, whatever its spec has become. In order: Karmada is told that
/// the copies go, too (copies.h); the template goes, with which it takes them away; when its binding is gone, exports and
/// policies; the overrides last, because without them copies would hold on to what they run.
Plan PlanDeletion(const PlanInput& input);

ObjectRef RefOf(const base::Json& object);

/// The overrides of clusters that have been given a revision, as far as they are not there as they should be. Asks nothing of
/// the spec, so that what runs stays as it is while that cannot be used. kBadRequest as of PlanRollout for the status.
base::Result<std::vector<base::Json>> PlanRepair(const PlanInput& input);

}  // namespace evenkeel::controllers::rollout::zookeeper
