// The objects that a kubelet keeps about its node: the Node and its Lease. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "kube/types.h"

namespace evenkeel::embedded::nodeagent {

struct NodeConfig {
  std::string name;
  kube::Labels labels;  ///< beside the well-known ones, which are made from the fields below
  std::vector<kube::Taint> taints;
  std::map<std::string, std::string> capacity = {
      {"cpu", "4"}, {"memory", "16Gi"}, {"ephemeral-storage", "100Gi"}, {"pods", "110"}};
  std::map<std::string, std::string> allocatable;  ///< empty: the capacity
  std::string internal_ip = "127.0.0.1";
  std::string pod_cidr = "10.244.0.0/24";       ///< addresses of simulated pods
  std::string loopback_cidr = "127.10.0.0/24";  ///< addresses of process pods; each node of a machine needs its own
  std::vector<base::Json> slices{};             ///< ResourceSlices of its devices (device_driver.h)
  std::string provider_id, instance_type, zone, region;
  std::string kubelet_version = "v1.31.0";
};

/// A Node as it registers: labels kubernetes.io/hostname, os, arch, topology zone and region, instance type; status with
/// capacity, addresses, nodeInfo and the conditions Ready, MemoryPressure, DiskPressure and PIDPressure.
base::Json NodeObject(const NodeConfig& config, base::Time now);
/// Puts what the node reports about itself into the status of an existing Node; conditions of others stay, heartbeats become
/// `now`.
void ReportNodeStatus(const NodeConfig& config, base::Time now, base::Json& node);

/// The Lease in kube-node-lease, owned by the Node (uid empty: by nobody).
base::Json NodeLease(const std::string& node, const std::string& uid, base::Duration duration, base::Time now);

}  // namespace evenkeel::embedded::nodeagent
