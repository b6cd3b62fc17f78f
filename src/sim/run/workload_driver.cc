#include "sim/run/workload_driver.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "controllers/balancer/kinds.h"
#include "embedded/cloud/node_group_definition.h"
#include "sim/world/device_samples.h"
#include "sim/world/shared_cloud.h"

namespace evenkeel::sim {
namespace {

namespace balancer = controllers::balancer;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using namespace std::chrono_literals;

constexpr const char* kWorkloadNamespace = "default";
/// Jobs and pods that must not be moved are rarer than changes of size.
constexpr double kJobShare = 0.25;
constexpr int64_t kJobPodsMax = 6;
constexpr int64_t kGraceSeconds = 5;
/// Where there is a load, a Deployment has at least this share of the pods that it allows.
constexpr double kLeastOfLoad = 0.75;

base::Status Create(client::Client& client, const kube::Resource& resource, const Json& object) {
  const auto created = client.Create(resource, object);
  if (!created) return base::Fail(created.error());
  return {};
}

Json CloudOf(const NodeGroupScenario& settings, bool healthy) {
  JsonObject cloud{{"provisionDelay", base::FormatDuration(settings.provision_delay)},
                   {"deleteDelay", base::FormatDuration(settings.delete_delay)},
                   {"quota", nullptr},
                   {"failCreations", healthy ? 0.0 : settings.fail_creations},
                   {"neverRegister", healthy ? 0.0 : settings.never_register},
                   {"failForGood", 0.0},
                   {"showFailures", false},
                   {"silent", false},
                   {"unreadable", false}};
  if (settings.quota) cloud["quota"] = *settings.quota;
  return cloud;
}

JsonObject PodSpec(JsonObject requests, const char* restart_policy) {
  JsonObject container{{"name", "main"}, {"image", "simulated"}, {"resources", JsonObject{{"requests", std::move(requests)}}}};
  return JsonObject{{"containers", JsonArray{std::move(container)}},
                    {"restartPolicy", restart_policy},
                    {"terminationGracePeriodSeconds", kGraceSeconds}};
}

}  // namespace

Json NodeGroupOf(const NodeGroupScenario& settings) {
  Json object = kube::NewObject(embedded::cloud::NodeGroups(), "", settings.name);
  base::Ensure(object, {"spec", "minSize"}) = settings.min;
  base::Ensure(object, {"spec", "maxSize"}) = settings.max;
  base::Ensure(object, {"spec", "targetSize"}) = settings.min;
  if (settings.price) base::Ensure(object, {"spec", "pricePerHour"}) = *settings.price;
  base::Ensure(object, {"spec", "template", "status", "allocatable"}) =
      JsonObject{{"cpu", settings.cpu}, {"memory", settings.memory}, {"pods", std::to_string(settings.pods)}};
  if (!settings.zone.empty()) {
    base::Ensure(object, {"spec", "template", "metadata", "labels", "topology.kubernetes.io/zone"}) = settings.zone;
  }
  if (settings.devices > 0) base::Ensure(object, {"spec", "template", "resourceSlices"}) = SlicesOfNodes(settings.devices);
  base::Json& cloud = base::Ensure(object, {"spec", "cloud"}) = CloudOf(settings, false);
  if (!settings.quota) base::Erase(cloud, {"quota"});
  return object;
}

Json BalancingPolicyOf(const BalancingScenario& settings) {
  Json object = kube::NewObject(balancer::BalancingPolicies(), "", "even");
  const std::string interval = base::FormatDuration(settings.interval);
  JsonArray metrics;
  for (const char* name : {"cpu", "memory"}) {
    metrics.push_back(JsonObject{{"name", name}, {"balancingThreshold", settings.threshold}});
  }
  base::Ensure(object, {"spec"}) = JsonObject{
      {"metrics", std::move(metrics)},
      {"intervals",
       JsonObject{
           {"balancing", interval}, {"constraintCheck", interval}, {"afterNewNode", interval}, {"afterNodeDown", interval}}},
      {"throttles",
       JsonObject{{"window", base::FormatDuration(settings.window)}, {"movements", settings.movements}, {"inFlight", 2}}}};
  return object;
}

WorkloadDriver::WorkloadDriver(Fleet& fleet, const Scenario& scenario, base::Random random, Record record)
    : fleet_(fleet),
      scenario_(scenario),
      workload_(scenario.workload),
      random_(random),
      device_users_(fleet, scenario, random.Fork("devices")),
      record_(std::move(record)) {}

double LoadAt(const WorkloadScenario& workload, base::Duration since_start) {
  const auto after = workload.load.upper_bound(since_start);
  if (workload.load.empty()) return 1;
  if (after == workload.load.begin()) return after->second;
  const auto before = std::prev(after);
  if (after == workload.load.end()) return before->second;
  const double way = std::chrono::duration<double>(since_start - before->first) / (after->first - before->first);
  return before->second + (after->second - before->second) * way;
}

int64_t WorkloadDriver::SomeReplicas() {
  if (workload_.load.empty()) return random_.Between(workload_.replicas_min, workload_.replicas_max);
  const double load = LoadAt(workload_, fleet_.executor().clock().Monotonic() - begun_);
  const auto most = static_cast<double>(workload_.replicas_max) * load;
  return std::max(workload_.replicas_min, random_.Between(std::lround(most * kLeastOfLoad), std::lround(most)));
}

base::Status WorkloadDriver::Begin(bool shared) {
  shared_ = shared;
  begun_ = fleet_.executor().clock().Monotonic();
  for (size_t i = 1; i < fleet_.servers().size(); ++i) EVENKEEL_TRY(BeginMember(*fleet_.servers()[i]));
  return {};
}

std::string WorkloadDriver::NameOf(const std::string& member, const std::string& group) const {
  return shared_ ? SharedGroupName(member, group) : group;
}

base::Status WorkloadDriver::CreateGroups(ApiServer& server) {
  for (NodeGroupScenario group : groups()) {
    group.name = NameOf(server.name(), group.name);
    EVENKEEL_TRY(Create(server.client(), embedded::cloud::NodeGroups(), NodeGroupOf(group)));
  }
  if (!shared_ || groups().empty() || &server != fleet_.servers()[1].get()) return {};
  // With a node from the beginning, so that there is something to leave alone.
  NodeGroupScenario claimed = groups().front();
  claimed.name = kClaimedGroup;
  Json object = NodeGroupOf(claimed);
  base::Ensure(object, {"spec", "targetSize"}) = 1;
  return Create(server.client(), embedded::cloud::NodeGroups(), object);
}

base::Status WorkloadDriver::BeginMember(ApiServer& server) {
  client::Client& client = server.client();
  EVENKEEL_TRY(CreateGroups(server));
  EVENKEEL_TRY(device_users_.BeginMember(server));
  if (scenario_.Runs("balancer")) {
    EVENKEEL_TRY(balancer::InstallDefinitions(client));
    EVENKEEL_TRY(Create(client, balancer::BalancingPolicies(), BalancingPolicyOf(scenario_.balancing)));
  }
  for (int i = 1; i <= workload_.deployments; ++i) {
    const std::string name = fmt::format("app-{}", i);
    EVENKEEL_TRY(Create(client, kube::resources::Deployments(), NewDeployment(name)));
    if (!random_.Chance(workload_.budgets)) continue;
    Json budget = kube::NewObject(kube::resources::PodDisruptionBudgets(), kWorkloadNamespace, name);
    base::Ensure(budget, {"spec"}) = JsonObject{{"minAvailable", random_.Between(1, 3)},
                                                {"selector", JsonObject{{"matchLabels", JsonObject{{"app", name}}}}}};
    EVENKEEL_TRY(Create(client, kube::resources::PodDisruptionBudgets(), budget));
  }
  if (workload_.deployments > 0 || workload_.jobs || workload_.stubborn > 0) Plan(server.name());
  return {};
}

JsonObject WorkloadDriver::Requests() {
  return {{"cpu", workload_.cpu[random_.Below(workload_.cpu.size())]},
          {"memory", workload_.memory[random_.Below(workload_.memory.size())]}};
}

Json WorkloadDriver::NewDeployment(const std::string& name) {
  Json object = kube::NewObject(kube::resources::Deployments(), kWorkloadNamespace, name);
  const JsonObject labels{{"app", name}};
  const int64_t replicas = SomeReplicas();
  JsonObject pod_spec = PodSpec(Requests(), "Always");
  device_users_.Claim(pod_spec);
  base::Ensure(object, {"spec"}) =
      JsonObject{{"replicas", replicas},
                 {"selector", JsonObject{{"matchLabels", labels}}},
                 {"template", JsonObject{{"metadata", JsonObject{{"labels", labels}}}, {"spec", std::move(pod_spec)}}}};
  return object;
}

void WorkloadDriver::Plan(const std::string& member) {
  const double seconds = -std::log(1 - random_.Unit()) * std::chrono::duration<double>(workload_.period).count();
  const auto delay = std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(std::clamp(seconds, 0.5, 1e6)));
  due_.emplace(fleet_.executor().clock().Monotonic() + delay, member);
}

base::Instant WorkloadDriver::next() const { return due_.empty() ? base::Instant::max() : due_.begin()->first; }

void WorkloadDriver::Step() {
  const base::Instant now = fleet_.executor().clock().Monotonic();
  while (next() <= now) {
    const std::string member = due_.extract(due_.begin()).mapped();
    for (const auto& server : fleet_.servers()) {
      if (server->name() == member && server->up()) StepMember(*server);
    }
    Plan(member);
  }
}

void WorkloadDriver::StepMember(ApiServer& server) {
  if (random_.Chance(workload_.stubborn)) return NewStubborn(server);
  if (!stubborn_[server.name()].empty() && random_.Chance(0.5)) EndStubborn(server);
  if (workload_.jobs && random_.Chance(kJobShare)) return NewJob(server);
  if (workload_.deployments > 0) Resize(server);
}

void WorkloadDriver::Resize(ApiServer& server) {
  const std::string name = fmt::format("app-{}", random_.Between(1, workload_.deployments));
  const int64_t replicas = SomeReplicas();
  record_(server.name(), "resize", fmt::format("{} to {}", name, replicas));
  (void)server.client().Patch(kube::resources::Deployments(), kWorkloadNamespace, name, client::PatchType::kMerge,
                              JsonObject{{"spec", JsonObject{{"replicas", replicas}}}});
}

void WorkloadDriver::NewJob(ApiServer& server) {
  const std::string name = fmt::format("job-{}", ++made_);
  const int64_t pods = random_.Between(1, std::min(kJobPodsMax, workload_.replicas_max));
  const JsonObject annotations{{"evenkeel.dev/simulate-exit", fmt::format("code=0,after={}s", random_.Between(10, 90))}};
  JsonObject pod_spec = PodSpec(Requests(), "Never");
  device_users_.Claim(pod_spec);
  Json job = kube::NewObject(kube::resources::Jobs(), kWorkloadNamespace, name);
  base::Ensure(job, {"spec"}) = JsonObject{
      {"parallelism", pods},
      {"completions", pods},
      {"template", JsonObject{{"metadata", JsonObject{{"annotations", annotations}}}, {"spec", std::move(pod_spec)}}}};
  record_(server.name(), "job", fmt::format("{} of {} pods", name, pods));
  (void)server.client().Create(kube::resources::Jobs(), job);
}

void WorkloadDriver::NewStubborn(ApiServer& server) {
  const std::string name = fmt::format("stubborn-{}", ++made_);
  Json pod = kube::NewObject(kube::resources::Pods(), kWorkloadNamespace, name);
  base::Ensure(pod, {"spec"}) = PodSpec(Requests(), "Always");
  if (random_.Chance(0.5)) {
    base::Ensure(pod, {"metadata", "annotations", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) = "false";
  }
  if (random_.Chance(0.5)) {
    base::Ensure(pod, {"spec", "volumes"}) = JsonArray{JsonObject{{"name", "scratch"}, {"emptyDir", JsonObject{}}}};
  }
  record_(server.name(), "stubborn", name);
  if (server.client().Create(kube::resources::Pods(), pod)) stubborn_[server.name()].push_back(name);
}

void WorkloadDriver::EndStubborn(ApiServer& server) {
  std::vector<std::string>& pods = stubborn_[server.name()];
  const std::string name = pods.front();
  pods.erase(pods.begin());
  (void)server.client().Delete(kube::resources::Pods(), kWorkloadNamespace, name);
}

void WorkloadDriver::Stop() {
  due_.clear();
  for (const auto& server : fleet_.servers()) {
    while (server->up() && !stubborn_[server->name()].empty()) EndStubborn(*server);
  }
}

void WorkloadDriver::PatchGroup(const std::string& member, const std::string& group, const Json& spec) {
  for (const auto& server : fleet_.servers()) {
    if (server->name() != member || !server->up()) continue;
    (void)server->client().Patch(embedded::cloud::NodeGroups(), "", NameOf(member, group), client::PatchType::kMerge,
                                 JsonObject{{"spec", spec}});
  }
}

void WorkloadDriver::DisturbCloud(const std::string& member, const std::string& group, const Json& cloud) {
  PatchGroup(member, group, JsonObject{{"cloud", cloud}});
}

void WorkloadDriver::SetDevices(const std::string& member, const std::string& group, int64_t devices) {
  PatchGroup(member, group, JsonObject{{"template", JsonObject{{"resourceSlices", SlicesOfNodes(devices)}}}});
}

void WorkloadDriver::RestoreCloud(const std::string& member, const std::string& group, bool healthy) {
  const auto settings = std::ranges::find(groups(), group, &NodeGroupScenario::name);
  if (settings != groups().end()) DisturbCloud(member, group, CloudOf(*settings, healthy));
}

void WorkloadDriver::HealClouds() {
  for (size_t i = 1; i < fleet_.servers().size(); ++i) {
    const std::string& member = fleet_.servers()[i]->name();
    for (const NodeGroupScenario& group : groups()) {
      RestoreCloud(member, group.name, true);
      if (group.devices > 0) SetDevices(member, group.name, group.devices);
    }
  }
}

}  // namespace evenkeel::sim
