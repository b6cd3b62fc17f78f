// A cluster in a few words, for tests and benchmarks of scale-ups.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controllers/autoscaler/scale_up/scale_up.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::autoscaler::testing {

using scheduling::NodeId;
using scheduling::PodId;
using scheduling::testing::PodMaker;

inline constexpr int64_t kMebibyte = int64_t{1} << 20;

/// As upstream's tests make them: capacity and allocatable alike, room for 100 pods. A negative amount: absent.
inline kube::Node MakeNode(const std::string& name, int64_t milli_cores, int64_t bytes, const kube::Labels& labels = {}) {
  kube::Node node;
  node.meta.name = name;
  node.meta.labels = labels;
  node.meta.labels.try_emplace("kubernetes.io/hostname", name);
  if (milli_cores >= 0) node.capacity["cpu"] = milli_cores;
  if (bytes >= 0) node.capacity["memory"] = bytes;
  node.capacity["pods"] = 100;
  node.allocatable = node.capacity;
  node.ready = true;
  return node;
}

inline PodMaker MakePod(const std::string& name, int64_t milli_cores, int64_t bytes) {
  return PodMaker(name, milli_cores < 0 ? "" : std::to_string(milli_cores) + "m", bytes < 0 ? "" : std::to_string(bytes));
}

/// Takes the option of the group that it is told.
class Choose final : public ExpanderPlugin {
 public:
  explicit Choose(std::string group) : group_(std::move(group)) {}
  std::vector<size_t> Best(std::span<const ExpanderOption> options, std::vector<size_t> candidates,
                           ExpanderContext&) const override {
    seen.clear();
    for (const ExpanderOption& option : options) seen[option.group->id] = option.nodes;
    std::erase_if(candidates, [&](size_t i) { return options[i].group->id != group_; });
    return candidates;
  }
  mutable std::map<std::string, int64_t> seen;  ///< nodes by group, of the last call

 private:
  std::string group_;
};

class ScaleUpCluster {
 public:
  scheduling::Snapshot snapshot;
  std::deque<PodFacts> pod_facts;
  std::deque<NodeFacts> node_facts;
  std::map<std::string, kube::Node, std::less<>> objects;
  ClusterView view;
  Options options;
  ScaleUpRequest request;
  std::unique_ptr<NodeTemplates> templates;
  std::shared_ptr<const ExpanderPlugin> chooser;
  base::Random random{1};

  ScaleUpCluster() {
    view.snapshot = &snapshot;
    view.pods = &pod_facts;
    view.nodes = &node_facts;
    view.now = base::Time(std::chrono::hours(1000));
    options.max_groups_per_loop = 1;
  }

  /// A group whose target is the number of nodes that AddNode gives it.
  void AddGroup(const std::string& id, int64_t max = 10, int64_t min = 0) {
    providers::NodeGroup group;
    group.id = id;
    group.min_size = min;
    group.max_size = max;
    auto& groups = view.groups.groups;
    groups.insert(std::ranges::lower_bound(groups, id, {}, &providers::NodeGroup::id), std::move(group));
  }
  NodeId AddNode(const kube::Node& node, const std::string& group = "") {
    const NodeId id = snapshot.UpsertNode(node);
    if (node_facts.size() <= id) node_facts.resize(id + 1);
    NodeFacts& facts = node_facts[id];
    facts = NodeFacts{};
    facts.present = facts.ready = true;
    facts.name = node.meta.name;
    facts.group = group;
    facts.last_transition = view.now.Read() - std::chrono::minutes(2);
    objects[node.meta.name] = node;
    if (!group.empty()) ++view.groups.Find(group)->target_size;
    return id;
  }
  PodId AddPod(PodMaker pod, const std::string& owner = "rs", const std::string& node = "") {
    if (!node.empty()) pod.On(node);
    const PodId id = snapshot.UpsertPod(pod.json);
    if (pod_facts.size() <= id) pod_facts.resize(id + 1);
    PodFacts& facts = pod_facts[id];
    facts = PodFacts{};
    facts.present = true;
    facts.key = kube::KeyOf(pod.json);
    facts.owner_uid = owner;
    facts.created = view.now.Read() - std::chrono::minutes(1);
    facts.spec_hash = snapshot.ClassOf(id);
    facts.unschedulable = node.empty();
    if (const auto* priority = base::Find(pod.json, {"spec", "priority"})) {
      facts.priority = static_cast<int32_t>(priority->to_number<int64_t>());
    }
    return id;
  }
  PodId AddPending(const PodMaker& pod, const std::string& owner = "rs") {
    request.pods.push_back(AddPod(pod, owner));
    return request.pods.back();
  }

  NodeObjects Objects() const {
    return [this](NodeId node) -> const kube::Node* {
      const auto found = objects.find(snapshot.NodeName(node));
      return found == objects.end() ? nullptr : &found->second;
    };
  }
  /// The templates of all groups, from their nodes.
  NodeTemplates& Templates() {
    if (templates == nullptr) {
      templates = std::make_unique<NodeTemplates>(snapshot, options);
      templates->Update(view, Objects());
    }
    return *templates;
  }
  ScaleUpPlan Plan() {
    if (chooser != nullptr) options.expander = {"grpc"};
    auto chain = ExpanderChain::Make(options.expander, chooser);
    EVENKEEL_CHECK(chain.has_value());
    return ScaleUpPlanner(options, *chain).Plan(view, Templates(), Objects(), request, random);
  }
};

/// "ng1 1->3, ng2 1->2"
inline std::string Changes(const ScaleUpPlan& plan) {
  std::map<std::string, GroupDelta> by_group;
  for (const ScaleUpStep& step : plan.steps) {
    for (const GroupDelta& change : step.changes) {
      const auto [found, added] = by_group.try_emplace(change.group, change);
      if (!added) found->second.to = change.to;
    }
  }
  std::string text;
  for (const auto& [group, change] : by_group) {
    text += (text.empty() ? "" : ", ") + group + " " + std::to_string(change.from) + "->" + std::to_string(change.to);
  }
  return text;
}

}  // namespace evenkeel::controllers::autoscaler::testing
