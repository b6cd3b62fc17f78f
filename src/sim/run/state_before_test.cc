// What a fleet of the version before has written down for itself, and that this version goes on from there.
// tests/golden/state/fleet.txt holds the stores of a hub and two members at one instant in virtual time, in the middle of
// everything:
//  - member-1: nodes are unneeded, scale-down cools down after a scale-up, and the node group `stuck` is backed off;
//  - member-2: a BalancingPlan has been carried out by half.
// tests/golden/state/ensemble_fields.txt names the fields of all that was written down for it then, also in members.
// With EVENKEEL_RENEW_STATE set this version writes the file instead: for a release, of which the next one is to be a
// successor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "base/input/file.h"
#include "base/json.h"
#include "client/client.h"
#include "controllers/autoscaler/member/state_store.h"
#include "controllers/autoscaler/options/flags.h"
#include "controllers/balancer/kinds.h"
#include "controllers/balancer/plan_object.h"
#include "controllers/distribution/leases/owner_lease_record.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "embedded/cloud/cloud_provider.h"
#include "embedded/cloud/node_group_definition.h"
#include "sim/run/simulated_controllers.h"
#include "sim/run/simulation.h"
#include "sim/run/workload_driver.h"
#include "sim/world/fleet.h"

namespace evenkeel::sim::state_before_test {
namespace {

namespace autoscaler = controllers::autoscaler;
namespace balancer = controllers::balancer;
namespace distribution = controllers::distribution;
using base::FindInt;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using namespace std::chrono_literals;

constexpr char kFile[] = "tests/golden/state/fleet.txt";
constexpr char kRolloutFile[] = "tests/golden/contracts/inputs/rollout-under-way.json";
constexpr char kEnsembleFile[] = "tests/golden/state/ensemble_fields.txt";
constexpr base::Duration kUnneededTime = 10min, kCoolDown = 14min, kBackoff = 20min;
/// More than a loop of the autoscaler, and the time that a deletion takes.
constexpr base::Duration kSoon = 40s;

autoscaler::Options AutoscalerOptions() {
  const std::vector<autoscaler::FlagValue> flags = {{"scan-interval", "5s"},
                                                    {"scale-down-unneeded-time", base::FormatDuration(kUnneededTime)},
                                                    {"scale-down-delay-after-add", base::FormatDuration(kCoolDown)},
                                                    {"initial-node-group-backoff-duration", base::FormatDuration(kBackoff)}};
  auto applied = autoscaler::ApplyFlags(flags);
  EVENKEEL_CHECK(applied.has_value());
  return std::move(applied->options);
}

/// A fleet of two members and two replicas that run autoscaler and balancer.
class StateBeforeTest : public ::testing::Test {
 protected:
  using Stored = std::map<std::string, std::map<std::string, std::string>>;  ///< {API: {key: value}}

  void Open(uint64_t seed, base::Time start, Stored stored) {
    fleet_ = std::make_unique<Fleet>(FleetOptions{.seed = seed,
                                                  .start = start,
                                                  .stored = std::move(stored),
                                                  .members = 2,
                                                  .nodes_min = 0,
                                                  .nodes_max = 0,
                                                  .cloud = true});
    ASSERT_TRUE(fleet_->Start());
    writes_ = std::make_unique<WritesChecker>();
  }
  void StartReplicas(const std::vector<std::string>& hosts = {"replica-1", "replica-2"}) {
    for (const std::string& host : hosts) {
      ReplicaSettings settings{.user = host + "/1"};
      settings.options.host_name = host;
      settings.controllers = [this](Replica& replica) {
        const ControllerContext context{
            .user = replica.user(),
            .random = replica.random(),
            .clock = replica.process().clock(),
            .writes = *writes_,
            .autoscaler = autoscaler_,
            .cloud = [](const auto&, client::Client& client) { return embedded::cloud::NewCloudProvider(client); },
            .nodes_elsewhere = {},
            .probe = {},
            .forms = {}};
        return NewSimulatedControllers(context, {"autoscaler", "balancer"});
      };
      replicas_[host] = std::make_unique<Replica>(fleet_->replica_context(), std::move(settings), fleet_->random().Fork(host));
      replicas_[host]->Start();
    }
  }
  void TearDown() override {
    replicas_.clear();
    if (fleet_) fleet_->Stop();
  }

  client::Client& at(const std::string& api) {
    for (const auto& server : fleet_->servers()) {
      if (server->name() == api) return server->client();
    }
    EVENKEEL_CHECK(false);
  }
  base::Time now() { return fleet_->executor().clock().Now(); }
  /// The hosts that may write to the member.
  std::set<std::string> OwnersOf(const std::string& member) {
    std::set<std::string> owners;
    for (const auto& [host, replica] : replicas_) {
      const auto owned = replica->status().owned;
      if (std::ranges::find(owned, member) != owned.end()) owners.insert(host);
    }
    return owners;
  }
  /// {member: the host that the hub's plan names}.
  std::map<std::string, std::string> PlannedOwners() {
    std::map<std::string, std::string> owners;
    const Json object = at("hub").Get(distribution::ShardPlans(), "evenkeel", distribution::kShardPlanName).value_or(Json());
    const auto plan = distribution::PublishedPlan::Decode(object);
    for (const auto& item : plan.assignments) {
      const auto* shard = plan.FindShard(item.shard);
      owners[item.cluster] = shard == nullptr ? "" : shard->host;
    }
    return owners;
  }
  size_t NodesOf(const std::string& member) {
    const auto nodes = client::ListAll(at(member), kube::resources::Nodes());
    return nodes ? nodes->items.size() : 0;
  }
  int64_t TargetOf(const std::string& member, const std::string& group) {
    return FindInt(at(member).Get(embedded::cloud::NodeGroups(), "", group).value_or(Json()), {"spec", "targetSize"});
  }
  /// What member-1's autoscaler has written down.
  Json Memory() {
    const Json object =
        at("member-1").Get(kube::resources::ConfigMaps(), "kube-system", autoscaler::kStateConfigMap).value_or(Json());
    return base::ParseJson(FindString(object, {"data", "state"}), "state").value_or(Json());
  }
  std::vector<balancer::PlanObject> Plans() {
    std::vector<balancer::PlanObject> plans;
    const auto objects = client::ListAll(at("member-2"), balancer::BalancingPlans());
    if (!objects) return plans;
    for (const Json& object : objects->items) plans.push_back(balancer::PlanObject::Decode(object));
    return plans;
  }
  int64_t EpochOf(const std::string& member) {
    const auto lease = at(member).Get(kube::resources::Leases(), "kube-system", "evenkeel-owner");
    return lease ? distribution::OwnerRecord::Decode(*lease).epoch : 0;
  }

  /// Brings a fleet into the middle of everything.
  void Make();
  Stored StoredNow();
  void Write();
  void Read();

  const autoscaler::Options autoscaler_ = AutoscalerOptions();
  std::unique_ptr<WritesChecker> writes_;
  std::unique_ptr<Fleet> fleet_;
  std::map<std::string, std::unique_ptr<Replica>> replicas_;
  Stored before_;  ///< what has been read
};

Json Deployment(const std::string& name, int replicas, const std::string& cpu) {
  Json object = kube::NewObject(kube::resources::Deployments(), "default", name);
  const JsonObject labels{{"app", name}};
  const JsonObject container{{"name", "main"},
                             {"image", "simulated"},
                             {"resources", JsonObject{{"requests", JsonObject{{"cpu", cpu}, {"memory", "64Mi"}}}}}};
  base::Ensure(object, {"spec"}) = JsonObject{
      {"replicas", replicas},
      {"selector", JsonObject{{"matchLabels", labels}}},
      {"template",
       JsonObject{{"metadata", JsonObject{{"labels", labels}}},
                  {"spec", JsonObject{{"containers", JsonArray{container}}, {"terminationGracePeriodSeconds", 5}}}}}};
  return object;
}

Json Spec(JsonObject fields) { return JsonObject{{"spec", std::move(fields)}}; }

bool IsHalfDone(const std::vector<balancer::PlanObject>& plans) {
  if (plans.size() != 1 || plans.front().state != balancer::PlanPhase::kExecuting) return false;
  std::map<balancer::MoveState, int> states;
  for (const auto& status : plans.front().status) ++states[status.state];
  return states[balancer::MoveState::kLanded] > 0 && states[balancer::MoveState::kEvicted] > 0 &&
         states[balancer::MoveState::kWaiting] > 0;
}

/// What every cluster makes for itself when it starts, and what is only told.
bool IsLeftOut(std::string_view key) {
  for (const std::string_view part : {"/events/", "/clusterroles/", "/clusterrolebindings/", "/roles/", "/rolebindings/"}) {
    if (key.contains(part)) return true;
  }
  return false;
}

void StateBeforeTest::Make() {
  Open(1, kFleetStart, {});
  const auto create = [this](const std::string& member, const kube::Resource& resource, const Json& object) {
    const auto created = at(member).Create(resource, object);
    ASSERT_TRUE(created) << created.error().message();
  };
  const auto patch = [this](const std::string& member, const kube::Resource& resource, const std::string& ns,
                            const std::string& name, JsonObject spec) {
    const auto patched = at(member).Patch(resource, ns, name, client::PatchType::kMerge, Spec(std::move(spec)));
    ASSERT_TRUE(patched) << patched.error().message();
  };
  const kube::Resource& groups = embedded::cloud::NodeGroups();
  create("member-1", groups,
         NodeGroupOf(
             {.name = "small", .cpu = "2", .min = 1, .max = 6, .price = {}, .provision_delay = 10s, .quota = {}, .zone = {}}));
  create("member-1", groups,
         NodeGroupOf({.name = "stuck", .cpu = "8", .max = 2, .price = {}, .provision_delay = 10s, .quota = 0, .zone = {}}));
  create("member-2", groups,
         NodeGroupOf(
             {.name = "even", .cpu = "8", .min = 1, .max = 3, .price = {}, .provision_delay = 10s, .quota = {}, .zone = {}}));
  ASSERT_TRUE(balancer::InstallDefinitions(at("member-2")));
  Json policy = BalancingPolicyOf({.movements = 100, .window = 10min, .interval = 5s, .threshold = 1.1});
  base::Ensure(policy, {"spec", "throttles", "inFlight"}) = 1;
  create("member-2", balancer::BalancingPolicies(), policy);
  create("member-1", kube::resources::Deployments(), Deployment("web", 8, "500m"));
  create("member-1", kube::resources::Deployments(), Deployment("wide", 1, "6"));
  create("member-2", kube::resources::Deployments(), Deployment("work", 12, "500m"));
  StartReplicas();
  fleet_->executor().RunFor(2min);
  patch("member-1", kube::resources::Deployments(), "default", "web", {{"replicas", 1}});
  fleet_->executor().RunFor(6min);
  patch("member-2", groups, "", "even", {{"minSize", 3}, {"targetSize", 3}});
  ASSERT_TRUE(fleet_->executor().RunUntil([this] { return IsHalfDone(Plans()); }, 3min));
}

StateBeforeTest::Stored StateBeforeTest::StoredNow() {
  Stored stored;
  for (const auto& server : fleet_->servers()) {
    const auto all = server->store().List({});
    for (const auto& item : all ? all->items : std::vector<embedded::store::KeyValue>()) {
      if (!IsLeftOut(item.key)) stored[server->name()][item.key] = *item.value;
    }
  }
  return stored;
}

void StateBeforeTest::Write() {
  std::string text = "at\t" + base::FormatMicroTime(now()) + "\n";
  for (const auto& [api, items] : StoredNow()) {
    for (const auto& [key, value] : items) text += api + "\t" + key + "\t" + value + "\n";
  }
  ASSERT_TRUE(base::WriteFile(kFile, text));
}

void StateBeforeTest::Read() {
  const auto text = base::ReadFile(kFile);
  ASSERT_TRUE(text) << text.error().message();
  base::Time at{};
  std::istringstream lines(*text);
  for (std::string api, key, value; std::getline(lines, api, '\t');) {
    if (api == "at") {
      ASSERT_TRUE(std::getline(lines, value));
      at = base::ParseTime(value).value_or(base::Time{});
      continue;
    }
    ASSERT_TRUE(std::getline(lines, key, '\t') && std::getline(lines, value));
    before_[api][key] = value;
  }
  ASSERT_EQ(before_.size(), 3u);
  Open(2, at, before_);
}

/// Adds the path of each field. A name of a node or of a group is *, of an array's items [].
void AddPaths(const Json& value, const std::string& path, std::set<std::string>& paths) {
  static const std::regex kNames(R"(\b(small|stuck|even)\b(-[0-9]+)?|\bwork-[0-9a-z-]+)");
  if (value.is_object()) {
    for (const auto& [key, item] : value.as_object()) {
      AddPaths(item, path + "." + std::regex_replace(std::string(key), kNames, "*"), paths);
    }
  } else if (value.is_array()) {
    for (const Json& item : value.as_array()) AddPaths(item, path + "[]", paths);
  } else {
    paths.insert(path);
  }
}

constexpr char kEnsemble[] = R"(
name: state
members: 3
nodes: 3
replicas: 1
controllers: [zookeeper]
duration: 4m
quiet: 0s
ensemble: {voters: {min: 5, max: 5}, clusters: {min: 3, max: 3}, period: 45s, broken: 0}
)";

/// What the hub holds of the ensemble as soon as one of its clusters has been changed, another is being changed and a third
/// waits; "" until then.
std::string RolloutUnderWay(Fleet& fleet) {
  JsonArray items;
  bool under_way = false;
  const auto stored = fleet.hub().store().List({});
  for (const auto& item : stored ? stored->items : std::vector<embedded::store::KeyValue>()) {
    Json object = base::ParseJson(*item.value, item.key).value_or(Json());
    const auto kind = FindString(object, {"kind"});
    if (kind != "MultiClusterZooKeeper" && kind != "ZooKeeper" && kind != "ResourceBinding" && kind != "OverridePolicy" &&
        kind != "PropagationPolicy" && kind != "ServiceExport") {
      continue;
    }
    const JsonArray& records = base::FindArray(object, {"status", "records"});
    if (records.size() > 1) {
      const Json& last = records.back();
      const auto count = [&last](std::string_view where) { return base::FindArray(last, {"currentState", where}).size(); };
      under_way = count("deploying") == 1 && count("completed") == 1 && count("pending") == 1;
    }
    items.push_back(std::move(object));
  }
  return under_way ? base::ToText(JsonObject{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}}) : "";
}

/// Kinds that replicas write for an ensemble. Others follow from these.
const std::set<std::string> kOfEnsembles = {
    "ConfigMap",     "MultiClusterZooKeeper", "OverridePolicy", "PodDisruptionBudget", "PropagationPolicy", "Secret", "Service",
    "ServiceExport", "StatefulSet",           "ZooKeeper"};

/// What is written down for an ensemble while its servers are being changed.
struct EnsembleState {
  std::string hub;     ///< see RolloutUnderWay
  std::string fields;  ///< of objects of the ensemble, on the hub and in its members, a line each
};

EnsembleState ChangeAnEnsemble() {
  const auto scenario = ParseScenario(kEnsemble, "test");
  EXPECT_TRUE(scenario) << scenario.error().message();
  EnsembleState state;
  Simulation* running = nullptr;
  const auto look = [&](base::Duration) {
    if (!state.hub.empty() || (state.hub = RolloutUnderWay(running->fleet())).empty()) return;
    std::set<std::string> paths;
    for (const auto& server : running->fleet().servers()) {
      const auto stored = server->store().List({});
      for (const auto& item : stored ? stored->items : std::vector<embedded::store::KeyValue>()) {
        const Json object = base::ParseJson(*item.value, item.key).value_or(Json());
        const std::string kind(FindString(object, {"kind"}));
        if (FindString(object, {"metadata", "namespace"}) == "data" && kOfEnsembles.contains(kind)) {
          AddPaths(object, (server->name() == kHub ? "hub " : "member ") + kind, paths);
        }
      }
    }
    for (const std::string& path : paths) state.fields += path + "\n";
  };
  Simulation simulation(*scenario, {.seed = 1, .on_second = look});
  running = &simulation;
  EXPECT_TRUE(simulation.Run().passed());
  EXPECT_FALSE(state.hub.empty());
  return state;
}

TEST_F(StateBeforeTest, IsWrittenWhenThatIsAskedFor) {
  if (std::getenv("EVENKEEL_RENEW_STATE") == nullptr) GTEST_SKIP() << "EVENKEEL_RENEW_STATE is not set";
  ASSERT_NO_FATAL_FAILURE(Make());
  Write();
  const EnsembleState state = ChangeAnEnsemble();
  ASSERT_TRUE(base::WriteFile(kRolloutFile, state.hub + "\n"));
  ASSERT_TRUE(base::WriteFile(kEnsembleFile, state.fields));
}

TEST_F(StateBeforeTest, EnsemblesAreWrittenDownInTheSameFieldsAsBefore) {
  const auto before = base::ReadFile(kEnsembleFile);
  ASSERT_TRUE(before) << before.error().message();
  EXPECT_EQ(ChangeAnEnsemble().fields, *before);
}

TEST_F(StateBeforeTest, EachReplicaKeepsItsMembersAndNoneHasTwoOwners) {
  ASSERT_NO_FATAL_FAILURE(Read());
  const auto owners = PlannedOwners();
  ASSERT_EQ(owners.size(), 2u);
  std::map<std::string, int64_t> epochs;
  for (const auto& [member, host] : owners) {
    EXPECT_FALSE(host.empty()) << member;
    epochs[member] = EpochOf(member);
    EXPECT_GT(epochs[member], 0) << member;
  }
  StartReplicas();
  for (int second = 0; second < 120; ++second) {
    fleet_->executor().RunFor(1s);
    for (const auto& [member, host] : owners) {
      const auto found = OwnersOf(member);
      EXPECT_TRUE(found.empty() || found == std::set{host}) << member << " after " << second << " s";
    }
  }
  EXPECT_EQ(PlannedOwners(), owners);
  for (const auto& [member, host] : owners) {
    EXPECT_EQ(OwnersOf(member), std::set{host}) << member;
    EXPECT_GT(EpochOf(member), epochs[member]) << member << ": writes of the tenure before must be told from those of this one";
  }
}

TEST_F(StateBeforeTest, OtherReplicasTakeTheMembersOverAndNoneHasTwoOwners) {
  ASSERT_NO_FATAL_FAILURE(Read());
  std::map<std::string, int64_t> epochs;
  for (const std::string member : {"member-1", "member-2"}) epochs[member] = EpochOf(member);
  StartReplicas({"replica-3", "replica-4"});
  for (int second = 0; second < 120; ++second) {
    fleet_->executor().RunFor(1s);
    for (const auto& [member, epoch] : epochs) EXPECT_LE(OwnersOf(member).size(), 1u) << member << " after " << second << " s";
  }
  for (const auto& [member, epoch] : epochs) {
    EXPECT_EQ(OwnersOf(member).size(), 1u) << member;
    EXPECT_GT(EpochOf(member), epoch) << member;
  }
}

/// Of all objects that replicas write for themselves and each other.
std::set<std::string> FieldsOf(const std::map<std::string, std::map<std::string, std::string>>& stored) {
  std::set<std::string> paths;
  for (const auto& [api, items] : stored) {
    for (const auto& [key, text] : items) {
      const auto names = [&key](const char* part) { return key.contains(part); };
      if (!names("/shardplans/") && !names("/shardreplicas/") && !names("/balancingplans/") && !names("/balancingpolicies/") &&
          !names("/evenkeel-") && !names("/cluster-autoscaler-status")) {
        continue;
      }
      const Json object = base::ParseJson(text, key).value_or(Json());
      const std::string kind(FindString(object, {"kind"}));
      AddPaths(object, kind, paths);
      const auto state = base::ParseJson(FindString(object, {"data", "state"}), key);
      if (state) AddPaths(*state, kind + ".data.state", paths);
    }
  }
  return paths;
}

/// Parts of the autoscaler's memory that the version before has not got: it reads by name, and does without them.
bool PassedOver(const std::string& field) {
  static constexpr std::string_view kParts[] = {"nextNode", "templates", "unremovable",          "hints",
                                                "moves",    "podMoves",  "scaleDown.lastUpdate", "scaleDown.shortestInterval"};
  return std::ranges::any_of(kParts, [&](std::string_view part) {
    const std::string path = "ConfigMap.data.state." + std::string(part);
    return field == path || field.starts_with(path + ".");
  });
}

// So replicas of both versions can share a fleet during an update as replicas of one do (tests/scenarios/faults.yaml). What
// rollouts of ensembles write down has versions of its own (controllers/rollout/zookeeper/spec/forms.h,
// tests/scenarios/versions.yaml); whoever changes what is written here needs such, too.
TEST_F(StateBeforeTest, TheSameFieldsAreWrittenAsBefore) {
  ASSERT_NO_FATAL_FAILURE(Read());
  fleet_->Stop();
  ASSERT_NO_FATAL_FAILURE(Make());
  const auto before = FieldsOf(before_), now = FieldsOf(StoredNow());
  EXPECT_GT(before.size(), 100u);
  std::vector<std::string> gone, more;
  std::ranges::set_difference(before, now, std::back_inserter(gone));
  std::ranges::set_difference(now, before, std::back_inserter(more));
  EXPECT_EQ(gone, std::vector<std::string>()) << "who reads them?";
  std::erase_if(more, PassedOver);
  EXPECT_EQ(more, std::vector<std::string>()) << "does the version before pass over them?";
}

TEST_F(StateBeforeTest, TheAutoscalerGoesOnWithItsTimes) {
  ASSERT_NO_FATAL_FAILURE(Read());
  const Json memory = Memory();
  const auto time = [&](std::initializer_list<std::string_view> path) {
    return base::ParseTime(FindString(memory, path)).value_or(base::Time{});
  };
  const base::Time cool = time({"scaleDown", "coolDown", "lastScaleUp"}) + kCoolDown;
  const base::Time backoff = time({"cluster", "backoff", "stuck", "until"});
  base::Time unneeded{};
  for (const auto& [node, since] : base::FindObject(memory, {"scaleDown", "unneeded"})) {
    unneeded = std::max(unneeded, time({"scaleDown", "unneeded", node}) + kUnneededTime);
  }
  // Otherwise the test shows nothing.
  ASSERT_GT(unneeded, now() + 1min);
  ASSERT_GT(cool, unneeded + 20s);
  ASSERT_GT(backoff, cool + 1min);
  ASSERT_LT(cool, now() + kUnneededTime - kSoon);
  // From now on there is room for what has failed.
  const auto patched = at("member-1")
                           .Patch(embedded::cloud::NodeGroups(), "", "stuck", client::PatchType::kMerge,
                                  Spec({{"cloud", JsonObject{{"quota", nullptr}}}}));
  ASSERT_TRUE(patched) << patched.error().message();
  const size_t nodes = NodesOf("member-1");
  StartReplicas();
  fleet_->executor().RunFor(cool - now() - 1s);
  EXPECT_EQ(NodesOf("member-1"), nodes) << "the cool-down holds";
  EXPECT_TRUE(fleet_->executor().RunUntil([&] { return NodesOf("member-1") < nodes; }, kSoon))
      << "they have been unneeded since before";
  fleet_->executor().RunFor(backoff - now() - 1s);
  EXPECT_EQ(TargetOf("member-1", "stuck"), 0) << "the back-off holds";
  EXPECT_TRUE(fleet_->executor().RunUntil([&] { return TargetOf("member-1", "stuck") == 1; }, kSoon))
      << "and ends when it was to";
}

TEST_F(StateBeforeTest, ABalancingPlanInItsMiddleGoesOn) {
  ASSERT_NO_FATAL_FAILURE(Read());
  const auto before = Plans();
  ASSERT_TRUE(IsHalfDone(before));
  StartReplicas();
  ASSERT_TRUE(fleet_->executor().RunUntil(
      [this] {
        const auto plans = Plans();
        return !plans.empty() && balancer::IsFinal(plans.front().state);
      },
      5min));
  const balancer::PlanObject plan = Plans().front();
  EXPECT_EQ(plan.uid, before.front().uid);
  EXPECT_EQ(plan.state, balancer::PlanPhase::kDone) << plan.message;
  EXPECT_EQ(plan.moves, before.front().moves);
  for (size_t i = 0; i < plan.status.size(); ++i) {
    EXPECT_EQ(plan.status[i].state, balancer::MoveState::kLanded) << i << ": " << plan.status[i].message;
    if (before.front().status[i].state == balancer::MoveState::kLanded) {
      EXPECT_EQ(plan.status[i], before.front().status[i]) << i;
    }
    if (before.front().status[i].state != balancer::MoveState::kWaiting) EXPECT_TRUE(before.front().status[i].evicted_at) << i;
    if (before.front().status[i].evicted_at) EXPECT_EQ(plan.status[i].evicted_at, before.front().status[i].evicted_at) << i;
  }
}

}  // namespace
}  // namespace evenkeel::sim::state_before_test
