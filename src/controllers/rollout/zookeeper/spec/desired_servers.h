// What the servers of an ensemble are made from: the part of a ZooKeeper's spec that is the same in every cluster, and that a
// MultiClusterZooKeeper has as its template.
//
//   image: {repository: zookeeper, tag: "3.8", pullPolicy: IfNotPresent, pullSecrets: [NAME]}
//   config: {tickTime: 2000, initLimit: 10, syncLimit: 5, maxClientCnxns: 60, autopurge: {snapRetainCount: 3,
//            purgeInterval: 24}, extra: {KEY: VALUE}}                # into zoo.cfg; extra goes last
//   ports: {client: 2181, quorum: 2888, election: 3888, secureClient: 2281}
//   storage: {type: persistent | ephemeral, size: 10Gi, storageClass: NAME,
//             reclaimPolicy: Retain | Delete}       # Delete: volumes of servers that the ensemble has let go
//   tls: {quorumSecret: NAME, quorumMode: Require,     # among servers; Accept and Prefer are on the way there (quorum_tls.h)
//         clientSecret: NAME, clientAuth: need}        # for clients, at ports.secureClient beside ports.client; clientAuth:
//                                                      # need, want or none. Secrets as of kubernetes.io/tls, with ca.crt
//   podTemplate: {metadata: {labels: {}, annotations: {}}, spec: {}}     # put over what is made for the pods; containers,
//                                                                        # volumes, env ... are found by name
//   paused: false              # nothing is changed
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// The name of the container that a server runs in.
inline constexpr char kServerContainer[] = "zookeeper";

struct ServersSpec {
  std::string image, pull_policy;
  std::vector<std::string> pull_secrets;
  std::map<std::string, std::string> config;
  int client_port = 2181, quorum_port = 2888, election_port = 3888;
  int secure_client_port = 2281;
  std::string quorum_secret, client_secret;  ///< "": without TLS
  bool ephemeral = false;
  std::string storage_size, storage_class;
  bool reclaim = false;  ///< volumes of servers that were let go are deleted
  base::Json pod_template;
  bool paused = false;
};

/// Reads a spec (or a template) that is called `at` in messages, which are one line: the field and what is wrong. kBadRequest
/// for that; fields that it does not know are left alone.
base::Status ReadServersSpec(const base::Json& spec, const std::string& at, ServersSpec& servers);

}  // namespace evenkeel::controllers::rollout::zookeeper
