// The volumes of a pod that can keep it off a node.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "scheduling/ids.h"

namespace evenkeel::scheduling {

struct PodClaim {
  std::string name;
  bool ephemeral = false;             ///< made for this pod, from a template in it
  std::string pod_name{}, pod_uid{};  ///< of an ephemeral one
  bool operator==(const PodClaim&) const = default;
};

/// A disk that is named in the pod itself, of the kinds that cannot be mounted twice.
struct Disk {
  enum class Kind : uint8_t { kGce, kAws, kIscsi, kRbd };
  Kind kind;
  std::string id;                     ///< pdName, volumeID, iqn, pool/image
  std::vector<std::string> monitors;  ///< RBD
  bool read_only = false;
  bool operator==(const Disk&) const = default;

  bool Conflicts(const Disk& other) const;
};

/// Counts against the limit that a CSINode sets for a driver.
struct Attachment {
  std::string driver, handle;
  auto operator<=>(const Attachment&) const = default;
};

struct PodVolumes {
  std::vector<PodClaim> claims;  ///< in the pod's order
  std::vector<Disk> disks;
  std::vector<Attachment> attachments;  ///< of volumes that the pod names itself, of kinds that were moved to CSI

  bool empty() const { return claims.empty() && disks.empty() && attachments.empty(); }
  std::string Key() const;
};

PodVolumes DecodePodVolumes(const base::Json& pod);

}  // namespace evenkeel::scheduling
