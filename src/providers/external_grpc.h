// cluster-autoscaler's external gRPC provider (--cloud-provider=externalgrpc): a service of the user's that knows a cloud,
// asked over the wire format of version 1.37; services of older versions understand it, too (proto/external_grpc.proto).
//
// Refresh asks for everything anew, many calls at once, but GPU label and types only until they have been answered. It fails
// when the service does not answer what is required, or answers nonsense about sizes. What is optional (templates, options,
// prices) may be unimplemented or fail: then it is absent, with a warning in the second case.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "providers/grpc_channel.h"
#include "providers/provider.h"

namespace evenkeel::providers {

/// The file of --cloud-config.
struct ExternalGrpcConfig {
  std::string address;  ///< HOST:PORT
  bool tls = false;     ///< cert or cacert is given
  GrpcFiles files;
  base::Duration timeout = std::chrono::seconds(5);  ///< of each call
};

/// YAML with address, key, cert, cacert, grpc_timeout; other keys are passed over. With cert, key and cacert are required. Only
/// cacert: the server's certificate is checked, and none is shown. kBadRequest: "SOURCE: FIELD: what".
base::Result<ExternalGrpcConfig> ParseExternalGrpcConfig(std::string_view text, std::string_view source);
base::Result<ExternalGrpcConfig> ReadExternalGrpcConfig(const std::string& path);

class ExternalGrpcProvider : public Provider {
 public:
  /// What running the pod costs at least, per hour. kMethodNotAllowed: the service knows no prices.
  virtual base::Result<double> PodPrice(const base::Json& pod) = 0;
};

/// `defaults`: what the flags say, all set; the service is told. The clock, which must outlive the provider, dates prices.
/// Does not connect yet. The destructor tells a service that has ever answered to clean up. Thread-safe.
base::Result<std::unique_ptr<ExternalGrpcProvider>> NewExternalGrpcProvider(const ExternalGrpcConfig& config,
                                                                            const NodeGroupOptions& defaults,
                                                                            base::Clock& clock);

}  // namespace evenkeel::providers
