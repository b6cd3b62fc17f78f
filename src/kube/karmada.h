// Karmada's kinds, and those of the Multi-Cluster Services API, as they are addressed and named. Names are Karmada's since 1.7:
// objects that it has made are found again, and the other way round.
#pragma once

#include <string>
#include <string_view>

#include "kube/resource.h"

namespace evenkeel::kube::karmada {

const Resource& Clusters();                                  ///< cluster.karmada.io/v1alpha1
const Resource& PropagationPolicies();                       ///< policy.karmada.io/v1alpha1
const Resource& ClusterPropagationPolicies();                ///< policy.karmada.io/v1alpha1
const Resource& OverridePolicies();                          ///< policy.karmada.io/v1alpha1
const Resource& ClusterOverridePolicies();                   ///< policy.karmada.io/v1alpha1
const Resource& ResourceBindings();                          ///< work.karmada.io/v1alpha2
const Resource& ClusterResourceBindings();                   ///< work.karmada.io/v1alpha2
const Resource& Works();                                     ///< work.karmada.io/v1alpha1
const Resource& ResourceInterpreterWebhookConfigurations();  ///< config.karmada.io/v1alpha1
const Resource& WorkloadRebalancers();                       ///< apps.karmada.io/v1alpha1
const Resource& ServiceExports();                            ///< multicluster.x-k8s.io/v1alpha1
const Resource& ServiceImports();                            ///< multicluster.x-k8s.io/v1alpha1

/// Of a ResourceBinding: "NAME-KIND" in lower case, ":" becomes ".".
std::string BindingName(std::string_view kind, std::string_view name);
/// Of a Work: the object's name and a hash of namespace, name and kind, in letters that spell nothing.
std::string WorkName(std::string_view kind, std::string_view name, std::string_view ns);

/// A label of Namespaces. With "true" they stay where they are: Karmada brings the others to every member.
inline constexpr char kSkipPropagation[] = "namespace.karmada.io/skip-auto-propagation";
inline constexpr char kManagedLabel[] = "karmada.io/managed";  ///< "true" on every copy in a member

inline constexpr std::string_view kExecutionNamespacePrefix = "karmada-es-";
/// Where a cluster's Works are.
std::string ExecutionNamespace(std::string_view cluster);
/// The cluster of an execution namespace; kBadRequest for any other namespace.
base::Result<std::string> ClusterOfExecutionNamespace(std::string_view ns);

/// Of a Service that stands for one of other clusters, and of an EndpointSlice that was collected from one.
std::string DerivedServiceName(std::string_view service);
std::string ImportedSliceName(std::string_view cluster, std::string_view slice);

}  // namespace evenkeel::kube::karmada
