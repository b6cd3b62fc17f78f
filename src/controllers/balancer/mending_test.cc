#include "controllers/balancer/mending.h"

#include "controllers/balancer/objects_testing.h"
#include "controllers/balancer/planning.h"

namespace evenkeel::controllers::balancer::mending_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using testing::PodObject;
using testing::PolicyOf;
using testing::World;
using namespace std::chrono_literals;

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kHost = "kubernetes.io/hostname";
constexpr const char* kZone = "topology.kubernetes.io/zone";

Json Term(const std::string& app, const char* key) {
  return JsonObject{{"topologyKey", key}, {"labelSelector", JsonObject{{"matchLabels", JsonObject{{"app", app}}}}}};
}

/// Pods of 500m of the Deployment "web" with the label app=web, unless it is said otherwise.
class MendingTest : public ::testing::Test {
 protected:
  MendingTest() { world.Deployment("web", 4); }

  Json Pod(const std::string& name, const std::string& node, const std::string& app = "web") {
    return PodObject(name, node, {.owner = app + "-1", .labels = "app=" + app});
  }
  Json Selecting(const std::string& name, const std::string& node, const std::string& app = "web") {
    Json pod = Pod(name, node, app);
    base::Ensure(pod, {"spec", "nodeSelector"}) = JsonObject{{"disk", "ssd"}};
    return pod;
  }
  Json With(Json pod, const char* kind, const std::string& app, const char* key = kHost) {
    base::Ensure(pod, {"spec", "affinity", kind, kRequired}) = JsonArray{Term(app, key)};
    return pod;
  }
  Json Spread(const std::string& name, const std::string& node, const char* key = kZone) {
    Json pod = Pod(name, node);
    Json soft = Term("web", kHost), hard = Term("web", key);
    for (Json* constraint : {&soft, &hard}) base::Ensure(*constraint, {"maxSkew"}) = 1;
    base::Ensure(soft, {"whenUnsatisfiable"}) = "ScheduleAnyway";
    base::Ensure(hard, {"whenUnsatisfiable"}) = "DoNotSchedule";
    base::Ensure(pod, {"spec", "topologySpreadConstraints"}) = JsonArray{soft, hard};
    return pod;
  }
  void Taint(const std::string& node, const char* effect = "NoSchedule") {
    Json object = testing::NodeObject(node);
    base::Ensure(object, {"spec", "taints"}) = JsonArray{JsonObject{{"key", "dedicated"}, {"value", "db"}, {"effect", effect}}};
    world.mirror.Upsert(object);
  }
  /// "pod from > to: why" of all groups, sorted.
  std::vector<std::string> Moves(const MendOptions& options = {}) {
    const MemberCluster member = world.Build();
    std::vector<std::string> moves;
    left.clear();
    for (const auto& [group, mended] : MendRules(Input(), member, options)) {
      for (const balancing::Action& action : mended.actions) {
        moves.push_back(member.cluster.partitions[action.partition].name.substr(8) + " " +
                        member.cluster.nodes[action.from].name + " > " + member.cluster.nodes[action.to].name + ": " +
                        action.reason);
      }
      for (const BrokenPod& stays : mended.left) left.push_back(stays.pod.substr(8) + ": " + stays.why);
    }
    EXPECT_EQ(world.objects.snapshot().depth(), 0u);
    std::ranges::sort(moves);
    return moves;
  }
  MemberInput Input() { return {world.objects, world.policy, world.usage, world.past, world.now}; }

  using Texts = std::vector<std::string>;
  World world;
  Texts left;
};

TEST_F(MendingTest, ANodeThatNoLongerMatchesTheSelectorIsLeft) {
  for (const char* name : {"n1", "n2", "n3"}) world.Node(name, "4", name == std::string("n3") ? "disk=ssd" : "");
  world.mirror.Upsert(Selecting("a", "n1"));
  world.mirror.Upsert(Selecting("b", "n3"));
  world.Pod("plain", "n1", "web");
  EXPECT_EQ(Moves(), Texts{"a n1 > n3: spec.nodeSelector is not kept on n1: the labels of the node do not match it"});
  EXPECT_TRUE(left.empty());
  world.policy = PolicyOf(R"({"rules": {"nodeAffinity": false}})");
  EXPECT_TRUE(Moves().empty());
}

TEST_F(MendingTest, RequiredNodeAffinityIsNamed) {
  world.Node("n1");
  world.Node("n2", "4", "disk=ssd");
  Json pod = Pod("a", "n1");
  base::Ensure(pod, {"spec", "affinity", "nodeAffinity", kRequired, "nodeSelectorTerms"}) = JsonArray{JsonObject{
      {"matchExpressions", JsonArray{JsonObject{{"key", "disk"}, {"operator", "In"}, {"values", JsonArray{"ssd"}}}}}}};
  world.mirror.Upsert(pod);
  ASSERT_EQ(Moves().size(), 1u);
  EXPECT_TRUE(Moves()[0].starts_with("a n1 > n2: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution is"))
      << Moves()[0];
}

TEST_F(MendingTest, OfTwoThatMayNotBeTogetherOneGoes) {
  for (const char* name : {"n1", "n2"}) world.Node(name);
  for (const char* name : {"a", "b"}) world.mirror.Upsert(With(Pod(name, "n1"), "podAntiAffinity", "web"));
  EXPECT_EQ(Moves(), Texts{"a n1 > n2: spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] is not "
                           "kept on n1: pods that it does not want to be with are in kubernetes.io/hostname=n1"});
  world.policy = PolicyOf(R"({"rules": {"podAffinity": false}})");
  EXPECT_TRUE(Moves().empty());
}

TEST_F(MendingTest, WhoIsNotWantedGoesOnlyWhenWhoDoesNotWantItCannot) {
  for (const char* name : {"n1", "n2"}) world.Node(name);
  world.Deployment("lone", 1);
  world.mirror.Upsert(Pod("a", "n1"));
  Json lone = With(Pod("lone", "n1", "lone"), "podAntiAffinity", "web");
  world.mirror.Upsert(lone);
  ASSERT_EQ(Moves().size(), 1u);
  EXPECT_TRUE(Moves()[0].starts_with("lone n1 > n2: spec.affinity.podAntiAffinity")) << Moves()[0];
  base::Ensure(lone, {"metadata", "annotations", "karpenter.sh/do-not-disrupt"}) = "true";
  world.mirror.Upsert(lone);
  EXPECT_EQ(Moves(), Texts{"a n1 > n2: it should not be on n1: a pod in kubernetes.io/hostname=n1 does not want to be with it "
                           "(spec.affinity.podAntiAffinity of that pod)"});
}

TEST_F(MendingTest, APodFollowsThoseThatItHasToBeWith) {
  for (const char* name : {"n1", "n2", "n3"}) world.Node(name);
  world.Deployment("cache", 1);
  world.mirror.Upsert(Pod("cache", "n2", "cache"));
  world.mirror.Upsert(With(Pod("a", "n1"), "podAffinity", "cache"));
  world.mirror.Upsert(With(Pod("b", "n2"), "podAffinity", "cache"));
  EXPECT_EQ(Moves(), Texts{"a n1 > n2: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] is not kept "
                           "on n1: none of the pods that it wants to be with is in kubernetes.io/hostname=n1"});
}

TEST_F(MendingTest, TaintsAreLookedAtWhenThePolicySaysSo) {
  for (const char* name : {"n1", "n2"}) world.Node(name);
  Taint("n1");
  world.Pod("a", "n1", "web");
  EXPECT_TRUE(Moves().empty());
  world.policy = PolicyOf(R"({"rules": {"nodeTaints": true}})");
  EXPECT_EQ(Moves(), Texts{"a n1 > n2: spec.tolerations is not kept on n1: they do not tolerate the taint "
                           "dedicated=db:NoSchedule"});
  Taint("n1", "PreferNoSchedule");
  EXPECT_TRUE(Moves().empty());
}

TEST_F(MendingTest, SpreadBeyondMaxSkewIsEvenedWithTheFewestMoves) {
  world.Node("n1", "4", std::string(kZone) + "=a");
  world.Node("n2", "4", std::string(kZone) + "=b");
  for (const char* name : {"a", "b", "c", "d"}) world.mirror.Upsert(Spread(name, "n1"));
  const Texts moves = Moves();
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0],
            "a n1 > n2: spec.topologySpreadConstraints[1] is not kept on n1: topology.kubernetes.io/zone=a has 4 such "
            "pods with it where the fewest are 0, and maxSkew is 1");
  EXPECT_TRUE(moves[1].contains("zone=a has 3 such pods with it where the fewest are 1")) << moves[1];
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(Moves({.nodes_change = true}).empty()) << "until pods have followed the nodes";
  world.policy = PolicyOf(R"({"rules": {"topologySpread": false}})");
  EXPECT_TRUE(Moves().empty());
}

TEST_F(MendingTest, APodForWhichNoNodeIsBetterStaysAndSaysWhy) {
  world.Node("n1");
  world.Node("n2");
  world.Node("small", "1", "disk=ssd");
  world.mirror.Upsert(Selecting("a", "n1"));
  world.Deployment("big", 1);
  world.Pod("big", "small", "big", "800m");
  EXPECT_TRUE(Moves().empty());
  EXPECT_EQ(left, Texts{"a: spec.nodeSelector is not kept on n1: the labels of the node do not match it; it stays, since every "
                        "other node is ruled out: 1 (Capacity), 1 (NodeAffinity)"});
}

TEST_F(MendingTest, TheTargetIsTheNodeThatLeavesTheLoadMostEven) {
  world.Node("n1");
  for (const char* name : {"n2", "n3"}) world.Node(name, "4", "disk=ssd");
  world.mirror.Upsert(Selecting("a", "n1"));
  world.Pod("busy", "n2", "web", "2");
  ASSERT_EQ(Moves().size(), 1u);
  EXPECT_TRUE(Moves()[0].starts_with("a n1 > n3: ")) << Moves()[0];
}

TEST_F(MendingTest, DearPodsGoLastAndKeptOnesNever) {
  for (const char* name : {"n1", "n2"}) world.Node(name);
  world.policy = PolicyOf(R"({"moveCosts": [{"selector": {"matchLabels": {"dear": "yes"}}, "cost": "High"}]})");
  Json dear = With(Pod("a", "n1"), "podAntiAffinity", "web");
  base::Ensure(dear, {"metadata", "labels", "dear"}) = "yes";
  world.mirror.Upsert(dear);
  Json cheap = With(Pod("b", "n1"), "podAntiAffinity", "web");
  world.mirror.Upsert(cheap);
  ASSERT_EQ(Moves().size(), 1u);
  EXPECT_TRUE(Moves()[0].starts_with("b n1 > n2: ")) << Moves()[0];
  base::Ensure(cheap, {"metadata", "annotations", "evenkeel.dev/do-not-disrupt"}) = "true";
  world.mirror.Upsert(cheap);
  ASSERT_EQ(Moves().size(), 1u);
  EXPECT_TRUE(Moves()[0].starts_with("a n1 > n2: ")) << Moves()[0];
  EXPECT_EQ(world.Build().fixed.at("default/b"), "its annotation evenkeel.dev/do-not-disrupt is true");
}

TEST_F(MendingTest, ThePoliciesThrottleHolds) {
  world.Node("n1");
  world.Node("n2", "4", "disk=ssd");
  for (const char* name : {"a", "b", "c"}) world.mirror.Upsert(Selecting(name, "n1"));
  world.policy = PolicyOf(R"({"throttles": {"movements": 2}})");
  EXPECT_EQ(Moves().size(), 2u);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].ends_with("as many pods were moved lately as the policy allows")) << left[0];
}

TEST_F(MendingTest, APodWhoseMoveHasFailedStaysAWhile) {
  world.Node("n1");
  world.Node("n2", "4", "disk=ssd");
  world.mirror.Upsert(Selecting("a", "n1"));
  EXPECT_TRUE(Moves({.failed = {{"uid-a", "no budget"}}}).empty());
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].ends_with("it stays a while, since its last move failed: no budget")) << left[0];
}

/// The whole way to a plan: rules come before the balance, which waits for its turn.
TEST_F(MendingTest, APlanMendsBeforeItBalances) {
  world.Node("n1");
  for (const char* name : {"n2", "n3"}) world.Node(name, "4", "disk=ssd");
  for (const char* name : {"a", "b", "c", "d", "e"}) world.Pod(name, "n1", "web");
  world.mirror.Upsert(Selecting("x", "n1"));
  Planning planning;
  const Outlook outlook = planning.Look(Input(), {});
  ASSERT_TRUE(outlook.made.has_value());
  EXPECT_EQ(outlook.made->phase, "ConstraintCheck");
  ASSERT_EQ(outlook.made->moves.size(), 1u);
  EXPECT_EQ(outlook.made->moves[0].pod, "default/x");
  EXPECT_TRUE(outlook.made->moves[0].reason.starts_with("spec.nodeSelector is not kept on n1"))
      << outlook.made->moves[0].reason;
  EXPECT_LT(outlook.made->deviation_after, outlook.made->deviation_before);
  world.now += 1s;
  const Outlook again = planning.Look(Input(), {});
  ASSERT_TRUE(again.made.has_value());
  EXPECT_EQ(again.made->phase, "ConstraintCheck") << "as long as there is something to mend, whatever the interval says";
  world.mirror.Upsert(Selecting("x", "n2"));
  world.now += 2min;
  const Outlook next = planning.Look(Input(), {});
  ASSERT_TRUE(next.made.has_value());
  EXPECT_EQ(next.made->phase, "QuickBalancing");
}

TEST_F(MendingTest, APodThatCannotGoDoesNotHoldUpTheBalance) {
  for (const char* name : {"n1", "n2"}) world.Node(name);
  for (const char* name : {"a", "b", "c", "d"}) world.Pod(name, "n1", "web");
  world.Deployment("odd", 1);
  world.mirror.Upsert(Selecting("x", "n1", "odd"));
  Planning planning;
  const Outlook outlook = planning.Look(Input(), {});
  ASSERT_TRUE(outlook.made.has_value());
  EXPECT_EQ(outlook.made->phase, "QuickBalancing");
  ASSERT_EQ(outlook.broken.size(), 1u);
  EXPECT_EQ(outlook.broken[0].pod, "default/x");
}

}  // namespace
}  // namespace evenkeel::controllers::balancer::mending_test
