// What is known about the nodes of each node group: how many there are, in which condition, how many there should be, which
// scale-ups and scale-downs are under way, and since when something is not as it should be. Step I of the loop brings it up to
// date; the stages after it ask (cluster_stages.h), and scale-up and scale-down report what they have begun.
//
// What cannot be seen in the cluster (since when, under way, backed off) goes through JSON, so that it survives a restart and a
// hand-over to another replica; everything else is found out anew by Update.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/clusterstate/clusterstate.go
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/input/field.h"
#include "base/time.h"
#include "controllers/autoscaler/cluster_state/backoff.h"
#include "controllers/autoscaler/cluster_state/decisions.h"
#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

/// Nodes of a group (or of the cluster) by class; every registered node is in exactly one of the first five.
struct Readiness {
  int64_t ready = 0, suspended = 0, unready = 0;
  std::vector<scheduling::NodeId> not_started;  ///< young and not ready yet
  int64_t deleted = 0;                          ///< on their way out
  int64_t resource_unready = 0;                 ///< of `unready`: only their GPUs are missing
  int64_t registered = 0;
  int64_t unregistered = 0;       ///< instances that have no node yet
  int64_t long_unregistered = 0;  ///< instances that have had no node for longer than --max-node-provision-time
};

/// How many ready nodes a group may have without anything being wrong.
struct AcceptableRange {
  int64_t min = 0, max = 0, target = 0;
  bool operator==(const AcceptableRange&) const = default;
};

/// The number of registered nodes cannot be explained by the target and by instances on their way.
struct IncorrectSize {
  int64_t current = 0, expected = 0;
  base::Time first_observed{};
  bool operator==(const IncorrectSize&) const = default;
};

struct UnregisteredInstance {
  std::string group;
  base::Time since{};  ///< first seen
  bool operator==(const UnregisteredInstance&) const = default;
};

struct ScaleUpFailure {
  std::string group;
  ErrorInfo error;
  int64_t delta = 0;  ///< how many nodes did not come; 0 when that is unknown
  base::Time at{};
};

/// The state of one group as of the last Update (or Recalculate).
struct GroupState {
  base::Duration provision_time{}, startup_time{};
  int64_t target = 0;
  int64_t removed = 0;         ///< long unregistered instances that this loop has removed; they count until the next Update
  bool has_readiness = false;  ///< a registered node or an instance without one was seen
  Readiness readiness;
  AcceptableRange range;
};

class ClusterState {
 public:
  /// Nodes of a group that were asked for.
  struct ScaleUp {
    int64_t increase = 0;
    base::Time at{}, expected{};  ///< the last moment at which they are still waited for
    /// Of these the provider was asked without answering: by how many, to which target, and until when it may still appear.
    int64_t unanswered = 0, unanswered_target = 0;
    base::Time unanswered_until{};
    bool operator==(const ScaleUp&) const = default;
  };
  /// A node whose deletion was asked for.
  struct ScaleDown {
    std::string group, node;
    base::Time at{}, expected{};
    bool operator==(const ScaleDown&) const = default;
  };
  struct Upcoming {
    std::map<std::string, int64_t, std::less<>> nodes;  ///< by group, above 0
    /// Of those, registered but not started; by name. They leave the snapshot, new ones stand for them.
    std::map<std::string, std::vector<scheduling::NodeId>, std::less<>> registered;
  };

  explicit ClusterState(const Options& options);

  /// Step I. Takes the nodes, the groups and the time from the view. Answers events (scale-ups that failed or timed out) and
  /// reverts of targets. A group that is set aside keeps its scale-up, whatever the time. O(nodes + instances).
  StageResult Update(ClusterView& view);
  /// Targets have changed in this loop: ranges anew. O(groups).
  void Recalculate(const ClusterView& view);

  /// The group is to have `delta` more nodes (fewer, when some will not come).
  void RegisterScaleUp(std::string_view group, int64_t delta, base::Time now);
  /// The provider was asked for the `delta` nodes that have just been registered, and has not answered whether it makes them.
  /// For a minute they count as asked for, whatever size the provider tells: asking another group meanwhile could buy twice.
  void RegisterUnanswered(std::string_view group, int64_t target, int64_t delta, base::Time now);
  void RegisterScaleDown(std::string_view group, std::string_view node, base::Time now);
  /// The group could not grow; it is backed off.
  void RegisterFailedScaleUp(std::string_view group, ErrorInfo error, base::Time now, int64_t delta = 0);
  /// The stages have removed so many long unregistered instances.
  void NoteRemoved(std::string_view group, int64_t instances);

  bool IsClusterHealthy() const;
  /// False for a group that is not known.
  bool IsGroupHealthy(std::string_view group) const;
  bool IsBackedOff(std::string_view group) const { return backoff_.IsBackedOff(group, now_); }
  bool IsSafeToScaleUp(std::string_view group) const { return IsGroupHealthy(group) && !IsBackedOff(group); }
  bool IsScalingUp(std::string_view group) const;
  /// Nodes that are not ready yet but soon will be, or never (then their scale-up times out).
  Upcoming UpcomingNodes(const ClusterView& view) const;

  const GroupState* Find(std::string_view group) const;
  const Readiness& total() const { return total_; }
  const std::map<std::string, GroupState, std::less<>>& groups() const { return groups_; }
  const std::map<std::string, UnregisteredInstance, std::less<>>& unregistered() const { return unregistered_; }
  const std::map<std::string, ScaleUp, std::less<>>& scale_ups() const { return scale_ups_; }
  const std::vector<ScaleDown>& scale_downs() const { return scale_downs_; }
  const std::map<std::string, IncorrectSize, std::less<>>& incorrect_sizes() const { return incorrect_; }
  /// Since the beginning of the last Update.
  const std::vector<ScaleUpFailure>& failures() const { return failures_; }
  const Backoff& backoff() const { return backoff_; }
  base::Time now() const { return now_.Read(); }
  /// Counts up when something is registered.
  uint64_t revision() const { return revision_; }
  /// What is remembered from loop to loop is the same.
  bool SameMemory(const ClusterState& other) const;
  /// A loop that would have found all as the last one did was left out.
  void PassLoop(base::Time now) { now_ = now; }

  base::Json ToJson() const;
  /// kBadRequest names what cannot be read. Update comes before any question.
  static base::Result<ClusterState> FromJson(const base::Json& json, const Options& options);

 private:
  void ReadGroups(ClusterView& view);
  void AwaitAnswer(providers::NodeGroup& group);
  void UpdateUnregistered(const ClusterView& view);
  void CountNodes(const ClusterView& view);
  void UpdateReadiness(const ClusterView& view);
  void UpdateRanges();
  void UpdateRequests(ClusterView& view, StageResult& result);
  void TimeOut(ClusterView& view, const std::string& group, const ScaleUp& request, StageResult& result);
  void HandleCreationErrors(const ClusterView& view, StageResult& result);
  void UpdateIncorrectSizes();
  bool HasUpcoming(std::string_view group) const;
  base::Status ReadUnregistered(const base::Field& fields);
  base::Status ReadRequests(const base::Field& fields);
  base::Status ReadSizes(const base::Field& fields);

  Compat compat_;
  int64_t ok_unready_;
  double unready_percentage_;
  base::Duration provision_time_, startup_time_;

  LoopTime now_;
  uint64_t revision_ = 0;
  uint64_t matched_groups_ = 0, matched_nodes_ = 0;  // revisions of what unregistered_ is of; 0: not known
  /// The nodes by class, at these times; good for nodes and groups of these revisions, 0: none.
  struct Counted {
    uint64_t nodes = 0, groups = 0;
    Holding hold;
    Readiness total;
    std::map<std::string, Readiness, std::less<>> by_group;
  };
  Counted counted_;
  std::map<std::string, GroupState, std::less<>> groups_;
  Readiness total_;
  std::vector<ScaleUpFailure> failures_;

  std::map<std::string, UnregisteredInstance, std::less<>> unregistered_;  // by instance id
  std::map<std::string, ScaleUp, std::less<>> scale_ups_;
  std::vector<ScaleDown> scale_downs_;
  std::map<std::string, IncorrectSize, std::less<>> incorrect_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> failed_creations_;  // ids by group, as of Update
  Backoff backoff_;
};

}  // namespace evenkeel::controllers::autoscaler
