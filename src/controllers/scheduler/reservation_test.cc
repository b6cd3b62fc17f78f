// What reservations do, on a whole member: plans are written as the balancer writes them, pods come and go.
#include "controllers/scheduler/member_testing.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::controllers::scheduler::testing::reservation_test {
namespace {

/// n1 has the pod "old" (1 core of ReplicaSet "rs"); n2 is where a plan wants it: 1 core is free there. n3 is full, until a
/// test makes room.
class ReservationTest : public MemberWorld {
 protected:
  ReservationTest() {
    Define();
    for (const auto& [name, cpu] : {std::pair{"n1", "1"}, {"n2", "4"}, {"n3", "4"}}) Node(name, cpu);
    Pod("rs", "old", "1", "n1");
    Pod("others", "filler-2", "3", "n2");
    Pod("others", "filler-3", "4", "n3");
    Cordon("n1");
  }
  void Cordon(const std::string& name) {
    Json node = api->objects["nodes"].at(name);
    base::Ensure(node, {"spec", "unschedulable"}) = true;
    Put(node, kube::resources::Nodes());
  }
  void Stranger(const std::string& name, const std::string& cpu, int priority = 0) {
    Json pod = PodOf("strangers", name, cpu);
    base::Ensure(pod, {"spec", "priority"}) = priority;
    Put(pod);
  }
  /// Evicts "old" as a plan says.
  void Evict() {
    Plan({{"old", "n1", "n2"}});
    Run(100ms);
    Remove("old");
    Plan({{"old", "n1", "n2", "Evicted"}});
    Run(100ms);
  }
};

TEST_F(ReservationTest, TheSuccessorLandsWhereThePlanSaid) {
  Node("n4", "64");
  Own();
  Evict();
  Pod("rs", "new", "1");
  Run();
  EXPECT_EQ(NodeOf("new"), "n2") << "n4 is less allocated";
  Pod("rs", "more", "1");
  Run();
  EXPECT_EQ(NodeOf("more"), "n4") << "the reservation is used up";
}

TEST_F(ReservationTest, TheSuccessorGetsTheDevicesThatWereKept) {
  const auto kind = [](const char* plural) -> const kube::Resource& {
    return *kube::FindBuiltIn("resource.k8s.io", "v1", plural);
  };
  const auto claiming = [&](const std::string& name, const std::string& node) {
    PodMaker plain(name);
    plain.json = PodOf("rs", name, "1", node);
    const Json pod = scheduling::testing::WithOwnClaim(plain, name).json;
    const std::string uid(kube::UidOf(pod));
    scheduling::testing::ClaimMaker claim(name);
    claim.Of(uid);
    if (!node.empty()) claim.On(node, {"gpu-0"}, {uid});
    Put(claim.json, kind("resourceclaims"));
    Put(pod);
  };
  Put(scheduling::testing::DeviceClassOf("gpu"), kind("deviceclasses"));
  for (const char* node : {"n1", "n2"}) Put(scheduling::testing::SliceMaker(node).Devices(1).json, kind("resourceslices"));
  Remove("old");
  claiming("old", "n1");
  Own();
  Evict();
  claiming("new", "");
  Run();
  EXPECT_EQ(NodeOf("new"), "n2");
  const JsonArray& results =
      base::FindArray(api->objects["resourceclaims"].at("default/new"), {"status", "allocation", "devices", "results"});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(base::FindString(results[0], {"pool"}), "n2");
}

TEST_F(ReservationTest, NobodyElseTakesTheRoom) {
  Own();
  Plan({{"old", "n1", "n2"}});
  Run(100ms);
  Stranger("stranger", "200m");
  Run();
  EXPECT_EQ(NodeOf("stranger"), "");
  EXPECT_TRUE(Why("stranger").contains("2 Insufficient cpu")) << Why("stranger");
  Remove("old");
  Run();
  EXPECT_EQ(NodeOf("stranger"), "");
  Pod("rs", "new", "1");
  Run();
  EXPECT_EQ(NodeOf("new"), "n2");
  EXPECT_EQ(NodeOf("stranger"), "");
}

TEST_F(ReservationTest, OnlyTheMoreImportantMay) {
  Own();
  Plan({{"old", "n1", "n2"}});
  Run(100ms);
  Stranger("equal", "500m", 0);
  Stranger("greater", "500m", 1);
  Run();
  EXPECT_EQ(NodeOf("equal"), "");
  EXPECT_EQ(NodeOf("greater"), "n2");
  Remove("old");
  Remove("filler-3");
  Pod("rs", "new", "1");
  Run();
  EXPECT_EQ(NodeOf("new"), "n3") << "there is not enough room any more where it was to go";
}

TEST_F(ReservationTest, RunsOut) {
  Own();
  Plan({{"old", "n1", "n2", "Evicted", "", 60s}});
  Stranger("stranger", "1");
  Run(50s);
  EXPECT_EQ(NodeOf("stranger"), "");
  Run(25s);
  EXPECT_EQ(NodeOf("stranger"), "n2");
  Plan({{"old", "n1", "n2", "Evicted", "", -1s}});
  Remove("stranger");
  Stranger("next", "1");
  Run();
  EXPECT_EQ(NodeOf("next"), "n2") << "one that has run out does not come back";
}

TEST_F(ReservationTest, AFilterCanForbidTheNode) {
  Remove("filler-3");
  Own();
  Evict();
  Cordon("n2");
  Pod("rs", "new", "1");
  Run();
  EXPECT_EQ(NodeOf("new"), "n3");
  Json node = api->objects["nodes"].at("n2");
  base::Ensure(node, {"spec", "unschedulable"}) = false;
  Put(node, kube::resources::Nodes());
  Stranger("stranger", "1");
  Pod("others", "filler-3", "3", "n3");
  Run();
  EXPECT_EQ(NodeOf("stranger"), "n2") << "nobody comes for that room any more";
}

TEST_F(ReservationTest, TheRoomIsGivenUpWithThePlan) {
  Own();
  Plan({{"old", "n1", "n2"}});
  Stranger("stranger", "1");
  Run();
  EXPECT_EQ(NodeOf("stranger"), "");
  Plan({{"old", "n1", "n2", "Failed"}});
  Run(12s);
  EXPECT_EQ(NodeOf("stranger"), "n2");
}

TEST_F(ReservationTest, AnUndefinedKindHasNoPlans) {
  Plan({{"old", "n1", "n2"}});
  api->Remove(kube::resources::CustomResourceDefinitions(), scheduling::kPlanDefinition);
  Own();
  Run();
  Define();
  Run();
  Stranger("stranger", "1");
  Run();
  EXPECT_EQ(NodeOf("stranger"), "") << "the kind is known now, and its plan with it";
  api->Remove(kube::resources::CustomResourceDefinitions(), scheduling::kPlanDefinition);
  Run(12s);
  EXPECT_EQ(NodeOf("stranger"), "n2");
}

TEST_F(ReservationTest, ARestartedSchedulerKeepsTheRoomForTheSuccessor) {
  Own();
  Evict();
  Lose();
  Stranger("a-stranger", "1");
  Pod("rs", "new", "1");
  Own();
  Run();
  EXPECT_EQ(NodeOf("new"), "n2");
  EXPECT_EQ(NodeOf("a-stranger"), "");
}

TEST_F(ReservationTest, ARestartedSchedulerStillKnowsTheSizeOfAPodThatIsThere) {
  Own();
  Plan({{"old", "n1", "n2"}});
  Lose();
  Stranger("stranger", "1");
  Own();
  Run();
  EXPECT_EQ(NodeOf("stranger"), "");
  Remove("old");
  Pod("rs", "new", "1");
  Run();
  EXPECT_EQ(NodeOf("new"), "n2");
}

TEST_F(ReservationTest, AfterALandingThatThePlanHasNotHeardOfNothingIsKept) {
  Node("n2", "5");
  Own();
  Evict();
  Pod("rs", "new", "1");
  Run();
  ASSERT_EQ(NodeOf("new"), "n2");
  Lose();
  Plan({{"old", "n1", "n2", "Evicted", "new"}});
  Own();
  Stranger("stranger", "1");
  Run();
  EXPECT_EQ(NodeOf("stranger"), "n2");
}

TEST_F(ReservationTest, OfAStatefulSetOnlyTheSameName) {
  Pod("sts", "db-0", "1", "n1");
  Own();
  Plan({{"db-0", "n1", "n2"}}, "Executing", "sts");
  Run(100ms);
  Pod("sts", "db-1", "1");
  Run();
  EXPECT_EQ(NodeOf("db-1"), "");
  Remove("db-0");
  Pod("sts", "db-0", "1");
  Run();
  EXPECT_EQ(NodeOf("db-0"), "n2");
  EXPECT_EQ(NodeOf("db-1"), "");
  // A new owner finds the same name on another node than the evicted pod's: that is the successor.
  Remove("filler-2");
  Pod("others", "filler-2", "2", "n2");
  Own();
  Run(12s);
  EXPECT_EQ(NodeOf("db-1"), "n2");
}

TEST_F(ReservationTest, TheSuccessorWaitsForTheRoomThatItWasPromised) {
  Pod("others", "leaving", "1", "n2");
  Own();
  Evict();
  Pod("rs", "new", "1");
  Stranger("stranger", "1");
  Run();
  EXPECT_EQ(NodeOf("new"), "");
  EXPECT_TRUE(Why("new").contains("Insufficient cpu")) << Why("new");
  Remove("leaving");
  Run(12s);
  EXPECT_EQ(NodeOf("new"), "n2");
  EXPECT_EQ(NodeOf("stranger"), "");
}

TEST_F(ReservationTest, ABindingThatFailsLeavesTheRoomKept) {
  Own();
  Evict();
  connection->binding_errors.assign(3, base::Error(base::Code::kUnavailable, "connection refused"));
  Pod("rs", "new", "1");
  Stranger("stranger", "1");
  Run(20s);
  EXPECT_EQ(NodeOf("new"), "n2");
  EXPECT_EQ(NodeOf("stranger"), "");
  EXPECT_LT(connection->fake.Count("post pods default/new binding"), 10) << "tried again without a pause";
}

TEST_F(ReservationTest, ASuccessorThatGoesAgainMakesRoomForTheNext) {
  Own();
  Evict();
  Pod("rs", "new", "1");
  Run();
  ASSERT_EQ(NodeOf("new"), "n2");
  Stranger("stranger", "1");
  Remove("new");
  Run();
  EXPECT_EQ(NodeOf("stranger"), "");
  Pod("rs", "newer", "1");
  Run();
  EXPECT_EQ(NodeOf("newer"), "n2");
}

TEST_F(ReservationTest, ATargetThatComesLaterIsKeptFromThenOn) {
  Cordon("n2");
  Own();
  Plan({{"old", "n1", "n9"}});
  Stranger("a-stranger", "2");
  Run();
  Node("n9", "2");
  Run(12s);
  EXPECT_EQ(NodeOf("a-stranger"), "");
  Stranger("small", "1");
  Run();
  EXPECT_EQ(NodeOf("small"), "n9") << "what is not kept is free";
}

TEST_F(ReservationTest, ThePlanCanNameTheSuccessor) {
  Own();
  Evict();
  Put(PodOf("rs", "named", "100"));
  Plan({{"old", "n1", "n2", "Evicted", "named"}});
  Run(100ms);
  Pod("rs", "new", "1");
  Run(12s);
  EXPECT_EQ(NodeOf("new"), "") << "the plan awaits another one";
  Remove("named");
  Plan({{"old", "n1", "n2", "Evicted", "named"}});
  Run(12s);
  EXPECT_EQ(NodeOf("new"), "n2") << "that one is gone";
}

TEST_F(ReservationTest, SeveralOfOneControllerShareTheirTargets) {
  Node("n4", "64");
  Node("n5", "1");
  Pod("rs", "old-2", "1", "n1");
  Own();
  Plan({{"old", "n1", "n2"}, {"old-2", "n1", "n5"}});
  Run(100ms);
  Cordon("n2");
  Remove("old");
  Remove("old-2");
  Pod("rs", "new", "1");
  Pod("rs", "new-2", "1");
  Run();
  EXPECT_EQ(NodeOf("new"), "n5") << "the one of the two targets that takes it";
  EXPECT_EQ(NodeOf("new-2"), "n4");
}

TEST_F(ReservationTest, OneThatAnotherSchedulerBoundIsUsedUp) {
  Node("n4", "64");
  Own();
  Evict();
  Json theirs = PodOf("rs", "new", "1");
  base::Ensure(theirs, {"spec", "schedulerName"}) = "default-scheduler";
  Put(theirs);
  Run();
  base::Ensure(theirs, {"spec", "nodeName"}) = "n4";
  Put(theirs);
  Run();
  Node("n4", "1");
  Stranger("stranger", "1");
  Run();
  EXPECT_EQ(NodeOf("stranger"), "n2");
}

}  // namespace
}  // namespace evenkeel::controllers::scheduler::testing::reservation_test
