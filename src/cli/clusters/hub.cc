#include "cli/clusters/hub.h"

#include <cstdlib>
#include <filesystem>

namespace evenkeel::cli {

std::string EvenkeelHome() {
  if (const char* home = std::getenv("EVENKEEL_HOME"); home != nullptr && *home != '\0') return home;
  const char* user = std::getenv("HOME");
  return std::string(user == nullptr ? "." : user) + "/.evenkeel";
}

std::string KubeconfigPath(const HubOptions& options) {
  if (!options.kubeconfig.empty()) return options.kubeconfig;
  if (const char* variable = std::getenv("KUBECONFIG"); variable != nullptr && *variable != '\0') return "";
  const std::string embedded = EvenkeelHome() + "/kubeconfig";
  return std::filesystem::exists(embedded) ? embedded : "";
}

base::Result<std::unique_ptr<client::Client>> ConnectToHub(const HubOptions& options, client::HttpClientOptions http) {
  if (options.member) return client::NewHttpClient(*options.member, std::move(http));
  EVENKEEL_ASSIGN(client::ConnectionConfig config, client::LoadKubeconfig({KubeconfigPath(options), options.context}));
  return client::NewHttpClient(std::move(config), std::move(http));
}

}  // namespace evenkeel::cli
