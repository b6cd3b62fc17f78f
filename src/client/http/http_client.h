// A Client over HTTP/1.1, with TLS, for any Kubernetes API server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "client/http/kubeconfig.h"

namespace evenkeel::client {

using namespace std::chrono_literals;

class CredentialPlugins;

struct HttpClientOptions {
  base::Duration request_timeout = base::Duration(30s);
  /// Of writes, where it is shorter. A write whose time is over is not sent any more, also when the process was paused
  /// meanwhile.
  base::Duration write_timeout = base::Duration(30s);
  base::Duration connect_timeout = base::Duration(10s);
  /// Idle connections kept for reuse; a request beyond them opens one that is closed afterwards unless there is room.
  int idle_connections_max = 32;
  /// Answers larger than this are an error (kTooLarge) instead of memory.
  size_t body_bytes_max = 512u << 20;
  ListLimits list_limits{};
  std::string user_agent = "evenkeel";
  /// Of GetRaw, which takes any answer.
  std::string raw_accept = "application/json, */*";
  /// Names and values sent with every request besides the client's own headers.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Runs credential plugins; null: those of the process, which run none that a Secret names.
  std::shared_ptr<CredentialPlugins> plugins{};
  /// For what must differ between clients (when watches end); absent: the operating system's entropy.
  std::optional<uint64_t> seed;
};

/// Does not connect yet. Errors: a certificate, key or CA that cannot be read (kBadRequest names the file or field), a
/// header that cannot be sent (kBadRequest), a credential plugin that may not be run (kForbidden).
/// Plugins run when a request needs them; a 401 renews the credentials, and what is safe to repeat is asked once more.
/// Watches of all clients share one I/O thread inside the library.
base::Result<std::unique_ptr<Client>> NewHttpClient(ConnectionConfig config, HttpClientOptions options = {});

}  // namespace evenkeel::client
