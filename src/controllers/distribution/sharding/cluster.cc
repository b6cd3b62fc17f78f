#include "controllers/distribution/sharding/cluster.h"

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "base/parse_number.h"
#include "client/http/argo_cluster_config.h"
#include "client/http/http_connection.h"
#include "controllers/distribution/sharding/distribution_events.h"
#include "kube/types.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::Find;
using base::FindString;
using base::Json;

constexpr std::string_view kSkipReconcile = "argocd.argoproj.io/skip-reconcile";

Json ReferenceTo(const Json& object) {
  base::JsonObject meta;
  for (const char* key : {"name", "namespace", "uid"}) {
    if (const Json* value = Find(object, {"metadata", key})) meta[key] = *value;
  }
  base::JsonObject reference;
  reference["apiVersion"] = FindString(object, {"apiVersion"}, "v1");
  reference["kind"] = FindString(object, {"kind"}, "Secret");
  reference["metadata"] = std::move(meta);
  return reference;
}

std::string Describe(const Json& object) {
  return std::string(FindString(object, {"kind"}, "Secret")) + " " + kube::KeyOf(object);
}

/// Go's strconv.ParseBool, true side.
bool IsTrue(std::string_view text) {
  return text == "1" || text == "t" || text == "T" || text == "TRUE" || text == "true" || text == "True";
}

uint64_t HashConnection(const client::ConnectionConfig& config, const std::string& autoscaler_args) {
  std::string all = autoscaler_args + '\0';
  for (const std::string* part :
       {&config.server, &config.ca_pem, &config.tls_server_name, &config.client_certificate_pem, &config.client_key_pem,
        &config.token, &config.token_file, &config.username, &config.password, &config.proxy_url}) {
    all += *part;
    all += '\0';
  }
  all += config.insecure_skip_tls_verify ? '1' : '0';
  if (config.exec != nullptr) all += config.exec->Key();
  return base::Blake2b64(all);
}

/// What people write into stringData without quotes: "1", "true". nullopt: an object or an array.
std::optional<std::string> TextOf(const Json& value) {
  if (const auto* text = value.if_string()) return std::string(*text);
  if (value.is_null()) return std::string();
  if (value.is_structured()) return std::nullopt;
  return base::ToText(value);
}

/// Secrets in files may carry stringData; the API server has already merged it. A field that cannot be read is left out.
std::map<std::string, std::string> SecretData(const Json& secret, const Cluster& cluster, std::vector<Finding>& findings) {
  std::map<std::string, std::string> data = kube::DataObject::Decode(secret).data;
  const auto tell = [&](const std::string& what) {
    findings.push_back(
        {cluster.reference, cluster.source, events::kInvalidClusterSecret.reason, what + ": the field is ignored"});
  };
  const base::JsonObject& texts = base::FindObject(secret, {"stringData"});
  for (const auto& [key, value] : base::FindObject(secret, {"data"})) {
    if (!value.is_null() && !data.contains(key) && !texts.contains(key))
      tell(fmt::format("data.{} is not base64", std::string(key)));
  }
  for (const auto& [key, value] : texts) {
    if (auto text = TextOf(value)) {
      data[key] = *std::move(text);
    } else {
      tell(fmt::format("stringData.{} is not a text", std::string(key)));
    }
  }
  return data;
}

void ReadWeight(const Json& object, Cluster& cluster, std::vector<Finding>& findings) {
  constexpr int64_t kWeightMax = 1'000'000'000;
  const std::string text(FindString(object, {"metadata", "annotations", kWeightAnnotation}));
  if (text.empty()) return;
  const auto weight = base::ParseNumber<int64_t>(text);
  if (weight && *weight >= 0 && *weight <= kWeightMax) {
    cluster.weight = weight;
    return;
  }
  findings.push_back({cluster.reference, cluster.source, events::kInvalidWeight.reason,
                      "annotation " + std::string(kWeightAnnotation) + " \"" + text +
                          "\" is not a number from 0 to 1000000000: ignored, the cluster is weighed by what is measured"});
}

}  // namespace

std::string TrimSlashes(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

bool IsClusterSecret(const Json& secret) {
  return FindString(secret, {"metadata", "labels", kClusterSecretLabel}) == "cluster";
}

std::optional<Cluster> ClusterFromSecret(const Json& secret, std::vector<Finding>& findings) {
  Cluster cluster;
  cluster.reference = ReferenceTo(secret);
  cluster.source = Describe(secret);
  std::map<std::string, std::string> data = SecretData(secret, cluster, findings);
  cluster.id = kube::UidOf(secret);
  cluster.server = TrimSlashes(data["server"]);
  if (cluster.server.empty()) {
    findings.push_back({cluster.reference, cluster.source, events::kInvalidClusterSecret.reason,
                        "data.server is missing: the Secret names no cluster; set it to the API server's URL"});
    return std::nullopt;
  }
  cluster.name = data["name"].empty() ? client::WithoutUserinfo(cluster.server) : data["name"];
  cluster.skip_reconcile = IsTrue(FindString(secret, {"metadata", "annotations", kSkipReconcile}));
  ReadWeight(secret, cluster, findings);
  cluster.autoscaler_args = FindString(secret, {"metadata", "annotations", kAutoscalerArgsAnnotation});
  if (const auto shard = data.find("shard"); shard != data.end()) {
    cluster.shard = base::ParseGoInteger(shard->second);
    if (!cluster.shard) {
      findings.push_back(
          {cluster.reference, cluster.source, events::kInvalidClusterSecret.reason,
           "data.shard \"" + shard->second + "\" is not a number: ignored, the cluster is distributed as if it had no shard"});
    }
  }
  cluster.connection = client::ParseArgoClusterConfig(cluster.server, data["config"]);
  std::string field = "data.config";
  if (cluster.connection) {
    if (auto endpoint = client::ParseEndpoint(*cluster.connection, {}); !endpoint) {
      if (endpoint.error().message().starts_with("server")) field = "data.server";
      cluster.connection = base::Fail(std::move(endpoint).error());
    }
  }
  if (cluster.connection) {
    cluster.connection_hash = HashConnection(*cluster.connection, cluster.autoscaler_args);
  } else {
    findings.push_back(
        {cluster.reference, cluster.source, events::kInvalidClusterSecret.reason,
         field + ": " + cluster.connection.error().message() + ": the cluster keeps its owner but cannot be reached"});
  }
  return cluster;
}

std::optional<Cluster> ClusterFromKarmada(const Json& object, const Json* secret, std::vector<Finding>& findings,
                                          const base::Error* unreadable) {
  Cluster cluster;
  cluster.reference = ReferenceTo(object);
  cluster.source = Describe(object);
  cluster.id = kube::UidOf(object);
  cluster.name = kube::NameOf(object);
  ReadWeight(object, cluster, findings);
  cluster.autoscaler_args = FindString(object, {"metadata", "annotations", kAutoscalerArgsAnnotation});
  cluster.server = TrimSlashes(FindString(object, {"spec", "apiEndpoint"}));
  if (cluster.server.empty()) {
    // A cluster in pull mode may have no endpoint: its agent connects to Karmada, and nobody can connect to it.
    findings.push_back(
        {cluster.reference, cluster.source, events::kNoEndpoint.reason,
         "spec.apiEndpoint is missing: the cluster cannot be looked after from here; set it, or add a cluster Secret"});
    return std::nullopt;
  }
  client::ConnectionConfig config;
  config.server = cluster.server;
  config.insecure_skip_tls_verify = base::FindBool(object, {"spec", "insecureSkipTLSVerification"});
  config.proxy_url = FindString(object, {"spec", "proxyURL"});
  if (secret == nullptr) {
    const std::string what =
        unreadable != nullptr ? "spec.secretRef: " + unreadable->message() : "spec.secretRef names a Secret that is not there";
    const std::string message = what + ": the cluster keeps its owner but cannot be reached";
    findings.push_back({cluster.reference, cluster.source,
                        unreadable != nullptr ? events::kSecretUnreadable.reason : events::kSecretNotFound.reason, message});
    cluster.connection = base::Fail(unreadable != nullptr ? unreadable->code() : base::Code::kNotFound, message);
    return cluster;
  }
  std::map<std::string, std::string> data = SecretData(*secret, cluster, findings);
  config.token = data["token"];
  config.ca_pem = data["caBundle"];
  cluster.connection_hash = HashConnection(config, cluster.autoscaler_args);
  cluster.connection = std::move(config);
  return cluster;
}

LocalCluster LocalClusterOf(bool looked_after, const Json* argocd_cm) {
  if (argocd_cm != nullptr && FindString(*argocd_cm, {"data", "cluster.inClusterEnabled"}) == "false")
    return LocalCluster::kDisabled;
  if (looked_after) return LocalCluster::kLookedAfter;
  return argocd_cm != nullptr ? LocalCluster::kRanked : LocalCluster::kIfNamed;
}

namespace {

/// The pod's account; a user, password or token of the Secret goes before its token, anything else of the Secret does not
/// count.
void ConnectLocally(const ClusterSetOptions& options, Cluster& local) {
  if (options.local != LocalCluster::kLookedAfter) {
    local.skip_reconcile = true;
    local.connection = base::Fail(base::Code::kUnavailable, "the local cluster is looked after only with --in-cluster");
    local.connection_hash = 0;
    return;
  }
  // A Secret whose config cannot be read is no reason to act with other rights than it may mean.
  const bool unreadable = local.reference.is_object() && !local.connection;
  auto account = unreadable ? base::Fail(local.connection.error()) : options.local_account();
  if (account && local.reference.is_object()) {
    const client::ConnectionConfig& given = *local.connection;
    if (!given.token.empty() || !given.username.empty() || !given.password.empty()) {
      account->token_file.clear();
      account->token = given.token;
      account->username = given.username;
      account->password = given.password;
    }
  }
  local.connection = std::move(account);
  local.connection_hash = local.connection ? HashConnection(*local.connection, local.autoscaler_args) : 0;
}

void PlaceLocalCluster(const ClusterSetOptions& options, std::vector<Cluster>& clusters, std::vector<Finding>& findings) {
  if (options.local == LocalCluster::kDisabled) {
    std::erase_if(clusters, [](const Cluster& cluster) { return cluster.server == kInClusterServer; });
    return;
  }
  const auto named = std::ranges::find(clusters, kInClusterServer, &Cluster::server);
  if (named != clusters.end()) {
    const bool left_alone = options.local != LocalCluster::kLookedAfter && !named->skip_reconcile;
    ConnectLocally(options, *named);
    if (left_alone) {
      findings.push_back({named->reference, named->source, events::kLocalClusterLeftAlone.reason,
                          "names the local cluster, which keeps its place among the shards but is looked after only by "
                          "`evenkeel run --in-cluster`"});
    }
  } else if (options.local != LocalCluster::kIfNamed) {
    Cluster local;
    local.server = kInClusterServer;
    local.name = "in-cluster";
    local.source = "the local cluster";
    ConnectLocally(options, local);
    clusters.push_back(std::move(local));
  }
}

}  // namespace

std::vector<Cluster> MergeClusters(std::vector<Cluster> clusters, const ClusterSetOptions& options,
                                   std::vector<Finding>& findings) {
  auto rank = [](const Cluster& cluster) { return std::pair(!cluster.source.starts_with("Secret "), cluster.source); };
  std::ranges::sort(clusters, [&](const Cluster& a, const Cluster& b) { return rank(a) < rank(b); });
  std::map<std::string, size_t> by_server;
  std::vector<Cluster> merged;
  for (Cluster& cluster : clusters) {
    auto [place, fresh] = by_server.emplace(cluster.server, merged.size());
    if (fresh) {
      merged.push_back(std::move(cluster));
      continue;
    }
    const Cluster& kept = merged[place->second];
    // A Karmada Cluster beside a Secret has no shard, need not repeat the weight, and has credentials of Karmada's own.
    const bool of_karmada = kept.source.starts_with("Secret ") && !cluster.source.starts_with("Secret ");
    const bool agree = kept.name == cluster.name && (kept.weight == cluster.weight || (of_karmada && !cluster.weight)) &&
                       (of_karmada || (kept.connection_hash == cluster.connection_hash && kept.shard == cluster.shard &&
                                       kept.skip_reconcile == cluster.skip_reconcile));
    if (agree) continue;
    findings.push_back({cluster.reference, cluster.source, events::kDuplicateServer.reason,
                        "server " + client::WithoutUserinfo(cluster.server) + " is already named by " + kept.source +
                            ", with other data: this one is ignored; delete one of them"});
  }
  PlaceLocalCluster(options, merged, findings);
  std::ranges::stable_sort(merged, {}, &Cluster::id);
  std::map<std::string, int> named;
  for (const Cluster& cluster : merged) ++named[cluster.name];
  for (Cluster& cluster : merged) {
    if (named[cluster.name] == 1) continue;
    cluster.unique_name = cluster.NameWithServer();
    // Its controllers go by another name from now on.
    cluster.connection_hash = base::Blake2b64(fmt::format("{} {}", cluster.connection_hash, cluster.unique_name));
  }
  return merged;
}

}  // namespace evenkeel::controllers::distribution
