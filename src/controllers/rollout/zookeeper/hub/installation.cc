#include "controllers/rollout/zookeeper/hub/installation.h"

#include "base/hash.h"
#include "client/definitions.h"
#include "controllers/rollout/zookeeper/hub/webhooks.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kConfigurationName = "evenkeel-rollout";
constexpr int kInterpreterSeconds = 10;

JsonObject ClientConfig(const WebhookTarget& target, const char* path) {
  JsonObject config{{"url", target.url + path}};
  if (!target.ca_pem.empty()) config["caBundle"] = base::Base64Encode(target.ca_pem);
  return config;
}

/// Made, or changed where it says something else. False: the hub does not serve the kind.
base::Result<bool> Put(client::Client& hub, const kube::Resource& resource, const Json& desired) {
  const std::string name(kube::NameOf(desired));
  auto present = hub.Get(resource, "", name);
  if (!present && present.error().code() != base::Code::kNotFound) {
    return base::Fail(present.error().Wrap("read " + resource.kind + " " + name));
  }
  if (!present) {
    const auto created = hub.Create(resource, desired);
    if (created || created.error().code() == base::Code::kAlreadyExists) return true;
    if (created.error().code() == base::Code::kNotFound) return false;
    return base::Fail(created.error().Wrap("create " + resource.kind + " " + name));
  }
  // An authority that is no longer named would stay.
  const auto bundle = [](const Json& object) {
    const JsonArray& webhooks = base::FindArray(object, {"webhooks"});
    return webhooks.empty() ? std::string_view() : base::FindString(webhooks[0], {"clientConfig", "caBundle"});
  };
  const auto written = client::ReadModifyWrite(hub, resource, "", name, [&](Json& object) -> base::Result<bool> {
    if (client::SaysAll(object, desired) && bundle(object) == bundle(desired)) return false;
    // The API fills in defaults of each webhook, which a list that is replaced as a whole loses; they come again.
    base::ApplyMergePatch(object, desired);
    return true;
  });
  if (!written) return base::Fail(written.error().Wrap("update " + resource.kind + " " + name));
  return true;
}

}  // namespace

const kube::Resource& ValidatingWebhookConfigurations() {
  static const kube::Resource resource = kube::MakeResource("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
                                                            "validatingwebhookconfigurations", false);
  return resource;
}

Json AdmissionConfiguration(const WebhookTarget& target) {
  const kube::Resource& kind = MultiClusterZooKeepers();
  Json object = kube::NewObject(ValidatingWebhookConfigurations(), "", kConfigurationName);
  const JsonObject rule{{"operations", JsonArray{"CREATE", "UPDATE"}},
                        {"apiGroups", JsonArray{Json(kind.group)}},
                        {"apiVersions", JsonArray{Json(kind.version)}},
                        {"resources", JsonArray{Json(kind.plural), Json(kind.plural + "/status")}}};
  object.as_object()["webhooks"] = JsonArray{JsonObject{{"name", kind.QualifiedPlural()},
                                                        {"admissionReviewVersions", JsonArray{"v1"}},
                                                        {"sideEffects", "None"},
                                                        {"failurePolicy", "Ignore"},
                                                        {"matchPolicy", "Equivalent"},
                                                        {"timeoutSeconds", kAdmissionTimeout.count()},
                                                        {"clientConfig", ClientConfig(target, kAdmissionPath)},
                                                        {"rules", JsonArray{rule}}}};
  return object;
}

Json InterpreterConfiguration(const WebhookTarget& target) {
  const kube::Resource& kind = ZooKeepers();
  Json object = kube::NewObject(kube::karmada::ResourceInterpreterWebhookConfigurations(), "", kConfigurationName);
  const JsonObject rule{{"operations", JsonArray{"InterpretReplica", "ReviseReplica", "Retain", "InterpretStatus",
                                                 "AggregateStatus", "InterpretHealth", "InterpretDependency"}},
                        {"apiGroups", JsonArray{Json(kind.group)}},
                        {"apiVersions", JsonArray{Json(kind.version)}},
                        {"kinds", JsonArray{Json(kind.kind)}}};
  object.as_object()["webhooks"] = JsonArray{JsonObject{{"name", kind.QualifiedPlural()},
                                                        {"interpreterContextVersions", JsonArray{"v1alpha1"}},
                                                        {"timeoutSeconds", kInterpreterSeconds},
                                                        {"clientConfig", ClientConfig(target, kInterpreterPath)},
                                                        {"rules", JsonArray{rule}}}};
  return object;
}

base::Status InstallDefinitions(client::Client& hub) {
  EVENKEEL_TRY(client::InstallDefinition(hub, MultiClusterZooKeeperDefinition()));
  return client::InstallDefinition(hub, ZooKeeperDefinition());
}

base::Result<std::string> InstallWebhooks(client::Client& hub, const WebhookTarget& target) {
  std::string missing;
  const std::pair<const kube::Resource*, Json> configurations[] = {
      {&ValidatingWebhookConfigurations(), AdmissionConfiguration(target)},
      {&kube::karmada::ResourceInterpreterWebhookConfigurations(), InterpreterConfiguration(target)}};
  for (const auto& [kind, object] : configurations) {
    EVENKEEL_ASSIGN(const bool served, Put(hub, *kind, object));
    if (!served) missing += (missing.empty() ? "" : ", ") + kind->QualifiedPlural();
  }
  return missing;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
