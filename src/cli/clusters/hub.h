// Reaching the hub from a command.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/http/http_client.h"

namespace evenkeel::cli {

/// How a command reaches the hub.
struct HubOptions {
  std::string kubeconfig;  ///< empty: $KUBECONFIG, $EVENKEEL_HOME/kubeconfig, ~/.kube/config: the first that exists
  std::string context;
  std::string ns = "evenkeel";
  std::string controller_name;  ///< of the Deployment; empty: $ARGOCD_APPLICATION_CONTROLLER_NAME, else evenkeel-controller
  std::optional<client::ConnectionConfig> member{};  ///< of the hub: then this is connected to instead (hub_members.h)
};

/// $EVENKEEL_HOME, or ~/.evenkeel.
std::string EvenkeelHome();
/// The kubeconfig that a command uses, see HubOptions.
std::string KubeconfigPath(const HubOptions& options);
base::Result<std::unique_ptr<client::Client>> ConnectToHub(const HubOptions& options, client::HttpClientOptions http = {});

}  // namespace evenkeel::cli
