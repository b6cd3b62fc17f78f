// A sequence of processes, each of which knows only what the one before has written down, decides as one process does.
#include "controllers/autoscaler/loop/autoscaler_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/autoscaler/loop/run_once.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::autoscaler::autoscaler_memory_test {
namespace {

using namespace std::chrono_literals;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::testing::NodeMaker;
using scheduling::testing::PodMaker;

const base::Time kBegin{std::chrono::hours(500'000)};

/// What a process has in mind.
struct Process {
  explicit Process(const Options& options) : options(options), objects(options, mirror), state(options) {
    state.cleaned_up = true;
  }
  const Options& options;
  scheduling::ClusterMirror mirror;
  ClusterObjects objects;
  AutoscalerState state;
};

/// What a cluster is, apart from who looks at it.
class Cluster {
 public:
  explicit Cluster(uint64_t seed) : random_(seed) {
    options.upstream_placement = random_.Chance(0.5);
    options.max_groups_per_loop = options.upstream_placement ? 1 : 4;
    options.scale_down_unneeded_time = random_.Between(int64_t{0}, int64_t{3}) * 1min;
    options.scale_down_delay_after_add = random_.Between(int64_t{0}, int64_t{2}) * 1min;
    options.unremovable_node_recheck_timeout = random_.Between(int64_t{1}, int64_t{4}) * 1min;
    options.max_scale_down_parallelism = random_.Between(int64_t{1}, int64_t{3});
    options.max_drain_parallelism = random_.Between(int64_t{1}, int64_t{2});
    options.balance_similar_node_groups = random_.Chance(0.3);
    for (const char* group : {"a", "b", "c"}) targets_[group] = 0;
    for (int64_t i = random_.Between(int64_t{2}, int64_t{14}); i > 0; --i) AddNode(AnyGroup());
    for (int64_t i = random_.Between(int64_t{0}, int64_t{30}); i > 0; --i) AddPod();
  }

  /// Nodes come and go, pods too.
  void Live() {
    now += random_.Between(int64_t{5}, int64_t{70}) * 1s;
    for (const auto& [group, target] : targets_) {
      const int64_t missing = target - Count(group);
      for (int64_t i = 0; i < missing; ++i) {
        if (random_.Chance(0.5)) AddNode(group);
      }
    }
    if (random_.Chance(0.2)) AddNode(AnyGroup());
    if (random_.Chance(0.15)) RemoveNode();
    for (int64_t i = random_.Between(int64_t{0}, int64_t{4}); i > 0; --i) random_.Chance(0.6) ? AddPod() : RemovePod();
  }

  /// As the loop wanted it: targets now, nodes later; who is to be deleted is gone with the pods.
  void CarryOut(const LoopPlan& plan) {
    for (const providers::NodeGroup& group : plan.view.groups.groups) targets_[group.id] = group.target_size;
    for (const auto* indices : {&plan.scale_down.delete_empty, &plan.scale_down.delete_drain}) {
      for (const size_t index : *indices) {
        const std::string name = (*plan.view.nodes)[plan.scale_down.unneeded[index].node].name;
        --targets_[plan.scale_down.unneeded[index].group->id];
        Drop(name);
      }
    }
  }

  LoopPlan Loop(Process& process) {
    std::vector<kube::ManifestObject> objects;
    for (const auto& [group, target] : targets_) {
      JsonObject spec{{"minSize", 0}, {"maxSize", 12}, {"targetSize", target}};
      // One of them is known by its nodes alone.
      if (group != "c") spec["template"] = JsonObject{{"status", JsonObject{{"allocatable", Room(group)}}}};
      objects.push_back({JsonObject{{"apiVersion", "evenkeel.dev/v1alpha1"},
                                    {"kind", "NodeGroup"},
                                    {"metadata", JsonObject{{"name", group}}},
                                    {"spec", std::move(spec)}},
                         ""});
    }
    auto groups = DecodeNodeGroups(objects, process.objects.Nodes());
    EXPECT_TRUE(groups) << (groups ? "" : groups.error().message());
    const auto expanders = ExpanderChain::Make(options.expander);
    base::Random random(1);
    LoopRequest request;
    request.now = now;
    LoopPlan plan = RunOnce(process.objects, *std::move(groups), options, *expanders, process.state, random, request);
    for (const auto* indices : {&plan.scale_down.delete_empty, &plan.scale_down.delete_drain}) {
      for (const size_t index : *indices) {
        process.state.scale_down.Deleted(plan.scale_down.unneeded[index].group->id, now);
      }
    }
    return plan;
  }

  /// All that is there.
  void Tell(Process& process) const {
    for (const auto& [name, node] : nodes_) process.mirror.Upsert(node);
    for (const auto& [key, pod] : pods_) process.mirror.Upsert(pod);
  }
  /// What has happened since the last time.
  void TellNews(Process& process) {
    for (const auto& [kind, key] : removed_) process.mirror.Remove(kind, key);
    for (const Json& object : added_) process.mirror.Upsert(object);
    removed_.clear();
    added_.clear();
  }

  Options options;
  base::Time now = kBegin;

 private:
  static JsonObject Room(const std::string& group) {
    return JsonObject{{"cpu", group == "b" ? "8" : "4"}, {"memory", "16Gi"}, {"pods", "20"}};
  }
  std::string AnyGroup() { return std::string(1, static_cast<char>('a' + random_.Below(3))); }
  int64_t Count(const std::string& group) const {
    return std::ranges::count_if(nodes_, [&](const auto& node) {
      return base::FindString(node.second, {"metadata", "labels", kNodeGroupLabel}) == group;
    });
  }

  void AddNode(const std::string& group) {
    // Names do not come in the order of their numbers.
    const std::string name = "n" + std::to_string(random_.Below(100)) + "-" + std::to_string(made_++);
    Json node = NodeMaker(name, group == "b" ? "8" : "4", "16Gi", 20).Label(kNodeGroupLabel, group).json;
    node.as_object()["kind"] = "Node";
    base::Ensure(node, {"spec", "providerID"}) = "x://" + name;
    base::Ensure(node, {"metadata", "creationTimestamp"}) = base::FormatTime(now - 1h);
    base::Ensure(node, {"status", "conditions"}) =
        JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", base::FormatTime(now - 1h)}}};
    targets_[group] = std::max(targets_[group], Count(group) + 1);
    added_.push_back(node);
    nodes_[name] = std::move(node);
  }
  void AddPod() {
    const std::string name = "p" + std::to_string(random_.Below(100)) + "-" + std::to_string(made_++);
    const std::string app = std::to_string(random_.Below(4));
    PodMaker maker(name, std::to_string(random_.Between(int64_t{1}, int64_t{6}) * 300) + "m", "1Gi");
    maker.Labels("app=" + app);
    if (random_.Chance(0.15)) maker.AntiAffinity(scheduling::testing::kHost, "app=" + app);
    Json pod = maker.json;
    pod.as_object()["kind"] = "Pod";
    base::Ensure(pod, {"metadata", "creationTimestamp"}) = base::FormatTime(now - 1h);
    base::Ensure(pod, {"metadata", "ownerReferences"}) =
        JsonArray{JsonObject{{"kind", "ReplicaSet"}, {"name", "rs" + app}, {"uid", "rs" + app}, {"controller", true}}};
    if (!nodes_.empty() && random_.Chance(0.7)) {
      base::Ensure(pod, {"spec", "nodeName"}) =
          std::next(nodes_.begin(), static_cast<ptrdiff_t>(random_.Below(nodes_.size())))->first;
    } else {
      base::Ensure(pod, {"status", "conditions"}) =
          JsonArray{JsonObject{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}};
    }
    added_.push_back(pod);
    pods_["default/" + name] = std::move(pod);
  }
  void RemovePod() {
    if (pods_.empty()) return;
    const auto pod = std::next(pods_.begin(), static_cast<ptrdiff_t>(random_.Below(pods_.size())));
    removed_.emplace_back("Pod", pod->first);
    std::erase_if(added_, [&](const Json& added) { return kube::KeyOf(added) == pod->first; });
    pods_.erase(pod);
  }
  void RemoveNode() {
    if (nodes_.empty()) return;
    Drop(std::next(nodes_.begin(), static_cast<ptrdiff_t>(random_.Below(nodes_.size())))->first);
  }
  void Drop(const std::string name) {
    std::erase_if(pods_, [&](const auto& pod) {
      if (base::FindString(pod.second, {"spec", "nodeName"}) != name) return false;
      removed_.emplace_back("Pod", pod.first);
      std::erase_if(added_, [&](const Json& added) { return kube::KeyOf(added) == pod.first; });
      return true;
    });
    removed_.emplace_back("Node", name);
    std::erase_if(added_, [&](const Json& added) { return kube::NameOf(added) == name; });
    nodes_.erase(name);
  }

  base::Random random_;
  int64_t made_ = 0;
  std::map<std::string, Json> nodes_, pods_;
  std::map<std::string, int64_t> targets_;
  std::vector<Json> added_;
  std::vector<std::pair<std::string, std::string>> removed_;
};

std::string Describe(const LoopPlan& plan) {
  const scheduling::Snapshot& snapshot = *plan.view.snapshot;
  std::string text;
  for (const GroupChange& change : plan.changes)
    text += change.group + " " + std::to_string(change.delta) + " " + change.why + "\n";
  for (const scheduling::PodId pod : plan.unschedulable) text += snapshot.PodKey(pod) + " waits\n";
  for (const auto& [group, nodes] : plan.upcoming) text += group + " awaits " + std::to_string(nodes) + "\n";
  for (const UnneededNode& node : plan.scale_down.unneeded) {
    text += snapshot.NodeName(node.node) + " unneeded since " + base::FormatTime(node.since) + ":";
    for (const MovedPod& pod : node.pods) text += " " + snapshot.PodKey(pod.pod) + ">" + snapshot.NodeName(pod.to);
    text += "\n";
  }
  for (const Unremovable& node : plan.scale_down.unremovable) {
    text += snapshot.NodeName(node.node) + " " + std::string(Name(node.reason)) + "\n";
  }
  for (const auto* indices : {&plan.scale_down.delete_empty, &plan.scale_down.delete_drain}) {
    for (const size_t index : *indices) text += snapshot.NodeName(plan.scale_down.unneeded[index].node) + " goes\n";
  }
  return text;
}

Json Remembered(const Process& process) {
  Json json = process.state.ToJson();
  for (auto& [part, memory] : MemoryToJson(process.state, process.objects)) json.as_object()[part] = std::move(memory);
  return json;
}

RC_GTEST_PROP(AutoscalerMemoryTest, ManyProcessesAreAsOne, (uint64_t seed)) {
  Cluster cluster(seed);
  Process one(cluster.options);
  std::string written;
  size_t unneeded = 0, unremovable = 0, grown = 0;
  for (int loop = 0; loop < 6; ++loop) {
    cluster.TellNews(one);
    auto next = std::make_unique<Process>(cluster.options);
    cluster.Tell(*next);
    if (!written.empty()) {
      const Json json = *base::ParseJson(written, "state");
      next->state = *AutoscalerState::FromJson(json, cluster.options);
      next->state.cleaned_up = true;
      const base::Status restored = RestoreMemory(json, next->state, next->objects);
      RC_ASSERT(restored.has_value());
    }
    RC_ASSERT(base::ToText(Remembered(*next)) == base::ToText(Remembered(one)));
    const LoopPlan expected = cluster.Loop(one), plan = cluster.Loop(*next);
    RC_LOG() << "loop " << loop << (cluster.options.upstream_placement ? ", in turn" : "") << "\n" << Describe(expected);
    RC_ASSERT(Describe(plan) == Describe(expected));
    RC_ASSERT(base::ToText(Remembered(*next)) == base::ToText(Remembered(one)));
    unneeded += plan.scale_down.unneeded.size();
    unremovable += plan.scale_down.unremovable.size();
    grown += plan.changes.size();
    written = base::ToText(Remembered(*next));
    cluster.CarryOut(expected);
    cluster.Live();
  }
  RC_CLASSIFY(unneeded > 0, "nodes are unneeded");
  RC_CLASSIFY(unremovable > 0, "nodes cannot be removed");
  RC_CLASSIFY(grown > 0, "groups grow");
}

TEST(AutoscalerMemoryTest, WhatCannotBeReadIsNamed) {
  const Options options;
  Process process(options);
  const auto error = [&](const char* text) {
    const base::Status read = RestoreMemory(*base::ParseJson(text, "state"), process.state, process.objects);
    return read ? std::string() : read.error().message();
  };
  EXPECT_EQ(error("{}"), "");
  EXPECT_EQ(error(R"({"hints": 1})"), "state: hints: not an object");
  EXPECT_EQ(error(R"({"podMoves": {"ns/p": 1}})"), "state: podMoves.ns/p: not a text");
  EXPECT_EQ(error(R"({"unremovable": []})"), "state: unremovable: not an object");
  EXPECT_EQ(error(R"({"unremovable": {"n": {"until": "2026-01-01T00:00:00Z", "reason": "Bored"}}})"),
            "state: unremovable.n.reason: not a reason");
  EXPECT_EQ(error(R"({"unremovable": {"n": {"reason": "NotAutoscaled"}}})"), "state: unremovable.n.until: missing");
  EXPECT_EQ(error(R"({"moves": 1})"), "state: moves: not an object");
  EXPECT_EQ(error(R"({"templates": {"g": {"at": "2026-01-01T00:00:00Z"}}})"), "state: templates.g.node: not an object");
  EXPECT_EQ(error(R"({"templates": {"g": {"node": {}, "at": "soon"}}})"), "state: templates.g.at: not an RFC 3339 time");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::autoscaler_memory_test
