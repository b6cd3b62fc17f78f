#include "controllers/autoscaler/facts/drainability.h"

#include <gtest/gtest.h>

#include "controllers/autoscaler/scale_down/scale_down_testing.h"

namespace evenkeel::controllers::autoscaler::drainability_test {
namespace {

using namespace std::chrono_literals;
using testing::PodMaker;
using testing::World;

class DrainabilityTest : public ::testing::Test {
 protected:
  DrainabilityTest() { world_.Node("n", 1000, 1000); }
  PodFacts& Pod(std::string_view name = "p", std::string_view ns = "default", std::string_view labels = "") {
    PodMaker maker(name, "1m", "1");
    return world_.Pod(maker.On("n").Namespace(ns).Labels(labels));
  }
  void Pdb(std::string_view ns, std::string_view selector, int64_t allowed) {
    world_.budgets.push_back({std::string(ns), "pdb",
                              selector == "-" ? kube::LabelSelector::Nothing() : *kube::LabelSelector::Parse(selector),
                              allowed});
  }
  /// "move", "daemon", "skip", "wait", or why it is blocked; of the only pod.
  std::string Verdict() {
    ClusterView view = world_.View();
    view.owners = owners_;
    BudgetTracker budgets(view);
    const Drainability drainability(view, options_, budgets);
    EXPECT_EQ(world_.snapshot.PodsOn(world_.NodeOf("n")).size(), 1U);
    const DrainVerdict verdict = drainability.Judge(world_.snapshot.PodsOn(world_.NodeOf("n")).front());
    static const char* const kNames[] = {"move", "daemon", "skip", "wait"};
    if (verdict.outcome != DrainOutcome::kBlocked) return kNames[static_cast<size_t>(verdict.outcome)];
    return std::string(Name(verdict.reason));
  }

  World world_;
  Options options_;
  const std::unordered_map<std::string, Owner>* owners_ = nullptr;
};

TEST_F(DrainabilityTest, V27PodsWithoutAControllerKeepTheirNode) {
  Pod().owner_kind = "";
  EXPECT_EQ(Verdict(), "NotReplicated");
}

TEST_F(DrainabilityTest, V27PodsOfAReplicaSetMove) {
  Pod();
  EXPECT_EQ(Verdict(), "move");
}

TEST_F(DrainabilityTest, V27MirrorPodsAreSkipped) {
  PodFacts& pod = Pod("p", "kube-system");
  pod.mirror = true;
  pod.owner_kind = "";
  EXPECT_EQ(Verdict(), "skip");
}

TEST_F(DrainabilityTest, V27DaemonPodsGoWithTheirNode) {
  PodFacts& pod = Pod();
  pod.daemon = true;
  pod.owner_kind = "DaemonSet";
  EXPECT_EQ(Verdict(), "daemon");
  pod.owner_kind = "CustomDaemon";
  EXPECT_EQ(Verdict(), "daemon") << "by annotation";
}

TEST_F(DrainabilityTest, V27SystemPodsWithoutABudgetMoveOnlyWhenOld) {
  PodFacts& pod = Pod("p", "kube-system");
  pod.created = {};
  EXPECT_EQ(Verdict(), "UnmovableKubeSystemPod");
  pod.created = world_.now - 59min;
  EXPECT_EQ(Verdict(), "UnmovableKubeSystemPod");
  pod.created = world_.now - 61min;
  EXPECT_EQ(Verdict(), "move");
}

TEST_F(DrainabilityTest, V27LocalStorageKeepsTheNode) {
  Pod().local_storage = true;
  EXPECT_EQ(Verdict(), "LocalStorageRequested");
  options_.skip_nodes_with_local_storage = false;
  EXPECT_EQ(Verdict(), "move");
}

TEST_F(DrainabilityTest, V27ABudgetThatAllowsNothingKeepsTheNode) {
  Pod("p", "default", "app=a");
  Pdb("default", "app=a", 0);
  EXPECT_EQ(Verdict(), "NotEnoughPdb");
  world_.budgets[0].allowed = 1;
  EXPECT_EQ(Verdict(), "move");
}

TEST_F(DrainabilityTest, V27PodsThatShouldLongHaveEndedAreSkipped) {
  PodFacts& pod = Pod();
  pod.deleted = world_.now - 90s;
  EXPECT_EQ(Verdict(), "skip");
  pod.deleted = world_.now + 30s;
  EXPECT_EQ(Verdict(), "move");
  pod.deleted = world_.now - 60s;
  EXPECT_EQ(Verdict(), "move") << "exactly the grace time and 30 s";
  pod.grace_seconds = 0;
  EXPECT_EQ(Verdict(), "skip");
  pod.deleted = world_.now - 3min;
  pod.grace_seconds = 360;
  EXPECT_EQ(Verdict(), "move");
}

TEST_F(DrainabilityTest, V27EndedPodsMoveWhateverOwnsThem) {
  PodFacts& pod = Pod();
  pod.owner_kind = "";
  const auto verdict = [&](std::string_view policy, std::string_view phase) {
    pod.restart_policy = policy;
    pod.phase = phase;
    return Verdict();
  };
  EXPECT_EQ(verdict("OnFailure", "Succeeded"), "move");
  EXPECT_EQ(verdict("Never", "Failed"), "move");
  EXPECT_EQ(verdict("Always", "Failed"), "move");
  EXPECT_EQ(verdict("Always", "Succeeded"), "NotReplicated");
}

TEST_F(DrainabilityTest, V27SafeToEvictOverridesTheRulesAfterIt) {
  PodFacts& pod = Pod("p", "kube-system");
  pod.created = {};
  pod.owner_kind = "";
  pod.local_storage = true;
  pod.safe_to_evict = "true";
  Pdb("kube-system", "", 0);
  EXPECT_EQ(Verdict(), "move");
}

TEST_F(DrainabilityTest, V27ABudgetInKubeSystemMakesItsPodsMovable) {
  PodFacts& pod = Pod("p", "kube-system", "k8s-app=bar");
  pod.created = world_.now - 1min;
  Pdb("kube-system", "k8s-app=bar", 1);
  EXPECT_EQ(Verdict(), "move");
  world_.budgets[0].selector = *kube::LabelSelector::Parse("k8s-app=foo");
  EXPECT_EQ(Verdict(), "UnmovableKubeSystemPod");
  world_.budgets.clear();
  Pdb("default", "k8s-app=bar", 1);
  EXPECT_EQ(Verdict(), "UnmovableKubeSystemPod") << "a budget of another namespace";
}

TEST_F(DrainabilityTest, V27ABudgetWithoutASelectorMeansNoPod) {
  Pod("p", "default", "app=a");
  Pdb("default", "-", 0);
  EXPECT_EQ(Verdict(), "move");
}

TEST_F(DrainabilityTest, V27PodsThatWantToEndAreWaitedFor) {
  Pod().safe_to_evict = "on-completion";
  EXPECT_EQ(Verdict(), "wait");
}

TEST_F(DrainabilityTest, NotSafeToEvictKeepsTheNode) {
  Pod().safe_to_evict = "false";
  EXPECT_EQ(Verdict(), "NotSafeToEvictAnnotation");
}

TEST_F(DrainabilityTest, OwnersMustExistAndBeManyEnough) {
  std::unordered_map<std::string, Owner> owners;
  owners_ = &owners;
  PodFacts& pod = Pod();
  EXPECT_EQ(Verdict(), "ControllerNotFound");
  owners["rs-uid"] = {"ReplicaSet", "default", "rs", "rs-uid", 1};
  EXPECT_EQ(Verdict(), "move");
  options_.min_replica_count = 2;
  EXPECT_EQ(Verdict(), "MinReplicasReached");
  pod.owner_kind = "StatefulSet";
  EXPECT_EQ(Verdict(), "move") << "only ReplicaSets and ReplicationControllers are counted";
  pod.owner_kind = "Custom";
  EXPECT_EQ(Verdict(), "NotReplicated");
  options_.skip_nodes_with_custom_controller_pods = false;
  owners.clear();
  EXPECT_EQ(Verdict(), "move");
}

TEST_F(DrainabilityTest, OfSeveralPodsInTheWayTheFirstByKeyIsNamed) {
  for (const char* name : {"c", "b", "d"}) Pod(name).owner_kind = "";
  Pod("a");
  const ClusterView view = world_.View();
  BudgetTracker budgets(view);
  const Drainability drainability(view, options_, budgets);
  const PodsOfNode pods = drainability.Look(world_.NodeOf("n"));
  ASSERT_TRUE(pods.blocking.has_value());
  EXPECT_EQ(world_.snapshot.PodKey(pods.blocking->pod), "default/b");
  EXPECT_EQ(drainability.Explain(pods.blocking->pod, pods.blocking->reason),
            "pod default/b (NotReplicated): it has no controller, so nobody would make it again");
}

TEST_F(DrainabilityTest, ANodeIsEmptyWithPodsThatNeedNotMove) {
  Pod("ds").daemon = true;
  Pod("mirror").mirror = true;
  const ClusterView view = world_.View();
  BudgetTracker budgets(view);
  const Drainability drainability(view, options_, budgets);
  bool waits = true;
  EXPECT_TRUE(drainability.Empty(world_.NodeOf("n"), waits));
  EXPECT_FALSE(waits);
  Pod("batch").safe_to_evict = "on-completion";
  EXPECT_TRUE(drainability.Empty(world_.NodeOf("n"), waits));
  EXPECT_TRUE(waits);
  Pod("web");
  EXPECT_FALSE(drainability.Empty(world_.NodeOf("n"), waits));
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::drainability_test
