#include "cli/commands/run.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "base/input/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/process/descriptors.h"
#include "base/process/free_memory.h"
#include "base/process/memory_limit.h"
#include "base/process/process_metrics.h"
#include "cli/clusters/cloud_provider.h"
#include "cli/clusters/hub.h"
#include "cli/clusters/member_settings.h"
#include "cli/terminal/signals.h"
#include "client/fenced_client.h"
#include "client/http/credential_plugins.h"
#include "client/http/http_client.h"
#include "controllers/controllers.h"
#include "controllers/distribution/distributor/distributor.h"
#include "controllers/distribution/distributor/token_renewer.h"
#include "controllers/distribution/sharding/distribution_metrics.h"
#include "controllers/distribution/sharding/shard_plan.h"
#include "controllers/rollout/zookeeper/hub/installation.h"
#include "controllers/rollout/zookeeper/member/zookeeper_probe.h"
#include "embedded/apiserver/http/http_server.h"

namespace evenkeel::cli {
namespace {

namespace apiserver = embedded::apiserver;
namespace autoscaler = controllers::autoscaler;
namespace distribution = controllers::distribution;
namespace scheduler = controllers::scheduler;
namespace zookeepers = controllers::rollout::zookeeper::member;
using controllers::runtime::Member;

/// Strands of this process wait for networks: two per owned member, one per member it stands by for, and the hub's. Threads
/// that wait cost little; beyond this number members that hang would hold up the others' fences.
constexpr int kThreads = 128;
/// Below half of a replica's Lease, so that a hub that hangs for one call does not make this replica look gone.
constexpr base::Duration kHubTimeout = std::chrono::seconds(3);
static_assert(2 * controllers::rollout::zookeeper::kAdmissionTimeout <= kHubTimeout,
              "a status has to be written although its webhook does not answer");
/// Writes, and everything about a member's fence, end before a successor may begin (Options::lease_margin).
constexpr base::Duration kFencedTimeout = std::chrono::seconds(2);
constexpr base::Duration kMemberTimeout = std::chrono::seconds(30);
/// Of one answer of a member, and of one event; a page of 500 objects is a few.
constexpr size_t kMemberAnswerMax = 64 << 20;
/// After SIGTERM. Kubernetes kills after 30 s.
constexpr base::Duration kEndLimit = std::chrono::seconds(25);
/// Until then a replica usually holds its claim.
constexpr base::Duration kStartLimit = std::chrono::minutes(1);
/// For who only looks: short, as stopping waits for it.
constexpr base::Duration kLookTimeout = std::chrono::seconds(10);

/// /healthz and /readyz say whether this replica holds its claim; /livez only that it runs.
class HealthHandler final : public apiserver::HttpHandler {
 public:
  HealthHandler(const distribution::Distributor& distributor, base::MetricRegistry& metrics,
                std::function<void()> publish_controllers, RolloutService* rollout, const std::string& version)
      : distributor_(distributor),
        metrics_(metrics),
        process_(metrics, version),
        publish_controllers_(std::move(publish_controllers)),
        rollout_(rollout) {}

  void Handle(apiserver::HttpRequest request, std::unique_ptr<apiserver::Responder> responder) override {
    apiserver::HttpResponse response;
    response.content_type = "text/plain; charset=utf-8";
    std::string body = "ok\n";
    if (request.path == "/metrics") {
      publish_controllers_();
      process_.Publish();
      if (rollout_ != nullptr) rollout_->PublishMetrics();
      base::GaugeOf(metrics_, distribution::metrics::kHealthy).Set(distributor_.Health() ? 1 : 0);
      body = metrics_.Render();
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    } else if (request.path == "/healthz" || request.path == "/readyz") {
      auto health = distributor_.Health();
      if (health && base::DescriptorsAreShort(base::SystemClock().Monotonic())) {
        health = base::Fail(base::Code::kUnavailable, "no descriptor was left for a connection: raise the limit of open files");
      }
      if (health) {
        was_well_ = true;
      } else {
        // A replica that starts has no claim yet: that is news only where it lasts.
        const bool starts = !was_well_ && base::SystemClock().Monotonic() - started_ < kStartLimit;
        (starts ? base::log::Debug : base::log::Error)("Error serving health check request",
                                                       {{"component", "healthcheck"}, {"error", health.error()}});
        response.status = 503;
        body = health.error().message() + "\n";
      }
    } else if (request.path != "/livez") {
      response.status = 404;
      body = "there are /healthz, /readyz, /livez and /metrics\n";
    }
    response.body.push_back(std::make_shared<const std::string>(std::move(body)));
    responder->Send(std::move(response));
  }

 private:
  const distribution::Distributor& distributor_;
  base::MetricRegistry& metrics_;
  base::ProcessMetrics process_;
  const std::function<void()> publish_controllers_;
  RolloutService* const rollout_;
  const base::Instant started_ = base::SystemClock().Monotonic();
  bool was_well_ = false;  // of the one thread that serves
};

std::string HostName() {
  for (const char* name : {"POD_NAME", "HOSTNAME"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  auto text = base::ReadFile("/etc/hostname");
  std::string host = text ? *text : "localhost";
  while (!host.empty() && std::isspace(static_cast<unsigned char>(host.back()))) host.pop_back();
  return host;
}

base::Result<autoscaler::ExpanderChain> MakeExpanders(const autoscaler::Options& options, autoscaler::PodSource pods) {
  std::shared_ptr<const autoscaler::ExpanderPlugin> plugin;
  if (std::ranges::find(options.expander, "grpc") != options.expander.end()) {
    EVENKEEL_ASSIGN(plugin,
                    autoscaler::NewGrpcExpander({options.grpc_expander_url, options.grpc_expander_cert}, std::move(pods)));
  }
  return autoscaler::ExpanderChain::Make(options.expander, std::move(plugin));
}

/// What looks after the nodes of each member that has a --cloud-provider, of `run` or of its own.
base::Result<controllers::MemberControllersContext::Autoscaler> AutoscalerContext(const RunOptions& run,
                                                                                  const client::HttpClientOptions& connection,
                                                                                  base::Clock& clock,
                                                                                  const base::Random& random,
                                                                                  MemberSettings& settings) {
  EVENKEEL_ASSIGN(autoscaler::AppliedFlags applied, autoscaler::ApplyFlags(run.autoscaler));
  for (const std::string& warning : applied.warnings) base::log::Warn(warning);
  autoscaler::Options options = std::move(applied.options);
  // Made once for nothing, so that what is wrong is said now.
  EVENKEEL_TRY(MakeExpanders(options, [](auto) { return std::nullopt; }));
  if (options.cloud_provider.empty()) {
    if (!run.autoscaler.empty()) base::log::Warn("flags of the autoscaler have no effect in members without --cloud-provider");
    base::log::Info("autoscaler is on in members that annotation evenkeel.dev/autoscaler-args gives a --cloud-provider");
  } else {
    EVENKEEL_TRY(MakeProviderMaker(options, connection, clock, random));
    base::log::Info("autoscaler is on", {{"provider", options.cloud_provider}});
  }
  return controllers::MemberControllersContext::Autoscaler{
      .options = std::move(options),
      .options_of = [&settings](const std::string& member) { return settings.OptionsOf(member); },
      .expanders = [](const autoscaler::Options& own,
                      autoscaler::PodSource pods) { return MakeExpanders(own, std::move(pods)); },
      .provider = [connection, &clock, random, &settings](
                      Member& member, const autoscaler::Options& own) -> base::Result<std::unique_ptr<providers::Provider>> {
        EVENKEEL_ASSIGN(const ProviderMaker make,
                        MakeProviderMaker(own, connection, clock, random.Fork("provider"),
                                          [&settings, name = member.name()] { return settings.RivalsOf(name); }));
        return make(member.client(), [&member](auto other) { return member.Guard(std::move(other)); });
      },
      .nodes_elsewhere = [&settings](const std::string& member) { return settings.NodesElsewhere(member); }};
}

/// The names in controllers/controllers.h of what is on.
std::set<std::string, std::less<>> ChosenControllers(const RunOptions& run) {
  std::set<std::string, std::less<>> chosen = {"autoscaler"};
  if (run.scheduler) {
    chosen.insert("scheduler");
    base::log::Info("scheduler is on", {{"name", scheduler::kSchedulerName}});
  }
  if (run.balancer) {
    chosen.insert("balancer");
    base::log::Info("balancer is on");
  }
  if (run.zookeeper) {
    chosen.insert("zookeeper");
    base::log::Info("ZooKeeper operator is on");
  }
  return chosen;
}

base::Result<distribution::Options> ReadOptions(const RunOptions& run) {
  distribution::Options options;
  options.ns = run.hub.ns;
  options.host_name = HostName();
  options.in_cluster = run.in_cluster;
  for (const std::string& warning :
       distribution::ReadEnvironment([](const char* name) { return std::getenv(name); }, options)) {
    base::log::Warn(warning);
  }
  const bool weighted = run.sharding_method == distribution::kWeightedMethod;
  if (run.dynamic || (!run.sharding_method.empty() && !weighted)) options.mode = distribution::Mode::kCompatible;
  if (!run.sharding_mode.empty()) {
    EVENKEEL_ASSIGN(options.mode, distribution::ParseMode(run.sharding_mode));
  }
  EVENKEEL_TRY(distribution::CheckMethod(options.mode, run.sharding_method));
  options.moves_per_minute = run.moves_per_minute;
  if (run.dynamic) options.dynamic = true;
  if (!run.hub.controller_name.empty()) options.controller_name = run.hub.controller_name;
  if (!run.sharding_method.empty() && !weighted) {
    EVENKEEL_ASSIGN(options.method, distribution::ParseMethod(run.sharding_method));
  }
  EVENKEEL_TRY(distribution::ApplyQuirks(run.quirks, options.quirks));
  std::string autoscaler_flags;
  for (const autoscaler::FlagValue& flag : run.autoscaler) {
    autoscaler_flags += (autoscaler_flags.empty() ? "--" : " --") + flag.name + "=" + flag.text;
  }
  options.settings = {{"autoscaler", autoscaler_flags},
                      {"scheduler", run.scheduler ? "true" : "false"},
                      {"balancer", run.balancer ? "true" : "false"},
                      {"zookeeper", run.zookeeper ? "true" : "false"},
                      {"rollout", run.rollout.enabled ? "true" : "false"}};
  return options;
}

base::Result<client::ConnectionConfig> HubConnection(const HubOptions& hub) {
  const std::string path = KubeconfigPath(hub);
  if (path.empty() && hub.context.empty()) {
    if (auto in_cluster = client::InClusterConfig()) return in_cluster;
  }
  return client::LoadKubeconfig({path, hub.context});
}

/// Ends the process where this lives longer than `limit`: members that do not answer hold threads up. The Leases of what has
/// not been handed over by then run out by themselves.
class EndWithin {
 public:
  explicit EndWithin(base::Duration limit)
      : thread_([ended = ended_.get_future(), limit] {
          if (ended.wait_for(limit) != std::future_status::timeout) return;
          base::log::Warn("ends without waiting any longer for members that do not answer");
          std::_Exit(0);
        }) {}
  ~EndWithin() {
    ended_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> ended_;
  std::thread thread_;
};

/// The dashboard has clients of its own, so that who looks takes nothing from the controllers' connections and limits.
base::Result<std::unique_ptr<DashboardService>> StartDashboard(const RunOptions& run, const distribution::Options& options,
                                                               std::shared_ptr<client::CredentialPlugins> plugins) {
  client::HttpClientOptions looking;
  looking.plugins = std::move(plugins);
  looking.request_timeout = kLookTimeout;
  looking.connect_timeout = kMemberTimeout / 6;
  looking.user_agent = "evenkeel-dashboard/" + options.host_name;
  EVENKEEL_ASSIGN(client::ConnectionConfig connection, HubConnection(run.hub));
  EVENKEEL_ASSIGN(auto hub, client::NewHttpClient(std::move(connection), looking));
  const std::string name = hub->Describe();
  const auto connect = [looking](const distribution::Cluster& member) -> base::Result<std::unique_ptr<client::Client>> {
    if (!member.connection) return base::Fail(member.connection.error());
    return client::NewHttpClient(*member.connection, looking);
  };
  DashboardRunOptions dashboard = run.dashboard;
  if (dashboard.token_file.empty()) {
    // Where it cannot be made, writing the file says so.
    std::error_code ignored;
    std::filesystem::create_directories(EvenkeelHome(), ignored);
    dashboard.token_file = EvenkeelHome() + "/dashboard-token";
  }
  // Also where no autoscaler runs here: others may, with the same flags.
  EVENKEEL_ASSIGN(autoscaler::AppliedFlags applied, autoscaler::ApplyFlags(run.autoscaler));
  EVENKEEL_ASSIGN(auto service,
                  DashboardService::Start(dashboard, std::move(hub), name, options, std::move(applied.options), connect));
  base::log::Info("dashboard is on", {{"url", service->url()}, {"login", "/login?token=..."}, {"file", dashboard.token_file}});
  return service;
}

void SayHowToRegister(const std::string& ns) {
  base::log::Info(
      "no cluster is registered: evenkeel clusters add CONTEXT writes a cluster Secret and makes an account in the member",
      {{"namespace", ns}, {"more", "docs/INSTALL.md"}});
}

/// What a list of a member may come to: a few broken members at once must not take all memory, of which what is held needs more
/// than its JSON.
client::ListLimits MemberLimits(std::optional<int64_t> memory) {
  client::ListLimits limits;
  if (memory) limits.bytes = std::clamp<size_t>(static_cast<size_t>(*memory) / 8, kMemberAnswerMax, limits.bytes);
  return limits;
}

}  // namespace

base::Status Run(const RunOptions& run) {
  std::optional<EndWithin> end;  // first: it waits for the end of all that follows
  SignalWaiter signals;
  EVENKEEL_ASSIGN(distribution::Options options, ReadOptions(run));
  EVENKEEL_ASSIGN(std::vector<std::string> allowed_plugins, client::ParseAllowedPlugins(run.exec_plugins));
  EVENKEEL_ASSIGN(client::ConnectionConfig connection, HubConnection(run.hub));
  client::HttpClientOptions hub_options;
  hub_options.plugins = std::make_shared<client::CredentialPlugins>(
      client::NewProcessRunner(), base::SystemClock(), base::Random(base::EntropySeed()), std::move(allowed_plugins));
  hub_options.request_timeout = hub_options.connect_timeout = kHubTimeout;
  hub_options.user_agent = "evenkeel/" + options.host_name;
  EVENKEEL_ASSIGN(const std::unique_ptr<client::Client> hub, client::NewHttpClient(std::move(connection), hub_options));
  const bool coordinated = options.mode == distribution::Mode::kCoordinated;
  base::log::Info("controllers start",
                  {{"host", options.host_name},
                   {"hub", hub->Describe()},
                   {"mode", distribution::ModeName(options.mode)},
                   {"method", coordinated ? distribution::kWeightedMethod : distribution::MethodName(options.method)}});

  const std::unique_ptr<base::Executor> executor = base::NewThreadPool(kThreads);
  // Lists of members take a multiple of what is kept of them.
  const base::FreeMemoryKeeper free_memory(*executor);
  const auto metrics = std::make_shared<base::MetricRegistry>();
  const base::Random random(base::EntropySeed());
  client::HttpClientOptions owner_options;
  owner_options.plugins = hub_options.plugins;
  owner_options.request_timeout = kMemberTimeout;
  owner_options.write_timeout = owner_options.connect_timeout = kFencedTimeout;
  owner_options.user_agent = hub_options.user_agent;
  owner_options.body_bytes_max = kMemberAnswerMax;
  owner_options.list_limits = MemberLimits(base::MemoryLimit());
  client::HttpClientOptions looking = owner_options;
  looking.request_timeout = looking.connect_timeout = kLookTimeout;
  MemberSettings settings(run.autoscaler, looking);
  EVENKEEL_ASSIGN(auto autoscaler_context, AutoscalerContext(run, owner_options, executor->clock(), random, settings));
  controllers::MemberControllers controllers =
      controllers::NewMemberControllers({.clock = executor->clock(),
                                         .random = random,
                                         .metrics = metrics,
                                         .host = options.host_name,
                                         .autoscaler = std::move(autoscaler_context),
                                         .zookeeper = {.probe = [](Member&) { return zookeepers::NewZooKeeperProbe(); },
                                                       .new_password = zookeepers::NewPassword}},
                                        ChosenControllers(run));
  auto connect = [&](const client::ConnectionConfig& config, int64_t epoch) {
    client::HttpClientOptions member_options = owner_options;
    if (epoch == 0) member_options.request_timeout = kFencedTimeout;
    if (epoch != 0) member_options.headers.emplace_back(client::kEpochHeader, std::to_string(epoch));
    return client::NewHttpClient(config, member_options);
  };
  std::unique_ptr<RolloutService> rollout;
  if (run.rollout.enabled) {
    EVENKEEL_ASSIGN(rollout,
                    StartRolloutService(run.rollout, *hub, *executor, random, *metrics, run.hub.ns, options.host_name));
  }
  std::unique_ptr<DashboardService> dashboard;
  if (run.dashboard.enabled) {
    EVENKEEL_ASSIGN(dashboard, StartDashboard(run, options, hub_options.plugins));
  }
  controllers.factories.push_back(distribution::NewTokenRenewer({*hub, run.hub.ns, executor->clock(), random.Fork("tokens")}));
  const std::unique_ptr<distribution::Distributor> distributor = distribution::NewDistributor(
      {*hub, *executor, random, std::move(options), connect, *metrics, std::move(controllers.factories),
       [&settings, ns = run.hub.ns, told = false](const std::vector<distribution::Cluster>& clusters) mutable {
         settings.SetClusters(clusters);
         if (clusters.empty() && !std::exchange(told, true)) SayHowToRegister(ns);
       }});
  HealthHandler health(*distributor, *metrics, std::move(controllers.publish_metrics), rollout.get(), run.dashboard.version);
  apiserver::HttpServerOptions server_options;
  server_options.address = run.metrics_address;
  server_options.port = run.metrics_port;
  server_options.threads = 1;
  server_options.body_bytes_max = 0;
  EVENKEEL_ASSIGN(const std::unique_ptr<apiserver::HttpServer> server, apiserver::HttpServer::Start(server_options, health));
  distributor->Start();
  const int signal = signals.Wait();
  base::log::Info("controllers stop: clusters are handed over", {{"signal", signal}});
  end.emplace(kEndLimit);
  if (rollout != nullptr) rollout->Stop();
  std::promise<void> stopped;
  distributor->Stop([&] { stopped.set_value(); });
  stopped.get_future().wait();
  return {};
}

}  // namespace evenkeel::cli
