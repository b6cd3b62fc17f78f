// One API served over TLS: certificates from a CA that is made on first start, bearer tokens and client certificates, and a
// kubeconfig that reaches it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/process/free_memory.h"
#include "client/http/kubeconfig.h"
#include "embedded/apiserver/access/authentication.h"
#include "embedded/apiserver/access/certificates.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/api/kubernetes_service.h"
#include "embedded/apiserver/http/http_handler.h"
#include "embedded/apiserver/http/http_server.h"

namespace evenkeel::embedded::fleet {

using access::kMasters;

/// Certificates and keys of one installation, below one directory (0700): ca, admin (a client certificate), and what signs
/// tokens.
class Credentials {
 public:
  /// Reads what is there and makes what is missing.
  static base::Result<Credentials> LoadOrMake(const std::string& directory, base::Time now);

  const apiserver::KeyPair& authority() const { return authority_; }
  const apiserver::KeyPair& admin() const { return admin_; }
  const std::string& directory() const { return directory_; }
  /// Makes admin's certificate anew if it is about to expire; true: it was, and kubeconfigs that hold it are to be written
  /// again.
  base::Result<bool> Renew(base::Time now);
  /// The key that signs tokens of a cluster's ServiceAccounts, CLUSTER-accounts.key; made when it is not there.
  base::Result<access::TokenKey> AccountKey(const std::string& cluster) const;

  /// How the administrator (client certificate), or whoever has a token, reaches a server with a certificate of this CA.
  client::ConnectionConfig AdminConnection(const std::string& server) const;
  client::ConnectionConfig TokenConnection(const std::string& server, const std::string& token) const;

 private:
  std::string directory_;
  apiserver::KeyPair authority_, admin_;
};

struct ApiEndpointOptions {
  std::string name;  ///< of the cluster; its server certificate is NAME.crt
  std::string address = "127.0.0.1";
  int port = 0;            ///< 0: any free one
  int fallback_port = -1;  ///< tried when `port` is taken; 0: any free one; -1: none
  int threads = 2;
  std::string token_file;  ///< Kubernetes' CSV; "": none
};

class ApiEndpoint {
 public:
  /// The api must outlive it.
  static base::Result<std::unique_ptr<ApiEndpoint>> Start(ApiEndpointOptions options, apiserver::Api& api,
                                                          const Credentials& credentials, base::Executor& executor);
  int port() const { return server_->port(); }
  /// Makes the server's certificate anew if it is about to expire, and shows it from then on.
  base::Status Renew(const Credentials& credentials, base::Time now);
  std::string url() const;

 private:
  ApiEndpoint(apiserver::Api& api, base::Executor& executor);
  base::Result<apiserver::KeyPair> LoadOrMakeCertificate(const Credentials& credentials, base::Time now) const;

  std::string name_, address_;
  std::string certificate_pem_;
  std::unique_ptr<base::Executor> workers_;  // of its own: controllers on another's threads may wait for what runs on these
  apiserver::ApiHandler handler_;
  std::unique_ptr<apiserver::AuthenticatingHandler> authenticating_;
  std::unique_ptr<apiserver::HttpServer> server_;
  base::FreeMemoryKeeper free_memory_;  // what large answers and a history that was forgotten have left
  std::unique_ptr<apiserver::KubernetesService> service_;
};

/// Looks every hour whether something is to be renewed, for as long as it lives. What fails is logged and tried again then.
/// Every hour, although certificates are made anew 30 days before they expire: timers stand still while a machine sleeps.
class CertificateRenewal {
 public:
  CertificateRenewal(base::Executor& executor, std::function<base::Status(base::Time now)> renew);
  ~CertificateRenewal() { strand_->Close(); }
  CertificateRenewal(const CertificateRenewal&) = delete;
  CertificateRenewal& operator=(const CertificateRenewal&) = delete;

 private:
  void Wait();

  base::Clock& clock_;
  const std::function<base::Status(base::Time now)> renew_;
  const std::shared_ptr<base::Strand> strand_;
  base::Timer timer_;
};

}  // namespace evenkeel::embedded::fleet
