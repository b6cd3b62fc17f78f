// A hub and member clusters in virtual time, with a network between them and whoever calls them; the members are registered
// with the hub. Who looks after them comes on top: pods of the hub (fleet_simulation.h) or processes (simulation.h).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "sim/network/api_server.h"
#include "sim/network/network.h"
#include "sim/world/replica.h"

namespace evenkeel::sim {

/// Any day will do; a fixed one, so that times in a trace can be compared.
inline constexpr base::Time kFleetStart = std::chrono::sys_days(std::chrono::year(2030) / 1 / 1);

struct FleetOptions {
  uint64_t seed = 1;
  base::Time start = kFleetStart;
  /// What the clusters' stores hold when they are opened: {API: {key: value}}, as after an outage of all of them. Where the
  /// hub's is given, the members are registered already.
  std::map<std::string, std::map<std::string, std::string>> stored{};
  int members = 3;
  int nodes_min = 3, nodes_max = 3;  ///< per member, drawn by the seed
  int hub_nodes = 0;                 ///< that run pods
  bool cloud = false;                ///< members have node groups
  bool schedulers = true;            ///< members have one of their own
  bool federation = false;           ///< the hub brings objects to the members
  /// How its federation differs from the usual one; may be empty.
  std::function<embedded::federation::Habits()> habits{};
  /// What runs the pods of a member that ask for it; may be empty, and answer null.
  std::function<embedded::nodeagent::ContainerRuntime*(const std::string& member)> member_runtime{};
};

class Fleet final : private ApiObserver {
 public:
  explicit Fleet(FleetOptions options);
  ~Fleet() override;

  /// Brings up the clusters and registers the members. `runtime` runs the pods of the hub that ask for it; may be null.
  base::Status Start(embedded::nodeagent::ContainerRuntime* runtime = nullptr);
  /// Ends all clusters; what uses them must be gone.
  void Stop();

  base::VirtualExecutor& executor() { return executor_; }
  const base::VirtualExecutor& executor() const { return executor_; }
  Network& network() { return network_; }
  const Network& network() const { return network_; }
  const base::Random& random() const { return random_; }
  ReplicaContext replica_context();
  ApiServer& hub() { return *servers_.front(); }
  /// The hub first, then the members.
  const std::vector<std::unique_ptr<ApiServer>>& servers() const { return servers_; }

  /// A member joins or leaves the fleet, with the hub up. Its cluster runs on.
  base::Status Register(const std::string& member);
  base::Status Unregister(const std::string& member);
  const std::set<std::string>& registered() const { return registered_; }

  /// Hears of everything from now on.
  void Observe(ApiObserver& observer) { observers_.push_back(&observer); }

 private:
  base::Status ReadRegistered();
  embedded::federation::FederationOptions FederationOf(Process& hub);
  void OnWrite(const ApiWrite& write) override;
  void OnStored(const std::string& api, const embedded::store::Event& event) override;

  const FleetOptions options_;
  base::VirtualExecutor executor_;
  const base::Random random_;
  Fibers fibers_;
  Network network_;
  std::vector<ApiObserver*> observers_;
  std::set<std::string> registered_;
  std::vector<std::unique_ptr<ApiServer>> servers_;
};

}  // namespace evenkeel::sim
