// What holds for any cluster, tried on random ones.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "controllers/autoscaler/scale_down/scale_down.h"
#include "controllers/autoscaler/scale_down/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler::scale_down_properties_test {
namespace {

using namespace std::chrono_literals;
using testing::PodMaker;
using testing::World;

constexpr int64_t kApps = 4;

struct Setting {
  World world;
  Options options;
  ScaleDownRequest request;
};

/// A cluster of three groups. `shuffle` changes the order in which its objects come, and nothing else.
std::unique_ptr<Setting> Make(uint64_t seed, bool shuffle) {
  auto setting = std::make_unique<Setting>();
  base::Random random(seed);
  World& world = setting->world;
  const int64_t nodes = random.Between(int64_t{1}, int64_t{24});
  std::vector<std::function<void()>> steps;
  for (int64_t i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(100 + i), group = "g" + std::to_string(random.Below(3));
    const int64_t cpu = random.Between(int64_t{10}, int64_t{20}) * 100;
    const bool ready = !random.Chance(0.1), disabled = random.Chance(0.05);
    world.Group(group).min_size = 0;
    steps.emplace_back([&world, name, group, cpu, ready, disabled] {
      NodeFacts& facts = world.Node(name, cpu, 1000, group);
      facts.ready = ready;
      facts.scale_down_disabled = disabled;
    });
    if (random.Chance(0.1)) {
      (random.Chance(0.5) ? setting->request.deleting_empty : setting->request.deleting_drain).push_back(name);
    }
    for (int64_t p = random.Between(int64_t{0}, int64_t{4}); p > 0; --p) {
      PodMaker maker(name + "-" + std::to_string(p), std::to_string(random.Between(int64_t{1}, int64_t{4}) * 100) + "m", "1");
      maker.On(name).Labels("app=" + std::to_string(random.Below(kApps)));
      if (random.Chance(0.1)) maker.HostPort(8080);
      if (random.Chance(0.1)) maker.AntiAffinity(scheduling::testing::kHost, "app=1");
      const bool owned = !random.Chance(0.05), daemon = random.Chance(0.1), waits = random.Chance(0.05);
      steps.emplace_back([&world, maker, owned, daemon, waits] {
        PodFacts& facts = world.Pod(maker);
        if (!owned) facts.owner_kind = "";
        facts.daemon = daemon;
        if (waits) facts.safe_to_evict = "on-completion";
      });
    }
  }
  for (int64_t app = 0; app < kApps; ++app) {
    if (random.Chance(0.5)) continue;
    world.budgets.push_back({"default", "pdb" + std::to_string(app), *kube::LabelSelector::Parse("app=" + std::to_string(app)),
                             random.Between(int64_t{0}, int64_t{4})});
  }
  for (const char* group : {"g0", "g1", "g2"}) world.Group(group).min_size = random.Between(int64_t{0}, int64_t{3});
  setting->options.scale_down_unneeded_time = random.Chance(0.5) ? 0s : 1min;
  setting->options.max_scale_down_parallelism = random.Between(int64_t{1}, int64_t{12});
  setting->options.max_drain_parallelism = random.Between(int64_t{1}, int64_t{5});
  setting->options.cores_total.min = random.Between(int64_t{0}, int64_t{20});
  base::Random order(seed + 1);
  if (shuffle) {
    for (size_t i = steps.size(); i > 1; --i) std::swap(steps[i - 1], steps[order.Below(i)]);
  }
  for (const auto& step : steps) step();
  return setting;
}

/// Two loops, so that hints and timers have their say.
ScaleDownPlan Plan(Setting& setting, ClusterView& view, ScaleDownState& state) {
  PlanScaleDown(view, setting.options, setting.request, state);
  setting.world.now += 2min;
  view.now = setting.world.now;
  return PlanScaleDown(view, setting.options, setting.request, state);
}

RC_GTEST_PROP(ScaleDownPropertiesTest, LimitsAndBudgetsHold, (uint64_t seed)) {
  const auto setting = Make(seed, false);
  ClusterView view = setting->world.View();
  ScaleDownState state;
  const ScaleDownPlan plan = Plan(*setting, view, state);
  const auto empty_under_way = static_cast<int64_t>(setting->request.deleting_empty.size());
  const auto drains_under_way = static_cast<int64_t>(setting->request.deleting_drain.size());
  const auto empty = static_cast<int64_t>(plan.delete_empty.size()), drain = static_cast<int64_t>(plan.delete_drain.size());
  const Options& options = setting->options;
  if (empty + drain > 0) {
    RC_ASSERT(empty + drain + empty_under_way + drains_under_way <= options.max_scale_down_parallelism);
  }
  if (drain > 0) RC_ASSERT(drain + drains_under_way <= options.max_drain_parallelism);
  std::map<std::string, int64_t> going;
  int64_t cores = 0;
  for (const auto* indices : {&plan.delete_empty, &plan.delete_drain}) {
    for (const size_t index : *indices) {
      const UnneededNode& node = plan.unneeded[index];
      ++going[node.group->id];
      RC_ASSERT(node.on_completion.empty());
      RC_ASSERT((indices == &plan.delete_empty) == node.pods.empty());
    }
  }
  for (scheduling::NodeId node = 0; node < setting->world.nodes.size(); ++node) {
    cores += (setting->world.snapshot.Allocatable(node, scheduling::kCpu) + 999) / 1000;
  }
  for (const auto* indices : {&plan.delete_empty, &plan.delete_drain}) {
    for (const size_t index : *indices) {
      cores -= (setting->world.snapshot.Allocatable(plan.unneeded[index].node, scheduling::kCpu) + 999) / 1000;
    }
  }
  if (empty + drain > 0) RC_ASSERT(cores >= options.cores_total.min);
  for (const auto* names : {&setting->request.deleting_empty, &setting->request.deleting_drain}) {
    for (const std::string& name : *names) ++going[setting->world.nodes[setting->world.NodeOf(name)].group];
  }
  for (const auto* indices : {&plan.delete_empty, &plan.delete_drain}) {
    for (const size_t index : *indices) {
      const providers::NodeGroup& group = *plan.unneeded[index].group;
      RC_ASSERT(group.target_size - going[group.id] >= group.min_size);
    }
  }
}

RC_GTEST_PROP(ScaleDownPropertiesTest, EveryMovedPodHasAPlaceThatFits, (uint64_t seed)) {
  const auto setting = Make(seed, false);
  World& world = setting->world;
  ClusterView view = world.View();
  ScaleDownState state;
  const ScaleDownPlan plan = Plan(*setting, view, state);
  RC_ASSERT(world.snapshot.depth() == 0U);
  scheduling::WhatIf what_if(world.snapshot);
  size_t moved = 0;
  for (const UnneededNode& node : plan.unneeded) {
    for (const MovedPod& pod : node.pods) {
      RC_ASSERT(world.snapshot.NodeOf(pod.pod) == node.node);
      RC_ASSERT(world.pods[pod.pod].owner_kind != "");
      world.snapshot.Unplace(pod.pod);
      ++moved;
    }
    RC_ASSERT(world.snapshot.PodsOn(node.node).size() == node.daemons.size() + node.on_completion.size());
  }
  for (const UnneededNode& node : plan.unneeded) world.snapshot.DropNode(node.node);
  for (const UnneededNode& node : plan.unneeded) {
    for (const MovedPod& pod : node.pods) {
      RC_ASSERT(world.snapshot.Present(pod.to));
      RC_ASSERT(world.snapshot.Fits(world.snapshot.ClassOf(pod.pod), pod.to));
      world.snapshot.Place(pod.pod, pod.to);
    }
  }
  RC_CLASSIFY(moved > 0, "pods move");
}

RC_GTEST_PROP(ScaleDownPropertiesTest, BudgetsAreNotOverdrawnByRemovalsThatAreNotRisky, (uint64_t seed)) {
  const auto setting = Make(seed, false);
  World& world = setting->world;
  ClusterView view = world.View();
  ScaleDownState state;
  const ScaleDownPlan plan = Plan(*setting, view, state);
  for (const Budget& budget : world.budgets) {
    int64_t taken = 0;
    for (const UnneededNode& node : plan.unneeded) {
      for (const MovedPod& pod : node.pods) {
        const auto& pod_class = world.snapshot.classes()[world.snapshot.ClassOf(pod.pod)];
        if (!budget.selector.Matches(*pod_class.labels)) continue;
        RC_ASSERT(budget.allowed > 0);
        taken += node.risky ? 0 : 1;
      }
    }
    RC_ASSERT(taken <= budget.allowed);
  }
}

/// Everything that a plan says, by name.
std::string Describe(const Setting& setting, const ClusterView& view, const ScaleDownState& state, const ScaleDownPlan& plan) {
  std::string text;
  for (const UnneededNode& node : plan.unneeded) {
    text += setting.world.snapshot.NodeName(node.node) + (node.risky ? " risky" : "") + ":";
    for (const MovedPod& pod : node.pods) {
      text += " " + setting.world.snapshot.PodKey(pod.pod) + ">" + setting.world.snapshot.NodeName(pod.to);
    }
    text += "\n";
  }
  for (const Unremovable& node : plan.unremovable) {
    text += ExplainNode(view, setting.options, state, plan, setting.world.snapshot.NodeName(node.node)) + "\n";
  }
  for (const auto* indices : {&plan.delete_empty, &plan.delete_drain}) {
    for (const size_t index : *indices) text += " " + setting.world.snapshot.NodeName(plan.unneeded[index].node);
    text += "\n";
  }
  for (const auto* nodes : {&plan.taint, &plan.untaint}) {
    for (const auto node : *nodes) text += " " + setting.world.snapshot.NodeName(node);
    text += "\n";
  }
  return text;
}

RC_GTEST_PROP(ScaleDownPropertiesTest, TheOrderInWhichObjectsComeDoesNotMatter, (uint64_t seed)) {
  std::string described[2];
  for (const bool shuffle : {false, true}) {
    const auto setting = Make(seed, shuffle);
    ClusterView view = setting->world.View();
    ScaleDownState state;
    const ScaleDownPlan plan = Plan(*setting, view, state);
    described[shuffle ? 1 : 0] = Describe(*setting, view, state, plan);
  }
  RC_ASSERT(described[0] == described[1]);
}

/// One change of what a loop goes by. True: of facts of nodes.
bool Change(Setting& setting, base::Random& random, int step) {
  World& world = setting.world;
  const auto node = static_cast<scheduling::NodeId>(random.Below(world.nodes.size()));
  NodeFacts& facts = world.nodes[node];
  providers::NodeGroup& group = world.groups.groups[random.Below(world.groups.groups.size())];
  switch (random.Below(10)) {
    case 0:
      facts.ready = !facts.ready;
      return true;
    case 1:
      facts.scale_down_disabled = !facts.scale_down_disabled;
      return true;
    case 2:
      facts.to_be_deleted = random.Chance(0.5) ? std::optional(world.now) : std::nullopt;
      return true;
    case 3:
      facts.deletion_candidate = random.Chance(0.5) ? std::optional(world.now) : std::nullopt;
      return true;
    case 4:
      facts.group = random.Chance(0.2) ? "" : group.id;
      return true;
    case 5:
      group.min_size = random.Between(int64_t{0}, group.target_size);
      return false;
    case 6:
      group.options.scale_down_utilization_threshold = random.Chance(0.5) ? 0.2 : 0.8;
      setting.options.scale_down_unready_enabled = random.Chance(0.8);
      setting.options.ignore_daemonsets_utilization = random.Chance(0.5);
      return false;
    case 7:
      if (!world.budgets.empty()) world.budgets.front().allowed = random.Between(int64_t{0}, int64_t{4});
      return false;
    case 8:
      if (world.PodOf(facts.name + "-1") != scheduling::kNone) world.Remove(facts.name + "-1");
      return false;
    default: {
      PodFacts& pod = world.Pod("late-" + std::to_string(step), 100, 1, facts.name);
      pod.daemon = random.Chance(0.3);
      return false;
    }
  }
}

RC_GTEST_PROP(ScaleDownPropertiesTest, KeptDigestsMakeNoDifference, (uint64_t seed)) {
  const auto setting = Make(seed, false);
  base::Random random(seed + 2);
  NodeDigests kept;
  ScaleDownState with, without;
  uint64_t revision = 1;
  for (int step = 0; step < 12; ++step) {
    for (uint64_t changes = random.Below(3); changes > 0; --changes) {
      if (Change(*setting, random, step)) ++revision;
    }
    setting->world.now += random.Chance(0.5) ? 10s : 2min;
    ClusterView view = setting->world.View();
    view.nodes_revision = revision;
    const ScaleDownPlan expected = PlanScaleDown(view, setting->options, setting->request, without);
    const std::string described = Describe(*setting, view, without, expected);
    kept.Update(view);
    view.digests = &kept;
    const ScaleDownPlan plan = PlanScaleDown(view, setting->options, setting->request, with);
    RC_ASSERT(Describe(*setting, view, with, plan) == described);
    RC_ASSERT(with.SameMemory(without));
  }
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::scale_down_properties_test
