// The expander strategy "grpc": a service of the user's picks among the scale-ups (--grpc-expander-url, --grpc-expander-cert),
// over cluster-autoscaler's wire format (providers/proto/expander.proto).
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/expander/grpcplugin
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "controllers/autoscaler/expanders/expander.h"

namespace evenkeel::controllers::autoscaler {

struct GrpcExpanderOptions {
  std::string url;  ///< HOST:PORT, also as dns:///HOST:PORT
  /// PEM: the certificates that may sign the service's. With a private key in it, too, the file's first certificate is the
  /// key's and is shown to the service. There is no way without TLS.
  std::string certificate_file;
  base::Duration timeout = std::chrono::seconds(5);
  bool legacy_fields = false;  ///< also those that services before 1.35 read; twice the bytes
};

/// A v1.Pod; nullopt: it is gone, and the service is not told of it.
using PodSource = std::function<std::optional<base::Json>(scheduling::PodId pod)>;

/// `pods` is called on the strand of Best, and what it refers to must outlive the plugin. When the service cannot be reached,
/// fails, or names only groups that were not offered, all candidates stay; when it names none, none does. kBadRequest: a bad
/// address or file; one line.
base::Result<std::unique_ptr<ExpanderPlugin>> NewGrpcExpander(const GrpcExpanderOptions& options, PodSource pods);

}  // namespace evenkeel::controllers::autoscaler
