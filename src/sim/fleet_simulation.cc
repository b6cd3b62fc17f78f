#include "sim/fleet_simulation.h"

#include <spdlog/fmt/fmt.h>

#include "embedded/fleet/hub_objects.h"
#include "embedded/store/memory_store.h"

namespace evenkeel::sim {
namespace {

namespace fleet = embedded::fleet;

/// Any day will do; a fixed one, so that times in a trace can be compared.
constexpr base::Time kStart = std::chrono::sys_days(std::chrono::year(2030) / 1 / 1);

std::string ServerOf(size_t index) { return fmt::format("https://member-{}.simulated", index); }

}  // namespace

FleetSimulation::FleetSimulation(FleetSimulationOptions options)
    : options_(std::move(options)),
      executor_(kStart),
      random_(options_.seed),
      runtime_(executor_, random_.Fork("replicas"),
               [this](const std::string& server, const std::string& replica) { return NewClient(server, replica); }) {}

FleetSimulation::~FleetSimulation() {
  traces_.clear();
  for (auto& cluster : clusters_) cluster->StopControllers();
}

base::Result<std::unique_ptr<client::Client>> FleetSimulation::NewClient(const std::string& server,
                                                                         const std::string& replica) {
  if (server == "hub") return clusters_.front()->NewClient(replica);
  for (size_t i = 1; i < clusters_.size(); ++i) {
    if (server == ServerOf(i)) return clusters_[i]->NewClient(replica);
  }
  return base::Fail(base::Code::kUnavailable, "nothing listens at " + server);
}

base::Status FleetSimulation::Start() {
  for (int i = 0; i <= options_.members; ++i) {
    fleet::ClusterOptions cluster;
    cluster.name = i == 0 ? "hub" : fmt::format("member-{}", i);
    cluster.index = i;
    cluster.nodes = i == 0 ? 1 : options_.nodes;
    cluster.runtime = i == 0 ? &runtime_ : nullptr;
    clusters_.push_back(std::make_unique<fleet::Cluster>(cluster, embedded::store::NewMemoryStore(), executor_, random_));
    EVENKEEL_TRY(clusters_.back()->Start());
    // Every write is part of the trace, so that two runs that differ in anything that lasts have different hashes.
    auto trace = clusters_.back()->api().store().NewWatch(
        "", 0, [this, name = cluster.name](const std::vector<embedded::store::Event>& batch, const base::Error*) {
          for (const auto& event : batch) executor_.Mark(fmt::format("{} {} {}", name, event.current.key, event.revision));
        });
    if (!trace) return base::Fail(trace.error());
    traces_.push_back(*std::move(trace));
  }
  auto create = [&](const kube::Resource& resource, const base::Json& object) -> base::Status {
    auto created = hub().Create(resource, object);
    if (!created) return base::Fail(created.error());
    return {};
  };
  EVENKEEL_TRY(create(kube::resources::Namespaces(), kube::NewObject(kube::resources::Namespaces(), "", fleet::kNamespace)));
  EVENKEEL_TRY(create(kube::resources::CustomResourceDefinitions(), fleet::KarmadaClusterDefinition()));
  for (size_t i = 1; i < clusters_.size(); ++i) {
    EVENKEEL_TRY(create(kube::resources::Secrets(), fleet::ClusterSecret(clusters_[i]->name(), ServerOf(i), "token", "ca")));
  }
  EVENKEEL_TRY(create(kube::resources::Secrets(), fleet::KubeconfigSecret("")));
  return create(kube::resources::Deployments(), fleet::ControllerDeployment(options_.replicas, options_.sharding_method));
}

std::map<std::string, std::vector<std::string>> FleetSimulation::Owners() const {
  std::map<std::string, std::vector<std::string>> owners;
  for (size_t i = 1; i < clusters_.size(); ++i) owners[clusters_[i]->name()];
  for (const auto& [name, status] : runtime_.Replicas()) {
    for (const std::string& cluster : status.owned) owners[cluster].push_back(name);
  }
  return owners;
}

bool FleetSimulation::Settled(size_t replicas) const {
  size_t healthy = 0;
  for (const auto& [name, status] : runtime_.Replicas()) healthy += status.health_error.empty() && status.shard >= 0;
  if (healthy != replicas) return false;
  for (const auto& [cluster, names] : Owners()) {
    if (names.size() != 1) return false;
  }
  return true;
}

}  // namespace evenkeel::sim
