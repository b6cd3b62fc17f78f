// The members: their Cluster objects, made from the cluster Secrets through which fleets register them, and for each Cluster a
// MemberSync and a namespace for its Works.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "controllers/runtime/controller.h"
#include "embedded/federation/members/member_sync.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

/// A client of the member; `secret` is the one that spec.secretRef names, null without one.
using MemberConnector =
    std::function<base::Result<std::unique_ptr<client::Client>>(const base::Json& cluster, const base::Json& secret)>;

/// Over HTTPS: spec.apiEndpoint, with `token` and `caBundle` of the Secret, as Karmada does.
MemberConnector NewHttpConnector();

/// On a Cluster that follows a cluster Secret: the Secret's name. It goes with the Secret.
inline constexpr char kRegisteredBy[] = "evenkeel.dev/registered-by";

/// On a cluster Secret: NAMESPACE/NAME of the Secret (token, caBundle) with which Karmada reaches the cluster. Without it that
/// is the cluster Secret itself.
inline constexpr char kKarmadaSecret[] = "evenkeel.dev/karmada-secret";

/// The Cluster of a cluster Secret that has what Karmada needs: name, server, and a token or that annotation; null for others.
base::Json ClusterOfSecret(const base::Json& secret);

class ClusterRegistry {
 public:
  ClusterRegistry(Hub& hub, base::Executor& executor, MemberConnector connect);
  void Start();

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;
  struct Connected {
    uint64_t hash = 0;  // of everything that connecting depends on
    std::unique_ptr<MemberSync> sync;
  };

  Done ReconcileSecret(const std::string& key);
  Done ReconcileCluster(const std::string& name);
  /// Makes the member's MemberSync, unless there is one that reaches it as the Cluster says.
  base::Status Connect(const kube::Object& cluster);
  /// Deletes what was brought to the member of a Cluster that is being deleted, and then lets the Cluster go.
  Done EmptyMember(const kube::Object& cluster);
  base::Status EnsureNamespace(const std::string& name);
  /// Works of a cluster that is no more: nobody else would ever finish them.
  base::Status ReleaseWorks(const std::string& cluster);

  Hub& hub_;
  base::Executor& executor_;
  const MemberConnector connect_;
  ObjectInformer secrets_;
  controllers::runtime::Controller registrations_, members_;
  std::map<std::string, Connected> connected_;
};

}  // namespace evenkeel::embedded::federation
