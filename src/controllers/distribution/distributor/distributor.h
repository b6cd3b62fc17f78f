// The distribution controller of one replica: finds out which members it is to look after, takes them by their fence and lets
// them go. Two ways to find out, behind one interface: coordinated (coordinated_distributor.h: follow the ShardPlan that the
// leader publishes) and compatible (compatible_distributor.h: Argo CD's claims on shards). Both act through ownership.h, so the
// two may run side by side while a fleet is switched over: a member still has one owner.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/metrics.h"
#include "base/random.h"
#include "client/client.h"
#include "client/http/kubeconfig.h"
#include "controllers/distribution/sharding/cluster.h"
#include "controllers/distribution/sharding/options.h"
#include "controllers/runtime/member.h"

namespace evenkeel::controllers::distribution {

/// Makes a client of a member; HTTP in production, in-process in virtual time. `epoch` is that of the tenure, to be stated with
/// each write (client::kEpochHeader); 0 for the traffic of the Lease itself, which is not fenced.
/// The request time-out must be below Options::lease_margin.
using MemberConnector =
    std::function<base::Result<std::unique_ptr<client::Client>>(const client::ConnectionConfig&, int64_t epoch)>;

/// What a replica is doing, from any thread.
struct DistributorStatus {
  bool synced = false;  ///< all hub caches have been filled
  int64_t replicas = 0;
  int64_t shard = -1;
  int64_t epoch = 0;                  ///< of the plan that is applied; compatible mode: 0
  bool leading = false;               ///< writes the plans
  std::vector<std::string> assigned;  ///< names of the clusters this replica is to look after
  std::vector<std::string> owned;     ///< names of the clusters whose fence is open: it may write to them now
  std::string health_error;           ///< empty: healthy
};

/// What a Distributor works with. All references must outlive it.
struct DistributorContext {
  client::Client& hub;
  base::Executor& executor;
  base::Random random;
  Options options;
  MemberConnector connector;
  base::MetricRegistry& metrics;
  /// What runs on each member that is won; may be empty.
  std::vector<runtime::MemberControllerFactory> member_controllers{};
  /// Told all clusters of the fleet whenever they have been read, before any of them is won; may be absent.
  std::function<void(const std::vector<Cluster>& clusters)> clusters_read{};
};

class Distributor {
 public:
  virtual ~Distributor() = default;
  virtual void Start() = 0;
  /// Hands over all members (as upon SIGTERM), then calls `done` on a strand, after twice Options::handover plus two request
  /// time-outs at the latest. Does not block. Destroying a Distributor, stopped or not, ends it without another call, as a
  /// crash would.
  virtual void Stop(std::function<void()> done) = 0;
  virtual DistributorStatus status() const = 0;
  /// What /healthz and /readyz answer.
  virtual base::Status Health() const = 0;
};

/// As Options::mode says.
std::unique_ptr<Distributor> NewDistributor(DistributorContext context);

}  // namespace evenkeel::controllers::distribution
