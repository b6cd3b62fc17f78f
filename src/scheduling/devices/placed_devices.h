// What a pod has of devices where it was put, or would get.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scheduling/devices/device_objects.h"
#include "scheduling/devices/pod_devices.h"

namespace evenkeel::scheduling {

enum class DeviceKind : uint8_t { kResourceSlice, kDeviceClass, kResourceClaim, kResourceClaimTemplate };

struct PlacedClaim {
  std::string pod_claim;  ///< the name in the pod; kExtendedResourcesClaim for what stands for its extended resources
  std::string claim;      ///< of the ResourceClaim; "": there is none (yet)
  std::shared_ptr<const ClaimSpec> spec;
  std::shared_ptr<const ClaimAllocation> allocation;  ///< null: the devices could not be had
  bool in_flight = false;                             ///< chosen here; the API does not say so (yet)
  bool to_reserve = false;                            ///< the API does not say (yet) that the pod has it reserved
};

struct PlacedDevices {
  std::vector<PlacedClaim> claims;       ///< in the pod's order, extended resources last
  std::vector<RequestMapping> mappings;  ///< of the extended resources

  bool empty() const { return claims.empty(); }
};

}  // namespace evenkeel::scheduling
