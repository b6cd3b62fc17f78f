#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/distribution/sharding/sharding.h"
#include "dashboard/documents.h"

namespace evenkeel::dashboard {
namespace {

using controllers::distribution::PublishedPlan;
using controllers::distribution::ReplicaReport;

const client::Lease* LeaseOf(const FleetInput& input, const std::string& replica) {
  const auto found = std::ranges::find(input.leases, replica, &client::Lease::holder);
  return found == input.leases.end() ? nullptr : &*found;
}

std::string HostOf(const FleetInput& input, const client::Lease& lease) {
  const auto report = std::ranges::find(input.reports, lease.holder, &ReplicaReport::replica);
  return report == input.reports.end() || report->host.empty() ? lease.meta.name : report->host;
}

int64_t OwnedBy(const FleetInput& input, const std::string& replica) {
  const auto report = std::ranges::find(input.reports, replica, &ReplicaReport::replica);
  return report == input.reports.end() ? 0 : std::ranges::count(report->members, "owner", &ReplicaReport::Member::state);
}

bool Alive(const FleetInput& input, const client::Lease* lease) {
  return lease != nullptr && input.now - lease->renew_time <= kReplicaSilence;
}

std::string HostOf(const std::map<int64_t, std::string>& hosts, int64_t shard) {
  if (shard < 0) return "";
  const auto found = hosts.find(shard);
  return found == hosts.end() ? fmt::format("shard {}", shard) : found->second;
}

/// What living replicas say of a member.
struct Held {
  std::string host, replica;  ///< of its owner
  const ReplicaReport::Member* member = nullptr;
  std::string detail;  ///< what stands in the way
  std::optional<base::Time> unreachable_since;
};

Held ReadReports(const FleetInput& input, const std::string& server) {
  Held held;
  for (const ReplicaReport& report : input.reports) {
    // A report outlives its replica.
    if (!Alive(input, LeaseOf(input, report.replica))) continue;
    const auto member = std::ranges::find(report.members, server, &ReplicaReport::Member::server);
    if (member == report.members.end()) continue;
    if (member->state == "owner" || member->state == "leaving") {
      held.host = report.host;
      held.replica = report.replica;
      held.member = &*member;
    }
    if (member->state == "standby") continue;
    if (!member->detail.empty()) held.detail = member->detail;
    if (member->unreachable_since) held.unreachable_since = member->unreachable_since;
  }
  return held;
}

/// Replicas that the plan does not name: those that have just come, and those that are not heard of any more and in whose place
/// nobody has come. Each replica that came after a death takes the place of one that died.
std::vector<const client::Lease*> BesideThePlan(const FleetInput& input) {
  std::vector<const client::Lease*> shown, gone, came;
  for (const client::Lease& lease : input.leases) {
    const bool alive = Alive(input, &lease), planned = input.plan.ShardOf(lease.holder) != nullptr;
    if (alive) came.push_back(&lease);
    if (planned || lease.holder.empty()) continue;
    (alive ? shown : gone).push_back(&lease);
  }
  std::ranges::sort(gone, {}, &client::Lease::renew_time);
  std::ranges::sort(came, {}, &client::Lease::acquire_time);
  auto next = came.begin();
  for (const client::Lease* lease : gone) {
    next = std::find_if(next, came.end(), [&](const client::Lease* newer) { return newer->acquire_time > lease->renew_time; });
    if (next == came.end()) {
      shown.push_back(lease);
    } else {
      ++next;
    }
  }
  return shown;
}

}  // namespace

std::map<std::string, Json> OwnershipRows(const FleetInput& input) {
  std::map<std::string, Json> rows;
  for (const auto& cluster : input.clusters) {
    const Held owner = ReadReports(input, cluster.server);
    const PublishedPlan::Assignment* assignment = input.plan.Find(cluster.server);
    const PublishedPlan::Shard* shard = assignment == nullptr ? nullptr : input.plan.FindShard(assignment->shard);
    const bool hot = std::ranges::find(input.plan.hot, cluster.name) != input.plan.hot.end();
    JsonObject row{{"owner", OrNull(owner.host)},
                   {"wanted", OrNull(shard == nullptr ? "" : shard->host)},
                   {"hot", hot},
                   {"skip", cluster.skip_reconcile},
                   {"detail", owner.detail},
                   {"server", cluster.server}};
    if (assignment != nullptr) {
      row["shard"] = assignment->shard;
      row["epoch"] = assignment->epoch;
      row["weight"] = assignment->weight;
    }
    if (owner.unreachable_since) row["unreachableSince"] = base::FormatMicroTime(*owner.unreachable_since);
    rows[cluster.name] = std::move(row);
  }
  return rows;
}

Json PlanEntry(const FleetInput& input) {
  const auto leader = std::ranges::find(input.plan.shards, input.plan.leader, &PublishedPlan::Shard::replica);
  return JsonObject{{"epoch", input.plan.epoch},
                    {"method", controllers::distribution::kWeightedMethod},
                    {"leader", OrNull(leader == input.plan.shards.end() ? input.plan.leader : leader->host)},
                    {"time", TimeOrNull(input.plan.written)},
                    {"imbalance", Rounded(input.plan.imbalance)},
                    {"waiting", input.plan.waiting}};
}

std::map<std::string, Json> ReplicaEntries(const FleetInput& input) {
  std::map<std::string, Json> replicas;
  for (const PublishedPlan::Shard& shard : input.plan.shards) {
    const client::Lease* lease = LeaseOf(input, shard.replica);
    const bool alive = Alive(input, lease);
    int64_t weight = 0;
    for (const auto& assignment : input.plan.assignments) {
      if (assignment.shard == shard.shard) weight += assignment.weight;
    }
    replicas[shard.host] = JsonObject{{"shard", shard.shard},
                                      {"alive", alive},
                                      {"leaving", shard.leaving},
                                      {"since", lease == nullptr ? Json() : TimeOrNull(lease->acquire_time)},
                                      {"goneSince", alive || lease == nullptr ? Json() : TimeOrNull(lease->renew_time)},
                                      {"clusters", alive ? OwnedBy(input, shard.replica) : 0},
                                      {"weight", weight}};
  }
  for (const client::Lease* lease : BesideThePlan(input)) {
    const bool alive = Alive(input, lease);
    const Json entry = JsonObject{{"alive", alive},
                                  {"leaving", false},
                                  {"since", TimeOrNull(lease->acquire_time)},
                                  {"goneSince", alive ? Json() : TimeOrNull(lease->renew_time)},
                                  {"clusters", alive ? OwnedBy(input, lease->holder) : 0}};
    replicas.try_emplace(HostOf(input, *lease), entry);
  }
  return replicas;
}

std::map<std::string, Json> HandoverEntries(const FleetInput& input, const std::map<int64_t, std::string>& hosts) {
  std::map<std::string, Json> handovers;
  for (const PublishedPlan::Move& move : input.plan.moves) {
    JsonObject entry{
        {"time", base::FormatMicroTime(move.time)}, {"cluster", move.cluster}, {"from", OrNull(HostOf(hosts, move.from))},
        {"to", OrNull(HostOf(hosts, move.to))},     {"reason", move.reason},   {"seconds", nullptr}};
    for (const auto& cluster : input.clusters) {
      if (cluster.name != move.cluster) continue;
      const Held owner = ReadReports(input, cluster.server);
      if (owner.member == nullptr || owner.member->epoch < move.epoch || !owner.member->since) continue;
      const auto taken = *owner.member->since - move.time;
      // A later move explains a later tenure.
      const PublishedPlan::Assignment* assignment = input.plan.Find(cluster.server);
      if (taken >= base::Duration{} && assignment != nullptr && assignment->epoch == move.epoch) {
        entry["seconds"] = Rounded(std::chrono::duration<double>(taken).count());
      }
    }
    handovers[HandoverId(move.time, move.cluster)] = std::move(entry);
  }
  return handovers;
}

std::string HandoverId(base::Time time, const std::string& cluster) { return base::FormatMicroTime(time) + " " + cluster; }

std::map<std::string, Tenure> Tenures(const FleetInput& input) {
  std::map<std::string, Tenure> tenures;
  for (const auto& cluster : input.clusters) {
    const Held owner = ReadReports(input, cluster.server);
    if (owner.member == nullptr) continue;
    const client::Lease* lease = LeaseOf(input, owner.replica);
    tenures[cluster.name] = {.owner = owner.host,
                             .since = owner.member->since.value_or(base::Time{}),
                             .heard = lease == nullptr ? base::Time{} : lease->renew_time};
  }
  return tenures;
}

Json SeenHandover(const std::string& cluster, const Tenure& before, const Tenure& after, bool gone) {
  JsonObject entry{{"time", base::FormatMicroTime(after.since)},
                   {"cluster", cluster},
                   {"from", before.owner},
                   {"to", after.owner},
                   {"seconds", nullptr}};
  entry["reason"] = gone ? fmt::format("{} was not heard of any more", before.owner) : before.owner + " let it go";
  const auto taken = std::max(base::Duration{}, after.since - before.heard);
  if (gone) entry["seconds"] = Rounded(std::chrono::duration<double>(taken).count());
  return entry;
}

Json ClusterEntry(const Json& ownership, const Json& summary, const Outage& outage) {
  JsonObject entry;
  entry["owner"] = nullptr;
  for (const char* field : {"owner", "shard", "wanted", "epoch", "weight"}) {
    if (const Json* value = base::Find(ownership, {field})) entry[field] = *value;
  }
  entry["hot"] = FindBool(ownership, {"hot"});
  std::string health = "Healthy", message;
  const int64_t not_ready = FindInt(summary, {"nodes", "notReady"}), pending = FindInt(summary, {"pods", "pending"});
  const std::string_view owner = FindString(ownership, {"owner"}), wanted = FindString(ownership, {"wanted"});
  const std::string_view detail = FindString(ownership, {"detail"});
  const auto reported = base::ParseTime(FindString(ownership, {"unreachableSince"}));
  entry["unknownSince"] = nullptr;
  if (outage || reported) {
    health = "Unreachable";
    base::Time since = outage ? outage.since : *reported;
    if (reported) since = std::min(since, *reported);
    entry["unknownSince"] = base::FormatTime(since);
    const std::string_view reader = owner.empty() ? wanted : owner;
    message = fmt::format("unknown since {}: {}", base::FormatTime(since),
                          outage ? outage.error : fmt::format("replica {} cannot reach it: {}", reader, detail));
  } else if (ownership.is_object() && owner.empty() && !FindBool(ownership, {"skip"})) {
    health = "Unowned";
    message = detail.empty() ? "no living replica says that it owns it" : std::string(detail);
  } else if (summary.is_null() || ownership.is_null()) {
    health = "Unknown";
    message = "it has not been read yet";
  } else if (not_ready > 0 || pending > 0) {
    health = "Degraded";
    if (not_ready > 0) message = fmt::format("{} {} not ready", not_ready, not_ready == 1 ? "node is" : "nodes are");
    if (pending > 0) {
      message +=
          fmt::format("{}{} {} for a node", message.empty() ? "" : ", ", pending, pending == 1 ? "pod waits" : "pods wait");
    }
  } else if (FindBool(ownership, {"skip"})) {
    message = "no replica looks after it: skip-reconcile";
  } else if (!wanted.empty() && owner != wanted) {
    message = fmt::format("is handed over to {}{}{}", wanted, detail.empty() ? "" : ": ", detail);
  }
  entry["health"] = health;
  entry["message"] = message;
  static const Json kEmpty = MemberSummary(MemberTally());
  for (const char* field : {"nodes", "pods", "load", "groups"})
    entry[field] = *base::Find(summary.is_null() ? kEmpty : summary, {field});
  return entry;
}

}  // namespace evenkeel::dashboard
