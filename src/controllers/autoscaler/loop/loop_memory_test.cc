// Loops that may be spared and loops that never are, side by side over the same random events: every plan, every word and what
// is remembered have to be the same.
#include "controllers/autoscaler/loop/loop_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/autoscaler/loop/explanation.h"
#include "controllers/autoscaler/loop/run_once.h"
#include "controllers/autoscaler/options/flags.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::controllers::autoscaler::loop_memory_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using scheduling::NodeId;
using scheduling::PodId;
using scheduling::testing::NodeMaker;
using scheduling::testing::Parse;
using scheduling::testing::PodMaker;
using namespace std::chrono_literals;

const base::Time kStart{std::chrono::hours(500'000)};

std::string NameOf(const LoopPlan& plan, NodeId node) {
  return node < plan.view.nodes->size() && (*plan.view.nodes)[node].present ? (*plan.view.nodes)[node].name : "-";
}

std::string Words(const LoopPlan& plan, const PodIds& pods) {
  std::string text;
  for (const PodId pod : pods) text += (*plan.view.pods)[pod].key + " ";
  return text;
}

std::string Words(const ClusterEvent& event) {
  return fmt::format("event {} {} {}\n", event.warning, event.reason, event.message);
}

std::string ScaleDownWords(const LoopPlan& plan) {
  const ScaleDownPlan& down = plan.scale_down;
  std::string text = fmt::format("looked {} candidates {} simulated {} enough {} cool-down \"{}\"\n", plan.scale_down_looked,
                                 down.candidates, down.simulated, down.enough, down.cool_down);
  for (const UnneededNode& node : down.unneeded) {
    text += fmt::format("unneeded {} of {} since {} wait {} risky {} used {}:", NameOf(plan, node.node), node.group->id,
                        base::FormatMicroTime(node.since), node.wait.count(), node.risky, node.utilization.value);
    for (const MovedPod& moved : node.pods) text += fmt::format(" {}", (*plan.view.pods)[moved.pod].key);
    text += "\n";
  }
  for (const Unremovable& node : down.unremovable) {
    text += fmt::format("stays {} {} used {} until {} {}\n", NameOf(plan, node.node), Name(node.reason), node.utilization.value,
                        node.until ? base::FormatMicroTime(*node.until) : "-", node.detail == nullptr ? "" : node.detail);
  }
  for (const size_t index : down.delete_empty) text += fmt::format("empty {}\n", index);
  for (const size_t index : down.delete_drain) text += fmt::format("drain {}\n", index);
  for (const NodeId node : down.taint) text += fmt::format("taint {}\n", NameOf(plan, node));
  for (const NodeId node : down.untaint) text += fmt::format("untaint {}\n", NameOf(plan, node));
  return text;
}

/// Everything that somebody could see of a loop.
std::string Words(const LoopPlan& plan, const Options& options, const AutoscalerState& state) {
  std::string text = fmt::format("stopped \"{}\" {} decision {}\n", plan.stopped_at, plan.why, static_cast<int>(plan.decision));
  for (const NodeCleanup& cleanup : plan.cleanup) text += fmt::format("clean up {}\n", cleanup.node);
  for (const ClusterEvent& event : plan.events) text += Words(event);
  for (const GroupChange& change : plan.changes) text += fmt::format("{} by {}: {}\n", change.group, change.delta, change.why);
  for (const std::string& note : plan.notes) text += note + "\n";
  for (const LeftAlone& left : plan.left_alone) text += fmt::format("left {} {} {}\n", left.type, left.name, left.message);
  for (const auto& [group, nodes] : plan.upcoming) text += fmt::format("upcoming {} {}\n", group, nodes);
  text += fmt::format("pending {}\nunschedulable {}\n", Words(plan, plan.pending), Words(plan, plan.unschedulable));
  for (const auto& [pod, why] : plan.passed_over) {
    text += fmt::format("passed over {} {}\n", (*plan.view.pods)[pod].key, static_cast<int>(why));
  }
  for (const providers::NodeGroup& group : plan.view.groups.groups) {
    text += fmt::format("group {} {} {}\n", group.id, group.target_size, group.set_aside);
  }
  text += ScaleDownWords(plan) + plan.status.ToYaml();
  text += base::ToText(Explanation(plan, options, state.scale_down)) + "\n" + base::ToText(state.ToJson());
  return text;
}

/// One autoscaler with its own view of the same cluster.
class Side {
 public:
  Side(const Options& options, bool spares)
      : options_(options), spares_(spares), expanders_(*ExpanderChain::Make(std::vector<std::string>{"least-waste"})) {}

  scheduling::ClusterMirror& mirror() { return mirror_; }
  ClusterObjects& objects() { return objects_; }
  AutoscalerState& state() { return state_; }
  size_t spared() const { return spared_; }

  LoopPlan Loop(providers::NodeGroups groups, base::Time now) {
    Number(groups);
    return Run(std::move(groups), now);
  }
  void Number(providers::NodeGroups& groups) {
    if (spares_) answers_.Number(groups);
  }
  LoopPlan Run(providers::NodeGroups&& groups, base::Time now) {
    LoopRequest request;
    request.now = now;
    LoopRun loop(objects_, std::move(groups), options_, expanders_, state_, random_, request);
    while (loop.Next() != nullptr) loop.Answer({});
    LoopPlan plan = loop.Take();
    spared_ += plan.stages_ran ? 0 : 1;
    return plan;
  }
  void Done(LoopPlan plan) {
    if (spares_) state_.last_loop.Keep(std::move(plan));
  }

 private:
  const Options options_;
  const bool spares_;
  ExpanderChain expanders_;
  scheduling::ClusterMirror mirror_;
  ClusterObjects objects_{options_, mirror_};
  AutoscalerState state_{options_};
  base::Random random_{1};
  providers::AnswerNumbers answers_;
  size_t spared_ = 0;
};

Options TestOptions(Options options = {}) {
  options.scale_down_unneeded_time = 3min;
  options.scale_down_unready_time = 4min;
  options.scale_down_delay_after_add = 2min;
  options.max_node_provision_time = 2min;
  options.max_node_startup_time = 90s;
  options.unremovable_node_recheck_timeout = 100s;
  options.initial_node_group_backoff_duration = 70s;
  options.node_info_cache_expire_time = 2min;
  return options;
}

/// A small cluster to which things happen; both sides are told the same.
class World {
 public:
  explicit World(Options options) : options_(TestOptions(std::move(options))) {
    for (const char* name : {"a", "b"}) {
      groups_.push_back({Parse(fmt::format(R"({{"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup",
          "metadata": {{"name": "{}"}}, "spec": {{"maxSize": 6, "template": {{"status": {{"allocatable":
          {{"cpu": "4", "memory": "16Gi", "pods": "20"}}}}}}}}}})",
                                           name)),
                         ""});
      targets_[name] = 0;
    }
    for (int i = 0; i < 3; ++i) AddNode(i % 2 == 0 ? "a" : "b");
  }

  /// One random event; `what` and `which` are drawn by RapidCheck, so that cases shrink.
  void Happen(int what, int which) {
    const std::vector<std::string> names = Names();
    const auto node = [&] { return names.empty() ? std::string() : names[static_cast<size_t>(which) % names.size()]; };
    switch (what) {
      case 0:
        return AddPod(node(), which);
      case 1:
        return AddPod("", which);
      case 2:
        return RemovePod(which);
      case 3:
        if (!names.empty()) SetReady(node(), which % 2 == 0);
        return;
      case 4:
        if (!names.empty()) Tell(nodes_.at(node()));  // as a node that renews its status does
        return;
      case 5:
        if (names.size() > 1) RemoveNode(node());
        return;
      case 6:
        targets_[which % 2 == 0 ? "a" : "b"] += which % 3 - 1;
        return;
      case 7:
        return Grow();
      default:
        return;
    }
  }

  void Pass(base::Duration time) { now_ += time; }

  void Loop() {
    LoopPlan plan = spared_.Loop(Groups(), now_), whole = whole_.Loop(Groups(), now_);
    const std::string words = Words(plan, options_, spared_.state()), expected = Words(whole, options_, whole_.state());
    RC_ASSERT(words == expected);
    for (const GroupChange& change : plan.changes) targets_[change.group] += change.delta;
    std::vector<std::pair<std::string, std::string>> gone;
    for (const auto* indices : {&plan.scale_down.delete_empty, &plan.scale_down.delete_drain}) {
      for (const size_t index : *indices) {
        const UnneededNode& node = plan.scale_down.unneeded[index];
        gone.emplace_back(NameOf(plan, node.node), node.group->id);
      }
    }
    spared_.Done(std::move(plan));
    whole_.Done(std::move(whole));
    for (const auto& [node, group] : gone) Delete(node, group);
  }

  size_t spared() const { return spared_.spared(); }

 private:
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, node] : nodes_) names.push_back(name);
    return names;
  }
  void Tell(const Json& object) {
    for (Side* side : {&spared_, &whole_}) side->mirror().Upsert(object);
  }
  void Untell(std::string_view kind, const std::string& key) {
    for (Side* side : {&spared_, &whole_}) side->mirror().Remove(kind, key);
  }
  providers::NodeGroups Groups() {
    std::vector<Json> nodes;
    for (const auto& [name, node] : nodes_) nodes.push_back(node);
    providers::NodeGroups groups = *DecodeNodeGroups(groups_, nodes);
    for (providers::NodeGroup& group : groups.groups) group.target_size = std::max<int64_t>(0, targets_[group.id]);
    return groups;
  }
  void AddNode(const std::string& group) {
    const std::string name = fmt::format("n{}", made_++);
    Json node = NodeMaker(name, "4", "16Gi").Label(kNodeGroupLabel, group).json;
    node.as_object()["kind"] = "Node";
    base::Ensure(node, {"spec", "providerID"}) = "test://" + name;
    base::Ensure(node, {"metadata", "creationTimestamp"}) = base::FormatTime(now_);
    base::Ensure(node, {"status", "conditions"}) =
        JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", base::FormatTime(now_)}}};
    nodes_[name] = node;
    ++targets_[group];
    Tell(node);
  }
  void SetReady(const std::string& name, bool ready) {
    Json& node = nodes_.at(name);
    base::Ensure(node, {"status", "conditions"}) = JsonArray{
        JsonObject{{"type", "Ready"}, {"status", ready ? "True" : "False"}, {"lastTransitionTime", base::FormatTime(now_)}}};
    Tell(node);
  }
  void RemoveNode(const std::string& name) {
    for (auto pod = pods_.begin(); pod != pods_.end();) {
      if (pod->second != name) {
        ++pod;
        continue;
      }
      Untell("Pod", "default/" + pod->first);
      pod = pods_.erase(pod);
    }
    Untell("Node", name);
    nodes_.erase(name);
  }
  void Delete(const std::string& name, const std::string& group) {
    for (Side* side : {&spared_, &whole_}) {
      side->state().cluster.RegisterScaleDown(group, name, now_);
      side->state().scale_down.Deleted(group, now_);
    }
    --targets_[group];
    RemoveNode(name);
  }
  /// A node that was asked for arrives.
  void Grow() {
    std::map<std::string, int64_t> there;
    for (const auto& [name, node] : nodes_) {
      ++there[std::string(base::FindString(node, {"metadata", "labels", kNodeGroupLabel}))];
    }
    for (const auto& [group, target] : std::map(targets_)) {
      if (there[group] >= target) continue;
      AddNode(group);
      --targets_[group];
      return;
    }
  }
  void AddPod(const std::string& node, int which) {
    const std::string name = fmt::format("p{}", made_++);
    Json pod = PodMaker(name, fmt::format("{}m", 300 + 500 * (which % 7)), "1Gi").json;
    pod.as_object()["kind"] = "Pod";
    base::Ensure(pod, {"metadata", "creationTimestamp"}) = base::FormatTime(now_);
    if (which % 5 != 0)
      base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) = "true";
    if (which % 11 == 0)
      base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"}) = "45s";
    if (!node.empty()) base::Ensure(pod, {"spec", "nodeName"}) = node;
    base::Ensure(pod, {"status", "conditions"}) = JsonArray{
        JsonObject{{"type", "PodScheduled"}, {"status", node.empty() ? "False" : "True"}, {"reason", "Unschedulable"}}};
    pods_[name] = node;
    Tell(pod);
  }
  void RemovePod(int which) {
    if (pods_.empty()) return;
    const auto pod = std::next(pods_.begin(), static_cast<ptrdiff_t>(static_cast<size_t>(which) % pods_.size()));
    Untell("Pod", "default/" + pod->first);
    pods_.erase(pod);
  }

  const Options options_;
  Side spared_{options_, true}, whole_{options_, false};
  std::vector<kube::ManifestObject> groups_;
  std::map<std::string, int64_t> targets_;
  std::map<std::string, Json> nodes_;
  std::map<std::string, std::string> pods_;  // node by name
  base::Time now_ = kStart;
  int made_ = 0;
};

RC_GTEST_PROP(LoopMemoryTest, SparedLoopsAreNotToBeToldFromWholeOnes, ()) {
  const bool as_upstream = *rc::gen::arbitrary<bool>();
  World world(as_upstream ? ApplyFlags(std::vector<FlagValue>{{"compat", "1.37"}})->options : Options{});
  const auto rounds = *rc::gen::inRange(5, 40);
  for (int round = 0; round < rounds; ++round) {
    // Mostly nothing happens for a while.
    if (*rc::gen::inRange(0, 4) == 0) world.Happen(*rc::gen::inRange(0, 8), *rc::gen::inRange(0, 1000));
    world.Pass(*rc::gen::element<base::Duration>(10s, 10s, 10s, 10s, 11s, 30s, 5min));
    world.Loop();
  }
  RC_CLASSIFY(world.spared() > 0, "some loop was spared");
  RC_CLASSIFY(as_upstream, "with --compat=1.37");
}

/// A cluster in which all nodes are in use, or none is.
class Quiet {
 public:
  Quiet(int nodes, int pods, bool used) : side_(TestOptions(), true) {
    for (int i = 0; i < nodes; ++i) {
      const std::string name = fmt::format("n{:04}", i);
      Json node = NodeMaker(name, "4", "16Gi").Label(kNodeGroupLabel, "a").json;
      node.as_object()["kind"] = "Node";
      base::Ensure(node, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}}};
      side_.mirror().Upsert(node);
      for (int p = 0; p < pods; ++p) {
        Json pod = PodMaker(fmt::format("{}-{}", name, p), used ? fmt::format("{}m", 3600 / pods) : "1m", "1Mi").json;
        pod.as_object()["kind"] = "Pod";
        base::Ensure(pod, {"spec", "nodeName"}) = name;
        base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) = "true";
        side_.mirror().Upsert(pod);
      }
    }
    groups_.push_back({Parse(R"({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": "a"},
                                 "spec": {"maxSize": 5000}})"),
                       ""});
    given_ = *DecodeNodeGroups(groups_, side_.objects().Nodes());
  }

  LoopPlan Loop(base::Duration after) { return side_.Loop(given_, now_ += after); }
  providers::NodeGroups Numbered() {
    providers::NodeGroups groups = given_;
    side_.Number(groups);
    return groups;
  }
  /// Only the loop itself.
  LoopPlan Run(providers::NodeGroups&& groups) { return side_.Run(std::move(groups), now_ += 10s); }
  void Keep(LoopPlan plan) { side_.Done(std::move(plan)); }
  Side& side() { return side_; }

 private:
  Side side_;
  std::vector<kube::ManifestObject> groups_;
  providers::NodeGroups given_;
  base::Time now_ = kStart;
};

TEST(LoopMemoryTest, TheThirdLoopInARowThatSeesTheSameIsSpared) {
  Quiet cluster(4, 2, true);
  std::vector<bool> ran;
  for (int i = 0; i < 5; ++i) {
    LoopPlan plan = cluster.Loop(10s);
    ran.push_back(plan.stages_ran);
    EXPECT_EQ(plan.scale_down.unremovable.size(), 4u);
    EXPECT_EQ(plan.status.health.probed, plan.view.now.Read());
    cluster.Keep(std::move(plan));
  }
  EXPECT_EQ(ran, (std::vector{true, true, true, false, false}));
  cluster.side().mirror().Remove("Pod", "default/n0000-0");
  EXPECT_TRUE(cluster.Loop(10s).stages_ran) << "a pod has ended";
}

TEST(LoopMemoryTest, ALoopThatComesSoonerThanAnyBeforeIsRun) {
  Quiet cluster(4, 2, true);
  for (int i = 0; i < 4; ++i) cluster.Keep(cluster.Loop(10s));
  EXPECT_TRUE(cluster.Loop(5s).stages_ran);
}

TEST(LoopMemoryTest, APlanThatIsNotGivenBackIsMadeAnew) {
  Quiet cluster(4, 2, true);
  for (int i = 0; i < 4; ++i) cluster.Keep(cluster.Loop(10s));
  EXPECT_FALSE(cluster.Loop(10s).stages_ran);
  EXPECT_TRUE(cluster.Loop(10s).stages_ran);
}

TEST(LoopMemoryTest, UnneededNodesGoWhenTheirTimeIsOver) {
  Quiet cluster(4, 2, false);
  base::Duration waited{};
  bool spared = false;
  for (;;) {
    LoopPlan plan = cluster.Loop(10s);
    waited += 10s;
    if (!plan.scale_down.delete_drain.empty() || !plan.scale_down.delete_empty.empty()) break;
    spared |= !plan.stages_ran;
    ASSERT_LT(waited, 10min);
    cluster.Keep(std::move(plan));
  }
  EXPECT_TRUE(spared);
  EXPECT_EQ(waited, 3min + 20s) << "unneeded for longer than 3 min since the first loop";
}

TEST(LoopMemoryTest, ANodeThatRenewsItsStatusIsNoChange) {
  Quiet cluster(2, 2, true);
  const uint64_t before = cluster.side().objects().revision();
  Json node = *cluster.side().objects().FindNode("n0001");
  base::Ensure(node, {"status", "conditions"}) =
      JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", "2027-01-15T08:00:10Z"}}};
  cluster.side().mirror().Upsert(node);
  EXPECT_EQ(cluster.side().objects().revision(), before);
  base::Ensure(node, {"status", "conditions"}) = JsonArray{JsonObject{{"type", "Ready"}, {"status", "False"}}};
  cluster.side().mirror().Upsert(node);
  EXPECT_NE(cluster.side().objects().revision(), before);
}

/// Of the machine, counted one by one in a child process; none where that is not allowed.
std::optional<int64_t> InstructionsOf(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    ::raise(SIGSTOP);
    work();
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
  int64_t count = 0;
  do {
    ++count;
    ::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
  } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return count;
}

TEST(LoopMemoryTest, WhatASparedLoopCostsDoesNotGrowWithNodesAndPods) {
  const auto measure = [](int nodes, int pods) {
    Quiet cluster(nodes, pods, true);
    for (int i = 0; i < 4; ++i) cluster.Keep(cluster.Loop(10s));
    providers::NodeGroups groups = cluster.Numbered();
    std::optional<LoopPlan> plan;
    return InstructionsOf([&] { plan.emplace(cluster.Run(std::move(groups))); });
  };
  const auto small = measure(20, 2), large = measure(300, 10);
  if (!small || !large) GTEST_SKIP() << "no process may be traced here";
  EXPECT_LT(*large, *small + *small / 5);
  EXPECT_GT(*small, 1000) << "something was counted";
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::loop_memory_test
