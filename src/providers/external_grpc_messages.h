// Messages of the external gRPC provider from and to the types of provider.h. No network.
#pragma once

#include <string>
#include <vector>

#include "providers/proto/external_grpc.pb.h"
#include "providers/provider.h"
#include "providers/warnings.h"

namespace evenkeel::providers {

namespace external_grpc = ::clusterautoscaler::cloudprovider::v1::externalgrpc;

external_grpc::ExternalGrpcNode NodeMessage(const base::Json& node);
external_grpc::ExternalGrpcNode NodeMessage(const NodeReference& node);
external_grpc::NodeGroupAutoscalingOptions OptionsMessage(const NodeGroupOptions& options);

/// For the first reason that is given, and for no other afterwards.
void SetAside(NodeGroup& group, const std::string& why);
/// Groups by id, without what takes further calls. One whose bounds are wrong, or that is listed twice, is set aside, with
/// bounds of 0; an entry without id is warned of and left out.
std::vector<NodeGroup> ReadNodeGroups(const external_grpc::NodeGroupsResponse& response, Warnings& warnings);
/// Fills in the instances, by id. One without id, or that is listed twice, sets the group aside.
void ReadInstances(const external_grpc::NodeGroupNodesResponse& response, NodeGroup& group);
/// What the service leaves out stays unset. kInvalid: "FIELD: what".
base::Result<NodeGroupOptions> ReadGroupOptions(const external_grpc::NodeGroupAutoscalingOptions& options);
/// Absent, with a warning, if it is not a sound node.
std::optional<base::Json> ReadTemplate(const std::string& group,
                                       const external_grpc::NodeGroupTemplateNodeInfoResponse& response, Warnings& warnings);

}  // namespace evenkeel::providers
