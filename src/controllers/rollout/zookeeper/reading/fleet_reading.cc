#include "controllers/rollout/zookeeper/reading/fleet_reading.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/text.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;

Schedule NotYet(std::string reason, std::string message) { return {std::move(reason), std::move(message), {}}; }

std::string ConditionOf(const Json& object, std::string_view type, std::string_view field) {
  const Json* condition = kube::FindCondition(object, type);
  return condition == nullptr ? "" : std::string(FindString(*condition, {field}));
}

/// Whether the schedule is about the template as it is now.
Schedule CheckFreshness(const FleetObjects& objects) {
  if (objects.zookeeper == nullptr) return NotYet("ZooKeeperMissing", "the ZooKeeper on the hub is not there yet");
  if (objects.binding == nullptr) return NotYet("ResourceBindingMissing", "the ZooKeeper has no ResourceBinding yet");
  const Json& binding = *objects.binding;
  const std::string_view uid = FindString(binding, {"spec", "resource", "uid"});
  if (uid != kube::UidOf(*objects.zookeeper)) {
    return NotYet("ScheduleOutdated", "the ResourceBinding is of a ZooKeeper with another uid");
  }
  const int64_t generation = FindInt(binding, {"metadata", "generation"});
  const int64_t observed = FindInt(binding, {"status", "schedulerObservedGeneration"});
  if (generation != observed) {
    return NotYet("ScheduleOutdated", fmt::format("the scheduler has seen generation {} of {}", observed, generation));
  }
  if (ConditionOf(binding, "Scheduled", "status") != "True") {
    const std::string why = ConditionOf(binding, "Scheduled", "reason");
    return NotYet("NotScheduled", "the ResourceBinding is not scheduled" + (why.empty() ? "" : ": " + why));
  }
  return {};
}

MemberReading::Server ReadServer(const Json& json) {
  return {.id = FindInt(json, {"id"}),
          .mode = base::Lower(FindString(json, {"mode"})),
          .synced = base::FindBool(json, {"synced"}, true)};
}

void ReadMemberStatus(const Json* status, MemberReading& member) {
  if (status == nullptr || !status->is_object()) return;
  if (const Json* revision = Find(*status, {"observedRevision"}); revision != nullptr && revision->is_string()) {
    member.observed_revision = std::string(revision->get_string());
  }
  member.problem = FindString(*status, {"problem"});
  member.says_replicas = Find(*status, {"replicas"}) != nullptr;
  member.replicas = FindInt(*status, {"replicas"});
  member.ready = FindInt(*status, {"readyReplicas"});
  member.updated = FindInt(*status, {"updatedReplicas"});
  member.generation = FindInt(*status, {"observedGeneration"});
  member.servers.clear();
  for (const Json& server : FindArray(*status, {"members"})) member.servers.push_back(ReadServer(server));
  const int64_t leader = FindInt(*status, {"leaderID"});
  for (MemberReading::Server& server : member.servers) {
    if (server.mode.empty() && leader != 0 && server.id == leader) server.mode = "leader";
  }
}

}  // namespace

Schedule ReadSchedule(const EnsembleSpec& spec, const FleetObjects& objects) {
  if (Schedule not_yet = CheckFreshness(objects); !not_yet.valid()) return not_yet;
  Schedule schedule;
  int64_t sum = 0;
  for (const Json& cluster : FindArray(*objects.binding, {"spec", "clusters"})) {
    const int64_t share = FindInt(cluster, {"replicas"});
    sum += share;
    if (share > 0) schedule.shares[std::string(FindString(cluster, {"name"}))] = share;
  }
  if (sum == 0) {
    return NotYet("NotAWorkload", "the schedule has no replicas: is the resource interpreter asked for InterpretReplica?");
  }
  const int64_t total = FindInt(*objects.binding, {"spec", "replicas"});
  if (sum != total) return NotYet("ScheduleIncomplete", fmt::format("the schedule places {} of {} replicas", sum, total));
  for (const auto& [cluster, share] : spec.shares) {
    const int64_t given = ShareOf(schedule.shares, cluster);
    if (given != share) {
      return NotYet("ScheduleDiffers",
                    fmt::format("the schedule gives {} {} replicas, spec.placement {}", cluster, given, share));
    }
  }
  return schedule;
}

int64_t MemberReading::Running() const { return std::max({ready, static_cast<int64_t>(servers.size())}); }

const MemberReading& FleetReading::Of(const std::string& cluster) const {
  static const MemberReading kNothing = [] {
    MemberReading nothing;
    nothing.reachable = false;
    return nothing;
  }();
  const auto found = members.find(cluster);
  return found == members.end() ? kNothing : found->second;
}

FleetReading ReadFleet(const FleetObjects& objects, const std::set<std::string>& clusters) {
  FleetReading fleet;
  for (const std::string& name : clusters) {
    MemberReading& member = fleet.members[name];
    const auto found =
        std::ranges::find_if(objects.clusters, [&](const Json* cluster) { return kube::NameOf(*cluster) == name; });
    if (found == objects.clusters.end()) {
      if (objects.clusters.empty() && !objects.all_clusters) continue;
      fleet.unknown.insert(name);
      member.reachable = false;
      continue;
    }
    member.reachable = ConditionOf(**found, "Ready", "status") == "True";
    if (!member.reachable) member.unreachable_since = ConditionOf(**found, "Ready", "lastTransitionTime");
  }
  if (objects.binding != nullptr) {
    for (const Json& item : FindArray(*objects.binding, {"status", "aggregatedStatus"})) {
      const auto member = fleet.members.find(std::string(FindString(item, {"clusterName"})));
      if (member == fleet.members.end()) continue;
      member->second.applied = base::FindBool(item, {"applied"});
      member->second.health = FindString(item, {"health"});
      member->second.message = FindString(item, {"appliedMessage"});
      ReadMemberStatus(Find(item, {"status"}), member->second);
    }
  }
  for (const auto& [name, object] : objects.members) {
    const auto member = fleet.members.find(name);
    if (member == fleet.members.end()) continue;
    member->second.applied = true;
    ReadMemberStatus(Find(*object, {"status"}), member->second);
    member->second.health = IsHealthy(*object) ? "Healthy" : "Unhealthy";
  }
  return fleet;
}

int64_t ReplicasOf(const Json& zookeeper) { return FindInt(zookeeper, {"spec", "replicas"}, 1); }

bool IsHealthy(const Json& zookeeper) {
  const bool caught_up = FindInt(zookeeper, {"status", "observedGeneration"}) == FindInt(zookeeper, {"metadata", "generation"});
  return caught_up && FindInt(zookeeper, {"status", "readyReplicas"}) == ReplicasOf(zookeeper);
}

Ids IdsOf(const Naming& naming, const Identities& identities, const std::string& cluster, int64_t share) {
  Ids ids;
  const auto found = identities.find(cluster);
  if (found == identities.end()) return ids;
  for (int64_t ordinal = 0; ordinal < share; ++ordinal) ids.insert(IdOffset(naming, found->second) + ordinal + 1);
  return ids;
}

Ids ReadyIds(const MemberReading& member, const Ids& ids) {
  Ids ready;
  if (!member.reachable || !member.applied) return ready;
  if (member.servers.empty()) {
    // Only a number: ordinals are filled from below.
    for (const int64_t id : ids) {
      if (static_cast<int64_t>(ready.size()) < member.ready) ready.insert(id);
    }
    return ready;
  }
  for (const MemberReading::Server& server : member.servers) {
    const bool serves = server.mode == "leader" || (server.mode == "follower" && server.synced);
    if (serves && ids.contains(server.id)) ready.insert(server.id);
  }
  return ready;
}

std::optional<Leader> FindLeader(const FleetReading& fleet) {
  std::optional<Leader> leader;
  for (const auto& [name, member] : fleet.members) {
    if (!member.reachable || !member.applied) continue;
    for (const MemberReading::Server& server : member.servers) {
      if (server.mode != "leader") continue;
      if (leader) return std::nullopt;
      leader = {name, server.id};
    }
  }
  return leader;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
