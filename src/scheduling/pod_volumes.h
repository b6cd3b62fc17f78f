// The volumes of a pod that can keep it off a node.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "scheduling/ids.h"

namespace evenkeel::scheduling {

struct PodClaim {
  std::string name;
  bool ephemeral = false;  ///< made for this pod, from a template in it
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

struct PodVolumes {
  std::vector<PodClaim> claims;  ///< in the pod's order
  std::vector<Disk> disks;

  bool empty() const { return claims.empty() && disks.empty(); }
  std::string Key() const;
};

PodVolumes DecodePodVolumes(const base::Json& pod);

}  // namespace evenkeel::scheduling
