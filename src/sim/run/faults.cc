#include "sim/run/faults.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <set>

#include "sim/run/simulation.h"
#include "sim/world/fault_kinds.h"

namespace evenkeel::sim {
namespace {

using base::Duration;
using namespace std::chrono_literals;

/// A named fault without a rate of its own is on in this share of the seeds.
constexpr double kOn = 2.0 / 3;
constexpr int64_t kDriftPpmMax = 10'000;
/// Half of all partitions and slow calls concern the hub: there is only one, and everybody needs it.
constexpr double kHubShare = 0.5;

/// They befall what an ensemble runs on.
const std::set<std::string_view> kEnsembleFaults{"cluster-delete", "clusters-away", "hand-delete",
                                                 "karmada-taint",  "member-cut",    "member-loss",
                                                 "node-crash",     "server-crash",  "version-change"};

bool Has(const std::map<std::string, double>& faults, std::string_view name) { return faults.contains(std::string(name)); }

double Of(const std::map<std::string, double>& faults, std::string_view name) {
  const auto found = faults.find(std::string(name));
  return found == faults.end() ? 0 : found->second;
}

}  // namespace

std::map<std::string, double> DrawFaults(const Scenario& scenario, base::Random random) {
  std::map<std::string, double> drawn;
  for (const std::string& name : scenario.faults) {
    const FaultKind& kind = *FindFaultKind(name);
    base::Random own = random.Fork(name);
    if (const auto given = scenario.rates.find(name); given != scenario.rates.end()) {
      drawn[name] = given->second;
    } else if (own.Chance(kind.rate == FaultKind::Rate::kAlways && kind.low > 0 ? kind.low : kOn)) {
      drawn[name] = kind.rate == FaultKind::Rate::kAlways ? 1 : kind.low * std::pow(kind.high / kind.low, own.Unit());
    }
  }
  return drawn;
}

NetworkConditions ConditionsOf(const std::map<std::string, double>& faults) {
  NetworkConditions conditions;
  // Always a little, so that nothing happens at the same instant that would not in a real network.
  conditions.latency_min = 200us;
  conditions.latency_max = Has(faults, "latency") ? 50ms : 2ms;
  conditions.service_min = 100us;
  conditions.service_max = Has(faults, "latency") ? 20ms : 1ms;
  conditions.lost_request = Of(faults, "lost-request");
  conditions.lost_answer = Of(faults, "lost-answer");
  conditions.error_before = conditions.error_after = Of(faults, "api-error") / 2;
  conditions.conflict = Of(faults, "conflict");
  conditions.delayed = Of(faults, "delayed-request");
  conditions.stall = Of(faults, "stall");
  conditions.silent_server = Of(faults, "server-silent");
  return conditions;
}

FaultInjector::FaultInjector(Simulation& simulation, base::Random random)
    : simulation_(simulation), random_(random), rates_(DrawFaults(simulation.scenario(), random)) {}

ClockFaults FaultInjector::NewClock() {
  if (!Has(rates_, "clock-skew")) return {};
  return {.wall_offset = Some(-5h, 5h), .drift_ppm = random_.Between(-kDriftPpmMax, kDriftPpmMax)};
}

base::Instant FaultInjector::next() const { return due_.empty() ? base::Instant::max() : due_.begin()->first; }

void FaultInjector::Start() {
  simulation_.fleet().network().conditions() = ConditionsOf(rates_);
  for (const auto& [name, rate] : rates_) {
    if (name.starts_with("cloud-") && simulation_.workload().groups().empty()) continue;
    if (name.starts_with("device-") && simulation_.scenario().workload.devices <= 0) continue;
    if (name == "karmada-once" && simulation_.rollout() != nullptr) simulation_.Struck(name, "hub");
    if (name == "cloud-shared") simulation_.Struck(name, "fleet");
    if (kEnsembleFaults.contains(name) && simulation_.rollout() == nullptr) continue;
    if (FindFaultKind(name)->rate == FaultKind::Rate::kPeriod) Plan(name);
  }
}

void FaultInjector::Plan(const std::string& kind) {
  // Exponentially distributed, so that they come in bunches now and then.
  const double seconds = -std::log(1 - random_.Unit()) * rates_.at(kind);
  const auto delay = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, 0.01, 1e6)));
  due_.emplace(simulation_.fleet().executor().clock().Monotonic() + delay, kind);
}

void FaultInjector::Strike() {
  const base::Instant now = simulation_.fleet().executor().clock().Monotonic();
  while (next() <= now) {
    const std::string kind = due_.extract(due_.begin()).mapped();
    StrikeOne(kind);
    Plan(kind);
  }
}

void FaultInjector::Heal() {
  due_.clear();
  NetworkConditions& conditions = simulation_.fleet().network().conditions();
  NetworkConditions healed;
  healed.latency_min = conditions.latency_min;
  healed.latency_max = conditions.latency_max;
  healed.service_min = conditions.service_min;
  healed.service_max = conditions.service_max;
  conditions = healed;
  simulation_.fleet().network().HealAll();
}

void FaultInjector::StrikeOne(std::string_view kind) {
  if (kind == "replica-crash") return CrashReplica();
  if (kind == "replica-stop") return StopReplica();
  if (kind == "replica-pause") return PauseReplica();
  if (kind == "scale") return Scale();
  if (kind == "partition") return Partition();
  if (kind == "hub-crash") return CrashApi(true);
  if (kind == "member-crash") return CrashApi(false);
  if (kind == "slow-api") return SlowDown();
  if (kind == "clock-jump") return JumpClock();
  if (kind == "cluster") return RemoveCluster();
  if (kind.starts_with("cloud-")) return DisturbCloud(kind);
  if (kind.starts_with("device-")) return DisturbDevices(kind);
  if (kind == "server-crash") return CrashServer();
  if (kind == "node-crash") return CrashNode();
  if (kind == "member-cut") return CutMember();
  if (kind == "member-loss") return LoseMember();
  if (kind == "hand-delete") return DeleteByHand();
  if (kind == "karmada-taint") return TaintMember();
  if (kind == "cluster-delete") return DeleteCluster();
  if (kind == "clusters-away") return TakeClustersAway();
  if (kind == "version-change") return ChangeVersion();
  if (kind.starts_with("watch-")) return DisturbWatches(kind);
  EVENKEEL_CHECK(false);
}

std::string FaultInjector::SomeHost() {
  const std::vector<std::string> hosts = simulation_.Hosts();
  return hosts.empty() ? "" : hosts[random_.Below(hosts.size())];
}

std::string FaultInjector::SomeApi() {
  const auto& servers = simulation_.fleet().servers();
  if (random_.Chance(kHubShare)) return servers.front()->name();
  return servers[1 + random_.Below(servers.size() - 1)]->name();
}

std::string FaultInjector::SomeMember() {
  const auto& servers = simulation_.fleet().servers();
  return servers[1 + random_.Below(servers.size() - 1)]->name();
}

void FaultInjector::CrashReplica() {
  const std::string host = SomeHost();
  if (host.empty()) return;
  simulation_.Struck("replica-crash", host);
  simulation_.Kill(host);
  // A container is restarted in its pod; a pod whose node is gone comes back under another name.
  const std::string next = random_.Chance(0.5) ? host : "";
  const Duration delay = random_.Chance(0.3) ? 10ms : Some(100ms, 30s);
  simulation_.After(delay, [this, next] { simulation_.FillUp(next); });
}

void FaultInjector::StopReplica() {
  const std::string host = SomeHost();
  if (host.empty()) return;
  simulation_.Struck("replica-stop", host);
  simulation_.Stop(host);
  // A rollout starts the new one before it stops the old one, or after.
  simulation_.After(random_.Chance(0.5) ? 10ms : Some(100ms, 15s), [this] { simulation_.FillUp(); });
}

void FaultInjector::ChangeVersion() {
  const std::string host = SomeHost();
  if (host.empty()) return;
  simulation_.Struck("version-change", host, simulation_.ChangeVersion(host));
  random_.Chance(0.5) ? simulation_.Stop(host) : simulation_.Kill(host);
  // One that is still about to end is replaced by another, of whichever version.
  simulation_.After(Some(100ms, 15s), [this, host] { simulation_.FillUp(host); });
}

void FaultInjector::PauseReplica() {
  const std::string host = SomeHost();
  if (host.empty()) return;
  const Duration duration = Some(1s, 90s);
  simulation_.Struck("replica-pause", host, base::FormatDuration(duration));
  simulation_.Pause(simulation_.ProcessOf(host), duration);
}

void FaultInjector::Scale() {
  const Scenario& scenario = simulation_.scenario();
  const auto wanted = static_cast<int>(random_.Between(scenario.replicas_min, scenario.replicas_max));
  simulation_.Struck("scale", "replicas", fmt::format("{} to {}", simulation_.wanted(), wanted));
  simulation_.SetWanted(wanted);
  std::vector<std::string> hosts = simulation_.Hosts();
  while (static_cast<int>(hosts.size()) > wanted) {
    const auto victim = hosts.begin() + static_cast<ptrdiff_t>(random_.Below(hosts.size()));
    simulation_.Stop(*victim);
    hosts.erase(victim);
  }
  simulation_.FillUp();
}

void FaultInjector::Partition() {
  const std::string host = SomeHost();
  if (host.empty()) return;
  const Cut cut = random_.Chance(0.5) ? Cut::kBoth : random_.Chance(0.5) ? Cut::kRequests : Cut::kAnswers;
  const Duration duration = Some(1s, 60s);
  std::vector<std::string> apis;
  if (random_.Chance(0.2)) {
    for (const auto& server : simulation_.fleet().servers()) apis.push_back(server->name());
  } else {
    apis.push_back(SomeApi());
  }
  simulation_.Struck("partition", host,
                     fmt::format("{} from {} for {}",
                                 cut == Cut::kBoth       ? "cut off"
                                 : cut == Cut::kRequests ? "unheard"
                                                         : "deaf",
                                 apis.size() > 1 ? "all" : apis.front(), base::FormatDuration(duration)));
  for (const std::string& api : apis) simulation_.fleet().network().Partition(host, api, cut);
  simulation_.After(duration, [this, host, apis] {
    for (const std::string& api : apis) simulation_.fleet().network().Heal(host, api);
  });
}

void FaultInjector::CrashApi(bool hub) {
  const auto& servers = simulation_.fleet().servers();
  const ApiServer& server = hub ? *servers.front() : *servers[1 + random_.Below(servers.size() - 1)];
  if (!server.up()) return;
  const bool silent = random_.Chance(0.3);
  const Duration down = random_.Chance(0.3) ? Some(50ms, 1s) : Some(1s, hub ? 20s : 60s);
  simulation_.Struck(hub ? "hub-crash" : "member-crash", server.name(), base::FormatDuration(down));
  simulation_.CrashApi(server.name(), silent);
  simulation_.After(down, [this, api = server.name()] { simulation_.StartApi(api); });
}

void FaultInjector::SlowDown() {
  const std::string api = SomeApi();
  const Duration by = Some(50ms, 5s);
  const Duration duration = Some(2s, 60s);
  simulation_.Struck("slow-api", api, fmt::format("by {} for {}", base::FormatDuration(by), base::FormatDuration(duration)));
  simulation_.fleet().network().SlowDown(api, by);
  simulation_.After(duration, [this, api] { simulation_.fleet().network().SlowDown(api, {}); });
}

void FaultInjector::JumpClock() {
  const std::string host = SomeHost();
  if (host.empty()) return;
  const Duration by = random_.Chance(0.5) ? Some(-10s, 10s) : Some(-5h, 5h);
  simulation_.Struck("clock-jump", host, base::FormatDuration(by));
  simulation_.ProcessOf(host).JumpWallClock(by);
}

void FaultInjector::DisturbWatches(std::string_view kind) {
  const std::string host = SomeHost();
  if (host.empty()) return;
  const std::string api = SomeApi();
  Network& network = simulation_.fleet().network();
  if (kind != "watch-delay") {
    simulation_.Struck(std::string(kind), host, api);
    network.BreakWatches(host, api, kind == "watch-expire" ? base::Code::kExpired : base::Code::kUnavailable);
    return;
  }
  const Duration by = Some(100ms, 30s);
  const Duration duration = Some(2s, 60s);
  simulation_.Struck(std::string(kind), host,
                     fmt::format("{} by {} for {}", api, base::FormatDuration(by), base::FormatDuration(duration)));
  network.DelayEvents(host, api, by);
  simulation_.After(duration, [&network, host, api] { network.DelayEvents(host, api, {}); });
}

void FaultInjector::RemoveCluster() {
  const auto& members = simulation_.fleet().registered();
  if (members.size() < 2 || !simulation_.fleet().hub().up()) return;
  const std::string member = *std::next(members.begin(), static_cast<ptrdiff_t>(random_.Below(members.size())));
  simulation_.Struck("cluster", member);
  simulation_.Unregister(member);
  simulation_.After(Some(2s, 2min), [this, member] { simulation_.Register(member); });
}

void FaultInjector::DisturbCloud(std::string_view kind) {
  WorkloadDriver& workload = simulation_.workload();
  const auto& servers = simulation_.fleet().servers();
  const std::string member = servers[1 + random_.Below(servers.size() - 1)]->name();
  const std::string group = workload.groups()[random_.Below(workload.groups().size())].name;
  const Duration duration = Some(10s, 3min);
  base::JsonObject cloud;
  if (kind == "cloud-failure") cloud["failCreations"] = 0.5;
  if (kind == "cloud-loss") cloud["neverRegister"] = 0.5;
  if (kind == "cloud-defect") cloud["failForGood"] = 0.5;
  if (kind == "cloud-warning") cloud["showFailures"] = true;
  if (kind == "cloud-slow") cloud["provisionDelay"] = base::FormatDuration(Some(30s, 2min));
  if (kind == "cloud-stock-out") cloud["quota"] = 0;
  if (kind == "cloud-silent") cloud["silent"] = true;
  if (kind == "cloud-unreadable") cloud["unreadable"] = true;
  simulation_.Struck(std::string(kind), member, fmt::format("{} for {}", group, base::FormatDuration(duration)));
  workload.DisturbCloud(member, group, cloud);
  simulation_.After(duration, [&workload, member, group] { workload.RestoreCloud(member, group, false); });
}

void FaultInjector::DisturbDevices(std::string_view kind) {
  const std::string member = SomeMember();
  if (kind == "device-claim") return DeleteClaim(member);
  if (kind == "device-loss") return TakeDevice(member);
  if (kind == "device-slices") return TakeSlices(member);
  if (kind == "device-taint") return TaintDevice(member);
  DeviceUsers& users = simulation_.workload().device_users();
  const std::string what = kind == "device-edit" ? users.Edit(member) : users.LoseNode(member);
  if (!what.empty()) simulation_.Struck(std::string(kind), member, what);
}

void FaultInjector::Restore(std::function<bool()> restored) {
  if (!restored()) simulation_.After(1s, [this, restored = std::move(restored)] { Restore(restored); });
}

void FaultInjector::DeleteClaim(const std::string& member) {
  DeviceUsers& users = simulation_.workload().device_users();
  const std::string claim = users.DeleteClaim(member);
  if (claim.empty()) return;
  simulation_.Struck("device-claim", member, claim);
  simulation_.After(Some(1s, 60s),
                    [this, &users, member] { Restore([&users, member] { return users.RestoreClaims(member); }); });
}

void FaultInjector::TakeDevice(const std::string& member) {
  WorkloadDriver& workload = simulation_.workload();
  const NodeGroupScenario& group = workload.groups()[random_.Below(workload.groups().size())];
  const Duration duration = Some(5s, 2min);
  if (group.devices <= 0) return;
  simulation_.Struck("device-loss", member, fmt::format("{} for {}", group.name, base::FormatDuration(duration)));
  workload.SetDevices(member, group.name, group.devices - 1);
  simulation_.After(duration, [&workload, member, &group] { workload.SetDevices(member, group.name, group.devices); });
}

void FaultInjector::TakeSlices(const std::string& member) {
  DeviceUsers& users = simulation_.workload().device_users();
  const auto slices = users.TakeSlices(member);
  const Duration duration = random_.Chance(0.3) ? Some(10ms, 1s) : Some(1s, 60s);
  if (slices.empty()) return;
  simulation_.Struck("device-slices", member, fmt::format("{} slices for {}", slices.size(), base::FormatDuration(duration)));
  simulation_.After(duration, [this, &users, member, slices] {
    Restore([&users, member, slices] { return users.BringSlices(member, slices); });
  });
}

void FaultInjector::TaintDevice(const std::string& member) {
  DeviceUsers& users = simulation_.workload().device_users();
  const std::string slice = users.Taint(member);
  const Duration duration = Some(5s, 2min);
  if (slice.empty()) return;
  simulation_.Struck("device-taint", member, fmt::format("{} for {}", slice, base::FormatDuration(duration)));
  simulation_.After(
      duration, [this, &users, member, slice] { Restore([&users, member, slice] { return users.Untaint(member, slice); }); });
}

void FaultInjector::CrashServer() {
  const std::string pod = simulation_.rollout()->CrashServer(random_);
  if (!pod.empty()) simulation_.Struck("server-crash", pod);
}

void FaultInjector::CrashNode() {
  const std::string member = SomeMember();
  const int64_t nodes = std::max(simulation_.scenario().nodes_max, 1);
  const std::string node = fmt::format("{}-node-{}", member, random_.Between(int64_t{1}, nodes));
  const Duration duration = Some(5s, 2min);
  simulation_.Struck("node-crash", node, base::FormatDuration(duration));
  simulation_.SwitchNode(member, node, false);
  simulation_.After(duration, [this, member, node] { simulation_.SwitchNode(member, node, true); });
}

void FaultInjector::CutMember() {
  const std::string member = SomeMember();
  const bool from_all = random_.Chance(0.5);
  const std::string one = SomeMember();
  const Duration duration = Some(2s, 60s);
  simulation_.Struck("member-cut", member,
                     fmt::format("from {} for {}", from_all ? "all others" : one, base::FormatDuration(duration)));
  ZooKeeperModel& model = simulation_.rollout()->model();
  for (const auto& server : simulation_.fleet().servers()) {
    const std::string& other = server->name();
    if (other == kHub || other == member || (!from_all && other != one)) continue;
    model.Cut(member, other);
    simulation_.After(duration, [&model, member, other] { model.Heal(member, other); });
  }
}

void FaultInjector::DeleteByHand() {
  const std::string what = simulation_.rollout()->DeleteByHand(random_);
  if (!what.empty()) simulation_.Struck("hand-delete", what);
}

void FaultInjector::TaintMember() {
  const std::string member = SomeMember();
  const Duration duration = Some(5s, 2min);
  if (!simulation_.rollout()->Taint(member, true)) return;
  simulation_.Struck("karmada-taint", member, base::FormatDuration(duration));
  simulation_.After(duration, [this, member] { Untaint(member); });
}

void FaultInjector::Untaint(const std::string& member) {
  if (!simulation_.rollout()->Taint(member, false)) simulation_.After(1s, [this, member] { Untaint(member); });
}

void FaultInjector::DeleteCluster() {
  const std::string member = SomeMember();
  const Duration duration = Some(5s, 2min);
  if (!simulation_.rollout()->SetJoined(member, false)) return;
  simulation_.Struck("cluster-delete", member, base::FormatDuration(duration));
  simulation_.After(duration, [this, member] { JoinAgain(member); });
}

void FaultInjector::JoinAgain(const std::string& member) {
  if (!simulation_.rollout()->SetJoined(member, true)) simulation_.After(1s, [this, member] { JoinAgain(member); });
}

void FaultInjector::TakeClustersAway() {
  const Duration duration = Some(5s, 2min);
  simulation_.Struck("clusters-away", kHub, base::FormatDuration(duration));
  Network& network = simulation_.fleet().network();
  network.TakeAway("clusters", true);
  simulation_.After(duration, [&network] { network.TakeAway("clusters", false); });
}

void FaultInjector::LoseMember() {
  const std::string member = SomeMember();
  const Duration duration = Some(5s, 2min);
  simulation_.Struck("member-loss", member, base::FormatDuration(duration));
  simulation_.CrashApi(member, true, true);
  simulation_.After(duration, [this, member] { simulation_.StartApi(member); });
}

}  // namespace evenkeel::sim
