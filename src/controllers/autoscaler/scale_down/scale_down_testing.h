// A small cluster in a few words, for tests and benchmarks of scale-down.
#pragma once

#include <string>
#include <string_view>

#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/facts/facts.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::autoscaler::testing {

using namespace std::chrono_literals;
using scheduling::testing::NodeMaker;
using scheduling::testing::PodMaker;

inline constexpr base::Time kNow{std::chrono::seconds(1'734'225'184)};

/// Objects and the facts about them. Names of nodes are also their provider ids; pods belong to ReplicaSet "rs".
class World {
 public:
  scheduling::Snapshot snapshot;
  std::deque<PodFacts> pods;
  std::deque<NodeFacts> nodes;
  std::vector<Budget> budgets;
  providers::NodeGroups groups;
  base::Time now = kNow;

  ClusterView View() {
    return {.snapshot = &snapshot,
            .pods = &pods,
            .nodes = &nodes,
            .budgets = &budgets,
            .owners = nullptr,
            .daemon_sets = nullptr,
            .groups = groups,
            .now = now};
  }

  providers::NodeGroup& Group(std::string_view id, int64_t min = 0, int64_t max = 1000) {
    if (providers::NodeGroup* known = groups.Find(id)) return *known;
    providers::NodeGroup group;
    group.id = id;
    group.min_size = min;
    group.max_size = max;
    const auto at = std::ranges::lower_bound(groups.groups, id, {}, &providers::NodeGroup::id);
    return *groups.groups.insert(at, std::move(group));
  }

  /// Ready, with room for 100 pods; -1: the resource is absent. "" for a node without a group.
  NodeFacts& Node(std::string_view name, int64_t milli_cpu, int64_t memory, std::string_view group = "ng") {
    NodeMaker maker(name, std::to_string(milli_cpu) + "m", std::to_string(memory), 100);
    auto& allocatable = maker.json.at("status").at("allocatable").as_object();
    if (milli_cpu < 0) allocatable.erase("cpu");
    if (memory < 0) allocatable.erase("memory");
    return Node(maker, group);
  }
  NodeFacts& Node(const NodeMaker& maker, std::string_view group = "ng") {
    const scheduling::NodeId id = snapshot.UpsertNode(maker.json);
    if (nodes.size() <= id) nodes.resize(id + 1);
    NodeFacts& facts = nodes[id];
    facts = NodeFacts{};
    facts.present = true;
    facts.name = snapshot.NodeName(id);
    facts.provider_id = facts.name;
    facts.ready = true;
    facts.created = now - 24h;
    facts.group = group;
    const kube::Node node = kube::Node::Decode(maker.json);
    const auto amount = [&](const std::string& name) {
      const auto found = node.allocatable.find(name);
      return found == node.allocatable.end() ? int64_t{0} : found->second;
    };
    facts.cores = (amount("cpu") + 999) / 1000;
    facts.memory = amount("memory");
    for (const std::string_view gpu : kGpuResources) {
      if (const int64_t count = amount(std::string(gpu)); count > 0) facts.gpus.emplace(gpu, count);
    }
    if (!group.empty()) {
      ++Group(group).target_size;
      groups.group_of_node[facts.name] = group;
    }
    return facts;
  }

  PodFacts& Pod(std::string_view name, int64_t milli_cpu, int64_t memory, std::string_view node) {
    PodMaker maker(name, milli_cpu < 0 ? "" : std::to_string(milli_cpu) + "m", memory < 0 ? "" : std::to_string(memory));
    maker.On(node);
    return Pod(maker);
  }
  PodFacts& Pod(const PodMaker& maker) {
    const scheduling::PodId id = snapshot.UpsertPod(maker.json);
    if (pods.size() <= id) pods.resize(id + 1);
    PodFacts& facts = pods[id];
    facts = PodFacts{};
    facts.present = true;
    facts.key = snapshot.PodKey(id);
    facts.owner_kind = "ReplicaSet";
    facts.owner_name = "rs";
    facts.owner_uid = "rs-uid";
    facts.phase = "Running";
    facts.restart_policy = "Always";
    facts.created = now - 24h;
    return facts;
  }
  void Remove(std::string_view pod) {
    pods[PodOf(pod)].present = false;
    snapshot.RemovePod("default/" + std::string(pod));
  }

  scheduling::NodeId NodeOf(std::string_view name) const { return snapshot.FindNodeByName(name); }
  scheduling::PodId PodOf(std::string_view name) const { return snapshot.FindPod("default/" + std::string(name)); }
};

}  // namespace evenkeel::controllers::autoscaler::testing
