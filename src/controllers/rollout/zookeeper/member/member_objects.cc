#include "controllers/rollout/zookeeper/member/member_objects.h"

#include <openssl/evp.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "controllers/rollout/zookeeper/member/asked.h"
#include "controllers/rollout/zookeeper/member/server_script.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"
#include "kube/object.h"
#include "scheduling/well_known.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kVolume = "data";
/// Of a pod: MemberSpec::form. Absent: 1.
constexpr const char* kFormAnnotation = "evenkeel.dev/form";
/// A server that stops tells nobody; there is nothing to wait for but its disk.
constexpr int64_t kGraceSeconds = 30;

JsonObject LabelsOf(const MemberSpec& spec) {
  return {{"app.kubernetes.io/name", "zookeeper"}, {"app.kubernetes.io/instance", spec.name}, {kEnsembleLabel, spec.name}};
}
JsonObject SelectorOf(const MemberSpec& spec) { return {{kEnsembleLabel, spec.name}}; }

Json MakeObject(const MemberSpec& spec, const kube::Resource& resource, const std::string& name) {
  Json object = kube::NewObject(resource, spec.ns, name);
  base::Ensure(object, {"metadata", "labels"}) = LabelsOf(spec);
  base::Ensure(object, {"metadata", "ownerReferences"}) =
      JsonArray{kube::ControllerReference(ZooKeepers(), spec.name, spec.uid)};
  return object;
}

std::string ServiceAccountName(const MemberSpec& spec) { return spec.name + "-servers"; }

/// Servers ask nothing of Kubernetes.
Json ServiceAccountObject(const MemberSpec& spec) {
  Json account = MakeObject(spec, kube::resources::ServiceAccounts(), ServiceAccountName(spec));
  base::Ensure(account, {"automountServiceAccountToken"}) = false;
  return account;
}

std::string ZooCfg(const MemberSpec& spec, const std::string& super_digest) {
  std::map<std::string, std::string> config{{"4lw.commands.whitelist", "ruok,srvr,mntr,conf"},
                                            {"DigestAuthenticationProvider.superDigest", super_digest},
                                            {"admin.enableServer", "false"},
                                            {"quorumListenOnAllIPs", HasOwnAddress(spec) ? "false" : "true"},
                                            {"reconfigEnabled", "true"},
                                            {"standaloneEnabled", "false"}};
  for (const auto& [key, value] : spec.config) config[key] = value;
  std::string text;
  for (const auto& [key, value] : config) text += key + "=" + value + "\n";
  return text;
}

std::string TextOf(const std::vector<ServerLine>& servers) {
  std::string text;
  for (const ServerLine& server : servers) text += server.text + "\n";
  return text;
}

/// What servers are started with, but for the list of servers, which changes without a restart.
JsonObject FilesOf(const MemberSpec& spec, const std::string& super_digest) {
  JsonObject files{{kConfigFile, ZooCfg(spec, super_digest)}, {kScriptFile, ServerScript(spec)}};
  if (!spec.recovery.request.empty()) {
    files["recovery.request"] = spec.recovery.request + "\n";
    files["recovery.servers"] = TextOf(spec.recovery.servers);
  }
  return files;
}

JsonObject Port(const char* name, int port) {
  return {{"name", name}, {"port", port}, {"targetPort", name}, {"protocol", "TCP"}};
}

/// The Service that the servers' names are of: "zk-0.zk-headless-m1.data.svc..." is of zk-headless-m1.
std::string HeadlessName(const MemberSpec& spec) {
  const std::string usual = HeadlessService(spec.name);
  const ServerLine* own = FindServer(spec.servers, spec.IdOf(spec.ordinals_start));
  if (own == nullptr || !own->host.starts_with(fmt::format("{}-{}.", spec.name, spec.ordinals_start))) return usual;
  const size_t begin = own->host.find('.') + 1;
  const std::string second = own->host.substr(begin, own->host.find('.', begin) - begin);
  return second.starts_with(usual + "-") && spec.replicas > 0 ? second : usual;
}

/// As the port of that name has to be in a Service, where clients may come by TLS.
void AddSecurePort(const MemberSpec& spec, JsonArray& ports) {
  if (!spec.client_secret.empty()) ports.push_back(Port("secure-client", spec.secure_client_port));
}

Json HeadlessServiceObject(const MemberSpec& spec) {
  JsonArray ports{Port("client", spec.client_port), Port("quorum", spec.quorum_port), Port("election", spec.election_port)};
  AddSecurePort(spec, ports);
  Json service = MakeObject(spec, kube::resources::Services(), HeadlessName(spec));
  base::Ensure(service, {"spec"}) = JsonObject{
      {"clusterIP", "None"}, {"publishNotReadyAddresses", true}, {"selector", SelectorOf(spec)}, {"ports", std::move(ports)}};
  return service;
}

Json ClientServiceObject(const MemberSpec& spec) {
  JsonArray ports{Port("client", spec.client_port)};
  AddSecurePort(spec, ports);
  Json service = MakeObject(spec, kube::resources::Services(), ClientService(spec.name));
  base::Ensure(service, {"spec"}) = JsonObject{{"selector", SelectorOf(spec)}, {"ports", std::move(ports)}};
  return service;
}

/// Where pods are local processes, their files are below a directory; a shell knows it, Kubernetes would not expand it.
JsonArray CallScript(const char* verb) {
  return {"sh", "-c", fmt::format("exec bash \"${{EVENKEEL_POD_ROOT:-}}{}/server.sh\" {}", kConfigPath, verb)};
}

JsonObject ExecProbe(const char* verb, int64_t initial_delay, int64_t period, int64_t failures) {
  return {{"exec", JsonObject{{"command", CallScript(verb)}}},
          {"initialDelaySeconds", initial_delay},
          {"periodSeconds", period},
          {"timeoutSeconds", 5},
          {"failureThreshold", failures}};
}

/// Lists of objects with names: items of the same name are merged, others appended.
void MergeNamed(Json& target, const Json& patch);

/// As a merge patch, but lists of named objects (containers, volumes, env ...) are merged by name.
void MergeOver(Json& target, const Json& patch) {
  if (!patch.is_object() || !target.is_object()) {
    target = Json(patch, {});
    return;
  }
  for (const auto& [key, value] : patch.get_object()) {
    if (value.is_null()) {
      target.get_object().erase(key);
      continue;
    }
    Json* present = target.get_object().if_contains(key);
    if (present == nullptr) {
      target.get_object()[key] = Json(value, {});
    } else if (value.is_array() && present->is_array()) {
      MergeNamed(*present, value);
    } else {
      MergeOver(*present, value);
    }
  }
}

void MergeNamed(Json& target, const Json& patch) {
  const auto named = [](const Json& item) { return !base::FindString(item, {"name"}).empty(); };
  if (patch.get_array().empty() || !std::ranges::all_of(patch.get_array(), named)) {
    target = Json(patch, {});
    return;
  }
  for (const Json& item : patch.get_array()) {
    const auto found = std::ranges::find_if(target.get_array(), [&](const Json& present) {
      return base::FindString(present, {"name"}) == base::FindString(item, {"name"});
    });
    if (found == target.get_array().end()) {
      target.get_array().push_back(Json(item, {}));
    } else {
      MergeOver(*found, item);
    }
  }
}

struct MountedSecret {
  std::string volume, secret, path;
};

/// For TLS.
std::vector<MountedSecret> SecretsFor(const MemberSpec& spec) {
  std::vector<MountedSecret> secrets;
  const std::string path = kSecretsPath;
  if (!spec.quorum_secret.empty()) secrets.push_back({"tls-quorum", spec.quorum_secret, path + "/quorum"});
  if (!spec.client_secret.empty()) secrets.push_back({"tls-client", spec.client_secret, path + "/client"});
  return secrets;
}
bool UsesTls(const MemberSpec& spec) { return !SecretsFor(spec).empty(); }

JsonObject Container(const MemberSpec& spec) {
  const auto port = [](const char* name, int number) { return JsonObject{{"name", name}, {"containerPort", number}}; };
  JsonObject container{
      {"name", kServerContainer},
      {"image", spec.image},
      {"command", CallScript("start")},
      {"env", JsonArray{JsonObject{{"name", "POD_NAME"},
                                   {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"fieldPath", "metadata.name"}}}}}}}},
      {"ports",
       JsonArray{port("client", spec.client_port), port("quorum", spec.quorum_port), port("election", spec.election_port)}},
      {"readinessProbe", ExecProbe("ready", 2, 2, 2)},
      // A server that looks for the others is alive, too.
      {"livenessProbe", ExecProbe("alive", 30, 10, 6)},
      {"volumeMounts", JsonArray{JsonObject{{"name", "config"}, {"mountPath", kConfigPath}},
                                 JsonObject{{"name", kVolume}, {"mountPath", kDataPath}}}}};
  if (!spec.pull_policy.empty()) container["imagePullPolicy"] = spec.pull_policy;
  JsonArray& mounts = container["volumeMounts"].as_array();
  for (const auto& [volume, secret, path] : SecretsFor(spec)) {
    mounts.push_back(JsonObject{{"name", volume}, {"mountPath", path}, {"readOnly", true}});
  }
  if (UsesTls(spec)) mounts.push_back(JsonObject{{"name", "keys"}, {"mountPath", kKeysPath}});
  if (!spec.client_secret.empty()) container["ports"].as_array().push_back(port("secure-client", spec.secure_client_port));
  return container;
}

/// Without the hash.
Json PodTemplate(const MemberSpec& spec) {
  JsonArray volumes{JsonObject{{"name", "config"}, {"configMap", JsonObject{{"name", ConfigName(spec)}}}}};
  if (spec.ephemeral) volumes.push_back(JsonObject{{"name", kVolume}, {"emptyDir", JsonObject{}}});
  for (const auto& [volume, secret, path] : SecretsFor(spec)) {
    volumes.push_back(JsonObject{{"name", volume}, {"secret", JsonObject{{"secretName", secret}}}});
  }
  if (UsesTls(spec)) volumes.push_back(JsonObject{{"name", "keys"}, {"emptyDir", JsonObject{{"medium", "Memory"}}}});
  const JsonObject spread{{"weight", 20},
                          {"podAffinityTerm", JsonObject{{"topologyKey", "kubernetes.io/hostname"},
                                                         {"labelSelector", JsonObject{{"matchLabels", SelectorOf(spec)}}}}}};
  JsonObject pod{{"terminationGracePeriodSeconds", kGraceSeconds},
                 {"serviceAccountName", ServiceAccountName(spec)},
                 {"affinity", JsonObject{{"podAntiAffinity",
                                          JsonObject{{"preferredDuringSchedulingIgnoredDuringExecution", JsonArray{spread}}}}}},
                 {"containers", JsonArray{Container(spec)}},
                 {"volumes", std::move(volumes)}};
  if (!spec.pull_secrets.empty()) {
    JsonArray secrets;
    for (const std::string& secret : spec.pull_secrets) secrets.push_back(JsonObject{{"name", secret}});
    pod["imagePullSecrets"] = std::move(secrets);
  }
  // A budget counts the servers of one cluster, a quorum those of all: what empties nodes by itself would take one in each.
  JsonObject annotations{{scheduling::kSafeToEvictAnnotation, "false"}};
  if (spec.form > 1) annotations[kFormAnnotation] = std::to_string(spec.form);
  Json made =
      JsonObject{{"metadata", JsonObject{{"labels", LabelsOf(spec)}, {"annotations", annotations}}}, {"spec", std::move(pod)}};
  MergeOver(made, spec.pod_template);
  // Who belongs together must not depend on what somebody put over it.
  for (const auto& [key, value] : LabelsOf(spec)) base::Ensure(made, {"metadata", "labels", key}) = value;
  return made;
}

}  // namespace

std::string VolumeName(const MemberSpec& spec) { return std::string(kVolume) + "-" + spec.name; }

std::string AdminSecretName(const MemberSpec& spec) { return spec.name + "-admin"; }

std::string ConfigName(const MemberSpec& spec) { return spec.name + "-config"; }

bool HasOwnAddress(const MemberSpec& spec) {
  return std::ranges::any_of(
      spec.servers, [](const ServerLine& server) { return !server.client_host.empty() && server.client_host == server.host; });
}

Json RenderAdminSecret(const MemberSpec& spec, const std::string& password) {
  Json secret = MakeObject(spec, kube::resources::Secrets(), AdminSecretName(spec));
  base::Ensure(secret, {"type"}) = "Opaque";
  base::Ensure(secret, {"data", "password"}) = base::Base64Encode(password);
  return secret;
}

std::string SuperDigest(const std::string& password) {
  const std::string text = "super:" + password;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVENKEEL_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
  return "super:" + base::Base64Encode({reinterpret_cast<const char*>(digest.data()), size});
}

std::vector<Json> RenderObjects(const MemberSpec& spec, const std::string& super_digest, bool formed) {
  Json config = MakeObject(spec, kube::resources::ConfigMaps(), ConfigName(spec));
  JsonObject files = FilesOf(spec, super_digest);
  base::Ensure(config, {"metadata", "annotations"}) =
      JsonObject{{kAsked, AskedOf(spec, super_digest)},
                 {kFiles, FilesHash(files.at(kConfigFile).as_string(), files.at(kScriptFile).as_string())}};
  files["zoo.cfg.dynamic"] = TextOf(spec.servers);
  if (!spec.ensemble.empty()) files["ensemble"] = spec.ensemble + "\n";
  // Whoever has only ephemeral disks begins with empty ones after an outage of all.
  if (formed && !spec.ephemeral) files["formed"] = "";
  base::Ensure(config, {"data"}) = std::move(files);
  Json budget = MakeObject(spec, kube::resources::PodDisruptionBudgets(), spec.name);
  base::Ensure(budget, {"spec"}) =
      JsonObject{{"maxUnavailable", 1}, {"selector", JsonObject{{"matchLabels", SelectorOf(spec)}}}};
  return {std::move(config), HeadlessServiceObject(spec), ClientServiceObject(spec), ServiceAccountObject(spec),
          std::move(budget)};
}

std::string PodRevision(const MemberSpec& spec, const std::string& super_digest) {
  JsonObject all = FilesOf(spec, super_digest);
  all["template"] = PodTemplate(spec);
  return HashOf(all);
}

Json RenderStatefulSet(const MemberSpec& spec, const std::string& super_digest, int64_t replicas) {
  Json pods = PodTemplate(spec);
  const std::string asked = AskedOf(spec, super_digest), revision = PodRevision(spec, super_digest);
  base::Ensure(pods, {"metadata", "annotations", kPodRevision}) = revision;
  base::Ensure(pods, {"metadata", "annotations", kAsked}) = asked;
  Json set = MakeObject(spec, kube::resources::StatefulSets(), spec.name);
  base::Ensure(set, {"metadata", "annotations"}) = JsonObject{{kAsked, asked}, {kMadeAs, revision}};
  JsonObject body{{"replicas", replicas},
                  {"serviceName", HeadlessName(spec)},
                  {"podManagementPolicy", "Parallel"},
                  {"updateStrategy", JsonObject{{"type", "OnDelete"}}},
                  {"selector", JsonObject{{"matchLabels", SelectorOf(spec)}}},
                  {"template", std::move(pods)}};
  if (spec.ordinals_start > 0) body["ordinals"] = JsonObject{{"start", spec.ordinals_start}};
  if (!spec.ephemeral) {
    JsonObject claim{{"accessModes", JsonArray{"ReadWriteOnce"}},
                     {"resources", JsonObject{{"requests", JsonObject{{"storage", spec.storage_size}}}}}};
    if (!spec.storage_class.empty()) claim["storageClassName"] = spec.storage_class;
    body["volumeClaimTemplates"] =
        JsonArray{JsonObject{{"metadata", JsonObject{{"name", kVolume}}}, {"spec", std::move(claim)}}};
  }
  base::Ensure(set, {"spec"}) = std::move(body);
  return set;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
