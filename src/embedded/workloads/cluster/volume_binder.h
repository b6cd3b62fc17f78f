// Binds PersistentVolumeClaims: to the smallest volume there is that satisfies them, else to one that is made for them, because
// the embedded nodes have as much storage as anybody asks for. Claims of a class that waits for its first consumer wait until
// the scheduler has chosen a node; their volume is then tied to the node's zone. Volumes come first: a bound claim always has
// one. Also makes the claims of pods' ephemeral volumes, and gives volumes back that nobody claims any more.
#pragma once

#include <string>

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

class VolumeBinder final : public Reconciler {
 public:
  explicit VolumeBinder(Context& context);

 private:
  /// "claim/NAMESPACE/NAME", "volume/NAME" or "pod/NAMESPACE/NAME".
  base::Result<Again> Reconcile(const std::string& key) override;
  base::Status BindClaim(const kube::Object& claim);
  /// The volume for the claim, reserved for it; "" when it has to wait.
  base::Result<std::string> VolumeFor(const kube::Object& claim);
  const kube::Object* Match(const kube::Object& claim, const NodeItem* node);
  base::Result<std::string> Reserve(const kube::Object& volume, const kube::Object& claim);
  base::Result<std::string> Provision(const kube::Object& claim, const base::Json* storage_class, const NodeItem* node);
  base::Status CompleteClaim(const kube::Object& claim, const std::string& volume);
  base::Status FollowClaim(const kube::Object& volume);
  base::Status MakeEphemeralClaims(const kube::Pod& pod);
};

}  // namespace evenkeel::embedded::workloads
