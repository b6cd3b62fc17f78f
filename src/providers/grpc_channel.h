// Connections to gRPC services that belong to the cluster: without TLS, with the server's certificate checked, or mutual.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::providers {

/// Files in PEM form; texts of keys never get into messages or logs.
struct GrpcFiles {
  std::string authority;    ///< certificates of those who may sign the server's
  std::string certificate;  ///< shown to the server, with `key`; both or none
  std::string key;
};

/// HOST:PORT, [HOST]:PORT. kBadRequest in one line otherwise.
base::Status CheckGrpcAddress(std::string_view address);

/// Connects with the first call, and again after failures. `files` null: without TLS. The name in the server's certificate
/// must be the host of the address. kBadRequest names the file that is missing, is not PEM, or does not belong to the other.
base::Result<std::shared_ptr<grpc::Channel>> NewGrpcChannel(const std::string& address, const GrpcFiles* files);

/// From now.
void SetTimeout(grpc::ClientContext& context, base::Duration timeout);

/// "DOING: what the service says", on one line. Unimplemented is kMethodNotAllowed.
base::Error ErrorFromGrpc(const grpc::Status& status, const std::string& doing);

}  // namespace evenkeel::providers
