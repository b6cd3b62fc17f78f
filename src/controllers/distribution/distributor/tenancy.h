// One member from the view of one replica that owns it, is to own it, or stands by: its connection, its fence (owner_lease.h)
// and, while the fence is held, everything that runs for it (runtime/member.h).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "client/event_recorder.h"
#include "controllers/distribution/distributor/distributor.h"
#include "controllers/distribution/leases/owner_lease.h"
#include "controllers/distribution/sharding/cluster.h"
#include "controllers/distribution/sharding/weighted_plan.h"

namespace evenkeel::controllers::distribution {

/// What all tenancies of a replica share.
struct TenancyContext {
  base::Executor& executor;
  const Options& options;
  const MemberConnector& connector;
  const std::vector<runtime::MemberControllerFactory>& controllers;
  client::EventRecorder& events;
  base::MetricRegistry& metrics;
  std::string identity;
};

/// What is wanted of a member, and why.
struct Wanted {
  Cluster cluster;
  DesiredRole desired;
  int64_t shard = -1;
  std::string why;  ///< for Events, if this changes the owner
};

/// For reports, from any thread.
struct TenancyReport {
  std::string server, cluster;
  int64_t shard = -1;
  DesiredRole desired;
  OwnerLeaseState lease;
  bool acting = false;                          ///< the fence is open now
  std::optional<MeasuredLoad> load;             ///< while acting and measured
  std::string api;                              ///< its ApiIdentity
  std::string error;                            ///< why the member cannot be reached; empty when it can
  std::optional<base::Time> unreachable_since;  ///< with an error
};

class Tenancy {
 public:
  /// `changed` is called from any thread when the report has changed in more than its load.
  Tenancy(const TenancyContext& context, Wanted wanted, base::Random random, std::function<void()> changed);
  /// Ends without a word; blocks for the running calls.
  ~Tenancy();

  // From any thread; they do not block.
  void Want(Wanted wanted);
  /// The desired role alone.
  void Want(DesiredRole desired, std::string why);
  /// The fence closes, the work ends, `ended` is called on a strand. The Lease stays: it is for another tenancy of this
  /// replica.
  void Abandon(std::function<void()> ended);
  TenancyReport report() const;
  bool acting() const;
  const std::string& server() const { return server_; }
  uint64_t connection_hash() const { return connection_hash_; }

 private:
  void Connect();
  void Won(const std::shared_ptr<client::Fence>& fence);
  void Lost(const std::string& reason);
  void Measure();
  void RecordReachable(std::string_view error);
  void TellOther(const MemberName& other);
  void ReadIdentity(client::Client& client);
  void UpdateReport();

  const TenancyContext& context_;
  const std::string server_;
  const std::string shown_server_;  // without credentials
  const uint64_t connection_hash_;
  base::Random random_;
  const std::function<void()> changed_;
  const std::shared_ptr<base::Strand> strand_;

  // On the strand.
  Wanted wanted_;
  std::unique_ptr<client::Client> lease_client_;
  std::unique_ptr<OwnerLease> lease_;
  std::unique_ptr<runtime::Member> member_;
  base::Timer measure_timer_;
  base::Duration busy_before_{};
  int64_t busy_permille_ = 0;
  int measurements_ = 0;       ///< since the member was won
  std::string connect_error_;  ///< the connection data is of no use
  std::string told_error_;
  MemberName told_other_;
  std::string api_;

  mutable std::mutex mutex_;
  TenancyReport report_;
  std::shared_ptr<client::Fence> fence_;
};

}  // namespace evenkeel::controllers::distribution
