// What the tests and benchmarks of the HTTP layers share: certificates, handlers made of lambdas, raw connections.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/http/http_client.h"
#include "client/http/http_connection.h"
#include "embedded/apiserver/access/certificates.h"
#include "embedded/apiserver/http/http_server.h"

namespace evenkeel::embedded::apiserver::testing {

class LambdaHandler final : public HttpHandler {
 public:
  using Function = std::function<void(HttpRequest, std::unique_ptr<Responder>)>;
  explicit LambdaHandler(Function function) : function_(std::move(function)) {}
  void Handle(HttpRequest request, std::unique_ptr<Responder> responder) override {
    function_(std::move(request), std::move(responder));
  }

 private:
  Function function_;
};

inline HttpResponse TextResponse(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body.push_back(std::make_shared<const std::string>(std::move(body)));
  return response;
}

/// A CA and what it signed, made once per process.
struct TestCertificates {
  KeyPair authority, server, alice;

  static const TestCertificates& Get() {
    static const TestCertificates made = [] {
      TestCertificates all;
      const base::Time now = base::SystemClock().Now();
      all.authority = NewAuthority("test-ca", now).value();
      all.server = NewServerCertificate(all.authority, "test-server", {"127.0.0.1", "localhost"}, now).value();
      all.alice = NewClientCertificate(all.authority, "alice", {"admins", "a,b"}, now).value();
      return all;
    }();
    return made;
  }
};

inline HttpServerOptions TlsServerOptions() {
  const TestCertificates& certificates = TestCertificates::Get();
  HttpServerOptions options;
  options.certificate_pem = certificates.server.certificate_pem;
  options.private_key_pem = certificates.server.private_key_pem;
  options.client_ca_pem = certificates.authority.certificate_pem;
  return options;
}

inline client::ConnectionConfig TlsClientConfig(int port) {
  client::ConnectionConfig config;
  config.server = "https://127.0.0.1:" + std::to_string(port);
  config.ca_pem = TestCertificates::Get().authority.certificate_pem;
  return config;
}

inline client::ConnectionConfig PlainClientConfig(int port) {
  client::ConnectionConfig config;
  config.server = "http://127.0.0.1:" + std::to_string(port);
  return config;
}

/// A connection on which tests say what they like, in plain text or TLS.
class RawConnection {
 public:
  explicit RawConnection(const client::ConnectionConfig& config) {
    const client::HttpEndpoint endpoint = client::ParseEndpoint(config).value();
    auto tls = client::TlsContext::ForClient(config.ca_pem, true, config.client_certificate_pem, config.client_key_pem).value();
    auto opened = client::HttpConnection::Open(endpoint, tls, base::SystemClock().Monotonic() + base::Duration(10s));
    if (opened) connection_ = *std::move(opened);
  }
  bool open() const { return connection_ != nullptr; }
  void Close() { connection_.reset(); }
  client::HttpConnection& connection() { return *connection_; }

  /// Blocking; false when the other side has gone.
  bool Write(std::string_view data);
  /// What comes until `end` is seen (or the stream ends, or 10 s pass).
  std::string ReadUntil(std::string_view end);
  /// All that comes until the server closes.
  std::string ReadAll() { return ReadUntil({}); }
  /// Whether the server closes within `limit`, whatever it sends before.
  bool ClosedWithin(base::Duration limit);

 private:
  std::unique_ptr<client::HttpConnection> connection_;
  std::string buffer_;
};

/// Polls `condition` for up to 10 seconds.
bool Eventually(const std::function<bool()>& condition);

}  // namespace evenkeel::embedded::apiserver::testing
