// Under which names and ids the servers of an ensemble know each other.
//
//   mode               name of replica o of cluster c (zk: the ensemble, id: c's id in the cluster set, k: c's index)
//   clusterset         ZK-O.ID.ZK-headless.NS.svc.clusterset.local             the Multi-Cluster Services API
//   native             ZK-(K*STRIDE+O).ZK-headless.NS.svc.DOMAIN               one flat namespace of pods
//   perClusterService  ZK-O.ZK-headless-C.NS.svc.DOMAIN                        a Service per cluster that is known everywhere
//   external           the template with <c>, <o>, <id>, <zk> and <ns> filled  DNS of one's own, or addresses
//
// A server's id is k * stride + o + 1. A cluster keeps its index for as long as it holds data, and nobody gets it afterwards,
// so an id never comes back with an empty disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"

namespace evenkeel::controllers::rollout::zookeeper {

inline constexpr int64_t kIdMax = 255;  ///< ZooKeeper's

struct ClusterIdentity {
  int64_t index = 0;
  std::string id;  ///< in DNS
};
using Identities = std::map<std::string, ClusterIdentity>;

std::string HeadlessService(std::string_view ensemble);
std::string ClientService(std::string_view ensemble);

int64_t IdOffset(const Naming& naming, const ClusterIdentity& cluster);
std::string HostName(const EnsembleSpec& spec, const std::string& cluster, const ClusterIdentity& identity, int64_t ordinal);
/// "": a name in DNS. Otherwise what is wrong: a label over 63 characters, more than 253 together, and so on.
std::string CheckHostName(const std::string& host);

/// "server.11=HOST:2888:3888:participant;2181" of every replica, by id: the same text for every cluster. `body` may give other
/// ports (ports.quorum, ports.election, ports.client), and may bind clients to the server's own host (ports.clientAddress:
/// Host), so that several servers can share a machine. Every cluster of `shares` must have an identity.
std::vector<std::string> ServerList(const EnsembleSpec& spec, const Identities& identities, const Shares& shares);

}  // namespace evenkeel::controllers::rollout::zookeeper
