#include "embedded/fleet/hub_objects.h"

#include "base/hash.h"
#include "embedded/federation/hub/cluster_registry.h"
#include "kube/object.h"

namespace evenkeel::embedded::fleet {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr char kKubeconfigSecret[] = "evenkeel-kubeconfig";
constexpr int kMetricsPort = 8082;

JsonObject Probe(const char* path, int delay, int period, int timeout, int failures) {
  return {{"httpGet", JsonObject{{"path", path}, {"port", kMetricsPort}}},
          {"initialDelaySeconds", delay},
          {"periodSeconds", period},
          {"timeoutSeconds", timeout},
          {"failureThreshold", failures}};
}

JsonObject FieldVariable(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"fieldPath", path}}}}}};
}

}  // namespace

Json ClusterSecret(const std::string& name, const std::string& server, const std::string& token, const std::string& ca_pem) {
  Json secret = kube::NewObject(kube::resources::Secrets(), kNamespace, name);
  base::Ensure(secret, {"metadata", "labels"}) = JsonObject{{"argocd.argoproj.io/secret-type", "cluster"}};
  const Json config = JsonObject{{"bearerToken", token},
                                 {"tlsClientConfig", JsonObject{{"insecure", false}, {"caData", base::Base64Encode(ca_pem)}}}};
  base::Ensure(secret, {"stringData"}) =
      JsonObject{{"name", name}, {"server", server}, {"config", base::ToText(config)}, {"token", token}, {"caBundle", ca_pem}};
  base::Ensure(secret, {"type"}) = "Opaque";
  return secret;
}

Json KarmadaSecret(Json& cluster_secret, const std::string& token, const std::string& ca_pem) {
  Json secret = kube::NewObject(kube::resources::Secrets(), kKarmadaNamespace, kube::NameOf(cluster_secret));
  base::Ensure(secret, {"stringData"}) = JsonObject{{"token", token}, {"caBundle", ca_pem}};
  base::Ensure(secret, {"type"}) = "Opaque";
  base::Ensure(cluster_secret, {"metadata", "annotations", federation::kKarmadaSecret}) = kube::KeyOf(secret);
  return secret;
}

Json KubeconfigSecret(const std::string& kubeconfig) {
  Json secret = kube::NewObject(kube::resources::Secrets(), kNamespace, kKubeconfigSecret);
  base::Ensure(secret, {"stringData"}) = JsonObject{{"kubeconfig", kubeconfig}};
  base::Ensure(secret, {"type"}) = "Opaque";
  return secret;
}

Json ControllerDeployment(int replicas, const std::string& sharding_method, const std::vector<std::string>& more_arguments) {
  JsonArray arguments{"--kubeconfig=$(EVENKEEL_POD_ROOT)/etc/evenkeel/kubeconfig",
                      "--metrics-address=$(POD_IP)",
                      "--metrics-port=" + std::to_string(kMetricsPort),
                      "--cloud-provider=embedded",
                      "--balancer",
                      "--zookeeper",
                      "--rollout",
                      "--install",
                      "--webhook-address=$(POD_IP)"};
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  const auto variable = [](const char* name, const std::string& value) { return JsonObject{{"name", name}, {"value", value}}; };
  JsonArray environment{FieldVariable("POD_IP", "status.podIP"), FieldVariable("POD_NAME", "metadata.name")};
  if (sharding_method == "weighted") {
    environment.push_back(variable("EVENKEEL_SHARDING_MODE", "coordinated"));
  } else {
    environment.push_back(variable("EVENKEEL_SHARDING_MODE", "compatible"));
    environment.push_back(variable("ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION", "true"));
    environment.push_back(variable("ARGOCD_APPLICATION_CONTROLLER_NAME", kControllerName));
    environment.push_back(variable("ARGOCD_CONTROLLER_SHARDING_ALGORITHM", sharding_method));
  }
  const JsonObject labels{{"app.kubernetes.io/name", kControllerName}, {"app.kubernetes.io/part-of", "evenkeel"}};
  const JsonObject container{
      {"name", "controller"},
      {"image", "evenkeel"},
      {"command", JsonArray{"evenkeel", "run"}},
      {"args", arguments},
      {"env", environment},
      {"ports", JsonArray{JsonObject{{"name", "metrics"}, {"containerPort", kMetricsPort}}}},
      {"resources", JsonObject{{"requests", JsonObject{{"cpu", "100m"}, {"memory", "64Mi"}}}}},
      {"readinessProbe", Probe("/healthz", 1, 2, 1, 3)},
      // As lenient as the manifests (deploy/): a laptop that was paused is no reason to start anything again.
      {"livenessProbe", Probe("/livez", 10, 10, 5, 6)},
      {"volumeMounts", JsonArray{JsonObject{{"name", "kubeconfig"}, {"mountPath", "/etc/evenkeel"}}}}};
  const JsonObject pod{
      {"terminationGracePeriodSeconds", 20},
      {"containers", JsonArray{container}},
      {"volumes", JsonArray{JsonObject{{"name", "kubeconfig"}, {"secret", JsonObject{{"secretName", kKubeconfigSecret}}}}}}};
  Json deployment = kube::NewObject(kube::resources::Deployments(), kNamespace, kControllerName);
  base::Ensure(deployment, {"metadata", "labels"}) = labels;
  base::Ensure(deployment, {"spec"}) = JsonObject{
      {"replicas", replicas},
      {"selector", JsonObject{{"matchLabels", JsonObject{{"app.kubernetes.io/name", kControllerName}}}}},
      {"template", JsonObject{{"metadata", JsonObject{{"labels", labels},
                                                      {"annotations", JsonObject{{"evenkeel.dev/runtime", "process"}}}}},
                              {"spec", pod}}}};
  return deployment;
}

}  // namespace evenkeel::embedded::fleet
