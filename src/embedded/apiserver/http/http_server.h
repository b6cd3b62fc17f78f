// HTTP/1.1 over TLS (or plain, for metrics on loopback) with limits on everything a stranger could make large or slow.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::embedded::apiserver {

using namespace std::chrono_literals;

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;                                  ///< 0: any free one, see HttpServer::port
  std::string certificate_pem, private_key_pem;  ///< empty: plain HTTP
  std::string client_ca_pem;                     ///< client certificates signed by it are accepted (and optional)
  int threads = 2;
  size_t body_bytes_max = 3u << 20;      ///< 0: requests have no bodies
  size_t bodies_bytes_max = 256u << 20;  ///< of all requests that are being read or answered; beyond that 429
  size_t header_bytes_max = 64u << 10;
  /// One more closes the connection that has been quiet for longest among those whose holders have not shown who they are;
  /// where there is none it is refused.
  int connections_max = 12'000;
  base::Duration handshake_timeout = base::Duration(10s);
  base::Duration request_timeout = base::Duration(30s);  ///< to read one request
  base::Duration idle_timeout = base::Duration(180s);    ///< between requests
  base::Duration write_timeout = base::Duration(60s);    ///< for one write to make progress
  size_t stream_bytes_max = 64u << 20;                   ///< queued for one slow stream
};

struct HttpServerStats {
  int64_t connections = 0, requests = 0, rejected = 0;
};

class HttpServer {
 public:
  /// kUnavailable "cannot listen on ADDRESS:PORT: ..." names what to do.
  static base::Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, HttpHandler& handler);
  virtual ~HttpServer() = default;  ///< Stops accepting, ends streams, waits for its threads. The handler must still live.
  virtual int port() const = 0;
  /// Shows another certificate from the next handshake on; connections that there are go on. kBadRequest: it cannot be used, or
  /// the server is a plain one; then all stays as it was. Any thread.
  virtual base::Status UseCertificate(const std::string& certificate_pem, const std::string& private_key_pem) = 0;
  virtual HttpServerStats stats() const = 0;
};

}  // namespace evenkeel::embedded::apiserver
