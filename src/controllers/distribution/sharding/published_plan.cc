#include "controllers/distribution/sharding/published_plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/text.h"
#include "kube/own_kinds.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

double FindDouble(const Json& object, std::initializer_list<std::string_view> path, double missing) {
  const Json* value = base::Find(object, path);
  if (value == nullptr || !value->is_number()) return missing;
  return value->to_number<double>();
}

std::optional<base::Time> FindTime(const Json& object, std::string_view field) {
  const auto time = base::ParseTime(FindString(object, {field}));
  return time ? std::optional(*time) : std::nullopt;
}

PublishedPlan::Assignment DecodeAssignment(const Json& item) {
  return {.cluster = std::string(FindString(item, {"cluster"})),
          .server = std::string(FindString(item, {"server"})),
          .shard = FindInt(item, {"shard"}, -1),
          .standby = FindInt(item, {"standby"}, -1),
          .epoch = FindInt(item, {"epoch"}),
          .weight = FindInt(item, {"weight"})};
}

ReplicaReport::Member DecodeMember(const Json& item) {
  ReplicaReport::Member member;
  member.server = FindString(item, {"server"});
  member.cluster = FindString(item, {"cluster"});
  member.state = FindString(item, {"state"});
  member.epoch = FindInt(item, {"epoch"});
  member.since = FindTime(item, "since");
  member.detail = FindString(item, {"detail"});
  member.unreachable_since = FindTime(item, "unreachableSince");
  member.api = FindString(item, {"api"});
  if (base::Find(item, {"load"}) != nullptr) {
    member.load = {.nodes = FindInt(item, {"load", "nodes"}),
                   .pods = FindInt(item, {"load", "pods"}),
                   .busy_permille = FindInt(item, {"load", "busyPermille"}),
                   .reachable = base::FindBool(item, {"load", "reachable"}, true)};
  }
  return member;
}

}  // namespace

const kube::Resource& ShardPlans() { return kube::OwnKind("shardplans"); }
const kube::Resource& ShardReplicas() { return kube::OwnKind("shardreplicas"); }

std::string ReplicaObjectName(std::string_view identity) {
  std::string name = "evenkeel-";
  for (const char c : identity) {
    const char lower = base::LowerOf(c);
    const bool allowed = base::IsAlphanumeric(lower) || lower == '.';
    name += allowed ? lower : '-';
  }
  return name;
}

const PublishedPlan::Shard* PublishedPlan::FindShard(int64_t shard) const {
  const auto found = std::ranges::lower_bound(shards, shard, {}, &Shard::shard);
  return found != shards.end() && found->shard == shard ? &*found : nullptr;
}

const PublishedPlan::Shard* PublishedPlan::ShardOf(std::string_view replica) const {
  const auto found = std::ranges::find(shards, replica, &Shard::replica);
  return found == shards.end() ? nullptr : &*found;
}

const PublishedPlan::Assignment* PublishedPlan::Find(std::string_view server) const {
  const auto found = std::ranges::lower_bound(assignments, server, {}, &Assignment::server);
  return found != assignments.end() && found->server == server ? &*found : nullptr;
}

PublishedPlan PublishedPlan::Decode(const Json& object) {
  PublishedPlan plan;
  plan.epoch = FindInt(object, {"spec", "epoch"});
  plan.leader = FindString(object, {"spec", "leader"});
  for (const Json& item : FindArray(object, {"spec", "shards"})) {
    plan.shards.push_back({.shard = FindInt(item, {"shard"}, -1),
                           .replica = std::string(FindString(item, {"replica"})),
                           .host = std::string(FindString(item, {"host"})),
                           .leaving = base::FindBool(item, {"leaving"})});
  }
  for (const Json& item : FindArray(object, {"spec", "assignments"})) {
    if (auto assignment = DecodeAssignment(item); !assignment.server.empty()) plan.assignments.push_back(std::move(assignment));
  }
  for (const Json& item : FindArray(object, {"status", "moves"})) {
    plan.moves.push_back({.cluster = std::string(FindString(item, {"cluster"})),
                          .from = FindInt(item, {"from"}, -1),
                          .to = FindInt(item, {"to"}, -1),
                          .epoch = FindInt(item, {"epoch"}),
                          .time = FindTime(item, "time").value_or(base::Time{}),
                          .reason = std::string(FindString(item, {"reason"})),
                          .balance = base::FindBool(item, {"balance"})});
  }
  plan.hot = base::FindTexts(object, {"status", "hot"});
  plan.waiting = FindInt(object, {"status", "waiting"});
  if (const Json* status = base::Find(object, {"status"})) plan.written = FindTime(*status, "written").value_or(base::Time{});
  plan.mean = FindDouble(object, {"status", "meanLoad"}, 0);
  plan.imbalance = FindDouble(object, {"status", "imbalance"}, 1);
  std::ranges::sort(plan.shards, {}, &Shard::shard);
  std::ranges::sort(plan.assignments, {}, &Assignment::server);
  return plan;
}

void PublishedPlan::WriteTo(Json& object) const {
  JsonArray shard_list, assignment_list, move_list;
  for (const Shard& item : shards) {
    JsonObject entry{{"shard", item.shard}, {"replica", item.replica}, {"host", item.host}};
    if (item.leaving) entry["leaving"] = true;
    shard_list.push_back(std::move(entry));
  }
  for (const Assignment& item : assignments) {
    JsonObject entry{{"cluster", item.cluster}, {"server", item.server}, {"shard", item.shard}};
    if (item.standby >= 0) entry["standby"] = item.standby;
    entry["epoch"] = item.epoch;
    entry["weight"] = item.weight;
    assignment_list.push_back(std::move(entry));
  }
  for (const Move& item : moves) {
    JsonObject entry{{"cluster", item.cluster}, {"from", item.from}, {"to", item.to}, {"epoch", item.epoch}};
    entry["time"] = base::FormatMicroTime(item.time);
    entry["reason"] = item.reason;
    if (item.balance) entry["balance"] = true;
    move_list.push_back(std::move(entry));
  }
  base::Ensure(object, {"spec"}) = JsonObject{
      {"epoch", epoch}, {"leader", leader}, {"shards", std::move(shard_list)}, {"assignments", std::move(assignment_list)}};
  base::Ensure(object, {"status"}) = JsonObject{{"written", base::FormatMicroTime(written)},
                                                {"clusters", assignments.size()},
                                                {"shards", shards.size()},
                                                {"meanLoad", mean},
                                                {"imbalance", imbalance},
                                                {"hot", base::ToJsonArray(hot)},
                                                {"waiting", waiting},
                                                {"moves", std::move(move_list)}};
}

std::string ReasonText(const WeightedMove& move) {
  switch (move.reason) {
    case WeightedMove::Reason::kNew:
      return "it had no owner";
    case WeightedMove::Reason::kOwnerGone:
      return fmt::format("shard {} is gone", move.from);
    case WeightedMove::Reason::kLeaving:
      return fmt::format("the replica of shard {} leaves", move.from);
    case WeightedMove::Reason::kPinned:
      return fmt::format("it is pinned to shard {}", move.to);
    case WeightedMove::Reason::kBalance:
      return fmt::format("load of shard {} was {}, of shard {} {}", move.from, move.load_from, move.to, move.load_to);
  }
  return "";
}

bool ReplicaReport::Member::operator==(const Member& other) const {
  const auto same_load = [](const std::optional<MeasuredLoad>& a, const std::optional<MeasuredLoad>& b) {
    return a.has_value() == b.has_value() && (!a || !WeightDiffers(MeasuredWeight(*a), MeasuredWeight(*b)));
  };
  return server == other.server && cluster == other.cluster && state == other.state && epoch == other.epoch &&
         since == other.since && detail == other.detail && unreachable_since == other.unreachable_since && api == other.api &&
         same_load(load, other.load);
}

ReplicaReport ReplicaReport::Decode(const Json& object) {
  ReplicaReport report;
  report.replica = FindString(object, {"spec", "replica"});
  report.host = FindString(object, {"spec", "host"});
  report.shard = FindInt(object, {"spec", "shard"}, -1);
  for (const Json& item : FindArray(object, {"status", "members"})) report.members.push_back(DecodeMember(item));
  return report;
}

void ReplicaReport::WriteTo(Json& object) const {
  JsonArray list;
  int64_t owned = 0;
  for (const Member& member : members) {
    JsonObject entry{{"cluster", member.cluster}, {"server", member.server}, {"state", member.state}};
    if (member.epoch > 0) entry["epoch"] = member.epoch;
    if (member.since) entry["since"] = base::FormatMicroTime(*member.since);
    if (!member.detail.empty()) entry["detail"] = member.detail;
    if (member.unreachable_since) entry["unreachableSince"] = base::FormatMicroTime(*member.unreachable_since);
    if (!member.api.empty()) entry["api"] = member.api;
    if (member.load) {
      entry["load"] = JsonObject{{"nodes", member.load->nodes},
                                 {"pods", member.load->pods},
                                 {"busyPermille", member.load->busy_permille},
                                 {"reachable", member.load->reachable}};
    }
    owned += member.state == "owner";
    list.push_back(std::move(entry));
  }
  base::Ensure(object, {"spec"}) = JsonObject{{"replica", replica}, {"host", host}, {"shard", shard}};
  base::Ensure(object, {"status"}) = JsonObject{{"owned", owned}, {"members", std::move(list)}};
}

}  // namespace evenkeel::controllers::distribution
