// One connection to an API server, used by one blocking call at a time. Every wait has a deadline.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "client/http/http_message.h"
#include "client/http/http_proxy.h"
#include "client/http/http_tls.h"
#include "client/http/kubeconfig.h"

namespace evenkeel::client {

/// Where requests go, taken apart once.
struct HttpEndpoint {
  bool tls = true;
  std::string host;  ///< without brackets
  std::string port;
  std::string host_header;  ///< "127.0.0.1:6443"
  std::string path_prefix;  ///< "" or "/prefix", never ending in "/"
  std::string server_name;  ///< whom the certificate must name
  HttpProxy proxy;
  std::string description;  ///< "https://127.0.0.1:6443", without credentials or query
};

/// Takes `server` and `proxy_url`, else what the environment says for such a server, apart. kBadRequest says what is wrong with
/// which of them.
base::Result<HttpEndpoint> ParseEndpoint(const ConnectionConfig& config,
                                         const ProxyEnvironment& environment = ProxyEnvironment::OfProcess());

class HttpConnection {
 public:
  /// Resolves, connects, passes the proxy and shakes hands. kUnavailable or kTimeout, naming the server.
  static base::Result<std::unique_ptr<HttpConnection>> Open(const HttpEndpoint& endpoint, std::shared_ptr<TlsContext> tls,
                                                            base::Instant deadline);

  /// What became of one request.
  struct Exchange {
    bool sent_any = false;      ///< a byte of the request left this process
    bool received_any = false;  ///< a byte of the answer came
  };
  /// Sends head and body and reads the answer into `reader`: to its end, or, when it is a 200 and
  /// `header_only`, to the end of its header. kTooLarge, kTimeout,
  /// kUnavailable.
  base::Status Send(std::string_view head, std::string_view body, HttpResponseReader& reader, bool header_only,
                    base::Instant deadline, Exchange& exchange);
  /// Whether the server has neither closed it nor said anything since the last answer.
  bool Alive();

  /// What it was opened with; null without TLS.
  const std::shared_ptr<TlsContext>& tls() const { return tls_; }
  int fd() const { return fd_.get(); }
  Transport& transport() { return transport_; }
  base::Instant idle_since{};

 private:
  HttpConnection() = default;
  base::Status PassProxy(const HttpEndpoint& endpoint, base::Instant deadline);
  base::Status PassSocks5(const HttpEndpoint& endpoint, base::Instant deadline);
  base::Result<std::string> ReadFromProxy(size_t bytes, base::Instant deadline);
  base::Status WaitFor(IoResult::Kind kind, base::Instant deadline, std::string_view doing);
  base::Status WriteAll(std::vector<std::string_view> parts, base::Instant deadline, Exchange& exchange);

  std::shared_ptr<TlsContext> tls_;
  UniqueFd fd_;
  Transport transport_;
};

}  // namespace evenkeel::client
