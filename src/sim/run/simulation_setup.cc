// How a simulation begins: its checkers, and what a replica consists of.
#include "controllers/rollout/zookeeper/hub/hub_controller.h"
#include "embedded/cloud/cloud_provider.h"
#include "embedded/fleet/hub_objects.h"
#include "sim/checkers/probe.h"
#include "sim/run/simulated_controllers.h"
#include "sim/run/simulation.h"
#include "sim/world/zookeeper_probe.h"

namespace evenkeel::sim {
namespace {

namespace distribution = controllers::distribution;
using base::Duration;
using namespace std::chrono_literals;

constexpr Duration kStallMin = 1s;
constexpr Duration kStallMax = 90s;
/// A fault among servers is known to an operator after so long, and what it has sent by then has arrived; unless requests may
/// be held up.
constexpr Duration kKnownAfter = 20s;
constexpr Duration kKnownAfterDelays = 3min;

controllers::autoscaler::Options FlagsOf(const Scenario& scenario) {
  auto applied = controllers::autoscaler::ApplyFlags(scenario.autoscaler);
  EVENKEEL_CHECK(applied.has_value());
  return std::move(applied->options);
}

/// The rollouts of the hub, in a replica.
struct HubRollouts {
  std::unique_ptr<client::Client> hub;
  base::MetricRegistry metrics;
  std::unique_ptr<controllers::rollout::zookeeper::HubController> controller;
};

std::shared_ptr<void> NewHubRollouts(Replica& replica, const controllers::rollout::zookeeper::Forms& forms) {
  auto rollouts = std::make_shared<HubRollouts>();
  rollouts->hub = replica.NewClient(kHub);
  rollouts->controller = controllers::rollout::zookeeper::NewHubController({.hub = *rollouts->hub,
                                                                            .executor = replica.process(),
                                                                            .random = replica.random().Fork("rollouts"),
                                                                            .metrics = rollouts->metrics,
                                                                            .host = replica.user(),
                                                                            .forms = forms});
  rollouts->controller->Start();
  return rollouts;
}

/// A cloud whose answers are taken for something else.
class MisreadProvider final : public providers::Provider {
 public:
  MisreadProvider(std::unique_ptr<providers::Provider> real, std::function<void(providers::NodeGroups&)> misread)
      : real_(std::move(real)), misread_(std::move(misread)) {}
  std::string_view name() const override { return real_->name(); }
  base::Result<providers::NodeGroups> Refresh(std::span<const base::Json> nodes) override {
    EVENKEEL_ASSIGN(auto groups, real_->Refresh(nodes));
    misread_(groups);
    return groups;
  }
  base::Status IncreaseSize(std::string_view group, int64_t delta, bool atomically) override {
    return real_->IncreaseSize(group, delta, atomically);
  }
  base::Status DeleteNodes(std::string_view group, std::span<const providers::NodeReference> nodes, bool force) override {
    return real_->DeleteNodes(group, nodes, force);
  }
  base::Status DecreaseTargetSize(std::string_view group, int64_t delta) override {
    return real_->DecreaseTargetSize(group, delta);
  }

 private:
  const std::unique_ptr<providers::Provider> real_;
  const std::function<void(providers::NodeGroups&)> misread_;
};

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
      fleet_(
          {.seed = options.seed,
           .members = scenario.members,
           .nodes_min = scenario.nodes_min,
           .nodes_max = scenario.nodes_max,
           .cloud = !scenario.node_groups.empty(),
           .schedulers = !scenario.Runs("scheduler"),
           .federation = scenario.ensemble.has_value(),
           .habits =
               [this] {
                 const auto& rates = faults_.rates();
                 const bool once = rates.contains("karmada-once");
                 return embedded::federation::Habits{.schedules_once = once,
                                                     .evicts = rates.contains("karmada-taint"),
                                                     .syncs_namespaces = once,
                                                     .empties_members = once};
               },
           .member_runtime = [this](const std::string& member) { return rollout_ ? rollout_->RuntimeOf(member) : nullptr; }}),
      fleet_clock_(fleet_.executor().clock()),
      random_(fleet_.random().Fork("simulation")),
      distribution_(DrawOptions(scenario, random_.Fork("options"))),
      autoscaler_(FlagsOf(scenario)),
      context_(fleet_.replica_context()),
      wanted_(scenario.replicas_start),
      workload_(fleet_, scenario_, random_.Fork("workload"),
                [this](const auto& member, const auto& event, const auto& detail) { Record(member, event, detail); }),
      faults_(*this, random_.Fork("faults")),
      events_(*this, scenario_.events) {
  if (faults_.rates().contains("version-change")) {
    // It writes servers down otherwise; every other one's orders are such that those before it must not touch them.
    newer_ = {.servers = 2, .orders = random_.Fork("versions").Between(int64_t{1}, int64_t{2}), .definitions = 2};
  }
  report_.scenario = scenario.name;
  report_.seed = options.seed;
  AddChecker<OneWriterChecker>(options.states_epochs);
  no_orphan_ = &AddChecker<NoOrphanChecker>();
  AddChecker<RevisionsChecker>();
  no_older_ = &AddChecker<NoOlderChecker>();
  AddChecker<QuietChecker>();
  writes_ = &AddChecker<WritesChecker>();
  AddMemberCheckers();
  if (scenario.workload.devices > 0) AddDeviceCheckers();
  if (scenario.ensemble) AddRolloutCheckers();
  if (options.record) recorder_ = &AddChecker<RunRecorder>(&std::as_const(members_), &scenario_.balancing);
  if (recorder_ != nullptr && rollout_) recorder_->Watch(rollout_->model());
  fleet_.Observe(*this);
  fleet_.network().on_fault = [this](const auto& kind, const auto& party, const auto& detail) { Struck(kind, party, detail); };
  fleet_.network().on_stall = [this](Process& process) { Pause(process, random_.Between(kStallMin, kStallMax)); };
}

Simulation::~Simulation() {
  replicas_.clear();
  fleet_.Stop();
  rollout_book_.reset();
  rollout_.reset();
}

template <typename Made, typename... Arguments>
Made& Simulation::AddChecker(Arguments... arguments) {
  auto checker = std::make_unique<Made>(arguments...);
  Made& made = *checker;
  made.Attach(*this, [this, name = std::string(made.name())](std::string what) {
    if (!scenario_.checkers.contains(name)) return;
    Record(name, "violation", what);
    report_.violations.push_back({SinceStart(), name, std::move(what)});
  });
  checkers_.push_back(std::move(checker));
  return made;
}

void Simulation::AddMemberCheckers() {
  const MemberBook* book = &members_;
  if (scenario_.Runs("autoscaler")) {
    AddChecker<UndrainableChecker>(book, &autoscaler_);
    AddChecker<LimitsChecker>(book, &autoscaler_);
    AddChecker<FlappingChecker>(book, &autoscaler_);
    const bool shared = faults_.rates().contains("cloud-shared");
    AddChecker<SchedulableChecker>(book, &autoscaler_, shared);
    AddChecker<DrainedChecker>(book, &autoscaler_);
    AddChecker<GivenBackChecker>(book, &autoscaler_);
    own_nodes_ = &AddChecker<OwnNodesChecker>(book);
    if (shared) cloud_ = std::make_unique<SharedCloud>(fleet_, [this](const CloudCall& call) { own_nodes_->OnCall(call); });
  }
  if (scenario_.Runs("balancer")) {
    const BalancingScenario* limits = &scenario_.balancing;
    AddChecker<RoomChecker>(book, limits);
    throttles_ = &AddChecker<ThrottlesChecker>(book, limits);
    AddChecker<NoWayBackChecker>(book, limits);
    AddChecker<EnergyChecker>(book, limits);
    AddChecker<TogetherChecker>(book, limits);
  }
  if (scenario_.Runs("autoscaler") || scenario_.Runs("balancer")) AddChecker<BudgetsChecker>(book, &autoscaler_);
}

void Simulation::AddDeviceCheckers() {
  const DeviceBook* devices = &devices_;
  const MemberBook* members = &members_;
  const bool held_up = faults_.rates().contains("delayed-request") || faults_.rates().contains("stall");
  AddChecker<DevicesOnceChecker>(devices, members, held_up);
  AddChecker<DevicesClaimedChecker>(devices, members, held_up);
  AddChecker<DevicesPublishedChecker>(devices, members, held_up);
  AddChecker<DevicesFreedChecker>(devices, members, held_up);
  AddChecker<DevicesPlacedChecker>(devices, members, held_up);
}

void Simulation::AddRolloutCheckers() {
  rollout_ = std::make_unique<RolloutDriver>(
      fleet_, scenario_, random_.Fork("rollout"),
      [this](const auto& party, const auto& event, const auto& detail) { Record(party, event, detail); });
  rollout_book_ = std::make_unique<RolloutBook>(rollout_->model());
  const bool held_up = faults_.rates().contains("delayed-request") || faults_.rates().contains("stall");
  auto& quorum = AddChecker<QuorumChecker>(rollout_book_.get(), held_up ? kKnownAfterDelays : kKnownAfter);
  AddChecker<OneDeployingChecker>(rollout_book_.get());
  AddChecker<AskedChecker>(rollout_book_.get(), held_up ? kKnownAfterDelays : kKnownAfter);
  AddChecker<RecordsChecker>();
  acknowledged_ = &AddChecker<AcknowledgedChecker>();
  auto& one_leader = AddChecker<OneLeaderChecker>();
  for (ZooKeeperObserver* observer : std::initializer_list<ZooKeeperObserver*>{&quorum, acknowledged_, &one_leader}) {
    rollout_->model().Observe(observer);
  }
}

std::function<std::unique_ptr<zookeeper::Probe>()> Simulation::ProbeFor(Replica& replica) {
  return [this, &replica] {
    return NewSimulatedProbe({.model = rollout_->model(),
                              .network = fleet_.network(),
                              .executor = fleet_.executor(),
                              .process = replica.process(),
                              .host = replica.host(),
                              .random = replica.random().Fork("zookeeper probe")});
  };
}

std::unique_ptr<providers::Provider> Simulation::CloudFor(const std::string& member, client::Client& client) {
  auto own = embedded::cloud::NewCloudProvider(client);
  auto seen = cloud_ ? cloud_->ProviderOf(member, std::move(own)) : std::move(own);
  if (!options_.misread) return seen;
  return std::make_unique<MisreadProvider>(std::move(seen), options_.misread);
}

/// As a program does that has just started: a member that is not registered is not known, and one that cannot be asked leaves
/// all in doubt.
base::Result<std::map<std::string, std::string>> Simulation::NodesElsewhere(Replica& replica, const std::string& member) const {
  std::map<std::string, std::string> member_of_node;
  // A copy: members come and go while a call is under way.
  const auto registered = registered_;
  for (const auto& [other, since] : registered) {
    if (other == member) continue;
    const auto client = replica.NewClient(other);
    const auto nodes = client::ListAll(*client, kube::resources::Nodes());
    if (!nodes) return base::Fail(nodes.error().Wrap("member " + other));
    for (const base::Json& node : nodes->items) {
      member_of_node.emplace(base::FindString(node, {"spec", "providerID"}), other);
    }
  }
  return member_of_node;
}

controllers::rollout::zookeeper::Forms Simulation::FormsOf(const std::string& host) {
  const auto place = is_newer_.try_emplace(host, random_.Fork("version of " + host).Chance(0.5)).first;
  place->second = place->second || all_newer_;
  return place->second ? newer_ : controllers::rollout::zookeeper::Forms{};
}

std::string Simulation::ChangeVersion(const std::string& host) {
  bool& newer = is_newer_.at(host);
  newer = !newer;
  return newer ? "newer" : "older";
}

void Simulation::Launch(const std::string& host) {
  ReplicaSettings settings{
      .user = fmt::format("{}/{}", host, ++launched_), .options = distribution_, .clock = faults_.NewClock()};
  settings.options.host_name = host;
  settings.states_epochs = options_.states_epochs;
  const base::Random random = random_.Fork(settings.user);
  const auto forms = FormsOf(host);
  settings.controllers = [this, forms](Replica& replica) {
    ControllerContext context{.user = replica.user(),
                              .random = replica.random(),
                              .clock = replica.process().clock(),
                              .writes = *writes_,
                              .autoscaler = autoscaler_,
                              .cloud = [this](const auto& member, client::Client& client) { return CloudFor(member, client); },
                              .nodes_elsewhere = {},
                              .probe = rollout_ ? ProbeFor(replica) : nullptr,
                              .forms = forms};
    if (cloud_ && options_.asks_elsewhere) {
      context.nodes_elsewhere = [this, &replica](const std::string& member) { return NodesElsewhere(replica, member); };
    }
    return NewSimulatedControllers(context, scenario_.controllers);
  };
  if (rollout_) settings.parts.push_back([forms](Replica& replica) { return NewHubRollouts(replica, forms); });
  const auto& servers = fleet_.servers();
  base::Random choice = random.Fork("probe");
  const std::string& probed = servers[1 + choice.Below(servers.size() - 1)]->name();
  settings.parts.push_back([this, probed](Replica& replica) { return NewProbe(replica, probed, *no_older_); });
  Record(settings.user, "start");
  views_of_ = {};
  usable_since_[settings.user] = process_changed_ = now();
  std::unique_ptr<Replica>& replica = replicas_[host];
  replica = std::make_unique<Replica>(context_, std::move(settings), random);
  replica->Start();
}

}  // namespace evenkeel::sim
