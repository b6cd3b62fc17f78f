// The distribution controller of one replica, compatible with Argo CD's dynamic cluster distribution: claims a shard, keeps its
// heartbeat, and looks after the member clusters that map to that shard, live under changes of the replicas, of the clusters
// and of the claims. It only reads, calls the planner (sharding.h, shard_mapping.h) and acts; everything runs on one strand.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "client/event_recorder.h"
#include "client/informer.h"
#include "controllers/distribution/claim.h"
#include "controllers/distribution/options.h"
#include "controllers/runtime/member.h"

namespace evenkeel::controllers::distribution {

/// Makes the client of a member; HTTP in production, in-process in virtual time.
using MemberConnector = std::function<base::Result<std::unique_ptr<client::Client>>(const client::ConnectionConfig&)>;

/// What a replica is doing, from any thread.
struct DistributorStatus {
  bool synced = false;  ///< all hub caches have been filled
  int64_t replicas = 0;
  int64_t shard = -1;
  std::vector<std::string> owned;  ///< names of clusters
  std::string health_error;        ///< empty: healthy
};

class Distributor {
 public:
  Distributor(client::Client& hub, base::Executor& executor, base::Random random, Options options, MemberConnector connector,
              base::MetricRegistry& metrics);
  ~Distributor();

  void Start();
  /// Lets go of all members and of the claim (unless the quirk no-release is on), then stops. Blocks; not from the strand.
  void Stop();

  DistributorStatus status() const;
  /// What /healthz and /readyz answer: an error when the heartbeat could not be written for 3 x its duration, or nothing has
  /// been claimed yet.
  base::Status Health() const;

 private:
  struct Owned {
    Cluster cluster;
    std::string reported_error;
  };

  void Watch();
  bool Synced() const;
  void Changed(std::string_view what);
  void Reconcile();
  void Heartbeat();
  void ScheduleHeartbeat(base::Duration delay);
  base::Result<int64_t> LiveReplicas();
  base::Result<Claimer::Start> ClaimOnce(std::vector<Finding>& findings, std::vector<std::string>& warnings);
  void ClaimFailed(const base::Error& error);
  base::Duration UntilFence() const;
  bool HeartbeatExpired() const;
  void Fence();
  std::vector<Cluster> ReadClusters(std::vector<Finding>& findings);
  void Follow(const std::vector<Cluster>& clusters, const std::map<std::string, int64_t>& shards);
  void Open(const Cluster& cluster, int64_t shard);
  void CloseMember(const std::string& server, const std::string& why);
  void ReportMembers();
  base::Result<base::Json> KarmadaSecret(const kube::Object& cluster);
  void Report(const std::vector<Finding>& findings);
  void ReportRepair(const std::vector<Finding>& findings);
  void Publish(size_t clusters);
  void ShardFreed();

  client::Client& hub_;
  base::Executor& executor_;
  base::Clock& clock_;
  base::Random random_;
  const Options options_;
  const MemberConnector connector_;
  base::MetricRegistry& metrics_;
  Claimer claimer_;
  std::shared_ptr<base::Strand> strand_;
  std::shared_ptr<base::Strand> closing_;  ///< where lost members end: that may wait for a slow call
  std::shared_ptr<base::Strand> fencing_;  ///< never calls anything: on time even while the hub hangs
  client::EventRecorder events_;

  std::unique_ptr<client::Informer<kube::Object>> secrets_, karmada_clusters_, deployments_, config_maps_, applications_;
  base::Timer heartbeat_timer_, reconcile_timer_, fence_timer_;
  bool reconcile_posted_ = false;
  bool stopped_ = false;

  int64_t replicas_ = 0;
  int64_t shard_ = -1;
  bool claimed_once_ = false;
  std::string cause_;                   ///< why owners may change now, for Events
  std::map<std::string, Owned> owned_;  ///< by server
  std::set<std::string> reported_;      ///< findings that were logged and still hold
  std::set<std::string> told_;          ///< those of them that this replica wrote an Event about
  int64_t refused_replicas_ = -1;       ///< a number of replicas that was found too large, so that it is reported once
  /// Karmada's Secrets, read at most once a minute each.
  struct CachedSecret {
    base::Result<base::Json> secret;
    base::Instant read;
  };
  std::map<std::string, CachedSecret> karmada_secrets_;

  /// Guards what Fence touches: the rest belongs to `strand_`.
  mutable std::mutex mutex_;
  DistributorStatus status_;
  base::Instant last_heartbeat_{};
  bool fenced_ = false;  ///< Fence has taken the members away; nothing is opened until a heartbeat has been written
  /// By server; absent when it could not be connected to.
  std::map<std::string, std::unique_ptr<runtime::Member>> members_;
};

}  // namespace evenkeel::controllers::distribution
