// People who use the members of a simulated fleet: Deployments that grow and shrink, Jobs that come and end by themselves,
// budgets, now and then a pod that must not be moved; and the node groups and balancing policies for all that
// (scenario_parts.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/run/device_users.h"
#include "sim/run/scenario.h"
#include "sim/world/fleet.h"

namespace evenkeel::sim {

/// A NodeGroup object as the scenario wants it.
base::Json NodeGroupOf(const NodeGroupScenario& settings);
/// A BalancingPolicy, likewise.
base::Json BalancingPolicyOf(const BalancingScenario& settings);

/// The share of the load then, since the start.
double LoadAt(const WorkloadScenario& workload, base::Duration since_start);

class WorkloadDriver {
 public:
  using Record = std::function<void(const std::string& member, const std::string& event, const std::string& detail)>;
  /// `scenario` outlives this.
  WorkloadDriver(Fleet& fleet, const Scenario& scenario, base::Random random, Record record);

  /// Makes what there is from the beginning. All members are up. `shared`: as one cloud for all has it (shared_cloud.h).
  base::Status Begin(bool shared = false);
  /// When somebody does something next; never after Stop.
  base::Instant next() const;
  /// Does what is due. A member whose API is down is left alone this time.
  void Step();
  /// Nothing changes any more, and no pod is in the way of anything.
  void Stop();

  /// Changes how the cloud behaves to one group of the scenario, if its member is up: a merge patch of spec.cloud.
  void DisturbCloud(const std::string& member, const std::string& group, const base::Json& cloud);
  /// As the scenario has it again; `healthy`: without its failures.
  void RestoreCloud(const std::string& member, const std::string& group, bool healthy);
  /// All of them, healthy.
  void HealClouds();
  const std::vector<NodeGroupScenario>& groups() const { return scenario_.node_groups; }
  DeviceUsers& device_users() { return device_users_; }
  /// Nodes of one group of the scenario have so many devices from now on, also those that run.
  void SetDevices(const std::string& member, const std::string& group, int64_t devices);

 private:
  base::Status BeginMember(ApiServer& server);
  base::Status CreateGroups(ApiServer& server);
  std::string NameOf(const std::string& member, const std::string& group) const;
  void PatchGroup(const std::string& member, const std::string& group, const base::Json& spec);
  /// Pods of a Deployment, as the load is now.
  int64_t SomeReplicas();
  void Plan(const std::string& member);
  void StepMember(ApiServer& server);
  void Resize(ApiServer& server);
  void NewJob(ApiServer& server);
  void NewStubborn(ApiServer& server);
  void EndStubborn(ApiServer& server);
  base::JsonObject Requests();
  base::Json NewDeployment(const std::string& name);

  Fleet& fleet_;
  const Scenario& scenario_;
  const WorkloadScenario& workload_;
  base::Random random_;
  DeviceUsers device_users_;
  const Record record_;
  bool shared_ = false;
  base::Instant begun_{};
  std::multimap<base::Instant, std::string> due_;             ///< members
  std::map<std::string, std::vector<std::string>> stubborn_;  ///< pods, by member
  int made_ = 0;
};

}  // namespace evenkeel::sim
