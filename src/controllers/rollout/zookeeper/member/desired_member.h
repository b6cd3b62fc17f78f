// What a ZooKeeper object asks for in one cluster, checked.
//
//   spec:
//     replicas: 2                # servers here; 0 is allowed
//     myidOffset: 10             # server of ordinal o has the id myidOffset + o + 1
//     ordinalsStart: 10          # the first pod is NAME-10 (then its id is ordinal + 1)
//     servers: ["server.11=HOST:2888:3888:participant;2181", ...]    # of the whole ensemble, also of other clusters
//     leaving: [21]              # servers elsewhere that are to go: let go from here when they do not serve
//     recovery: {request: NAME, servers: [...], absent: [1]}         # once, and on volumes that know of an ensemble: begin
//                                # again with these servers, of which the absent ones do not come and are let go
//     abandoned: true            # the ensemble goes on without the servers here: they stop without asking it
//     hold: true                 # nothing that serves is stopped, and rolloutRevision is echoed at once
//     ensemble: TEXT             # which one it is: volumes of another one are begun with `servers`
//     rolloutRevision: TEXT      # echoed as status.observedRevision once everything here has it
//     ...                        # and what they are made from: desired_servers.h
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "controllers/rollout/zookeeper/member/server_line.h"
#include "controllers/rollout/zookeeper/spec/desired_servers.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

struct MemberSpec : ServersSpec {
  std::string name, ns, uid;
  int64_t generation = 0;
  int64_t replicas = 0, id_offset = 0, ordinals_start = 0;
  std::vector<ServerLine> servers;  ///< by id
  std::set<int64_t> leaving;        ///< servers of other clusters; any cluster may have them let go once they do not serve
  struct Recovery {
    std::string request;  ///< "": none
    std::vector<ServerLine> servers;
    std::set<int64_t> absent;
  } recovery;
  bool abandoned = false, hold = false;
  std::string revision;
  std::string ensemble;  ///< which one it is; "": nobody says
  base::Json asked;      ///< AskedBody (asked.h)
  int64_t form = 1;      ///< Forms::servers of the program that writes servers down

  /// After so long a leader has noticed that a follower is gone (syncLimit ticks, and one).
  base::Duration NoticeTime() const;
  int64_t IdOf(int64_t ordinal) const { return id_offset + ordinal - ordinals_start + 1; }
};

/// kBadRequest in one line: the field and what is wrong. Among others: a replica without a line in `servers`, an id or a port
/// that contradicts its line; in an ensemble's copy no replicas, while the revision's `servers` has some here.
base::Result<MemberSpec> DecodeMemberSpec(const base::Json& object);

/// Why an ensemble's copy does not say what its hub wants here: without the hub's override it is the bare template, which is
/// nobody's wish. "": it does, or it is no ensemble's copy.
std::string WhyNotPinned(const base::Json& object);

/// Whether this is an ensemble's copy that Karmada manages no longer, as when its binding was deleted, and that its hub has
/// given nothing yet: nobody's servers depend on it, and Karmada brings no other one as long as it is there.
bool IsLeftEmpty(const base::Json& object);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
