// The objects that make an API server a hub: the namespace, the members' cluster Secrets, and the Deployment of the
// controllers. Pure: JSON in, JSON out.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace evenkeel::embedded::fleet {

inline constexpr char kNamespace[] = "evenkeel";
inline constexpr char kKarmadaNamespace[] = "karmada-cluster";
inline constexpr char kControllerName[] = "evenkeel-controller";

/// An Argo CD cluster Secret for a member: bearer token and CA in `config`; and once more for themselves, so that a Karmada
/// Cluster can refer to it.
base::Json ClusterSecret(const std::string& name, const std::string& server, const std::string& token,
                         const std::string& ca_pem);
/// A Secret of another token for the member's Karmada Cluster, in kKarmadaNamespace. `cluster_secret` says from then on that
/// Karmada is to use that one.
base::Json KarmadaSecret(base::Json& cluster_secret, const std::string& token, const std::string& ca_pem);
/// The Secret that controller pods mount, with their kubeconfig for the hub.
base::Json KubeconfigSecret(const std::string& kubeconfig);
/// The Deployment whose pods are `evenkeel run` processes, and whose replicas are the shards.
/// @param sharding_method  "weighted": coordinated mode; Argo CD's methods: compatible mode.
/// @param more_arguments  for `evenkeel run`, which is told that the members' cloud is the embedded one.
base::Json ControllerDeployment(int replicas, const std::string& sharding_method,
                                const std::vector<std::string>& more_arguments = {});

}  // namespace evenkeel::embedded::fleet
