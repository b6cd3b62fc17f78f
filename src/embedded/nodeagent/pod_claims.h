// Which ResourceClaims a pod has to have before it starts.
// Follows: kubernetes@1.36 pkg/kubelet/cm/dra/manager.go, staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/claim.go
#pragma once

#include "client/client.h"
#include "kube/types.h"

namespace evenkeel::embedded::nodeagent {

/// Whether all that the pod claims is there, the pod's own where it was made for it, and reserved for it. An error says so in
/// the kubelet's words. Asks the API once for each claim.
base::Status CheckDeviceClaims(client::Client& client, const kube::Pod& pod);

}  // namespace evenkeel::embedded::nodeagent
