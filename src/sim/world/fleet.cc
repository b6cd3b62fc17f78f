#include "sim/world/fleet.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "client/definitions.h"
#include "controllers/rollout/zookeeper/reading/interpreter.h"
#include "embedded/federation/policies/definitions.h"
#include "embedded/fleet/hub_objects.h"

namespace evenkeel::sim {
namespace {

namespace fleet = embedded::fleet;
namespace rollout = controllers::rollout::zookeeper;

constexpr std::string_view kScheme = "https://";
constexpr std::string_view kDomain = ".simulated";

std::string ServerOf(const std::string& member) { return fmt::format("{}{}{}", kScheme, member, kDomain); }

std::string ApiOf(std::string_view server) {
  if (server.starts_with(kScheme)) server.remove_prefix(kScheme.size());
  if (server.ends_with(kDomain)) server.remove_suffix(kDomain.size());
  return std::string(server);
}

base::Status CreateOnHub(client::Client& hub, const kube::Resource& resource, const base::Json& object) {
  auto created = hub.Create(resource, object);
  if (!created) return base::Fail(created.error());
  return {};
}

}  // namespace

Fleet::Fleet(FleetOptions options)
    : options_(options), executor_(options_.start), random_(options.seed), network_(executor_, random_.Fork("network")) {}

Fleet::~Fleet() { Stop(); }

ReplicaContext Fleet::replica_context() { return {executor_, fibers_, network_, ApiOf}; }

base::Status Fleet::Start(embedded::nodeagent::ContainerRuntime* runtime) {
  for (int i = 0; i <= options_.members; ++i) {
    const bool hub = i == 0;
    const auto nodes =
        static_cast<int>(random_.Fork(fmt::format("nodes {}", i)).Between(options_.nodes_min, options_.nodes_max));
    const std::string name = hub ? kHub : fmt::format("member-{}", i);
    if (!hub) runtime = options_.member_runtime ? options_.member_runtime(name) : nullptr;
    ApiServerOptions options{.name = name,
                             .index = i,
                             .nodes = hub ? options_.hub_nodes : nodes,
                             .cloud = !hub && options_.cloud,
                             .scheduler = hub || options_.schedulers,
                             .runtime = runtime};
    if (const auto stored = options_.stored.find(name); stored != options_.stored.end()) options.stored = stored->second;
    if (hub && options_.federation) options.federation = [this](Process& process) { return FederationOf(process); };
    servers_.push_back(std::make_unique<ApiServer>(std::move(options), executor_, fibers_, random_, network_,
                                                   static_cast<ApiObserver&>(*this)));
    EVENKEEL_TRY(servers_.back()->Start());
  }
  if (options_.stored.contains(kHub)) return ReadRegistered();
  client::Client& client = hub().client();
  const auto& namespaces = kube::resources::Namespaces();
  EVENKEEL_TRY(CreateOnHub(client, namespaces, kube::NewObject(namespaces, "", fleet::kNamespace)));
  EVENKEEL_TRY(client::InstallDefinition(client, embedded::federation::ClusterDefinition()));
  for (size_t i = 1; i < servers_.size(); ++i) EVENKEEL_TRY(Register(servers_[i]->name()));
  return {};
}

base::Status Fleet::ReadRegistered() {
  EVENKEEL_ASSIGN(const auto secrets, client::ListAll(hub().client(), kube::resources::Secrets(), {.ns = fleet::kNamespace}));
  for (const auto& server : servers_) {
    const auto named = [&](const base::Json& secret) {
      return base::FindString(secret, {"metadata", "name"}) == server->name();
    };
    if (std::ranges::any_of(secrets.items, named)) registered_.insert(server->name());
  }
  return {};
}

embedded::federation::FederationOptions Fleet::FederationOf(Process& hub) {
  embedded::federation::FederationOptions federation;
  if (options_.habits) federation.habits = options_.habits();
  federation.connect = [this, &hub](const base::Json& cluster, const base::Json&) {
    const std::string server(base::FindString(cluster, {"spec", "apiEndpoint"}));
    return network_.NewClient(hub, ApiOf(server), {.host = kHub, .user = "system:federation"});
  };
  federation.ask = [](const base::Json&, const base::Json& question) {
    const std::string body = base::ToText(question);
    return base::ParseJson(rollout::AnswerInterpreter("application/json", body), "the interpreter's answer");
  };
  return federation;
}

void Fleet::Stop() { servers_.clear(); }

base::Status Fleet::Register(const std::string& member) {
  EVENKEEL_TRY(
      CreateOnHub(hub().client(), kube::resources::Secrets(), fleet::ClusterSecret(member, ServerOf(member), "token", "ca")));
  registered_.insert(member);
  return {};
}

base::Status Fleet::Unregister(const std::string& member) {
  auto deleted = hub().client().Delete(kube::resources::Secrets(), fleet::kNamespace, member);
  if (!deleted) return base::Fail(deleted.error());
  registered_.erase(member);
  return {};
}

void Fleet::OnWrite(const ApiWrite& write) {
  for (ApiObserver* observer : observers_) observer->OnWrite(write);
}

void Fleet::OnStored(const std::string& api, const embedded::store::Event& event) {
  // Every change is part of the trace, so that two runs that differ in anything that lasts have different hashes.
  executor_.Mark(fmt::format("{} {} {}", api, event.current.key, event.revision));
  for (ApiObserver* observer : observers_) observer->OnStored(api, event);
}

}  // namespace evenkeel::sim
