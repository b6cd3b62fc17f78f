// The shell script that starts and probes a server.
#pragma once

#include <string>

#include "controllers/rollout/zookeeper/member/desired_member.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

inline constexpr char kConfigPath[] = "/etc/evenkeel-zookeeper";
inline constexpr char kDataPath[] = "/data";
/// Below it: quorum/ and client/, the Secrets for TLS.
inline constexpr char kSecretsPath[] = "/etc/evenkeel-zookeeper-tls";
/// In memory: what ZooKeeper reads keys from.
inline constexpr char kKeysPath[] = "/run/evenkeel-zookeeper";

/// For bash. "start": becomes the server, through $ZOOKEEPER_COMMAND CONFIG (by default "zkServer.sh start-foreground"), from
/// the members that it last knew the ensemble to agree on, or, where it knows of none or does not belong to them, from the list
/// that it is given; where a recovery is asked for that its volume has not seen, from the recovery's list. "ready": whether it
/// serves as part of a quorum. "alive": whether its process answers.
std::string ServerScript(const MemberSpec& spec);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
