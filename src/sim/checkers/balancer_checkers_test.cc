#include "sim/checkers/balancer_checkers.h"

#include "sim/checkers/member_checker_testing.h"

namespace evenkeel::sim::balancer_checkers_test {
namespace {

using namespace std::chrono_literals;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using testing::kReplica;

/// Two nodes, and pods of one ReplicaSet on the first.
class BalancerCheckerTest : public testing::MemberCheckerTest {
 protected:
  BalancerCheckerTest() {
    Node("n1");
    Node("n2");
    for (const char* name : {"a", "b", "c"}) Add(Pod(name));
    fleet.time += 1h;
  }

  void Node(const std::string& name, bool leaving = false, bool ready = true) {
    Json node = JsonObject{};
    base::Ensure(node, {"status", "allocatable"}) = JsonObject{{"cpu", "4"}, {"memory", "16Gi"}, {"pods", "110"}};
    base::Ensure(node, {"status", "conditions"}) =
        JsonArray{JsonObject{{"type", "Ready"}, {"status", ready ? "True" : "Unknown"}}};
    if (leaving) {
      base::Ensure(node, {"spec", "taints"}) =
          JsonArray{JsonObject{{"key", "ToBeDeletedByClusterAutoscaler"}, {"effect", "NoSchedule"}}};
    }
    StoreTold("nodes/" + name, node);
  }
  /// The store's change, and every checker hears of it.
  void StoreTold(const std::string& key, const std::optional<Json>& object) {
    Store(key, object);
    embedded::store::Event event;
    event.type = object ? embedded::store::Event::Type::kPut : embedded::store::Event::Type::kDelete;
    event.current.key = "/registry/" + key;
    event.current.value = stored[key];
    for (Checker* checker : checkers) checker->OnStored(testing::kMember, event);
  }
  /// An executing plan that moves one pod.
  void Plan(const std::string& name, const std::string& pod, const std::string& from, const std::string& to,
            double energy_before = 2, double energy_after = 1) {
    Json plan = JsonObject{};
    base::Ensure(plan, {"spec"}) =
        JsonObject{{"phase", "QuickBalancing"},
                   {"energyBefore", energy_before},
                   {"energyAfter", energy_after},
                   {"actions", JsonArray{JsonObject{{"podUid", pod}, {"ownerUid", "rs"}, {"from", from}, {"to", to}}}}};
    base::Ensure(plan, {"status"}) =
        JsonObject{{"phase", "Executing"}, {"actions", JsonArray{JsonObject{{"state", "Evicting"}}}}};
    Write(kReplica, "balancingplans", "", name, plan, "create");
  }
  void Evict(const std::string& name) { Write(kReplica, "pods", "default", name, std::nullopt, "create", "eviction"); }
  void Move(const std::string& plan, const std::string& pod, const std::string& from, const std::string& to) {
    Plan(plan, pod, from, to);
    Evict(pod);
  }
  static Json PodOn(const std::string& name, const std::string& node, const std::string& cpu = "1") {
    Json pod = Pod(name, "default", cpu);
    base::Ensure(pod, {"spec", "nodeName"}) = node;
    return pod;
  }

  BalancingScenario limits{.movements = 2, .window = 1min};
};

TEST_F(BalancerCheckerTest, RoomIsWhatRequestsLeave) {
  RoomChecker checker(&book, &limits);
  Attach(checker);
  StoreTold("pods/default/d", PodOn("d", "n1"));
  EXPECT_TRUE(violations.empty()) << "four of four cores";
  StoreTold("pods/default/e", PodOn("e", "n1", "1m"));
  EXPECT_NE(Only().find("default/e came to node n1 of member-1, which holds 4001 mCPU"), std::string::npos);
  StoreTold("pods/default/e", PodOn("e", "n1", "1m"));
  EXPECT_TRUE(violations.empty()) << "told once";
}

TEST_F(BalancerCheckerTest, RoomIsFreeOnceAPodHasEnded) {
  RoomChecker checker(&book, &limits);
  Attach(checker);
  Json ended = PodOn("a", "n1");
  base::Ensure(ended, {"status", "phase"}) = "Succeeded";
  StoreTold("pods/default/a", ended);
  StoreTold("pods/default/d", PodOn("d", "n1", "2"));
  EXPECT_TRUE(violations.empty()) << violations.front();
}

TEST_F(BalancerCheckerTest, ThrottlesCountMovementsInASlidingWindow) {
  ThrottlesChecker checker(&book, &limits);
  Attach(checker);
  Evict("c");
  EXPECT_TRUE(violations.empty()) << "no plan names it";
  Move("p1", "a", "n1", "n2");
  fleet.time += 30s;
  Move("p2", "b", "n1", "n2");
  EXPECT_TRUE(violations.empty());
  fleet.time += 29s;
  Add(Pod("c"));
  Move("p3", "c", "n1", "n2");
  EXPECT_NE(Only().find("3 movements within 1m0s, the policy allows 2"), std::string::npos);
  fleet.time += 1min;
  Add(Pod("a"));
  Evict("a");
  EXPECT_TRUE(violations.empty());
}

TEST_F(BalancerCheckerTest, NoWayBackWithoutAReason) {
  NoWayBackChecker checker(&book, &limits);
  Attach(checker);
  Move("p1", "a", "n1", "n2");
  Add(PodOn("x", "n2"));
  fleet.time += 9min;
  Move("p2", "x", "n2", "n1");
  EXPECT_NE(Only().find("to node n1, 9m0s after one of the same owner was moved away from there"), std::string::npos);
}

TEST_F(BalancerCheckerTest, AWayBackIsAllowedLaterOrWithAnotherLoad) {
  NoWayBackChecker checker(&book, &limits);
  Attach(checker);
  Move("p1", "a", "n1", "n2");
  Add(PodOn("x", "n2"));
  fleet.time += 10min;
  Move("p2", "x", "n2", "n1");
  EXPECT_TRUE(violations.empty()) << "ten minutes are over";
  StoreTold("deployments/default/other", JsonObject{{"metadata", JsonObject{{"generation", 2}}}});
  Add(PodOn("y", "n1"));
  Move("p3", "y", "n1", "n2");
  EXPECT_TRUE(violations.empty()) << "a Deployment has changed";
  Node("n3");
  Add(PodOn("z", "n2"));
  Move("p4", "z", "n2", "n1");
  EXPECT_TRUE(violations.empty()) << "a node has come";
}

TEST_F(BalancerCheckerTest, EnergyMayNotRise) {
  EnergyChecker checker(&book, &limits);
  Attach(checker);
  Plan("p1", "a", "n1", "n2", 2, 2);
  EXPECT_TRUE(violations.empty());
  Plan("p2", "a", "n1", "n2", 2, 2.1);
  EXPECT_NE(Only().find("made plan p2 of member-1, which takes the energy from 2 to 2.1"), std::string::npos);
  Plan("p3", "a", "n1", "n2", 0, 0);
  EXPECT_EQ(violations.size(), 1u) << "a plan says its energy";
}

TEST_F(BalancerCheckerTest, NothingIsMovedToANodeThatGoes) {
  TogetherChecker checker(&book, &limits);
  Attach(checker);
  Move("p1", "a", "n1", "n2");
  EXPECT_TRUE(violations.empty());
  Node("n2", true);
  Move("p2", "b", "n1", "n2");
  EXPECT_NE(Only().find("to node n2, which is about to be removed"), std::string::npos);
}

TEST_F(BalancerCheckerTest, NoGroupGrowsForWhatWasOnlyMoved) {
  TogetherChecker checker(&book, &limits);
  Attach(checker);
  const auto grow = [&](int64_t target) {
    Write(kReplica, "nodegroups", "", "g", JsonObject{{"spec", JsonObject{{"maxSize", 9}, {"targetSize", target}}}});
  };
  const auto wait = [&](const std::string& name, bool of_owner) {
    Json pod = Pod(name);
    base::Erase(pod, {"spec", "nodeName"});
    if (!of_owner) base::Erase(pod, {"metadata", "ownerReferences"});
    StoreTold("pods/default/" + name, pod);
  };
  grow(1);
  Move("p1", "a", "n1", "n2");
  grow(2);
  EXPECT_TRUE(violations.empty()) << "nobody waits";
  wait("new", false);
  wait("replacement", true);
  grow(3);
  EXPECT_TRUE(violations.empty()) << "somebody else waits, too";
  Store("pods/default/new", std::nullopt);
  grow(4);
  EXPECT_NE(Only().find("made node group g of member-1 grow for pods that were only moved"), std::string::npos);
  Node("n2", false, false);
  grow(5);
  EXPECT_TRUE(violations.empty()) << "where it was moved to has failed since";
}

TEST_F(BalancerCheckerTest, AGroupMayGrowForAMovedPodWhosePlaceOthersTookUnseen) {
  TogetherChecker checker(&book, &limits);
  Attach(checker);
  int64_t target = 1;
  /// Whether it is a violation that a group grows for a pod that was moved to n2, on which another one has been for so long.
  const auto grows_wrongly = [&](base::Duration placed_before, base::Duration disturbed_before) {
    StoreTold("pods/default/job", PodOn("job", "n2", "4"));
    fleet.time += placed_before;
    fleet.condition.since = fleet.time - disturbed_before;
    Add(Pod("a"));
    Move(fmt::format("p{}", target), "a", "n1", "n2");
    const std::string name = fmt::format("replacement-{}", target);
    Json replacement = Pod(name);
    base::Erase(replacement, {"spec", "nodeName"});
    StoreTold("pods/default/" + name, replacement);
    Write(kReplica, "nodegroups", "", "g", JsonObject{{"spec", JsonObject{{"maxSize", 9}, {"targetSize", ++target}}}});
    for (const std::string& gone : {std::string("job"), name}) StoreTold("pods/default/" + gone, std::nullopt);
    fleet.time += 1h;
    const bool wrongly = !violations.empty();
    violations.clear();
    return wrongly;
  };
  Write(kReplica, "nodegroups", "", "g", JsonObject{{"spec", JsonObject{{"maxSize", 9}, {"targetSize", target}}}});
  EXPECT_FALSE(grows_wrongly(9s, 1h)) << "nobody can know that at once";
  EXPECT_TRUE(grows_wrongly(11s, 1h)) << "the mover should have known";
  EXPECT_FALSE(grows_wrongly(11s, 0s)) << "its view is late";
  EXPECT_TRUE(grows_wrongly(3min, 0s)) << "not so late";
}

TEST_F(BalancerCheckerTest, WhoComesAfterTheReplacementOfAMovedPodIsNone) {
  TogetherChecker checker(&book, &limits);
  Attach(checker);
  Move("p1", "a", "n1", "n2");
  StoreTold("pods/default/a", std::nullopt);
  Json replacement = Pod("replacement");
  base::Ensure(replacement, {"spec", "nodeName"}) = "n2";
  StoreTold("pods/default/replacement", replacement);
  StoreTold("pods/default/b", std::nullopt);
  fleet.time += 10s;
  Json added = Pod("added");
  base::Erase(added, {"spec", "nodeName"});
  StoreTold("pods/default/added", added);
  Write(kReplica, "nodegroups", "", "g", JsonObject{{"spec", JsonObject{{"maxSize", 9}, {"targetSize", 1}}}});
  EXPECT_TRUE(violations.empty()) << "its owner was made smaller and larger since; the moved pod has found its place";
}

}  // namespace
}  // namespace evenkeel::sim::balancer_checkers_test
