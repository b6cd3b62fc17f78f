// `evenkeel apiserver`: the embedded API alone.
#pragma once

#include <string>

#include "base/result.h"

namespace evenkeel::cli {

struct ApiServerOptions {
  std::string store = "memory";
  std::string address = "127.0.0.1";
  int port = 6443;
  std::string data_dir;  ///< certificates, tokens, kubeconfig; empty: $EVENKEEL_HOME/apiserver
  std::string token_file;
  int threads = 2;
};

/// Serves until SIGTERM or SIGINT. Prints the path of a kubeconfig.
base::Status RunApiServer(const ApiServerOptions& options);

}  // namespace evenkeel::cli
