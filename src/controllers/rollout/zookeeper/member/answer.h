// What ZooKeeper's four-letter words answer, as one Answer. Source: ZooKeeper's administrator's guide, "The Four Letter Words".
#pragma once

#include <string>

#include "controllers/rollout/zookeeper/member/probe.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

/// The answers as they came.
struct Words {
  std::string srvr, mntr, conf;
};

/// A server that listens and serves nobody is no error. kUnavailable: not an answer of ZooKeeper's, or cut off; kForbidden: the
/// word is not in the server's 4lw.commands.whitelist. What "mntr" and "conf" say counts only as far as it fits to "srvr".
base::Result<Answer> ReadAnswer(const Words& words);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
