// Chooses devices for the claims of one pod on one node: upstream's order, first full solution. Deterministic; nothing is
// changed by asking.
// Follows: kubernetes@1.36
// staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/devices/device_objects.h"
#include "scheduling/devices/device_pools.h"
#include "scheduling/devices/device_selectors.h"

namespace evenkeel::scheduling {

/// A claim that is to be allocated.
struct ClaimToAllocate {
  std::string name;  ///< "namespace/name", for messages
  const ClaimSpec* spec;
};

struct AllocatorInput {
  const NodePools* pools;
  NodeLabels node;
  /// Null: there is none of that name.
  std::function<const DeviceClass*(std::string_view)> find_class;
  DeviceSelectors* selectors;
  DeviceGates gates;
  /// How many devices are looked at before the search is given up.
  int64_t work_max = 100'000;
};

struct Allocated {
  enum class Outcome : uint8_t {
    kAllocated,
    kUnsatisfied,  ///< no solution on this node
    kNode,         ///< an error of this node only: `text`
    kFatal,        ///< an error wherever it is tried: `text` ends the attempt to place the pod
    kGivenUp,      ///< more work than may be: `text`
  };
  Outcome outcome = Outcome::kUnsatisfied;
  std::string text;
  std::vector<std::shared_ptr<const ClaimAllocation>> claims;  ///< as many as there were, in their order
  /// For each request with alternatives that was chosen: 8 minus its place, summed (upstream's score).
  int64_t score = 0;
  int64_t work = 0;  ///< devices looked at

  bool ok() const { return outcome == Outcome::kAllocated; }
};

Allocated AllocateDevices(const AllocatorInput& input, const std::vector<ClaimToAllocate>& claims);

/// For people: which request cannot be had, with the selector and a device that fails it, or what the devices lack; "" where
/// each request by itself could be had. One line.
std::string ExplainUnsatisfied(const AllocatorInput& input, const std::vector<ClaimToAllocate>& claims);

}  // namespace evenkeel::scheduling
