// Parts of a device's capacity that claims share.
// Follows: kubernetes@1.36
// staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/consumable_capacity_incubating.go
#pragma once

#include <optional>

#include "scheduling/devices/device_objects.h"

namespace evenkeel::scheduling {

/// What a request takes of each capacity of a device, rounded as the device wants it; nullopt: it asks for a capacity that the
/// device lacks, or for more than may be asked for.
std::optional<DeviceAmounts> ConsumedBy(const DeviceRequest& request, const Device& device);

/// Whether that is left. `used`: what others have; null: nothing. Devices that are not shared must just be large enough.
bool CapacityLeft(const DeviceRequest& request, const Device& device, const DeviceAmounts& consumed, const DeviceAmounts& used,
                  const DeviceAmounts* also_used);

}  // namespace evenkeel::scheduling
