// Compatible mode: Argo CD's dynamic cluster distribution. Claims a shard, keeps its heartbeat, and looks after the members
// that map to that shard, live under changes of the replicas, of the clusters and of the claims. It only reads, calls the
// planner (sharding.h, shard_mapping.h) and says what is wanted (ownership.h); everything runs on one strand.
#pragma once

#include <mutex>

#include "client/event_recorder.h"
#include "controllers/distribution/distributor/cluster_source.h"
#include "controllers/distribution/distributor/distributor.h"
#include "controllers/distribution/distributor/ownership.h"
#include "controllers/distribution/leases/claim.h"
#include "controllers/distribution/sharding/findings.h"
#include "controllers/distribution/sharding/replica_settings.h"

namespace evenkeel::controllers::distribution {

class CompatibleDistributor final : public Distributor {
 public:
  explicit CompatibleDistributor(DistributorContext context);
  ~CompatibleDistributor() override;

  void Start() override;
  /// Lets go of the members first, then of the claim (unless the quirk no-release is on).
  void Stop(std::function<void()> done) override;
  DistributorStatus status() const override;
  /// An error when the heartbeat could not be written for 3 x its duration, or nothing has been claimed yet.
  base::Status Health() const override;

 private:
  void Watch();
  bool Synced() const;
  void Changed(std::string_view what);
  void Reconcile();
  void Heartbeat();
  void ScheduleHeartbeat(base::Duration delay);
  base::Result<int64_t> LiveReplicas();
  base::Result<Claimer::Start> ClaimOnce(std::vector<Finding>& findings, std::vector<std::string>& warnings);
  void ClaimFailed(const base::Error& error);
  void Claimed(const Claimer::Start& claim, base::Instant begin);
  base::Duration UntilFence() const;
  bool HeartbeatExpired() const;
  void Fence();
  std::vector<int64_t> SilentShards();
  void Follow(const std::vector<Cluster>& clusters, const std::map<std::string, int64_t>& shards);
  void Publish(const std::vector<Cluster>& clusters, const std::map<std::string, int64_t>& shards);
  void PublishOwners(const std::vector<Cluster>& clusters, const std::map<std::string, int64_t>& shards);
  void SeeReplica(const std::string& name, const base::Json* lease);
  void ShardFreed();
  base::Result<std::vector<ShardClaim>> Claims() const;

  DistributorContext context_;
  const Options& options_;
  base::Clock& clock_;
  Claimer claimer_;
  const std::shared_ptr<base::Strand> strand_;
  const std::shared_ptr<base::Strand> fencing_;  ///< never calls anything: on time even while the hub hangs
  client::EventRecorder events_;
  FindingReporter findings_;
  ReplicaSettings settings_;
  const std::string identity_;
  const std::string lease_name_;
  const std::shared_ptr<base::Strand> lease_strand_;
  std::unique_ptr<client::LeaseKeeper> keeper_;  ///< says that this replica is there, and what it has been told

  std::unique_ptr<ClusterSource> clusters_;
  std::unique_ptr<ObjectInformer> deployments_, config_maps_, applications_, leases_;
  base::Timer heartbeat_timer_, reconcile_timer_, fence_timer_, silence_timer_;
  bool reconcile_posted_ = false;
  bool stopping_ = false;
  int64_t replicas_ = 0;
  int64_t shard_ = -1;
  bool claimed_once_ = false;
  std::string cause_;                           ///< why owners may change now, for Events
  std::map<std::string, std::string> why_own_;  ///< by server: the cause when this replica was to become its owner
  int64_t refused_replicas_ = -1;               ///< a number of replicas that was found too large, so that it is reported once

  /// Guards what Fence touches: the rest belongs to `strand_`.
  mutable std::mutex mutex_;
  DistributorStatus status_;
  base::Instant last_heartbeat_{};
  bool fenced_ = false;  ///< Fence has taken the members away; nothing is wanted until a heartbeat has been written

  std::unique_ptr<Ownership> ownership_;  ///< last: it ends first
};

}  // namespace evenkeel::controllers::distribution
