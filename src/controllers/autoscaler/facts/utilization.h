// How much of a node its pods request. Read off the snapshot's sums; pods are looked at only on nodes where some of them do not
// count (long terminating ones, and daemons and mirror pods where the options say so).
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/simulator/utilization/info.go,
// simulator/dynamicresources/utils/utilization.go
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "controllers/autoscaler/facts/cluster_view.h"
#include "controllers/autoscaler/facts/facts.h"

namespace evenkeel::controllers::autoscaler {

struct Utilization {
  enum class Resource : uint8_t { kCpu, kMemory, kGpu, kDevices };
  double cpu = 0, memory = 0, gpu = 0;  ///< gpu: of the GPU resource that is used most
  double value = 0;                     ///< what is compared with the threshold
  Resource resource = Resource::kMemory;
  base::SharedText pool{};  ///< "DRIVER/POOL": of the devices that are used most
};
/// What `value` is of: "cpu", "gpu.example.com/node-1".
std::string_view NameOf(const Utilization& utilization);

/// kNone for those that no node and no pod has named.
using GpuIds = std::array<scheduling::ResourceId, kGpuResources.size()>;
GpuIds FindGpus(const scheduling::Snapshot& snapshot);
/// Whether more than cpu and memory counts on the node. O(log nodes).
bool HasGpusOrDevices(const ClusterView& view, const GpuIds& gpus, scheduling::NodeId node);

class UtilizationCalculator {
 public:
  /// O(classes + pods on their way out). The view must not change while the calculator is used.
  explicit UtilizationCalculator(const ClusterView& view);

  /// The text says why it is unknown: the node has no cpu or no memory, or is in the middle of a change of its devices. A node
  /// with GPUs is judged by them alone, and one with other devices by the pool that is used most. O(1), or O(pods of the node)
  /// when something is to be ignored or the node has devices. `plain`: the node is known to have neither GPUs nor devices.
  std::expected<Utilization, const char*> Of(scheduling::NodeId node, bool ignore_daemons, bool ignore_mirrors,
                                             bool plain = false) const;

 private:
  struct Sums {
    int64_t cpu = 0, memory = 0;
    std::array<int64_t, kGpuResources.size()> gpus{};
  };
  void Add(Sums& sums, scheduling::PodId pod) const;
  /// Nothing for a node without GPUs: neither the provider's label nor an allocatable one.
  std::optional<double> GpuShare(scheduling::NodeId node, const Sums& gone) const;
  std::expected<Utilization, const char*> OfDevices(scheduling::NodeId node, const scheduling::NodeSlices& slices) const;
  /// Requests of daemons and mirror pods that are not long terminating anyway.
  Sums Skipped(scheduling::NodeId node, bool daemons, bool mirrors) const;

  const ClusterView& view_;
  const GpuIds gpus_;
  std::unordered_map<scheduling::NodeId, Sums> ended_;  // requests of long terminating pods
};

}  // namespace evenkeel::controllers::autoscaler
