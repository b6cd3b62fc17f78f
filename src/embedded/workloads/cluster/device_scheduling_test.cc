// Devices from slices to bound pods, and back: scheduler, claim controller and garbage collector together.
#include "embedded/workloads/cluster/cluster_testing.h"

namespace evenkeel::embedded::workloads::device_scheduling_test {
namespace {

class DeviceSchedulingTest : public ClusterTest {
 protected:
  void AddDevices(const std::string& node, int count, const std::string& more = "") {
    std::string devices;
    for (int i = 0; i < count; ++i)
      devices += std::string(i == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(i) + "\"" + more + "}";
    Create(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":")" + node +
           R"(-gpu"},"spec":{"driver":"gpu.example.com","nodeName":")" + node + R"(","pool":{"name":")" + node +
           R"(","generation":1,"resourceSliceCount":1},"devices":[)" + devices + "]}}");
  }
  void AddClass(const std::string& extended = "") {
    Create(R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{)" + extended +
           R"("selectors":[{"cel":{"expression":"device.driver == 'gpu.example.com'"}}]}})");
  }
  void AddTemplate(int count = 1) {
    Create(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"one","namespace":"default"},
        "spec":{"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu","count":)" +
           std::to_string(count) + "}}]}}}}");
  }
  void AddClaim(const std::string& name) {
    Create(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":")" + name +
           R"(","namespace":"default"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]}}})");
  }
  void MakePod(const std::string& name, const std::string& source) {
    Create(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
        R"(","namespace":"default"},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x","resources":{"claims":[{"name":"gpu"}]}}],
              "resourceClaims":[{"name":"gpu",)" +
        source + "}]}}");
  }
  void MakeExtendedPod(const std::string& name, int count) {
    Create(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
        R"(","namespace":"default"},"spec":{"containers":[{"name":"c","image":"x","resources":{"limits":{"example.com/gpu":")" +
        std::to_string(count) + R"("}}}]}})");
  }
  std::string NodeOf(const std::string& pod) { return std::string(FindString(Get("pods", pod), {"spec", "nodeName"})); }
  std::string Why(const std::string& pod) { return Condition("pods", pod, "PodScheduled", "message"); }
  /// DEVICE of each result of all claims, and how many pods have them reserved.
  std::string Allocated() {
    std::string text;
    for (const Json& claim : List("resourceclaims")) {
      for (const Json& result : FindArray(claim, {"status", "allocation", "devices", "results"})) {
        text += std::string(FindString(result, {"pool"})) + "/" + std::string(FindString(result, {"device"})) + ":" +
                std::to_string(FindArray(claim, {"status", "reservedFor"}).size()) + " ";
      }
    }
    return text;
  }
  void Finish(const std::string& pod) {
    client::PatchOptions options;
    options.subresource = "status";
    ASSERT_TRUE(admin->Patch(kube::resources::Pods(), "default", pod, client::PatchType::kMerge,
                             Parse(R"({"status":{"phase":"Succeeded"}})"), options));
  }
};

TEST_F(DeviceSchedulingTest, PodsGetDevicesOfTheirOwnAndGiveThemBack) {
  AddNode("n1");
  AddNode("n2");
  AddDevices("n2", 2);
  AddClass();
  AddTemplate();
  MakePod("a", R"("resourceClaimTemplateName":"one")");
  MakePod("b", R"("resourceClaimTemplateName":"one")");
  RunFor(5s);
  EXPECT_EQ(NodeOf("a"), "n2");
  EXPECT_EQ(NodeOf("b"), "n2");
  EXPECT_EQ(Allocated(), "n2/gpu-0:1 n2/gpu-1:1 ");
  for (const Json& event : List("events")) EXPECT_NE(FindString(event, {"reason"}), "FailedScheduling");
  const Json claim = List("resourceclaims")[0];
  EXPECT_EQ(base::ToText(FindArray(claim, {"metadata", "finalizers"})), R"(["resource.kubernetes.io/delete-protection"])");
  EXPECT_FALSE(FindString(claim, {"status", "allocation", "allocationTimestamp"}).empty());
  MakePod("c", R"("resourceClaimTemplateName":"one")");
  RunFor(5s);
  EXPECT_EQ(NodeOf("c"), "");
  EXPECT_NE(Why("c").find("cannot allocate all claims"), std::string::npos) << Why("c");
  Finish("a");
  RunFor(30s);
  EXPECT_EQ(NodeOf("c"), "n2");
  EXPECT_EQ(List("resourceclaims").size(), 2u);
  Delete("pods", "b");
  Delete("pods", "c");
  RunFor(60s);
  EXPECT_EQ(Names("resourceclaims"), std::vector<std::string>{});
}

TEST_F(DeviceSchedulingTest, AClaimIsSharedAndWaitedFor) {
  AddNode("n1");
  AddDevices("n1", 2);
  AddClass();
  MakePod("a", R"("resourceClaimName":"shared")");
  RunFor(3s);
  EXPECT_NE(Why("a").find("could not find claim \"default/shared\""), std::string::npos) << Why("a");
  AddClaim("shared");
  RunFor(10s);
  EXPECT_EQ(NodeOf("a"), "n1");
  MakePod("b", R"("resourceClaimName":"shared")");
  RunFor(5s);
  EXPECT_EQ(NodeOf("b"), "n1");
  EXPECT_EQ(Allocated(), "n1/gpu-0:2 ");
}

TEST_F(DeviceSchedulingTest, ExtendedResourcesAreDevices) {
  AddNode("n1");
  AddDevices("n1", 2);
  AddClass(R"("extendedResourceName":"example.com/gpu",)");
  MakeExtendedPod("a", 2);
  MakeExtendedPod("b", 1);
  RunFor(5s);
  EXPECT_EQ(NodeOf("a"), "n1");
  EXPECT_EQ(NodeOf("b"), "");
  EXPECT_EQ(Allocated(), "n1/gpu-0:1 n1/gpu-1:1 ");
  const Json pod = Get("pods", "a");
  const std::string name(FindString(pod, {"status", "extendedResourceClaimStatus", "resourceClaimName"}));
  EXPECT_TRUE(name.starts_with("a-extended-resources-")) << name;
  EXPECT_EQ(base::ToText(FindArray(pod, {"status", "extendedResourceClaimStatus", "requestMappings"})),
            R"([{"containerName":"c","resourceName":"example.com/gpu","requestName":"container-0-request-0"}])");
  const Json claim = Get("resourceclaims", name);
  EXPECT_EQ(FindString(claim, {"metadata", "annotations", "resource.kubernetes.io/extended-resource-claim"}), "true");
  Delete("pods", "a");
  RunFor(60s);
  EXPECT_EQ(NodeOf("b"), "n1");
  EXPECT_EQ(Allocated(), "n1/gpu-0:1 ");
}

TEST_F(DeviceSchedulingTest, AnAllocationThatKeepsAPodFromEveryNodeIsGivenUp) {
  AddNode("n1", "1");
  AddNode("n2", "4");
  AddDevices("n1", 1);
  AddDevices("n2", 1);
  AddClass();
  AddClaim("shared");
  // The small node is full.
  Create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"full","namespace":"default"},"spec":{"nodeName":"n1",
      "containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"1"}}}]}})");
  RunFor(2s);
  client::PatchOptions options;
  options.subresource = "status";
  ASSERT_TRUE(admin->Patch(Kind("resourceclaims"), "default", "shared", client::PatchType::kMerge,
                           Parse(R"({"status":{"allocation":{"devices":{"results":[{"request":"gpu","driver":"gpu.example.com",
                               "pool":"n1","device":"gpu-0"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[
                               {"key":"metadata.name","operator":"In","values":["n1"]}]}]}}}})"),
                           options));
  Create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{
      "containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"2"}}}],"resourceClaims":[{"name":"gpu","resourceClaimName":"shared"}]}})");
  RunFor(30s);
  EXPECT_EQ(NodeOf("p"), "n2");
  EXPECT_EQ(Allocated(), "n2/gpu-0:1 ");
}

TEST_F(DeviceSchedulingTest, ADeletedNodeTakesItsSlicesAlong) {
  AddNode("n1");
  const std::string uid(FindString(Get("nodes", "n1"), {"metadata", "uid"}));
  AddDevices("n1", 1);
  Merge("resourceslices", "n1-gpu",
        R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":")" + uid + R"("}]}})");
  RunFor(2s);
  Delete("nodes", "n1");
  RunFor(60s);
  EXPECT_EQ(Names("resourceslices"), std::vector<std::string>{});
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::device_scheduling_test
