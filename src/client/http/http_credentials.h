// Who an HTTP client says it is, request by request: tokens from files and plugins change while it lives.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/time.h"
#include "client/http/credential_plugins.h"
#include "client/http/http_tls.h"
#include "client/http/kubeconfig.h"

namespace evenkeel::client {

/// A bearer token that may be in a file that changes.
class TokenSource {
 public:
  TokenSource(std::string token, std::string file) : token_(std::move(token)), file_(std::move(file)) {}

  base::Result<std::string> Get();
  /// The server did not take it: read the file again next time.
  void Forget();

 private:
  std::mutex mutex_;
  std::string token_;
  const std::string file_;
  bool read_ = false;
  base::Instant read_at_{};
};

/// Thread-safe.
class HttpCredentials {
 public:
  /// `plugins` null: the process' own. Errors as NewHttpClient has them.
  static base::Result<std::unique_ptr<HttpCredentials>> Make(ConnectionConfig config, bool over_tls, const std::string& server,
                                                             std::shared_ptr<CredentialPlugins> plugins);

  struct Proof {
    std::string authorization;        ///< value of the header; empty: none
    std::shared_ptr<TlsContext> tls;  ///< null without TLS; another one when the certificate has changed
    uint64_t serial = 0;              ///< of the plugin's answer
  };
  /// Waits for a plugin until `deadline`.
  base::Result<Proof> Get(base::Instant deadline);
  /// The server answered 401. Whether there may be another proof now, so that asking again makes sense.
  bool Rejected(const Proof& proof);

 private:
  HttpCredentials(ConnectionConfig config, std::string server);
  base::Result<std::shared_ptr<TlsContext>> TlsFor(const PluginCredential& credential);

  const ConnectionConfig config_;
  const std::string server_;
  TokenSource token_;
  std::string basic_;
  std::shared_ptr<CredentialPlugins> plugins_;
  std::shared_ptr<PluginSession> plugin_;
  std::mutex mutex_;
  std::shared_ptr<TlsContext> tls_;  // guarded by mutex_ where a plugin gives certificates
  std::string certificate_pem_, key_pem_;
};

}  // namespace evenkeel::client
