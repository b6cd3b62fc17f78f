#include "controllers/balancer/planning.h"

#include <map>

#include "controllers/balancer/objects_testing.h"

namespace evenkeel::controllers::balancer::planning_test {
namespace {

using balancing::GroupPlan;
using balancing::PhaseSkip;
using balancing::SkippedItem;

using testing::PolicyOf;
using testing::World;

/// Everything that the planner says of what it did not do.
std::string Skipped(const Outlook& outlook) {
  std::string text;
  for (const GroupPlan& group : outlook.plan.of_groups) {
    for (const PhaseSkip& skip : group.decision.skipped) text += std::string(Name(skip.stage)) + ": " + skip.text + "\n";
    for (const SkippedItem& item : group.skipped) text += item.what + ": " + item.why + "\n";
  }
  return text;
}

TEST(PlanningTest, ANodeAboveItsBufferedCapacityIsRelievedWithTheFewestMoves) {
  World world;
  world.policy = PolicyOf(R"({"metrics": [{"name": "cpu", "balancingThreshold": 0, "nodeBuffer": 0.25}]})");
  for (const char* name : {"n1", "n2", "n3"}) world.Node(name);
  world.Deployment("web", 12);
  for (int i = 0; i < 8; ++i) world.Pod("p" + std::to_string(i), "n1", "web", "450m");
  for (int i = 0; i < 4; ++i) world.Pod("q" + std::to_string(i), "n2", "web", "450m");
  Planning planning;
  EXPECT_TRUE(planning.Due(world.policy, world.now));
  const Outlook outlook = planning.Look({world.objects, world.policy, world.usage, world.past, world.now}, {});
  ASSERT_TRUE(outlook.made.has_value()) << Skipped(outlook);
  EXPECT_EQ(outlook.made->phase, "ConstraintCheck");
  EXPECT_EQ(outlook.made->moves.size(), 2u);
  for (const PlannedMove& move : outlook.made->moves) EXPECT_EQ(move.from, "n1");
  EXPECT_EQ(outlook.made->input_version, InputVersion(outlook.made->moves, world.objects));
}

/// All nodes carry 4 cores: a quarter of the large ones, all of the small ones.
TEST(PlanningTest, LargeNodesTakeFromSmallOnesThatAreFull) {
  World world;
  world.policy = PolicyOf(R"({"metrics": [{"name": "cpu"}], "throttles": {"maxShare": 1}})");
  for (const char* name : {"big1", "big2"}) world.Node(name, "16");
  for (const char* name : {"small1", "small2"}) world.Node(name, "4");
  world.Deployment("web", 16);
  for (const char* name : {"big1", "big2", "small1", "small2"}) {
    for (int i = 0; i < 4; ++i) world.Pod(name + std::string("-") + std::to_string(i), name, "web", "1");
  }
  Planning planning;
  const Outlook outlook = planning.Look({world.objects, world.policy, world.usage, world.past, world.now}, {});
  EXPECT_EQ(outlook.balance_text, "cpu: ratio 4 (4 of 4 on small1, 4 of 16 on big1) is above the threshold 1.5");
  ASSERT_TRUE(outlook.made.has_value()) << Skipped(outlook);
  std::map<std::string, int> pods{{"big1", 4}, {"big2", 4}, {"small1", 4}, {"small2", 4}};
  for (const PlannedMove& move : outlook.made->moves) {
    --pods[move.from];
    ++pods[move.to];
    EXPECT_TRUE(move.reason.starts_with("cpu is imbalanced: ratio 4 (4 of 4 on small1, ")) << move.reason;
  }
  for (const char* name : {"big1", "big2"}) EXPECT_GE(pods[name], 6) << name;
  for (const char* name : {"small1", "small2"}) EXPECT_LE(pods[name], 2) << name;
}

TEST(PlanningTest, UnequalNodesThatAreEquallyFullAreBalanced) {
  World world;
  world.policy = PolicyOf(R"({"metrics": [{"name": "cpu"}]})");
  world.Node("big", "16");
  world.Node("small", "4");
  world.Deployment("web", 10);
  for (int i = 0; i < 8; ++i) world.Pod("b" + std::to_string(i), "big", "web", "1");
  for (int i = 0; i < 2; ++i) world.Pod("s" + std::to_string(i), "small", "web", "1");
  Planning planning;
  const Outlook outlook = planning.Look({world.objects, world.policy, world.usage, world.past, world.now}, {});
  EXPECT_TRUE(outlook.balanced) << outlook.balance_text;
  EXPECT_FALSE(outlook.made.has_value());
}

/// Pods that may not share a node: what other pods forbid is looked at before the plan is written.
TEST(PlanningTest, MovesThatAFilterRefusesAreDropped) {
  World world;
  for (const char* name : {"n1", "n2"}) world.Node(name);
  world.Deployment("web", 4);
  world.Deployment("lone", 2);
  const auto lone = [&](const std::string& name, const std::string& node) {
    base::Json pod = testing::PodObject(name, node, {.cpu = "1", .owner = "lone-1", .labels = "app=lone"});
    base::Ensure(pod, {"spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}) =
        base::JsonArray{
            base::JsonObject{{"topologyKey", "kubernetes.io/hostname"},
                             {"labelSelector", base::JsonObject{{"matchLabels", base::JsonObject{{"app", "lone"}}}}}}};
    world.mirror.Upsert(pod);
  };
  lone("lone-a", "n1");
  lone("lone-b", "n2");
  for (const char* name : {"a", "b", "c", "d"}) world.Pod(name, "n1", "web", "500m");
  std::vector<PlannedMove> moves{world.Move("lone-a", "n2"), world.Move("a", "n2"), world.Move("b", "n2")};
  const std::vector<DroppedMove> dropped = DropImpossible(world.objects, moves);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].move.pod, "default/lone-a");
  EXPECT_TRUE(dropped[0].why.starts_with("InterPodAffinity on n2: ")) << dropped[0].why;
  EXPECT_EQ(moves.size(), 2u);
  EXPECT_EQ(world.objects.snapshot().depth(), 0u);
  EXPECT_EQ(WhyNotOn(world.objects, "default/a", "n2"), "");
}

}  // namespace
}  // namespace evenkeel::controllers::balancer::planning_test
