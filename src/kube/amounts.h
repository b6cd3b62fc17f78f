// Amounts of resources, exactly and as they are written: what quotas and limits count with. (Schedulers count in whole numbers:
// types.h.)
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "kube/quantity.h"

namespace evenkeel::kube {

using Amounts = std::map<std::string, Quantity, std::less<>>;

/// Null: none. What cannot be read is left out.
Amounts AmountsOf(const base::Json* quantities);
void AddAmounts(Amounts& to, const Amounts& more);
/// Null when absent.
const Quantity* FindAmount(const Amounts& amounts, std::string_view name);

enum class PodOverhead { kLeftOut, kCounted };
/// What a pod requests, and what it is limited to: the larger of what its containers take together and of what it takes while
/// its init containers run, one after the other; those that go on running count for both. What the pod asks for as a whole goes
/// before that. A pod's overhead counts for limits that there are.
Amounts PodRequests(const base::Json& pod, PodOverhead overhead);
Amounts PodLimits(const base::Json& pod, PodOverhead overhead);

/// What a pod may ask for as a whole (spec.resources).
bool IsPodLevelResourceName(std::string_view name);
/// Whether it asks for anything as a whole.
bool HasPodLevelResources(const base::Json& pod);

/// Names without a domain and those of kubernetes.io.
bool IsNativeResourceName(std::string_view name);
/// Devices and the like: "nvidia.com/gpu".
bool IsExtendedResourceName(std::string_view name);
bool IsHugePagesName(std::string_view name);

}  // namespace evenkeel::kube
