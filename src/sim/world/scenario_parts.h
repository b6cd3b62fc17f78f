// What scenarios with an autoscaler add: node groups, workloads that come and go, a trace to replay.
//
//   autoscaler: {scan-interval: 10s, expander: least-nodes}   # cluster-autoscaler's flags
//   nodeGroups:                         # of each member; its nodes come from the embedded cloud
//   - {name: small, shape: {cpu: 4, memory: 16Gi}, min: 0, max: 8, price: 0.1,
//      provisionDelay: 30s, deleteDelay: 10s, quota: 6, failCreations: 0.1, neverRegister: 0.05, zone: zone-a,
//      devices: 4}                      # that a driver publishes of each node (device_samples.h)
//   workload:                           # on each member
//     deployments: 3
//     replicas: {min: 0, max: 10}       # drawn anew every `period` or so, of one Deployment at a time
//     cpu: [250m, 1]                    # requests of one pod, drawn per Deployment
//     memory: [256Mi, 2Gi]
//     period: 60s
//     load: {0s: 0.2, 6h: 0.3, 9h: 1}   # share of replicas.max that is wanted at most, over the time; straight in between
//     jobs: true                        # a Job of up to replicas.max pods begins now and then, and ends by itself
//     budgets: 0.5                      # share of Deployments with a PodDisruptionBudget
//     devices: 0.7                      # share of Deployments and Jobs whose pods claim devices
//     stubborn: 0.1                     # share of steps that make a pod that must not be evicted, for a while
//   balancing: {movements: 6, window: 2m, interval: 10s, threshold: 1.3}     # of each member's BalancingPolicy
//   ensemble:                           # one ZooKeeper ensemble over some of the members
//     voters: {min: 3, max: 7}          # together
//     clusters: {min: 2, max: 5}        # that they are in
//     period: 45s                       # between two changes of what the user wants; 0s: none but by events
//     broken: 0.2                       # share of new images that do not start
//     writes: 500ms                     # between two writes of its client
//   events:                             # what happens when, in every seed; ends with the faults if not before
//   - {at: 7h, kind: quota, group: spot, nodes: 2, for: 2h}   # the cloud has room for so many nodes of the group
//   - {at: 9h, kind: zone-outage, zone: zone-b, for: 30m}     # its nodes are off, and the cloud makes none there
//   - {at: 12h, kind: upgrade}          # the ensemble's user wants another image
//   trace: {kind: openb, path: DIRECTORY, provisionDelay: 60s, deleteDelay: 30s}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "controllers/autoscaler/options/flags.h"

namespace evenkeel::sim {

struct NodeGroupScenario {
  std::string name;
  std::string cpu = "4", memory = "16Gi";  ///< quantities
  int64_t pods = 110;
  int64_t min = 0, max = 10;
  std::optional<double> price;  ///< per hour
  base::Duration provision_delay = std::chrono::seconds(30), delete_delay = std::chrono::seconds(10);
  std::optional<int64_t> quota;
  double fail_creations = 0, never_register = 0;  ///< shares
  std::string zone;                               ///< of its nodes; may be empty
  int64_t devices = 0;                            ///< of each node
};

struct WorkloadScenario {
  int deployments = 0;
  int64_t replicas_min = 0, replicas_max = 10;
  std::vector<std::string> cpu{"250m"}, memory{"256Mi"};  ///< quantities
  base::Duration period = std::chrono::seconds(60);
  std::map<base::Duration, double> load;  ///< since the start; empty: 1 all the time
  bool jobs = false;
  double budgets = 0, stubborn = 0, devices = 0;
};

/// With the controller "balancer": what each member's policy says.
struct BalancingScenario {
  int64_t movements = 6;  ///< allowed in any window
  base::Duration window = std::chrono::minutes(2), interval = std::chrono::seconds(10);
  double threshold = 1.3;  ///< of cpu and memory
};

struct EnsembleScenario {
  int64_t voters_min = 3, voters_max = 7;
  int64_t clusters_min = 2, clusters_max = 5;
  base::Duration period = std::chrono::seconds(45), writes = std::chrono::milliseconds(500);
  double broken = 0.2;
};

struct EventScenario {
  enum class Kind { kQuota, kUpgrade, kZoneOutage };
  Kind kind = Kind::kUpgrade;
  base::Duration at{}, lasts = std::chrono::minutes(30);  ///< since the start
  std::string group, zone;
  int64_t nodes = 0;
};

struct TraceScenario {
  std::string kind, path;
  base::Duration provision_delay = std::chrono::seconds(60), delete_delay = std::chrono::seconds(30);
};

}  // namespace evenkeel::sim
