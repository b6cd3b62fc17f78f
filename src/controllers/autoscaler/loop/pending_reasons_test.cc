// Why pods stay pending, in `plan scale` and `explain pod`: each kind of reason, and that no pod goes without one.
#include <gtest/gtest.h>

#include "controllers/autoscaler/loop/plan_scale.h"

namespace evenkeel::controllers::autoscaler::pending_reasons_test {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using namespace std::chrono_literals;

constexpr const char* kNow = "2026-01-02T00:00:00Z";

std::string Group(const std::string& name, const std::string& cpu = "4", const std::string& more = "",
                  const std::string& labels = "") {
  return "apiVersion: evenkeel.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: " + name + "}\nspec: {maxSize: 10, " + more +
         "template: {metadata: {labels: {" + labels + "}}, status: {allocatable: {cpu: \"" + cpu +
         "\", memory: 16Gi, pods: \"110\"}}}}\n---\n";
}

std::string Node(const std::string& name, const std::string& cpu, const std::string& spec = "") {
  return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", creationTimestamp: \"2026-01-01T00:00:00Z\"}\nspec: {" +
         spec + "}\nstatus: {allocatable: {cpu: \"" + cpu + "\", memory: 16Gi, pods: \"110\"}}\n---\n";
}

struct PodText {
  std::string name, cpu = "1";
  std::string owner = "ReplicaSet";  ///< its kind; "": none
  std::string spec{}, status{}, meta{};
  std::string created = "2026-01-01T00:00:00Z";

  std::string Text() const {
    const std::string owners =
        owner.empty() ? "" : ", ownerReferences: [{kind: " + owner + ", name: web, uid: web, controller: true}]";
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name + ", creationTimestamp: \"" + created +
           "\", labels: {app: web}" + owners + meta + "}\nspec: {" + spec +
           "containers: [{name: c, resources: {requests: {cpu: \"" + cpu + "\"}}}]}\nstatus: {" + status + "}\n---\n";
  }
};

constexpr const char* kApart =
    "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, "
    "topologyKey: zone}]}}, ";

class PendingReasonsTest : public ::testing::Test {
 protected:
  ScaleInput Input(const std::string& objects) const {
    ScaleInput input;
    auto parsed = kube::ParseManifests(objects, "cluster.yaml");
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message());
    if (parsed) input.objects = std::move(*parsed);
    input.options = options_;
    input.now = *base::ParseTime(kNow);
    return input;
  }
  ScaleOutput Plan(const std::string& objects) const {
    auto output = PlanScale(Input(objects));
    EXPECT_TRUE(output) << (output ? "" : output.error().message());
    return output ? *std::move(output) : ScaleOutput();
  }
  /// By node group, of the one pod that stays pending.
  std::map<std::string, std::string> Reasons(const std::string& objects) const {
    const Json plan = Plan(objects).result;
    const base::JsonArray& pending = FindArray(plan, {"pending"});
    EXPECT_EQ(pending.size(), 1u) << plan;
    std::map<std::string, std::string> reasons;
    if (pending.empty()) return reasons;
    EXPECT_EQ(FindString(pending.front(), {"why"}), "");
    for (const auto& [group, reason] : base::FindObject(pending.front(), {"reasons"})) reasons[group] = reason.as_string();
    return reasons;
  }
  /// Of a pod that is passed over, whatever the groups are like; `plan scale` and `explain pod` say the same.
  std::string Why(const PodText& pod) const {
    const std::string objects = Group("a") + Group("b") + pod.Text();
    const Json plan = Plan(objects).result;
    EXPECT_EQ(base::ToText(plan.at("scaleUp")), "[]");
    const base::JsonArray& pending = FindArray(plan, {"pending"});
    EXPECT_EQ(pending.size(), 1u) << plan;
    if (pending.empty()) return "";
    std::string why(FindString(pending.front(), {"why"}));
    for (const char* group : {"a", "b"}) EXPECT_EQ(FindString(pending.front(), {"reasons", group}), why);
    const auto explained = ExplainPodScale(Input(objects), pod.name);
    EXPECT_TRUE(explained);
    if (explained) EXPECT_TRUE(FindString(explained->json, {"why"}).starts_with(why)) << explained->json;
    return why;
  }
  std::string Explain(const std::string& objects, const std::string& pod) const {
    const auto explained = ExplainPodScale(Input(objects), pod);
    EXPECT_TRUE(explained) << (explained ? "" : explained.error().message());
    return explained ? std::string(FindString(explained->json, {"why"})) : "";
  }

  Options options_;
};

using Texts = std::map<std::string, std::string>;

TEST_F(PendingReasonsTest, WithoutAPriceTheExpanderChoosesNothing) {
  options_.expander = {"price"};
  const std::string why = "a new node would take it, but the group has no price, and --expander=price chooses by price";
  EXPECT_EQ(Reasons(Group("a") + Group("b") + PodText("p").Text()), (Texts{{"a", why}, {"b", why}}));
  EXPECT_EQ(Explain(Group("a") + PodText("p").Text(), "p"), "no node group grows for it: " + why);
  // Where there is one, that group grows, and of the other its own reason is told.
  const std::string priced = Group("a", "2", "pricePerHour: 1, ") + Group("b");
  EXPECT_EQ(FindArray(Plan(priced + PodText("p").Text()).result, {"scaleUp"}).size(), 1u);
  EXPECT_EQ(Reasons(priced + PodText("p").Text() + PodText{"wide", "3"}.Text()).at("b"), why);
}

TEST_F(PendingReasonsTest, TotalsThatAreExhaustedAreNamed) {
  const std::string pods = PodText{"p0", "4"}.Text() + PodText{"p1", "4"}.Text() + PodText{"p2", "4"}.Text();
  options_.cores_total = {0, 9};
  EXPECT_EQ(Reasons(Group("a") + pods).at("a"), "exceeded quota: \"cluster-wide\", resources: cpu (--cores-total)");
  options_.cores_total = Options().cores_total;
  options_.memory_total = {0, 40};
  EXPECT_EQ(Reasons(Group("a") + pods).at("a"), "exceeded quota: \"cluster-wide\", resources: memory (--memory-total)");
  options_.memory_total = Options().memory_total;
  options_.max_nodes_total = 2;
  EXPECT_EQ(Reasons(Group("a") + pods).at("a"), "max node total count already reached (--max-nodes-total)");
  options_.max_nodes_total = 0;
  options_.max_nodes_per_scaleup = 2;
  options_.max_groups_per_loop = 1;
  EXPECT_NE(Reasons(Group("a") + pods).at("a").find("--max-nodes-per-scaleup=2"), std::string::npos);
  options_.max_nodes_per_scaleup = 1000;
  options_.all_or_nothing = true;
  const Json plan = Plan(Group("a") + pods + PodText{"huge", "9"}.Text()).result;
  EXPECT_NE(base::ToText(plan.at("pending")).find("--all-or-nothing"), std::string::npos) << plan;
}

TEST_F(PendingReasonsTest, AGroupThatThePlanFillsIsAtItsMaximum) {
  std::string group = Group("a");
  group.replace(group.find("maxSize: 10"), 11, "maxSize: 1");
  EXPECT_EQ(Reasons(group + PodText{"p0", "3"}.Text() + PodText{"p1", "3"}.Text()),
            (Texts{{"a", "max node group size reached"}}));
}

TEST_F(PendingReasonsTest, ARuleThatThePlansOwnNodesBreakIsNamed) {
  std::string objects, pods;
  for (const char* zone : {"a", "b", "c"}) objects += Group(zone, "4", "", std::string("zone: ") + zone);
  for (const char* pod : {"p0", "p1", "p2", "p3"}) pods += PodText{.name = pod, .spec = kApart}.Text();
  const Texts all = Reasons(objects + pods);
  EXPECT_EQ(all.size(), 3u);
  const std::string rule = "InterPodAffinity: node(s) didn't match pod anti-affinity rules";
  for (const auto& [group, why] : all) {
    EXPECT_EQ(why, rule + " (pods that it does not want to be with are in zone=" + group + ")");
  }
  EXPECT_EQ(Explain(objects + pods, "p3"), "no node group grows for it: " + rule);
  // With one group a loop: two pods wait for the next one, in which the other zones have their turn.
  options_.max_groups_per_loop = 1;
  const Json plan = Plan(objects + pods).result;
  ASSERT_EQ(FindArray(plan, {"pending"}).size(), 3u);
  EXPECT_NE(base::ToText(plan.at("pending")).find("(--max-groups-per-loop=1)"), std::string::npos) << plan;
}

TEST_F(PendingReasonsTest, PodsThatNoScaleUpIsForSayWhy) {
  EXPECT_EQ(Why({.name = "p", .owner = "DaemonSet"}),
            "a DaemonSet's pod: it belongs on a node that is there, so no node is made for it");
  EXPECT_EQ(Why({.name = "p", .spec = "schedulingGates: [{name: example.com/quota}], "}),
            "gated: its scheduling gate example.com/quota has to be removed first");
  EXPECT_EQ(Why({.name = "p",
                 .spec = "schedulingGates: [{name: g}], ",
                 .status = "conditions: [{type: PodScheduled, status: \"False\", reason: SchedulingGated}]"}),
            "gated: its scheduling gate g has to be removed first");
  EXPECT_EQ(Why({.name = "p", .status = "nominatedNodeName: n1"}),
            "nominated to node n1: it goes there when pods of lower priority have left");
  EXPECT_EQ(Why({.name = "p", .status = "conditions: [{type: PodScheduled, status: \"False\", reason: SchedulerError}]"}),
            "its scheduler default-scheduler does not say that there is no room: SchedulerError");
  EXPECT_EQ(Why({.name = "p", .meta = ", deletionTimestamp: \"2026-01-01T23:59:59Z\""}), "it is being deleted");
  EXPECT_EQ(Why({.name = "p", .spec = "priority: -11, "}),
            "its priority is below --expendable-pods-priority-cutoff: no node is worth having for it");
  options_.allowed_scheduler_names = {"default-scheduler"};
  EXPECT_EQ(Why({.name = "p", .spec = "schedulerName: volcano, "}),
            "another scheduler's: volcano is none of --allowed-scheduler-names");
}

TEST_F(PendingReasonsTest, WithoutNodeGroupsThatIsTheReason) {
  const ScaleOutput plan = Plan(Node("n1", "1") + PodText{"p", "3"}.Text());
  EXPECT_EQ(FindString(plan.result.at("pending").at(0), {"why"}), "there is no node group that could grow");
  EXPECT_EQ(Explain(PodText{"p", "3"}.Text(), "p"), "there is no node group that could grow");
}

TEST_F(PendingReasonsTest, RoomIsSaidToBeWhereItIs) {
  const std::string objects = Group("a") + Node("n1", "4") + PodText("p").Text();
  EXPECT_EQ(base::ToText(Plan(objects).result.at("pending")), "[]");
  EXPECT_EQ(Explain(objects, "p"), "it has room on node n1: its scheduler default-scheduler has to bind it");
  ScaleInput next = Input(Group("a") + PodText("p").Text());
  next.state = Plan(Group("a") + PodText("p").Text()).state;
  next.now += 10s;
  EXPECT_EQ(FindString(ExplainPodScale(std::move(next), "p")->json, {"why"}),
            "it has room on a node of group a that is on its way");
}

TEST_F(PendingReasonsTest, PodsThatAreTooYoungHearWhatTheNextLoopDoes) {
  const std::string objects = Group("a") + PodText{.name = "p", .created = "2026-01-01T23:59:59Z"}.Text() +
                              PodText{.name = "huge", .cpu = "9", .created = "2026-01-01T23:59:59Z"}.Text();
  const ScaleOutput plan = Plan(objects);
  EXPECT_EQ(base::ToText(plan.result.at("scaleUp")), "[]");
  EXPECT_EQ(FindString(plan.result, {"nextLoop", "at"}), "2026-01-02T00:00:10Z");
  EXPECT_EQ(base::ToText(plan.result.at("nextLoop").at("scaleUp")), R"([{"group":"a","from":0,"to":1,"pods":["default/p"]}])");
  ASSERT_EQ(plan.next_pending.size(), 1u);
  EXPECT_EQ(plan.next_pending.front().first, "default/huge");
  EXPECT_EQ(Explain(objects, "p"),
            "the pods are too new: the next loop decides; the loop at 2026-01-02T00:00:10Z: a scale-up is for it: a 0 -> 1");
  // The state that is handed on is that of the loop that was asked for.
  ScaleInput again = Input(objects);
  again.state = plan.state;
  EXPECT_EQ(base::ToText(PlanScale(std::move(again))->result.at("upcoming")), "{}");
  EXPECT_FALSE(Plan(Group("a") + PodText("p").Text()).result.as_object().contains("nextLoop"));
}

TEST_F(PendingReasonsTest, ADelayOfItsOwnEndsInTheFirstLoopAfterIt) {
  const PodText pod{.name = "p",
                    .meta = ", annotations: {cluster-autoscaler.kubernetes.io/pod-scale-up-delay: 1m}",
                    .created = "2026-01-01T23:59:35Z"};
  const Json plan = Plan(Group("a") + pod.Text()).result;
  EXPECT_EQ(FindString(plan.at("pending").at(0), {"why"}), "too young: its pod-scale-up-delay of 1m is not over");
  EXPECT_EQ(FindString(plan, {"nextLoop", "at"}), "2026-01-02T00:00:40Z");
  EXPECT_EQ(FindArray(plan, {"nextLoop", "scaleUp"}).size(), 1u);
}

TEST_F(PendingReasonsTest, PodsAreCountedByControllerAndReason) {
  std::string objects = Group("a") + Group("b", "8");
  for (int i = 0; i < 48; ++i) objects += PodText{"web-" + std::to_string(i), "30"}.Text();
  objects += PodText{"other", "20"}.Text() + PodText{.name = "alone", .cpu = "30", .owner = ""}.Text();
  const ScaleOutput plan = Plan(objects);
  EXPECT_EQ(FindArray(plan.result, {"pending"}).size(), 50u) << "each for itself where programs read it";
  ASSERT_EQ(plan.pending.size(), 3u);
  EXPECT_EQ(plan.pending[0].owner, "");
  EXPECT_EQ(plan.pending[1].first, "default/other");
  const PendingPods& web = plan.pending[2];
  EXPECT_EQ(web.owner, "ReplicaSet default/web");
  EXPECT_EQ(web.first, "default/web-0");
  EXPECT_EQ(web.pods, 48u);
  ASSERT_EQ(web.groups.size(), 1u);
  EXPECT_EQ(web.groups[0].reason, "NodeResourcesFit: Insufficient cpu");
  EXPECT_EQ(web.groups[0].nearest, "NodeResourcesFit: Insufficient cpu (30 requested, 8 free of 8: 22 missing)");
  EXPECT_EQ(web.groups[0].names, (std::vector<std::string>{"b", "a"}));
}

TEST_F(PendingReasonsTest, RoomOfANominatedPodIsFreeForMoreImportantOnesAlone) {
  const auto fits = [this](int priority, const std::string& node = "n1") {
    PodText nominated{"nominated", "3"}, asking{"asking", "3"};
    nominated.spec = "priority: 10, ";
    nominated.status = "nominatedNodeName: " + node;
    asking.spec = "priority: " + std::to_string(priority) + ", ";
    const auto explained = ExplainPodScale(Input(Node("n1", "4") + nominated.Text() + asking.Text()), "asking");
    EXPECT_TRUE(explained) << explained.error().message();
    return base::FindBool(FindArray(explained->json, {"nodes"}).at(0), {"fits"});
  };
  EXPECT_FALSE(fits(0));
  EXPECT_FALSE(fits(10));
  EXPECT_TRUE(fits(11));
  EXPECT_TRUE(fits(0, "gone"));
}

TEST_F(PendingReasonsTest, NodesAreCountedByReasonTheNearestMissFirst) {
  const std::string objects = Node("tainted", "9", "taints: [{key: k, effect: NoSchedule}]") + Node("small", "1") +
                              Node("middle", "2") + Node("large", "3") + PodText{"p", "4"}.Text();
  const auto explained = ExplainPodScale(Input(objects), "p");
  ASSERT_TRUE(explained) << explained.error().message();
  ASSERT_EQ(explained->nodes.size(), 2u);
  EXPECT_EQ(explained->nodes[0].nearest, "NodeResourcesFit: Insufficient cpu (4 requested, 3 free of 3: 1 missing)");
  EXPECT_EQ(explained->nodes[0].names, (std::vector<std::string>{"large", "middle", "small"}));
  EXPECT_EQ(explained->nodes[1].reason, "TaintToleration: node(s) had untolerated taint {k: }");
  EXPECT_EQ(FindArray(explained->json, {"nodes"}).size(), 4u);
  const auto fitting = ExplainPodScale(Input(objects + Node("room", "4")), "p");
  EXPECT_EQ(fitting->nodes[0].names, std::vector<std::string>{"room"});
  EXPECT_EQ(fitting->nodes[0].reason, "");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::pending_reasons_test
