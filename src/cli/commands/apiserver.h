// `evenkeel apiserver`: the embedded API alone.
#pragma once

#include <cstdint>
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
  std::string audit_log;              ///< where writes are recorded; "-": standard output; empty: nowhere
  int64_t audit_log_megabytes = 100;  ///< of that file before it is moved aside; 0: 100
  int audit_log_backups = 0;          ///< how many moved ones are kept; 0: all
};

/// Serves until SIGTERM or SIGINT. Prints the path of a kubeconfig.
base::Status RunApiServer(const ApiServerOptions& options);

}  // namespace evenkeel::cli
