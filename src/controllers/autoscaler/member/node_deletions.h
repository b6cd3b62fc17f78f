// Deletes nodes that a plan has chosen, each in steps that wait by timers on the member's strand:
//
//   mark       taint ToBeDeletedByClusterAutoscaler:NoSchedule (and a cordon); all of a batch or none
//   settle     wait until schedulers and the balancer have seen it, then look at the node's pods anew, and for pods on the move
//   evict      through the eviction API, which keeps to PodDisruptionBudgets; refusals are tried again
//   terminate  wait until the pods are gone
//   delay      wait for delay-deletion annotations to go
//   delete     look once more, then ask the provider, nodes of one group together
//
// Whatever fails, the node is given back: taint and cordon are taken off, and an event says why. One that cannot be reached is
// tried until it can. Nothing survives the object: a successor takes off what is left (stage A of the loop).
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/scaledown/actuation/actuator.go, delete_in_batch.go, drain.go
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "controllers/autoscaler/member/autoscaler_events.h"
#include "controllers/autoscaler/member/autoscaler_metrics.h"
#include "controllers/autoscaler/member/cluster_cache.h"
#include "controllers/autoscaler/options/options.h"
#include "providers/provider.h"

namespace evenkeel::controllers::autoscaler {

/// A node that is to go.
struct DeletionOrder {
  std::string node, group;
  bool drain = false;   ///< it has pods to be moved
  bool atomic = false;  ///< its group goes whole or not at all
  std::string reason;   ///< as the metric has it: empty, underutilized, unready
  NodeKind kind{};
  std::string description;  ///< for the event: "utilization: ..., pods to reschedule: ..."
};

/// Belongs to the strand.
class NodeDeletions {
 public:
  struct Context {
    client::Client& client;
    std::shared_ptr<base::Strand> strand;
    base::Clock& clock;
    const Options& options;
    ClusterCache& cache;
    AutoscalerEvents& events;
    AutoscalerMetrics& metrics;
    std::string cluster;
    /// Of one group, by the provider.
    std::function<base::Status(const std::string& group, const std::vector<providers::NodeReference>& nodes)> delete_nodes;
    std::function<void(const DeletionOrder&)> deleted;  ///< the provider has agreed to delete it
  };
  explicit NodeDeletions(Context context) : context_(std::move(context)) {}

  /// Marks the nodes and goes on by itself. Nodes with pods and nodes without are a batch each: an error says that one of them
  /// could not be marked, and then nothing of its batch begins, nor of a later one. `begun` gets the nodes that go.
  base::Status Start(const std::vector<DeletionOrder>& orders, std::vector<DeletionOrder>& begun);

  /// Names, sorted.
  std::vector<std::string> Deleting(bool drain) const;
  bool Knows(const std::string& node) const { return nodes_.contains(node) || restoring_.contains(node); }
  /// A node with the taint has been seen in the cache.
  void Seen(const std::string& node);

 private:
  enum class Phase { kSettle, kEvict, kTerminate, kDelay, kDelete };
  struct Victim {
    std::string ns, name, uid;
    int64_t grace = 0;
    size_t group = 0;          // of --drain-priority-config
    bool best_effort = false;  // a daemon pod that nobody waits for
    bool evicted = false;
  };
  struct Node {
    DeletionOrder order;
    std::string uid, provider_id;
    bool cordoned = false;  // by us
    Phase phase = Phase::kSettle;
    base::Instant deadline{};
    std::vector<Victim> victims;
    size_t group = 0, groups = 1;
    std::string last_error;
    base::Timer timer;
  };
  struct Restoring {
    bool uncordon = false;
    base::Timer timer;
  };
  /// The pods of a node as the API tells them, by what becomes of them.
  struct PodsNow {
    std::vector<Victim> move, daemons;
    std::string blocking;  // "" when nothing is in the way
  };

  base::Status Mark(const DeletionOrder& order);
  base::Duration SettleTime();
  void After(Node& node, base::Duration delay);
  void Step(const std::string& name);
  void Settle(Node& node);
  void Evict(Node& node);
  bool EvictOne(Node& node, Victim& victim);
  void Terminate(Node& node);
  void Delay(Node& node);
  void Ready(Node& node);
  void Delete(const std::string& group);
  void Deleted(const std::string& name);
  void Fail(const std::string& name, const std::string& why);
  void Restore(const std::string& name, bool uncordon);

  base::Result<std::vector<base::Json>> ListPods(const std::string& node);
  base::Result<PodsNow> LookAt(const Node& node);
  base::Status RequireNoPlanUnderWay();
  Victim MakeVictim(const base::Json& pod) const;
  void Assign(Node& node, PodsNow pods);
  base::Instant Now() const { return context_.clock.Monotonic(); }

  Context context_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Restoring> restoring_;
  std::map<std::string, base::Timer> batches_;      // by group
  std::map<std::string, base::Instant> marked_at_;  // not seen in the cache yet
  std::deque<std::pair<base::Instant, base::Duration>> seen_after_;
};

}  // namespace evenkeel::controllers::autoscaler
