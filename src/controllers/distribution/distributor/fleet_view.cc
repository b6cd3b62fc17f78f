#include "controllers/distribution/distributor/fleet_view.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "controllers/distribution/distributor/coordinated_view.h"
#include "controllers/distribution/sharding/distribution_events.h"
#include "controllers/distribution/sharding/replica_settings.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::Code;
using base::FindString;
using base::Json;
using kube::Resource;

/// All objects of a kind with apiVersion and kind filled in; none where the hub does not serve it.
base::Status Collect(client::Client& hub, const Resource& resource, client::ListOptions options, std::vector<Json>& objects) {
  auto page = client::ListAll(hub, resource, std::move(options));
  if (!page) {
    if (page.error().code() == Code::kNotFound) return {};
    return base::Fail(page.error().Wrap("list " + resource.QualifiedPlural()));
  }
  for (Json& item : page->items) {
    item.get_object()["apiVersion"] = resource.ApiVersion();
    item.get_object()["kind"] = resource.kind;
    objects.push_back(std::move(item));
  }
  return {};
}

/// The replicas whose Leases have been renewed lately, by host.
struct LivingReplicas {
  std::vector<std::pair<std::string, SettingsByName>> coordinated, compatible;

  std::vector<std::string> Disagree() const {
    std::vector<std::pair<std::string, SettingsByName>> all = coordinated;
    all.insert(all.end(), compatible.begin(), compatible.end());
    return Disagreements(all);
  }
};

base::Result<LivingReplicas> ReadReplicas(client::Client& hub, const std::string& ns, base::Time now) {
  client::ListOptions options;
  options.ns = ns;
  options.label_selector = ReplicaLeaseSelector();
  LivingReplicas living;
  auto page = client::ListAll(hub, kube::resources::Leases(), options);
  // Whoever may look at shards need not have been given Leases.
  if (!page && (page.error().code() == Code::kForbidden || page.error().code() == Code::kNotFound)) return living;
  if (!page) return base::Fail(page.error().Wrap("list the replicas' Leases"));
  for (const Json& item : page->items) {
    const client::Lease lease = client::Lease::Decode(item);
    if (now - lease.renew_time > 2 * lease.duration) continue;
    const bool compatible = FindString(item, {"metadata", "labels", kReplicaLabel}) == kCompatibleLabelValue;
    (compatible ? living.compatible : living.coordinated)
        .emplace_back(FindString(item, {"metadata", "annotations", kHostAnnotation}), SettingsIn(item));
  }
  return living;
}

std::optional<Method> MethodOfDeployment(const Json& deployment) {
  for (const Json& container : base::FindArray(deployment, {"spec", "template", "spec", "containers"})) {
    std::vector<std::string_view> arguments;
    for (const char* field : {"command", "args"}) {
      for (const Json& argument : base::FindArray(container, {field})) {
        if (const auto* text = argument.if_string()) arguments.push_back(*text);
      }
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      constexpr std::string_view kFlag = "--sharding-method";
      if (arguments[i] == kFlag && i + 1 < arguments.size()) return ParseMethod(arguments[i + 1]).value_or(Method::kLegacy);
      if (arguments[i].starts_with("--sharding-method=")) {
        return ParseMethod(arguments[i].substr(kFlag.size() + 1)).value_or(Method::kLegacy);
      }
    }
    for (const Json& variable : base::FindArray(container, {"env"})) {
      if (FindString(variable, {"name"}) == "ARGOCD_CONTROLLER_SHARDING_ALGORITHM") {
        return ParseMethod(FindString(variable, {"value"})).value_or(Method::kLegacy);
      }
    }
  }
  return std::nullopt;
}

base::Status ReadSettings(client::Client& hub, std::optional<Method> method, FleetView& fleet) {
  Options& options = fleet.options;
  auto deployment = hub.Get(kube::resources::Deployments(), options.ns, options.controller_name);
  if (!deployment) return base::Fail(deployment.error().Wrap("read Deployment " + options.ns + "/" + options.controller_name));
  fleet.plan.replicas = base::FindInt(*deployment, {"spec", "replicas"}, 1);
  if (fleet.plan.replicas > kReplicasMax) {
    return base::Fail(Code::kBadRequest, fmt::format("Deployment {}/{}: spec.replicas {}: there can be at most {} shards",
                                                     options.ns, options.controller_name, fleet.plan.replicas, kReplicasMax));
  }
  if (!method) method = MethodOfDeployment(*deployment);
  if (!method) {
    auto parameters = hub.Get(kube::resources::ConfigMaps(), options.ns, "argocd-cmd-params-cm");
    if (parameters)
      method = ParseMethod(FindString(*parameters, {"data", "controller.sharding.algorithm"})).value_or(Method::kLegacy);
  }
  options.method = method.value_or(Method::kLegacy);
  auto config_map = hub.Get(kube::resources::ConfigMaps(), options.ns, kShardConfigMap);
  if (!config_map) {
    fleet.claims_error = config_map.error().message();
    return {};
  }
  auto claims = ParseShardMapping(FindString(*config_map, {"data", kShardMappingKey}));
  if (claims) {
    fleet.claims = *std::move(claims);
  } else {
    fleet.claims_error = claims.error().message();
  }
  return {};
}

const Cluster* FindCluster(const FleetView& fleet, std::string_view server) {
  for (const Cluster& cluster : fleet.input.clusters) {
    if (cluster.server == server) return &cluster;
  }
  return nullptr;
}

void ExplainHashing(const FleetView& fleet, const Cluster& cluster, ClusterExplanation& explanation) {
  const int64_t replicas = fleet.plan.replicas;
  switch (fleet.options.method) {
    case Method::kLegacy:
      if (cluster.id.empty()) {
        explanation.why.push_back("legacy: a cluster without an id belongs to shard 0");
      } else {
        explanation.why.push_back(fmt::format("legacy: FNV-1a-32 of its id {} is {}, modulo {} replicas is {}", cluster.id,
                                              base::Fnv1a32(cluster.id), replicas, explanation.row.shard));
      }
      break;
    case Method::kRoundRobin: {
      const auto rank =
          std::ranges::count_if(fleet.input.clusters, [&](const Cluster& other) { return other.id < cluster.id; });
      explanation.why.push_back(
          fmt::format("round-robin: its id {} has rank {} of {} clusters (from 0), modulo {} replicas is {}", cluster.id, rank,
                      fleet.input.clusters.size(), replicas, explanation.row.shard));
      explanation.would_move.push_back("a cluster with a smaller id is added or removed: every later rank shifts by one");
      break;
    }
    case Method::kConsistentHashing: {
      const HashRing ring(replicas, !fleet.options.quirks.vnode_collisions);
      const HashRing::Point& first = ring.points()[ring.After(base::Blake2b64(cluster.id))];
      explanation.why.push_back(fmt::format(
          "consistent-hashing: the next virtual node after the hash of its id {} is one of shard {}", cluster.id, first.shard));
      if (first.shard != explanation.row.shard) {
        explanation.why.push_back(
            fmt::format("that shard was at its bound when this cluster's turn came (clusters are placed in the order of "
                        "their ids): shard {} is the next one with room",
                        explanation.row.shard));
      }
      explanation.would_move.push_back(
          "the number of applications on this or an earlier cluster changes which shards are at their bound");
      break;
    }
  }
  explanation.would_move.insert(
      explanation.would_move.begin(),
      fmt::format("the Deployment {} is scaled to another number than {}", fleet.options.controller_name, replicas));
}

}  // namespace

base::Result<FleetView> ReadFleet(client::Client& hub, Options options, std::optional<Mode> mode, std::optional<Method> method,
                                  base::Time now) {
  FleetView fleet;
  fleet.options = std::move(options);
  EVENKEEL_ASSIGN(const LivingReplicas living, ReadReplicas(hub, fleet.options.ns, now));
  if (!mode && living.coordinated.empty() && !living.compatible.empty()) mode = Mode::kCompatible;
  if (!mode || *mode == Mode::kCoordinated) {
    EVENKEEL_ASSIGN(const bool coordinated, ReadCoordination(hub, fleet));
    if (mode && !coordinated) {
      return base::Fail(Code::kNotFound, "there is no ShardPlan " + fleet.options.ns + "/" + kShardPlanName +
                                             ": no replica runs in coordinated mode there");
    }
    mode = coordinated ? Mode::kCoordinated : Mode::kCompatible;
  }
  fleet.options.mode = *mode;
  if (*mode == Mode::kCompatible) EVENKEEL_TRY(ReadSettings(hub, method, fleet));
  std::vector<Json> objects;
  client::ListOptions own_namespace;
  own_namespace.ns = fleet.options.ns;
  const std::vector<std::string> disagreements = living.Disagree();
  if (!disagreements.empty()) fleet.findings.push_back(DisagreementFinding(fleet.options, disagreements));
  EVENKEEL_TRY(Collect(hub, kube::resources::Secrets(), own_namespace, objects));
  client::ListOptions settings = own_namespace;
  settings.field_selector = "metadata.name=argocd-cm";
  EVENKEEL_TRY(Collect(hub, kube::resources::ConfigMaps(), settings, objects));
  EVENKEEL_TRY(Collect(hub, kube::karmada::Clusters(), {}, objects));
  EVENKEEL_TRY(Collect(hub, kube::MakeResource("argoproj.io/v1alpha1", "Application", "applications"), {}, objects));
  const Quirks& quirks = fleet.options.quirks;
  fleet.input = ReadShardPlanInput(objects, fleet.options.in_cluster, quirks.applications_by_bare_name, fleet.findings, false);
  if (*mode == Mode::kCoordinated) {
    EVENKEEL_TRY(ReadCoordinatedRows(hub, now, fleet));
    return fleet;
  }
  fleet.plan = PlanShards(fleet.input,
                          {.method = fleet.options.method,
                           .replicas = fleet.plan.replicas,
                           .negative_shard_orphans = quirks.negative_shard_orphans,
                           .vnode_collisions = quirks.vnode_collisions},
                          base::JsonObject{}, fleet.findings);
  for (const PlannedCluster& item : fleet.plan.assignments) {
    FleetView::Row row;
    row.cluster = item.cluster;
    row.server = item.server;
    row.id = item.id;
    row.shard = item.shard;
    if (const Cluster* cluster = FindCluster(fleet, item.server)) {
      row.skip_reconcile = cluster->skip_reconcile;
      row.source = cluster->source;
    }
    const auto claim = std::ranges::find(fleet.claims, item.shard, &ShardClaim::shard);
    if (claim != fleet.claims.end()) {
      // Where replicas disagree, who holds a shard says nothing about clusters.
      if (!row.skip_reconcile && disagreements.empty()) row.owner = claim->controller;
      if (claim->heartbeat) row.heartbeat_age = now - *claim->heartbeat;
    }
    fleet.rows.push_back(std::move(row));
  }
  return fleet;
}

base::Result<ClusterExplanation> ExplainCluster(const FleetView& fleet, std::string_view name) {
  const auto row =
      std::ranges::find_if(fleet.rows, [&](const FleetView::Row& r) { return r.cluster == name || r.server == name; });
  if (row == fleet.rows.end()) {
    std::string names;
    for (const FleetView::Row& other : fleet.rows) names += (names.empty() ? "" : ", ") + other.cluster;
    return base::Fail(Code::kNotFound, "cluster \"" + std::string(name) + "\" is not in the fleet: there are " +
                                           (names.empty() ? "none" : names));
  }
  ClusterExplanation explanation{*row, {}, {}};
  const Cluster& cluster = *FindCluster(fleet, row->server);
  if (fleet.options.mode == Mode::kCoordinated) return ExplainCoordinated(fleet, cluster, std::move(explanation));
  const int64_t replicas = fleet.plan.replicas;
  if (cluster.skip_reconcile)
    explanation.why.push_back("its annotation argocd.argoproj.io/skip-reconcile is true: no replica looks after it");
  if (cluster.shard.has_value() && *cluster.shard >= 0) {
    explanation.why.push_back(*cluster.shard < replicas
                                  ? fmt::format("{} pins it to shard {}", cluster.source, *cluster.shard)
                                  : fmt::format("{} pins it to shard {}, which does not exist with {} replicas: shard 0",
                                                cluster.source, *cluster.shard, replicas));
    explanation.would_move.push_back("the pinned shard is changed or removed");
  } else if (replicas <= 1) {
    explanation.why.push_back(fmt::format("with {} replica everything is shard 0", replicas));
    explanation.would_move.push_back(fmt::format("the Deployment {} is scaled up", fleet.options.controller_name));
  } else {
    ExplainHashing(fleet, cluster, explanation);
  }
  if (row->owner.empty() && !row->skip_reconcile) {
    const bool disagree = std::ranges::any_of(
        fleet.findings, [](const Finding& finding) { return finding.reason == events::kReplicasDisagree.reason; });
    explanation.why.push_back(disagree                     ? "the replicas disagree, see below: nobody can tell whose it is"
                              : fleet.claims_error.empty() ? fmt::format("no replica holds shard {} now", row->shard)
                                                           : "nobody can be seen to hold the shard: " + fleet.claims_error);
  } else if (!row->owner.empty()) {
    explanation.why.push_back(fmt::format("shard {} is held by {}", row->shard, row->owner));
    explanation.would_move.push_back(
        fmt::format("{} sends no heartbeat for more than {}", row->owner, base::FormatDuration(3 * fleet.options.heartbeat)));
  }
  for (const Finding& finding : fleet.findings) {
    const bool of_all = finding.reason == events::kReplicasDisagree.reason;
    if (of_all || finding.object == row->source) explanation.why.push_back("note: " + finding.reason + ": " + finding.message);
  }
  return explanation;
}

}  // namespace evenkeel::controllers::distribution
