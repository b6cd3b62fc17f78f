#include "controllers/distribution/sharding/shard_plan.h"

#include <algorithm>
#include <set>

#include "controllers/distribution/sharding/distribution_events.h"
#include "controllers/distribution/sharding/weighted_plan.h"
#include "kube/object.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

}  // namespace

ShardPlanInput ReadShardPlanInput(std::span<const Json> objects, bool in_cluster, bool applications_by_bare_name,
                                  std::vector<Finding>& findings, bool missing_secrets_told) {
  ShardPlanInput input;
  std::map<std::string, const Json*> secrets;
  std::vector<Json> applications;
  std::vector<Cluster> clusters;
  std::set<std::string> servers;
  const Json* argocd_cm = nullptr;
  for (const Json& object : objects) {
    const std::string_view kind = FindString(object, {"kind"});
    if (kind == "Secret") secrets[kube::KeyOf(object)] = &object;
    if (kind == "Application") applications.push_back(object);
    if (kind == "ConfigMap" && kube::NameOf(object) == kArgoConfigMap) argocd_cm = &object;
  }
  for (const Json& object : objects) {
    const std::string_view kind = FindString(object, {"kind"});
    if (kind == "Secret" && IsClusterSecret(object)) {
      if (auto cluster = ClusterFromSecret(object, findings)) {
        if (cluster->id.empty()) {
          findings.push_back(
              {cluster->reference, cluster->source, events::kNoUid.reason,
               "metadata.uid is missing, and shards follow from it: give the Secret as kubectl get -o yaml prints it"});
        }
        servers.insert(cluster->server);
        clusters.push_back(*std::move(cluster));
      }
    }
  }
  const Json not_looked_at = base::JsonObject();
  for (const Json& object : objects) {
    if (FindString(object, {"kind"}) == "Cluster" && FindString(object, {"apiVersion"}).starts_with("cluster.karmada.io/")) {
      const std::string key = std::string(FindString(object, {"spec", "secretRef", "namespace"})) + "/" +
                              std::string(FindString(object, {"spec", "secretRef", "name"}));
      const auto found = secrets.find(key);
      const bool secondary = servers.contains(TrimSlashes(FindString(object, {"spec", "apiEndpoint"})));
      const Json* const absent = secondary || !missing_secrets_told ? &not_looked_at : nullptr;
      if (auto cluster = ClusterFromKarmada(object, found == secrets.end() ? absent : found->second, findings)) {
        clusters.push_back(*std::move(cluster));
      }
    }
  }
  input.clusters = MergeClusters(std::move(clusters), {.local = LocalClusterOf(in_cluster, argocd_cm)}, findings);
  input.apps = CountApplications(applications, applications_by_bare_name);
  return input;
}

namespace {

/// An earlier plan: shard by server.
std::map<std::string, int64_t> ShardsOf(const Json& current) {
  std::map<std::string, int64_t> shards;
  for (const Json& assignment : base::FindArray(current, {"assignments"})) {
    shards[std::string(FindString(assignment, {"server"}))] = base::FindInt(assignment, {"shard"}, -1);
  }
  return shards;
}

int64_t WeightOf(const Cluster& cluster, const ShardPlanInput& input) {
  if (cluster.weight) return *cluster.weight;
  if (const auto measured = input.weights.find(cluster.server); measured != input.weights.end()) return measured->second;
  if (input.apps.empty()) return 1;
  const auto apps = input.apps.find(cluster.server);
  return apps == input.apps.end() ? 0 : apps->second;
}

}  // namespace

ShardPlan PlanShards(const ShardPlanInput& input, const ShardingOptions& options, const Json& current,
                     std::vector<Finding>& findings) {
  ShardPlan plan;
  plan.method = MethodName(options.method);
  plan.replicas = options.replicas;
  const auto shards = AssignShards(input.clusters, input.apps, options, findings);
  const std::map<std::string, int64_t> before = ShardsOf(current);
  std::map<int64_t, PlannedShard> totals;
  for (int64_t shard = 0; shard < options.replicas; ++shard) totals[shard].shard = shard;
  for (const Cluster& cluster : input.clusters) {
    const int64_t shard = shards.at(cluster.server);
    plan.assignments.push_back({cluster.name, cluster.server, cluster.id, shard});
    PlannedShard& total = totals[shard];
    total.shard = shard;
    ++total.clusters;
    const auto apps = input.apps.find(cluster.server);
    total.weight += input.apps.empty() ? 1 : apps == input.apps.end() ? 0 : apps->second;
    const auto was = before.find(cluster.server);
    if (was != before.end() && was->second != shard) plan.moves.push_back({cluster.name, was->second, shard});
  }
  for (auto& [shard, total] : totals) plan.shards.push_back(total);
  return plan;
}

ShardPlan PlanWeightedShards(const ShardPlanInput& input, std::span<const int64_t> shards, const Json& current,
                             std::vector<Finding>& findings) {
  ShardPlan plan;
  plan.method = kWeightedMethod;
  plan.replicas = static_cast<int64_t>(shards.size());
  const std::map<std::string, int64_t> before = ShardsOf(current);
  std::vector<WeightedShard> live;
  for (const int64_t shard : shards) {
    live.push_back({.shard = shard});
    plan.shards.push_back({.shard = shard});
  }
  std::vector<WeightedCluster> clusters;
  for (const Cluster& cluster : input.clusters) {
    const auto was = before.find(cluster.server);
    clusters.push_back({.server = cluster.server,
                        .weight = WeightOf(cluster, input),
                        .pinned = cluster.shard,
                        .shard = was == before.end() ? -1 : was->second});
    if (cluster.shard && std::ranges::find(shards, *cluster.shard) == shards.end()) {
      findings.push_back(
          {cluster.reference, cluster.source, events::kShardOutOfRange.reason,
           "pinned to shard " + std::to_string(*cluster.shard) + ", which does not exist: it is placed by load"});
    }
  }
  const WeightedPlan decided = PlanWeighted(live, clusters, {});
  for (size_t i = 0; i < clusters.size(); ++i) {
    const Cluster& cluster = input.clusters[i];
    const int64_t shard = decided.shard[i];
    plan.assignments.push_back({cluster.name, cluster.server, cluster.id, shard});
    if (const auto total = std::ranges::find(plan.shards, shard, &PlannedShard::shard); total != plan.shards.end()) {
      ++total->clusters;
      total->weight += clusters[i].weight;
    }
    if (const auto was = before.find(cluster.server); was != before.end() && was->second != shard) {
      plan.moves.push_back({cluster.name, was->second, shard});
    }
  }
  for (const size_t index : decided.hot) {
    const Cluster& cluster = input.clusters[index];
    findings.push_back({cluster.reference, cluster.source, events::kHotCluster.reason,
                        "cluster " + cluster.name + " alone is more than a shard's share of the load"});
  }
  return plan;
}

Json ToJson(const ShardPlan& plan) {
  JsonArray assignments, shards, moves;
  for (const PlannedCluster& item : plan.assignments) {
    assignments.push_back(
        JsonObject{{"cluster", item.cluster}, {"server", item.server}, {"id", item.id}, {"shard", item.shard}});
  }
  for (const PlannedShard& item : plan.shards) {
    shards.push_back(JsonObject{{"shard", item.shard}, {"clusters", item.clusters}, {"weight", item.weight}});
  }
  for (const PlannedMove& item : plan.moves) {
    moves.push_back(JsonObject{{"cluster", item.cluster}, {"from", item.from}, {"to", item.to}});
  }
  return JsonObject{{"method", plan.method},
                    {"replicas", plan.replicas},
                    {"assignments", std::move(assignments)},
                    {"shards", std::move(shards)},
                    {"moves", std::move(moves)}};
}

}  // namespace evenkeel::controllers::distribution
