// HTTP GET and TCP probes over plain sockets. Both block the caller for at most `timeout`: call them on a worker's strand.
#pragma once

#include "embedded/nodeagent/container_runtime.h"

namespace evenkeel::embedded::nodeagent {

/// Succeeds when a connection can be made.
ProbeResult ProbeTcp(const ProbeAction& action, base::Duration timeout);
/// Succeeds on a status from 200 to 399. Only scheme HTTP: a local process behind TLS is probed with exec or tcpSocket.
ProbeResult ProbeHttp(const ProbeAction& action, base::Duration timeout);

}  // namespace evenkeel::embedded::nodeagent
