// Messages of the external gRPC provider from and to the types of provider.h. No network.
#pragma once

#include <string>
#include <vector>

#include "providers/complaints.h"
#include "providers/proto/external_grpc.pb.h"
#include "providers/provider.h"

namespace evenkeel::providers {

namespace external_grpc = ::clusterautoscaler::cloudprovider::v1::externalgrpc;

external_grpc::ExternalGrpcNode NodeMessage(const base::Json& node);
external_grpc::ExternalGrpcNode NodeMessage(const NodeReference& node);
external_grpc::NodeGroupAutoscalingOptions OptionsMessage(const NodeGroupOptions& options);

/// Groups by id, without what takes further calls. kBadRequest names the group and the field.
base::Result<std::vector<NodeGroup>> ReadNodeGroups(const external_grpc::NodeGroupsResponse& response);
/// By id. kBadRequest names the group and the instance.
base::Result<std::vector<Instance>> ReadInstances(const std::string& group,
                                                  const external_grpc::NodeGroupNodesResponse& response);
/// What the service leaves out stays unset.
NodeGroupOptions ReadOptions(const std::string& group, const external_grpc::NodeGroupAutoscalingOptions& options,
                             Complaints& complaints);
/// Absent, with a complaint, if it is not a sound node.
std::optional<base::Json> ReadTemplate(const std::string& group,
                                       const external_grpc::NodeGroupTemplateNodeInfoResponse& response,
                                       Complaints& complaints);

}  // namespace evenkeel::providers
