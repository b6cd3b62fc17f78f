// Claims of pods for devices: makes those that come from templates and says in the pod's status which they are, takes away the
// reservations of pods that will not run (any more), and with the last of them the allocation, so that others get the devices.
// Claims of such pods go, too. A pod that was bound without the scheduler gets its reservations here.
// Follows: kubernetes@1.36 pkg/controller/resourceclaim/controller.go
#pragma once

#include <map>
#include <set>
#include <string>

#include "embedded/workloads/pods/reconciler.h"

namespace evenkeel::embedded::workloads {

class ResourceClaims final : public Reconciler {
 public:
  explicit ResourceClaims(Context& context);

 private:
  using Keys = std::set<std::string>;

  /// "pod/NAMESPACE/NAME" or "claim/NAMESPACE/NAME".
  base::Result<Again> Reconcile(const std::string& key) override;
  void OnPod(const PodPointer& before, const PodPointer& after);
  void OnClaim(const ObjectPointer& before, const ObjectPointer& after);

  base::Status FollowPod(const kube::Pod& pod);
  /// Name of the claim by name in the pod, of those that had to be made or found again.
  base::Result<std::map<std::string, std::string>> MakeClaims(const kube::Pod& pod);
  base::Result<std::string> MakeClaim(const kube::Pod& pod, const std::string& pod_claim, const std::string& template_name);
  base::Status TellPod(const kube::Pod& pod, const std::map<std::string, std::string>& made);
  base::Status ReserveForBound(const kube::Pod& pod);

  base::Status FollowClaim(const kube::Object& claim);
  /// Without the reservations of pods that need it no more.
  base::Result<base::JsonArray> ValidReservations(const kube::Object& claim);
  base::Status DropReservations(const kube::Object& claim, base::JsonArray valid);
  base::Status DeleteUnused(const kube::Object& claim);

  /// Which pods name a claim, by the claim's key.
  std::map<std::string, Keys> pods_of_claim_;
};

}  // namespace evenkeel::embedded::workloads
