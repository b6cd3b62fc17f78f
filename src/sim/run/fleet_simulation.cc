#include "sim/run/fleet_simulation.h"

#include "embedded/fleet/hub_objects.h"

namespace evenkeel::sim {

namespace fleet = embedded::fleet;

FleetSimulation::FleetSimulation(FleetSimulationOptions options)
    : options_(std::move(options)),
      fleet_({.seed = options_.seed,
              .members = options_.members,
              .nodes_min = options_.nodes,
              .nodes_max = options_.nodes,
              .hub_nodes = 1}),
      runtime_(fleet_.replica_context(), fleet_.random().Fork("replicas")) {}

FleetSimulation::~FleetSimulation() { fleet_.Stop(); }

base::Status FleetSimulation::Start() {
  EVENKEEL_TRY(fleet_.Start(&runtime_));
  for (const auto& [resource, object] :
       {std::pair(kube::resources::Secrets(), fleet::KubeconfigSecret("")),
        std::pair(kube::resources::Deployments(), fleet::ControllerDeployment(options_.replicas, options_.sharding_method))}) {
    if (auto created = hub().Create(resource, object); !created) return base::Fail(created.error());
  }
  return {};
}

std::map<std::string, std::vector<std::string>> FleetSimulation::Owners() const {
  std::map<std::string, std::vector<std::string>> owners;
  for (const std::string& member : fleet_.registered()) owners[member];
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
