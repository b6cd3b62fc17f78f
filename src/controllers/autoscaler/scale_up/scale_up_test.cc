#include "controllers/autoscaler/scale_up/scale_up.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "controllers/autoscaler/scale_up/scale_up_testing.h"

namespace evenkeel::controllers::autoscaler::scale_up_test {
namespace {

using scheduling::PodId;
using scheduling::testing::kZone;
using testing::Changes;
using testing::Choose;
using testing::kMebibyte;
using testing::MakeNode;
using testing::MakePod;
using testing::ScaleUpCluster;

class ScaleUpTest : public ::testing::Test, protected ScaleUpCluster {
 protected:
  std::vector<std::string> Keys(PodIds pods) const {
    std::vector<std::string> keys;
    for (const PodId pod : pods) keys.push_back(pod_facts[pod].key.substr(std::string("default/").size()));
    std::ranges::sort(keys);
    return keys;
  }
  std::shared_ptr<const Choose> Pick(const std::string& group) {
    auto choose = std::make_shared<const Choose>(group);
    chooser = choose;
    return choose;
  }
  static std::string SkippedBecause(const ScaleUpPlan& plan, const std::string& group) {
    for (const auto& skipped : plan.skipped) {
      if (skipped.group == group) return skipped.reason;
    }
    return "";
  }
};
using Strings = std::vector<std::string>;

/// Groups of full nodes of 100m, six pods that need one each.
class SharedQuotaTest : public ScaleUpTest {
 protected:
  std::string Run(std::array<int, 3> sizes, int64_t max, Quota quota) {
    for (int group = 1; group <= 3; ++group) {
      const std::string id = "ng" + std::to_string(group);
      AddGroup(id, max);
      for (int i = 0; i < sizes[static_cast<size_t>(group - 1)]; ++i) {
        const std::string name = id + "-n" + std::to_string(i);
        AddNode(MakeNode(name, 100, 1000, {{"group", id}}), id);
        AddPod(MakePod("on-" + name, 80, 0), "rs", name);
      }
    }
    for (int i = 0; i < 6; ++i) AddPending(MakePod("p" + std::to_string(i), 80, 0));
    options.balance_similar_node_groups = true;
    options.balancing_ignore_labels = {"group"};
    request.quotas.push_back(std::move(quota));
    Pick("ng1");
    const ScaleUpPlan plan = Plan();
    std::string text;
    for (int group = 1; group <= 3; ++group) {
      int64_t size = sizes[static_cast<size_t>(group - 1)];
      for (const GroupDelta& change : plan.steps.at(0).changes) {
        if (change.group == "ng" + std::to_string(group)) size = change.to;
      }
      text += (text.empty() ? "" : ",") + std::to_string(size);
    }
    return text;
  }
  static kube::LabelSelector Groups(const std::string& list) { return *kube::LabelSelector::Parse("group in (" + list + ")"); }
};

TEST_F(SharedQuotaTest, V5AQuotaOfOneGroupCutsItsShare) {
  EXPECT_EQ(Run({1, 1, 1}, 5, {"q", {{"cpu", 2}}, Groups("ng2")}), "3,2,3");
}

TEST_F(SharedQuotaTest, V5AQuotaOfAllCutsTheWhole) { EXPECT_EQ(Run({1, 2, 2}, 10, {"q", {{"nodes", 6}}, {}}), "2,2,2"); }

TEST_F(SharedQuotaTest, V5AQuotaOfTwoGroupsIsUsedUpInOrder) {
  EXPECT_EQ(Run({1, 1, 2}, 10, {"q", {{"nodes", 4}}, Groups("ng2,ng3")}), "4,2,2");
}

TEST_F(SharedQuotaTest, V5AGroupAtItsQuotaTakesNoPart) {
  EXPECT_EQ(Run({1, 1, 1}, 5, {"q", {{"cpu", 1}}, Groups("ng2")}), "4,1,4");
}

TEST_F(ScaleUpTest, V7TheGroupThatFitsGrows) {
  AddGroup("ng1");
  AddGroup("ng2");
  AddNode(MakeNode("n1", 100, 1000), "ng1");
  AddNode(MakeNode("n2", 1000, 1000), "ng2");
  AddPod(MakePod("p1", 80, 0), "rs", "n1");
  AddPod(MakePod("p2", 800, 0), "rs", "n2");
  AddPending(MakePod("p-new", 500, 0));
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(plan.outcome, ScaleUpPlan::Outcome::kPlanned);
  EXPECT_EQ(Changes(plan), "ng2 1->2");
  EXPECT_EQ(Keys(plan.steps[0].triggered_by), Strings{"p-new"});
  ASSERT_EQ(plan.misfits[0].size(), 1u);
  EXPECT_EQ(plan.misfits[0][0].group, "ng1");
  EXPECT_EQ(plan.misfits[0][0].fit.reasons.at(0).text, "Insufficient cpu");
  EXPECT_EQ(plan.misfits[0][0].fit.reasons.at(0).missing(), 400);
  EXPECT_EQ(snapshot.node_count(), 2u);
}

TEST_F(ScaleUpTest, V8PodsTriggerRemainOrWait) {
  AddGroup("ng1");
  AddGroup("ng2");
  AddNode(MakeNode("n1", 100, 1000), "ng1");
  AddNode(MakeNode("n2", 1000, 100), "ng2");
  AddPod(MakePod("p1", 80, 0), "rs", "n1");
  AddPod(MakePod("p2", 800, 0), "rs", "n2");
  AddPending(MakePod("triggering", 900, -1));
  AddPending(MakePod("remaining", 2000, -1));
  AddPending(MakePod("awaiting", -1, 200));
  Pick("ng2");
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(Changes(plan), "ng2 1->2");
  EXPECT_EQ(Keys(plan.steps[0].triggered_by), Strings{"triggering"});
  EXPECT_EQ(Keys(plan.remain_unschedulable), Strings{"remaining"});
  EXPECT_EQ(Keys(plan.await_evaluation), Strings{"awaiting"});
}

TEST_F(ScaleUpTest, V9CoresAreCapped) {
  options.cores_total.max = 9;
  AddGroup("ng1");
  AddNode(MakeNode("n1", 2000, 100), "ng1");
  AddNode(MakeNode("n2", 4000, 1000));
  AddPod(MakePod("p1", 1000, 0), "rs", "n1");
  AddPod(MakePod("p2", 3000, 0), "rs", "n2");
  for (const char* name : {"a", "b"}) AddPending(MakePod(name, 2000, 0));
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(plan.steps.at(0).option.nodes, 2);
  EXPECT_EQ(Changes(plan), "ng1 1->2");
  EXPECT_EQ(Keys(plan.steps[0].triggered_by), (Strings{"a", "b"}));
}

TEST_F(ScaleUpTest, V10MemoryIsCapped) {
  request.quotas = {{"memory", {{"memory", 1300 * kMebibyte}}}};
  AddGroup("ng1");
  AddGroup("ng2");
  AddNode(MakeNode("n1", 2000, 100 * kMebibyte), "ng1");
  AddNode(MakeNode("n2", 4000, 1000 * kMebibyte), "ng2");
  for (const char* name : {"a", "b", "c"}) AddPending(MakePod(name, 2000, 100 * kMebibyte));
  Pick("ng1");
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(plan.steps.at(0).option.nodes, 3);
  EXPECT_EQ(Changes(plan), "ng1 1->3");
}

TEST_F(ScaleUpTest, V11TheNumberOfNodesIsCapped) {
  AddGroup("ng1");
  AddGroup("ng2");
  AddNode(MakeNode("n1", 2000, 100 * kMebibyte), "ng1");
  AddNode(MakeNode("n2", 4000, 1000 * kMebibyte), "ng2");
  AddPod(MakePod("p2", 3000, 0), "rs", "n2");
  for (const char* name : {"a", "b", "c"}) AddPending(MakePod(name, 4000, 0));
  options.max_nodes_total = 3;
  Pick("ng2");
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(Changes(plan), "ng2 1->2");
}

/// A member that is still empty: its groups have targets, their nodes have not registered, and no request of ours says so.
TEST_F(ScaleUpTest, NodesThatWereAskedForBeforeCountForTheLimits) {
  for (const auto& [id, target] : {std::pair{"large", 1}, {"small", 2}}) {
    AddGroup(id, 5);
    view.groups.Find(id)->target_size = target;
    Templates().Set(id, MakeNode("t", 2000, 1000));
  }
  for (int i = 0; i < 9; ++i) AddPending(MakePod("p" + std::to_string(i), 1500, 0));
  options.max_groups_per_loop = 4;
  options.max_nodes_total = 8;
  const auto nodes = [&] {
    const ScaleUpPlan plan = Plan();
    int64_t sum = 3;
    for (const ScaleUpStep& step : plan.steps) {
      for (const GroupDelta& change : step.changes) sum += change.to - change.from;
    }
    return sum;
  };
  EXPECT_EQ(nodes(), 8);
  options.cores_total.max = 12;
  EXPECT_EQ(nodes(), 6);
  options.cores_total.max = 1000;
  // Those that have come meanwhile, or are upcoming, are not counted twice.
  view.groups.Find("small")->target_size = 1;
  AddNode(MakeNode("n1", 2000, 1000), "small");
  AddPod(MakePod("on-n1", 1500, 0), "rs", "n1");
  EXPECT_EQ(nodes(), 8);
}

/// A second plan of one loop, after a refusal.
TEST_F(ScaleUpTest, WhatWasGrantedCountsOnceForTheLimits) {
  for (const char* id : {"a", "b"}) {
    AddGroup(id, id[0] == 'a' ? 2 : 9);
    Templates().Set(id, MakeNode("t", 1000, 1000));
  }
  for (int i = 0; i < 9; ++i) AddPending(MakePod("p" + std::to_string(i), 600, 0));
  options.max_nodes_total = 5;
  Pick("a");
  request.granted = Plan().steps;
  view.groups.Find("a")->target_size = 2;
  options.max_groups_per_loop = 4;
  Pick("b");
  EXPECT_EQ(Changes(Plan()), "b 0->3");
}

TEST_F(ScaleUpTest, V12NothingGrowsBeyondTheCores) {
  options.cores_total.max = 7;
  AddGroup("ng1");
  AddGroup("ng2");
  AddNode(MakeNode("n1", 2000, 100), "ng1");
  AddNode(MakeNode("n2", 4000, 1000), "ng2");
  AddPod(MakePod("p1", 1000, 0), "rs", "n1");
  AddPod(MakePod("p2", 3000, 0), "rs", "n2");
  for (const char* name : {"a", "b"}) AddPending(MakePod(name, 2000, 0));
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(plan.outcome, ScaleUpPlan::Outcome::kNoOptions);
  EXPECT_EQ(SkippedBecause(plan, "ng1"), "exceeded quota: \"cluster-wide\", resources: cpu");
  EXPECT_EQ(SkippedBecause(plan, "ng2"), "exceeded quota: \"cluster-wide\", resources: cpu");
  EXPECT_EQ(Keys(plan.remain_unschedulable), (Strings{"a", "b"}));
}

TEST_F(ScaleUpTest, V14GpuPoolsAreOptionsAndOthersAreNot) {
  const auto pool = [&](const std::string& id, int gpus) {
    AddGroup(id);
    kube::Node node = MakeNode("n-" + id, 2000, 1000 * kMebibyte);
    if (gpus > 0) node.capacity["nvidia.com/gpu"] = node.allocatable["nvidia.com/gpu"] = gpus;
    AddNode(node, id);
    auto full = MakePod("full-" + id, 2000, 1000 * kMebibyte);
    if (gpus > 0) full.Request("nvidia.com/gpu", std::to_string(gpus));
    AddPod(full, "rs", "n-" + id);
  };
  pool("gpu-1", 1);
  pool("gpu-2", 2);
  pool("gpu-4", 4);
  pool("std", 0);
  for (const char* name : {"a", "b", "c"}) AddPending(MakePod(name, 1, kMebibyte).Request("nvidia.com/gpu", "1"));
  const auto chosen = Pick("gpu-1");
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(chosen->seen, (std::map<std::string, int64_t>{{"gpu-1", 3}, {"gpu-2", 2}, {"gpu-4", 1}}));
  EXPECT_EQ(Changes(plan), "gpu-1 1->4");
}

TEST_F(ScaleUpTest, GroupsThatMayNotGrowHaveTheirReasons) {
  for (const char* id : {"atomic", "backed-off", "full", "no-template", "refused", "unhealthy"}) AddGroup(id, 1);
  for (const char* id : {"atomic", "backed-off", "full", "refused", "unhealthy"}) {
    AddNode(MakeNode(std::string("n-") + id, 1000, 1000), id);
    view.groups.Find(id)->max_size = 5;
  }
  view.groups.Find("full")->max_size = 1;
  view.groups.Find("atomic")->options.zero_or_max_node_scaling = true;
  options.max_nodes_total = 7;
  request.health = {{"backed-off", {true, true}}, {"unhealthy", {false, true}}};
  request.excluded = {"refused"};
  AddPending(MakePod("p", 500, 0));
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(plan.outcome, ScaleUpPlan::Outcome::kNoOptions);
  EXPECT_EQ(SkippedBecause(plan, "atomic"), "atomic scale-up exceeds cluster node count limit");
  EXPECT_EQ(SkippedBecause(plan, "backed-off"), "in backoff after failed scale-up");
  EXPECT_EQ(SkippedBecause(plan, "full"), "max node group size reached");
  EXPECT_EQ(SkippedBecause(plan, "no-template"), "not ready for scale-up");
  EXPECT_EQ(SkippedBecause(plan, "refused"), "in backoff after failed scale-up");
  EXPECT_EQ(SkippedBecause(plan, "unhealthy"), "not ready for scale-up");
}

TEST_F(ScaleUpTest, AnAtomicGroupGrowsToItsMaximum) {
  AddGroup("a", 4);
  view.groups.Find("a")->options.zero_or_max_node_scaling = true;
  Templates().Set("a", MakeNode("t", 1000, 1000));
  AddPending(MakePod("p", 600, 0));
  EXPECT_EQ(Changes(Plan()), "a 0->4");
}

TEST_F(ScaleUpTest, AllOrNothingTakesOnlyOptionsForAllPods) {
  AddGroup("small", 1);
  AddGroup("wide", 9);
  Templates().Set("small", MakeNode("t", 4000, 1000));
  Templates().Set("wide", MakeNode("t", 1000, 1000));
  for (int i = 0; i < 6; ++i) AddPending(MakePod("p" + std::to_string(i), 900, 0));
  options.all_or_nothing = true;
  EXPECT_EQ(Changes(Plan()), "wide 0->6");
  view.groups.Find("wide")->max_size = 5;
  EXPECT_EQ(Plan().outcome, ScaleUpPlan::Outcome::kNoOptions);
}

TEST_F(ScaleUpTest, SeveralGroupsGrowInOneLoop) {
  for (const char* id : {"arm", "gpu", "std"}) {
    AddGroup(id);
    Templates().Set(id, MakeNode("t", 1000, 1000, {{"kind", id}}));
    for (int i = 0; i < 3; ++i) {
      AddPending(
          MakePod(std::string(id) + std::to_string(i), 600, 0).Spec("nodeSelector", std::string(R"({"kind":")") + id + "\"}"));
    }
  }
  EXPECT_EQ(Plan().steps.size(), 1u);
  options.max_groups_per_loop = 2;
  EXPECT_EQ(Plan().steps.size(), 2u);
  options.max_groups_per_loop = 4;
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(Changes(plan), "arm 0->3, gpu 0->3, std 0->3");
  EXPECT_TRUE(plan.await_evaluation.empty());
}

TEST_F(ScaleUpTest, ARefusedGroupIsReplacedByTheNextBest) {
  for (const char* id : {"a", "b"}) {
    AddGroup(id);
    Templates().Set(id, MakeNode("t", 1000, 1000));
  }
  view.groups.Find("b")->max_size = 2;
  for (int i = 0; i < 3; ++i) AddPending(MakePod("p" + std::to_string(i), 600, 0));
  options.max_groups_per_loop = 4;
  options.expander = {"most-pods"};
  const ScaleUpPlan first = Plan();
  ASSERT_EQ(Changes(first), "a 0->3");
  request.excluded = {"a"};
  const ScaleUpPlan second = Plan();
  EXPECT_EQ(Changes(second), "b 0->2");
  EXPECT_EQ(second.steps[0].placed.size(), 2u);
  EXPECT_EQ(second.await_evaluation.size(), 1u);
}

TEST_F(ScaleUpTest, GrantedStepsAreNotPlannedAgain) {
  AddGroup("a", 2);
  AddGroup("b");
  for (const char* id : {"a", "b"}) Templates().Set(id, MakeNode("t", 1000, 1000));
  for (int i = 0; i < 3; ++i) AddPending(MakePod("p" + std::to_string(i), 600, 0));
  options.max_groups_per_loop = 4;
  Pick("a");
  request.granted = Plan().steps;
  ASSERT_EQ(request.granted.size(), 1u);
  view.groups.Find("a")->target_size = 2;
  Pick("b");
  EXPECT_EQ(Changes(Plan()), "b 0->1");
  request.granted[0] = WithoutGroups(snapshot, request.granted[0], {"a"});
  EXPECT_TRUE(request.granted[0].placed.empty());
  EXPECT_EQ(Changes(Plan()), "b 0->3");
}

TEST_F(ScaleUpTest, LaterStepsSeeTheNodesOfEarlierOnes) {
  for (const char* zone : {"x", "y", "z"}) {
    AddGroup(zone);
    Templates().Set(zone, MakeNode("t", 1000, 1000, {{kZone, zone}}));
    AddNode(MakeNode(std::string("old-") + zone, 100, 100, {{kZone, zone}}));
  }
  for (int i = 0; i < 3; ++i) {
    AddPending(MakePod("p" + std::to_string(i), 600, 0).Labels("app=a").Spread(1, kZone, "app=a"));
  }
  options.max_groups_per_loop = 4;
  EXPECT_EQ(Changes(Plan()), "x 0->1, y 0->1, z 0->1");
}

TEST_F(ScaleUpTest, PodsThatSpreadOverZonesGetAllTheirNodesInOneLoop) {
  for (const char* zone : {"x", "y", "z"}) {
    AddGroup(zone, 50);
    Templates().Set(zone, MakeNode("t", 1000, 1000, {{kZone, zone}}));
    AddNode(MakeNode(std::string("old-") + zone, 100, 100, {{kZone, zone}}));
  }
  for (int i = 0; i < 30; ++i) {
    AddPending(MakePod("p" + std::to_string(i), 500, 0).Labels("app=a").Spread(1, kZone, "app=a"));
  }
  options.max_groups_per_loop = 4;
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(Changes(plan), "x 0->5, y 0->5, z 0->5");
  EXPECT_EQ(plan.steps.size(), 3u);
  size_t placed = 0;
  for (const ScaleUpStep& step : plan.steps) placed += step.placed.size();
  EXPECT_EQ(placed, 30u);
  options.max_groups_per_loop = 1;
  EXPECT_EQ(Plan().steps.at(0).triggered_by.size(), 1u);
}

TEST_F(ScaleUpTest, PodsWithoutOwnersCountAsOneGroupAndControllersHaveTen) {
  AddGroup("g");
  Templates().Set("g", MakeNode("t", 1000, 1000));
  for (int i = 0; i < 30; ++i) AddPending(MakePod("alone" + std::to_string(i), 100, 0), "");
  for (int i = 0; i < 15; ++i) AddPending(MakePod("owned" + std::to_string(i), 10 + i, 0), "rs");
  options.max_nodes_total = 0;
  const ScaleUpPlan plan = Plan();
  EXPECT_EQ(plan.pod_groups.size(), 16u);
  EXPECT_EQ(plan.overflowing_controllers, 1u);
  EXPECT_EQ(plan.steps.at(0).triggered_by.size(), 45u);
}

TEST_F(ScaleUpTest, WithoutPodsNothingIsNeeded) {
  AddGroup("g");
  EXPECT_EQ(Plan().outcome, ScaleUpPlan::Outcome::kNotNeeded);
}

TEST_F(ScaleUpTest, GroupsBelowTheirMinimumAreFilledUp) {
  AddGroup("low", 9, 4);
  AddGroup("fine", 9, 1);
  AddGroup("sick", 9, 4);
  for (const char* id : {"low", "fine", "sick"}) AddNode(MakeNode(std::string("n-") + id, 1000, 1000), id);
  request.health = {{"sick", {false, false}}};
  const auto changes = [&] { return EnforceMinSizes(view, options, Templates(), Objects(), request); };
  EXPECT_EQ(changes(), (std::vector<GroupDelta>{{"low", 1, 4}}));
  options.cores_total.max = 4;
  EXPECT_EQ(changes(), (std::vector<GroupDelta>{{"low", 1, 2}}));
}

/// What must hold for the plan of any cluster.
void CheckPlan(ScaleUpCluster& cluster, const ScaleUpPlan& plan) {
  std::map<std::string, int64_t> size;
  std::map<scheduling::ClassId, int64_t> on_nodes;
  std::set<PodId> seen;
  for (const ScaleUpStep& step : plan.steps) {
    std::map<std::string, int64_t> added;
    for (const GroupDelta& change : step.changes) {
      const providers::NodeGroup& group = *cluster.view.groups.Find(change.group);
      RC_ASSERT(change.from == group.target_size + size[change.group]);
      RC_ASSERT(change.to > change.from && change.to <= group.max_size);
      size[change.group] += added[change.group] = change.to - change.from;
    }
    for (const ScaleUpStep::NewNode& node : step.nodes) {
      for (const auto& [pod_class, pods] : node.pods) on_nodes[pod_class] += pods;
      if (node.group.empty()) continue;
      --added[node.group];
      int64_t cpu = 0;
      for (const auto& [pod_class, pods] : node.pods) {
        for (const auto& amount : cluster.snapshot.Requests(pod_class)) {
          if (amount.resource == scheduling::kCpu) cpu += amount.amount * pods;
        }
      }
      RC_ASSERT(cpu <= cluster.Templates().Find(node.group)->node.allocatable.at("cpu"));
    }
    for (const auto& [group, missing] : added) RC_ASSERT(missing == 0);
    for (const PodId pod : step.placed) RC_ASSERT(seen.insert(pod).second);
  }
  for (const PodId pod : seen) --on_nodes[cluster.snapshot.ClassOf(pod)];
  for (const auto& [pod_class, left] : on_nodes) RC_ASSERT(left == 0);
  for (const PodIds* list : {&plan.await_evaluation, &plan.remain_unschedulable}) {
    for (const PodId pod : *list) RC_ASSERT(seen.insert(pod).second);
  }
}

RC_GTEST_PROP(ScaleUpProperties, PlansKeepMaximaAndRoomAndPlacePodsOnce, ()) {
  ScaleUpCluster cluster;
  const auto up_to = [](int64_t most) { return *rc::gen::inRange<int64_t>(0, most + 1); };
  for (const char* zone : {"x", "y"}) cluster.AddNode(MakeNode(std::string("old-") + zone, 700, 1000, {{kZone, zone}}));
  const int64_t groups = 1 + up_to(3), kinds = 1 + up_to(4);
  for (int64_t i = 0; i < groups; ++i) {
    const std::string id = "g" + std::to_string(i);
    cluster.AddGroup(id, up_to(6));
    cluster.Templates().Set(id, MakeNode("t", 1000 + 500 * up_to(2), 1000, {{kZone, i % 2 == 0 ? "x" : "y"}}));
  }
  for (int64_t kind = 0; kind < kinds; ++kind) {
    const std::string app = "app" + std::to_string(kind);
    const int64_t cpu = 100 + 100 * up_to(9), extra = up_to(4), pods = 1 + up_to(9);
    for (int64_t i = 0; i < pods; ++i) {
      auto pod = MakePod(app + "-" + std::to_string(i), cpu, 0).Labels("app=" + app);
      if (extra == 1) pod.AntiAffinity("kubernetes.io/hostname", "app=" + app);
      if (extra == 2) pod.Spread(1, kZone, "app=" + app);
      if (extra == 3) pod.Spread(1, "kubernetes.io/hostname", "app=" + app);
      cluster.AddPending(pod, kind % 2 == 0 ? app : "");
    }
  }
  cluster.options.max_groups_per_loop = 1 + up_to(3);
  cluster.options.max_nodes_total = up_to(1) * 8;
  cluster.options.balance_similar_node_groups = up_to(1) == 1;
  const size_t before = cluster.snapshot.node_count();
  CheckPlan(cluster, cluster.Plan());
  RC_ASSERT(cluster.snapshot.node_count() == before);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::scale_up_test
