#include "client/http/argo_cluster_config.h"
#include "client/http/http_connection.h"
#include "client/http/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A directory that does not exist, so that nothing of the machine is read by relative paths.
  if (const auto config = evenkeel::client::ParseKubeconfig(text, "input", "", "/nonexistent")) {
    static_cast<void>(evenkeel::client::ParseEndpoint(*config));
  }
  static_cast<void>(evenkeel::client::ParseArgoClusterConfig("https://host", text));
  evenkeel::client::ConnectionConfig config;
  config.server = text;
  static_cast<void>(evenkeel::client::ParseEndpoint(config));
  return 0;
}
