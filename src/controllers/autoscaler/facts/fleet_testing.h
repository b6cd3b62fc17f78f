// A view of node groups and nodes without a snapshot, in a few words, for tests of what only counts nodes.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

#include "controllers/autoscaler/facts/cluster_view.h"

namespace evenkeel::controllers::autoscaler::testing {

using namespace std::chrono_literals;

inline constexpr base::Time kStart{std::chrono::seconds(1'734'225'184)};

class Fleet {
 public:
  std::deque<NodeFacts> nodes;
  ClusterView view;

  explicit Fleet(base::Time now = kStart) {
    view.nodes = &nodes;
    view.now = now;
  }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  providers::NodeGroup& Group(const std::string& id, int64_t min, int64_t max, int64_t target) {
    providers::NodeGroup group;
    group.id = id;
    group.min_size = min;
    group.max_size = max;
    group.target_size = target;
    view.groups.groups.push_back(std::move(group));
    std::ranges::sort(view.groups.groups, {}, &providers::NodeGroup::id);
    return At(id);
  }
  providers::NodeGroup& At(std::string_view id) { return *view.groups.Find(id); }

  /// A node that has been there for long.
  NodeFacts& Node(const std::string& name, const std::string& group, bool ready = true) {
    NodeFacts node;
    node.present = true;
    node.name = node.provider_id = name;
    node.group = group;
    node.ready = ready;
    node.created = kStart - 24h;
    nodes.push_back(std::move(node));
    return nodes.back();
  }
  void Nodes(const std::string& group, int count, bool ready = true) {
    for (int i = 0; i < count; ++i) Node(group + "-" + std::to_string(nodes.size()), group, ready);
  }
  NodeFacts& Find(std::string_view name) { return *std::ranges::find(nodes, name, &NodeFacts::name); }

  void Instance(std::string_view group, std::string id,
                providers::Instance::State state = providers::Instance::State::kRunning) {
    At(group).instances.push_back({std::move(id), state, std::nullopt});
  }
  void FailedInstance(std::string_view group, std::string id, std::string code, std::string message = "no") {
    At(group).instances.push_back(
        {std::move(id), providers::Instance::State::kCreating,
         providers::Instance::Error{providers::Instance::ErrorClass::kOutOfResources, std::move(code), std::move(message)}});
  }
};

}  // namespace evenkeel::controllers::autoscaler::testing
