// What the searches of placement and of the constraint check are tested with: a cluster as its arrangement, and the changes
// that a search made, in the words of Service Fabric's own tests.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string>
#include <vector>

#include "balancing/input/cluster_reader.h"
#include "balancing/measures/arrangement.h"
#include "balancing/model/service_groups.h"

namespace evenkeel::balancing::testing {

/// A cluster on which a search works; nodes and partitions are named in changes by their index.
class Scene {
 public:
  explicit Scene(Cluster cluster, Settings settings = {})
      : cluster_(std::move(cluster)),
        settings_(std::move(settings)),
        sets_(cluster_),
        arrangement_(cluster_, settings_, sets_),
        groups_(GroupServices(cluster_)) {}

  /// From a state as cluster_reader.h has it.
  static Cluster Read(const std::string& text, const Settings& settings = {}) {
    auto file = ReadCluster(text, "state", {.settings = settings, .node_types = {}});
    EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message());
    return file ? std::move(file->cluster) : Cluster();
  }

  const Cluster& cluster() const { return cluster_; }
  const Settings& settings() const { return settings_; }
  Arrangement& arrangement() { return arrangement_; }
  const std::vector<ServiceGroup>& groups() const { return groups_.groups; }

  /// "0 move primary 0=>2", "1 swap primary 0<=>1", "2 add instance 1", "3 drop secondary 4", "4 promote secondary 2"; sorted.
  std::vector<std::string> Changes() const {
    std::vector<std::string> changes;
    for (PartitionId partition = 0; partition < cluster_.partitions.size(); ++partition) {
      arrangement_.ForEachOf(partition, [&](ReplicaId replica) {
        const std::string change = ChangeOf(replica);
        if (!change.empty()) changes.push_back(fmt::format("{} {}", partition, change));
      });
    }
    std::ranges::sort(changes);
    return changes;
  }
  int64_t Count(std::string_view part) const {
    return std::ranges::count_if(Changes(), [&](const std::string& change) { return change.find(part) != std::string::npos; });
  }
  int64_t ReplicasOn(NodeId node) const { return static_cast<int64_t>(arrangement_.On(node).size()); }

 private:
  std::string ChangeOf(ReplicaId replica) const {
    const NodeId node = arrangement_.NodeOf(replica);
    const Role role = arrangement_.RoleOf(replica);
    if (arrangement_.IsNew(replica)) return node == kNoId ? "" : fmt::format("add {} {}", Name(role), node);
    const Replica& before = cluster_.replicas[replica];
    if (!before.Exists()) return "";
    if (node == kNoId) return fmt::format("drop {} {}", Name(before.role), before.node);
    if (role == before.role) {
      return node == before.node ? "" : fmt::format("move {} {}=>{}", Name(role), before.node, node);
    }
    if (role != Role::kPrimary) return "";  // the other one of a swap says it
    for (const Replica& other : cluster_.ReplicasOf(cluster_.partitions[before.partition])) {
      if (other.role == Role::kPrimary) return fmt::format("swap primary {}<=>{}", other.node, node);
    }
    return fmt::format("promote secondary {}", node);
  }

  const Cluster cluster_;
  const Settings settings_;
  const NodeSets sets_;
  Arrangement arrangement_;
  const ServiceGroups groups_;
};

/// "- {name: n0, BODY}" and so on, one for each.
inline std::string Nodes(const std::vector<std::string>& bodies) {
  std::string text = "nodes:\n";
  for (size_t i = 0; i < bodies.size(); ++i) {
    text += fmt::format("- {{name: n{}{}{}}}\n", i, bodies[i].empty() ? "" : ", ", bodies[i]);
  }
  return text;
}
inline std::string Nodes(size_t count) { return Nodes(std::vector<std::string>(count)); }

/// "P/0,S/1" as replicas of a partition; I instance, N none. A suffix /B: in build.
inline std::string Replicas(const std::string& text) {
  std::string replicas;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const std::string role = one[0] == 'P' ? "primary" : one[0] == 'S' ? "secondary" : one[0] == 'N' ? "none" : "instance";
    const bool building = one.ends_with("/B");
    const std::string node = one.substr(2, one.size() - (building ? 4 : 2));
    replicas += fmt::format("{}{{node: n{}, role: {}{}}}", replicas.empty() ? "" : ", ", node, role,
                            building ? ", flags: [InBuild]" : "");
    at = end + 1;
  }
  return "replicas: [" + replicas + "]";
}

/// Partitions "SERVICE/I" for each text of replicas, with REST behind each.
inline std::string Partitions(const std::string& service, const std::vector<std::string>& all, const std::string& rest = "") {
  std::string text;
  for (size_t i = 0; i < all.size(); ++i) {
    text += fmt::format("- {{name: {}/{}, service: {}, {}{}{}}}\n", service, i, service, Replicas(all[i]),
                        rest.empty() ? "" : ", ", rest);
  }
  return text;
}
inline std::string Partitions(const std::string& service, size_t count, const std::string& replicas,
                              const std::string& rest = "") {
  return Partitions(service, std::vector<std::string>(count, replicas), rest);
}

}  // namespace evenkeel::balancing::testing
