// The part of the Distributor that acts on members and tells about it.
#include <spdlog/fmt/fmt.h>

#include "base/log.h"
#include "controllers/distribution/distributor.h"
#include "controllers/distribution/distributor_texts.h"

namespace evenkeel::controllers::distribution {

/// Opens what this replica owns now and did not before, closes what it owned before and does not now.
void Distributor::Follow(const std::vector<Cluster>& clusters, const std::map<std::string, int64_t>& shards) {
  const bool fenced = HeartbeatExpired() && !options_.quirks.keeps_clusters_without_heartbeat;
  bool closed_by_fence;
  {
    std::lock_guard lock(mutex_);
    closed_by_fence = fenced_;
    if (!fenced) fenced_ = false;
  }
  std::map<std::string, const Cluster*> wanted;
  for (const Cluster& cluster : clusters) {
    const auto shard = shards.find(cluster.server);
    if (!fenced && shard_ >= 0 && !cluster.skip_reconcile && shard != shards.end() && shard->second == shard_) {
      wanted.emplace(cluster.server, &cluster);
    }
  }
  std::vector<std::string> lost;
  for (const auto& [server, owned] : owned_) {
    const auto still = wanted.find(server);
    if (closed_by_fence || still == wanted.end() || still->second->connection_hash != owned.cluster.connection_hash) {
      lost.push_back(server);
    }
  }
  for (const std::string& server : lost) {
    CloseMember(server, closed_by_fence || fenced ? kHeartbeatLost
                        : wanted.contains(server) ? "its connection data changed"
                                                  : cause_);
  }
  for (const auto& [server, cluster] : wanted) {
    if (auto owned = owned_.find(server); owned != owned_.end()) {
      owned->second.cluster = *cluster;
    } else {
      Open(*cluster, shard_);
    }
  }
}

void Distributor::Open(const Cluster& cluster, int64_t shard) {
  Owned& owned = owned_[cluster.server];
  owned.cluster = cluster;
  if (cluster.connection) {
    auto client = connector_(*cluster.connection);
    if (client) {
      auto member = std::make_unique<runtime::Member>(cluster.name, *std::move(client), executor_, random_.Fork(cluster.server),
                                                      [this] { strand_->Post([this] { ReportMembers(); }); });
      std::lock_guard lock(mutex_);
      if (!fenced_) members_[cluster.server] = std::move(member);
    } else {
      owned.reported_error = client.error().message();
      events_.Warning(cluster.reference, "ClusterUnreachable",
                      fmt::format("cluster {} at {}: {}: it keeps its owner; mend the connection data", cluster.name,
                                  cluster.server, client.error().message()));
    }
  }
  metrics_.GetCounter("evenkeel_distribution_moves_total", "Clusters that this replica has won").Add();
  if (!cluster.connection && cluster.reference.is_null()) {
    base::log::Warn("cluster cannot be reached", {{"cluster", cluster.name}, {"error", cluster.connection.error()}});
  }
  const std::string why = cause_.empty() ? "first distribution" : cause_;
  base::log::Info("cluster won", {{"cluster", cluster.name}, {"server", cluster.server}, {"shard", shard}, {"why", why}});
  events_.Normal(cluster.reference, "OwnerChanged",
                 fmt::format("replica {} (shard {} of {}, {}) now looks after cluster {}: {}", options_.host_name, shard,
                             replicas_, MethodName(options_.method), cluster.name, why));
}

void Distributor::CloseMember(const std::string& server, const std::string& why) {
  Owned owned = std::move(owned_.at(server));
  owned_.erase(server);
  base::log::Info("cluster let go", {{"cluster", owned.cluster.name}, {"server", server}, {"why", why}});
  events_.Normal(owned.cluster.reference, "OwnerReleased",
                 fmt::format("replica {} no longer looks after cluster {}: {}", options_.host_name, owned.cluster.name, why));
  // Ending a member waits for its running call, which may be slow; the heartbeat must not wait for it.
  std::unique_ptr<runtime::Member> member;
  {
    std::lock_guard lock(mutex_);
    if (auto found = members_.find(server); found != members_.end()) member = std::move(members_.extract(found).mapped());
  }
  if (member) closing_->Post([lost = std::move(member)]() mutable { lost.reset(); });
}

void Distributor::ReportMembers() {
  for (auto& [server, owned] : owned_) {
    std::string error;
    {
      std::lock_guard lock(mutex_);
      const auto member = members_.find(server);
      if (member == members_.end()) continue;
      error = member->second->health().error;
    }
    if (error.empty() == owned.reported_error.empty()) continue;
    owned.reported_error = error;
    if (error.empty()) {
      base::log::Info("cluster can be reached again", {{"cluster", owned.cluster.name}});
      events_.Normal(owned.cluster.reference, "ClusterReachable", "cluster " + owned.cluster.name + " can be reached again");
    } else {
      base::log::Warn("cluster cannot be reached", {{"cluster", owned.cluster.name}, {"server", server}, {"error", error}});
      events_.Warning(owned.cluster.reference, "ClusterUnreachable",
                      fmt::format("cluster {} at {} cannot be reached: {}: it keeps its owner and is tried again",
                                  owned.cluster.name, server, error));
    }
  }
  metrics_.GetGauge("evenkeel_distribution_members", "Clusters that this replica looks after")
      .Set(static_cast<double>(owned_.size()));
}

/// Logs each finding once for as long as it holds. All replicas see the same findings, so only one writes Events: the one with
/// shard 0. Whoever takes that shard over tells again, since it cannot know what was told.
void Distributor::Report(const std::vector<Finding>& findings) {
  std::set<std::string> holding;
  for (const Finding& finding : findings) {
    const std::string key = finding.object + "\n" + finding.reason + "\n" + finding.message;
    holding.insert(key);
    if (!reported_.contains(key)) base::log::Warn(finding.message, {{"object", finding.object}, {"reason", finding.reason}});
    if (shard_ == 0 && told_.insert(key).second) events_.Warning(finding.about, finding.reason, finding.message);
  }
  reported_ = std::move(holding);
  std::erase_if(told_, [&](const std::string& key) { return !reported_.contains(key); });
}

void Distributor::ReportRepair(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    base::log::Warn(finding.message, {{"object", finding.object}, {"reason", finding.reason}});
    events_.Warning(finding.about, finding.reason, finding.message);
  }
}

void Distributor::Publish(size_t clusters) {
  DistributorStatus status;
  status.synced = true;
  status.replicas = replicas_;
  status.shard = shard_;
  std::vector<std::pair<base::MetricLabels, double>> owners;
  for (const auto& [server, owned] : owned_) {
    status.owned.push_back(owned.cluster.name);
    owners.push_back({{{"cluster", owned.cluster.name},
                       {"server", server},
                       {"owner", options_.host_name},
                       {"shard", std::to_string(shard_)}},
                      1.0});
  }
  if (options_.dynamic && HeartbeatExpired()) {
    status.health_error = kHeartbeatLost;
  } else if (options_.dynamic && replicas_ <= 0) {
    status.health_error = "Deployment " + options_.ns + "/" + options_.controller_name + " has no replicas";
  }
  metrics_.ReplaceGauges(kOwnerMetric, kOwnerHelp, owners);
  metrics_.GetGauge("evenkeel_distribution_clusters", "Clusters of the fleet").Set(static_cast<double>(clusters));
  metrics_.GetGauge("evenkeel_distribution_shard", "Shard held by this replica, -1 for none").Set(static_cast<double>(shard_));
  metrics_.GetGauge("evenkeel_distribution_replicas", "Replicas that the shards are computed for")
      .Set(static_cast<double>(replicas_));
  std::vector<std::pair<base::MetricLabels, double>> ages;
  if (config_maps_) {
    const auto config_map = config_maps_->Get(options_.ns + "/" + std::string(kShardConfigMap));
    const auto claims = config_map ? ParseShardMapping(base::FindString(*config_map->json, {"data", kShardMappingKey}))
                                   : base::Result<std::vector<ShardClaim>>(std::vector<ShardClaim>{});
    for (const ShardClaim& claim : claims.value_or(std::vector<ShardClaim>{})) {
      if (!claim.heartbeat) continue;
      const double age = std::chrono::duration<double>(clock_.Now() - *claim.heartbeat).count();
      ages.push_back({{{"shard", std::to_string(claim.shard)}, {"owner", claim.controller}}, age});
    }
  }
  metrics_.ReplaceGauges("evenkeel_distribution_heartbeat_age_seconds", "Age of each shard's last heartbeat", ages);
  std::lock_guard lock(mutex_);
  status_ = std::move(status);
}

}  // namespace evenkeel::controllers::distribution
