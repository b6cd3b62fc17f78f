// Selectors of devices: what an expression sees of a device of a ResourceSlice, and what it may answer.
// Follows: kubernetes@1.36 staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go
#pragma once

#include <memory>
#include <string_view>

#include "kube/cel/cel.h"

namespace evenkeel::kube::cel {

struct DeviceFeatures {
  bool list_attributes = false;  ///< DRAListTypeAttributes: attributes that are lists, and `includes`
};

/// Longer ones are refused where they are written.
inline constexpr size_t kDeviceSelectorBytesMax = 10 * 1024;

/// A program over a device; an error where it does not compile or cannot be a bool.
base::Result<std::shared_ptr<const Program>> CompileDeviceSelector(std::string_view expression, DeviceFeatures features = {});

/// The most that a selector may cost on any device that a ResourceSlice may have.
inline constexpr uint64_t kDeviceSelectorCostMax = 1'000'000;
uint64_t EstimateDeviceSelectorCost(const Program& selector, DeviceFeatures features = {});

/// A device as selectors see it, to be asked by any number of them. `attributes` and `capacity` are as in a ResourceSlice
/// ({"name": {"string": "x"}}, {"memory": {"value": "40Gi"}}); either may be null. The arena and the JSON must outlive the
/// value. An error names the attribute that is none.
base::Result<Value> MakeDevice(std::string_view driver, const base::JsonObject* attributes, const base::JsonObject* capacity,
                               bool allow_multiple_allocations, Arena& arena, DeviceFeatures features = {});

/// Whether the device is selected. An error is one of the expression on this device; upstream takes it for a reason to stop,
/// not for "no".
base::Result<bool> SelectsDevice(const Program& selector, const Value& device, Arena& arena);

}  // namespace evenkeel::kube::cel
