// Carries out the claim protocol of shard_mapping.h on the ConfigMap: read, decide, write with the version that was read.
#pragma once

#include <string>
#include <vector>

#include "client/client.h"
#include "controllers/distribution/leases/heard_heartbeats.h"
#include "controllers/distribution/sharding/cluster.h"
#include "controllers/distribution/sharding/options.h"
#include "controllers/distribution/sharding/shard_mapping.h"

namespace evenkeel::controllers::distribution {

class Claimer {
 public:
  Claimer(client::Client& hub, const Options& options, base::Clock& clock) : hub_(hub), options_(options), clock_(clock) {}

  /// What the ConfigMap says, as soon as somebody has seen it: heartbeats count from when they are heard.
  void See(const base::Json& config_map);
  const HeardHeartbeats& heard() const { return heard_; }

  /// One claim or heartbeat. kConflict: somebody else wrote in between, ask again. A ConfigMap that is broken is mended (or,
  /// with the quirk, an error) and reported in `findings`.
  base::Result<ClaimResult> Claim(int64_t replicas, int64_t shard, std::vector<Finding>& findings);
  /// Frees what this replica holds, so that another need not wait for it to expire. At most three tries.
  base::Status Release();

  /// The replicas of the Deployment now. kNotFound in upstream's words.
  base::Result<int64_t> ReadReplicas();

  /// What upstream does when a controller starts (reference: application controller, cluster sharding): static mode from the
  /// environment and the host name; dynamic mode from the Deployment and up to four claims. Never blocks for long: a conflict
  /// is tried again at once.
  struct Start {
    int64_t shard = -1;
    int64_t replicas = 0;
    std::string reason;
  };
  base::Result<Start> FirstShard(std::vector<Finding>& findings, std::vector<std::string>& warnings);

 private:
  base::Result<ClaimResult> Create(const ClaimRequest& request);

  client::Client& hub_;
  const Options& options_;
  base::Clock& clock_;
  HeardHeartbeats heard_;
};

}  // namespace evenkeel::controllers::distribution
