// What the views show, as JSON, from what was read. Pure. A field without a value is null or not there, which is the same to a
// merge patch. Amounts are Kubernetes quantities, shares are from 0 (and may exceed 1), times are RFC 3339.
//
//   fleet           {"hub", "plan", "replicas": {}, "clusters": {}, "handovers": {}}
//   names           {"hub", "clusters": {}}: which members there are, for who asks no more than that
//   cluster/NAME    {"name", "owner", "health", "nodes": {}, "groups": {}, "pending": {}, "scaleDown", "history": [], "unread"}
//   balance/NAME    {"name", "policies": {}, "metrics": {}, "nodes": {}, "plan", "plans": {}, "history": [], "unread"}
//   rollouts        {"ensembles": {}, "unread"}
//   events          {"events": {}, "silent": {}}: of clusters that cannot be read, why
//
// "unread" says why what is shown may be old: the member, or the hub, cannot be read at the moment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "client/lease.h"
#include "controllers/distribution/sharding/cluster.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "dashboard/member_tally.h"
#include "dashboard/outage.h"

namespace evenkeel::dashboard {

// What documents are made of, and how it is found in what was read.
using base::FindArray;
using base::FindBool;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

/// Null without a value.
Json OrNull(std::string_view text);
Json TimeOrNull(const std::optional<base::Time>& time);

// Of members, from their own API.

/// {"nodes": {"ready", "total", "upcoming", "notReady"}, "pods": {"running", "pending", "total"}, "load": {"cpu", "memory",
/// "pods"}, "groups"}. "total" counts all, also those that are upcoming and being deleted; "ready" those that are cordoned,
/// too.
Json MemberSummary(const MemberTally& tally);
/// An entry of cluster/NAME's "nodes". `explained`: what the autoscaler says of it; null: nothing.
Json NodeEntry(const NodeRow& node, const MemberTally::OnNode& on, const Json* explained);
/// An entry of "pending". `reasons`: by node group; null: none are known. "why" is the whole answer in one text: what each
/// group would have to say where that is known, else what the scheduler said.
Json PendingEntry(const PodRow& pod, const Json* reasons);
/// What there may be a heat map of: cpu, memory, pods, and what else the nodes have of extended resources.
std::vector<std::string> NodeMetrics(const MemberTally& tally);

/// What the autoscaler has written into a member, decoded.
struct AutoscalerWords {
  bool running = false;  ///< its status ConfigMap is there
  Json status;           ///< of the status ConfigMap (YAML); null: it is not there or is not to be read
  Json memory;           ///< of the ConfigMap with its memory; null as well
  Json explanation;      ///< why pods wait and nodes stay (controllers/autoscaler/loop/explanation.h); null as well
};
/// "groups": from NodeGroup objects where there are any, with what the autoscaler says; else from its status alone.
JsonObject GroupEntries(const std::map<std::string, Json>& node_groups, const MemberTally& tally, const AutoscalerWords& words);
/// "scaleDown"
Json ScaleDownEntry(const AutoscalerWords& words);

// Of the fleet, from the hub.

/// After so long without a word a replica is taken for gone: Options::replica_lease_duration, with a margin for how late a
/// renewal is heard of.
inline constexpr base::Duration kReplicaSilence = std::chrono::seconds(12);

struct FleetInput {
  std::vector<controllers::distribution::Cluster> clusters;
  controllers::distribution::PublishedPlan plan;
  std::vector<controllers::distribution::ReplicaReport> reports;
  std::vector<client::Lease> leases;  ///< of the replicas
  base::Time now{};
};

/// What the hub knows of a member: {"owner", "shard", "wanted", "epoch", "weight", "hot", "skip", "detail"}, and
/// "unreachableSince" while the replica that is to own it cannot reach it.
std::map<std::string, Json> OwnershipRows(const FleetInput& input);
Json PlanEntry(const FleetInput& input);
/// By host: those of the plan, those that have just come, and those that are gone ("goneSince") until others come in their
/// place.
std::map<std::string, Json> ReplicaEntries(const FleetInput& input);
/// The moves that the plan remembers, by an id that sorts by time. `hosts`: of shards, also such as are gone by now.
std::map<std::string, Json> HandoverEntries(const FleetInput& input, const std::map<int64_t, std::string>& hosts);

/// Who owns a member, as that replica says itself.
struct Tenure {
  std::string owner;
  base::Time since{};  ///< since when; 1970: it does not say
  base::Time heard{};  ///< when that replica was last heard of
};
/// By member; those without an owner are not there.
std::map<std::string, Tenure> Tenures(const FleetInput& input);
std::string HandoverId(base::Time time, const std::string& cluster);
/// A hand-over that no plan tells of: a standby takes over without being told, and so does a newcomer that gets the number of a
/// replica that died; and in compatible mode there are no plans. `gone`: its owner was not heard of any more.
Json SeenHandover(const std::string& cluster, const Tenure& before, const Tenure& after, bool gone);

/// An entry of "clusters": what the hub knows and what the member says of itself. Either may be null; `outage`: why the member
/// cannot be read. "unknownSince": since when what is shown is from before, null where it is not.
Json ClusterEntry(const Json& ownership, const Json& summary, const Outage& outage);

// Of ensembles, from the hub and from the members that have their servers.

/// An entry of "ensembles". `members`: by cluster its ZooKeeper object, of those that have one. `read`: by cluster that was
/// asked, why it cannot be read, if it cannot.
Json EnsembleEntry(const Json& ensemble, const std::map<std::string, Json>& members, const std::map<std::string, Outage>& read);

// Events, of the hub and of members.

/// Of an Event: the last time that it happened.
base::Time EventTime(const Json& object);

struct EventRow {
  RowMeta meta;
  std::string
      controller;  ///< "autoscaler", "balancer", "distribution", "rollout", "scheduler", "people" ...; "": nobody who decides
  base::Time time{};  ///< of the last time
  std::string name, type, reason, object, message;
  int64_t count = 1;
  static EventRow Decode(const Json& object);
};
/// By this id events sort by time, then cluster and name.
std::string EventId(const EventRow& event, const std::string& cluster);
Json EventEntry(const EventRow& event, const std::string& cluster);

}  // namespace evenkeel::dashboard
