// How to reach one API server, and where that is written down: kubeconfig files and in-cluster service accounts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "client/http/exec_credential.h"

namespace evenkeel::client {

/// Everything needed to connect. Secrets in here never reach a log.
struct ConnectionConfig {
  std::string server;  ///< https://HOST:PORT[/PREFIX]
  std::string ca_pem;  ///< empty: the system's
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string token;
  std::string token_file;  ///< re-read when it is older than a minute; wins over `token`
  std::string username, password;
  std::string proxy_url;
  std::shared_ptr<const ExecConfig> exec;  ///< a plugin gives the credentials instead; null: none
  std::string ns = "default";
};

struct KubeconfigSource {
  std::string path;     ///< empty: $KUBECONFIG (a list of files, merged), then ~/.kube/config
  std::string context;  ///< empty: current-context
};

/// Relative paths in the file are relative to it. `auth-provider` and impersonation are kBadRequest: named as not supported
/// with what to do instead.
base::Result<ConnectionConfig> LoadKubeconfig(const KubeconfigSource& source);
/// Reads a kubeconfig given as text; `directory` resolves relative paths.
base::Result<ConnectionConfig> ParseKubeconfig(std::string_view text, std::string_view source, const std::string& context,
                                               const std::string& directory);
/// $KUBERNETES_SERVICE_HOST and the service account mounted at `directory`. kNotFound when not in a cluster.
base::Result<ConnectionConfig> InClusterConfig(const std::string& directory = "/var/run/secrets/kubernetes.io/serviceaccount");
/// The names of all contexts of a kubeconfig.
base::Result<std::vector<std::string>> KubeconfigContexts(const std::string& path);

/// A kubeconfig with one cluster and user per context, as YAML.
std::string WriteKubeconfig(const std::vector<std::pair<std::string, ConnectionConfig>>& contexts, const std::string& current);

/// A server's URL as it may be logged: "https://user:password@host" without what stands before the @.
std::string WithoutUserinfo(std::string_view url);

}  // namespace evenkeel::client
