#include "sim/fleet.h"

#include <spdlog/fmt/fmt.h>

#include "client/definitions.h"
#include "embedded/federation/definitions.h"
#include "embedded/fleet/hub_objects.h"

namespace evenkeel::sim {
namespace {

namespace fleet = embedded::fleet;

/// Any day will do; a fixed one, so that times in a trace can be compared.
constexpr base::Time kStart = std::chrono::sys_days(std::chrono::year(2030) / 1 / 1);
constexpr std::string_view kScheme = "https://";
constexpr std::string_view kDomain = ".simulated";

std::string ServerOf(const std::string& member) { return fmt::format("{}{}{}", kScheme, member, kDomain); }

std::string ApiOf(std::string_view server) {
  if (server.starts_with(kScheme)) server.remove_prefix(kScheme.size());
  if (server.ends_with(kDomain)) server.remove_suffix(kDomain.size());
  return std::string(server);
}

base::Status Create(client::Client& hub, const kube::Resource& resource, const base::Json& object) {
  auto created = hub.Create(resource, object);
  if (!created) return base::Fail(created.error());
  return {};
}

}  // namespace

Fleet::Fleet(FleetOptions options)
    : options_(options), executor_(kStart), random_(options.seed), network_(executor_, random_.Fork("network")) {}

Fleet::~Fleet() { Stop(); }

ReplicaContext Fleet::replica_context() { return {executor_, fibers_, network_, ApiOf}; }

base::Status Fleet::Start(embedded::nodeagent::ContainerRuntime* runtime) {
  for (int i = 0; i <= options_.members; ++i) {
    const bool hub = i == 0;
    const auto nodes =
        static_cast<int>(random_.Fork(fmt::format("nodes {}", i)).Between(options_.nodes_min, options_.nodes_max));
    servers_.push_back(std::make_unique<ApiServer>(ApiServerOptions{.name = hub ? kHub : fmt::format("member-{}", i),
                                                                    .index = i,
                                                                    .nodes = hub ? options_.hub_nodes : nodes,
                                                                    .cloud = !hub && options_.cloud,
                                                                    .runtime = hub ? runtime : nullptr},
                                                   executor_, random_, network_, static_cast<ApiObserver&>(*this)));
    EVENKEEL_TRY(servers_.back()->Start());
  }
  client::Client& client = hub().client();
  const auto& namespaces = kube::resources::Namespaces();
  EVENKEEL_TRY(Create(client, namespaces, kube::NewObject(namespaces, "", fleet::kNamespace)));
  EVENKEEL_TRY(client::InstallDefinition(client, embedded::federation::ClusterDefinition()));
  for (size_t i = 1; i < servers_.size(); ++i) EVENKEEL_TRY(Register(servers_[i]->name()));
  return {};
}

void Fleet::Stop() { servers_.clear(); }

base::Status Fleet::Register(const std::string& member) {
  EVENKEEL_TRY(
      Create(hub().client(), kube::resources::Secrets(), fleet::ClusterSecret(member, ServerOf(member), "token", "ca")));
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
