#include "controllers/autoscaler/loop/plan_scale.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"
#include "controllers/autoscaler/options/flags.h"

namespace evenkeel::controllers::autoscaler::plan_scale_test {
namespace {

using base::FindString;
using base::Json;
using namespace std::chrono_literals;

constexpr const char* kGroup = R"(
apiVersion: evenkeel.dev/v1alpha1
kind: NodeGroup
metadata: {name: general}
spec:
  minSize: 0
  maxSize: 10
  template: {metadata: {labels: {}}, spec: {taints: []}, status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}}
---
)";

std::string NodeText(const std::string& name, bool ready = true) {
  return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name +
         ", creationTimestamp: \"2026-01-01T00:00:00Z\", labels: {evenkeel.dev/node-group: general, kubernetes.io/hostname: " +
         name + "}}\nspec: {providerID: \"x://" + name +
         "\"}\nstatus: {allocatable: {cpu: \"4\", memory: 16Gi, pods: \"110\"}, conditions: [{type: Ready, status: \"" +
         (ready ? "True" : "False") + "\", lastTransitionTime: \"2026-01-01T00:00:00Z\"}]}\n---\n";
}

std::string PodText(const std::string& name, const std::string& cpu, const std::string& node = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: default, uid: " + name +
         ", creationTimestamp: \"2026-01-01T00:00:00Z\", ownerReferences: [{kind: ReplicaSet, name: rs, uid: rs, controller: "
         "true}]}\nspec: {" +
         (node.empty() ? "" : "nodeName: " + node + ", ") + "containers: [{name: c, resources: {requests: {cpu: " + cpu +
         ", memory: 1Gi}}}]}\n---\n";
}

class PlanScaleTest : public ::testing::Test {
 protected:
  ScaleInput Input(const std::string& objects, base::Duration after) {
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
    // Through text, as it goes through a file.
    state_ = *base::ParseJson(base::ToText(output->state), "state");
    return std::move(output->result);
  }

  std::string Error(const std::string& objects) {
    const auto output = PlanScale(Input(objects, 0s));
    if (output) return "no error";
    EXPECT_EQ(output.error().code(), base::Code::kBadRequest);
    EXPECT_EQ(output.error().message().find('\n'), std::string::npos);
    return output.error().message();
  }

  Json state_;
  Options options_;
};

std::string At(const Json& plan, const char* key) { return base::ToText(plan.at(key)); }

TEST_F(PlanScaleTest, GrowsAGroupFromZeroForPendingPods) {
  const Json plan = Plan(std::string(kGroup) + PodText("a", "3") + PodText("b", "3"));
  EXPECT_EQ(At(plan, "health"), R"({"status":"Healthy","unready":0,"registered":0,"ready":0})");
  EXPECT_EQ(At(plan, "scaleUp"), R"([{"group":"general","from":0,"to":2,"pods":["default/a","default/b"]}])");
  EXPECT_EQ(At(plan, "pending"), "[]");
  EXPECT_EQ(At(plan, "scaleDown"), R"({"empty":[],"drain":[]})");
  EXPECT_EQ(At(plan, "nodeGroups"), R"([{"name":"general","target":2,"min":0,"max":10,"ready":0,"backoff":null}])");
}

TEST_F(PlanScaleTest, WaitsForNodesThatTheLastCallAskedFor) {
  const std::string objects = kGroup + PodText("a", "3") + PodText("b", "3");
  Plan(objects);
  const Json next = Plan(objects, 10s);
  EXPECT_EQ(At(next, "scaleUp"), "[]");
  EXPECT_EQ(At(next, "upcoming"), R"({"general":2})");
  // One of them has come: the other one is still on its way.
  const Json half = Plan(objects + NodeText("n1"), 60s);
  EXPECT_EQ(At(half, "scaleUp"), "[]");
  EXPECT_EQ(At(half, "upcoming"), R"({"general":1})");
}

TEST_F(PlanScaleTest, UnneededNodesGrowFromCallToCallAsFromLoopToLoop) {
  options_.max_scale_down_parallelism = 1;
  std::string objects = kGroup;
  for (int i = 0; i < 6; ++i) objects += NodeText("n" + std::to_string(i));
  for (const size_t unneeded : {2u, 4u, 6u}) {
    EXPECT_EQ(Plan(objects, unneeded * 5s).at("unneeded").as_array().size(), unneeded);
  }
}

TEST_F(PlanScaleTest, AGroupThatHasLostItsLastNodeIsAsItWasWithThem) {
  const std::string group =
      "apiVersion: evenkeel.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: general}\nspec: {maxSize: 10}\n---\n";
  EXPECT_EQ(At(Plan(group + NodeText("n1")), "scaleUp"), "[]");
  EXPECT_EQ(At(Plan(group + PodText("a", "3"), 30s), "scaleUp"),
            R"([{"group":"general","from":0,"to":1,"pods":["default/a"]}])");
  state_ = Json();
  EXPECT_EQ(At(Plan(group + PodText("a", "3"), 30s), "scaleUp"), "[]") << "nobody has seen its nodes";
}

TEST_F(PlanScaleTest, PrioritiesAreThoseOfTheAutoscalersNamespace) {
  options_.expander = {"priority"};
  std::string objects = PodText("a", "3");
  for (const char* name : {"one", "two"}) {
    std::string group = kGroup;
    objects += group.replace(group.find("general"), 7, name);
  }
  const auto grows = [&](const std::string& ns, const std::string& first) {
    state_ = Json();
    const Json plan = Plan(
        objects + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cluster-autoscaler-priority-expander, namespace: " + ns +
        "}\ndata: {priorities: \"{9: [" + first + "], 1: [.*]}\"}\n---\n");
    return std::string(FindString(plan.at("scaleUp").at(0), {"group"}));
  };
  EXPECT_EQ(grows("kube-system", "one"), "one");
  EXPECT_EQ(grows("kube-system", "two"), "two");
  EXPECT_EQ(grows("elsewhere", "one"), grows("elsewhere", "two"));
}

TEST_F(PlanScaleTest, UpstreamsSearchGoesOnBehindTheLastNodeThatTookAPod) {
  options_.upstream_placement = true;
  std::string objects = kGroup;
  // In the order of the list, not of the names.
  for (const char* node : {"n9", "n2", "n5"}) objects += NodeText(node);
  const auto nodes = [&](const std::string& pods) {
    ScaleInput input = Input(objects + pods, 0s);
    std::string text;
    for (const auto& [pod, node] : base::FindObject(PlanScale(std::move(input))->state, {"hints"})) {
      text += std::string(pod).substr(8) + ">" + std::string(node.get_string()) + " ";
    }
    return text;
  };
  EXPECT_EQ(nodes(PodText("d", "1") + PodText("a", "1") + PodText("c", "1") + PodText("b", "1")), "a>n2 b>n9 c>n5 d>n9 ");
  Plan(objects + PodText("d", "1"));
  EXPECT_EQ(base::FindInt(state_, {"nextNode"}), 1);
  EXPECT_EQ(nodes(PodText("d", "1") + PodText("z", "1")), "d>n9 z>n2 ") << "a hint does not move the search on";
}

TEST_F(PlanScaleTest, NodesThatNeverComeTimeOutAndTheGroupIsBackedOff) {
  const std::string objects = kGroup + PodText("a", "3");
  Plan(objects);
  const Json late = Plan(objects, 16min);
  EXPECT_EQ(At(late, "scaleUp"), "[]");
  EXPECT_EQ(FindString(late.at("nodeGroups").at(0), {"backoff"}), "2026-01-02T00:21:00Z");
  const Json next = Plan(objects, 16min + 10s);
  EXPECT_EQ(FindString(next.at("pending").at(0), {"reasons", "general"}), "in backoff after failed scale-up");
  EXPECT_EQ(base::FindInt(late.at("nodeGroups").at(0), {"target"}), 0);
  EXPECT_EQ(At(Plan(objects, 22min), "scaleUp"), R"([{"group":"general","from":0,"to":1,"pods":["default/a"]}])");
}

TEST_F(PlanScaleTest, SaysForEachGroupHowMuchIsMissing) {
  const Json plan = Plan(kGroup + PodText("big", "9"));
  EXPECT_EQ(At(plan, "scaleUp"), "[]");
  EXPECT_EQ(FindString(plan.at("pending").at(0), {"pod"}), "default/big");
  EXPECT_EQ(FindString(plan.at("pending").at(0), {"reasons", "general"}),
            "NodeResourcesFit: Insufficient cpu (9 requested, 4 free of 4: 5 missing)");
}

TEST_F(PlanScaleTest, AnEmptyNodeGoesAfterTenMinutes) {
  const std::string objects = kGroup + NodeText("n1") + NodeText("n2") + PodText("a", "3", "n1");
  const Json first = Plan(objects);
  EXPECT_EQ(At(first, "unneeded"), R"([{"node":"n2","since":"2026-01-02T00:00:00Z"}])");
  EXPECT_EQ(At(first, "scaleDown"), R"({"empty":[],"drain":[]})");
  EXPECT_EQ(At(Plan(objects, 9min), "scaleDown"), R"({"empty":[],"drain":[]})");
  const Json gone = Plan(objects, 10min + 1s);
  EXPECT_EQ(At(gone, "scaleDown"), R"({"empty":["n2"],"drain":[]})");
  EXPECT_EQ(base::FindInt(gone.at("nodeGroups").at(0), {"target"}), 1);
  // It is still there in the objects, but on its way out.
  EXPECT_EQ(At(Plan(objects, 10min + 11s), "scaleDown"), R"({"empty":[],"drain":[]})");
}

TEST_F(PlanScaleTest, AnUnderusedNodeIsDrainedAfterTenMinutes) {
  const std::string objects = kGroup + NodeText("n1") + NodeText("n2") + PodText("a", "3", "n1") + PodText("b", "1", "n2");
  Plan(objects);
  EXPECT_EQ(At(Plan(objects, 11min), "scaleDown"), R"({"empty":[],"drain":[{"node":"n2","pods":["default/b"]}]})");
}

TEST_F(PlanScaleTest, APodThatWillUseANodeMakesItNeeded) {
  const std::string nodes = kGroup + NodeText("n1") + NodeText("n2") + PodText("a", "3", "n1");
  Plan(nodes);
  const Json used = Plan(nodes + PodText("c", "4"), 9min);
  EXPECT_EQ(At(used, "scaleUp"), "[]");
  EXPECT_EQ(At(used, "unneeded"), "[]");
  EXPECT_EQ(At(Plan(nodes, 11min), "scaleDown"), R"({"empty":[],"drain":[]})") << "its time begins anew";
}

TEST_F(PlanScaleTest, AScaleUpHoldsScaleDown) {
  const std::string nodes = kGroup + NodeText("n1") + NodeText("n2") + PodText("a", "3", "n1");
  Plan(nodes);
  EXPECT_EQ(Plan(nodes + PodText("big", "4") + PodText("other", "4"), 11min).at("scaleUp").as_array().size(), 1u);
  const Json held = Plan(nodes, 12min);
  EXPECT_EQ(At(held, "scaleDown"), R"({"empty":[],"drain":[]})");
  EXPECT_NE(held.as_object().if_contains("coolDown"), nullptr);
}

TEST_F(PlanScaleTest, AnUnhealthyClusterIsLeftAlone) {
  std::string objects = kGroup + PodText("a", "3");
  for (int i = 0; i < 5; ++i) objects += NodeText("n" + std::to_string(i), i == 0);
  objects += PodText("full", "3", "n0");
  const Json plan = Plan(objects);
  EXPECT_EQ(At(plan, "health"), R"({"status":"Unhealthy","unready":4,"registered":5,"ready":1})");
  EXPECT_EQ(FindString(plan, {"stopped", "stage"}), "CheckClusterHealth");
  EXPECT_EQ(At(plan, "scaleUp"), "[]");
  EXPECT_EQ(plan.at("pending").as_array().size(), 1u);
}

TEST_F(PlanScaleTest, ATargetThatTheObjectsChangeReplacesTheAssumedOne) {
  std::string objects = kGroup + PodText("a", "3");
  objects.replace(objects.find("maxSize: 10"), 11, "maxSize: 10\n  targetSize: 0");
  Plan(objects);
  EXPECT_EQ(At(Plan(objects, 10s), "upcoming"), R"({"general":1})");
  objects.replace(objects.find("targetSize: 0"), 13, "targetSize: 3");
  EXPECT_EQ(At(Plan(objects, 20s), "upcoming"), R"({"general":3})");
}

TEST_F(PlanScaleTest, TheSameInputGivesTheSamePlan) {
  const std::string objects = kGroup + NodeText("n1") + PodText("a", "3", "n1") + PodText("b", "3");
  const std::string first = base::ToText(Plan(objects));
  state_ = Json();
  EXPECT_EQ(base::ToText(Plan(objects)), first);
}

TEST_F(PlanScaleTest, BadInputIsNamedByObjectAndField) {
  EXPECT_EQ(Error(kGroup + PodText("a", "3x"))
                .find("cluster.yaml:10: Pod default/a: "
                      "spec.containers[0].resources.requests.cpu: \"3x\" is not a quantity"),
            0u)
      << Error(kGroup + PodText("a", "3x"));
  EXPECT_NE(Error(kGroup + PodText("a", "3", "n9")).find("Pod default/a: spec.nodeName: there is no Node n9"),
            std::string::npos);
  std::string groups = kGroup;
  groups.replace(groups.find("maxSize: 10"), 11, "maxSize: -1");
  EXPECT_NE(Error(groups).find("NodeGroup general: spec.maxSize"), std::string::npos);
  std::string twin = kGroup;
  twin.replace(twin.find("name: general"), 13, "name: twin");
  twin.replace(twin.find("spec:"), 5, "spec:\n  selector: {matchLabels: {evenkeel.dev/node-group: general}}");
  EXPECT_NE(Error(kGroup + twin + NodeText("n1")).find("spec.selector: selects node n1"), std::string::npos);
  std::string bare = kGroup;
  bare.replace(bare.find("allocatable: {"), 14, "capacity: {");
  EXPECT_NE(Error(bare).find("spec.template.status.allocatable: missing"), std::string::npos);
  state_ = base::JsonObject{{"version", 7}};
  EXPECT_NE(Error(kGroup).find("state: version"), std::string::npos);
}

TEST_F(PlanScaleTest, ExplainsAPodByGroupAndNode) {
  const std::string objects = kGroup + NodeText("n1") + PodText("a", "3", "n1") + PodText("big", "9");
  const auto big = ExplainPodScale(Input(objects, 0s), "default/big");
  ASSERT_TRUE(big) << big.error().message();
  EXPECT_EQ(
      base::ToText(big->json),
      R"x({"pod":"default/big","node":null,"pending":true,"why":"no node group grows for it: NodeResourcesFit: Insufficient cpu","groups":[)x"
      R"x({"group":"general","fits":false,"why":"NodeResourcesFit: Insufficient cpu (9 requested, 4 free of 4: 5 missing)",)x"
      R"x("size":1,"max":10}],"nodes":[{"node":"n1","fits":false,)x"
      R"x("why":"NodeResourcesFit: Insufficient cpu (9 requested, 1 free of 4: 8 missing)"}]})x");
  EXPECT_EQ(base::ToText(ExplainPodScale(Input(objects, 0s), "a")->json),
            R"({"pod":"default/a","node":"n1","pending":false,"why":"on node n1","groups":[],"nodes":[]})");
  EXPECT_EQ(ExplainPodScale(Input(kGroup, 0s), "x").error().code(), base::Code::kNotFound);
}

constexpr const char* kDevices = R"(
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: "device.driver == 'd'"}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-d}
spec: {driver: d, pool: {name: n1, generation: 1, resourceSliceCount: 1}, nodeName: n1, devices: [{name: x}, {name: y}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: both, namespace: default, uid: both}
spec:
  devices:
    requests:
    - {name: first, exactly: {deviceClassName: gpu}}
    - {name: second, firstAvailable: [{name: two, deviceClassName: gpu, count: 2}, {name: one, deviceClassName: gpu}]}
---
)";

TEST_F(PlanScaleTest, ExplainsDevicesByClaimAndRequest) {
  std::string pod = PodText("p", "1");
  pod.replace(pod.find("spec: {"), 7, "spec: {resourceClaims: [{name: c, resourceClaimName: both}], ");
  const auto explained = ExplainPodScale(Input(kGroup + NodeText("n1") + NodeText("n2") + kDevices + pod, 0s), "p");
  ASSERT_TRUE(explained) << explained.error().message();
  EXPECT_EQ(
      base::ToText(explained->json.at("nodes")),
      R"x([{"node":"n1","fits":true,"why":"fits","devices":{"both":{"first":["d/n1/x"],"second/one":["d/n1/y"]}}},)x"
      R"x({"node":"n2","fits":false,"why":"DynamicResources: cannot allocate all claims (claim default/both, request first of )x"
      R"x(class gpu asks for 1 device: the node has none)"}])x");
}

TEST_F(PlanScaleTest, ExplainsANode) {
  const std::string objects = kGroup + NodeText("n1") + NodeText("n2") + PodText("a", "3", "n1");
  const auto busy = ExplainNodeScale(Input(objects, 0s), "n1");
  ASSERT_TRUE(busy) << busy.error().message();
  EXPECT_EQ(base::FindString(*busy, {"group"}), "general");
  EXPECT_TRUE(base::FindString(*busy, {"why"}).starts_with("stays: ")) << *busy;
  EXPECT_TRUE(busy->at("unneededSince").is_null());
  const auto idle = ExplainNodeScale(Input(objects, 0s), "n2");
  EXPECT_TRUE(base::FindString(*idle, {"why"}).starts_with("unneeded for 0s")) << *idle;
  EXPECT_EQ(*base::ParseTime(base::FindString(*idle, {"unneededSince"})), Input(objects, 0s).now);
  EXPECT_EQ(ExplainNodeScale(Input(objects, 0s), "n3").error().code(), base::Code::kNotFound);
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::plan_scale_test
