// The member clusters as distribution sees them, and where they are written down: Argo CD cluster Secrets and Karmada Clusters.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "client/http/kubeconfig.h"

namespace evenkeel::controllers::distribution {

struct Cluster {
  std::string id;                 ///< metadata.uid of the Secret (Cluster); "" for the local cluster without a Secret
  std::string server;             ///< URL without trailing slashes: the cluster's identity in Argo CD
  std::string name;               ///< several clusters may have one name
  std::string unique_name;        ///< the name with the server, where others have the same one; else empty
  std::optional<int64_t> shard;   ///< pinned
  std::optional<int64_t> weight;  ///< given by annotation, instead of the measured one
  std::string autoscaler_args;    ///< flags of `run` for this member's autoscaler alone, as written
  bool skip_reconcile = false;    ///< nobody looks after it, but it keeps its place in the distribution
  std::string source;             ///< "Secret evenkeel/member-1", for messages
  base::Json reference;           ///< apiVersion, kind, metadata{name, namespace, uid}: what Events are about
  /// How to connect, or why that cannot work. A cluster that cannot be reached still has its place in the distribution.
  base::Result<client::ConnectionConfig> connection = base::Fail(base::Code::kUnavailable, "no connection data");
  /// Hash of everything that connecting depends on, and of what its controllers are told: when it changes, the member is
  /// connected to anew.
  uint64_t connection_hash = 0;

  /// What metrics and settings of the member go by.
  const std::string& label() const { return unique_name.empty() ? name : unique_name; }
  /// What unique_name is where others have the same name.
  std::string NameWithServer() const { return name + " at " + client::WithoutUserinfo(server); }
};

/// Something wrong with one object. It never stops the others.
struct Finding {
  base::Json about;    ///< reference of the object, for an Event
  std::string object;  ///< "Secret evenkeel/member-1"
  std::string reason;  ///< CamelCase, for an Event: InvalidClusterSecret, DuplicateServer, ShardOutOfRange ...
  std::string message;
};

inline constexpr std::string_view kInClusterServer = "https://kubernetes.default.svc";
inline constexpr std::string_view kClusterSecretLabel = "argocd.argoproj.io/secret-type";
/// Gives a cluster Secret or Karmada Cluster a weight of its own in coordinated mode: a number from 0 to 1000000000.
inline constexpr std::string_view kWeightAnnotation = "evenkeel.dev/weight";

/// Gives a member's autoscaler flags of its own, separated by spaces, that go before those of `run`.
inline constexpr std::string_view kAutoscalerArgsAnnotation = "evenkeel.dev/autoscaler-args";

/// Whether the Secret has the label that makes it a cluster Secret.
bool IsClusterSecret(const base::Json& secret);
/// Reads a cluster Secret (reference: Argo CD, declarative set-up, Clusters). Without a server it is no cluster: nullopt and a
/// finding. A field that cannot be read is a finding that names it; the cluster stays in the distribution.
std::optional<Cluster> ClusterFromSecret(const base::Json& secret, std::vector<Finding>& findings);
/// A server's URL without slashes at its end, in which those who name the same server may differ.
std::string TrimSlashes(std::string_view url);

/// Reads a cluster.karmada.io/v1alpha1 Cluster. `secret` is the one that spec.secretRef names (token, caBundle); null when
/// absent, or where it could not be read, which `unreadable` then tells.
std::optional<Cluster> ClusterFromKarmada(const base::Json& cluster, const base::Json* secret, std::vector<Finding>& findings,
                                          const base::Error* unreadable = nullptr);

/// The cluster that the hub itself is: kInClusterServer, by a Secret, or else {in-cluster, id ""} as Argo CD has it.
enum class LocalCluster {
  kIfNamed,  ///< takes a rank where a Secret names it, and is left alone
  kRanked,   ///< takes a rank, and is left alone
  kLookedAfter,
  kDisabled,  ///< not there, also where a Secret names it
};
/// @param looked_after  --in-cluster.
/// @param argocd_cm     ConfigMap argocd-cm; null: there is none. Its cluster.inClusterEnabled disables the cluster only as
/// exact
///                      "false", as in Argo CD.
LocalCluster LocalClusterOf(bool looked_after, const base::Json* argocd_cm);
inline constexpr std::string_view kArgoConfigMap = "argocd-cm";

struct ClusterSetOptions {
  LocalCluster local = LocalCluster::kIfNamed;
  /// Of this process' pod: environment and files.
  std::function<base::Result<client::ConnectionConfig>()> local_account = [] { return client::InClusterConfig(); };
};

/// One entry per server URL, in the order of the id. Where several objects name one server, a Secret goes before a Karmada
/// Cluster and then the older (by name) wins; each loser is a finding, "DuplicateServer" when they disagree on anything that
/// matters. Of the local cluster the account of the pod is used; what its Secret says of users and tokens goes before that.
std::vector<Cluster> MergeClusters(std::vector<Cluster> clusters, const ClusterSetOptions& options,
                                   std::vector<Finding>& findings);

}  // namespace evenkeel::controllers::distribution
