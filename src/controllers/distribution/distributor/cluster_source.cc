#include "controllers/distribution/distributor/cluster_source.h"

#include <spdlog/fmt/fmt.h>

#include <set>
#include <utility>

#include "kube/karmada.h"

namespace evenkeel::controllers::distribution {
namespace {

constexpr base::Duration kSecretAge = std::chrono::minutes(1);

/// Roles of before need not allow it; then the local cluster takes no rank unless it is asked for.
bool SyncedOrForbidden(const ObjectInformer& informer) {
  const auto error = informer.last_error();
  return SyncedOrAbsent(informer) || (error.has_value() && error->code() == base::Code::kForbidden);
}

}  // namespace

bool SyncedOrAbsent(const ObjectInformer& informer) {
  if (informer.synced()) return true;
  const auto error = informer.last_error();
  return error.has_value() && error->code() == base::Code::kNotFound;
}

ClusterSource::ClusterSource(client::Client& hub, const Options& options, std::shared_ptr<base::Strand> strand,
                             base::Clock& clock, const base::Random& random, std::function<void(std::string_view what)> changed)
    : hub_(hub),
      options_(options),
      clock_(clock),
      secrets_(hub, kube::resources::Secrets(), {options.ns, std::string(kClusterSecretLabel) + "=cluster", ""}, strand, clock,
               random.Fork("secrets")),
      karmada_clusters_(hub, kube::karmada::Clusters(), {}, strand, clock, random.Fork("karmada")) {
  secrets_.AddHandler([changed](const auto&, const auto&) { changed("cluster Secrets changed"); });
  karmada_clusters_.AddHandler([changed](const auto&, const auto&) { changed("Karmada Clusters changed"); });
  // Ranks have to be those of controllers of Argo CD that share the fleet; the weighted plan has none.
  if (options.mode != Mode::kCompatible) return;
  argo_config_.emplace(hub, kube::resources::ConfigMaps(),
                       client::InformerOptions{options.ns, "", "metadata.name=" + std::string(kArgoConfigMap)}, strand, clock,
                       random.Fork("argo"));
  argo_config_->AddHandler([changed](const auto&, const auto&) { changed("argocd-cm changed"); });
}

void ClusterSource::Start() {
  secrets_.Start();
  karmada_clusters_.Start();
  if (argo_config_) argo_config_->Start();
}

bool ClusterSource::SyncedButKarmada() const {
  return secrets_.synced() && (!argo_config_ || SyncedOrForbidden(*argo_config_));
}

bool ClusterSource::synced() const { return SyncedButKarmada() && SyncedOrAbsent(karmada_clusters_); }

std::optional<base::Error> ClusterSource::KarmadaFailure() const {
  if (!SyncedButKarmada() || SyncedOrAbsent(karmada_clusters_)) return std::nullopt;
  return karmada_clusters_.last_error();
}

std::vector<Cluster> ClusterSource::Read(std::span<const PublishedPlan::Assignment> planned, std::vector<Finding>& findings) {
  std::vector<Cluster> clusters;
  std::set<std::string> servers;
  for (const auto& [key, secret] : secrets_.items()) {
    if (auto cluster = ClusterFromSecret(*secret->json, findings)) {
      servers.insert(cluster->server);
      clusters.push_back(*std::move(cluster));
    }
  }
  for (const auto& [key, object] : karmada_clusters_.items()) {
    // Where a cluster Secret names the server, too, that one says how to connect, and Karmada's own credentials are nobody's
    // business.
    const bool secondary = servers.contains(TrimSlashes(base::FindString(*object->json, {"spec", "apiEndpoint"})));
    const auto secret = secondary ? base::Result<base::Json>(base::JsonObject()) : KarmadaSecret(*object);
    const bool unreadable = !secret && secret.error().code() != base::Code::kNotFound;
    auto cluster =
        ClusterFromKarmada(*object->json, secret ? &*secret : nullptr, findings, unreadable ? &secret.error() : nullptr);
    if (cluster) clusters.push_back(*std::move(cluster));
  }
  if (const auto failure = KarmadaFailure()) {
    for (const PublishedPlan::Assignment& assignment : planned) {
      if (servers.contains(assignment.server)) continue;
      Cluster cluster;
      cluster.id = cluster.server = assignment.server;
      cluster.name = assignment.cluster;
      cluster.source = fmt::format("ShardPlan {}/{}", options_.ns, kShardPlanName);
      cluster.connection = base::Fail(failure->code(),
                                      "the hub does not say which Karmada Clusters there are, so how to connect "
                                      "is not known: " +
                                          failure->message());
      clusters.push_back(std::move(cluster));
    }
  }
  const auto argo = argo_config_ ? argo_config_->Get(options_.ns + "/" + std::string(kArgoConfigMap)) : nullptr;
  const LocalCluster local = LocalClusterOf(options_.in_cluster, argo == nullptr ? nullptr : &*argo->json);
  return MergeClusters(std::move(clusters), {.local = local}, findings);
}

base::Result<base::Json> ClusterSource::KarmadaSecret(const kube::Object& cluster) {
  const std::string ns(base::FindString(*cluster.json, {"spec", "secretRef", "namespace"}));
  const std::string name(base::FindString(*cluster.json, {"spec", "secretRef", "name"}));
  if (name.empty()) return base::Fail(base::Code::kNotFound, "spec.secretRef is missing");
  const std::string key = ns + "/" + name;
  const base::Instant now = clock_.Monotonic();
  auto cached = karmada_secrets_.find(key);
  if (cached == karmada_secrets_.end() || now - cached->second.read > kSecretAge) {
    cached = karmada_secrets_.insert_or_assign(key, CachedSecret{hub_.Get(kube::resources::Secrets(), ns, name), now}).first;
  }
  return cached->second.secret;
}

}  // namespace evenkeel::controllers::distribution
