// What a scheduler writes about devices: before a pod is bound, what was chosen for its claims, and that the pod has them
// reserved; what of it is taken back where the pod is not bound after all; and allocations that keep a pod from every node.
// Follows: kubernetes@1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "client/client.h"
#include "kube/types.h"
#include "scheduling/snapshot.h"

namespace evenkeel::controllers::scheduler {

/// Belongs to one strand. All calls ask the API, and only for pods that have claims.
class DeviceClaims {
 public:
  DeviceClaims(client::Client& client, base::Clock& clock, base::Random random)
      : client_(client), clock_(clock), random_(std::move(random)) {}

  /// What the mirror has told of a claim may be older than what was written here. Then the snapshot gets the newer one again:
  /// otherwise a device that has just been allocated would be free, and given to another pod.
  void OnClaim(const std::string& key, const base::Json* object, scheduling::Snapshot& snapshot);
  /// Writes each claim's finalizer, then its allocation and the reservation at once; the claim of extended resources is made
  /// first, and the pod's status tells of it. Conflicts are tried again. The snapshot knows at once what the API has taken.
  /// After an error TakeBack is to be called, or Write again.
  base::Status Write(const kube::Pod& pod, const scheduling::PlacedDevices& placed, scheduling::Snapshot& snapshot);
  /// Whether Write has begun for the pod, and is not forgotten or taken back.
  bool HasWritten(const std::string& pod) const { return written_.contains(pod); }
  /// The pod is bound, or gone: what was written stands.
  void Forget(const std::string& pod) { written_.erase(pod); }
  /// Removes the reservations that Write has made for the pod, and the claim of its extended resources. What is not answered
  /// is left to the resource claim controller.
  void TakeBack(const kube::Pod& pod);
  /// Gives up one allocation that some node cannot reach and that nobody but this pod has reserved, so that the pod's next
  /// attempt may find devices elsewhere; deletes the claim of an earlier attempt at its extended resources. Whether it did.
  bool GiveUpAllocation(const kube::Pod& pod, scheduling::Snapshot& snapshot);
  /// Deletes the claim, which an earlier attempt has made for the pod's extended resources, also one of another replica.
  /// The snapshot has it until the mirror tells that it is gone.
  void GiveUpExtended(const kube::Pod& pod, const std::string& claim, scheduling::Snapshot& snapshot);

 private:
  struct Written {
    std::vector<std::string> reserved;  ///< names of claims
    std::string extended;               ///< that was made; "": none
    std::vector<scheduling::RequestMapping> mappings;
    bool told = false;  ///< the pod's status names it
  };
  /// What was written, until the mirror tells of it or of a later version.
  struct Assumed {
    base::Json claim;
    base::Instant since{};
    bool told = false;  ///< the mirror knows the claim
  };
  void Assume(base::Json claim, scheduling::Snapshot& snapshot);
  void ForgetAssumed(scheduling::Snapshot& snapshot);
  base::Status WriteAll(const kube::Pod& pod, const scheduling::PlacedDevices& placed, std::vector<base::Json>& written);
  base::Result<base::Json> WriteClaim(const kube::Pod& pod, const std::string& name, const scheduling::PlacedClaim& placed);
  base::Result<std::string> MakeExtended(const kube::Pod& pod, const scheduling::PlacedClaim& placed);
  base::Status TellPod(const kube::Pod& pod, const std::string& claim, const std::vector<scheduling::RequestMapping>& mappings);
  base::Status Release(const kube::Pod& pod, const std::string& name);
  base::Status DeleteExtended(const kube::Pod& pod, const std::string& name);

  client::Client& client_;
  base::Clock& clock_;
  base::Random random_;
  std::map<std::string, Written> written_;  // by pod
  std::map<std::string, Assumed> assumed_;  // by claim
};

}  // namespace evenkeel::controllers::scheduler
