// What a ZooKeeper object asks for in one cluster, checked.
//
//   spec:
//     image: {repository: zookeeper, tag: "3.8", pullPolicy: IfNotPresent, pullSecrets: [NAME]}
//     replicas: 2                # servers here; 0 is allowed
//     myidOffset: 10             # server of ordinal o has the id myidOffset + o + 1
//     ordinalsStart: 10          # the first pod is NAME-10 (then its id is ordinal + 1)
//     servers: ["server.11=HOST:2888:3888:participant;2181", ...]    # of the whole ensemble, also of other clusters
//     config: {tickTime: 2000, initLimit: 10, syncLimit: 5, maxClientCnxns: 60, autopurge: {snapRetainCount: 3,
//              purgeInterval: 24}, extra: {KEY: VALUE}}              # into zoo.cfg; extra goes last and wins
//     ports: {client: 2181, quorum: 2888, election: 3888}
//     storage: {type: persistent | ephemeral, size: 10Gi, storageClass: NAME}
//     podTemplate: {metadata: {}, spec: {}}     # put over what is made for the pods; containers are found by name
//     paused: false              # nothing is changed
//     leaving: [21]              # servers elsewhere that are to go: let go from here when they do not serve
//     rolloutRevision: TEXT      # echoed as status.observedRevision once everything here has it
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/rollout/zookeeper/member/server_line.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

struct MemberSpec {
  std::string name, ns, uid;
  int64_t generation = 0;
  std::string image, pull_policy;
  std::vector<std::string> pull_secrets;
  int64_t replicas = 0, id_offset = 0, ordinals_start = 0;
  std::vector<ServerLine> servers;  ///< by id
  std::set<int64_t> leaving;        ///< servers of other clusters; any cluster may have them let go once they do not serve
  std::map<std::string, std::string> config;
  int client_port = 2181, quorum_port = 2888, election_port = 3888;
  bool ephemeral = false;
  std::string storage_size, storage_class;
  base::Json pod_template;
  bool paused = false;
  std::string revision;

  /// After so long a leader has noticed that a follower is gone (syncLimit ticks, and one).
  base::Duration NoticeTime() const;
  int64_t IdOf(int64_t ordinal) const { return id_offset + ordinal - ordinals_start + 1; }
};

/// kBadRequest in one line: the field and what is wrong. Among others: a replica without a line in `servers`, an id or a port
/// that contradicts its line.
base::Result<MemberSpec> DecodeMemberSpec(const base::Json& object);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
