// Credential plugins as kubectl knows them (client.authentication.k8s.io): which program to run, what it is told, and what it
// answers. Nothing here runs anything; see credential_plugins.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input/field.h"
#include "base/time.h"

namespace evenkeel::client {

/// One plugin with all that its answer depends on. The values of `args` and `env` may be secrets.
struct ExecConfig {
  std::string command;  ///< a name is looked up in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  ///< beside the environment of this process; the last of a name counts
  std::string api_version;
  std::string install_hint;
  std::string cluster_info;  ///< JSON for spec.cluster; empty: the plugin is not told
  bool from_secret = false;  ///< written by who may write Secrets: the command has to be allowed

  /// Equal for those that may share one answer.
  std::string Key() const;
};

/// What the plugin is told of the cluster, where provideClusterInfo says so.
struct ExecClusterInfo {
  std::string server, tls_server_name, ca_pem, proxy_url;
  bool insecure_skip_tls_verify = false;
  bool disable_compression = false;
  base::Json config;  ///< the plugin's own; null: none
};
std::string ExecClusterInfoText(const ExecClusterInfo& cluster);

/// Reads `exec` of a kubeconfig's user. A command with a slash is relative to `directory`.
base::Result<ExecConfig> ReadKubeconfigExec(const base::Field& exec, const ExecClusterInfo& cluster,
                                            const std::string& directory);
/// Refuses another API version than v1 and v1beta1 for what stands in the field.
base::Status CheckExecApiVersion(const base::Field& field, std::string_view api_version);

/// The value of KUBERNETES_EXEC_INFO. Nobody sits at a terminal of ours: spec.interactive is false.
std::string ExecInfo(const ExecConfig& config);

/// What a plugin answered: a token, a certificate with its key, or both.
struct ExecAnswer {
  std::string token, certificate_pem, key_pem;
  std::optional<base::Time> expires;
};
/// Reads a plugin's standard output: an ExecCredential of `api_version` in JSON or YAML. The error repeats nothing of it.
base::Result<ExecAnswer> ParseExecAnswer(std::string_view output, std::string_view api_version);

/// What a plugin said on standard error as part of a message: one bounded line, without what `config` gives it in its
/// environment and without what looks like a credential.
std::string RedactedErrors(std::string_view text, const ExecConfig& config);

}  // namespace evenkeel::client
