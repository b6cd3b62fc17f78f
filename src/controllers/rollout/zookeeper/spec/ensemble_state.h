// What an ensemble's status remembers: the records of the generic rollout, and beside them which cluster has which index, which
// revision each cluster is pinned to, and what those revisions are. With it alone a controller that has just begun can go on.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "controllers/rollout/machine.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Everything about the ensemble that a cluster can be at: two clusters at one revision run the same.
struct Revision {
  std::string name;  ///< a hash of the rest
  base::Json body;   ///< of the members' ZooKeeper
  Shares shares;
  std::vector<std::string> servers;
};

/// In a revision's body: that it goes on with survivors (recovery.h), kept until the next change of the template.
inline constexpr char kRecoveryField[] = "recovery";
bool IsRecovery(const Revision& revision);

/// Named by what it holds.
Revision MakeRevision(const base::Json& body, const Shares& shares, std::vector<std::string> servers);
/// 16 hexadecimal digits, the same for equal values.
std::string HashOf(const base::Json& value);
base::Json ToJson(const Shares& shares);

/// In status.clusters: Karmada has brought the copy there.
inline constexpr char kCopiedField[] = "copied";
/// In status.clusters: EnsembleState::bound.
inline constexpr char kBoundField[] = "boundBy";

/// What became of a request to recover.
struct RecoveryNote {
  enum class Outcome { kRefused, kStarted, kCompleted };
  std::string request;
  Outcome outcome = Outcome::kRefused;
  base::Time decided{};
  std::string message{};
  std::set<std::string> lost{};  ///< of a request that was granted: clusters that still have an index
};
std::string_view Name(RecoveryNote::Outcome outcome);

/// What has been asked of Karmada's scheduler (scheduling.h).
struct Scheduling {
  int64_t attempt = 0;                   ///< number of the last question ever; 0: there was none
  int64_t asked = 0;                     ///< of them since
  std::optional<base::Time> since{};     ///< a cluster has been missing; nullopt: none is
  std::optional<base::Time> asked_at{};  ///< the last time
};

struct EnsembleState {
  State rollout;
  Identities identities;             ///< of the clusters that have an index
  std::set<int64_t> retired;         ///< indices of clusters that are gone
  int64_t stride = 0;                ///< that the ids were made with; 0: none yet
  int64_t format = 1;                ///< Forms::orders of whoever has begun the last record
  std::optional<NamingMode> mode{};  ///< of the servers' names; nullopt: none yet, or a program wrote it that does not say
  std::map<std::string, Revision> revisions;
  std::vector<RecoveryNote> recoveries;  ///< the last one is the latest
  Scheduling scheduling;
  std::set<std::string> copied;  ///< clusters where Karmada has brought the copy: what is there is ours
  /// Of others by name: uid of the binding by which Karmada was about to bring it, and where that is known a slash and the
  /// Cluster's. What it meets there by a later binding, or as a later Cluster, is what this one has left behind.
  std::map<std::string, std::string> bound;

  const Revision* Find(const std::string& revision) const;
  /// Those that servers may be running now, or are about to be given.
  std::vector<const Revision*> InForce() const;
  /// How many servers of a list are in clusters that have been given any revision.
  int64_t Started(const Shares& list) const;
  /// Ids that the record under way takes out of the list, if the cluster has been given the list without them and they are
  /// none of its own.
  std::set<int64_t> LeavingElsewhere(const std::string& cluster) const;
  /// Gives each cluster of the spec (without any index yet: of the last record, too) that has none the next index that nobody
  /// ever had, by name.
  void AssignIndices(const EnsembleSpec& spec);
  /// Whether servers of any cluster count by a list with the cluster in it.
  bool IsCountedOn(const std::string& cluster) const;
  /// The cluster, which must not be counted on, is gone: nobody gets its index again. Clusters without servers that were
  /// pinned to a list with it are pinned to `current` instead, the revision of the last record.
  void Retire(const std::string& cluster, const std::string& current);
  /// Whether the request has been decided on, as far as the notes and the revisions tell.
  bool Knows(const std::string& request) const;
  /// Whether the ensemble goes on without the servers of the cluster.
  bool IsLost(const std::string& cluster) const;
  /// Forgets revisions that no cluster and no record under way needs.
  void DropRevisions();
};

/// What the cluster has to echo, and nothing else counts: the revision's name, from its second turn on with the turn,
/// NAME.TURN. Names are of contents, so a revision that the cluster is given once more has the name that it had.
std::string MarkOf(const ClusterRevision& given);

/// Of the object's status; kBadRequest names the field (WrongField) of what is ill-formed or contradicts itself.
base::Result<EnsembleState> ReadState(const kube::ManifestObject& object);
/// Sets the fields of it in `status`, and leaves the others.
void WriteState(const EnsembleState& state, base::JsonObject& status);

}  // namespace evenkeel::controllers::rollout::zookeeper
