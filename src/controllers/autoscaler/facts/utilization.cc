#include "controllers/autoscaler/facts/utilization.h"

#include <algorithm>

#include "controllers/autoscaler/facts/drainability.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::kCpu;
using scheduling::kMemory;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

double Share(int64_t used, int64_t of) {
  if (of > 0) return static_cast<double>(used) / static_cast<double>(of);
  return used > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

std::string_view NameOf(const Utilization& utilization) {
  switch (utilization.resource) {
    case Utilization::Resource::kCpu:
      return "cpu";
    case Utilization::Resource::kMemory:
      return "memory";
    case Utilization::Resource::kGpu:
      return "gpu";
    case Utilization::Resource::kDevices:
      return utilization.pool;
  }
  return "";
}

GpuIds FindGpus(const scheduling::Snapshot& snapshot) {
  GpuIds ids{};
  std::ranges::transform(kGpuResources, ids.begin(), [&](std::string_view name) { return snapshot.FindResource(name); });
  return ids;
}

bool HasGpusOrDevices(const ClusterView& view, const GpuIds& gpus, NodeId node) {
  const NodeFacts& facts = (*view.nodes)[node];
  if (!facts.gpu.empty() && !facts.gpus_by_driver) return true;
  const auto has = [&](scheduling::ResourceId gpu) { return gpu != kNone && view.snapshot->Allocatable(node, gpu) != 0; };
  return std::ranges::any_of(gpus, has) || !view.snapshot->SlicesFor(node).empty();
}

UtilizationCalculator::UtilizationCalculator(const ClusterView& view) : view_(view), gpus_(FindGpus(*view.snapshot)) {
  // Being told to end changes a pod's class, so the pods in question are found without looking at the others.
  const scheduling::ClassTable& classes = view.snapshot->classes();
  for (scheduling::ClassId id = 0; id < classes.slots(); ++id) {
    const scheduling::PodClass* pod_class = classes.Find(id);
    if (pod_class == nullptr || !pod_class->terminating) continue;
    for (const PodId pod : pod_class->pods) {
      const NodeId node = view.snapshot->NodeOf(pod);
      if (node == kNone || pod >= view.pods->size()) continue;
      if (LongTerminating((*view.pods)[pod], view.now)) Add(ended_[node], pod);
    }
  }
}

void UtilizationCalculator::Add(Sums& sums, PodId pod) const {
  for (const scheduling::Amount& amount : view_.snapshot->Requests(view_.snapshot->ClassOf(pod))) {
    if (amount.resource == kCpu) sums.cpu += amount.amount;
    if (amount.resource == kMemory) sums.memory += amount.amount;
    for (size_t i = 0; i < gpus_.size(); ++i) {
      if (amount.resource == gpus_[i]) sums.gpus[i] += amount.amount;
    }
  }
}

UtilizationCalculator::Sums UtilizationCalculator::Skipped(NodeId node, bool daemons, bool mirrors) const {
  Sums sums;
  for (const PodId pod : view_.snapshot->PodsOn(node)) {
    if (pod >= view_.pods->size()) continue;
    const PodFacts& facts = (*view_.pods)[pod];
    const bool skipped = (daemons && facts.daemon) || (mirrors && facts.mirror);
    if (skipped && !LongTerminating(facts, view_.now)) Add(sums, pod);
  }
  return sums;
}

std::optional<double> UtilizationCalculator::GpuShare(NodeId node, const Sums& gone) const {
  const scheduling::Snapshot& snapshot = *view_.snapshot;
  std::optional<double> share;
  const NodeFacts& facts = (*view_.nodes)[node];
  if (!facts.gpu.empty() && !facts.gpus_by_driver) share = 0;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    const int64_t allocatable = gpus_[i] == kNone ? 0 : snapshot.Allocatable(node, gpus_[i]);
    if (allocatable == 0) continue;
    share = std::max(share.value_or(0), Share(allocatable - snapshot.Free(node, gpus_[i]) - gone.gpus[i], allocatable));
  }
  return share;
}

std::expected<Utilization, const char*> UtilizationCalculator::OfDevices(NodeId node,
                                                                         const scheduling::NodeSlices& slices) const {
  const auto allocations = view_.snapshot->AllocationsOn(node);
  if (!allocations) return std::unexpected("its utilization is unknown: a claim of a pod on it is not allocated");
  std::map<scheduling::PoolName, std::set<std::string_view>> taken;
  for (const auto& allocation : *allocations) {
    for (const scheduling::DeviceResult& result : allocation->results) {
      // Who administers a device does not use it.
      if (!result.admin) taken[{result.device.driver, result.device.pool}].insert(result.device.device);
    }
  }
  Utilization result;
  result.resource = Utilization::Resource::kDevices;
  for (const scheduling::LocalPool& pool : scheduling::LocalPools(slices)) {
    if (!pool.complete) return std::unexpected("its utilization is unknown: a pool of its devices is being updated");
    const double share = scheduling::PoolShare(pool, taken[pool.name]);
    if (share < result.value || (!result.pool.empty() && share == result.value)) continue;
    result.value = share;
    result.pool = pool.name.ToString();
  }
  return result;
}

std::expected<Utilization, const char*> UtilizationCalculator::Of(NodeId node, bool ignore_daemons, bool ignore_mirrors,
                                                                  bool plain) const {
  const scheduling::Snapshot& snapshot = *view_.snapshot;
  Sums used;
  const auto sum = [&](scheduling::ResourceId resource) {
    return snapshot.Allocatable(node, resource) - snapshot.Free(node, resource);
  };
  const auto ended = ended_.find(node);
  const Sums gone = ended == ended_.end() ? Sums{} : ended->second;
  Utilization result;
  if (!plain) {
    if (const auto share = GpuShare(node, gone)) {
      result.resource = Utilization::Resource::kGpu;
      result.gpu = result.value = *share;
      return result;
    }
    if (const scheduling::NodeSlices slices = snapshot.SlicesFor(node); !slices.empty()) return OfDevices(node, slices);
  }
  int64_t cpu = snapshot.Allocatable(node, kCpu), memory = snapshot.Allocatable(node, kMemory);
  if (cpu == 0 || memory == 0) {
    return std::unexpected("its utilization is unknown: the node has no allocatable cpu or memory");
  }
  used.cpu = sum(kCpu) - gone.cpu;
  used.memory = sum(kMemory) - gone.memory;
  if (ignore_daemons || ignore_mirrors) {
    const Sums skipped = Skipped(node, ignore_daemons, ignore_mirrors);
    used.cpu -= skipped.cpu;
    used.memory -= skipped.memory;
    cpu -= skipped.cpu;
    memory -= skipped.memory;
  }
  result.cpu = Share(used.cpu, cpu);
  result.memory = Share(used.memory, memory);
  result.resource = result.cpu > result.memory ? Utilization::Resource::kCpu : Utilization::Resource::kMemory;
  result.value = std::max(result.cpu, result.memory);
  return result;
}

}  // namespace evenkeel::controllers::autoscaler
