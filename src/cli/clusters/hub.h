// Reaching the hub from a command.
#pragma once

#include <memory>
#include <string>

#include "cli/clusters/shards.h"
#include "client/http/http_client.h"

namespace evenkeel::cli {

/// $EVENKEEL_HOME, or ~/.evenkeel.
std::string EvenkeelHome();
/// The kubeconfig that a command uses, see HubOptions.
std::string KubeconfigPath(const HubOptions& options);
base::Result<std::unique_ptr<client::Client>> ConnectToHub(const HubOptions& options, client::HttpClientOptions http = {});

}  // namespace evenkeel::cli
