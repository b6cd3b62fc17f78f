// cluster-autoscaler's external gRPC provider (--cloud-provider=externalgrpc): a service of the user's that knows a cloud,
// asked over the wire format of version 1.37; services of older versions understand it, too (proto/external_grpc.proto).
//
// Refresh asks for everything anew, many calls at once, but GPU label and types only until they have been answered. It fails
// when the service is gone. A group of which something required is refused, or wrong, is set aside; what was read of it last
// stands. What is optional (templates, options, prices) may be unimplemented: then it is absent. Where it fails, templates and
// options are as they were; a group whose options have never been said is set aside.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/cloudprovider/externalgrpc
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

/// `rivals`: names of other members whose autoscalers ask the same service now; all groups are set aside while there are any,
/// since the service does not say whose they are.
/// `prices`: whether somebody goes by prices of nodes; otherwise they are not asked for.
/// `defaults`: what the flags say, all set; the service is told. The clock, which must outlive the provider, dates prices.
/// Does not connect yet. The destructor tells a service that has ever answered to clean up. Thread-safe.
base::Result<std::unique_ptr<ExternalGrpcProvider>> NewExternalGrpcProvider(
    const ExternalGrpcConfig& config, const NodeGroupOptions& defaults, base::Clock& clock,
    std::function<std::vector<std::string>()> rivals = {}, bool prices = true);

}  // namespace evenkeel::providers
