// What is known of an ensemble's clusters at one instant: Karmada's schedule, what the members report, which clusters can be
// reached.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// The objects of one ensemble. Pointers may be null, and are borrowed.
struct FleetObjects {
  const base::Json* zookeeper = nullptr;             ///< the template on the hub
  const base::Json* binding = nullptr;               ///< its ResourceBinding
  std::vector<const base::Json*> clusters;           ///< Karmada's Clusters; none: all can be reached, unless:
  bool all_clusters = false;                         ///< these are all there are, even if there are none
  std::map<std::string, const base::Json*> members;  ///< by cluster: the member's own ZooKeeper, where it is known
  std::vector<const base::Json*> children;           ///< other objects that the ensemble may own: policies, exports
  std::vector<const base::Json*> cluster_overrides;  ///< ClusterOverridePolicies, whoever they are about
  std::vector<const base::Json*> works;              ///< of the binding, as far as somebody has looked for them (copies.h)
};

/// What a scheduler says, once it can be believed.
struct Schedule {
  std::string reason, message;  ///< why not; "" when `shares` can be used
  Shares shares;
  bool valid() const { return reason.empty(); }
};

/// Believed when it is of the template's present generation and uid, says Scheduled, and adds up; it must give every cluster of
/// the placement its share. Clusters beyond the placement are allowed: those that are being emptied.
Schedule ReadSchedule(const EnsembleSpec& spec, const FleetObjects& objects);

/// One member's word on its servers.
struct MemberReading {
  struct Server {
    int64_t id = 0;
    std::string mode;  ///< "leader", "follower", "observer"; "" while it does not serve
    bool synced = true;
  };
  bool reachable = true;
  std::string unreachable_since;  ///< as its Cluster says it; "": it does not
  bool applied = false;           ///< Karmada has brought the object there
  std::string health;
  std::string message;                           ///< why it was not applied
  std::string problem;                           ///< why its servers are not as they should be, as it says itself
  std::optional<std::string> observed_revision;  ///< the mark (MarkOf) that the status is about
  int64_t replicas = 0, ready = 0, updated = 0;
  int64_t generation = 0;  ///< of its ZooKeeper that the status is about; 0: it does not say
  bool says_replicas = false;
  std::vector<Server> servers;

  /// Pods that run, whether or not they serve.
  int64_t Running() const;
};

struct FleetReading {
  std::map<std::string, MemberReading> members;
  std::set<std::string> unknown;  ///< of the clusters asked for: not among Karmada's Clusters

  /// One that nothing is known of is unreachable: its servers count as down.
  const MemberReading& Of(const std::string& cluster) const;
};

/// That a ZooKeeper is to have; 1 where it does not say.
int64_t ReplicasOf(const base::Json& zookeeper);
/// What Karmada is told of a member's ZooKeeper: it has seen its present spec, and all its servers are ready.
bool IsHealthy(const base::Json& zookeeper);

/// Of these clusters. Never fails: what is missing or ill-formed counts as not ready.
FleetReading ReadFleet(const FleetObjects& objects, const std::set<std::string>& clusters);

/// Ids of a list's servers, and which of them are ready and in sync.
using Ids = std::set<int64_t>;
Ids IdsOf(const Naming& naming, const Identities& identities, const std::string& cluster, int64_t share);
/// Whether the member has seen its present spec is not asked, or whoever is merely told who leaves elsewhere would count as
/// down for a moment. A status from before something that may stop servers does not pass all the same: a cluster that was given
/// a revision, or is to hold, has to echo the mark of it before the next one begins.
Ids ReadyIds(const MemberReading& member, const Ids& ids);

struct Leader {
  std::string cluster;
  int64_t id = 0;
};
/// The one server that says it leads; nullopt when none or several do.
std::optional<Leader> FindLeader(const FleetReading& fleet);

}  // namespace evenkeel::controllers::rollout::zookeeper
