// What a user asks for: the spec of a MultiClusterZooKeeper, checked.
//
//   spec:
//     replicas: 5                            # voters; the sum over the clusters
//     placement:
//       clusters: [{name: m1, replicas: 2, clusterID: c1}, ...]   # clusterID: the cluster's name in DNS, by default its own
//       requireClusterFaultTolerance: false  # refuse a placement that does not survive the loss of a cluster
//     naming: {mode: clusterset | native | perClusterService | external, stride: 10, clusterDomain: cluster.local,
//              template: "<zk>-<c>-<o>.example.org"}               # template: of external names
//     template: {}                           # body of the member's ZooKeeper
//     rollout: {order: [], progressDeadlineSeconds: 600, onFailure: Pause | Rollback, allowDegraded: false,
//               skipUnreachable: false, paused: false}
//     revisionHistoryLimit: 10
//     forceRecovery: {request: NAME, survivors: [m3], lost: [m1, m2], acknowledgeDataLoss: true}   # recovery.h
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "controllers/rollout/machine.h"
#include "kube/manifest.h"

namespace evenkeel::controllers::rollout::zookeeper {

enum class NamingMode { kClusterset, kNative, kPerClusterService, kExternal };

struct Naming {
  NamingMode mode = NamingMode::kClusterset;
  int64_t stride = 10;  ///< ids that each cluster may have
  std::string cluster_domain = "cluster.local";
  std::string pattern;  ///< of external names
};

/// Voters by cluster; clusters without any are left out.
using Shares = std::map<std::string, int64_t>;
int64_t Total(const Shares& shares);
/// 0 without any.
int64_t ShareOf(const Shares& shares, const std::string& cluster);
/// As in spec.naming.mode; nullopt: there is no such mode.
std::string_view Name(NamingMode mode);
std::optional<NamingMode> ParseNamingMode(std::string_view name);

/// To go on with a minority, after the others have been lost for good.
struct RecoveryRequest {
  std::string name;                       ///< each is decided on once
  std::set<std::string> survivors, lost;  ///< clusters; together all that have servers
};
/// "": a name for one; otherwise what is wrong.
std::string CheckRecoveryName(std::string_view name);

struct EnsembleSpec {
  std::string name, ns;
  std::string uid;  ///< of the MultiClusterZooKeeper; "": a file does not say
  Shares shares;
  std::map<std::string, std::string> cluster_ids;
  Naming naming;
  base::Json body;  ///< spec.template
  std::vector<std::string> order;
  Policy policy;
  bool allow_degraded = false;
  std::optional<RecoveryRequest> recovery{};
  std::string unsafe;  ///< why the loss of one cluster is not survived; "": it is
  std::string even;    ///< a warning about an even number of voters; "": none
};

/// kBadRequest in one line: where it stands, the object, the field, what is wrong. Among others: counts that do not add up,
/// names too long for DNS, more replicas than the stride has ids, an order that is no permutation of the clusters.
base::Result<EnsembleSpec> DecodeSpec(const kube::ManifestObject& object);

/// "MultiClusterZooKeeper data/zk: FIELD: WHAT", with the file and line before it where they are known, in one line.
std::unexpected<base::Error> WrongField(const kube::ManifestObject& object, const std::string& field, const std::string& what);

}  // namespace evenkeel::controllers::rollout::zookeeper
