#include "controllers/balancer/execution.h"

#include "controllers/balancer/kinds.h"
#include "controllers/balancer/objects_testing.h"

namespace evenkeel::controllers::balancer::execution_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using testing::PodObject;
using testing::PolicyOf;
using namespace std::chrono_literals;

/// Two pods of a Deployment on n1, n2 and n3 empty.
class ExecutionTest : public ::testing::Test, protected testing::World {
 protected:
  ExecutionTest() {
    for (const char* name : {"n1", "n2", "n3"}) Node(name);
    Deployment("web", 2);
    Pod("web-a", "n1", "web");
    Pod("web-b", "n1", "web");
    plan = Plan({Move("web-a", "n2"), Move("web-b", "n3")});
  }
  /// One step; evictions are answered with `answer`.
  ExecutionStep Step(const base::Status& answer = {}) {
    const PastMoves moves(std::vector{plan});
    ExecutionStep step = Advance(plan, {objects, &policy, moves, now});
    plan = step.plan;
    for (const size_t i : step.evict) NoteEviction(plan, i, answer, now);
    // Through the object, as a successor would read it.
    Json object = kube::NewObject(BalancingPlans(), "", plan.name);
    base::Ensure(object, {"spec"}) = plan.Spec();
    base::Ensure(object, {"status"}) = plan.Status();
    const PlanObject read = PlanObject::Decode(object);
    EXPECT_TRUE(read.SameStatus(plan)) << base::ToText(object);
    EXPECT_EQ(read.moves, plan.moves);
    return step;
  }
  void Replace(const std::string& old, const std::string& name, const std::string& node) {
    mirror.Remove("Pod", "default/" + old);
    mirror.Upsert(PodObject(name, node, {.owner = "web-1", .created = now}));
  }
  PlanObject plan;
};

TEST_F(ExecutionTest, MovesOneAfterTheOther) {
  EXPECT_EQ(Step().evict, std::vector<size_t>{0});
  EXPECT_EQ(plan.state, PlanPhase::kExecuting);
  EXPECT_EQ(plan.status[0].state, MoveState::kEvicted);
  EXPECT_EQ(plan.status[0].reserve_until, now + kMovePatience);
  EXPECT_EQ(plan.status[1].state, MoveState::kWaiting);
  now += 2s;
  Replace("web-a", "web-c", "");
  EXPECT_TRUE(Step().evict.empty()) << "its successor waits for its node";
  EXPECT_EQ(plan.status[0].replacement, "default/web-c");
  Replace("web-a", "web-c", "n2");
  const ExecutionStep step = Step();
  EXPECT_EQ(plan.status[0].state, MoveState::kLanded);
  EXPECT_EQ(step.evict, std::vector<size_t>{1});
  ASSERT_EQ(step.news.size(), 1u);
  EXPECT_EQ(step.news[0].reason, "Moved");
  now += 2s;
  Replace("web-b", "web-d", "n2");
  Step();
  EXPECT_EQ(plan.status[1].state, MoveState::kElsewhere);
  EXPECT_EQ(plan.state, PlanPhase::kDone);
  EXPECT_EQ(plan.message, "1 landed, 1 elsewhere, 0 failed");
}

TEST_F(ExecutionTest, IsCarriedOutAsApprovedOrRefused) {
  plan = Plan({Move("web-a", "n2")}, false);
  EXPECT_TRUE(Step().evict.empty());
  EXPECT_EQ(plan.state, PlanPhase::kPending);
  plan.approved = true;
  const PlanObject approved = plan;
  Replace("web-a", "web-a", "n1");  // under the same name
  mirror.Upsert(PodObject("web-a", "n1", {.owner = "web-1", .uid = "another"}));
  EXPECT_TRUE(Step().evict.empty());
  EXPECT_EQ(plan.state, PlanPhase::kRefused);
  EXPECT_EQ(plan.message, "not what was planned any more: pod default/web-a: it is gone");
  plan = approved;
  Pod("web-a", "n1", "web", "600m");
  Step();
  EXPECT_EQ(plan.message, "not what was planned any more: its input has changed since it was made");
  plan = approved;
  Pod("web-a", "n1", "web");
  EXPECT_EQ(Step().evict, std::vector<size_t>{0});
  EXPECT_EQ(plan.state, PlanPhase::kExecuting);
}

TEST_F(ExecutionTest, ABudgetIsWaitedForButNotForEver) {
  const base::Status refused = base::Fail(base::Code::kTooManyRequests, "the budget allows none");
  EXPECT_EQ(Step(refused).evict.size(), 1u);
  EXPECT_EQ(plan.status[0].state, MoveState::kEvicting);
  EXPECT_EQ(plan.status[0].message, "the budget allows none");
  now += kMovePatience - 1s;
  EXPECT_EQ(Step(refused).evict.size(), 1u);
  now += 1s;
  const ExecutionStep step = Step(refused);
  EXPECT_EQ(plan.status[0].state, MoveState::kFailed);
  EXPECT_EQ(step.evict, std::vector<size_t>{1}) << "the next one has its turn";
}

TEST_F(ExecutionTest, WhatIsTriedAgainKeepsToTheRulesOfWhatBegins) {
  const base::Status refused = base::Fail(base::Code::kTooManyRequests, "the budget allows none");
  EXPECT_EQ(Step(refused).evict.size(), 1u);
  EXPECT_GT(plan.status[0].reserve_until, now);
  const auto held = [&] {
    now += 5s;
    EXPECT_TRUE(Step(refused).evict.empty());
    EXPECT_EQ(plan.status[0].state, MoveState::kEvicting);
    EXPECT_LE(plan.status[0].reserve_until, now) << "others need the room";
    return plan.status[0].message;
  };
  mirror.Upsert(PodObject("new", "", {.cpu = "100m", .owner = "web-1"}));
  EXPECT_EQ(held(), "pod default/new waits for a node");
  mirror.Upsert(PodObject("new", "n2", {.cpu = "3800m", .kind = "DaemonSet", .owner = "d"}));
  EXPECT_EQ(held(), "NodeResourcesFit on n2: Insufficient cpu");
  mirror.Remove("Pod", "default/new");
  Json going = testing::NodeObject("n2");
  base::Ensure(going, {"spec", "taints"}) = JsonArray{JsonObject{{"key", kToBeDeletedTaint}, {"effect", "NoSchedule"}}};
  mirror.Upsert(going);
  EXPECT_EQ(held(), "node n2: the autoscaler removes it");
  Node("n2");
  EXPECT_EQ(Step().evict, std::vector<size_t>{0});
  EXPECT_EQ(plan.status[0].reserve_until, now + kMovePatience);
}

TEST_F(ExecutionTest, ASuccessorOfTheOwnerGoesOn) {
  const PastMoves none;
  const ExecutionStep intended = Advance(plan, {objects, &policy, none, now});
  plan = intended.plan;  // written, and then the replica died: whether the pod was evicted is not known
  EXPECT_EQ(plan.status[0].state, MoveState::kEvicting);
  EXPECT_EQ(Step().evict, std::vector<size_t>{0}) << "the pod is there: evicted again";
  plan = intended.plan;
  Json going = PodObject("web-a", "n1", {.owner = "web-1"});
  base::Ensure(going, {"metadata", "deletionTimestamp"}) = base::FormatTime(now);
  mirror.Upsert(going);
  EXPECT_TRUE(Step().evict.empty());
  EXPECT_EQ(plan.status[0].state, MoveState::kEvicted) << "it had been";
}

TEST_F(ExecutionTest, NoSuccessorIsAwaitedOfAControllerThatIsGoneOrSmaller) {
  Step();
  now += 2s;
  mirror.Remove("Pod", "default/web-a");
  Deployment("web", 1);
  Step();
  EXPECT_EQ(plan.status[0].state, MoveState::kEvicted) << "caches may be behind";
  now += 2s;
  Step();
  EXPECT_EQ(plan.status[0].state, MoveState::kElsewhere);
  EXPECT_EQ(plan.status[0].message, "no successor is to come: its controller was deleted or scaled down");
}

TEST_F(ExecutionTest, ASuccessorThatFindsNoNodeIsGivenUp) {
  Step();
  now += 1s;
  Replace("web-a", "web-c", "");
  Step();
  now += kMovePatience;
  Step();
  EXPECT_EQ(plan.status[0].state, MoveState::kFailed);
  EXPECT_FALSE(plan.status[0].reserve_until.has_value());
  EXPECT_EQ(plan.status[1].state, MoveState::kWaiting);
  EXPECT_FALSE(plan.status[1].message.empty()) << "pods wait for nodes: nothing more begins";
}

TEST_F(ExecutionTest, AStatefulSetsPodComesBackUnderItsName) {
  mirror.Upsert(testing::StatefulSetObject("db", 2));
  mirror.Upsert(PodObject("db-0", "n1", {.kind = "StatefulSet", .owner = "db"}));
  plan = Plan({Move("db-0", "n2")});
  Step();
  now += 1s;
  mirror.Upsert(PodObject("db-1", "n3", {.kind = "StatefulSet", .owner = "db", .created = now}));
  Step();
  EXPECT_TRUE(plan.status[0].replacement.empty()) << "another pod of it is not the successor";
  mirror.Upsert(PodObject("db-0", "n2", {.kind = "StatefulSet", .owner = "db", .uid = "second", .created = now}));
  Step();
  EXPECT_EQ(plan.status[0].state, MoveState::kLanded);
  EXPECT_EQ(plan.status[0].replacement_uid, "second");
}

TEST_F(ExecutionTest, NothingBeginsWhileRoomIsShort) {
  mirror.Upsert(PodObject("new", "", {.cpu = "100", .owner = "web-1"}));
  EXPECT_TRUE(Step().evict.empty());
  EXPECT_EQ(plan.status[0].message, "pod default/new waits for a node");
  mirror.Remove("Pod", "default/new");
  Json status = kube::NewObject(kube::resources::ConfigMaps(), "kube-system", kAutoscalerStatus);
  base::Ensure(status, {"data", "status"}) = "clusterWide:\n  scaleUp:\n    status: InProgress\n";
  mirror.Upsert(status);
  EXPECT_TRUE(Step().evict.empty());
  EXPECT_EQ(plan.status[0].message, "the autoscaler adds nodes");
  mirror.Remove("ConfigMap", "kube-system/cluster-autoscaler-status");
  // Another node is emptied: its pods need what is free elsewhere.
  Json going = testing::NodeObject("n4");
  base::Ensure(going, {"spec", "taints"}) = JsonArray{JsonObject{{"key", kToBeDeletedTaint}, {"effect", "NoSchedule"}}};
  mirror.Upsert(going);
  mirror.Upsert(PodObject("drained", "n4", {.owner = "web-1"}));
  EXPECT_TRUE(Step().evict.empty());
  EXPECT_EQ(plan.status[0].message, "the autoscaler removes node n4, and its pods need room");
  mirror.Upsert(PodObject("drained", "n4", {.kind = "DaemonSet", .owner = "d"}));
  EXPECT_EQ(Step().evict.size(), 1u);
}

TEST_F(ExecutionTest, AMoveNeedsRoomOnItsTargetAtThatTime) {
  mirror.Upsert(PodObject("big", "n2", {.cpu = "3800m", .kind = "DaemonSet", .owner = "d"}));
  EXPECT_TRUE(Step().evict.empty());
  EXPECT_EQ(plan.status[0].message, "NodeResourcesFit on n2: Insufficient cpu");
  now += kMovePatience;
  EXPECT_EQ(Step().evict, std::vector<size_t>{1});
  EXPECT_EQ(plan.status[0].state, MoveState::kFailed);
}

TEST_F(ExecutionTest, ATargetThatTheAutoscalerMarksGetsNothing) {
  Step();
  now += 1s;
  Replace("web-a", "web-c", "n2");
  Json node = testing::NodeObject("n3");
  base::Ensure(node, {"spec", "taints"}) =
      JsonArray{JsonObject{{"key", kDeletionCandidateTaint}, {"effect", "PreferNoSchedule"}}};
  mirror.Upsert(node);
  EXPECT_TRUE(Step().evict.empty());
  EXPECT_EQ(plan.status[1].state, MoveState::kFailed);
  EXPECT_EQ(plan.status[1].message, "node n3: the autoscaler may remove it");
  EXPECT_EQ(plan.state, PlanPhase::kDone);
}

TEST_F(ExecutionTest, ThrottlesHoldWhateverThePlanSays) {
  policy = PolicyOf(R"({"throttles": {"movements": 1, "window": "3m", "inFlight": 2}})");
  EXPECT_EQ(Step().evict, std::vector<size_t>{0});
  EXPECT_EQ(plan.status[1].message, "1 movements were made in the last 3m0s");
  now += 1s;
  Replace("web-a", "web-c", "n2");
  EXPECT_TRUE(Step().evict.empty());
  now += 3min;
  EXPECT_EQ(Step().evict, std::vector<size_t>{1});
}

TEST_F(ExecutionTest, SeveralAtATimeButNotToOneNode) {
  policy = PolicyOf(R"({"throttles": {"inFlight": 2}})");
  EXPECT_EQ(Step().evict, (std::vector<size_t>{0, 1}));
  plan = Plan({Move("web-a", "n2"), Move("web-b", "n2")});
  EXPECT_EQ(Step().evict, std::vector<size_t>{0});
}

TEST_F(ExecutionTest, ThePolicyGone) {
  Step();
  now += 1s;
  Replace("web-a", "web-c", "n2");
  const PastMoves none;
  plan = Advance(plan, {objects, nullptr, none, now}).plan;
  EXPECT_EQ(plan.status[0].state, MoveState::kLanded) << "what has begun is seen to its end";
  EXPECT_EQ(plan.status[1].state, MoveState::kFailed);
  plan = Plan({Move("web-b", "n3")}, false);
  plan = Advance(plan, {objects, nullptr, none, now}).plan;
  EXPECT_EQ(plan.state, PlanPhase::kRefused);
}

TEST_F(ExecutionTest, NoWayBackAlsoAcrossPlans) {
  Step();
  now += 1s;
  Replace("web-a", "web-c", "n2");
  Step();
  now += 1s;
  Replace("web-b", "web-d", "n3");
  Step();
  ASSERT_EQ(plan.state, PlanPhase::kDone);
  const PastMoves moves(std::vector{plan});
  now += 1min;
  const PlannedMove back = Move("web-c", "n1");
  EXPECT_EQ(moves.WhyNot(back.pod_uid, back.service, "n1", back.loads, now),
            "it was moved from n1 a short time ago, and its load is the same");
  EXPECT_EQ(moves.WhyNot("other", back.service, "n1", back.loads, now), "a pod like it was moved off n1 a short time ago");
  EXPECT_EQ(moves.WhyNot("other", back.service, "n2", back.loads, now), "");
  EXPECT_EQ(moves.WhyNot("other", "default/another", "n1", back.loads, now), "");
  std::map<std::string, int64_t> heavier = back.loads;
  heavier["cpu"] *= 2;
  EXPECT_EQ(moves.WhyNot(back.pod_uid, back.service, "n1", heavier, now), "");
  PlanObject second = Plan({back});
  ExecutionStep step = Advance(second, {objects, &policy, moves, now});
  EXPECT_EQ(step.plan.state, PlanPhase::kFailed);
  now += kNoWayBack;
  EXPECT_EQ(moves.WhyNot(back.pod_uid, back.service, "n1", back.loads, now), "");
}

}  // namespace
}  // namespace evenkeel::controllers::balancer::execution_test
