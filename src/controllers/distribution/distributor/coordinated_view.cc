#include "controllers/distribution/distributor/coordinated_view.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "client/lease.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::Code;

base::Result<std::vector<client::Lease>> ReplicaLeases(client::Client& hub, const std::string& ns) {
  client::ListOptions list;
  list.ns = ns;
  list.label_selector = std::string(kReplicaLabel) + "=" + kReplicaLabelValue;
  auto page = client::ListAll(hub, kube::resources::Leases(), list);
  if (!page) return base::Fail(page.error().Wrap("list the replicas' Leases"));
  std::vector<client::Lease> leases;
  for (const base::Json& item : page->items) leases.push_back(client::Lease::Decode(item));
  return leases;
}

base::Result<std::vector<ReplicaReport>> Reports(client::Client& hub, const std::string& ns) {
  client::ListOptions list;
  list.ns = ns;
  auto page = client::ListAll(hub, ShardReplicas(), list);
  if (!page) return base::Fail(page.error().Wrap("list ShardReplicas"));
  std::vector<ReplicaReport> reports;
  for (const base::Json& item : page->items) reports.push_back(ReplicaReport::Decode(item));
  return reports;
}

/// Loads by shard, as the plan weighs them.
std::map<int64_t, int64_t> Loads(const PublishedPlan& plan) {
  std::map<int64_t, int64_t> loads;
  for (const PublishedPlan::Shard& shard : plan.shards) loads[shard.shard];
  for (const PublishedPlan::Assignment& item : plan.assignments) loads[item.shard] += item.weight;
  return loads;
}

void ExplainPlacement(const FleetView& fleet, const Cluster& cluster, const PublishedPlan::Assignment& item,
                      ClusterExplanation& explanation) {
  const PublishedPlan& plan = fleet.published;
  const auto loads = Loads(plan);
  const auto load = loads.find(item.shard);
  explanation.why.push_back(fmt::format("plan {} gave it to shard {}; its weight is {}, the shard's load {}, the mean {:.0f}",
                                        item.epoch, item.shard, item.weight, load == loads.end() ? 0 : load->second,
                                        plan.mean));
  for (const PublishedPlan::Move& move : plan.moves) {
    if (move.cluster == item.cluster && move.epoch == item.epoch) {
      explanation.why.push_back(fmt::format("it came from shard {}: {}", move.from, move.reason));
    }
  }
  if (cluster.shard && *cluster.shard == item.shard) {
    explanation.why.push_back(fmt::format("{} pins it to shard {}", cluster.source, *cluster.shard));
    explanation.would_move.push_back("the pinned shard is changed or removed");
    return;
  }
  if (cluster.shard) {
    explanation.why.push_back(
        fmt::format("{} pins it to shard {}, which no replica has: it is placed by load", cluster.source, *cluster.shard));
    explanation.would_move.push_back(fmt::format("a replica gets shard {}", *cluster.shard));
  }
  if (std::ranges::find(plan.hot, item.cluster) != plan.hot.end()) {
    explanation.why.push_back("it alone is more than 1.25 times the mean load: its shard can only be relieved of others");
  }
  explanation.would_move.push_back(
      fmt::format("the load of shard {} exceeds {:.0f} (1.25 times the mean) and moving this cluster evens it out best",
                  item.shard, plan.mean * 1.25));
  explanation.would_move.push_back("a replica joins, and this cluster fills it up best");
}

}  // namespace

base::Result<bool> ReadCoordination(client::Client& hub, FleetView& fleet) {
  auto plan = hub.Get(ShardPlans(), fleet.options.ns, kShardPlanName);
  if (!plan) {
    if (plan.error().code() == Code::kNotFound) return false;
    return base::Fail(plan.error().Wrap("read the ShardPlan"));
  }
  EVENKEEL_ASSIGN(const auto leases, ReplicaLeases(hub, fleet.options.ns));
  if (leases.empty()) return false;
  fleet.published = PublishedPlan::Decode(*plan);
  return true;
}

base::Status ReadCoordinatedRows(client::Client& hub, base::Time now, FleetView& fleet) {
  const PublishedPlan& plan = fleet.published;
  EVENKEEL_ASSIGN(const auto leases, ReplicaLeases(hub, fleet.options.ns));
  EVENKEEL_ASSIGN(const auto reports, Reports(hub, fleet.options.ns));
  fleet.plan.method = kWeightedMethod;
  fleet.plan.replicas = static_cast<int64_t>(plan.shards.size());
  for (const Cluster& cluster : fleet.input.clusters) {
    FleetView::Row row;
    row.cluster = cluster.name;
    row.server = cluster.server;
    row.id = cluster.id;
    row.source = cluster.source;
    row.skip_reconcile = cluster.skip_reconcile;
    if (const PublishedPlan::Assignment* item = plan.Find(cluster.server)) {
      row.shard = item->shard;
      row.weight = item->weight;
      row.epoch = item->epoch;
      fleet.input.weights[cluster.server] = item->weight;
      if (const auto* shard = plan.FindShard(item->shard)) row.planned = shard->host;
      if (const auto* standby = plan.FindShard(item->standby)) row.standby = standby->host;
      fleet.plan.assignments.push_back({cluster.name, cluster.server, cluster.id, item->shard});
    }
    for (const ReplicaReport& report : reports) {
      const auto lease = std::ranges::find(leases, report.replica, &client::Lease::holder);
      // A report outlives its replica: who has no Lease any more, or an old one, owns nothing.
      if (lease == leases.end() || now - lease->renew_time > fleet.options.lease_duration + fleet.options.lease_margin)
        continue;
      const auto member = std::ranges::find(report.members, cluster.server, &ReplicaReport::Member::server);
      if (member == report.members.end()) continue;
      if (member->state == "owner" || member->state == "leaving") {
        row.owner = report.host;
        row.since = member->since;
        row.heartbeat_age = now - lease->renew_time;
      }
      if (member->state != "standby") {
        if (!member->detail.empty()) row.detail = member->detail;
        if (member->unreachable_since) row.unknown_since = member->unreachable_since;
      }
      if (!member->api.empty()) row.api = member->api;
    }
    fleet.rows.push_back(std::move(row));
  }
  return {};
}

ClusterExplanation ExplainCoordinated(const FleetView& fleet, const Cluster& cluster, ClusterExplanation explanation) {
  const FleetView::Row& row = explanation.row;
  const PublishedPlan& plan = fleet.published;
  const PublishedPlan::Assignment* item = plan.Find(cluster.server);
  if (cluster.skip_reconcile) {
    explanation.why.push_back("its annotation argocd.argoproj.io/skip-reconcile is true: no replica looks after it");
  } else if (item == nullptr) {
    explanation.why.push_back(
        fmt::format("plan {} does not know it yet: the leader, {}, will place it", plan.epoch, plan.leader));
  } else {
    ExplainPlacement(fleet, cluster, *item, explanation);
    if (row.unknown_since) {
      explanation.why.push_back("it cannot be reached since " + base::FormatTime(*row.unknown_since) +
                                ": what is known of it is from before");
    }
    if (row.owner.empty()) {
      explanation.why.push_back("no live replica says that it owns it" +
                                (row.detail.empty() ? std::string() : ": " + row.detail));
    } else if (row.owner != row.planned) {
      explanation.why.push_back(fmt::format("{} still owns it and hands it over to {}{}", row.owner, row.planned,
                                            row.detail.empty() ? std::string() : ": " + row.detail));
    } else {
      explanation.why.push_back(fmt::format("{} holds its fence (Lease kube-system/evenkeel-owner in the cluster)", row.owner));
    }
    const auto* shard = plan.FindShard(item->shard);
    if (shard != nullptr) {
      explanation.would_move.push_back(
          fmt::format("{} stops, or is silent for {}: {} then takes over", shard->host,
                      base::FormatDuration(fleet.options.lease_duration + fleet.options.lease_margin),
                      row.standby.empty() ? std::string("another replica") : "its standby " + row.standby));
    }
  }
  for (const Finding& finding : fleet.findings) {
    if (finding.object == row.source) explanation.why.push_back("note: " + finding.reason + ": " + finding.message);
  }
  return explanation;
}

}  // namespace evenkeel::controllers::distribution
