#include "sim/checkers/autoscaler_checkers.h"

#include "sim/checkers/member_checker_testing.h"

namespace evenkeel::sim::autoscaler_checkers_test {
namespace {

using namespace std::chrono_literals;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using testing::kReplica;

/// With a node, and a group that it belongs to.
class AutoscalerCheckerTest : public testing::MemberCheckerTest {
 protected:
  AutoscalerCheckerTest() {
    options.scale_down_unneeded_time = 1min;
    Store("nodes/n1", JsonObject{{"spec", JsonObject{{"providerID", "embedded://g/n1"}}}});
    Group(1, {}, "system:member-1");
    fleet.time += 1h;
  }

  void Group(int64_t target, const std::vector<std::string>& deleting, const std::string& user = kReplica, int64_t max = 3) {
    Json object = JsonObject{};
    base::Ensure(object, {"spec"}) = JsonObject{{"maxSize", max}, {"targetSize", target}};
    base::Ensure(object, {"spec", "deleting"}) = JsonArray(deleting.begin(), deleting.end());
    base::Ensure(object, {"spec", "template", "status", "allocatable"}) = JsonObject{{"cpu", "4"}, {"memory", "16Gi"}};
    Write(user, "nodegroups", "", "g", object);
  }
  /// The replica has n1 deleted.
  void RemoveNode() { Group(0, {"embedded://g/n1"}); }

  controllers::autoscaler::Options options;
};

TEST_F(AutoscalerCheckerTest, UndrainableFindsEachKindOfPodThatIsInTheWay) {
  UndrainableChecker checker(&book, &options);
  Attach(checker);
  struct Case {
    std::string why;
    std::function<Json()> pod;
  };
  const std::vector<Case> cases = {
      {"has no controller",
       [] {
         Json pod = Pod("p");
         base::Erase(pod, {"metadata", "ownerReferences"});
         return pod;
       }},
      {"local storage",
       [] {
         Json pod = Pod("p");
         base::Ensure(pod, {"spec", "volumes"}) = JsonArray{JsonObject{{"name", "v"}, {"emptyDir", JsonObject{}}}};
         return pod;
       }},
      {"not safe to evict",
       [] {
         Json pod = Pod("p");
         base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) = "false";
         return pod;
       }},
      {"kube-system", [] { return Pod("p", "kube-system"); }},
  };
  for (const Case& one : cases) {
    Add(one.pod());
    RemoveNode();
    EXPECT_NE(Only().find(one.why), std::string::npos) << one.why;
    // It may be moved when it says so.
    Json safe = one.pod();
    base::Ensure(safe, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) = "true";
    Group(1, {});
    Add(safe);
    RemoveNode();
    EXPECT_TRUE(violations.empty()) << one.why;
    Group(1, {});
    Store("pods/" + std::string(base::FindString(safe, {"metadata", "namespace"})) + "/p", std::nullopt);
  }
}

TEST_F(AutoscalerCheckerTest, UndrainableAllowsWhatIsNoHindrance) {
  UndrainableChecker checker(&book, &options);
  Attach(checker);
  Add(Pod("ordinary"));
  Json ended = Pod("ended");
  base::Erase(ended, {"metadata", "ownerReferences"});
  base::Ensure(ended, {"status", "phase"}) = "Succeeded";
  Add(ended);
  Json elsewhere = Pod("elsewhere");
  base::Erase(elsewhere, {"metadata", "ownerReferences"});
  base::Ensure(elsewhere, {"spec", "nodeName"}) = "n2";
  Add(elsewhere);
  Json system = Pod("system", "kube-system");
  Add(system);
  Budget(0, "kube-system");
  RemoveNode();
  EXPECT_TRUE(violations.empty()) << violations.front();
  // Who is no replica may do as he likes, and what was to be deleted before is not told again.
  base::Erase(elsewhere, {"spec", "nodeName"});
  base::Ensure(elsewhere, {"spec", "nodeName"}) = "n1";
  Add(elsewhere);
  RemoveNode();
  Group(1, {});
  Group(0, {"embedded://g/n1"}, "system:member-1");
  EXPECT_TRUE(violations.empty()) << violations.front();
}

TEST_F(AutoscalerCheckerTest, BudgetsFindEvictionsAndNodesThatTakeTooMany) {
  BudgetsChecker checker(&book, &options);
  Attach(checker);
  Budget(2);
  for (const char* name : {"a", "b", "c"}) Add(Pod(name));
  const auto evict = [&](const std::string& name, const std::string& verb, const std::string& subresource) {
    Write(kReplica, "pods", "default", name, std::nullopt, verb, subresource);
  };
  evict("a", "create", "eviction");
  EXPECT_TRUE(violations.empty()) << "two are left";
  evict("b", "create", "eviction");
  EXPECT_NE(Only().find("budget default/b asks for 2 ready pods and 1 are left"), std::string::npos);
  Add(Pod("b"));
  evict("b", "delete", "");
  EXPECT_NE(Only().find("asks for 2"), std::string::npos) << "also without the eviction API";
  Add(Pod("b"));
  Write("system:member-1", "pods", "default", "b", std::nullopt, "delete");
  EXPECT_TRUE(violations.empty()) << "others may";
  RemoveNode();
  EXPECT_NE(Only().find("removed node n1 of member-1 with pod c"), std::string::npos);
}

TEST_F(AutoscalerCheckerTest, BudgetsDoNotCountWhatWasNotReady) {
  BudgetsChecker checker(&book, &options);
  Attach(checker);
  Budget(1);
  Add(Pod("a"));
  Json unready = Pod("unready");
  base::Erase(unready, {"status", "conditions"});
  Add(unready);
  Write(kReplica, "pods", "default", "unready", std::nullopt, "create", "eviction");
  EXPECT_TRUE(violations.empty());
  Add(unready);
  Write(kReplica, "pods", "default", "a", std::nullopt, "create", "eviction");
  EXPECT_NE(Only().find("0 are left"), std::string::npos);
}

TEST_F(AutoscalerCheckerTest, LimitsAreThoseOfTheGroupAndOfTheCluster) {
  LimitsChecker checker(&book, &options);
  Attach(checker);
  options.max_nodes_total = 2;
  Group(2, {});
  EXPECT_TRUE(violations.empty());
  Group(3, {});
  EXPECT_NE(Only().find("3 nodes, --max-nodes-total is 2"), std::string::npos);
  Group(2, {});
  EXPECT_TRUE(violations.empty()) << "less is always allowed";
  options.max_nodes_total = 0;
  Group(4, {});
  EXPECT_NE(Only().find("its maximum is 3"), std::string::npos);
  Group(1, {});
  options.cores_total.max = 7;
  Group(2, {});
  EXPECT_NE(Only().find("8 cores, --cores-total ends at 7"), std::string::npos);
  Group(1, {});
  options.cores_total.max = 8;
  options.memory_total.max = 20;
  Group(2, {});
  EXPECT_NE(Only().find("32 GiB, --memory-total ends at 20"), std::string::npos);
}

TEST_F(AutoscalerCheckerTest, FlappingIsANodeThatGoesTooSoon) {
  FlappingChecker checker(&book, &options);
  Attach(checker);
  RemoveNode();
  EXPECT_TRUE(violations.empty()) << "it is an hour old";
  Store("nodes/n2", JsonObject{{"spec", JsonObject{{"providerID", "embedded://g/n2"}}}});
  fleet.time += 59s;
  Group(0, {"embedded://g/n2"});
  EXPECT_NE(Only().find("n2 of member-1 59s after it had come"), std::string::npos);
  // One that nobody expected any more may go at once.
  Json group = JsonObject{{"spec", JsonObject{{"maxSize", 3}, {"targetSize", 1}}}};
  base::Ensure(group, {"status", "instances"}) = JsonArray{JsonObject{{"id", "embedded://g/n3"}}};
  Write("system:member-1", "nodegroups", "", "g", group);
  fleet.time += options.max_node_provision_time;
  Store("nodes/n3", JsonObject{{"spec", JsonObject{{"providerID", "embedded://g/n3"}}}});
  Group(0, {"embedded://g/n3"});
  EXPECT_TRUE(violations.empty()) << violations.front();
}

TEST_F(AutoscalerCheckerTest, SchedulablePodsMustNotWaitForever) {
  SchedulableChecker checker(&book, &options);
  Attach(checker);
  Json waiting = Pod("waiting"), huge = Pod("huge", "default", "5");
  base::Erase(waiting, {"spec", "nodeName"});
  base::Erase(huge, {"spec", "nodeName"});
  Add(waiting);
  Add(huge);
  fleet.time += 10h;
  checker.OnSecond();
  EXPECT_TRUE(violations.empty()) << "there are faults";
  checker.OnHealed();
  fleet.time += checker.Bound();
  checker.OnSecond();
  EXPECT_TRUE(violations.empty());
  fleet.time += 1s;
  Group(3, {}, "system:member-1");
  checker.OnSecond();
  EXPECT_TRUE(violations.empty()) << "there cannot be more nodes";
  Group(2, {}, "system:member-1");
  checker.OnSecond();
  checker.OnSecond();
  EXPECT_NE(Only().find("pod default/waiting of member-1"), std::string::npos) << "once, and not the one that fits nowhere";
  base::Ensure(waiting, {"spec", "nodeName"}) = "n1";
  Add(waiting);
  checker.OnSecond();
  EXPECT_TRUE(violations.empty());
}

TEST_F(AutoscalerCheckerTest, SchedulableKeepsToTheTotals) {
  SchedulableChecker checker(&book, &options);
  Attach(checker);
  Json waiting = Pod("waiting");
  base::Erase(waiting, {"spec", "nodeName"});
  Add(waiting);
  checker.OnHealed();
  fleet.time += 10h;
  options.max_nodes_total = 1;
  checker.OnSecond();
  EXPECT_TRUE(violations.empty());
  options.max_nodes_total = 2;
  checker.OnSecond();
  EXPECT_EQ(violations.size(), 1u);
}

}  // namespace
}  // namespace evenkeel::sim::autoscaler_checkers_test
