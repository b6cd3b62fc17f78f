#include "kube/karmada.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace evenkeel::kube::karmada {
namespace {

/// Objects of RBAC have colons in their names, others must not.
std::string WithoutColons(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, ':', '.');
  return result;
}

}  // namespace

#define EVENKEEL_KARMADA_KIND(Function, api_version, kind, plural, namespaced, ...)                      \
  const Resource& Function() {                                                                           \
    static const Resource resource = MakeResource(api_version, kind, plural, namespaced, {__VA_ARGS__}); \
    return resource;                                                                                     \
  }
EVENKEEL_KARMADA_KIND(Clusters, "cluster.karmada.io/v1alpha1", "Cluster", "clusters", false, "status")
EVENKEEL_KARMADA_KIND(PropagationPolicies, "policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", true)
EVENKEEL_KARMADA_KIND(ClusterPropagationPolicies, "policy.karmada.io/v1alpha1", "ClusterPropagationPolicy",
                      "clusterpropagationpolicies", false)
EVENKEEL_KARMADA_KIND(OverridePolicies, "policy.karmada.io/v1alpha1", "OverridePolicy", "overridepolicies", true)
EVENKEEL_KARMADA_KIND(ClusterOverridePolicies, "policy.karmada.io/v1alpha1", "ClusterOverridePolicy", "clusteroverridepolicies",
                      false)
EVENKEEL_KARMADA_KIND(ResourceBindings, "work.karmada.io/v1alpha2", "ResourceBinding", "resourcebindings", true, "status")
EVENKEEL_KARMADA_KIND(ClusterResourceBindings, "work.karmada.io/v1alpha2", "ClusterResourceBinding", "clusterresourcebindings",
                      false, "status")
EVENKEEL_KARMADA_KIND(Works, "work.karmada.io/v1alpha1", "Work", "works", true, "status")
EVENKEEL_KARMADA_KIND(ResourceInterpreterWebhookConfigurations, "config.karmada.io/v1alpha1",
                      "ResourceInterpreterWebhookConfiguration", "resourceinterpreterwebhookconfigurations", false)
EVENKEEL_KARMADA_KIND(WorkloadRebalancers, "apps.karmada.io/v1alpha1", "WorkloadRebalancer", "workloadrebalancers", false,
                      "status")
EVENKEEL_KARMADA_KIND(ServiceExports, "multicluster.x-k8s.io/v1alpha1", "ServiceExport", "serviceexports", true, "status")
EVENKEEL_KARMADA_KIND(ServiceImports, "multicluster.x-k8s.io/v1alpha1", "ServiceImport", "serviceimports", true, "status")
#undef EVENKEEL_KARMADA_KIND

std::string BindingName(std::string_view kind, std::string_view name) {
  return base::Lower(WithoutColons(name) + "-" + std::string(kind));
}

std::string WorkName(std::string_view kind, std::string_view name, std::string_view ns) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  const std::string prefix = ns.empty() ? "" : std::string(ns) + "-";
  const std::string hash = std::to_string(base::Fnv1a32(base::Lower(prefix + WithoutColons(name) + "-" + std::string(kind))));
  std::string safe;
  for (const char c : hash) safe += kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return base::Lower(WithoutColons(name)) + "-" + safe;
}

std::string ExecutionNamespace(std::string_view cluster) {
  return std::string(kExecutionNamespacePrefix) + std::string(cluster);
}

base::Result<std::string> ClusterOfExecutionNamespace(std::string_view ns) {
  if (!ns.starts_with(kExecutionNamespacePrefix)) {
    return base::Fail(base::Code::kBadRequest, "namespace \"" + std::string(ns) +
                                                   "\" belongs to no cluster: it does not begin with \"" +
                                                   std::string(kExecutionNamespacePrefix) + "\"");
  }
  return std::string(ns.substr(kExecutionNamespacePrefix.size()));
}

std::string DerivedServiceName(std::string_view service) { return "derived-" + std::string(service); }

std::string ImportedSliceName(std::string_view cluster, std::string_view slice) {
  return "imported-" + std::string(cluster) + "-" + std::string(slice);
}

}  // namespace evenkeel::kube::karmada
