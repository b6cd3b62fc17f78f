// Coordinated mode, Evenkeel's own: one ShardPlan, written by the leader, followed by all. A replica keeps a Lease of its own
// on the hub that says that it is alive, takes the members that the plan gives it by their fences, stands by for others, and
// reports what it holds and measures. The leader, the live replica with the lowest shard, computes the next plan (next_plan.h).
//
// No election: two replicas that both think they lead write the plan with the version they have read, so one of them loses and
// looks again; and no plan, however wrong, gives a member two owners, since the members' fences decide (owner_lease.h).
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "client/event_recorder.h"
#include "client/lease.h"
#include "controllers/distribution/distributor/cluster_source.h"
#include "controllers/distribution/distributor/distributor.h"
#include "controllers/distribution/distributor/ownership.h"
#include "controllers/distribution/distributor/replica_view.h"
#include "controllers/distribution/sharding/findings.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "controllers/distribution/sharding/replica_settings.h"

namespace evenkeel::controllers::distribution {

class CoordinatedDistributor final : public Distributor {
 public:
  explicit CoordinatedDistributor(DistributorContext context);
  ~CoordinatedDistributor() override;

  void Start() override;
  /// Says that it leaves, so that the leader gives its members to others and these ask for them; then lets go of the rest and
  /// takes its Lease away.
  void Stop(std::function<void()> done) override;
  DistributorStatus status() const override;
  /// An error while its Lease is not renewed, or no plan has been applied yet.
  base::Status Health() const override;

 private:
  // coordinated_distributor.cc: following
  void Begin();
  void PrepareHub();
  bool PreparedHub();
  bool Synced() const;
  void Changed();
  void SeePlan(const base::Json* object);
  void LookAtReplicas();
  /// Whether another live replica is there that does not leave.
  bool OthersStay() const;
  void Tick();
  void Reconcile();
  void ReadClusters();
  void Follow();
  MemberRole RoleFor(const PublishedPlan::Assignment& assignment, const TenancyReport* present);
  void Applied(int64_t epoch);
  void Leave(bool others, std::function<void()> done);
  void Publish();
  /// Once for each change of the error.
  void TellOnce(const std::string& what, const base::Error& error);

  // coordinated_leader.cc: leading and reporting
  bool Leads() const;
  void Lead();
  base::Status WritePlan(const PublishedPlan& plan);
  void ReadReports();
  void RemoveTraces();
  void Report();
  void ReportAfter(base::Duration delay);
  ReplicaReport MakeReport() const;
  void PublishLeader(bool leads);

  DistributorContext context_;
  const Options& options_;
  base::Clock& clock_;
  const std::string identity_;
  const std::string object_name_;  ///< of the own Lease and ShardReplica
  const std::shared_ptr<base::Strand> strand_;
  const std::shared_ptr<base::Strand> heartbeat_;
  client::EventRecorder events_;
  FindingReporter findings_;
  ReplicaSettings settings_;

  // On `strand_`.
  std::unique_ptr<ClusterSource> source_;
  std::unique_ptr<ObjectInformer> leases_, plans_;
  ReplicaView view_;
  std::vector<Cluster> clusters_;  ///< as last read
  std::vector<Finding> cluster_findings_;
  bool clusters_changed_ = true;
  bool known_ = true;  ///< which clusters there are, Karmada's among them
  PublishedPlan plan_;
  std::optional<base::Json> plan_object_;  ///< as stored; nullopt while there is none
  int64_t epoch_floor_ = 0;
  std::vector<LiveReplica> live_;  ///< as last looked at; empty while nothing can be seen
  /// Members that it still watches although the plan names it no more, and since when.
  std::map<std::string, base::Instant> lingering_;
  std::map<std::string, int64_t, std::less<>> weights_;  ///< measured, by server; while leading
  std::map<std::string, int> owners_;                    ///< replicas that say they own it, by server; while leading
  std::set<std::string> strays_;                         ///< reports without a Lease, when last read
  base::Instant begun_{}, routine_{};
  std::optional<base::Instant> reports_read_;
  std::optional<base::Instant> lead_again_;
  std::optional<base::Json> report_object_;
  std::optional<ReplicaReport> reported_;
  bool ready_ = false;        ///< the definitions are there
  bool plan_again_ = true;    ///< the leader is to look at the plan
  bool follow_again_ = true;  ///< the plan or the clusters have changed
  bool reconcile_posted_ = false;
  bool report_posted_ = false;
  bool stopping_ = false;
  std::map<std::string, std::string> told_errors_;  ///< the last one of each thing that fails
  base::Timer tick_timer_, reconcile_timer_, report_timer_;

  std::atomic<bool> leaving_ = false, settled_ = false;
  std::atomic<int64_t> applied_ = 0;
  mutable std::mutex mutex_;
  DistributorStatus status_;

  std::unique_ptr<client::LeaseKeeper> keeper_;
  std::unique_ptr<Ownership> ownership_;  ///< last: it ends first
};

}  // namespace evenkeel::controllers::distribution
