// The member clusters as the hub names them now: cluster Secrets and Karmada Clusters, followed by informers; in compatible
// mode also whether Argo CD has the local cluster among them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/informer.h"
#include "controllers/distribution/sharding/cluster.h"
#include "controllers/distribution/sharding/options.h"
#include "controllers/distribution/sharding/published_plan.h"

namespace evenkeel::controllers::distribution {

using ObjectInformer = client::Informer<kube::Object>;

/// Kinds that the hub may not have (no Karmada, no Argo CD) count as synced and empty.
bool SyncedOrAbsent(const ObjectInformer& informer);

/// On one strand.
class ClusterSource {
 public:
  /// `changed` is called on the strand with what changed, for people.
  ClusterSource(client::Client& hub, const Options& options, std::shared_ptr<base::Strand> strand, base::Clock& clock,
                const base::Random& random, std::function<void(std::string_view what)> changed);

  void Start();
  bool synced() const;
  /// Why the hub does not say which Karmada Clusters there are, where all else is known; nullopt once it has said so, and as
  /// long as it has not been asked. Karmada's own API server answers for them: the rest of the hub may be well.
  std::optional<base::Error> KarmadaFailure() const;
  /// One entry per cluster, as MergeClusters says. May read Secrets that Karmada Clusters name: at most once a minute each.
  /// With a KarmadaFailure those that are `planned` are there, too, if only to keep their places.
  std::vector<Cluster> Read(std::span<const PublishedPlan::Assignment> planned, std::vector<Finding>& findings);

 private:
  bool SyncedButKarmada() const;
  base::Result<base::Json> KarmadaSecret(const kube::Object& cluster);

  client::Client& hub_;
  const Options& options_;
  base::Clock& clock_;
  ObjectInformer secrets_, karmada_clusters_;
  std::optional<ObjectInformer> argo_config_;  ///< compatible mode
  struct CachedSecret {
    base::Result<base::Json> secret;
    base::Instant read;
  };
  std::map<std::string, CachedSecret> karmada_secrets_;
};

}  // namespace evenkeel::controllers::distribution
