// `plan scale` and `explain` for pods that claim devices.
#include <gtest/gtest.h>

#include "base/input/yaml.h"
#include "controllers/autoscaler/loop/plan_scale.h"

namespace evenkeel::controllers::autoscaler::plan_scale_devices_test {
namespace {

using base::FindString;
using base::Json;
using namespace std::chrono_literals;

constexpr const char* kClass = R"(
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: "device.driver == 'd'"}}]}}
---
)";

/// `devices`: how many a new node has; 0: nobody says.
std::string GroupText(const std::string& name, int devices) {
  std::string slices;
  for (int i = 0; i < devices; ++i) slices += (i == 0 ? "" : ", ") + ("{name: g" + std::to_string(i) + "}");
  if (!slices.empty()) slices = ", resourceSlices: [{driver: d, devices: [" + slices + "]}]";
  return "apiVersion: evenkeel.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: " + name +
         "}\nspec: {minSize: 0, maxSize: 10, template: {status: {allocatable: {cpu: \"4\", memory: 16Gi, pods: \"110\"}}" +
         slices + "}}\n---\n";
}

std::string NodeText(const std::string& name, const std::string& group) {
  return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name +
         ", creationTimestamp: \"2026-01-01T00:00:00Z\", labels: {evenkeel.dev/node-group: " + group +
         ", kubernetes.io/hostname: " + name + "}}\nspec: {providerID: \"x://" + name +
         "\"}\nstatus: {allocatable: {cpu: \"4\", memory: 16Gi, pods: \"110\"}, conditions: [{type: Ready, status: \"True\", "
         "lastTransitionTime: \"2026-01-01T00:00:00Z\"}]}\n---\n";
}

std::string SliceText(const std::string& node, int devices, const std::string& model = "a") {
  std::string list;
  for (int i = 0; i < devices; ++i) {
    list += (i == 0 ? "" : ", ") + ("{name: g" + std::to_string(i) + ", attributes: {model: {string: " + model + "}}}");
  }
  return "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: " + node +
         "-d}\nspec: {driver: d, nodeName: " + node + ", pool: {name: " + node +
         ", generation: 1, resourceSliceCount: 1}, devices: [" + list + "]}\n---\n";
}

/// `on`: "NODE/DEVICE" that it has; "": none. `pod`: whom it was made for; "": it has a name that pods may share.
std::string ClaimText(const std::string& name, const std::string& pod, const std::string& on = "",
                      const std::string& selector = "") {
  std::string text =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {namespace: default, name: " + name + ", uid: " + name;
  if (!pod.empty()) text += ", ownerReferences: [{kind: Pod, name: " + pod + ", uid: " + pod + ", controller: true}]";
  text += "}\nspec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu";
  if (!selector.empty()) text += ", selectors: [{cel: {expression: \"" + selector + "\"}}]";
  text += "}}]}}\n";
  if (on.empty()) return text + "---\n";
  const std::string node = on.substr(0, on.find('/'));
  return text + "status: {reservedFor: [{resource: pods, name: p, uid: " + (pod.empty() ? "p" : pod) +
         "}], allocation: {devices: {results: [{request: r, driver: d, pool: " + node +
         ", device: " + on.substr(node.size() + 1) +
         "}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [" + node +
         "]}]}]}}}\n---\n";
}

/// `claim`: "NAME", or "TEMPLATE>NAME" of one that was made for it, or is to be.
std::string PodText(const std::string& name, const std::string& claim, const std::string& node = "") {
  std::string text = "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: default, uid: " + name +
                     ", creationTimestamp: \"2026-01-01T00:00:00Z\", ownerReferences: [{kind: ReplicaSet, name: rs, uid: rs, "
                     "controller: true}]}\nspec: {" +
                     (node.empty() ? "" : "nodeName: " + node + ", ") +
                     "containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}], resourceClaims: [{name: c, ";
  const size_t made = claim.find('>');
  if (made == std::string::npos) return text + "resourceClaimName: " + claim + "}]}\n---\n";
  text += "resourceClaimTemplateName: " + claim.substr(0, made) + "}]}\n";
  if (made + 1 < claim.size()) {
    text += "status: {resourceClaimStatuses: [{name: c, resourceClaimName: " + claim.substr(made + 1) + "}]}\n";
  }
  return text + "---\n";
}

/// A pod with a claim of its own that was made for it.
std::string OwnPod(const std::string& name, const std::string& node = "", const std::string& on = "",
                   const std::string& selector = "") {
  return ClaimText(name + "-claim", name, on, selector) + PodText(name, "t>" + name + "-claim", node);
}

class PlanScaleDevicesTest : public ::testing::Test {
 protected:
  PlanScaleDevicesTest() {
    options_.scale_down_unneeded_time = 0s;
    options_.scale_down_delay_after_add = 0s;
  }
  ScaleInput Input(const std::string& objects, base::Duration after = 0s) {
    ScaleInput input;
    auto parsed = kube::ParseManifests(objects, "cluster.yaml");
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message());
    if (parsed) input.objects = std::move(*parsed);
    input.state = state_;
    input.options = options_;
    input.now = *base::ParseTime("2026-01-02T00:00:00Z") + after;
    return input;
  }
  /// One call; its state is handed on to the next.
  Json Plan(const std::string& objects, base::Duration after = 0s) {
    auto output = PlanScale(Input(objects, after));
    EXPECT_TRUE(output) << (output ? "" : output.error().message());
    if (!output) return Json();
    state_ = *base::ParseJson(base::ToText(output->state), "state");
    return std::move(output->result);
  }
  /// "gpus 0->3, ..."
  std::string Ups(const std::string& objects, base::Duration after = 0s) {
    std::string text;
    const Json plan = Plan(objects, after);
    for (const Json& up : plan.at("scaleUp").as_array()) {
      text += (text.empty() ? "" : ", ") + std::string(FindString(up, {"group"})) + " " + base::ToText(up.at("from")) + "->" +
              base::ToText(up.at("to"));
    }
    pending_ = base::ToText(plan.at("pending"));
    down_ = base::ToText(plan.at("scaleDown"));
    upcoming_ = base::ToText(plan.at("upcoming"));
    return text;
  }
  std::string WhyNode(const std::string& objects, const std::string& node) {
    const auto explained = ExplainNodeScale(Input(objects), node);
    EXPECT_TRUE(explained) << explained.error().message();
    return std::string(FindString(*explained, {"why"}));
  }

  Json state_;
  Options options_;
  std::string pending_, down_, upcoming_;
};

TEST_F(PlanScaleDevicesTest, GrowsFromZeroByWhatTheTemplateSaysOfDevices) {
  std::string objects = std::string(kClass) + GroupText("general", 0) + GroupText("gpus", 2);
  for (const char* pod : {"a", "b", "c", "d", "e"}) objects += OwnPod(pod);
  EXPECT_EQ(Ups(objects), "gpus 0->3");
  EXPECT_EQ(pending_, "[]");
}

TEST_F(PlanScaleDevicesTest, OfAReplicaSetAnyNumberOfPodsWithClaimsOfTheirOwnIsOneKind) {
  std::string objects = std::string(kClass) + GroupText("gpus", 8);
  for (int i = 0; i < 30; ++i) objects += OwnPod("p" + std::to_string(100 + i));
  EXPECT_EQ(Ups(objects), "gpus 0->8") << "four cores a node";
}

TEST_F(PlanScaleDevicesTest, PodsThatShareAClaimNeedOneNode) {
  std::string objects = std::string(kClass) + GroupText("gpus", 8) + ClaimText("shared", "");
  for (const char* pod : {"a", "b", "c"}) objects += PodText(pod, "shared");
  EXPECT_EQ(Ups(objects), "gpus 0->1");
  EXPECT_EQ(pending_, "[]");
  state_ = Json();
  objects += PodText("d", "shared") + PodText("e", "shared");
  EXPECT_EQ(Ups(objects), "gpus 0->1") << "no second node has what they share";
  EXPECT_NE(pending_.find("default/e"), std::string::npos) << pending_;
}

TEST_F(PlanScaleDevicesTest, AnAllocatedClaimCallsForNoOtherNode) {
  const std::string objects = std::string(kClass) + GroupText("gpus", 1) + NodeText("n1", "gpus") + SliceText("n1", 1) +
                              ClaimText("shared", "", "n1/g0") + PodText("p", "shared", "n1") + PodText("q", "shared") +
                              PodText("r", "shared") + PodText("s", "shared") + PodText("t", "shared");
  EXPECT_EQ(Ups(objects), "");
  EXPECT_NE(pending_.find("resourceclaim not available on the node"), std::string::npos) << pending_;
}

TEST_F(PlanScaleDevicesTest, APodWaitsUntilItsClaimIsMade) {
  const std::string objects = std::string(kClass) + GroupText("gpus", 2);
  EXPECT_EQ(Ups(objects + PodText("p", "t>")), "");
  EXPECT_NE(pending_.find("ResourceClaim not created yet"), std::string::npos) << pending_;
  EXPECT_EQ(Ups(objects + OwnPod("p")), "gpus 0->1");
}

TEST_F(PlanScaleDevicesTest, ANewNodeHasWhatANodeOfTheGroupHas) {
  const std::string group = std::string(kClass) + GroupText("gpus", 0);
  const std::string node =
      NodeText("n1", "gpus") + SliceText("n1", 2) + OwnPod("a", "n1", "n1/g0") + OwnPod("b", "n1", "n1/g1");
  EXPECT_EQ(Ups(group + node + OwnPod("c") + OwnPod("d") + OwnPod("e")), "gpus 1->3");
  state_ = Json();
  Plan(group + node);
  EXPECT_EQ(Ups(group + OwnPod("c"), 1min), "gpus 0->1") << "the last node has gone";
  EXPECT_NE(base::ToText(state_).find("resourceSlices"), std::string::npos);
}

TEST_F(PlanScaleDevicesTest, ANodeCountsOnceItsDriversHavePublishedItsDevices) {
  const std::string objects = std::string(kClass) + GroupText("gpus", 1) + OwnPod("p");
  EXPECT_EQ(Ups(objects), "gpus 0->1");
  std::string node = NodeText("n1", "gpus");
  node.replace(node.find("2026-01-01"), 10, "2026-01-02");
  EXPECT_EQ(Ups(objects + node, 1min), "") << "the pod has room on the node that is on its way";
  EXPECT_EQ(upcoming_, R"({"gpus":1})");
  EXPECT_EQ(Ups(objects + node + SliceText("n1", 1), 2min), "");
  EXPECT_EQ(upcoming_, "{}");
}

TEST_F(PlanScaleDevicesTest, AYoungNodeIsWaitedForUntilItHasWhatOthersOfItsGroupHave) {
  const auto ready = [this](const std::string& objects, base::Duration after) {
    return base::ToText(Plan(objects, after).at("nodeGroups").as_array()[0].at("ready"));
  };
  const std::string objects = std::string(kClass) + GroupText("gpus", 0) + NodeText("n1", "gpus") + SliceText("n1", 2) +
                              OwnPod("a", "n1", "n1/g0") + OwnPod("b", "n1", "n1/g1");
  EXPECT_EQ(ready(objects, 0s), "1");
  std::string node = NodeText("n0", "gpus");
  node.replace(node.find("2026-01-01"), 10, "2026-01-02");
  EXPECT_EQ(ready(objects + node, 5min), "1");
  EXPECT_EQ(ready(objects + node + SliceText("n0", 1), 5min), "2") << "a pool of the driver is there";
  EXPECT_EQ(ready(objects + node, 10min), "1");
  EXPECT_EQ(ready(objects + node, 16min), "2") << "it has started without";
  state_ = Json();
  options_.learn_devices = false;
  EXPECT_EQ(ready(objects, 0s), "1");
  EXPECT_EQ(ready(objects + node, 10min), "2");
}

TEST_F(PlanScaleDevicesTest, ANodeGoesWhenItsPodsGetTheirDevicesElsewhere) {
  const std::string nodes = std::string(kClass) + GroupText("gpus", 0) + NodeText("n1", "gpus") + SliceText("n1", 4) +
                            NodeText("n2", "gpus") + OwnPod("a", "n1", "n1/g0") + OwnPod("b", "n2", "n2/g0") +
                            OwnPod("c", "n2", "n2/g1") + OwnPod("d", "n2", "n2/g2");
  EXPECT_EQ(Ups(nodes + SliceText("n2", 4)), "");
  EXPECT_NE(down_.find(R"("drain":[{"node":"n1")"), std::string::npos) << down_;
  state_ = Json();
  Plan(nodes + SliceText("n2", 3));
  const std::string why = WhyNode(nodes + SliceText("n2", 3), "n1");
  EXPECT_TRUE(
      why.ends_with("NoPlaceToMovePods, pod default/a; on node n2: DynamicResources: cannot allocate all claims (claim "
                    "default/a-claim, request r of class gpu asks for 1 device: of 3 there are 0 to be had; 3 in use "
                    "(first d/n2/g0)); looked at again in 5m0s"))
      << why;
  state_ = Json();
  const std::string at_once = WhyNode(nodes + SliceText("n2", 3), "n1");
  EXPECT_TRUE(at_once.starts_with("stays: NoPlaceToMovePods: pod default/a would not fit on any other node; on node n2: "))
      << at_once;
  EXPECT_EQ(WhyNode(nodes + SliceText("n2", 4), "n2"),
            "stays: NotUnderutilized: d/n2 utilization is 75.0 %, above the threshold of 50.0 %");
}

TEST_F(PlanScaleDevicesTest, PodsThatShareAClaimMoveTogetherOrNotAtAll) {
  const std::string nodes = std::string(kClass) + GroupText("gpus", 0) + NodeText("n1", "gpus") + SliceText("n1", 4) +
                            NodeText("n2", "gpus") + SliceText("n2", 4) + OwnPod("b", "n2", "n2/g0") +
                            OwnPod("c", "n2", "n2/g1") + OwnPod("d", "n2", "n2/g2") + ClaimText("shared", "", "n1/g0");
  EXPECT_EQ(Ups(nodes + PodText("p", "shared", "n1")), "");
  EXPECT_NE(down_.find(R"("drain":[{"node":"n1")"), std::string::npos) << down_;
  state_ = Json();
  std::string also = ClaimText("shared", "", "n1/g0");
  also.replace(also.find("[{resource: pods"), 1, "[{resource: pods, name: far, uid: far}, ");
  const std::string kept = nodes + also + PodText("p", "shared", "n1");
  EXPECT_EQ(Ups(kept), "");
  EXPECT_NE(down_.find(R"("drain":[])"), std::string::npos) << "somebody else has it reserved: " << down_;
}

TEST_F(PlanScaleDevicesTest, TheSelectorThatFailsIsNamedForGroupsToo) {
  const std::string objects =
      std::string(kClass) + GroupText("gpus", 2) + OwnPod("p", "", "", "device.attributes['d'].model == 'x'");
  EXPECT_EQ(Ups(objects), "");
  const auto explained = ExplainPodScale(Input(objects), "p");
  ASSERT_TRUE(explained) << explained.error().message();
  const std::string why = base::ToText(explained->json.at("groups"));
  EXPECT_NE(why.find("claim default/p-claim, request r of class gpu"), std::string::npos) << why;
  EXPECT_NE(why.find("device.attributes['d'].model == 'x'"), std::string::npos) << why;
  EXPECT_NE(why.find("/g0"), std::string::npos) << why;
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::plan_scale_devices_test
