#include "controllers/distribution/shard_plan.h"

#include <algorithm>

#include "kube/object.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

}  // namespace

ShardPlanInput ReadShardPlanInput(std::span<const Json> objects, bool in_cluster, bool applications_by_bare_name,
                                  std::vector<Finding>& findings) {
  ShardPlanInput input;
  std::map<std::string, const Json*> secrets;
  std::vector<Json> applications;
  std::vector<Cluster> clusters;
  for (const Json& object : objects) {
    const std::string_view kind = FindString(object, {"kind"});
    if (kind == "Secret") secrets[kube::KeyOf(object)] = &object;
    if (kind == "Application") applications.push_back(object);
    if (kind == "ConfigMap" && kube::NameOf(object) == "argocd-cm") {
      const std::string_view enabled = FindString(object, {"data", "cluster.inClusterEnabled"});
      if (!enabled.empty()) in_cluster = enabled != "false";
    }
  }
  for (const Json& object : objects) {
    const std::string_view kind = FindString(object, {"kind"});
    if (kind == "Secret" && IsClusterSecret(object)) {
      if (auto cluster = ClusterFromSecret(object, findings)) {
        if (cluster->id.empty()) {
          findings.push_back(
              {cluster->reference, cluster->source, "NoUid",
               "metadata.uid is missing, and shards follow from it: give the Secret as kubectl get -o yaml prints it"});
        }
        clusters.push_back(*std::move(cluster));
      }
    }
    if (kind == "Cluster" && FindString(object, {"apiVersion"}).starts_with("cluster.karmada.io/")) {
      const std::string key = std::string(FindString(object, {"spec", "secretRef", "namespace"})) + "/" +
                              std::string(FindString(object, {"spec", "secretRef", "name"}));
      const auto secret = secrets.find(key);
      if (auto cluster = ClusterFromKarmada(object, secret == secrets.end() ? nullptr : secret->second, findings)) {
        clusters.push_back(*std::move(cluster));
      }
    }
  }
  input.clusters = MergeClusters(std::move(clusters), {.in_cluster = in_cluster}, findings);
  input.apps = CountApplications(applications, applications_by_bare_name);
  return input;
}

ShardPlan PlanShards(const ShardPlanInput& input, const ShardingOptions& options, const Json& current,
                     std::vector<Finding>& findings) {
  ShardPlan plan;
  plan.method = options.method;
  plan.replicas = options.replicas;
  const auto shards = AssignShards(input.clusters, input.apps, options, findings);
  std::map<std::string, int64_t> before;
  for (const Json& assignment : base::FindArray(current, {"assignments"})) {
    before[std::string(FindString(assignment, {"server"}))] = base::FindInt(assignment, {"shard"}, -1);
  }
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
  return JsonObject{{"method", MethodName(plan.method)},
                    {"replicas", plan.replicas},
                    {"assignments", std::move(assignments)},
                    {"shards", std::move(shards)},
                    {"moves", std::move(moves)}};
}

}  // namespace evenkeel::controllers::distribution
