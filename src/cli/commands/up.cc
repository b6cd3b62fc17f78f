#include "cli/commands/up.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>

#include "base/hash.h"
#include "base/input/file.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/clusters/hub.h"
#include "cli/commands/dashboard_service.h"
#include "cli/terminal/program_name.h"
#include "cli/terminal/signals.h"
#include "client/definitions.h"
#include "client/http/http_client.h"
#include "controllers/autoscaler/options/flags.h"
#include "controllers/distribution/distributor/fleet_view.h"
#include "controllers/rollout/zookeeper/hub/installation.h"
#include "embedded/apiserver/access/audit_log.h"
#include "embedded/cloud/node_group_definition.h"
#include "embedded/fleet/api_endpoint.h"
#include "embedded/fleet/cluster.h"
#include "embedded/fleet/hub_objects.h"
#include "embedded/fleet/loopback_claim.h"
#include "embedded/fleet/rights.h"
#include "embedded/fleet/store_location.h"
#include "embedded/nodeagent/process_runtime.h"
#include "kube/own_kinds.h"

namespace evenkeel::cli {
namespace {

namespace fleet = embedded::fleet;
using base::Json;
using base::JsonObject;

/// Strands wait for commits to disk, and the federation for members; three per cluster are busy at most.
constexpr int kThreadsPerCluster = 5;
constexpr base::Duration kReadyLimit = std::chrono::seconds(120);
constexpr base::Duration kTokenLimit = std::chrono::seconds(10);
constexpr int64_t kAuditLogBytes = 10 << 20;
constexpr int kAuditLogBackups = 1;
/// In ports.json beside the ports of clusters, none of which has such a name.
constexpr char kLoopback[] = "127/8";
constexpr char kDashboard[] = "dashboard";
constexpr char kDashboardUser[] = "evenkeel-dashboard";
constexpr base::Duration kPoll = std::chrono::milliseconds(50);

/// A cluster of the fleet with what serves it. Members are destroyed in reverse order: first the sockets, then the API.
struct Served {
  std::unique_ptr<embedded::apiserver::AuditLog> audit;
  std::unique_ptr<embedded::nodeagent::ContainerRuntime> processes;
  std::unique_ptr<fleet::Cluster> cluster;
  std::unique_ptr<fleet::ApiEndpoint> endpoint;
};

class Fleet {
 public:
  Fleet(const UpOptions& options, SignalWaiter& signals) : options_(options), signals_(signals), home_(EvenkeelHome()) {}
  ~Fleet() { Stop(); }

  base::Status Start();
  /// Hands the controllers' claims back by ending their pods, then everything else.
  void Stop();
  /// Why the fleet is not ready yet; empty when the controllers are ready and every member has an owner.
  std::string NotReady();

  const std::string& home() const { return home_; }
  size_t members() const { return clusters_.size() - 1; }
  /// "": there is none.
  std::string dashboard() const { return dashboard_ == nullptr ? "" : dashboard_->login_url(); }
  int64_t replicas() const { return replicas_; }

 private:
  base::Status StartCluster(const std::string& name, int index);
  base::Status ClaimLoopback();
  base::Result<std::string> AccountToken(fleet::Cluster& cluster, const fleet::Rights& rights);
  base::Status RegisterMembers();
  base::Status WriteKubeconfigs();
  base::Status RenewCertificates(base::Time now);
  base::Status StartDashboard();
  std::vector<std::string> ControllerArguments();
  client::Client& hub() { return clusters_.front().cluster->client(); }
  std::string PortsFile() const { return home_ + "/ports.json"; }

  const UpOptions& options_;
  SignalWaiter& signals_;
  const std::string home_;
  std::string sharding_method_;
  base::Random random_{base::EntropySeed()};
  std::unique_ptr<base::Executor> executor_;
  std::optional<fleet::Credentials> credentials_;  ///< from the start on only the renewal's strand uses it
  std::optional<fleet::LoopbackClaim> loopback_;
  Json ports_ = JsonObject{};
  std::vector<Served> clusters_;  ///< the hub first
  std::optional<fleet::CertificateRenewal> renewal_;
  std::unique_ptr<DashboardService> dashboard_;
  int64_t replicas_ = 0;
};

/// Creates the object unless it is there; what people changed stays.
base::Status CreateOnce(client::Client& client, const kube::Resource& resource, const Json& object) {
  auto created = client.Create(resource, object);
  if (created || created.error().code() == base::Code::kAlreadyExists) return {};
  return base::Fail(created.error().Wrap("create " + resource.kind + " " + kube::KeyOf(object)));
}

base::Status Fleet::StartCluster(const std::string& name, int index) {
  const std::string directory = home_ + "/" + name;
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  // The pods' files in it are readable for all, as in a container; Secrets are among them.
  if (!failed) std::filesystem::permissions(directory, std::filesystem::perms::owner_all, failed);
  if (failed) return base::Fail(base::Code::kInternal, "make directory " + directory + ": " + failed.message());
  const bool hub = index == 0;
  Served served;
  EVENKEEL_ASSIGN(auto store, fleet::OpenStore(hub && !options_.hub_store.empty() ? options_.hub_store
                                                                                  : "sqlite:" + directory + "/store.db"));
  embedded::nodeagent::ProcessRuntimeOptions processes;
  processes.state_dir = directory;
  processes.executor = executor_.get();
  EVENKEEL_ASSIGN(served.processes, embedded::nodeagent::NewProcessRuntime(std::move(processes)));
  embedded::apiserver::AuditLogOptions audit;
  audit.path = directory + "/audit.log";
  audit.bytes_max = kAuditLogBytes;
  audit.backups_max = kAuditLogBackups;
  EVENKEEL_ASSIGN(served.audit, embedded::apiserver::AuditLog::Open(std::move(audit), *executor_));
  fleet::ClusterOptions cluster;
  cluster.name = name;
  cluster.index = index;
  cluster.nodes = hub ? 1 : options_.nodes;
  cluster.cloud = !hub;
  if (hub) {
    const bool habits = options_.karmada_habits;
    cluster.federation.emplace().habits = {
        .schedules_once = habits, .evicts = habits, .syncs_namespaces = habits, .empties_members = habits};
  }
  cluster.loopback_octet = loopback_->octet();
  cluster.runtime = served.processes.get();
  cluster.audit = served.audit.get();
  cluster.default_policy = true;
  EVENKEEL_ASSIGN(cluster.account_key, credentials_->AccountKey(name));
  cluster.account_ca_pem = credentials_->authority().certificate_pem;
  served.cluster = std::make_unique<fleet::Cluster>(cluster, std::move(store), *executor_, random_);
  EVENKEEL_TRY(served.cluster->Start());
  if (!hub) {
    Json group = embedded::cloud::GeneralNodeGroup();
    base::Ensure(group, {"spec", "maxSize"}) = options_.node_group_max;
    EVENKEEL_TRY(CreateOnce(served.cluster->client(), embedded::cloud::NodeGroups(), group));
  }
  fleet::ApiEndpointOptions endpoint;
  endpoint.name = name;
  endpoint.address = options_.address;
  endpoint.port = static_cast<int>(base::FindInt(ports_, {name}));
  endpoint.fallback_port = 0;
  if (hub && options_.port != 0) {
    endpoint.port = options_.port;
    endpoint.fallback_port = -1;
  }
  EVENKEEL_ASSIGN(served.endpoint, fleet::ApiEndpoint::Start(endpoint, served.cluster->api(), *credentials_, *executor_));
  ports_.get_object()[name] = served.endpoint->port();
  clusters_.push_back(std::move(served));
  return {};
}

/// One flag of the two is enough; both must agree.
base::Result<std::string> ShardingMethod(const UpOptions& options) {
  namespace distribution = controllers::distribution;
  auto mode = distribution::Mode::kCoordinated;
  if (!options.sharding_mode.empty()) {
    EVENKEEL_ASSIGN(mode, distribution::ParseMode(options.sharding_mode));
    EVENKEEL_TRY(distribution::CheckMethod(mode, options.sharding_method));
  }
  if (!options.sharding_method.empty()) return options.sharding_method;
  return std::string(mode == distribution::Mode::kCompatible ? "round-robin" : distribution::kWeightedMethod);
}

base::Status Fleet::Start() {
  EVENKEEL_ASSIGN(sharding_method_, ShardingMethod(options_));
  executor_ = base::NewThreadPool(kThreadsPerCluster * (options_.members + 1));
  EVENKEEL_ASSIGN(credentials_, fleet::Credentials::LoadOrMake(home_ + "/pki", base::SystemClock().Now()));
  if (auto text = base::ReadFile(PortsFile())) {
    auto ports = base::ParseJson(*text, PortsFile());
    if (ports && ports->is_object()) ports_ = *std::move(ports);
  }
  EVENKEEL_TRY(ClaimLoopback());
  EVENKEEL_TRY(StartCluster("hub", 0));
  for (int i = 1; i <= options_.members; ++i) EVENKEEL_TRY(StartCluster(fmt::format("member-{}", i), i));
  if (options_.dashboard) EVENKEEL_TRY(StartDashboard());
  EVENKEEL_TRY(base::WriteFile(PortsFile(), base::ToPrettyText(ports_)));
  EVENKEEL_TRY(WriteKubeconfigs());
  EVENKEEL_TRY(RegisterMembers());
  // After the Secrets: those of an earlier start may hold tokens, ports and a CA that are no longer true.
  for (const Served& served : clusters_) EVENKEEL_TRY(served.cluster->StartNodes());
  renewal_.emplace(*executor_, [this](base::Time now) { return RenewCertificates(now); });
  return {};
}

base::Status Fleet::RenewCertificates(base::Time now) {
  for (const Served& served : clusters_) EVENKEEL_TRY(served.endpoint->Renew(*credentials_, now));
  EVENKEEL_ASSIGN(const bool renewed, credentials_->Renew(now));
  return renewed ? WriteKubeconfigs() : base::Status();
}

/// Where the autoscalers write what they do: as those arguments of theirs say.
base::Result<controllers::autoscaler::Options> AutoscalerOptions(const std::vector<std::string>& arguments) {
  constexpr std::string_view kName = "status-config-map-name";
  std::vector<controllers::autoscaler::FlagValue> given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string flag = "--" + std::string(kName);
    if (arguments[i].starts_with(flag + "=")) given.push_back({std::string(kName), arguments[i].substr(flag.size() + 1)});
    if (arguments[i] == flag && i + 1 < arguments.size()) given.push_back({std::string(kName), arguments[i + 1]});
  }
  EVENKEEL_ASSIGN(controllers::autoscaler::AppliedFlags applied, controllers::autoscaler::ApplyFlags(given));
  return std::move(applied.options);
}

/// Of the controllers, of which a fleet that is there already keeps its own.
std::vector<std::string> Fleet::ControllerArguments() {
  std::vector<std::string> arguments;
  const auto deployment = hub().Get(kube::resources::Deployments(), fleet::kNamespace, fleet::kControllerName);
  if (deployment) {
    for (const Json& container : base::FindArray(*deployment, {"spec", "template", "spec", "containers"})) {
      std::ranges::move(base::FindTexts(container, {"args"}), std::back_inserter(arguments));
    }
    return arguments;
  }
  std::istringstream words(options_.autoscaler_args);
  arguments.assign(std::istream_iterator<std::string>(words), {});
  return arguments;
}

base::Status Fleet::StartDashboard() {
  DashboardRunOptions options;
  options.port = options_.dashboard_port != 0 ? options_.dashboard_port : static_cast<int>(base::FindInt(ports_, {kDashboard}));
  if (options_.dashboard_port == 0) options.fallback_port = 0;
  options.token_file = home_ + "/dashboard-token";
  options.history_file = home_ + "/dashboard-history";
  options.version = options_.version;
  controllers::distribution::Options distribution;
  distribution.ns = fleet::kNamespace;
  distribution.controller_name = fleet::kControllerName;
  // A member that somebody else has registered is reached as its Secret says.
  const auto connect =
      [this](const controllers::distribution::Cluster& member) -> base::Result<std::unique_ptr<client::Client>> {
    for (const Served& served : clusters_) {
      if (served.cluster->name() == member.name) return served.cluster->NewClient(kDashboardUser);
    }
    if (!member.connection) return base::Fail(member.connection.error());
    return client::NewHttpClient(*member.connection);
  };
  EVENKEEL_ASSIGN(controllers::autoscaler::Options autoscaler, AutoscalerOptions(ControllerArguments()));
  EVENKEEL_ASSIGN(dashboard_, DashboardService::Start(options, clusters_.front().cluster->NewClient(kDashboardUser), "hub",
                                                      std::move(distribution), std::move(autoscaler), connect));
  ports_.get_object()[kDashboard] = dashboard_->port();
  return {};
}

/// The same addresses as last time, unless another fleet has them.
base::Status Fleet::ClaimLoopback() {
  const auto usual = fleet::LoopbackClaim::kFirst + static_cast<int>(base::Fnv1a32(home_) % fleet::LoopbackClaim::kCount);
  EVENKEEL_ASSIGN(auto claim, fleet::LoopbackClaim::Take(static_cast<int>(base::FindInt(ports_, {kLoopback}, usual))));
  ports_.get_object()[kLoopback] = claim.octet();
  loopback_.emplace(std::move(claim));
  return {};
}

base::Status Fleet::WriteKubeconfigs() {
  std::vector<std::pair<std::string, client::ConnectionConfig>> contexts;
  for (const Served& served : clusters_)
    contexts.emplace_back(served.cluster->name(), credentials_->AdminConnection(served.endpoint->url()));
  return base::WriteFile(home_ + "/kubeconfig", client::WriteKubeconfig(contexts, "hub"), 0600);
}

/// Gives an account its rights in the cluster, and waits for its token.
base::Result<std::string> Fleet::AccountToken(fleet::Cluster& cluster, const fleet::Rights& rights) {
  EVENKEEL_TRY(fleet::Grant(cluster, rights));
  const base::Clock& clock = base::SystemClock();
  for (const base::Instant begin = clock.Monotonic(); clock.Monotonic() - begin < kTokenLimit;) {
    EVENKEEL_ASSIGN(std::string token, fleet::TokenOf(cluster, rights));
    if (!token.empty()) return token;
    if (signals_.WaitFor(kPoll / 10)) return base::Fail(base::Code::kCancelled, "interrupted");
  }
  return base::Fail(base::Code::kTimeout, fmt::format("{}: Secret {} got no token within {}", cluster.name(),
                                                      rights.token_secret, base::FormatDuration(kTokenLimit)));
}

base::Status Fleet::RegisterMembers() {
  EVENKEEL_ASSIGN(const std::string hub_token, AccountToken(*clusters_.front().cluster, fleet::HubRights()));
  // The replicas' account may look whether the kinds are there, and no more.
  EVENKEEL_TRY(client::InstallDefinition(hub(), kube::OwnDefinition("shardplans")));
  EVENKEEL_TRY(client::InstallDefinition(hub(), kube::OwnDefinition("shardreplicas")));
  EVENKEEL_TRY(controllers::rollout::zookeeper::InstallDefinitions(hub()));
  for (size_t i = 1; i < clusters_.size(); ++i) {
    fleet::Cluster& member = *clusters_[i].cluster;
    const std::string& ca_pem = credentials_->authority().certificate_pem;
    EVENKEEL_ASSIGN(const std::string token, AccountToken(member, fleet::MemberRights()));
    EVENKEEL_ASSIGN(const std::string karmada_token, AccountToken(member, fleet::KarmadaRights()));
    Json secret = fleet::ClusterSecret(member.name(), clusters_[i].endpoint->url(), token, ca_pem);
    EVENKEEL_TRY(
        client::CreateOrUpdate(hub(), kube::resources::Secrets(), fleet::KarmadaSecret(secret, karmada_token, ca_pem)));
    EVENKEEL_TRY(client::CreateOrUpdate(hub(), kube::resources::Secrets(), secret));
  }
  const client::ConnectionConfig connection = credentials_->TokenConnection(clusters_.front().endpoint->url(), hub_token);
  EVENKEEL_TRY(client::CreateOrUpdate(hub(), kube::resources::Secrets(),
                                      fleet::KubeconfigSecret(client::WriteKubeconfig({{"hub", connection}}, "hub"))));
  std::istringstream words(options_.autoscaler_args);
  const std::vector<std::string> arguments(std::istream_iterator<std::string>(words), {});
  return CreateOnce(hub(), kube::resources::Deployments(),
                    fleet::ControllerDeployment(options_.controllers ? options_.replicas : 0, sharding_method_, arguments));
}

std::string Fleet::NotReady() {
  auto deployment = hub().Get(kube::resources::Deployments(), fleet::kNamespace, fleet::kControllerName);
  if (!deployment) return deployment.error().message();
  replicas_ = base::FindInt(*deployment, {"spec", "replicas"});
  const int64_t ready = base::FindInt(*deployment, {"status", "readyReplicas"});
  if (ready < replicas_) return fmt::format("{} of {} controller replicas are ready", ready, replicas_);
  if (replicas_ == 0) return "";
  controllers::distribution::Options options;
  options.controller_name = fleet::kControllerName;
  auto view = controllers::distribution::ReadFleet(hub(), options, std::nullopt, std::nullopt, base::SystemClock().Now());
  if (!view) return view.error().message();
  for (const auto& row : view->rows) {
    const bool fresh = row.heartbeat_age && *row.heartbeat_age <= 3 * options.heartbeat;
    if (!row.skip_reconcile && (row.owner.empty() || !fresh)) return "cluster " + row.cluster + " has no owner";
  }
  return "";
}

void Fleet::Stop() {
  renewal_.reset();
  dashboard_.reset();
  for (Served& served : clusters_) served.cluster->StopControllers();
  while (!clusters_.empty()) clusters_.pop_back();
}

void PrintGuide(const Fleet& fleet, base::Duration took) {
  const std::string& home = fleet.home();
  std::cout
      << fmt::format(
             "Evenkeel is up after {:.1f} s: a hub and {} members, {} controller replicas ready, every member has one owner.\n",
             std::chrono::duration<double>(took).count(), fleet.members(), fleet.replicas())
      << "\n  export KUBECONFIG=" << home << "/kubeconfig\n"
      << (fleet.dashboard().empty() ? "" : "  dashboard: " + fleet.dashboard() + "\n") << "\n"
      << "Try in another terminal:\n"
      << "  kubectl get pods --namespace evenkeel --output wide\n"
      << "  " << OwnProgramName() << " get shards\n"
      << "  kubectl scale deployment evenkeel-controller --namespace evenkeel --replicas=5\n"
      << (fleet.members() > 0 ? "  kubectl --context member-1 scale nodegroup general --replicas=2\n\n" : "\n")
      << "For somebody who may only look (docs/OPERATIONS.md):\n"
      << "  kubectl create serviceaccount looker && kubectl create token looker\n"
      << "  kubectl create rolebinding looker --clusterrole=view --serviceaccount=default:looker\n\n"
      << "Ctrl-C stops it; its data stays in " << home << ".\n"
      << std::flush;
}

}  // namespace

base::Status Up(const UpOptions& options) {
  SignalWaiter signals;
  const base::Clock& clock = base::SystemClock();
  const base::Instant begin = clock.Monotonic();
  const auto left = [&] { return options.duration - (clock.Monotonic() - begin); };
  const bool limited = options.duration > base::Duration{};
  Fleet fleet(options, signals);
  EVENKEEL_TRY(fleet.Start());
  bool ready = false, warned = false, interrupted = false;
  std::string reason;
  while (!limited || left() > base::Duration{}) {
    if (ready) {
      if (!limited) {
        signals.Wait();
        break;
      }
      if (signals.WaitFor(left())) break;
      continue;
    }
    reason = fleet.NotReady();
    ready = reason.empty();
    if (ready) PrintGuide(fleet, clock.Monotonic() - begin);
    if (!ready && !warned && clock.Monotonic() - begin > kReadyLimit) {
      warned = true;
      base::log::Warn("the fleet is not ready yet", {{"why", reason}});
    }
    if (!ready && signals.WaitFor(kPoll)) {
      interrupted = true;
      break;
    }
  }
  std::cout << "stopping\n" << std::flush;
  fleet.Stop();
  if (!ready && !interrupted) {
    return base::Fail(base::Code::kTimeout,
                      fmt::format("the fleet was not ready within {}: {}", base::FormatDuration(options.duration), reason));
  }
  return {};
}

}  // namespace evenkeel::cli
