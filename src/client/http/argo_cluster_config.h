// How an Argo CD cluster Secret says that its cluster is reached.
#pragma once

#include <string_view>

#include "client/http/kubeconfig.h"

namespace evenkeel::client {

/// A cluster Secret's `config` JSON for `server`, read as Go reads it: any case of names, unknown ones ignored, null as absent,
/// line breaks in base64. awsAuthConfig (argocd-k8s-auth aws ...) goes before execProviderConfig, and that before tokens and
/// passwords; a client certificate goes before both. kBadRequest names the field that cannot be read. Its plugins are
/// ExecConfig::from_secret.
base::Result<ConnectionConfig> ParseArgoClusterConfig(std::string_view server, std::string_view config_json);

}  // namespace evenkeel::client
