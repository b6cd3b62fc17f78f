#include "controllers/distribution/sharding/next_plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

#include "controllers/distribution/sharding/distribution_events.h"

namespace evenkeel::controllers::distribution {
namespace {

constexpr size_t kMovesKept = 50;
constexpr base::Duration kMinute = std::chrono::minutes(1);
/// One plan moves little (weighted_plan.h); the rest follows in steps of this.
constexpr base::Duration kNextStep = std::chrono::seconds(1);

std::vector<PublishedPlan::Shard> NextShards(const PublishedPlan& current, std::span<const LiveReplica> replicas) {
  std::vector<LiveReplica> live(replicas.begin(), replicas.end());
  std::ranges::sort(live, {}, &LiveReplica::identity);
  std::vector<PublishedPlan::Shard> shards;
  std::set<int64_t> taken;
  auto take = [&](const LiveReplica& replica, int64_t shard) {
    shards.push_back({.shard = shard, .replica = replica.identity, .host = replica.host, .leaving = replica.leaving});
    taken.insert(shard);
  };
  std::vector<const LiveReplica*> fresh;
  for (const LiveReplica& replica : live) {
    const PublishedPlan::Shard* shard = current.ShardOf(replica.identity);
    if (shard == nullptr || taken.contains(shard->shard)) {
      fresh.push_back(&replica);
    } else {
      take(replica, shard->shard);
    }
  }
  // A new process where one has ended takes over its number, and with it its clusters.
  std::erase_if(fresh, [&](const LiveReplica* replica) {
    for (const PublishedPlan::Shard& shard : current.shards) {
      if (shard.host != replica->host || taken.contains(shard.shard)) continue;
      take(*replica, shard.shard);
      return true;
    }
    return false;
  });
  int64_t number = 0;
  for (const LiveReplica* replica : fresh) {
    while (taken.contains(number)) ++number;
    take(*replica, number);
  }
  std::ranges::sort(shards, {}, &PublishedPlan::Shard::shard);
  return shards;
}

int64_t NextWeight(const Cluster& cluster, const PublishedPlan::Assignment* before, const PlanInputs& inputs) {
  if (cluster.weight) return *cluster.weight;
  const auto measured = inputs.weights.find(cluster.server);
  if (before == nullptr) return measured == inputs.weights.end() ? kUnknownWeight : measured->second;
  if (measured == inputs.weights.end()) return before->weight;
  return WeightDiffers(before->weight, measured->second) ? measured->second : before->weight;
}

/// How many moves for balance may be made now, and when there may be more.
int64_t MovesLeft(const PublishedPlan& current, const PlanInputs& inputs, std::optional<base::Duration>& again) {
  int64_t made = 0;
  for (const PublishedPlan::Move& move : current.moves) {
    const base::Duration age = inputs.now - move.time;
    // A move from the future was written by a leader whose clock is ahead: it does not count.
    if (!move.balance || age < base::Duration::zero() || age >= kMinute) continue;
    ++made;
    if (!again) again = kMinute - age;
  }
  if (!again) again = kMinute;
  return std::max<int64_t>(inputs.moves_per_minute - made, 0);
}

void FindProblems(const WeightedPlan& plan, std::span<const Cluster* const> clusters,
                  const std::vector<PublishedPlan::Shard>& shards, NextPlan& next) {
  for (const size_t index : plan.hot) {
    // With no more clusters than replicas every cluster has a replica for itself: nothing could be better.
    if (clusters.size() <= shards.size()) break;
    const Cluster& cluster = *clusters[index];
    next.plan.hot.push_back(cluster.name);
    next.findings.push_back(
        {cluster.reference, cluster.source, events::kHotCluster.reason,
         fmt::format("cluster {} alone is more than 1.25 times a replica's share of the load: no distribution "
                     "of whole clusters over {} replicas is even",
                     cluster.name, shards.size())});
  }
  for (const Cluster* cluster : clusters) {
    if (!cluster->shard || std::ranges::find(shards, *cluster->shard, &PublishedPlan::Shard::shard) != shards.end()) continue;
    next.findings.push_back({cluster->reference, cluster->source, events::kShardOutOfRange.reason,
                             fmt::format("cluster {} is pinned to shard {}, which no replica has: it is placed by load",
                                         cluster->name, *cluster->shard)});
  }
}

void RecordMoves(const WeightedPlan& plan, std::span<const Cluster* const> clusters, base::Time now, PublishedPlan& next) {
  for (const WeightedMove& move : plan.moves) {
    if (move.reason == WeightedMove::Reason::kNew) continue;
    next.moves.push_back({.cluster = clusters[move.cluster]->name,
                          .from = move.from,
                          .to = move.to,
                          .epoch = next.epoch,
                          .time = now,
                          .reason = ReasonText(move),
                          .balance = move.reason == WeightedMove::Reason::kBalance});
  }
  if (next.moves.size() > kMovesKept) next.moves.erase(next.moves.begin(), next.moves.end() - kMovesKept);
}

}  // namespace

NextPlan MakeNextPlan(const PublishedPlan& current, const PlanInputs& inputs) {
  NextPlan next;
  PublishedPlan& plan = next.plan;
  plan = current;
  plan.hot.clear();
  plan.shards = NextShards(current, inputs.replicas);
  plan.assignments.clear();

  std::vector<const Cluster*> clusters;
  for (const Cluster& cluster : inputs.clusters) {
    if (!cluster.skip_reconcile) clusters.push_back(&cluster);
  }
  std::ranges::sort(clusters, {}, &Cluster::server);
  std::vector<WeightedShard> shards;
  for (const PublishedPlan::Shard& shard : plan.shards) shards.push_back({shard.shard, shard.leaving});
  std::vector<WeightedCluster> weighted;
  for (const Cluster* cluster : clusters) {
    const PublishedPlan::Assignment* before = current.Find(cluster->server);
    weighted.push_back({.server = cluster->server,
                        .weight = NextWeight(*cluster, before, inputs),
                        .pinned = cluster->shard,
                        .shard = before == nullptr ? -1 : before->shard,
                        .standby = before == nullptr ? -1 : before->standby});
  }
  std::optional<base::Duration> again;
  const int64_t moves_left = MovesLeft(current, inputs, again);
  const WeightedPlan decided = PlanWeighted(shards, weighted, {.moves_max = moves_left});

  plan.epoch = std::max(current.epoch, inputs.epoch_floor) + 1;
  plan.leader = inputs.leader;
  plan.waiting = decided.waiting;
  plan.mean = decided.mean;
  plan.imbalance = decided.imbalance;
  const auto balancing = [](const WeightedMove& move) { return move.reason == WeightedMove::Reason::kBalance; };
  const bool more_now = std::ranges::count_if(decided.moves, balancing) < moves_left;
  if (decided.waiting > 0) next.again = more_now ? kNextStep : again;
  std::vector<int64_t> standby = decided.standby;
  for (const WeightedMove& move : decided.moves) {
    const PublishedPlan::Shard* from = plan.FindShard(move.from);
    if (from != nullptr && !from->leaving) standby[move.cluster] = move.from;
  }
  for (size_t i = 0; i < clusters.size(); ++i) {
    if (decided.shard[i] < 0) continue;
    PublishedPlan::Assignment assignment{.cluster = clusters[i]->name,
                                         .server = clusters[i]->server,
                                         .shard = decided.shard[i],
                                         .standby = standby[i],
                                         .epoch = plan.epoch,
                                         .weight = weighted[i].weight};
    if (const auto* before = current.Find(assignment.server); before != nullptr && before->shard == assignment.shard) {
      const auto* owner = current.FindShard(before->shard);
      if (owner != nullptr && owner->replica == plan.FindShard(assignment.shard)->replica) assignment.epoch = before->epoch;
    }
    plan.assignments.push_back(std::move(assignment));
  }
  FindProblems(decided, clusters, plan.shards, next);
  RecordMoves(decided, clusters, inputs.now, plan);
  plan.written = inputs.now;
  const auto same_place = [](const PublishedPlan::Assignment& a, const PublishedPlan::Assignment& b) {
    return a.server == b.server && a.cluster == b.cluster && a.shard == b.shard && a.standby == b.standby && a.epoch == b.epoch;
  };
  // Weights alone can wait: every new plan makes every replica say that it has applied it.
  const bool weights_due = inputs.now - current.written >= kMinute || inputs.now < current.written;
  next.changed = current.epoch == 0 || current.epoch < inputs.epoch_floor || plan.shards != current.shards ||
                 !std::ranges::equal(plan.assignments, current.assignments, same_place) ||
                 (weights_due && plan.assignments != current.assignments);
  if (!next.changed) next.plan = current;
  return next;
}

}  // namespace evenkeel::controllers::distribution
