#include "sim/run/simulation.h"

#include <spdlog/fmt/fmt.h>

#include "embedded/fleet/hub_objects.h"

namespace evenkeel::sim {
namespace {

namespace distribution = controllers::distribution;
using base::Duration;
using base::Instant;
using namespace std::chrono_literals;

/// As a pod's grace period: who has not ended by then is killed.
constexpr Duration kGrace = 30s;
/// After a fault, loads are measured anew for a while, and plans follow them.
constexpr Duration kPlanStands = 90s;
/// A fleet that is settled for so long has settled.
constexpr int kSettledSeconds = 5;

}  // namespace

SimulationReport Simulation::Run() {
  if (auto begun = Begin(); !begun) {
    report_.violations.push_back({SinceStart(), "start", begun.error().message()});
  } else {
    faults_.Start();
    events_.Start(begun_);
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
  if (scenario_.Runs("balancer")) report_.movements = throttles_->movements();
  if (scenario_.Runs("autoscaler")) {
    const MemberBook::Counts& counts = members_.counts();
    report_.autoscaling = {.joined = counts.joined, .gone = counts.gone, .evictions = evictions_, .waited = counts.waited};
    std::ranges::sort(report_.autoscaling->waited);
  }
  if (recorder_ != nullptr) report_.recording = std::make_shared<const Recording>(recorder_->Take());
  return std::move(report_);
}

/// A plan follows a few durations of the replicas' Leases later. A claim runs out after three heartbeats, and whoever takes it
/// asks at every heartbeat of its own.
base::Duration Simulation::reassignment_bound() const {
  const bool claims = distribution_.mode == controllers::distribution::Mode::kCompatible;
  return (claims ? 5 * distribution_.heartbeat : 3 * distribution_.replica_lease_duration) + std::chrono::seconds(5);
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
  EVENKEEL_TRY(workload_.Begin(cloud_ != nullptr));
  if (rollout_) EVENKEEL_TRY(rollout_->Begin([this](int64_t value) { acknowledged_->Acknowledged(value); }));
  FillUp();
  if (recorder_ != nullptr) recorder_->Begin();
  return {};
}

void Simulation::RunUntil(Instant end, bool faults) {
  while (now() < end && report_.passed()) {
    const Duration into = SinceStart() % 1s;
    Instant next = std::min(end, now() + (1s - into));
    if (faults) next = std::min({next, faults_.next(), workload_.next(), events_.next()});
    if (rollout_) next = std::min(next, rollout_->next());
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
      events_.Step();
    }
    if (rollout_) rollout_->Step();
    if (SinceStart() % 1s == Duration::zero()) EverySecond();
  }
}

bool Simulation::RunUntilConverged() {
  const Instant healed = unsettled_ = now();
  most_waiting_ = plans_.plan().waiting;
  int settled = 0;
  while (now() - healed < HealBound()) {
    RunUntil(now() + 1s, false);
    if (!report_.passed()) return false;
    settled = Converged() ? settled + 1 : 0;
    if (settled < kSettledSeconds) continue;
    report_.converged = now() - healed;
    Record("fleet", "converged");
    for (const auto& checker : checkers_) checker->OnConverged();
    return true;
  }
  std::string state;
  for (const ReplicaView& replica : Replicas()) {
    state += fmt::format("; {} applied plan {}, owns {} of {}{}", replica.user, replica.plan_epoch, replica.owned.size(),
                         replica.assigned.size(), replica.healthy ? "" : ", is not healthy");
  }
  if (rollout_) state += "; of the ensemble: " + rollout_->WhyNotConverged();
  report_.violations.push_back(
      {SinceStart(), "converge",
       fmt::format("not converged {} after the last fault{}", base::FormatDuration(HealBound()), state)});
  return false;
}

/// Where few moves are allowed per minute, each of those that wait changes loads when its turn comes.
Duration Simulation::HealBound() const {
  const int64_t pace = distribution_.moves_per_minute;
  if (pace <= 0 || pace >= kFewMovesPerMinute) return scenario_.heal;
  return scenario_.heal + std::chrono::minutes(most_waiting_ / pace);
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
  return owned == registered_.size() && members.size() == owned && (!rollout_ || rollout_->WhyNotConverged().empty());
}

void Simulation::EverySecond() {
  if (rollout_book_) rollout_book_->Look();
  CountChecks();
  for (const auto& checker : checkers_) checker->OnSecond();
  if (options_.on_second) options_.on_second(SinceStart());
}

bool Simulation::KeepsMemberBook() const {
  return scenario_.Runs("autoscaler") || scenario_.Runs("balancer") || scenario_.workload.devices > 0 || options_.record;
}

void Simulation::Heal() {
  Record("fleet", "healed");
  faults_.Heal();
  events_.Stop();
  for (auto& [at, recovery] : std::exchange(recoveries_, {})) recovery();
  workload_.HealClouds();
  workload_.Stop();
  if (rollout_) rollout_->Stop();
  EndOlder();
  FillUp();
  for (const auto& checker : checkers_) checker->OnHealed();
}

/// Whoever has gone back goes on to the newer version in the end.
void Simulation::EndOlder() {
  all_newer_ = true;
  if (!faults_.rates().contains("version-change")) return;
  for (const std::string& host : Hosts()) {
    if (!is_newer_.at(host)) Kill(host);
  }
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

void Simulation::Kill(const std::string& host) {
  Record(replicas_.at(host)->user(), "killed");
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
  Record(replica.user(), "stop");
  gone_since_.emplace(replica.user(), now());
  process_changed_ = now();
  replica.Stop([this, &replica] {
    if (!replica.process().alive()) return;
    Record(replica.user(), "stopped");
    exited_.emplace_back(replica.host(), replica.user());
  });
  After(kGrace, [this, host, user = replica.user()] {
    const auto still = replicas_.find(host);
    if (still != replicas_.end() && still->second->user() == user) Kill(host);
  });
}

void Simulation::Pause(Process& process, Duration duration) {
  process.Pause();
  if (&process == fleet_.hub().process()) {
    After(duration, [this] {
      // If it has crashed meanwhile, there is none or another one.
      Process* const hub = fleet_.hub().process();
      if (hub == nullptr || !hub->paused()) return;
      Record(hub->name(), "resumed");
      hub->Resume();
    });
    return;
  }
  gone_since_.emplace(process.name(), now());
  process_changed_ = now();
  After(duration, [this, user = process.name()] {
    for (const auto& [host, replica] : replicas_) {
      if (replica->user() != user || !replica->process().paused()) continue;
      Record(user, "resumed");
      usable_since_[user] = process_changed_ = now();
      if (!replica->stopping()) gone_since_.erase(user);
      views_of_ = {};
      replica->process().Resume();
      return;
    }
  });
}

void Simulation::CrashApi(const std::string& api, bool silent, bool loses_servers) {
  for (const auto& server : fleet_.servers()) {
    if (server->name() != api || !server->up()) continue;
    if (rollout_) rollout_->BeforeCrash(api, loses_servers);
    server->Crash(silent);
  }
}

void Simulation::SwitchNode(const std::string& member, const std::string& node, bool on) {
  for (const auto& server : fleet_.servers()) {
    // An API server that starts has all its nodes on.
    if (server->name() == member && server->up()) on ? server->StartNode(node) : server->StopNode(node);
  }
}

void Simulation::StartApi(const std::string& api) {
  for (const auto& server : fleet_.servers()) {
    if (server->name() != api || server->up()) continue;
    Record(api, "up");
    if (auto started = server->Start(); !started) {
      report_.violations.push_back({SinceStart(), "start", api + " does not start again: " + started.error().message()});
    }
  }
}

void Simulation::Register(const std::string& member) {
  if (!fleet_.hub().up()) return After(1s, [this, member] { Register(member); });
  Record(member, "registered");
  if (!fleet_.Register(member)) return;
  registered_[member] = now();
}

void Simulation::Unregister(const std::string& member) {
  if (!fleet_.Unregister(member)) return;
  registered_.erase(member);
}

void Simulation::Struck(const std::string& kind, const std::string& party, const std::string& detail) {
  ++report_.faults[kind];
  Record(party, "fault " + kind, detail);
}

void Simulation::Record(const std::string& party, const std::string& event, const std::string& detail) {
  fleet_.executor().Mark(event + " " + party);
  if (options_.timeline || options_.record) report_.timeline.push_back({SinceStart(), party, event, detail});
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
  bool anybody = false;
  for (const auto& [host, replica] : replicas_) {
    if (replica->process().paused()) continue;
    anybody = true;
    until = std::max(until, fleet_.network().UndisturbedSince(host, kHub));
  }
  return anybody ? until : now();
}

void Simulation::OnWrite(const ApiWrite& write) {
  const LeaseChange change = tenures_.See(write, now());
  if (write.took_effect && IsReplica(write.record.user.name)) {
    ++report_.writes[KindOf(write)];
    if (write.record.subresource == "eviction") {
      ++evictions_;
      Record(write.api, "eviction", fmt::format("{}/{} by {}", write.record.ns, write.record.name, write.record.user.name));
    }
    if (change.kind != LeaseChange::Kind::kNone) SeeTenure(write, change);
    if (plans_.See(write)) SeePlan(write.record.user.name);
  }
  CountChecks();
  for (const auto& checker : checkers_) checker->OnWrite(write, change);
}

void Simulation::OnStored(const std::string& api, const embedded::store::Event& event) {
  if (KeepsMemberBook()) members_.See(api, event, now());
  if (scenario_.workload.devices > 0) devices_.See(api, event, now());
  if (rollout_) {
    rollout_->See(api, event);
    rollout_book_->See(api, event);
    if (const auto& action = rollout_book_->action())
      Record(api, "server stopped", fmt::format("{}, server {}", action->pod, action->id));
  }
  CountChecks();
  for (const auto& checker : checkers_) checker->OnStored(api, event);
}

void Simulation::SeeTenure(const ApiWrite& write, const LeaseChange& change) {
  const std::string& member = write.api;
  if (change.kind == LeaseChange::Kind::kReleased) {
    free_since_[member] = now();
    return Record(member, "freed", change.before.user);
  }
  if (change.kind != LeaseChange::Kind::kTaken) return;
  const Tenure& tenure = tenures_.Of(member);
  Record(member, "owner", fmt::format("{} epoch {}", tenure.user, tenure.epoch));
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
  most_waiting_ = std::max(most_waiting_, plan.waiting);
  // Where few are allowed per minute, the moves that are still due may take an hour.
  if (plans_.WeightsChanged() || distribution_.moves_per_minute >= kFewMovesPerMinute) unsettled_ = now();
  Record(leader, "plan", fmt::format("epoch {}, {} replicas: {}", plan.epoch, plan.shards.size(), plans_.Changes()));
}

}  // namespace evenkeel::sim
