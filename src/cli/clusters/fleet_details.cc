#include "cli/clusters/fleet_details.h"

#include <spdlog/fmt/fmt.h>

#include "base/time.h"

namespace evenkeel::cli {
namespace {

using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;

/// Of each kind of trouble; the rest is counted.
constexpr size_t kListed = 10;

using Lines = std::vector<std::string>;

Lines Absent(const std::string& kind, const std::string& name) { return {kind + " " + name + " is not there any more."}; }

std::string Ago(const Json& object, const char* field, base::Time now) {
  const auto time = base::ParseTime(FindString(object, {field}));
  return time ? base::HumanDuration(now - *time) + " ago" : "-";
}

/// The first of them, and how many more there are.
void AddList(const std::string& title, const Lines& items, Lines& lines) {
  if (items.empty()) return;
  lines.push_back(fmt::format("{}:", title));
  for (size_t i = 0; i < items.size() && i < kListed; ++i) lines.push_back("  - " + items[i]);
  if (items.size() > kListed) lines.push_back(fmt::format("  and {} more", items.size() - kListed));
}

void AddMember(const Json& document, base::Time now, Lines& lines) {
  Lines nodes, pods, groups;
  for (const auto& [name, node] : FindObject(document, {"nodes"})) {
    const std::string_view state = FindString(node, {"state"});
    if (state != "Ready") nodes.push_back(fmt::format("{}: {}, since {}", name, state, Ago(node, "since", now)));
  }
  for (const auto& [name, pod] : FindObject(document, {"pending"})) {
    std::string why(FindString(pod, {"message"}));
    for (const auto& [group, reason] : FindObject(pod, {"reasons"})) {
      if (reason.is_string()) why += (why.empty() ? "" : "; ") + std::string(group) + ": " + std::string(reason.get_string());
    }
    pods.push_back(fmt::format("{}: {}", name, why.empty() ? "nobody has said why yet" : why));
  }
  for (const auto& [name, group] : FindObject(document, {"groups"})) {
    const std::string_view until = FindString(group, {"backoffUntil"});
    if (!until.empty())
      groups.push_back(
          fmt::format("{}: backed off until {}: {}", name, until, FindString(group, {"backoffReason"}, "no reason given")));
  }
  AddList("Nodes that are not ready", nodes, lines);
  AddList("Pods that wait", pods, lines);
  AddList("Node groups that are backed off", groups, lines);
}

Lines ClusterDetails(const FleetPicture& picture, const std::string& name, base::Time now) {
  const Json* entry = base::Find(picture.fleet, {"clusters", name});
  if (entry == nullptr) return Absent("Cluster", name);
  const std::string_view owner = FindString(*entry, {"owner"}), wanted = FindString(*entry, {"wanted"});
  Lines lines{fmt::format("Health: {}{}{}", FindString(*entry, {"health"}), FindString(*entry, {"message"}).empty() ? "" : ": ",
                          FindString(*entry, {"message"})),
              fmt::format("Owner:  {}, shard {}, plan {}", owner.empty() ? "nobody" : owner, FindInt(*entry, {"shard"}, -1),
                          FindInt(*entry, {"epoch"}))};
  if (!wanted.empty() && wanted != owner) lines.push_back(fmt::format("        the plan gives it to {}", wanted));
  lines.push_back(fmt::format("Weight: {}{}", FindInt(*entry, {"weight"}),
                              base::FindBool(*entry, {"hot"}) ? ", more than a replica's share" : ""));
  const auto document = picture.members.find(name);
  if (document == picture.members.end()) {
    lines.emplace_back("Its nodes and pods have not been read yet.");
  } else {
    AddMember(document->second, now, lines);
  }
  Lines moves;
  for (const auto& [id, move] : FindObject(picture.fleet, {"handovers"})) {
    if (FindString(move, {"cluster"}) != name) continue;
    moves.insert(moves.begin(),
                 fmt::format("{}: from {} to {}: {}", FindString(move, {"time"}), FindString(move, {"from"}, "nobody"),
                             FindString(move, {"to"}, "nobody"), FindString(move, {"reason"})));
  }
  AddList("Hand-overs, the last first", moves, lines);
  lines.push_back("More: evenkeel explain cluster " + name);
  return lines;
}

Lines NodeDetails(const FleetPicture& picture, const std::string& cluster, const std::string& name, base::Time now) {
  const auto document = picture.members.find(cluster);
  const Json* node = document == picture.members.end() ? nullptr : base::Find(document->second, {"nodes", name});
  if (node == nullptr) return Absent("Node", name + " of " + cluster);
  Lines lines{fmt::format("State:  {}, since {}", FindString(*node, {"state"}), Ago(*node, "since", now)),
              fmt::format("Group:  {}, type {}, zone {}", FindString(*node, {"group"}, "-"), FindString(*node, {"type"}, "-"),
                          FindString(*node, {"zone"}, "-")),
              fmt::format("Pods:   {}", FindInt(*node, {"pods"}))};
  for (const auto& [resource, amount] : FindObject(*node, {"allocatable"})) {
    lines.push_back(fmt::format("  {}: {} of {} requested", resource, FindString(*node, {"requested", resource}, "0"),
                                amount.is_string() ? std::string_view(amount.get_string()) : "-"));
  }
  const std::string_view unneeded = FindString(*node, {"unneededSince"}), waits = FindString(*node, {"waits"});
  if (!unneeded.empty()) lines.push_back(fmt::format("Not needed since {}", unneeded));
  if (!waits.empty()) lines.push_back(fmt::format("It stays for now: {}", waits));
  lines.push_back("More: evenkeel explain node " + name);
  return lines;
}

Lines ShardDetails(const FleetPicture& picture, const std::string& name, base::Time now) {
  const Json* replica = base::Find(picture.fleet, {"replicas", name});
  if (replica == nullptr) return Absent("Replica", name);
  Lines lines{fmt::format("Replica of shard {}, {}{}", FindInt(*replica, {"shard"}),
                          base::FindBool(*replica, {"alive"}) ? "alive" : "silent: others take its clusters over",
                          base::FindBool(*replica, {"leaving"}) ? ", leaving" : ""),
              fmt::format("Since:  {}", Ago(*replica, "since", now)),
              FindString(picture.fleet, {"plan", "leader"}) == name ? "It leads: it makes the plans." : "It does not lead."};
  Lines troubled, well;
  for (const auto& [cluster, entry] : FindObject(picture.fleet, {"clusters"})) {
    if (FindString(entry, {"owner"}) != name) continue;
    const std::string_view health = FindString(entry, {"health"});
    if (health == "Healthy") {
      well.emplace_back(cluster);
    } else {
      troubled.push_back(fmt::format("{}: {}: {}", cluster, health, FindString(entry, {"message"})));
    }
  }
  AddList("Its clusters that are in trouble", troubled, lines);
  AddList("Its other clusters", well, lines);
  return lines;
}

}  // namespace

Lines FleetDetails(const FleetPicture& picture, const std::string& what, const Lines& key, base::Time now) {
  if (key.empty()) return {"There is no row under the cursor."};
  if (what == "nodes") return NodeDetails(picture, key.front(), key.back(), now);
  return what == "shards" ? ShardDetails(picture, key.front(), now) : ClusterDetails(picture, key.front(), now);
}

}  // namespace evenkeel::cli
