// Devices of simulated members: one driver, whose devices are of two models, and what pods claim them by. What a class takes is
// said twice, as a CEL selector for the controllers and as a rule in C++ for checkers, which know nothing of CEL.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::sim {

inline constexpr char kDeviceDriver[] = "gpu.example.com";
inline constexpr char kModelAttribute[] = "model";
inline constexpr char kAnyDevice[] = "any.example.com";       ///< a DeviceClass
inline constexpr char kLargeDevice[] = "large.example.com";   ///< likewise: only devices of the model "large"
inline constexpr char kExtendedDevice[] = "example.com/gpu";  ///< the extended resource that kAnyDevice backs
inline constexpr int64_t kDevicesMax = 64;                    ///< of one node

/// Whether a device of the model satisfies the class; false for a class that is not known.
bool ClassTakes(std::string_view device_class, std::string_view model);

/// What a NodeGroup's template says of nodes with so many devices: two slices where there are several, models in turns.
base::JsonArray SlicesOfNodes(int64_t devices);

std::vector<base::Json> NewDeviceClasses();
/// ResourceClaimTemplates, one for each way to ask: "one", "pair" (two of one model), "large", "either" (two large ones, or one
/// of any kind), "admin" (admin access to one).
std::vector<base::Json> NewClaimTemplates(std::string_view ns);
/// A ResourceClaim for one device.
base::Json NewSharedClaim(std::string_view ns, std::string_view name);

/// Makes a pod claim devices: by a claim that is there, by a template, or as an extended resource.
void ClaimByName(base::JsonObject& pod_spec, std::string_view claim);
void ClaimByTemplate(base::JsonObject& pod_spec, std::string_view claim_template);
void ClaimByResource(base::JsonObject& pod_spec, int64_t devices);

}  // namespace evenkeel::sim
