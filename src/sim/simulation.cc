#include "sim/simulation.h"

#include <spdlog/fmt/fmt.h>

#include "embedded/fleet/hub_objects.h"
#include "sim/controller_registry.h"
#include "sim/probe.h"

namespace evenkeel::sim {
namespace {

namespace distribution = controllers::distribution;
using base::Duration;
using base::Instant;
using namespace std::chrono_literals;

constexpr Duration kStallMin = 1s;
constexpr Duration kStallMax = 90s;
/// As a pod's grace period: who has not ended by then is killed.
constexpr Duration kGrace = 30s;
/// After a fault, loads are measured anew for a while, and plans follow them.
constexpr Duration kPlanStands = 90s;
/// A fleet that is settled for so long has settled.
constexpr int kSettledSeconds = 5;

bool Autoscales(const Scenario& scenario) { return scenario.Runs("autoscaler"); }
bool Balances(const Scenario& scenario) { return scenario.Runs("balancer"); }

controllers::autoscaler::Options FlagsOf(const Scenario& scenario) {
  auto applied = controllers::autoscaler::ApplyFlags(scenario.autoscaler);
  EVENKEEL_CHECK(applied.has_value());
  return std::move(applied->options);
}

}  // namespace

distribution::Options DrawOptions(const Scenario& scenario, base::Random random) {
  distribution::Options options;
  options.mode = scenario.mode;
  options.ns = embedded::fleet::kNamespace;
  options.dynamic = true;
  options.method = distribution::Method::kRoundRobin;
  const Scenario::Options& given = scenario.options;
  if (given.hostile) {
    options.lease_duration = random.Between(5s, 30s);
    // Two clocks that are off by 1 % and the requests' time-out (replica.cc) fit into a fifth.
    options.lease_margin =
        Duration(static_cast<int64_t>(static_cast<double>(options.lease_duration.count()) * (0.2 + random.Unit() / 5)));
    options.replica_lease_duration = random.Between(3s, 20s);
    constexpr std::array<int64_t, 5> kMoves = {0, 1, 10, 100, 1000};
    options.moves_per_minute = kMoves[random.Below(kMoves.size())];
    options.handover = random.Chance(0.2) ? Duration::zero() : random.Between(100ms, 10s);
    options.heartbeat = random.Between(1s, 20s);
  }
  options.lease_duration = given.lease.value_or(options.lease_duration);
  if (given.lease) options.lease_margin = options.lease_duration / 5;
  options.lease_margin = given.margin.value_or(options.lease_margin);
  options.replica_lease_duration = given.replica_lease.value_or(options.replica_lease_duration);
  options.moves_per_minute = given.moves_per_minute.value_or(options.moves_per_minute);
  options.handover = given.handover.value_or(options.handover);
  return options;
}

Simulation::Simulation(const Scenario& scenario, SimulationOptions options)
    : scenario_(scenario),
      options_(options),
      fleet_({.seed = options.seed,
              .members = scenario.members,
              .nodes_min = scenario.nodes_min,
              .nodes_max = scenario.nodes_max,
              .cloud = !scenario.node_groups.empty()}),
      fleet_clock_(fleet_.executor().clock()),
      random_(fleet_.random().Fork("simulation")),
      distribution_(DrawOptions(scenario, random_.Fork("options"))),
      autoscaler_(FlagsOf(scenario)),
      context_(fleet_.replica_context()),
      wanted_(scenario.replicas_start),
      workload_(fleet_, scenario_, random_.Fork("workload"),
                [this](const auto& member, const auto& event, const auto& detail) { Tell(member, event, detail); }),
      faults_(*this, random_.Fork("faults")) {
  report_.scenario = scenario.name;
  report_.seed = options.seed;
  AddChecker<OneWriterChecker>(options.states_epochs);
  no_orphan_ = &AddChecker<NoOrphanChecker>();
  AddChecker<RevisionsChecker>();
  no_older_ = &AddChecker<NoOlderChecker>();
  AddChecker<QuietChecker>();
  writes_ = &AddChecker<WritesChecker>();
  AddMemberCheckers();
  fleet_.Observe(*this);
  fleet_.network().on_fault = [this](const auto& kind, const auto& party, const auto& detail) { Struck(kind, party, detail); };
  fleet_.network().on_stall = [this](Process& process) { Pause(process, random_.Between(kStallMin, kStallMax)); };
}

Simulation::~Simulation() {
  replicas_.clear();
  fleet_.Stop();
}

template <typename Made, typename... Arguments>
Made& Simulation::AddChecker(Arguments... arguments) {
  auto checker = std::make_unique<Made>(arguments...);
  Made& made = *checker;
  made.Attach(*this, [this, name = std::string(made.name())](std::string what) {
    if (!scenario_.checkers.contains(name)) return;
    Tell(name, "violation", what);
    report_.violations.push_back({SinceStart(), name, std::move(what)});
  });
  checkers_.push_back(std::move(checker));
  return made;
}

void Simulation::AddMemberCheckers() {
  const MemberBook* book = &members_;
  if (Autoscales(scenario_)) {
    AddChecker<UndrainableChecker>(book, &autoscaler_);
    AddChecker<LimitsChecker>(book, &autoscaler_);
    AddChecker<FlappingChecker>(book, &autoscaler_);
    AddChecker<SchedulableChecker>(book, &autoscaler_);
  }
  if (Balances(scenario_)) {
    const BalancingScenario* limits = &scenario_.balancing;
    AddChecker<RoomChecker>(book, limits);
    throttles_ = &AddChecker<ThrottlesChecker>(book, limits);
    AddChecker<NoWayBackChecker>(book, limits);
    AddChecker<EnergyChecker>(book, limits);
    AddChecker<TogetherChecker>(book, limits);
  }
  if (Autoscales(scenario_) || Balances(scenario_)) AddChecker<BudgetsChecker>(book, &autoscaler_);
}

SimulationReport Simulation::Run() {
  if (auto begun = Begin(); !begun) {
    report_.violations.push_back({SinceStart(), "start", begun.error().message()});
  } else {
    faults_.Start();
    RunUntil(begun_ + scenario_.duration, true);
    if (report_.passed()) {
      Heal();
      if (RunUntilConverged()) RunUntil(now() + scenario_.quiet, false);
      for (const auto& checker : checkers_) checker->AtEnd();
    }
  }
  report_.virtual_time = SinceStart();
  report_.steps = fleet_.executor().steps();
  report_.trace_hash = fleet_.executor().trace_hash();
  report_.longest_unowned = no_orphan_->longest();
  std::ranges::sort(report_.handovers);
  if (Balances(scenario_)) report_.movements = throttles_->movements();
  if (Autoscales(scenario_)) {
    const MemberBook::Counts& counts = members_.counts();
    report_.autoscaling = {.joined = counts.joined, .gone = counts.gone, .evictions = evictions_, .waited = counts.waited};
    std::ranges::sort(report_.autoscaling->waited);
  }
  return std::move(report_);
}

base::Status Simulation::Begin() {
  EVENKEEL_TRY(fleet_.Start());
  begun_ = now();
  for (const std::string& member : fleet_.registered()) registered_[member] = begun_;
  if (scenario_.mode == distribution::Mode::kCompatible) {
    base::Json deployment = embedded::fleet::ControllerDeployment(wanted_, "round-robin");
    // The replicas are processes of the simulation; the Deployment only says how many.
    base::Ensure(deployment, {"spec", "paused"}) = true;
    auto created = fleet_.hub().client().Create(kube::resources::Deployments(), deployment);
    if (!created) return base::Fail(created.error());
  }
  EVENKEEL_TRY(workload_.Begin());
  FillUp();
  return {};
}

void Simulation::RunUntil(Instant end, bool faults) {
  while (now() < end && report_.passed()) {
    const Duration into = SinceStart() % 1s;
    Instant next = std::min(end, now() + (1s - into));
    if (faults) next = std::min({next, faults_.next(), workload_.next()});
    if (!recoveries_.empty()) next = std::min(next, recoveries_.begin()->first);
    fleet_.executor().RunFor(std::max(next - now(), Duration::zero()));
    while (!recoveries_.empty() && recoveries_.begin()->first <= now()) {
      base::Task recovery = std::move(recoveries_.extract(recoveries_.begin()).mapped());
      recovery();
    }
    for (const auto& [host, user] : std::exchange(exited_, {})) {
      const auto replica = replicas_.find(host);
      if (replica != replicas_.end() && replica->second->user() == user) Remove(host);
    }
    if (faults) {
      workload_.Step();
      faults_.Strike();
    }
    if (SinceStart() % 1s == Duration::zero()) EverySecond();
  }
}

bool Simulation::RunUntilConverged() {
  const Instant healed = unsettled_ = now();
  int settled = 0;
  while (now() - healed < scenario_.heal) {
    RunUntil(now() + 1s, false);
    if (!report_.passed()) return false;
    settled = Converged() ? settled + 1 : 0;
    if (settled < kSettledSeconds) continue;
    report_.converged = now() - healed;
    Tell("fleet", "converged");
    for (const auto& checker : checkers_) checker->OnConverged();
    return true;
  }
  std::string state;
  for (const ReplicaView& replica : Replicas()) {
    state += fmt::format("; {} applied plan {}, owns {} of {}{}", replica.user, replica.plan_epoch, replica.owned.size(),
                         replica.assigned.size(), replica.healthy ? "" : ", is not healthy");
  }
  report_.violations.push_back(
      {SinceStart(), "converge",
       fmt::format("not converged {} after the last fault{}", base::FormatDuration(scenario_.heal), state)});
  return false;
}

bool Simulation::Converged() const {
  const std::vector<ReplicaView>& replicas = Replicas();
  if (static_cast<int>(replicas.size()) != wanted_) return false;
  if (now() - unsettled_ < kPlanStands) return false;
  size_t owned = 0;
  std::set<std::string> members;
  for (const ReplicaView& replica : replicas) {
    if (!replica.healthy || replica.stopping || replica.plan_epoch != replicas.front().plan_epoch) return false;
    if (replica.owned != replica.assigned) return false;
    owned += replica.owned.size();
    members.insert(replica.owned.begin(), replica.owned.end());
  }
  return owned == registered_.size() && members.size() == owned;
}

void Simulation::EverySecond() {
  for (const auto& checker : checkers_) checker->OnSecond();
}

void Simulation::Heal() {
  Tell("fleet", "healed");
  faults_.Heal();
  for (auto& [at, recovery] : std::exchange(recoveries_, {})) recovery();
  workload_.HealClouds();
  workload_.Stop();
  FillUp();
  for (const auto& checker : checkers_) checker->OnHealed();
}

void Simulation::After(Duration delay, base::Task recovery) { recoveries_.emplace(now() + delay, std::move(recovery)); }

std::vector<std::string> Simulation::Hosts() const {
  std::vector<std::string> hosts;
  for (const auto& [host, replica] : replicas_) {
    if (!replica->stopping()) hosts.push_back(host);
  }
  return hosts;
}

void Simulation::FillUp(const std::string& host) {
  int missing = wanted_ - static_cast<int>(Hosts().size());
  if (missing > 0 && !host.empty() && !replicas_.contains(host)) {
    Launch(host);
    --missing;
  }
  while (missing-- > 0) {
    int number = 1;
    while (replicas_.contains(fmt::format("replica-{}", number))) ++number;
    // A pod of a Deployment never has a name again that one before had.
    const std::string name = launched_ < scenario_.replicas_start ? "" : "-" + random_.NameSuffix();
    Launch(fmt::format("replica-{}{}", number, name));
  }
  if (scenario_.mode != distribution::Mode::kCompatible || !fleet_.hub().up()) return;
  (void)fleet_.hub().client().Patch(kube::resources::Deployments(), embedded::fleet::kNamespace,
                                    embedded::fleet::kControllerName, client::PatchType::kMerge,
                                    base::JsonObject{{"spec", base::JsonObject{{"replicas", wanted_}}}});
}

void Simulation::Launch(const std::string& host) {
  ReplicaSettings settings{
      .user = fmt::format("{}/{}", host, ++launched_), .options = distribution_, .clock = faults_.NewClock()};
  settings.options.host_name = host;
  settings.states_epochs = options_.states_epochs;
  const base::Random random = random_.Fork(settings.user);
  for (const std::string& name : scenario_.controllers) {
    settings.controllers.push_back([this, &make = SimulatedControllers().at(name)](Replica& replica) {
      return make({.user = replica.user(),
                   .random = replica.random(),
                   .clock = replica.process().clock(),
                   .writes = *writes_,
                   .autoscaler = autoscaler_});
    });
  }
  const auto& servers = fleet_.servers();
  base::Random choice = random.Fork("probe");
  const std::string& probed = servers[1 + choice.Below(servers.size() - 1)]->name();
  settings.parts.push_back([this, probed](Replica& replica) { return NewProbe(replica, probed, *no_older_); });
  Tell(settings.user, "start");
  views_of_ = {};
  usable_since_[settings.user] = process_changed_ = now();
  std::unique_ptr<Replica>& replica = replicas_[host];
  replica = std::make_unique<Replica>(context_, std::move(settings), random);
  replica->Start();
}

void Simulation::Kill(const std::string& host) {
  Tell(replicas_.at(host)->user(), "killed");
  Remove(host);
}

void Simulation::Remove(const std::string& host) {
  const auto replica = replicas_.find(host);
  if (replica == replicas_.end()) return;
  for (const auto& [member, tenure] : tenures_.all()) {
    if (!tenure.holder.empty() && tenure.user == replica->second->user()) free_since_.emplace(member, now());
  }
  usable_since_.erase(replica->second->user());
  gone_since_.emplace(replica->second->user(), now());
  process_changed_ = now();
  views_of_ = {};
  replicas_.erase(replica);
}

void Simulation::Stop(const std::string& host) {
  Replica& replica = *replicas_.at(host);
  Tell(replica.user(), "stop");
  gone_since_.emplace(replica.user(), now());
  process_changed_ = now();
  replica.Stop([this, &replica] {
    if (!replica.process().alive()) return;
    Tell(replica.user(), "stopped");
    exited_.emplace_back(replica.host(), replica.user());
  });
  After(kGrace, [this, host, user = replica.user()] {
    const auto still = replicas_.find(host);
    if (still != replicas_.end() && still->second->user() == user) Kill(host);
  });
}

void Simulation::Pause(Process& process, Duration duration) {
  process.Pause();
  gone_since_.emplace(process.name(), now());
  process_changed_ = now();
  After(duration, [this, user = process.name()] {
    for (const auto& [host, replica] : replicas_) {
      if (replica->user() != user || !replica->process().paused()) continue;
      Tell(user, "resumed");
      usable_since_[user] = process_changed_ = now();
      if (!replica->stopping()) gone_since_.erase(user);
      views_of_ = {};
      replica->process().Resume();
      return;
    }
  });
}

void Simulation::CrashApi(const std::string& api, bool silent) {
  for (const auto& server : fleet_.servers()) {
    if (server->name() == api && server->up()) server->Crash(silent);
  }
}

void Simulation::StartApi(const std::string& api) {
  for (const auto& server : fleet_.servers()) {
    if (server->name() != api || server->up()) continue;
    Tell(api, "up");
    if (auto started = server->Start(); !started) {
      report_.violations.push_back({SinceStart(), "start", api + " does not start again: " + started.error().message()});
    }
  }
}

void Simulation::Register(const std::string& member) {
  if (!fleet_.hub().up()) return After(1s, [this, member] { Register(member); });
  Tell(member, "registered");
  if (!fleet_.Register(member)) return;
  registered_[member] = now();
}

void Simulation::Unregister(const std::string& member) {
  if (!fleet_.Unregister(member)) return;
  registered_.erase(member);
}

void Simulation::Struck(const std::string& kind, const std::string& party, const std::string& detail) {
  ++report_.faults[kind];
  Tell(party, "fault " + kind, detail);
}

void Simulation::Tell(const std::string& party, const std::string& event, const std::string& detail) {
  fleet_.executor().Mark(event + " " + party);
  if (options_.timeline) report_.timeline.push_back({SinceStart(), party, event, detail});
}

const std::vector<ReplicaView>& Simulation::Replicas() const {
  // Asked by several checkers in a row, and a status is a copy of much.
  const std::pair instant(now(), fleet_.executor().steps());
  if (std::exchange(views_of_, instant) == instant) return views_;
  std::vector<ReplicaView>& views = views_;
  views.clear();
  for (const auto& [host, replica] : replicas_) {
    const distribution::DistributorStatus status = replica->status();
    ReplicaView view{
        .user = replica->user(), .host = host, .paused = replica->process().paused(), .stopping = replica->stopping()};
    view.healthy = status.health_error.empty();
    view.plan_epoch = status.epoch;
    view.assigned = {status.assigned.begin(), status.assigned.end()};
    view.owned = {status.owned.begin(), status.owned.end()};
    views.push_back(std::move(view));
  }
  return views;
}

Condition Simulation::ConditionOf(const std::string& user, const std::string& member) const {
  if (const auto gone = gone_since_.find(user); gone != gone_since_.end()) return {.gone = true, .since = gone->second};
  const auto usable = usable_since_.find(user);
  if (usable == usable_since_.end()) return {.gone = true, .since = begun_};
  const std::string host = user.substr(0, user.find('/'));
  const Network& network = fleet_.network();
  return {.since = std::max({usable->second, network.UndisturbedSince(host, kHub), network.UndisturbedSince(host, member),
                             network.HealthySince(kHub), network.HealthySince(member)})};
}

Instant Simulation::UnrestUntil() const {
  Instant until = std::max(process_changed_, fleet_.network().HealthySince(kHub));
  for (const auto& [host, replica] : replicas_) {
    if (!replica->process().paused()) until = std::max(until, fleet_.network().UndisturbedSince(host, kHub));
  }
  return until;
}

void Simulation::OnWrite(const ApiWrite& write) {
  const LeaseChange change = tenures_.See(write, now());
  if (write.took_effect && IsReplica(write.record.user.name)) {
    ++report_.writes[KindOf(write)];
    if (write.record.subresource == "eviction") {
      ++evictions_;
      Tell(write.api, "eviction", fmt::format("{}/{} by {}", write.record.ns, write.record.name, write.record.user.name));
    }
    if (change.kind != LeaseChange::Kind::kNone) SeeTenure(write, change);
    if (plans_.See(write, now())) SeePlan(write.record.user.name);
  }
  for (const auto& checker : checkers_) checker->OnWrite(write, change);
}

void Simulation::OnStored(const std::string& api, const embedded::store::Event& event) {
  if (Autoscales(scenario_) || Balances(scenario_)) members_.See(api, event, now());
  for (const auto& checker : checkers_) checker->OnStored(api, event);
}

void Simulation::SeeTenure(const ApiWrite& write, const LeaseChange& change) {
  const std::string& member = write.api;
  if (change.kind == LeaseChange::Kind::kReleased) {
    free_since_[member] = now();
    return Tell(member, "freed", change.before.user);
  }
  if (change.kind != LeaseChange::Kind::kTaken) return;
  const Tenure& tenure = tenures_.Of(member);
  Tell(member, "owner", fmt::format("{} epoch {}", tenure.user, tenure.epoch));
  const auto freed = free_since_.find(member);
  const Instant ran_out = change.before.renewed + change.before.duration;
  const auto registered = registered_.find(member);
  if (change.before.number > 0 && change.before.user != tenure.user && registered != registered_.end()) {
    const Instant end = freed == free_since_.end() ? ran_out : std::min(freed->second, ran_out);
    report_.handovers.push_back(std::max(now() - std::max(end, registered->second), Duration::zero()));
  }
  free_since_.erase(member);
}

void Simulation::SeePlan(const std::string& leader) {
  const distribution::PublishedPlan& plan = plans_.plan();
  const int64_t moved = MovesOf(plan);
  ++report_.plans;
  report_.moves += moved;
  // Where few are allowed per minute, the moves that are still due may take an hour.
  if (plans_.WeightsChanged() || distribution_.moves_per_minute >= kFewMovesPerMinute) unsettled_ = now();
  Tell(leader, "plan", fmt::format("epoch {}, {} replicas: {}", plan.epoch, plan.shards.size(), plans_.Changes()));
}

}  // namespace evenkeel::sim
