#include "controllers/balancer/member_balancer.h"

#include <set>

#include "client/fake_client_testing.h"
#include "client/fence.h"
#include "controllers/balancer/kinds.h"
#include "controllers/balancer/objects_testing.h"
#include "controllers/balancer/plan_object.h"

namespace evenkeel::controllers::balancer::member_balancer_test {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonObject;
using namespace std::chrono_literals;

/// An API whose evictions are carried out: the pod goes, its controller makes another, a scheduler gives that one a node.
class ClusterClient final : public client::ChangedFakeClient {
 public:
  explicit ClusterClient(std::shared_ptr<client::FakeApi> api) : ChangedFakeClient(std::move(api)) {}
  std::function<base::Status(const std::string& pod)> evict;
  std::function<base::Status()> create;

  base::Result<Json> Post(const kube::Resource& resource, std::string_view ns, std::string_view name,
                          std::string_view subresource, const Json& body) override {
    EVENKEEL_TRY(fake.Post(resource, ns, name, subresource, body));
    EVENKEEL_TRY(evict(std::string(ns) + "/" + std::string(name)));
    return body;
  }
  base::Result<Json> Create(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    if (resource.plural == BalancingPlans().plural) EVENKEEL_TRY(create());
    return fake.Create(resource, object, options);
  }
  base::Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    if (resource.kind == PodMetrics().kind && !usage_answers()) {
      return base::Fail(base::Code::kNotFound, "the server could not find the requested resource");
    }
    return fake.List(resource, options);
  }
  std::function<bool()> usage_answers;
  std::string Describe() const override { return "fake member"; }
};

/// Three nodes of 4 cores; pods of 500m of the Deployment web.
class MemberBalancerTest : public ::testing::Test {
 protected:
  MemberBalancerTest() {
    for (const char* name : {"n1", "n2", "n3"}) Node(name);
    api->Put(kube::resources::ReplicaSets(), testing::ReplicaSetObject("web", 6));
  }
  void Own() {
    member.reset();
    auto own = std::make_unique<ClusterClient>(api);
    own->evict = [this](const std::string& pod) { return Evict(pod); };
    own->usage_answers = [this] { return !usage_refused; };
    own->create = [this]() -> base::Status {
      if (refusals-- > 0) return base::Fail(base::Code::kForbidden, "balancingplans.evenkeel.dev is forbidden");
      return {};
    };
    auto fence = std::make_shared<client::Fence>(executor.clock(), 1);
    fence->Extend(executor.clock().Monotonic() + 1000h);
    MemberBalancerContext context{.clock = executor.clock(), .random = base::Random(1), .metrics = metrics, .host = "replica"};
    member = std::make_unique<runtime::Member>(
        "m", std::move(own), fence, executor, base::Random(1), [] {}, std::vector{NewMemberBalancer(std::move(context))});
  }
  void Policy(const std::string& spec, const std::string& name = "default") {
    api->Put(BalancingPolicies(),
             JsonObject{{"metadata", JsonObject{{"name", name}}}, {"spec", *base::ParseJson(spec, "test")}});
  }
  void Node(const std::string& name, const std::string& labels = "") {
    api->Put(kube::resources::Nodes(), testing::NodeObject(name, "4", labels));
  }
  void Pod(const std::string& name, const std::string& node, const std::string& cpu = "500m",
           const std::string& owner = "web-1") {
    api->Put(kube::resources::Pods(), testing::PodObject(name, node, {.cpu = cpu, .owner = owner}));
  }
  void Skewed() {
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) Pod(name, "n1");
  }

  base::Status Evict(const std::string& key) {
    if (budget == 0 || key == refused)
      return base::Fail(base::Code::kTooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.");
    evicted.push_back(key);
    const Json pod = api->objects["pods"].at(key);
    const std::string to = TargetOf(key);
    timers.push_back(world->PostAfter(2s, [this, key] { api->Remove(kube::resources::Pods(), key); }));
    timers.push_back(world->PostAfter(3s, [this, pod, to, key] {
      const std::string name = "new" + std::to_string(++made);
      api->Put(kube::resources::Pods(),
               testing::PodObject(
                   name, to,
                   {.cpu = std::string(FindString(pod.at("spec").at("containers").at(0), {"resources", "requests", "cpu"})),
                    .owner = std::string(FindString(pod.at("metadata").at("ownerReferences").at(0), {"uid"})),
                    .created = executor.clock().Now()}));
    }));
    return {};
  }
  std::string TargetOf(const std::string& key) {
    for (const auto& [name, plan] : api->objects["balancingplans"]) {
      for (const Json& action : FindArray(plan, {"spec", "actions"})) {
        if (FindString(action, {"pod"}) == key) return std::string(FindString(action, {"to"}));
      }
    }
    return "";
  }
  std::map<std::string, int> PodsPerNode() {
    std::map<std::string, int> count;
    for (const auto& [key, pod] : api->objects["pods"]) ++count[std::string(FindString(pod, {"spec", "nodeName"}))];
    return count;
  }
  std::vector<Json> Plans() {
    std::vector<Json> plans;
    for (const auto& [name, plan] : api->objects["balancingplans"]) plans.push_back(plan);
    return plans;
  }
  std::string Condition(const std::string& type, std::string_view field, const std::string& policy = "default") {
    const Json* condition = kube::FindCondition(api->objects["balancingpolicies"].at(policy), type);
    return condition == nullptr ? "" : std::string(FindString(*condition, {field}));
  }

  base::VirtualExecutor executor{testing::kBegin};
  std::shared_ptr<base::Strand> world = executor.NewStrand("world");
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  base::MetricRegistry registry;
  std::shared_ptr<BalancerMetrics> metrics = std::make_shared<BalancerMetrics>(registry);
  int budget = 1;
  std::string refused;  ///< a pod for which it gives nothing
  int refusals = 0;     ///< of plans
  bool usage_refused = false;
  int made = 0;
  std::vector<std::string> evicted;
  std::vector<base::Timer> timers;
  std::unique_ptr<runtime::Member> member;
};

TEST_F(MemberBalancerTest, WithoutAPolicyNothingHappens) {
  Skewed();
  Own();
  executor.RunFor(10min);
  EXPECT_TRUE(Plans().empty());
  EXPECT_TRUE(evicted.empty());
  EXPECT_TRUE(api->objects["customresourcedefinitions"].contains("balancingpolicies.evenkeel.dev"));
}

TEST_F(MemberBalancerTest, BesideADeschedulerNothingIsMoved) {
  Skewed();
  Policy("{}");
  Own();
  for (int i = 0; i < 100; ++i) {
    api->Put(kube::resources::Leases(),
             JsonObject{{"metadata", JsonObject{{"name", "descheduler"}, {"namespace", "kube-system"}}},
                        {"spec", JsonObject{{"holderIdentity", "d"},
                                            {"leaseDurationSeconds", 137},
                                            {"renewTime", base::FormatMicroTime(executor.clock().Now())}}}});
    executor.RunFor(10s);
  }
  EXPECT_TRUE(Plans().empty());
  EXPECT_EQ(Condition("Balanced", "message"), "a descheduler is at work: Lease kube-system/descheduler of d is renewed");
  executor.RunFor(20min);
  EXPECT_FALSE(Plans().empty()) << "it has been silent for its time";
}

TEST_F(MemberBalancerTest, APlanThatCannotBeWrittenIsMadeAgain) {
  Skewed();
  Policy("{}");
  refusals = 2;
  Own();
  executor.RunFor(2min);
  EXPECT_TRUE(Plans().empty());
  executor.RunFor(20min);
  EXPECT_EQ(PodsPerNode(), (std::map<std::string, int>{{"n1", 2}, {"n2", 2}, {"n3", 2}}));
}

TEST_F(MemberBalancerTest, SkewedLoadEvensOut) {
  Skewed();
  Policy("{}");
  Own();
  executor.RunFor(20min);
  EXPECT_EQ(PodsPerNode(), (std::map<std::string, int>{{"n1", 2}, {"n2", 2}, {"n3", 2}}));
  EXPECT_EQ(Condition("Valid", "status"), "True");
  EXPECT_EQ(Condition("InForce", "status"), "True");
  EXPECT_EQ(Condition("Balanced", "status"), "True") << Condition("Balanced", "message");
  ASSERT_FALSE(Plans().empty());
  for (const Json& plan : Plans()) {
    EXPECT_EQ(FindString(plan, {"status", "phase"}), "Done") << base::ToText(plan);
    EXPECT_TRUE(base::FindBool(plan, {"spec", "approved"}));
    EXPECT_LT(plan.at("spec").at("deviationAfter").to_number<double>(),
              plan.at("spec").at("deviationBefore").to_number<double>());
    for (const Json& action : FindArray(plan, {"spec", "actions"})) EXPECT_FALSE(FindString(action, {"reason"}).empty());
  }
  metrics->Publish();
  EXPECT_TRUE(registry.Render().contains("evenkeel_balancer_moves_total{cluster=\"m\",state=\"Failed\"} 0"))
      << "so that increase() sees the first";
  EXPECT_TRUE(registry.Render().contains("evenkeel_balancer_moves_total{cluster=\"m\",state=\"Landed\"} 4"))
      << registry.Render();
  EXPECT_TRUE(registry.Render().contains("evenkeel_balancer_balanced{cluster=\"m\"} 1"));
  const size_t moved = evicted.size();
  executor.RunFor(1h);
  EXPECT_EQ(evicted.size(), moved) << "what is even stays";
}

TEST_F(MemberBalancerTest, NothingMovesBelowTheActivityThreshold) {
  Skewed();
  Policy(R"({"metrics": [{"name": "cpu", "activityThreshold": "3"}]})");
  Own();
  executor.RunFor(10min);
  EXPECT_TRUE(evicted.empty());
  EXPECT_EQ(Condition("Balanced", "status"), "True");
  Pod("g", "n1");
  executor.RunFor(20min);
  EXPECT_FALSE(evicted.empty()) << "3.5 cores are more";
}

TEST_F(MemberBalancerTest, KeepsToItsThrottles) {
  Skewed();
  Policy(R"({"throttles": {"movements": 1, "window": "30m", "maxShare": 1}})");
  Own();
  executor.RunFor(20min);
  EXPECT_EQ(evicted.size(), 1u);
  Own();  // another replica
  executor.RunFor(5min);
  EXPECT_EQ(evicted.size(), 1u) << "knows it";
  executor.RunFor(10min);
  EXPECT_EQ(evicted.size(), 2u);
}

TEST_F(MemberBalancerTest, ABadPolicyIsRefusedAndChangesNothing) {
  Skewed();
  Policy(R"({"metrics": [{"name": "cpu", "weight": -1}]})");
  Own();
  executor.RunFor(5min);
  EXPECT_TRUE(evicted.empty());
  EXPECT_EQ(Condition("Valid", "status"), "False");
  EXPECT_EQ(Condition("Valid", "message"), "spec.metrics[0].weight: not a number from 0 to 1000000");
  Policy("{}", "second");
  executor.RunFor(1min);
  EXPECT_EQ(Condition("InForce", "status", "second"), "True");
  EXPECT_EQ(Condition("InForce", "message"), "it is not valid");
  EXPECT_EQ(Condition("Balanced", "status"), "Unknown");
  EXPECT_EQ(Condition("Balanced", "reason"), "NotValid");
}

TEST_F(MemberBalancerTest, APolicyThatGoesOutOfForceSaysSo) {
  Pod("a", "n1");
  Policy("{}", "second");
  Own();
  executor.RunFor(1min);
  EXPECT_EQ(Condition("Balanced", "status", "second"), "True");
  EXPECT_EQ(Condition("MetricsAvailable", "status", "second"), "True");
  EXPECT_EQ(Condition("RulesKept", "status", "second"), "True");
  Policy("{}", "first");
  executor.RunFor(1min);
  for (const char* condition : {"Balanced", "MetricsAvailable", "RulesKept"}) {
    EXPECT_EQ(Condition(condition, "status", "second"), "Unknown") << condition;
    EXPECT_EQ(Condition(condition, "reason", "second"), "NotInForce") << condition;
    EXPECT_EQ(Condition(condition, "message", "second"), "policy first is in force") << condition;
  }
  EXPECT_EQ(Condition("Balanced", "status", "first"), "True");
}

TEST_F(MemberBalancerTest, AMetricThatNobodyHasIsACondition) {
  Skewed();
  Policy(R"({"metrics": [{"name": "cpus"}, {"name": "sessions", "source": "Annotation"}]})");
  Own();
  executor.RunFor(1min);
  EXPECT_EQ(Condition("Valid", "status"), "True");
  EXPECT_EQ(Condition("MetricsAvailable", "status"), "False");
  EXPECT_EQ(Condition("MetricsAvailable", "reason"), "NoSuchResource");
  EXPECT_EQ(Condition("MetricsAvailable", "message"),
            "spec.metrics[0]: no node has the resource \"cpus\", and no pod requests it; nodes have cpu, memory, pods; "
            "spec.metrics[1]: no pod has \"sessions\" in its annotation evenkeel.dev/load");
  Policy(R"({"metrics": [{"name": "cpu"}]})");
  executor.RunFor(1min);
  EXPECT_EQ(Condition("MetricsAvailable", "status"), "True");
}

TEST_F(MemberBalancerTest, ASourceThatDoesNotAnswerIsACondition) {
  Skewed();
  Policy(R"({"metrics": [{"name": "cpu", "source": "Usage"}]})");
  usage_refused = true;
  Own();
  executor.RunFor(1min);
  EXPECT_EQ(Condition("MetricsAvailable", "status"), "False");
  EXPECT_EQ(Condition("MetricsAvailable", "reason"), "NoUsage");
  EXPECT_EQ(Condition("MetricsAvailable", "message"),
            "spec.metrics[0]: the metrics API does not answer, and requests count meanwhile: the server could not find the "
            "requested resource");
}

TEST_F(MemberBalancerTest, APodWhoseNodeNoLongerSuitsItIsMoved) {
  Json pod = testing::PodObject("a", "n1", {.owner = "web-1"});
  base::Ensure(pod, {"spec", "nodeSelector"}) = JsonObject{{"disk", "ssd"}};
  api->Put(kube::resources::Pods(), pod);
  Policy("{}");
  Own();
  executor.RunFor(1min);
  EXPECT_TRUE(evicted.empty());
  EXPECT_EQ(Condition("RulesKept", "status"), "False");
  EXPECT_EQ(Condition("RulesKept", "reason"), "PodsStay");
  EXPECT_EQ(Condition("RulesKept", "message"),
            "pod default/a: spec.nodeSelector is not kept on n1: the labels of the node do not match it; it stays, since every "
            "other node is ruled out: 2 (no pod that may move may run there)");
  Node("n2", "disk=ssd");
  executor.RunFor(1min);
  EXPECT_EQ(evicted, std::vector<std::string>{"default/a"});
  ASSERT_EQ(Plans().size(), 1u);
  EXPECT_EQ(FindString(Plans()[0], {"spec", "phase"}), "ConstraintCheck");
  EXPECT_EQ(FindString(Plans()[0], {"status", "phase"}), "Done");
  EXPECT_EQ(PodsPerNode(), (std::map<std::string, int>{{"n2", 1}}));
  EXPECT_EQ(Condition("RulesKept", "status"), "True");
}

/// The tests begin at 08:00.
TEST_F(MemberBalancerTest, NothingMovesOutsideOfTheWindows) {
  Skewed();
  Policy(R"({"windows": [{"from": "09:00", "to": "10:00"}]})");
  Own();
  executor.RunFor(30min);
  EXPECT_TRUE(evicted.empty());
  EXPECT_TRUE(Plans().empty());
  EXPECT_EQ(Condition("Balanced", "reason"), "Waiting");
  EXPECT_TRUE(
      Condition("Balanced", "message").starts_with("moves begin only within spec.windows, the next of which begins at "))
      << Condition("Balanced", "message");
  executor.RunFor(45min);
  EXPECT_EQ(PodsPerNode(), (std::map<std::string, int>{{"n1", 2}, {"n2", 2}, {"n3", 2}}));
}

TEST_F(MemberBalancerTest, AnApprovedPlanWaitsForAWindow) {
  Skewed();
  Policy(R"({"dryRun": true, "windows": [{"from": "09:00", "to": "10:00"}]})");
  Own();
  executor.RunFor(5min);
  ASSERT_EQ(Plans().size(), 1u) << "which moves nothing by itself";
  Json plan = Plans()[0];
  base::Ensure(plan, {"spec", "approved"}) = true;
  api->Put(BalancingPlans(), plan);
  executor.RunFor(30min);
  EXPECT_TRUE(evicted.empty());
  const auto status = [&](std::string_view field) {
    return std::string(FindString(api->objects["balancingplans"].at(std::string(kube::NameOf(plan))), {"status", field}));
  };
  EXPECT_TRUE(status("message").starts_with("moves begin only within spec.windows")) << status("message");
  executor.RunFor(30min);
  EXPECT_FALSE(evicted.empty());
  EXPECT_EQ(status("phase"), "Done");
}

/// A budget that gives nothing must not hold up the rest.
TEST_F(MemberBalancerTest, AMoveThatTheBudgetRefusesLetsTheBalanceHaveItsTurn) {
  Node("n2", "disk=ssd");
  Json pod = testing::PodObject("x", "n1", {.cpu = "10m", .owner = "odd-1"});
  base::Ensure(pod, {"spec", "nodeSelector"}) = JsonObject{{"disk", "ssd"}};
  api->Put(kube::resources::ReplicaSets(), testing::ReplicaSetObject("odd", 1));
  api->Put(kube::resources::Pods(), pod);
  Skewed();
  refused = "default/x";
  Policy("{}");
  Own();
  executor.RunFor(20min);
  EXPECT_FALSE(evicted.empty());
  EXPECT_EQ(std::ranges::find(evicted, "default/x"), evicted.end());
  EXPECT_EQ(Condition("Balanced", "status"), "True") << Condition("Balanced", "message");
}

TEST_F(MemberBalancerTest, ADryRunIsCarriedOutWhenApprovedAndOnlyThen) {
  Skewed();
  Policy(R"({"dryRun": true})");
  Own();
  executor.RunFor(10min);
  EXPECT_TRUE(evicted.empty());
  ASSERT_EQ(Plans().size(), 1u);
  Json plan = Plans()[0];
  EXPECT_FALSE(base::FindBool(plan, {"spec", "approved"}, true));
  std::set<std::string> planned;
  for (const Json& action : FindArray(plan, {"spec", "actions"})) planned.emplace(FindString(action, {"pod"}));
  base::Ensure(plan, {"spec", "approved"}) = true;
  api->Put(BalancingPlans(), plan);
  executor.RunFor(3min);
  EXPECT_EQ(std::set<std::string>(evicted.begin(), evicted.end()), planned);
  EXPECT_EQ(FindString(api->objects["balancingplans"].at(std::string(kube::NameOf(plan))), {"status", "phase"}), "Done");
}

TEST_F(MemberBalancerTest, APlanThatIsOutdatedIsRefused) {
  Skewed();
  Policy(R"({"dryRun": true})");
  Own();
  executor.RunFor(5min);
  ASSERT_EQ(Plans().size(), 1u);
  const Json plan = Plans()[0];
  const std::string pod(FindString(FindArray(plan, {"spec", "actions"}).at(0), {"pod"}));
  api->Remove(kube::resources::Pods(), pod);
  executor.RunFor(20s);
  const Json& now = api->objects["balancingplans"].at(std::string(kube::NameOf(plan)));
  EXPECT_EQ(FindString(now, {"status", "phase"}), "Refused");
  EXPECT_EQ(FindString(now, {"status", "message"}), "not what was planned any more: pod " + pod + ": it is gone");
  EXPECT_TRUE(evicted.empty());
}

TEST_F(MemberBalancerTest, AnotherReplicaGoesOnWithThePlan) {
  Skewed();
  Policy("{}");
  Own();
  ASSERT_TRUE(executor.RunUntil([&] { return evicted.size() == 1; }, 10min));
  executor.RunFor(500ms);
  Own();
  executor.RunFor(1min);
  const auto phases = [&] {
    std::set<std::string> all;
    for (const Json& plan : Plans()) all.emplace(FindString(plan, {"status", "phase"}));
    return all;
  };
  EXPECT_EQ(phases(), std::set<std::string>{"Done"});
  EXPECT_EQ(std::set<std::string>(evicted.begin(), evicted.end()).size(), evicted.size()) << "no pod is evicted twice";
}

TEST_F(MemberBalancerTest, PlansThatNothingCountsGoButForTheLastOnes) {
  const auto ended = [&](const std::string& name, base::Time at, std::optional<base::Time> moved) {
    PlanObject plan;
    plan.policy = "default";
    plan.moves.emplace_back().pod = "default/x";
    plan.state = PlanPhase::kDone;
    plan.finished_at = at;
    MoveStatus& move = plan.status.emplace_back();
    move.state = MoveState::kLanded;
    move.evicted_at = moved;
    const Json meta = JsonObject{
        {"name", name}, {"creationTimestamp", base::FormatTime(at)}, {"labels", JsonObject{{kManagedByLabel, kManagedBy}}}};
    api->Put(BalancingPlans(), JsonObject{{"metadata", meta}, {"spec", plan.Spec()}, {"status", plan.Status()}});
  };
  const base::Time now = executor.clock().Now();
  ended("of-long-ago", now - 2h, now - 2h);
  ended("counts", now - 50min, now - 29min);
  for (int i = 10; i < 22; ++i) ended("plan-" + std::to_string(i), now - 40min + i * 1min, std::nullopt);
  Pod("a", "n1");
  Policy(R"({"throttles": {"window": "30m"}})");
  Own();
  executor.RunFor(30s);
  std::set<std::string> left;
  for (const Json& plan : Plans()) left.emplace(kube::NameOf(plan));
  EXPECT_EQ(left, (std::set<std::string>{"counts", "plan-12", "plan-13", "plan-14", "plan-15", "plan-16", "plan-17", "plan-18",
                                         "plan-19", "plan-20", "plan-21"}));
  executor.RunFor(1min);
  EXPECT_EQ(Plans().size(), 10u) << "its move has left the window, and it is the oldest";
}

TEST_F(MemberBalancerTest, ABudgetHoldsIt) {
  budget = 0;
  Skewed();
  Policy("{}");
  Own();
  executor.RunFor(2min);
  EXPECT_TRUE(evicted.empty());
  ASSERT_EQ(Plans().size(), 1u);
  EXPECT_EQ(FindString(FindArray(Plans()[0], {"status", "actions"}).at(0), {"state"}), "Evicting");
  budget = 1;
  executor.RunFor(1min);
  EXPECT_FALSE(evicted.empty());
}

TEST_F(MemberBalancerTest, OnlyTheUnevenNodeTypeIsTouched) {
  for (const char* name : {"n1", "n2", "n3"}) Node(name, "pool=a");
  for (const char* name : {"m1", "m2"}) Node(name, "pool=b");
  Skewed();
  for (const char* name : {"u", "v"}) {
    Pod(std::string(name) + "1", "m1");
    Pod(std::string(name) + "2", "m2");
  }
  Policy(R"({"nodeTypeLabel": "pool"})");
  Own();
  executor.RunFor(20min);
  const auto pods = PodsPerNode();
  EXPECT_EQ(pods.at("m1"), 2);
  EXPECT_EQ(pods.at("m2"), 2);
  EXPECT_EQ(pods.at("n1"), 2);
  for (const std::string& pod : evicted) EXPECT_FALSE(pod.contains("/u") || pod.contains("/v")) << pod;
}

TEST_F(MemberBalancerTest, ANodeAboveItsBufferedCapacityIsRelieved) {
  for (int i = 0; i < 8; ++i) Pod("p" + std::to_string(i), "n1", "450m");
  for (int i = 0; i < 4; ++i) Pod("q" + std::to_string(i), "n2", "450m");
  Policy(R"({"metrics": [{"name": "cpu", "balancingThreshold": 0, "nodeBuffer": 0.25}]})");
  Own();
  executor.RunFor(10min);
  EXPECT_LE(PodsPerNode().at("n1") * 450, 3000) << Condition("Balanced", "message");
  ASSERT_FALSE(Plans().empty());
  EXPECT_EQ(FindString(Plans()[0], {"spec", "phase"}), "ConstraintCheck");
}

TEST_F(MemberBalancerTest, NothingMovesWhilePodsWaitForNodes) {
  Skewed();
  Pod("waits", "", "100");
  Policy("{}");
  Own();
  executor.RunFor(10min);
  EXPECT_TRUE(evicted.empty());
  EXPECT_EQ(Condition("Balanced", "reason"), "Waiting");
  EXPECT_EQ(Condition("Balanced", "message"), "pod default/waits waits for a node");
}

}  // namespace
}  // namespace evenkeel::controllers::balancer::member_balancer_test
