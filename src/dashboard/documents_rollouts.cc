#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/rollout/budget.h"
#include "dashboard/documents.h"

namespace evenkeel::dashboard {
namespace {

bool Names(const JsonArray& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const Json& each) { return each.is_string() && each.get_string() == name; });
}

/// What a record says of a cluster: where it is on the track.
std::string_view TrackState(const Json& record, std::string_view cluster) {
  const std::string_view status = FindString(record, {"status"});
  if (Names(FindArray(record, {"currentState", "completed"}), cluster)) return "Done";
  if (!Names(FindArray(record, {"currentState", "deploying"}), cluster)) return status == "Superseded" ? "Skipped" : "Waiting";
  if (status == "Paused" || status == "Failed" || status == "RollingBack" || status == "Superseded") return status;
  return "Deploying";
}

JsonObject RecordEntry(const Json& record, bool current) {
  JsonObject clusters;
  for (const Json& name : FindArray(record, {"order"})) {
    if (!name.is_string()) continue;
    const std::string_view cluster = name.get_string();
    const std::string_view state = TrackState(record, cluster);
    JsonObject entry{{"state", state}, {"since", nullptr}};
    if (state != "Done" && state != "Waiting" && state != "Skipped")
      entry["since"] = FindString(record, {"lastTransitionTime"});
    clusters[cluster] = std::move(entry);
  }
  JsonObject entry{{"current", current}, {"status", FindString(record, {"status"})}, {"clusters", std::move(clusters)}};
  for (const char* field : {"revision", "startedAt", "progress", "reason", "message"}) {
    if (const std::string_view text = FindString(record, {field}); !text.empty()) entry[field] = text;
  }
  int64_t generation = 0;
  for (const auto& [object, number] : base::FindObject(record, {"observedGenerations"})) {
    if (number.is_int64()) generation = std::max(generation, number.get_int64());
  }
  if (generation > 0) entry["generation"] = generation;
  return entry;
}

/// The word of one that says that something is wrong, or under way.
std::string_view MessageOf(const Json& object) {
  for (const char* type : {"Degraded", "Progressing"}) {
    const Json* condition = kube::FindCondition(object, type);
    if (condition != nullptr && (FindString(*condition, {"status"}) == "True" || std::string_view(type) == "Progressing")) {
      return FindString(*condition, {"message"});
    }
  }
  return "";
}

/// Pods have the same names in every cluster.
std::string NameOfServer(std::string_view pod, std::string_view cluster) { return fmt::format("{} in {}", pod, cluster); }

struct Servers {
  int64_t healthy = 0;
  std::string leader;  ///< who says so; of several, since a status may be old, the one that the controller has seen
};

/// `leader`: the id of the server that the controller has seen leading, if it is in this cluster.
JsonObject MembersOf(const Json& zookeeper, std::string_view cluster, std::optional<int64_t> leader, Servers& servers) {
  JsonObject members;
  for (const Json& server : FindArray(zookeeper, {"status", "members"})) {
    const std::string_view mode = FindString(server, {"mode"}), pod = FindString(server, {"pod"});
    const bool serves = mode == "leader" || mode == "follower" || mode == "observer" || mode == "standalone";
    const bool ready = serves && base::FindBool(server, {"synced"}, true);
    if (ready && mode != "observer") ++servers.healthy;
    const bool leads = mode == "leader" || mode == "standalone";
    if (leads && (servers.leader.empty() || leader == FindInt(server, {"id"}))) servers.leader = NameOfServer(pod, cluster);
    members[pod] = JsonObject{{"id", FindInt(server, {"id"})},
                              {"role", !serves                ? "down"
                                       : mode == "standalone" ? "leader"
                                                              : mode},
                              {"ready", ready}};
  }
  return members;
}

}  // namespace

Json EnsembleEntry(const Json& ensemble, const std::map<std::string, Json>& members,
                   const std::map<std::string, Outage>& read) {
  const JsonArray& records = FindArray(ensemble, {"status", "records"});
  const Json* last = records.empty() ? nullptr : &records.back();
  JsonObject tracks, clusters;
  for (size_t i = 0; i < records.size(); ++i) {
    tracks[fmt::format("{:04}", i + 1)] = RecordEntry(records[i], i + 1 == records.size());
  }
  Servers servers;
  bool all_read = true;
  const std::string_view led_from = FindString(ensemble, {"status", "leader", "cluster"});
  const int64_t led_by = FindInt(ensemble, {"status", "leader", "myid"});
  for (const Json& cluster : FindArray(ensemble, {"status", "clusters"})) {
    const std::string name(FindString(cluster, {"name"}));
    const auto asked = read.find(name);
    const auto member = members.find(name);
    JsonObject entry{{"replicas", FindInt(cluster, {"replicas"})}, {"ready", 0}, {"message", ""}};
    entry["revision"] = FindString(cluster, {"revision"});
    entry["state"] = last == nullptr ? "Waiting" : TrackState(*last, name);
    entry["members"] = JsonObject{};
    if (asked == read.end() || asked->second) {
      // Nothing is known of its servers, which is not that none is ready.
      all_read = false;
      entry["ready"] = nullptr;
      entry["message"] = asked == read.end() ? "has not been read" : "cannot be read: " + asked->second.error;
      if (asked != read.end()) entry["unknownSince"] = TimeOrNull(asked->second.since);
    } else if (member == members.end()) {
      all_read = false;
    } else {
      entry["ready"] = FindInt(member->second, {"status", "readyReplicas"});
      entry["message"] = MessageOf(member->second);
      entry["members"] = MembersOf(member->second, name, led_from == name ? std::optional(led_by) : std::nullopt, servers);
    }
    clusters[name] = std::move(entry);
  }
  const int64_t total = FindInt(ensemble, {"status", "replicas"}), ready = FindInt(ensemble, {"status", "readyReplicas"});
  // Where not all members can be asked, the controller's own count is better than ours.
  const int64_t healthy = all_read ? servers.healthy : ready, needed = total == 0 ? 0 : controllers::rollout::Majority(total);
  std::string leader = servers.leader;
  if (leader.empty() && !led_from.empty()) leader = NameOfServer(fmt::format("server {}", led_by), led_from);
  JsonObject entry{{"phase", FindString(ensemble, {"status", "phase"}, "Pending")},
                   {"message", MessageOf(ensemble)},
                   {"servers", JsonObject{{"total", total}, {"ready", ready}, {"healthy", healthy}}},
                   {"quorum", JsonObject{{"needed", needed}, {"healthy", healthy}, {"margin", healthy - needed}}},
                   {"leader", OrNull(leader)},
                   {"paused", base::FindBool(ensemble, {"spec", "rollout", "paused"})},
                   {"order", last == nullptr ? JsonArray() : FindArray(*last, {"order"})},
                   {"records", std::move(tracks)},
                   {"clusters", std::move(clusters)}};
  if (last != nullptr) entry["revision"] = FindString(*last, {"revision"});
  return entry;
}

}  // namespace evenkeel::dashboard
