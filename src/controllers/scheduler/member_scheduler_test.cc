#include "controllers/scheduler/member_scheduler.h"

#include "controllers/scheduler/member_testing.h"
#include "scheduling/devices/devices_testing.h"

namespace evenkeel::controllers::scheduler::testing::member_scheduler_test {
namespace {

using MemberSchedulerTest = MemberWorld;

TEST_F(MemberSchedulerTest, BindsThePodsThatNameIt) {
  Node("n1", "2");
  Node("n2", "4");
  Own();
  Pod("rs", "a", "1");
  Put(PodMaker("theirs", "1").json);
  Put(PodMaker("other", "1").Spec("schedulerName", R"("default-scheduler")").json);
  Run();
  EXPECT_EQ(NodeOf("a"), "n2") << "the least allocated";
  EXPECT_EQ(NodeOf("theirs"), "");
  EXPECT_EQ(NodeOf("other"), "");
  EXPECT_EQ(Why("other"), "");
  EXPECT_EQ(Events("Scheduled"), std::vector<std::string>{"Successfully assigned default/a to n2"});
}

TEST_F(MemberSchedulerTest, PodsThatWereThereBeforeAreBoundToo) {
  Node("n1", "2");
  Pod("rs", "b", "1500m", "n1");
  Pod("rs", "a", "1");
  Own();
  Run();
  EXPECT_EQ(NodeOf("a"), "");
  EXPECT_EQ(Why("a"),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims "
            "found for incoming pod.");
  EXPECT_EQ(Events("FailedScheduling"), std::vector<std::string>{Why("a")});
  Remove("b");
  Run(12s);
  EXPECT_EQ(NodeOf("a"), "n1");
}

TEST_F(MemberSchedulerTest, WritesNothingOnceTheMemberIsNotItsOwn) {
  Node("n1", "2");
  Own();
  fence->Close();
  Pod("rs", "a", "1");
  Pod("rs", "big", "10");
  Run(1min);
  EXPECT_EQ(NodeOf("a"), "");
  EXPECT_EQ(Why("big"), "");
  Own();
  Run();
  EXPECT_EQ(NodeOf("a"), "n1");
  EXPECT_NE(Why("big"), "");
}

TEST_F(MemberSchedulerTest, DoesWithoutKindsThatTheApiDoesNotServe) {
  not_served = {"csistoragecapacities", "csidrivers", "customresourcedefinitions"};
  Node("n1", "2");
  Pod("rs", "a", "1");
  Own();
  Run();
  EXPECT_EQ(NodeOf("a"), "n1");
}

TEST_F(MemberSchedulerTest, DecidesNothingBeforeEverythingIsListed) {
  Node("n1", "2");
  Pod("rs", "a", "1");
  lists_that_fail = 8;
  Own();
  Run(100ms);
  EXPECT_EQ(NodeOf("a"), "");
  Run(10s);
  EXPECT_EQ(NodeOf("a"), "n1");
}

TEST_F(MemberSchedulerTest, ABindingThatFailsIsTriedAgain) {
  Node("n1", "2");
  Own();
  connection->binding_errors.assign(2, base::Error(base::Code::kUnavailable, "connection refused"));
  Pod("rs", "a", "1");
  Run(500ms);
  EXPECT_EQ(NodeOf("a"), "");
  Run(5s);
  EXPECT_EQ(NodeOf("a"), "n1");
  EXPECT_EQ(connection->fake.Count("post pods default/a binding"), 3);
}

TEST_F(MemberSchedulerTest, RoomOfABindingWithoutAnAnswerIsNobodyElses) {
  Node("n1", "1");
  Own();
  connection->binding_errors.assign(4, base::Error(base::Code::kTimeout, "no answer"));
  Pod("rs", "a", "1");
  Run(100ms);
  Node("n2", "100m");
  Pod("rs", "b", "1");
  Run(4s);
  EXPECT_EQ(connection->fake.Count("post pods default/b binding"), 0);
  // What was asked first takes effect, and the mirror is behind: asked again, the API says that it is bound.
  connection->binding_errors.assign(3, base::Error(base::Code::kConflict, "pod a is already assigned to node \"n1\""));
  Run(10s);
  EXPECT_EQ(connection->fake.Count("post pods default/b binding"), 0);
  Json bound = api->objects["pods"].at("default/a");
  base::Ensure(bound, {"spec", "nodeName"}) = "n1";
  Put(bound);
  Run(2min);
  EXPECT_EQ(NodeOf("b"), "");
  Remove("a");
  Run(20s);
  EXPECT_EQ(NodeOf("b"), "n1");
}

TEST_F(MemberSchedulerTest, ABindingThatNobodyHeardOfIsGivenUpInTheEnd) {
  Node("n1", "1");
  Own();
  connection->binding_errors.assign(1, base::Error(base::Code::kTimeout, "no answer"));
  Pod("rs", "a", "1");
  Run(100ms);
  // It is not sent again to a node that is closed to it.
  Json node = api->objects["nodes"].at("n1");
  base::Ensure(node, {"spec", "unschedulable"}) = true;
  Put(node, kube::resources::Nodes());
  Node("n2", "1");
  Run(50s);
  EXPECT_EQ(NodeOf("a"), "");
  EXPECT_EQ(connection->fake.Count("post pods default/a binding"), 1);
  Run(20s);
  EXPECT_EQ(NodeOf("a"), "n2");
}

TEST_F(MemberSchedulerTest, NamespacesLabelsReachTheFilters) {
  Node("n1", "2");
  Node("n2", "4");
  const kube::Resource& namespaces = kube::resources::Namespaces();
  Put({{"metadata", {{"name", "other"}, {"labels", {{"team", "a"}}}}}}, namespaces);
  Put(PodMaker("db", "100m").Namespace("other").Labels("app=db").On("n2").json);
  Own();
  const auto web = [](const char* name) {
    return PodMaker(name, "100m")
        .Spec("schedulerName", R"("evenkeel")")
        .Term("podAntiAffinity", "kubernetes.io/hostname", "app=db", R"({"namespaceSelector":{"matchLabels":{"team":"a"}}})")
        .json;
  };
  Put(web("web"));
  Run();
  EXPECT_EQ(NodeOf("web"), "n1");
  Put({{"metadata", {{"name", "other"}, {"labels", {{"team", "b"}}}}}}, namespaces);
  Run();
  Put(web("web-2"));
  Run();
  EXPECT_EQ(NodeOf("web-2"), "n2") << "the namespace's labels do not match any more";
}

TEST_F(MemberSchedulerTest, DevicesThatMayHaveBeenWrittenStayThePods) {
  const auto kind = [](const char* plural) -> const kube::Resource& {
    return *kube::FindBuiltIn("resource.k8s.io", "v1", plural);
  };
  Node("n1", "4");
  Put(scheduling::testing::DeviceClassOf("gpu"), kind("deviceclasses"));
  Put(scheduling::testing::SliceMaker("n1").Devices(1).json, kind("resourceslices"));
  Own();
  Run();
  connection->fake.FailNext("update", base::Error(base::Code::kTimeout, "no answer"), 1);
  for (const char* name : {"p", "q"}) {
    Put(scheduling::testing::ClaimMaker(name).json, kind("resourceclaims"));
    Json pod = PodOf("rs", name, "1");
    base::Ensure(pod, {"spec", "resourceClaims"}) = JsonArray{JsonObject{{"name", "c"}, {"resourceClaimName", name}}};
    Put(pod);
  }
  Run(30s);
  EXPECT_EQ(NodeOf("p"), "n1") << "it was tried again";
  EXPECT_EQ(NodeOf("q"), "") << "it would have had a device that p may have";
}

class LeftOverClaimTest : public MemberSchedulerTest, public ::testing::WithParamInterface<bool> {
 protected:
  static const kube::Resource& Kind(const char* plural) { return *kube::FindBuiltIn("resource.k8s.io", "v1", plural); }
  const std::map<std::string, Json>& Claims() { return api->objects["resourceclaims"]; }
};
/// Whether the pod's status names it.
INSTANTIATE_TEST_SUITE_P(Told, LeftOverClaimTest, ::testing::Bool());

TEST_P(LeftOverClaimTest, OfExtendedResourcesIsMadeAnew) {
  Node("n1", "2");
  Node("n2", "8");
  Put(scheduling::testing::DeviceClassOf("gpu", scheduling::testing::kGpuDriver, "example.com/gpu"), Kind("deviceclasses"));
  for (const char* node : {"n1", "n2"}) {
    Put(scheduling::testing::SliceMaker(node).Devices(1).json, Kind("resourceslices"));
  }
  Json pod = PodMaker("p", "1").Spec("schedulerName", R"("evenkeel")").Request("example.com/gpu", "1").json;
  base::Ensure(pod, {"metadata", "uid"}) = "p";
  if (GetParam()) base::Ensure(pod, {"status", "extendedResourceClaimStatus", "resourceClaimName"}) = "p-left";
  scheduling::testing::ClaimMaker left("p-left");
  left.Of("p").On("n1", {"gpu-0"}, {"p"});
  base::Ensure(left.json, {"metadata", "annotations", scheduling::kExtendedClaimAnnotation}) = "true";
  Put(left.json, Kind("resourceclaims"));
  Put(pod);
  Own();
  Run(30s);
  EXPECT_EQ(NodeOf("p"), "n2") << "it has more room";
  ASSERT_EQ(Claims().size(), 1U);
  const auto& [key, claim] = *Claims().begin();
  EXPECT_EQ("default/" + std::string(base::FindString(api->objects["pods"].at("default/p"),
                                                      {"status", "extendedResourceClaimStatus", "resourceClaimName"})),
            key);
  const JsonArray& results = base::FindArray(claim, {"status", "allocation", "devices", "results"});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(base::FindString(results[0], {"pool"}), "n2");
}

TEST_F(MemberSchedulerTest, ClaimsAreToldTheNodeAndWaitedFor) {
  Node("n1", "2");
  const auto& claims = *kube::FindBuiltIn("", "v1", "persistentvolumeclaims");
  Put({{"metadata", {{"name", "fast"}}}, {"provisioner", "disk.example.com"}, {"volumeBindingMode", "WaitForFirstConsumer"}},
      *kube::FindBuiltIn("storage.k8s.io", "v1", "storageclasses"));
  Put({{"metadata", {{"name", "data"}, {"namespace", "default"}}},
       {"spec", {{"storageClassName", "fast"}, {"accessModes", JsonArray{"ReadWriteOnce"}}}},
       {"status", {{"phase", "Pending"}}}},
      claims);
  Own();
  Json pod = PodOf("rs", "db", "1");
  base::Ensure(pod, {"spec", "volumes"}) =
      JsonArray{JsonObject{{"name", "d"}, {"persistentVolumeClaim", JsonObject{{"claimName", "data"}}}}};
  Put(pod);
  Run();
  Json claim = api->objects["persistentvolumeclaims"].at("default/data");
  EXPECT_EQ(base::FindString(claim, {"metadata", "annotations", kSelectedNode}), "n1");
  EXPECT_EQ(NodeOf("db"), "");
  Put({{"metadata", {{"name", "pv"}}},
       {"spec", {{"storageClassName", "fast"}, {"claimRef", {{"namespace", "default"}, {"name", "data"}}}}}},
      *kube::FindBuiltIn("", "v1", "persistentvolumes"));
  base::Ensure(claim, {"spec", "volumeName"}) = "pv";
  base::Ensure(claim, {"metadata", "annotations", "pv.kubernetes.io/bind-completed"}) = "yes";
  base::Ensure(claim, {"status", "phase"}) = "Bound";
  Put(claim, claims);
  Run();
  EXPECT_EQ(NodeOf("db"), "n1");
}

}  // namespace
}  // namespace evenkeel::controllers::scheduler::testing::member_scheduler_test
